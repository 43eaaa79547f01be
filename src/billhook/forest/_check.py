"""What makes a set of arrays a forest."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from billhook._types import Scalar
from billhook.forest._sets import check_sets

if TYPE_CHECKING:
    from billhook.forest._forest import Forest
    from billhook.tables import Encoding

DTYPES = {
    "feature": np.dtype(np.int32),
    "threshold": np.dtype(np.float32),
    "left": np.dtype(np.int32),
    "right": np.dtype(np.int32),
    "missing_left": np.dtype(np.bool_),
    "value": np.dtype(np.float64),
    "n_rows": np.dtype(np.int64),
    "row_weight": np.dtype(np.float64),
    "impurity": np.dtype(np.float64),
    "growth_rank": np.dtype(np.int32),
    "category_set": np.dtype(np.int32),
    "offset": np.dtype(np.int64),
    "tree_weight": np.dtype(np.float64),
    "tree_column": np.dtype(np.int32),
    "base": np.dtype(np.float64),
    "set_offset": np.dtype(np.int64),
    "set_bits": np.dtype(np.uint32),
}
PER_NODE = tuple(DTYPES)[:11]
# What only a forest with categorical splits has to say.
OF_SETS = ("category_set", "set_offset", "set_bits")
FINITE = ("value", "tree_weight", "base", "row_weight", "impurity")
LINKS = {"classification": ("identity", "softmax", "logistic", "isolation"), "regression": ("identity", "exp")}
# Those under which one score tells two classes apart: the second where it is above 0.
ONE_SCORE = ("logistic", "isolation")
MAX_FEATURES = 2**31 - 1
MAX_LABEL_BYTES = 2**26
# So many are checked together, or one tree.
NODES_AT_ONCE = 2**16


class HandedOver(np.ndarray[Any, Any]):
    """An array that a forest keeps as it is: see `hand_over`."""


def hand_over(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return an array in the form in which a new forest keeps it without a copy; nobody may write to it any more."""
    return array.view(HandedOver)


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a contiguous, read-only copy, or the array itself if it was handed over."""
    if isinstance(array, HandedOver) and array.flags.c_contiguous and array.flags.aligned:
        array = array.view(np.ndarray)
    else:
        array = np.array(array, order="C", subok=False)
    array.flags.writeable = False
    return array


def as_kept(name: str, value: Any) -> Any:
    """Return a field in the form in which a Forest keeps it; what cannot be brought there is left for the checks."""
    if name == "classes" and value is not None:
        value = np.asarray(value)
        if value.dtype.kind == "U":
            value = np.array(value.tolist(), np.str_)  # as wide as the longest label, however it came
    elif name == "feature_names" and isinstance(value, list | np.ndarray):
        value = tuple(value)
    elif name == "n_features" and isinstance(value, np.integer):
        value = int(value)
    return frozen(value) if isinstance(value, np.ndarray) else value


def check_forest(forest: "Forest") -> None:
    """Raise ValueError unless the arrays describe a forest: lengths, types, ranges, and that children form trees."""
    for name, dtype in DTYPES.items():
        array = getattr(forest, name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            raise ValueError(f"{name} must be a numpy array of {dtype}, not {_kind(array)}")
        n_dimensions = 2 if name == "value" else 1
        if array.ndim != n_dimensions:
            raise ValueError(f"{name} must have {n_dimensions} dimension(s), not shape {array.shape}")
    if not isinstance(forest.n_features, int) or not 1 <= forest.n_features <= MAX_FEATURES:
        raise ValueError(f"n_features must be a number between 1 and {MAX_FEATURES}, not {forest.n_features!r}")
    _check_trees(forest)
    check_sets(forest)
    _check_output(forest)
    check_encoding(forest)
    for name in FINITE:
        check_finite(name, getattr(forest, name))


def check_finite(name: str, numbers: NDArray[np.float64]) -> None:
    """Raise ValueError if one of them is an infinity or not a number."""
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds numbers that are not finite")


class HasEncoding(Protocol):
    """A forest or a packed model."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Their names, if they have any."""

    @property
    def encoding(self) -> "Encoding | None":
        """How the columns of a table become the features."""


def check_encoding(model: HasEncoding) -> None:
    """Raise ValueError unless an encoding, if there is one, gives the features of the model."""
    encoding = model.encoding
    if encoding is None:
        return
    encoding.check()
    if encoding.n_features != model.n_features:
        raise ValueError(f"the encoding gives {encoding.n_features} features; the model takes {model.n_features}")
    if model.feature_names != encoding.feature_names:
        raise ValueError("feature_names must be those of the encoding")


def _check_trees(forest: "Forest") -> None:
    offset, left, right, feature = forest.offset, forest.left, forest.right, forest.feature
    n_trees, n_nodes = offset.size - 1, feature.size
    if n_trees < 1:
        raise ValueError("a forest needs at least one tree")
    # Compared, not subtracted: differences of made-up offsets can overflow.
    if offset[0] != 0 or offset[-1] != n_nodes or (offset[1:] <= offset[:-1]).any():
        raise ValueError(f"offset must rise from 0 to the number of nodes, {n_nodes}, by at least one a tree")
    for name in PER_NODE:
        if len(getattr(forest, name)) != n_nodes:
            raise ValueError(f"{name} has {len(getattr(forest, name))} entries for {n_nodes} nodes")
    for name in ("tree_weight", "tree_column"):
        if getattr(forest, name).size != n_trees:
            raise ValueError(f"{name} has {getattr(forest, name).size} entries for {n_trees} trees")

    is_leaf = feature < 0
    if not np.array_equal(is_leaf, left == -1) or not np.array_equal(is_leaf, right == -1):
        raise ValueError("a leaf must have feature, left and right -1, and a split none of them")
    if (feature < -1).any() or (feature >= forest.n_features).any():
        raise ValueError(f"feature must lie between 0 and {forest.n_features - 1}, or be -1 for a leaf")
    if np.isnan(forest.threshold).any():
        raise ValueError("threshold holds NaN")
    if (forest.n_rows < 0).any():
        raise ValueError("n_rows must not be negative")

    for first, end in _blocks(offset):
        _check_shape(forest, offset[first : end + 1])


