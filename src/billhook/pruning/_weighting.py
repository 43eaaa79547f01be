"""Learn the trees' weights; trees without weight leave."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.kernels import add_weighted_trees, slopes_of_trees
from billhook.pruning._evaluation import EvaluatedTrees
from billhook.pruning._selection import Selection


def proximal(
    evaluated: EvaluatedTrees,
    n_trees: int,
    random_state: Any,
    *,
    loss: str = "mse",
    penalty: str = "hard_L0",
    strength: float = 0.0,
    optimizer: str = "adam",
    step_size: float = 0.01,
    epochs: int = 20,
    batch_size: int = 256,
    simplex: bool = True,
    node_penalty: float = 0.0,
) -> Selection:
    """Descend by stochastic proximal steps on the loss of the weighted sum of the trees' probabilities.

    After each step on a batch, the penalty acts: ``"L1"`` shrinks every weight towards 0 by step size times strength,
    ``"L0"`` sets to 0 those below sqrt(2 step size strength), ``"hard_L0"`` all but the `n_trees` largest. With
    `simplex` the weights are then projected so that none is negative and they sum to one. `node_penalty` shrinks
    trees by their share of all nodes. At most `n_trees` trees with a weight other than 0 stay: the largest.
    """
    _check(evaluated, loss, penalty, optimizer, strength, step_size, epochs, batch_size, node_penalty)
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    is_regression = evaluated.forest.classes is None
    unit = (float(np.std(evaluated.y)) or 1.0) if is_regression else 1.0
    n_nodes = np.diff(evaluated.forest.offset)
    of_nodes = node_penalty * n_nodes / n_nodes.sum()
    weight = np.full(evaluated.n_trees, 1.0 / evaluated.n_trees)
    step = _AdamSteps(evaluated.n_trees, step_size) if optimizer == "adam" else _GradientSteps(step_size)
    row_weight = evaluated.weight / np.mean(evaluated.weight)
    for epoch in range(epochs):
        shuffled = rng.permutation(evaluated.n_rows)
        for start in range(0, evaluated.n_rows, batch_size):
            rows = shuffled[start : start + batch_size]
            target = (
                evaluated.y[rows, None] / unit if is_regression else np.eye(evaluated.n_classes)[evaluated.y[rows]]
            )
            score = _weighted_scores(evaluated, rows, weight / unit)
            slope = loss_slope(loss, score, target) * row_weight[rows, None] / (len(rows) * unit)
            weight = weight - step(_slope_by_weight(evaluated, rows, slope) + of_nodes)
            weight = shrink(weight, penalty, n_trees, strength * step_size)
            if simplex:
                weight = project_to_simplex(weight, weight != 0.0 if penalty == "hard_L0" else None)
        evaluated.report_progress(epoch + 1, epochs)
    chosen = np.sort(np.argsort(-np.abs(weight), kind="stable")[:n_trees])
    chosen = chosen[weight[chosen] != 0.0]
    if chosen.size == 0:
        raise ValueError(f"a strength of {strength} leaves no tree a weight; lower it")
    kept = weight[chosen]
    if simplex:
        kept = project_to_simplex(kept)
        chosen, kept = chosen[kept > 0.0], kept[kept > 0.0]
    elif chosen.size < np.count_nonzero(weight) and kept.sum() != 0.0:
        kept = kept * (weight.sum() / kept.sum())  # the trees that are cut off were part of the sum
    return Selection(chosen, kept)


def _weighted_scores(evaluated: EvaluatedTrees, rows: NDArray[np.int64], weight: Vector) -> Vector:
    """Return the (rows, classes) sums over the trees of their values times these weights."""
    score = np.zeros((len(rows), evaluated.n_classes))
    add_weighted_trees(evaluated.leaf, evaluated.forest.offset, evaluated.value, rows, weight, score)
    return score


def _slope_by_weight(evaluated: EvaluatedTrees, rows: NDArray[np.int64], slope: Vector) -> Vector:
    """Return the slope of the loss of these rows by each tree's weight, from those by their scores."""
    by_weight = np.empty(evaluated.n_trees)
    slopes_of_trees(evaluated.leaf, evaluated.forest.offset, evaluated.value, rows, slope, by_weight)
    return by_weight


def loss_slope(loss: str, score: Vector, target: Vector) -> Vector:
    """Return the derivative of each row's loss by its scores."""
    if loss == "mse":
        return 2.0 * (score - target)
    if loss == "cross_entropy":
        from scipy.special import softmax

        return np.asarray(softmax(score, axis=1) - target)
    sign = 2.0 * target - 1.0
    return -2.0 * sign * np.maximum(1.0 - sign * score, 0.0)


def shrink(weight: Vector, penalty: str, n_trees: int, amount: float) -> Vector:
    """Return the weights after the penalty's proximal step."""
    if penalty == "L1":
        return np.sign(weight) * np.maximum(np.abs(weight) - amount, 0.0)
    if penalty == "L0":
        return np.where(np.abs(weight) >= np.sqrt(2.0 * amount), weight, 0.0)
    kept = np.zeros_like(weight)
    largest = np.argsort(-np.abs(weight), kind="stable")[:n_trees]
    kept[largest] = weight[largest]
    return kept


def project_to_simplex(weight: Vector, among: NDArray[np.bool_] | None = None) -> Vector:
    """Return the nearest weights that are not negative and sum to one (Duchi et al. 2008), `among` being free."""
    free = weight if among is None else weight[among]
    if free.size == 0:
        return weight
    falling = np.sort(free)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, free.size + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    projected = np.zeros_like(weight)
    projected[slice(None) if among is None else among] = np.maximum(free - shift, 0.0)
    return projected


class _GradientSteps:
    def __init__(self, step_size: float) -> None:
        self.step_size = step_size

    def __call__(self, slope: Vector) -> Vector:
        return self.step_size * slope


class _AdamSteps:
    """Kingma and Ba 2015, with their constants."""

    def __init__(self, size: int, step_size: float) -> None:
        self.step_size = step_size
        self.mean, self.square, self.count = np.zeros(size), np.zeros(size), 0

    def __call__(self, slope: Vector) -> Vector:
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * slope
        self.square = 0.999 * self.square + 0.001 * slope**2
        mean, square = self.mean / (1 - 0.9**self.count), self.square / (1 - 0.999**self.count)
        return np.asarray(self.step_size * mean / (np.sqrt(square) + 1e-8))


def _check(
    evaluated: EvaluatedTrees,
    loss: str,
    penalty: str,
    optimizer: str,
    strength: float,
    step_size: float,
    epochs: int,
    batch_size: int,
    node_penalty: float,
) -> None:
    losses = ("mse",) if evaluated.forest.classes is None else ("mse", "cross_entropy", "squared_hinge")
    for name, value, known in (
        ("loss", loss, losses),
        ("penalty", penalty, ("L1", "L0", "hard_L0")),
        ("optimizer", optimizer, ("sgd", "adam")),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")
    if strength < 0 or node_penalty < 0:
        raise ValueError(f"strength and node_penalty must not be negative, not {strength} and {node_penalty}")
    if step_size <= 0:
        raise ValueError(f"step_size must be above 0, not {step_size}")
    if epochs < 1 or batch_size < 1:
        raise ValueError(f"epochs and batch_size must be at least 1, not {epochs} and {batch_size}")
