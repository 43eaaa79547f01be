"""Numbers to learn from that are less noisy than the targets: what a smooth function of the features says of rows.

That function is far too large for a small budget. Trees that learn what it predicts need not find out for themselves
what is noise (Bucila, Caruana and Niculescu-Mizil 2006), and it sees what trees see badly, as sums of features.
"""

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._types import Float32Array, RowNumbers, Vector
from billhook.budget._splits import TrainingRows

# With more rows noise matters less, and with more features distances tell less.
MOST_ROWS, MOST_FEATURES = 20_000, 100
# Rows that the function is fitted to, rows that it measures distances to, and rows predicted at once.
FITTED_ROWS, N_LANDMARKS, BLOCK = 6_000, 300, 4_096
# Of the kernel exp(-width / features * squared distance), and of the ridge.
WIDTHS = (0.15, 0.5, 1.5)
PENALTIES = tuple(10.0**k for k in range(-3, 4))
# Standardised features are cut off here, so that a row far away has no say alone.
FARTHEST = 6.0
# Targets are multiples of this share of their spread: libraries of linear algebra differ in the last bits.
STEP = 2.0**-10
# How many threads linear algebra may have is set for the whole process.
ONE_AT_A_TIME = threading.Lock()


class SmoothFunction(NamedTuple):
    """A function of standardised features: `error` is its squared error on rows left out one at a time."""

    error: float
    middle: Vector
    spread: Vector
    landmarks: Vector
    width: float
    of_kernel: Vector
    of_features: Vector
    base: float

    def __call__(self, X: Float32Array) -> Vector:
        """Return what it says of rows."""
        out = np.empty(len(X))
        for begin in range(0, len(X), BLOCK):
            check_time()
            Z = _standardised(X[begin : begin + BLOCK], self.middle, self.spread)
            kernel = _kernel(Z, self.landmarks, self.width)
            out[begin : begin + BLOCK] = kernel @ self.of_kernel + Z @ self.of_features + self.base
        return out


def can_be_smoothed(rows: TrainingRows) -> bool:
    """Return whether targets of such rows may be smoothed: numbers by squared errors, not too many."""
    is_small = rows.n_rows <= MOST_ROWS and rows.X.shape[1] <= MOST_FEATURES
    return rows.classes is None and rows.loss.name == "squared_error" and is_small


def smooth_targets(rows: TrainingRows, X: Float32Array, train: RowNumbers, seed: int) -> Vector:
    """Return what a smooth function, fitted to the training rows, says of all rows.

    It is ridge regression on the features and on Gaussian kernels around some rows (Williams and Seeger 2001). Width
    and penalty are those with the least error on rows that are left out, one at a time.
    """
    from threadpoolctl import threadpool_limits

    y, weight = rows.y[train], rows.weight[train]
    middle = float(np.average(y, weights=weight))
    spread = float(np.sqrt(np.average((y - middle) ** 2, weights=weight))) or 1.0
    some = np.random.default_rng([seed, train.size]).permutation(train.size)[:FITTED_ROWS]
    with ONE_AT_A_TIME, threadpool_limits(1):  # threads of a busy machine wait for each other
        function = _fitted(X[train[some]], (y[some] - middle) / spread, weight[some])
        smooth = function(X)
    return np.asarray(np.rint(smooth / STEP) * STEP * spread + middle)


def _fitted(X: Float32Array, y: Vector, weight: Vector) -> SmoothFunction:
    """Return the best function of all widths and penalties."""
    weight = weight / weight.mean()
    middle, spread = _middle_and_spread(X)
    Z = _standardised(X, middle, spread)
    landmarks = Z[:N_LANDMARKS]  # the rows are in random order
    best: SmoothFunction | None = None
    for width in WIDTHS:
        check_time()
        # In this basis the product of two rows is their kernel, as far as the landmarks tell.
        basis = _basis(landmarks, width)
        features = np.column_stack([_kernel(Z, landmarks, width) @ basis, Z])
        mean = np.average(features, axis=0, weights=weight)
        features -= mean
        base = float(np.average(y, weights=weight))
        bend, turn = np.linalg.eigh((features * weight[:, None]).T @ features)
        turned = features @ turn
        slope = turned.T @ (weight * (y - base))
        for penalty in PENALTIES:
            share = 1.0 / (np.maximum(bend, 0.0) + penalty)
            # How much a row has to say of itself: without it the error would be so many times larger.
            own = np.minimum((turned**2 @ share) * weight + weight / weight.sum(), 0.999)
            left_out = (y - base - turned @ (slope * share)) / (1.0 - own)
            error = float(np.average(left_out**2, weights=weight))
            if best is None or error < best.error:
                found = turn @ (slope * share)
                of_kernel, of_features = basis @ found[: basis.shape[1]], found[basis.shape[1] :]
                at_zero = base - float(mean @ found)
                best = SmoothFunction(error, middle, spread, landmarks, width, of_kernel, of_features, at_zero)
    assert best is not None
    return best


def _middle_and_spread(X: Float32Array) -> tuple[Vector, Vector]:
    """Return the mean and the standard deviation of the finite values of each feature; of none, 0 and 1."""
    finite = np.isfinite(X)
    count = np.maximum(finite.sum(axis=0), 1)
    known = np.where(finite, X, 0.0).astype(np.float64)
    middle = known.sum(axis=0) / count
    spread = np.sqrt((np.where(finite, known - middle, 0.0) ** 2).sum(axis=0) / count)
    return middle, np.where(spread > 0.0, spread, 1.0)


def _standardised(X: Float32Array, middle: Vector, spread: Vector) -> Vector:
    """Return features around 0 of about 1; a missing one is 0."""
    return np.nan_to_num(np.clip((X - middle) / spread, -FARTHEST, FARTHEST), nan=0.0)


def _kernel(Z: Vector, landmarks: Vector, width: float) -> NDArray[np.float64]:
    distance = (Z**2).sum(axis=1)[:, None] + (landmarks**2).sum(axis=1) - 2.0 * (Z @ landmarks.T)
    return np.asarray(np.exp(-width / Z.shape[1] * np.maximum(distance, 0.0)))


def _basis(landmarks: Vector, width: float) -> NDArray[np.float64]:
    bend, turn = np.linalg.eigh(_kernel(landmarks, landmarks, width))
    is_known = bend > 1e-8 * bend[-1]
    return np.asarray(turn[:, is_known] / np.sqrt(bend[is_known]))
