"""What others make of the same bytes: a plain random forest, XGBoost and LightGBM, to compare a fit with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._interruption import is_interruption
from billhook.budget._regression_loss import RegressionLoss
from billhook.budget._results import Candidate
from billhook.budget._search import Search
from billhook.budget._splits import Split, TrainingRows, sample_row_numbers
from billhook.budget._trial_runner import TrialRunner
from billhook.forest import Forest
from billhook.interop import as_forest
from billhook.packing import Packed, pack

# Rows that each learns from at most.
MOST_ROWS = 20_000
# Trees that are grown at most, and about the bytes that a leaf takes at least.
MOST_TREES, BYTES_A_LEAF = 256, 1.2
LEAVES = (8, 16, 32, 64)
LIBRARIES = {"xgboost": "XGBoost", "lightgbm": "LightGBM"}
# What each calls the losses of regression. Models for Huber's loss are compared by their absolute errors, and learn
# those here: the width of the loss is a share of the errors with us, and a number that has to suit the targets there.
OBJECTIVES = {
    "xgboost": {
        "squared_error": "reg:squarederror",
        "absolute_error": "reg:absoluteerror",
        "huber": "reg:absoluteerror",
        "quantile": "reg:quantileerror",
        "poisson": "count:poisson",
    },
    "lightgbm": {
        "squared_error": "regression",
        "absolute_error": "regression_l1",
        "huber": "regression_l1",
        "quantile": "quantile",
        "poisson": "poisson",
    },
}


@dataclass(frozen=True)
class OtherModel:
    """What a library makes of a budget.

    Attributes
    ----------
    name : str
    nbytes : int
        Of the largest of the models for the splits, packed with the defaults of `pack`.
    scores : tuple of float
        On the held-out rows of each split.
    settings : str
        Those that did best, of a few.
    """

    name: str
    nbytes: int
    scores: tuple[float, ...]
    settings: str

    @property
    def score(self) -> float:
        """The mean over the splits."""
        return float(np.mean(self.scores))


class _Recipe(NamedTuple):
    name: str
    settings: str
    n_a_round: int
    grow: Callable[[NDArray[np.float32], NDArray[Any], NDArray[np.float64], int], Any]
    leaves: int


def other_models(search: Search, best: Candidate, budget: int) -> tuple[tuple[OtherModel, ...], tuple[str, ...]]:
    """Return what other libraries make of the same bytes and splits, and notes on those that are not compared with.

    Each is tried with a few shapes of trees, and of each shape the largest number of trees is taken that fits when
    packed with the defaults. A library that fails is noted: what the search has found is not lost by it.
    """
    runner = search.comparing if best.is_final else search.trying
    numbers = best.splits
    splits = [runner.split(number) for number in numbers]
    notes = [
        f"{name} is not installed, and so not compared with: pip install {module}."
        for module, name in LIBRARIES.items()
        if find_spec(module) is None
    ]
    if runner.rows.classes is None and runner.rows.loss.name != "squared_error":
        notes.append(
            f"The random forest has learned squared errors: it cannot learn loss={runner.rows.loss.name!r} here."
        )
    recipes: dict[str, list[_Recipe]] = {}
    for recipe in _recipes(runner.rows, runner.seed):
        recipes.setdefault(recipe.name, []).append(recipe)
    found = []
    for name, shapes in recipes.items():
        try:
            other = _best_of(shapes, runner, splits, budget)
        except Exception as error:
            if is_interruption(error):
                raise
            notes.append(f"{name} failed, and so is not compared with: {type(error).__name__}: {error}")
            continue
        if other is None:
            notes.append(f"{name}: no model of at most {budget:,} bytes.")
            continue
        found.append(other)
        if len(other.scores) < len(splits):
            notes.append(
                f"{name}: models for {len(other.scores)} of {len(splits)} splits only fit, and are compared."
            )
    return tuple(found), tuple(notes)


def _best_of(shapes: list[_Recipe], runner: TrialRunner, splits: list[Split], budget: int) -> OtherModel | None:
    """Return the shape that does best on the first split, and that on all; None if nothing fits."""
    firsts = [(_outcome(recipe, runner, splits[0], budget), recipe) for recipe in shapes]
    fitting = [(outcome.score, recipe) for outcome, recipe in firsts if outcome is not None]
    if not fitting:
        return None
    _, recipe = max(fitting, key=lambda each: each[0])
    outcomes = [_outcome(recipe, runner, split, budget) for split in splits]
    made = [outcome for outcome in outcomes if outcome is not None]
    scores = tuple(outcome.score for outcome in made)
    return OtherModel(recipe.name, max(outcome.nbytes for outcome in made), scores, recipe.settings)


class _Outcome(NamedTuple):
    nbytes: int
    score: float


def _outcome(recipe: _Recipe, runner: TrialRunner, split: Split, budget: int) -> _Outcome | None:
    """Return the bytes of a model for a split, and its score on the held-out rows; None if nothing fits."""
    X, rows, held_out = runner.features(split), runner.rows, split.held_out
    packed = _fitted(recipe, X, rows, split, budget)
    if packed is None:
        return None
    score = runner.score(packed, X[held_out], rows.labels[held_out], rows.weight[held_out])
    return _Outcome(packed.nbytes, score)


def _recipes(rows: TrainingRows, seed: int) -> Iterator[_Recipe]:
    """Yield ways to grow trees with each library that is there."""
    n_classes = 0 if rows.classes is None else rows.classes.size
    n_a_round = n_classes if n_classes > 2 else 1
    for leaves in LEAVES:
        at_most = f"at most {leaves} leaves a tree"
        yield _Recipe("random forest", at_most, 1, _random_forest(leaves, n_classes, seed), leaves)
        if find_spec("xgboost") is not None:
            depth = leaves.bit_length() - 1
            yield _Recipe(
                "XGBoost",
                f"at most {depth} splits deep",
                n_a_round,
                _xgboost(depth, n_classes, seed, rows.loss),
                leaves,
            )
        if find_spec("lightgbm") is not None:
            yield _Recipe("LightGBM", at_most, n_a_round, _lightgbm(leaves, n_classes, seed, rows.loss), leaves)


def _fitted(recipe: _Recipe, X: NDArray[np.float32], rows: TrainingRows, split: Split, budget: int) -> Packed | None:
    """Return the model of as many trees as fit, learned from the training rows of a split; None if not even one."""
    check_time()
    train = split.train
    if train.size > MOST_ROWS:
        labels = None if rows.classes is None else rows.y[train]
        train = train[sample_row_numbers(labels, train.size, MOST_ROWS, split.number)]
    n_rounds = int(np.clip(budget / (BYTES_A_LEAF * recipe.leaves * recipe.n_a_round), 1, MOST_TREES))
    forest = as_forest(recipe.grow(X[train], rows.y[train], rows.weight[train], n_rounds))
    if rows.classes is not None:
        forest = replace(forest, classes=rows.classes)
    return _largest(forest, recipe.n_a_round, budget)


def _largest(forest: Forest, n_a_round: int, budget: int) -> Packed | None:
    """Return as many of the first rounds of trees as fit, packed."""
    least, most, best = 1, forest.n_trees // n_a_round, None
    while least <= most:
        middle = (least + most) // 2
        packed = pack(forest.select(range(middle * n_a_round)))
        if packed.nbytes <= budget:
            best, least = packed, middle + 1
        else:
            most = middle - 1
    return best


def _random_forest(leaves: int, n_classes: int, seed: int) -> Callable[..., Any]:
    def grow(X: Any, y: Any, weight: Any, n_trees: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestClassifier if n_classes else RandomForestRegressor
        return kind(n_trees, max_leaf_nodes=leaves, random_state=seed).fit(X, y, sample_weight=weight)

    return grow


def _objective(module: str, loss: RegressionLoss) -> dict[str, Any]:
    """Return the arguments that have a library learn a loss."""
    arguments: dict[str, Any] = {"objective": OBJECTIVES[module][loss.name]}
    if loss.name == "quantile":
        arguments["quantile_alpha" if module == "xgboost" else "alpha"] = loss.quantile
    return arguments


def _xgboost(depth: int, n_classes: int, seed: int, loss: RegressionLoss) -> Callable[..., Any]:
    def grow(X: Any, y: Any, weight: Any, n_rounds: int) -> Any:
        import xgboost

        kind = xgboost.XGBClassifier if n_classes else xgboost.XGBRegressor
        objective = {} if n_classes else _objective("xgboost", loss)
        model = kind(n_estimators=n_rounds, max_depth=depth, random_state=seed, n_jobs=1, **objective)
        return model.fit(X, y, sample_weight=weight)

    return grow


def _lightgbm(leaves: int, n_classes: int, seed: int, loss: RegressionLoss) -> Callable[..., Any]:
    def grow(X: Any, y: Any, weight: Any, n_rounds: int) -> Any:
        import lightgbm

        kind = lightgbm.LGBMClassifier if n_classes else lightgbm.LGBMRegressor
        objective = {} if n_classes else _objective("lightgbm", loss)
        model = kind(n_estimators=n_rounds, num_leaves=leaves, random_state=seed, n_jobs=1, verbosity=-1, **objective)
        return model.fit(X, y, sample_weight=weight)

    return grow
