"""How much worse a model predicts when the cells of a column change places (Breiman 2001)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook.forest import Forest
from billhook.packing import Packed

# Of more rows so many are drawn.
MOST_ROWS = 10_000


def permutation_losses(
    model: Forest | Packed,
    X: NDArray[np.float32],
    y: NDArray[Any],
    columns: Sequence[NDArray[np.int64]],
    *,
    n_repeats: int,
    random_state: int,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    """Return for each column the mean loss of accuracy, or of R2, over some permutations of its rows.

    A column is an array of the numbers of the features that come from it: they change places together.
    """
    random = np.random.default_rng(random_state)
    if len(X) > MOST_ROWS:
        chosen = np.sort(random.choice(len(X), MOST_ROWS, replace=False))
        X, y = X[chosen], y[chosen]
    whole = _score(model, X, y)
    losses = np.zeros(len(columns))
    shuffled = X.copy()
    for number, features in enumerate(columns):
        for _ in range(n_repeats):
            check_time()
            shuffled[:, features] = X[random.permutation(len(X))][:, features]
            losses[number] += (whole - _score(model, shuffled, y)) / n_repeats
        shuffled[:, features] = X[:, features]
        if progress is not None:
            progress(number + 1, len(columns))
    return losses


def _score(model: Forest | Packed, X: NDArray[np.float32], y: NDArray[Any]) -> float:
    predicted = model.predict(X)
    if model.classes is not None:
        return float(np.mean(predicted == y))
    spread = float(np.square(y - y.mean()).sum())
    return 1.0 - float(np.square(y - predicted).sum()) / (spread or 1.0)
