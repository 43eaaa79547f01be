"""One tree after the other, and the scratch that growing needs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from billhook.growing._binned_rows import BinnedRows
from billhook.kernels import GROWTH_LANES as LANES
from billhook.kernels import MOST_NARROW_ROWS, grow_tree

NOTHING = np.empty(0, np.int64)
LINE = 64


def aligned(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array that is not set yet, at the beginning of a cache line: registers do not reach over two."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + n_bytes].view(dtype).reshape(shape)


@dataclass(frozen=True)
class TreeOptions:
    """How a tree is grown; see `Boosting` and `grow_random_forest`."""

    max_leaves: int
    learning_rate: float = 1.0
    l2: float = 1.0
    min_weight: float = 1.0
    largest_step: float = 0.0
    reuse_factor: float = 1.0
    max_tests: int = 0
    n_tried_features: int = 0
    is_random_threshold: bool = False
    leaf_quantile: float = 0.0
    is_share: bool = False


@dataclass(frozen=True, eq=False)
class GrownTree:
    """The nodes of a tree: thresholds are bins, the highest that goes left; a split's value is its leaves' mean."""

    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    row_weight: NDArray[np.float64]


@dataclass(eq=False)
class TreeGrower:
    """Grows trees on rows with `n_outputs` numbers each, and keeps what they need of memory."""

    rows: BinnedRows
    n_outputs: int
    options: TreeOptions
    is_used: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        rows, options = self.rows, self.options
        self.n_lanes = 1 if self.n_outputs == 1 else -(-self.n_outputs // LANES) * LANES
        is_wide = rows.n_rows > MOST_NARROW_ROWS
        # A slope and a curvature for each output; there is room for a register more.
        n_ints = 2 if self.n_outputs == 1 else -(-2 * self.n_outputs // LANES) * LANES
        bytes_of_whole = 2 if self.n_outputs > 1 else 8 if is_wide else 4
        self._whole_size = rows.n_rows * n_ints * bytes_of_whole // 8 + LANES
        n_histograms = options.max_leaves if options.max_tests else options.max_leaves // 2 + 1
        self._histogram_size = n_histograms * rows.n_bins * n_ints * (8 if is_wide else 4) // 8 + LANES
        self._gradients: list[NDArray[np.float32]] = []
        self._histograms = self._whole = NOTHING
        self._sampled, self._spare = np.empty(rows.n_rows, np.uint32), np.empty(2 * rows.n_rows, np.uint32)
        self.is_used, self._n_used = np.zeros(2 * rows.n_bins, np.bool_), np.zeros(1, np.int64)
        self._every = np.arange(rows.n_rows, dtype=np.uint32)

    @property
    def gradients(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Slopes and curvatures (rows, lanes), which the next tree is grown by: whoever grows it writes them."""
        if not self._gradients:
            self._gradients = [aligned((self.rows.n_rows, self.n_lanes), np.float32) for _ in range(2)]
        g, h = self._gradients
        return g, h

    def free_memory(self) -> None:
        """Give back what most memory is taken by, gradients and histograms of leaves, until the next tree."""
        self._gradients = []
        self._histograms = self._whole = NOTHING

    def grow(
        self,
        target: NDArray[np.float32],
        weight: NDArray[np.float32],
        score: NDArray[np.float32],
        *,
        sampled: NDArray[Any] | None = None,
        seed: int = 0,
    ) -> GrownTree:
        """Return the tree that is grown by the `gradients`; `score` is moved by its values."""
        rows, o = self.rows, self.options
        if not self._histograms.size:
            # Memory that is not touched is not taken.
            self._histograms = aligned(self._histogram_size, np.int64)
            self._whole = aligned(self._whole_size, np.int64)
        n_nodes = 2 * o.max_leaves - 1
        feature, at, left, right = (np.empty(n_nodes, np.int32) for _ in range(4))
        missing_left, n_rows, row_weight = np.empty(n_nodes, np.bool_), np.empty(n_nodes, np.int64), np.empty(n_nodes)
        value, gain = np.zeros((n_nodes, self.n_outputs)), np.empty(n_nodes)
        sampled = self._every if sampled is None else sampled
        of = self._sampled[: sampled.size]
        of[:] = sampled
        size = grow_tree(
            rows.first, rows.has_missing, rows.columns, rows.cells, rows.row_start, rows.commonest,
            *self.gradients, self._whole, of, target, weight, score,
            feature, at, missing_left, left, right, value, gain, n_rows, row_weight,
            self._spare, self._histograms, self.is_used, self._n_used,
            self.n_outputs, o.max_leaves, o.learning_rate, o.l2, o.min_weight, o.largest_step,
            o.reuse_factor, o.max_tests, o.n_tried_features, o.is_random_threshold, o.leaf_quantile, o.is_share, seed,
        )  # fmt: skip
        nodes: tuple[NDArray[Any], ...] = (feature, at, missing_left, left, right, value, gain, n_rows, row_weight)
        return GrownTree(*(array[:size].copy() for array in nodes))
