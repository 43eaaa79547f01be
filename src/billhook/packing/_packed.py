from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from billhook.forest import Forest, as_rows, same
from billhook.packing._encode import FACTOR_BITS, Bytes, Grid, Layout, decode_features, decode_grids, decode_nodes
from billhook.packing._file import save_packed
from billhook.packing._order import splits_by_feature
from billhook.packing._quantizers import KEY_SHIFTS, MISSING, NO_SHIFT, POWERS, RankQuantizer, UniformQuantizer
from billhook.tables import Encoding

# What is as in the Forest.
ABOUT = ("link", "task", "ties", "rounding", "n_features", "classes", "feature_names", "origin")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Packed:
    """A forest in as few bytes as it takes on a device, and what they mean.

    It predicts from the bytes alone, in the whole numbers that the device computes with: `scores` are those of the
    emitted C, bit by bit. Make one with `pack`.

    Attributes
    ----------
    data : uint8 array
        The bytes that land in flash as data, all of them.
    layout : Layout
        Widths and counts, which are constants of the program that reads the bytes.
    scale, base : float
        What one unit of a score is worth, and what is added to that: a number for regression, 0 for classes.
    link, task, ties, rounding, n_features, classes, feature_names, origin
        As in the Forest.
    encoding : Encoding, optional
        How the columns of a table become the features; `feature_names` are then its.
    """

    data: Bytes
    layout: Layout
    scale: float
    base: float
    link: str
    task: str
    ties: str
    rounding: str
    n_features: int
    classes: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    origin: str
    encoding: Encoding | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes of flash the model takes, without the program that reads it."""
        return self.data.size

    @property
    def n_classes(self) -> int:
        """Number of classes; 1 for regression."""
        return 1 if self.classes is None else self.classes.size

    def scores(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the raw scores in units of `scale`, (rows, columns): whole numbers, those that the device gets."""
        rows = as_rows(X, self)
        codes = codes_of(rows, self.used, self.grids, missing_values=self.layout.missing != "none")
        raw = self.coded.decision_function(codes).reshape(rows.shape[0], self.layout.n_columns)
        return np.rint(raw).astype(np.int64)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the raw scores, as `Forest.decision_function`; of two classes the second's minus the first's."""
        raw: NDArray[np.float64] = self.scores(X) * np.float64(self.scale) + self.base
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted class labels, or numbers for regression."""
        scores = self.scores(X)
        if self.classes is None:
            raw = scores[:, 0] * self.scale + self.base
            return np.asarray(np.exp(raw) if self.link == "exp" else raw)
        if scores.shape[1] > 1:
            winner = scores.argmax(axis=1)
        else:
            first_wins = scores[:, 0] < 0 if self.ties == "last" else scores[:, 0] <= 0
            winner = np.where(first_wins, 0, min(1, self.n_classes - 1))
        return np.asarray(self.classes[winner])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities: what the link makes of the scores, or the scores themselves."""
        if self.classes is None:
            raise TypeError("predict_proba needs a classification forest; this one is for regression: use predict")
        raw = self.decision_function(X)
        if raw.ndim == 1:
            second = (1.0 + raw) / 2.0 if self.link == "identity" else expit(raw)
            return np.stack([1.0 - second, second], axis=1)[:, -self.n_classes :]
        return np.asarray(softmax(raw, axis=1)) if self.link == "softmax" else raw

    @cached_property
    def bounds(self) -> NDArray[np.float32]:
        """For each node of `coded` that is a split, the largest float32 that goes left; infinity where all do."""
        found = np.zeros(self.coded.n_nodes, np.float32)
        for nodes, grid in zip(splits_by_feature(self.coded)[1], self.grids, strict=True):
            found[nodes] = grid.bounds(self.coded.threshold[nodes].astype(np.int64))
        return found + np.float32(0.0)  # and not -0.0

    def typical_values(self) -> dict[int, NDArray[np.float32]]:
        """Return, for each feature in use, values on either side of its thresholds."""
        found = {}
        for k, feature in enumerate(self.used.tolist()):
            at = np.unique(self.bounds[self.coded.feature == k])
            at = at[np.isfinite(at)] if np.isfinite(at).any() else np.zeros(1, np.float32)
            with np.errstate(over="ignore"):
                found[feature] = np.concatenate([at, np.nextafter(at, np.float32(np.inf))])
        return found

    def to_forest(self) -> Forest:
        """Return the model as a forest that answers the same, on features as they are."""
        coded = self.coded
        about: dict[str, Any] = {name: getattr(self, name) for name in ABOUT}
        is_split = coded.feature >= 0
        feature = np.where(is_split, self.used[np.maximum(coded.feature, 0)] if self.used.size else -1, -1)
        threshold = np.where(is_split, self.bounds, np.float32(0.0))
        value, base = coded.value * self.scale, coded.base * self.scale
        if self.classes is None:
            base = base + self.base
        elif base.size == 1 and self.link == "identity":  # a number for each of the two classes
            value, base = value * [-0.5, 0.5], 0.5 + base * [-0.5, 0.5]
        return replace(
            coded,
            feature=feature.astype(np.int32),
            threshold=threshold.astype(np.float32),
            value=value,
            base=base,
            **about,
        )

    def with_encoding(self, encoding: Encoding | None) -> "Packed":
        """Return a copy that knows how the columns of a table become its features, and has their names."""
        names = self.feature_names if encoding is None else encoding.feature_names
        packed = replace(self, encoding=encoding, feature_names=names)
        check_encoding(packed)
        return packed

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, which `load` reads; an existing file is replaced only when all is written."""
        save_packed(self, path)

    def check(self) -> None:
        """Raise ValueError unless the bytes describe a model of this layout."""
        layout = self.layout
        check_about(self)
        # Before anything is read that a count might make long. A tree has a split, unless there is only the one.
        if not 1 <= layout.n_trees <= max(layout.n_inner, 1) or layout.n_used > layout.n_inner:
            raise ValueError(
                f"{layout.n_inner} splits are not {layout.n_trees} trees that test {layout.n_used} features"
            )
        if layout.n_leaves != layout.n_inner + layout.n_trees or layout.leaf_bits < 1:
            raise ValueError(
                f"{layout.n_trees} trees of {layout.n_inner} splits cannot have {layout.n_leaves} leaves"
            )
        if layout.n_inner and not layout.n_used:
            raise ValueError(f"{layout.n_inner} splits test no feature")
        if layout.grid == "steps" and layout.n_used:
            check_steps(self.grids)
        if type(self.scale) is not float or not np.isfinite(self.scale) or self.scale <= 0.0:
            raise ValueError(f"scale must be a number above 0, not {self.scale!r}")
        if type(self.base) is not float or not np.isfinite(self.base) or (self.base and self.classes is not None):
            raise ValueError(f"base must be a number, and 0 for classes, not {self.base!r}")
        n_columns = 1 if self.n_classes <= 2 and layout.n_columns == 1 else self.n_classes
        if layout.n_columns != n_columns or layout.n_values not in (1, n_columns):
            raise ValueError(f"{layout.n_values} of {layout.n_columns} columns do not fit {self.n_classes} classes")
        if layout.factor_bits not in (0, FACTOR_BITS) or (layout.factor_bits and layout.n_columns == 1):
            raise ValueError(f"{layout.n_columns} columns cannot have factors of {layout.factor_bits} bits")
        if self.n_features != layout.n_features or (self.used >= self.n_features).any():
            raise ValueError(f"a feature in use is not one of the {self.n_features}")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"feature_names must be {self.n_features} strings")
        check_encoding(self)
        if len(self.grids) != layout.n_used:
            raise ValueError(f"there are {len(self.grids)} grids for {layout.n_used} features")
        for grid in self.grids:
            if isinstance(grid, RankQuantizer) and not (np.diff(grid.thresholds) > 0.0).all():
                raise ValueError("the thresholds of a feature do not ascend")
        walked = self.coded
        if (walked.feature >= layout.n_used).any():
            raise ValueError("a split tests a feature that is not in use")
        if layout.n_inner and np.diff(walked.offset).min() < 3:
            raise ValueError("a tree has no split")
        most = np.abs(walked.base) + np.abs(walked.value).max(axis=0).max() * walked.n_trees
        if most.max() >= 2**31:
            raise ValueError("the scores do not fit 32 bits")

    @cached_property
    def used(self) -> NDArray[np.int64]:
        """The numbers of the features in use."""
        return decode_features(self.layout, self.data)

    @cached_property
    def grids(self) -> list[Grid]:
        """How the values of each feature in use become codes."""
        return decode_grids(self.layout, self.data)

    @cached_property
    def coded(self) -> Forest:
        """The forest that the bytes are: numbers among `used` for features, codes for thresholds, whole values."""
        return _forest_of(self.layout, decode_nodes(self.layout, self.data))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Packed):
            return NotImplemented
        return all(same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]  # as for any container of arrays

    def __repr__(self) -> str:
        kind = "a number" if self.classes is None else f"{self.n_classes} classes"
        return (
            f"<Packed: {self.nbytes:,} bytes; {self.layout.n_trees} trees, {self.layout.n_leaves:,} leaves, "
            f"{self.layout.n_used} of {self.n_features} features, {kind}>"
        )


