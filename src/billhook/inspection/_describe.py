"""What a model is, which bytes it takes for what, and which columns it looks at."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._checks import at_least_one
from billhook._files import atomic_write
from billhook.codegen import TargetFit, target_fits
from billhook.forest import Forest, count_of, prediction_of
from billhook.inspection._data import ModelData, data_for
from billhook.inspection._gain import Basis, feature_gains, levels_of
from billhook.inspection._models import allows_missing, column_of_each_feature, model_of
from billhook.inspection._page import notebook_text, page
from billhook.inspection._permutation import permutation_losses
from billhook.inspection._score_table import scores_of
from billhook.inspection._tree_text import tree_text
from billhook.packing import Packed, forest_of_tests, pack, projection_name, rows_of_tests

# A larger forest is not packed only to be described.
MOST_NODES = 1_000_000
# Features of a projection that are named.
MOST_WEIGHTS = 6
# What the sections of the bytes belong to.
PARTS = {
    "tests": ("what the splits ask", ("tests",)),
    "table of tests": ("tests that several splits share", ("pairs",)),
    "shapes": ("which nodes are splits", ("trees", "shapes")),
    "leaves": ("what the leaves predict", ("leaves",)),
    "table of leaf values": ("values that several leaves share", ("table",)),
    "projections": ("weighted sums that splits ask for", ("projections",)),
    "features": ("features in use and their thresholds", ("features", "grids", "steps", "sizes", "categories")),
    "scores": ("what scores begin with, and their scales", ("factors", "base")),
}


@dataclass(frozen=True)
class BytePart:
    """A part of the bytes of a model: its name, what it holds, and its bytes."""

    name: str
    about: str
    nbytes: int


@dataclass(frozen=True)
class ColumnUse:
    """A column that a model looks at.

    Attributes
    ----------
    name : str
    n_splits : int
        How many splits ask for it, or for a projection of it.
    gain : float
        Its share, of 1, in what all splits tell apart: see `describe`. What splits of a projection tell apart is
        shared by its columns as their weights are.
    permutation : float or None
        How much accuracy, or R2, is lost when its cells change places; None where no labels are given.
    """

    name: str
    n_splits: int
    gain: float
    permutation: float | None


@dataclass(frozen=True)
class ProjectionUse:
    """A weighted sum of the codes of features, which splits ask for as for a feature.

    Attributes
    ----------
    name : str
    n_splits : int
        How many splits ask for it.
    gain : float
        Its share, of 1, in what all splits tell apart.
    weights : tuple of (str, int)
        The names of its features, and how many times the code of each counts; the largest first.
    """

    name: str
    n_splits: int
    gain: float
    weights: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        said = ", ".join(f"{name} * {weight}" for name, weight in self.weights[:MOST_WEIGHTS])
        n_more = len(self.weights) - MOST_WEIGHTS
        return said + (f" and {n_more:,} more" if n_more > 0 else "")


@dataclass(frozen=True, eq=False)
class ModelDescription:
    """What a model is; in a notebook, a table with bars.

    Attributes
    ----------
    name : str
        "Packed" or "Forest".
    facts : dict
        What there is to say about it in words, by name.
    nbytes : int or None
        Bytes of flash; of a forest, those it would take if packed with the defaults, None where it cannot be.
    parts : tuple of BytePart
        Where they go, the largest part first.
    columns : tuple of ColumnUse
        The columns it looks at, those that matter most first.
    n_columns : int
        How many there are.
    gain_from : {"rows", "training rows", "halves"}
        The rows that the gain counts: those given, those it was trained on, or, where nothing is known of them, half
        of a split's for each side.
    targets : tuple of TargetFit
        Flash and RAM of each target, and whether they hold it.
    measures : dict
        How well it does on the rows, as `TableScores.measures`; empty without labels.
    trees : dict
        Trees that were asked for, drawn as text.
    notes : tuple of str
    projections : tuple of ProjectionUse
        The projections that splits test, in the order of their numbers; those of forests are none.
    """

    name: str
    facts: dict[str, str]
    nbytes: int | None
    parts: tuple[BytePart, ...]
    columns: tuple[ColumnUse, ...]
    n_columns: int
    gain_from: Basis
    targets: tuple[TargetFit, ...]
    measures: dict[str, float]
    trees: dict[int, str]
    notes: tuple[str, ...]
    projections: tuple[ProjectionUse, ...] = ()

    def save(self, path: str | PathLike[str], title: str = "") -> None:
        """Write a page that opens anywhere and loads nothing; a file of this name is replaced."""
        text = page(self, title or self.name).encode("utf-8", "replace")
        with atomic_write(path) as file:
            file.write(text)

    def _repr_html_(self) -> str:
        return notebook_text(self)


def describe(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    trees: tuple[int, ...] = (),
    max_depth: int | None = None,
    n_repeats: int = 5,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> ModelDescription:
    """Return what a model is: its bytes by part, the columns it looks at, and the targets that hold it.

    How much a column matters is said in two ways. The gain needs no labels: a split tells apart what its two sides
    predict, the variance between them times their rows, and a column has the share of its splits; for a random forest
    of scikit-learn these are its `feature_importances_`. With labels there is the permutation importance too: how
    much accuracy, or R2, is lost when the cells of the column change places among the rows.

    Parameters
    ----------
    model : Forest, Packed, fitted estimator, or path
        Of a model file of any kind that `load` reads, or of the folder of a fit.
    X : array, data frame, or path of a table, optional
        Rows, best such as the model was not trained on.
    y : array, or name of a column, optional
        Their labels, or the column of X that holds them.
    trees : tuple of int
        Numbers of trees to draw, from 0; negative ones count from the end.
    max_depth : int, optional
        How deep to draw them; by default all of a tree that is not too large to read.
    n_repeats : int
        Permutations of each column.
    random_state : int
        The seed of the permutations.
    progress : function, optional
        Called with the columns done, and how many there are.

    Examples
    --------
    >>> import billhook as bh
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rf = RandomForestClassifier(8, max_leaf_nodes=3, random_state=0).fit(X, y)
    >>> description = bh.describe(rf, X, y, trees=(0,))
    >>> sum(part.nbytes for part in description.parts) == description.nbytes
    True
    >>> description.columns[0].name
    'petal width (cm)'
    >>> print(description.trees[0])
    petal width (cm) <= 0.75?
    |-- yes: 0 (1)
    `-- no: petal length (cm) <= 4.85 (or missing)?
        |-- yes: 1 (0.9348)
        `-- no: 2 (0.9825)
    """
    known = model_of(model)
    data = None if X is None else data_for(known, X, y)
    if X is None and y is not None:
        raise ValueError("y holds labels of rows: give X too")
    at_least_one(n_repeats, "n_repeats")
    forest = known if isinstance(known, Forest) else forest_of_tests(known)
    drawn = {number: tree_text(forest, number, max_depth=max_depth, encoding=known.encoding) for number in trees}
    packed, notes = (known, ()) if isinstance(known, Packed) else _packed(known)
    rows = None if data is None else data.X if isinstance(known, Forest) else rows_of_tests(known, data.X)
    gains, basis = feature_gains(forest, rows)
    uses = _Uses.of(known, forest, gains)
    columns = _columns(known, uses, data, n_repeats, random_state, progress)
    return ModelDescription(
        name=type(known).__name__,
        facts=_facts(known, forest),
        nbytes=None if packed is None else packed.nbytes,
        parts=() if packed is None else byte_parts(packed),
        columns=columns,
        n_columns=len(set(column_of_each_feature(known))),
        gain_from=basis,
        targets=() if packed is None else target_fits(packed),
        measures={} if data is None or data.y is None else scores_of(known, data.X, data.y).measures,
        trees=drawn,
        notes=(*notes, *(() if data is None else data.notes)),
        projections=_projections(known, uses),
    )


def byte_parts(packed: Packed) -> tuple[BytePart, ...]:
    """Return where the bytes of a model go, the largest part first; parts that it does not have are left out."""
    sections = list(packed.layout.sections.items())
    size = {name: end - start for (name, start), (_, end) in pairwise(sections)}
    parts = [BytePart(name, about, sum(size[each] for each in names)) for name, (about, names) in PARTS.items()]
    return tuple(sorted((part for part in parts if part.nbytes), key=lambda part: -part.nbytes))


def _packed(forest: Forest) -> tuple[Packed | None, tuple[str, ...]]:
    """Return a forest as it would be packed, or why it cannot be."""
    if forest.n_nodes > MOST_NODES:
        return None, (f"Its {forest.n_nodes:,} nodes are too many to pack it only to say what it would take.",)
    try:
        return pack(forest), ("The bytes are those it would take packed, as pack and emit do by default.",)
    except (ValueError, TypeError) as error:
        return None, (f"What it would take packed is not known: {error}",)


def _facts(model: Forest | Packed, forest: Forest) -> dict[str, str]:
    leaves = np.add.reduceat(forest.feature < 0, forest.offset[:-1], dtype=np.int64)
    each = f"{leaves.min():,}" if leaves.min() == leaves.max() else f"{leaves.min():,} to {leaves.max():,}"
    depth = len(levels_of(forest).nodes) - 1
    facts = {"Predicts": _prediction(model)}
    if isinstance(model, Packed):
        facts["Bytes of flash"] = f"{model.nbytes:,} (without the program that reads them)"
    facts |= {
        "Trees": f"{forest.n_trees:,}, up to {count_of(depth, 'split')} deep",
        "Leaves": f"{forest.n_leaves:,} ({each} a tree)",
    }
    if isinstance(model, Packed):
        different = f", {model.layout.n_entries:,} different leaves" if model.layout.n_entries else ""
        facts["Bits of a leaf value"] = f"{model.layout.leaf_bits}{different}"
        facts["Bits of a threshold"] = f"{model.layout.code_bits}"
    else:
        facts["Size as the paper counts"] = f"{forest.size('paper') / 1024:,.1f} KB"
    n_used = model.n_used if isinstance(model, Packed) else np.unique(forest.feature[forest.feature >= 0]).size
    if isinstance(model, Packed) and model.projections is not None:
        n_projections = count_of(model.layout.n_projections, "projection")
        facts["Splits test"] = f"features, and {n_projections}: weighted sums of the codes of features"
    return facts | {
        "Features": f"{n_used:,} in use of {model.n_features:,}",
        "Missing values": "allowed" if allows_missing(model) else "none allowed",
        "Made from": model.origin or "arrays",
    }


def _prediction(model: Forest | Packed) -> str:
    if model.classes is None:
        return "a number"
    names = ", ".join(map(str, model.classes[:6].tolist())) + (", ..." if model.n_classes > 6 else "")
    return f"{prediction_of(model.classes)}: {names}"


class _Uses(NamedTuple):
    """How a model uses each feature, and each projection behind them.

    `weights` are how many times the code of a feature counts in a projection, (projections, features).
    """

    n_splits: NDArray[np.int64]
    gains: NDArray[np.float64]
    weights: NDArray[np.int64]

    @classmethod
    def of(cls, model: Forest | Packed, forest: Forest, gains: NDArray[np.float64]) -> "_Uses":
        """Return the uses of a model whose splits, as a forest, have these gains by what they test."""
        n_splits = np.bincount(forest.feature[forest.feature >= 0], minlength=forest.n_features)
        weights = np.zeros((forest.n_features - model.n_features, model.n_features), np.int64)
        if isinstance(model, Packed) and model.projections is not None:
            weights[:, model.used] = model.projections.weights
        return cls(n_splits, gains, weights)

    def splits_of(self, group: NDArray[np.int64]) -> int:
        """Return how many splits ask for one of some features, itself or in a projection."""
        n_features = self.weights.shape[1]
        in_projection = self.weights[:, group].any(axis=1)
        return int(self.n_splits[group].sum() + self.n_splits[n_features:][in_projection].sum())

    def gain_of(self, group: NDArray[np.int64]) -> float:
        """Return the gain of some features, with their share in that of projections."""
        sizes = np.abs(self.weights)
        shares = sizes[:, group].sum(axis=1) / np.maximum(sizes.sum(axis=1), 1)
        return float(self.gains[group].sum() + shares @ self.gains[self.weights.shape[1] :])


def _projections(model: Forest | Packed, uses: _Uses) -> tuple[ProjectionUse, ...]:
    """Return the projections that splits test."""
    n_features = model.n_features
    names = model.feature_names or tuple(f"feature {number}" for number in range(n_features))
    found = []
    for number, weights in enumerate(uses.weights):
        order = np.argsort(-np.abs(weights), kind="stable")[: np.count_nonzero(weights)]
        found.append(
            ProjectionUse(
                projection_name(number),
                int(uses.n_splits[n_features + number]),
                float(uses.gains[n_features + number]),
                tuple((names[feature], int(weights[feature])) for feature in order.tolist()),
            )
        )
    return tuple(found)


def _columns(
    model: Forest | Packed,
    uses: _Uses,
    data: ModelData | None,
    n_repeats: int,
    random_state: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[ColumnUse, ...]:
    """Return the columns in use, those that matter most first."""
    is_used = (uses.n_splits[: model.n_features] > 0) | uses.weights.any(axis=0)
    features: dict[str, list[int]] = {}
    for number, name in enumerate(column_of_each_feature(model)):
        if is_used[number]:
            features.setdefault(name, []).append(number)
    groups = [np.array(numbers, np.int64) for numbers in features.values()]
    losses: list[float] | None = None
    if data is not None and data.y is not None:
        losses = permutation_losses(
            model, data.X, data.y, groups, n_repeats=n_repeats, random_state=random_state, progress=progress
        ).tolist()
    found = [
        ColumnUse(name, uses.splits_of(group), uses.gain_of(group), None if losses is None else losses[place])
        for place, (name, group) in enumerate(zip(features, groups, strict=True))
    ]
    return tuple(sorted(found, key=lambda use: (-(use.permutation or 0.0), -use.gain)))