def _blocks(offset: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the first tree and the one behind the last of some trees after the other, so that checks take little."""
    first = 0
    while first < offset.size - 1:
        end = max(first + 1, int(np.searchsorted(offset, offset[first] + NODES_AT_ONCE, side="right")) - 1)
        yield first, end
        first = end


def _check_shape(forest: "Forest", offset: NDArray[np.int64]) -> None:
    """Raise ValueError unless the nodes of the trees between these offsets form trees that grew in some order."""
    nodes = slice(int(offset[0]), int(offset[-1]))
    offset = offset - nodes.start
    n_nodes = nodes.stop - nodes.start
    left, right, rank, is_leaf = (
        forest.left[nodes],
        forest.right[nodes],
        forest.growth_rank[nodes],
        forest.feature[nodes] < 0,
    )
    splits = np.flatnonzero(~is_leaf)
    root = np.repeat(offset[:-1], np.diff(offset))
    end = np.repeat(offset[1:], np.diff(offset))
    children = np.concatenate([left[splits] + root[splits], right[splits] + root[splits]])
    parents = np.concatenate([splits, splits])
    # Every node but the roots the child of exactly one earlier node of the same tree: no cycles, no sharing.
    if (children <= parents).any() or (children >= end[parents]).any():
        raise ValueError("children must come after their parent, within the same tree")
    times_child = np.bincount(children, minlength=n_nodes)
    times_child[offset[:-1]] += 1
    if (times_child != 1).any():
        node = int(np.flatnonzero(times_child != 1)[0])
        raise ValueError(
            f"node {nodes.start + node} is the child of {times_child[node]} nodes: children do not form trees"
        )
    if (rank[is_leaf] != -1).any() or (rank[splits] < 0).any():
        raise ValueError("growth_rank must be -1 for a leaf and at least 0 for a split")
    if (rank[splits] >= np.add.reduceat(~is_leaf, offset[:-1], dtype=np.int64).repeat(np.diff(offset))[splits]).any():
        raise ValueError("growth_rank must number the splits of each tree from 0")
    taken = np.zeros(n_nodes, np.bool_)
    taken[root[splits] + rank[splits]] = True
    if np.count_nonzero(taken) != splits.size:
        raise ValueError("growth_rank must number each split of a tree differently")
    split_children = ~is_leaf[children]
    if (rank[children[split_children]] <= rank[parents[split_children]]).any():
        raise ValueError("growth_rank of a split must be larger than its parent's")


def _check_output(forest: "Forest") -> None:
    for name in ("task", "link", "ties", "rounding", "origin"):
        if not isinstance(getattr(forest, name), str):
            raise ValueError(f"{name} must be a string, not {_kind(getattr(forest, name))}")
    for name in ("averages", "refined"):
        if type(getattr(forest, name)) is not bool:
            raise ValueError(f"{name} must be True or False, not {getattr(forest, name)!r}")
    if forest.rounding not in ("nearest", "down"):
        raise ValueError(f"rounding must be 'nearest' or 'down', not {forest.rounding!r}")
    if forest.ties != "first" and not (forest.ties == "last" and forest.link in ONE_SCORE):
        raise ValueError(f"ties must be 'first', or 'last' with a logistic or isolation link, not {forest.ties!r}")
    if forest.task not in LINKS:
        raise ValueError(f"task must be 'classification' or 'regression', not {forest.task!r}")
    if forest.link not in LINKS[forest.task]:
        raise ValueError(f"link must be one of {LINKS[forest.task]} for {forest.task}, not {forest.link!r}")
    names = forest.feature_names
    if names is not None and (len(names) != forest.n_features or not all(isinstance(n, str) for n in names)):
        raise ValueError(f"feature_names must be {forest.n_features} strings")
    classes = forest.classes
    if (classes is None) != (forest.task == "regression"):
        raise ValueError("classes must be given for classification, and only then")
    if classes is not None and (classes.ndim != 1 or classes.size < 1 or len(set(classes.tolist())) != classes.size):
        raise ValueError("classes must be one or more different labels")
    if classes is not None and classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("classes must be finite numbers")
    if classes is not None and classes.nbytes > MAX_LABEL_BYTES:
        raise ValueError(f"classes take {classes.nbytes:,} bytes; the longest label is too long for so many")
    n_columns = forest.base.size
    expected = 1 if forest.link in ONE_SCORE or classes is None else classes.size
    if n_columns != expected or (forest.link in ONE_SCORE and forest.n_classes != 2):
        raise ValueError(
            f"{n_columns} columns of raw scores do not fit {forest.n_classes} classes with link {forest.link!r}"
        )
    n_values = forest.value.shape[1]
    if n_values not in (1, n_columns):
        raise ValueError(f"value must have 1 or {n_columns} columns, not {n_values}")
    if (forest.tree_column < 0).any() or (forest.tree_column > n_columns - n_values).any():
        raise ValueError(f"tree_column must leave room for {n_values} values in {n_columns} columns")


def _kind(value: Any) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