def check_about(packed: Packed) -> None:
    """Raise ValueError unless what is said about the model are words that there are."""
    tasks = ("regression",) if packed.classes is None else ("classification",)
    links = ("identity", "exp") if packed.classes is None else ("identity", "logistic", "softmax")
    for name, known in (
        ("task", tasks),
        ("link", links),
        ("ties", ("first", "last")),
        ("rounding", ("nearest", "down")),
    ):
        if getattr(packed, name) not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(packed, name)!r}")
    if not isinstance(packed.origin, str):
        raise ValueError(f"origin must be a string, not {packed.origin!r}")
    if type(packed.n_features) is not int:
        raise ValueError(f"n_features must be a whole number, not {packed.n_features!r}")
    names = packed.feature_names
    if names is not None and not (isinstance(names, tuple) and all(isinstance(name, str) for name in names)):
        raise ValueError("feature_names must be strings")


def check_encoding(packed: Packed) -> None:
    """Raise ValueError unless an encoding, if there is one, gives the features of the model."""
    encoding = packed.encoding
    if encoding is None:
        return
    encoding.check()
    if encoding.n_features != packed.n_features:
        raise ValueError(f"the encoding gives {encoding.n_features} features; the model takes {packed.n_features}")
    if packed.feature_names != encoding.feature_names:
        raise ValueError("feature_names must be those of the encoding")


