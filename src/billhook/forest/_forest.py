from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._types import Task
from billhook.forest import _predict, _repr, _save, _size, _truncate, _walk
from billhook.forest._check import as_kept, check_forest
from billhook.forest._sets import no_sets

if TYPE_CHECKING:
    from billhook.kernels import Walker
    from billhook.tables import Encoding

Link = Literal["identity", "softmax", "logistic", "isolation", "exp"]
Rounding = Literal["nearest", "down"]
Ties = Literal["first", "last"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Forest:
    """Any ensemble of axis-aligned decision trees as one frozen set of flat arrays.

    A row goes left at a split where ``x <= threshold``, rows being read as float32 numbers; at a categorical split,
    where x, cut off towards zero, is one of a set of categories. The nodes of all trees
    stand one tree after the other; the first node of a tree is its root, and a parent comes before its
    children. Nodes are numbered from 0 within each tree, as `left`, `right` and `apply` count them.

    The raw score of a row is ``base`` plus, for every tree, its weight times the value of the leaf the row falls
    into. The link turns raw scores into predictions.

    Make one with `as_forest`; every method returns something new and changes nothing.

    Attributes
    ----------
    feature : int32 array (nodes)
        The feature a split tests, -1 for a leaf.
    threshold : float32 array (nodes)
        The largest value that goes left; 0 for a leaf and for a categorical split.
    left, right : int32 array (nodes)
        The number, within the tree, of the node that follows; -1 for a leaf.
    missing_left : bool array (nodes)
        Whether a missing value (NaN) goes left; False for a leaf.
    value : float64 array (nodes, values)
        What each node predicts, inner nodes included: `truncate` makes them leaves. One column for each
        class (or one in all for regression and two classes with a logistic or isolation link), or one
        column where each tree serves one class only.
    n_rows : int64 array (nodes)
        How many training rows passed through the node.
    row_weight : float64 array (nodes)
        Their total weight: counts bootstrap repetitions, class and sample weights.
    impurity : float64 array (nodes)
        The training criterion at the node, 0 where the source does not say.
    growth_rank : int32 array (nodes)
        When best-first growth made the split: 0 for the first; -1 for a leaf.
    offset : int64 array (trees + 1)
        Where each tree's nodes begin; the last entry is the number of nodes.
    tree_weight : float64 array (trees)
        The factor of each tree's values. Equal weights 1/trees make the mean, equal weights 1 the sum.
    averages : bool
        Whether the trees are averaged, as in a random forest, or summed, as in boosting: `select` keeps the sum of
        the weights of an average, and each weight of a sum.
    tree_column : int32 array (trees)
        The first column of the raw scores that the tree's values are added to: 0, or the class the tree serves.
    base : float64 array (columns)
        Raw scores before any tree.
    link : {"identity", "softmax", "logistic", "isolation", "exp"}
        From raw scores to class probabilities, or to the predicted number. Isolation is for outliers, the first of
        two classes: the one raw score says by how much more than the limit a row is buried in the trees, and the
        probability of an outlier is ``min(1, 2 ** (-1 - raw))``.
    ties : {"first", "last"}
        The class that wins where raw scores are equal. Last is for a logistic or isolation link only:
        scikit-learn's GradientBoostingClassifier and IsolationForest have it so.
    rounding : {"nearest", "down"}
        How rows that are not float32 become so. Down is for sources that compare float64 rows with float64
        thresholds: a value that equals a threshold must not be rounded to above it.
    task : {"classification", "regression"}
    n_features : int
    classes : array or None
        The class labels in the order of the columns.
    feature_names : tuple of str or None
    origin : str
        The kind of model the forest was read from, for example ``"sklearn.RandomForestClassifier"``.
    refined : bool
        Whether the leaves were refined or merged together: then no tree can be truncated by itself.
    category_set : int32 array (nodes)
        The number of the set of categories that goes left, -1 for a split by threshold and for a leaf. All -1 if not
        given. A number up to -1, infinite or beyond the set is in no set and goes right; NaN goes as `missing_left`
        says.
    set_offset : int64 array (sets + 1)
        Where the words of each set begin in `set_bits`; ``[0]`` if not given.
    set_bits : uint32 array (words)
        The sets: category c is bit ``c % 32`` of word ``c // 32`` of a set. Empty if not given.
    encoding : Encoding, optional
        How the columns of a table become the features; `feature_names` are then its. Data frames with these columns
        are encoded on the way in; arrays hold the features themselves.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    row_weight: NDArray[np.float64]
    impurity: NDArray[np.float64]
    growth_rank: NDArray[np.int32]
    offset: NDArray[np.int64]
    tree_weight: NDArray[np.float64]
    tree_column: NDArray[np.int32]
    averages: bool
    base: NDArray[np.float64]
    link: Link
    task: Task
    n_features: int
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    origin: str = ""
    ties: Ties = "first"
    rounding: Rounding = "nearest"
    refined: bool = False
    category_set: NDArray[np.int32] = None  # type: ignore[assignment]  # never after __post_init__
    set_offset: NDArray[np.int64] = None  # type: ignore[assignment]  # as above
    set_bits: NDArray[np.uint32] = None  # type: ignore[assignment]  # as above
    encoding: "Encoding | None" = None

    def __post_init__(self) -> None:
        self._fill_in_sets()
        for field in fields(self):
            object.__setattr__(self, field.name, as_kept(field.name, getattr(self, field.name)))
        check_forest(self)

    def _fill_in_sets(self) -> None:
        """Have the fields of sets say that there are none, where they are not given."""
        defaults = {"category_set": np.full(np.shape(self.feature)[:1], -1, np.int32)} | no_sets()._asdict()
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.tree_weight.size

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, splits and leaves."""
        return self.feature.size

    @property
    def n_sets(self) -> int:
        """Number of sets of categories that splits test; 0 if all splits are by thresholds."""
        return self.set_offset.size - 1

    @property
    def nbytes(self) -> int:
        """How many bytes its arrays take in memory; `size` is what they would take on a target."""
        arrays = (getattr(self, field.name) for field in fields(self))
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    @cached_property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return int(np.count_nonzero(self.feature < 0))

    @property
    def n_classes(self) -> int:
        """Number of classes; 1 for regression."""
        return 1 if self.classes is None else self.classes.size

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the raw scores: weighted sums of leaf values, before the link.

        Shape (rows, columns), or (rows,) where there is one column: regression, and two classes with
        a logistic or isolation link.
        """
        raw = _predict.raw_scores(self, X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities of shape (rows, classes).

        With the identity link these are the mean leaf values as they are: probabilities for a trained forest; after
        refinement they may be negative and need not sum to one.
        """
        return _predict.probabilities(self, X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted class labels, or numbers for regression."""
        return _predict.predictions(self, X)

    def apply(self, X: ArrayLike, *, n_jobs: int | None = None) -> NDArray[np.uint16] | NDArray[np.uint32]:
        """Return the number of the leaf, within its tree, that each row falls into in each tree.

        Shape (rows, trees); 16-bit numbers where no tree has more than 65,536 nodes. The columns are contiguous.
        `n_jobs` threads share the rows, one if it is None; as everywhere, -1 is one for each processor.
        """
        return _predict.leaf_ids(self, X, n_jobs)

    def truncate(self, *, max_leaves: int) -> Self:
        """Return the forest with every tree cut back to at most `max_leaves` leaves.

        Trees shrink in the reverse order of best-first growth. A tree that scikit-learn grew with `max_leaf_nodes`,
        alone, in a forest or in bagging, becomes exactly the tree it would have grown with
        ``max_leaf_nodes=max_leaves`` and the same seed. In others, the splits with the largest gain stay. A
        refined forest cannot be truncated, since its leaves depend on one another: truncate first, refine after.
        """
        return _truncate.truncate(self, max_leaves)

    def select(self, trees: Sequence[int] | NDArray[np.integer[Any]]) -> Self:
        """Return the forest of the trees with these indices, in this order; negative ones count from the end.

        An average stays one: its weights are scaled to their former sum. The weights of a sum, as in boosting, stay.
        """
        return _truncate.select(self, trees)

    def with_values(self, value: ArrayLike) -> Self:
        """Return the forest with other node values, of the same shape as `value`."""
        value = np.asarray(value, np.float64)
        if value.shape != self.value.shape:
            raise ValueError(
                f"value has shape {value.shape}; this forest needs {self.value.shape}: one row for each node, "
                "inner nodes included"
            )
        return replace(self, value=value)

    def with_weights(self, tree_weight: ArrayLike) -> Self:
        """Return the forest with other tree weights, taken as they are."""
        tree_weight = np.asarray(tree_weight, np.float64)
        if tree_weight.shape != self.tree_weight.shape:
            raise ValueError(
                f"tree_weight has shape {tree_weight.shape}; this forest has {self.n_trees} trees: "
                f"give one weight for each, shape ({self.n_trees},)"
            )
        return replace(self, tree_weight=tree_weight)

    def with_encoding(self, encoding: "Encoding | None") -> Self:
        """Return the forest with an encoding of a table's columns, and the names of its features."""
        names = self.feature_names if encoding is None else encoding.feature_names
        return replace(self, encoding=encoding, feature_names=names)

    def size(self, accounting: Literal["paper"] = "paper", *, bytes_per_node: int | None = None) -> int:
        """Return the size in bytes.

        Parameters
        ----------
        accounting : {"paper"}
            17 + 4 C bytes a node for C classes (Buschjäger and Morik 2022: two children, leaf flag, feature,
            threshold, C probabilities). A set of categories counts as the threshold in its place.
        bytes_per_node : int, optional
            Count this many bytes a node instead.
        """
        return _size.size(self, accounting, bytes_per_node)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the forest to one file, which `load` reads; an existing file is replaced only when all is written."""
        _save.save_forest(self, path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Forest):
            return NotImplemented
        return all(same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]  # as for any container of arrays

    def __repr__(self) -> str:
        return _repr.text(self)

    def _repr_html_(self) -> str:
        return _repr.html(self)

    @cached_property
    def _tables(self) -> _walk.Tables | None:
        return _walk.walk_tables(self, missing=True)

    @cached_property
    def _sum(self) -> _walk.Sum:
        return _walk.summation(self)

    @cached_property
    def _leaf_dtype(self) -> type[np.uint16] | type[np.uint32]:
        return _walk.leaf_dtype(self)

    @cached_property
    def _walker(self) -> "Walker | None":
        return _walk.walker(self)

    @cached_property
    def _walker_without_missing(self) -> "Walker | None":
        return _walk.walker_without_missing(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Freeze the arrays again, which a pickle does not."""
        Forest.__init__(self, **state)


def same(a: object, b: object) -> bool:
    """Return whether two fields of a model are of the same type and the same."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b