def check_steps(grids: list[Grid]) -> None:
    """Raise ValueError for steps that a device could not compute with."""
    for grid in grids:
        low, high = (
            KEY_SHIFTS if isinstance(grid, UniformQuantizer) and grid.is_by_keys else (NO_SHIFT - POWERS[1], 255)
        )
        if isinstance(grid, UniformQuantizer) and not (low <= grid.fine_shift <= high and abs(grid.offset) < 1 << 28):
            raise ValueError(f"the steps of a feature have power {grid.power} and offset {grid.offset}")


def codes_of(
    rows: NDArray[np.float32], used: NDArray[np.int64], grids: list[Grid], *, missing_values: bool
) -> NDArray[np.float32]:
    """Return the codes of the features in use (rows, features), NaN for what is missing; one column at least.

    Where there are no missing values, what is not a number counts as an infinity of its sign.
    """
    if not missing_values:
        rows = np.where(np.isnan(rows), np.copysign(np.float32(np.inf), rows), rows)
    codes = np.zeros((rows.shape[0], max(used.size, 1)), np.float32)
    for k, (feature, grid) in enumerate(zip(used, grids, strict=True)):
        code = grid.codes(rows[:, feature])
        codes[:, k] = np.where(code == MISSING, np.nan, code)
    return codes


def _forest_of(layout: Layout, nodes: dict[str, Any]) -> Forest:
    """Return the forest of nodes that stand level by level."""
    if int(nodes["n_inner"].sum()) != layout.n_inner:
        raise ValueError(f"the trees have {nodes['n_inner'].sum()} splits, not {layout.n_inner}")
    left: list[int] = []
    right: list[int] = []
    inner_at: list[int] = []
    leaf_at: list[int] = []
    lengths: list[int] = []
    goes_on = nodes["goes_on"].tolist()
    i = 0
    for n_inner in nodes["n_inner"].tolist():
        first, n_found, n_splits = len(left), 1, min(n_inner, 1)
        splits = [True] if n_inner else [False]  # of the nodes found so far, by number
        for node in range(2 * n_inner + 1):
            if node >= len(splits):
                raise ValueError("the shapes of the splits do not make trees")
            if not splits[node]:
                leaf_at.append(first + node)
                left.append(-1)
                right.append(-1)
                continue
            inner_at.append(first + node)
            left.append(n_found)
            right.append(n_found + 1)
            n_found += 2
            splits += goes_on[i]
            i += 1
            n_splits += sum(goes_on[i - 1])
            if n_splits > n_inner:
                raise ValueError("the shapes of the splits do not make trees")
        lengths.append(2 * n_inner + 1)
    n_nodes = len(left)
    feature = np.full(n_nodes, -1, np.int32)
    threshold, missing_left = np.zeros(n_nodes, np.float32), np.zeros(n_nodes, np.bool_)
    value, rank = np.zeros((n_nodes, layout.n_values)), np.full(n_nodes, -1, np.int32)
    feature[inner_at], threshold[inner_at] = nodes["feature"], nodes["code"]
    missing_left[inner_at] = nodes["missing_left"] if layout.missing == "split" else layout.missing == "left"
    value[leaf_at] = nodes["value"]
    rank[inner_at] = np.concatenate([np.arange(n) for n in nodes["n_inner"]]) if inner_at else []
    return Forest(
        feature=feature,
        threshold=threshold,
        left=np.array(left, np.int32),
        right=np.array(right, np.int32),
        missing_left=missing_left,
        value=value,
        n_rows=np.zeros(n_nodes, np.int64),
        row_weight=np.zeros(n_nodes),
        impurity=np.zeros(n_nodes),
        growth_rank=rank,
        offset=np.concatenate([[0], np.cumsum(lengths)]),
        tree_weight=np.ones(layout.n_trees),
        tree_column=nodes["column"].astype(np.int32),
        averages=False,
        base=nodes["base"].astype(np.float64),
        link="identity",
        task="regression" if layout.n_columns == 1 else "classification",
        n_features=max(layout.n_used, 1),
        classes=None if layout.n_columns == 1 else np.arange(layout.n_columns),
    )
