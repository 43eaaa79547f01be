"""Weighted sums of features which trees may split like a feature: the hidden units of a small net.

One hidden layer, learned by Adam (Kingma and Ba 2015). The same rows give the same sums on every machine, whatever
order they come in.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._types import Float32Array, Vector
from billhook.growing._drawn_rows import drawing_order
from billhook.kernels import GROWTH_LANES, GROWTH_LOSSES, projections_epoch

ProjectionLoss = Literal["squared", "logistic", "softmax"]
# More rows make the sums little better.
MOST_ROWS = 20_000
# How many codes are read in all epochs: for the time it takes. More epochs than the most make few sets better, and
# small ones worse.
MOST_READ = 200_000_000
LEAST_EPOCHS, MOST_EPOCHS = 10, 120
BATCH_SIZE = 128
# Columns that are standardised together: numbers of 64 bits take memory.
COLUMNS_AT_ONCE = 64
# Of the first batch; it falls to 0.
STEP_SIZE = 0.01
# The penalty on squared weights, over the rows of a batch: as in scikit-learn.
L2 = 1e-3
# How fast Adam forgets slopes and their squares; the kernel has these numbers too.
MEAN_DECAY, SQUARE_DECAY = 0.9, 0.999


def learn_projections(
    codes: Float32Array,
    target: NDArray[Any],
    weight: NDArray[Any],
    *,
    loss: ProjectionLoss,
    n_classes: int = 1,
    n_projections: int,
    n_epochs: int | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return directions (features, projections): what a row's codes are multiplied with, and added up.

    Parameters
    ----------
    codes : float32 array (rows, features)
        Whole numbers, none missing.
    target : array (rows)
        Numbers; classes 0 and 1 for the logistic loss, class numbers for softmax.
    weight : array (rows)
        Rows of weight 0 are as if they were not there.
    loss : {"squared", "logistic", "softmax"}
    n_classes : int
        For softmax.
    n_projections : int
    n_epochs : int, optional
        How often each row is learned from; by default 120 times, and fewer if many rows have many features.
    seed : int
        Of where the net starts, and of which rows it learns from where there are more than 20,000.
    """
    directions = np.zeros((codes.shape[1], n_projections))
    chosen = _chosen_rows(codes, target, weight, seed)
    if not chosen.size or not n_projections:
        return directions
    codes = codes[chosen]
    varies = codes.min(axis=0) < codes.max(axis=0)
    weight = weight[chosen] / weight[chosen].mean(dtype=np.float64)
    z, spread = _standardised(codes[:, varies], weight)
    target = _standardised(target[chosen, None], weight)[0] if loss == "squared" else target[chosen]
    of_rows = target.ravel().astype(np.float32), weight.astype(np.float32)
    net = _Net(len(spread), n_projections, n_classes if loss == "softmax" else 1, seed)
    n_epochs = _n_epochs(z.size) if n_epochs is None else n_epochs
    for step_sizes in _step_sizes(n_epochs, -(-chosen.size // BATCH_SIZE)):
        check_time()
        net.learn(z, *of_rows, step_sizes, loss)
    directions[varies] = net.input_weights / spread[:, None]
    return directions


class _Net:
    """What is learned: see projections.h for how the parameters are laid out."""

    def __init__(self, n_inputs: int, n_projections: int, n_outputs: int, seed: int) -> None:
        """Start as Glorot and Bengio (2010) do; biases too, as in scikit-learn."""
        self.n_inputs, self.n_projections, self.n_outputs = n_inputs, n_projections, n_outputs
        self.n_hidden = -(-n_projections // GROWTH_LANES) * GROWTH_LANES
        shapes = [(n_inputs, n_projections), (n_outputs, n_projections), (1, n_projections), (1, n_outputs)]
        rng = np.random.default_rng(seed)
        n_others = (n_inputs, n_outputs, n_inputs, n_outputs)
        parts = [_uniform(rng, shape, n_projections + n) for shape, n in zip(shapes, n_others, strict=True)]
        padding = ((0, 0), (0, self.n_hidden - n_projections))
        parts[:3] = [np.pad(part, padding) for part in parts[:3]]
        self.parameters = np.concatenate([part.ravel() for part in parts]).astype(np.float32)
        self.moments = np.zeros((2, self.parameters.size), np.float32)

    def learn(
        self, z: Float32Array, target: Float32Array, weight: Float32Array, step_sizes: Float32Array,
        loss: ProjectionLoss,
    ) -> None:  # fmt: skip
        """Go once through the rows."""
        projections_epoch(
            z, target, weight, step_sizes, self.parameters, self.moments, self.n_hidden, self.n_outputs, BATCH_SIZE,
            GROWTH_LOSSES[loss], L2,
        )  # fmt: skip

    @property
    def input_weights(self) -> Float32Array:
        """The weights of the hidden units: (inputs, projections)."""
        weights = self.parameters[: self.n_inputs * self.n_hidden].reshape(self.n_inputs, self.n_hidden)
        return weights[:, : self.n_projections]


def _uniform(rng: np.random.Generator, shape: tuple[int, int], n_ends: int) -> NDArray[np.float64]:
    """Return numbers between plus and minus the root of 6 / ends; of operations that round alike everywhere."""
    return np.asarray((2.0 * rng.random(shape) - 1.0) * np.sqrt(6.0 / n_ends))


def _chosen_rows(codes: Float32Array, target: NDArray[Any], weight: NDArray[Any], seed: int) -> NDArray[np.intp]:
    """Return the numbers of the rows to learn from, in the order in which they are learned from."""
    counting = np.flatnonzero(weight > 0)
    keys = drawing_order(codes, seed)[counting]
    if counting.size > MOST_ROWS:
        may_be_chosen = keys <= np.partition(keys, MOST_ROWS - 1)[MOST_ROWS - 1]
        counting, keys = counting[may_be_chosen], keys[may_be_chosen]
    return np.asarray(counting[np.lexsort((weight[counting], target[counting], keys))[:MOST_ROWS]])


def _standardised(numbers: NDArray[Any], weight: Vector) -> tuple[Float32Array, Vector]:
    """Return the numbers less their mean, over their spread, and the spread of each column: 1 if it is constant.

    The sums are not those of `@`, which depend on the machine; those of other layouts are rounded otherwise.
    """
    share = (weight / weight.sum())[:, None]
    standardised, spreads = np.empty(numbers.shape, np.float32), np.ones(numbers.shape[1])
    for begin in range(0, numbers.shape[1], COLUMNS_AT_ONCE):
        columns = slice(begin, begin + COLUMNS_AT_ONCE)
        some = np.ascontiguousarray(numbers[:, columns], np.float64)
        centred = some - (share * some).sum(axis=0)
        spread = np.sqrt((share * centred**2).sum(axis=0))
        # Squares may be too small to be told from 0.
        spread[(some.min(axis=0) == some.max(axis=0)) | (spread == 0.0)] = 1.0
        standardised[:, columns], spreads[columns] = centred / spread, spread
    return standardised, spreads


def _n_epochs(n_codes: int) -> int:
    return min(max(MOST_READ // max(n_codes, 1), LEAST_EPOCHS), MOST_EPOCHS)


def _step_sizes(n_epochs: int, n_batches: int) -> NDArray[np.float32]:
    """Return the step of each batch (epochs, batches), with what makes up for Adam's moments that start as 0."""
    n_steps = n_epochs * n_batches
    falling = STEP_SIZE * (1.0 - np.arange(n_steps) / n_steps)
    # Powers as products, which round alike everywhere.
    mean, square = (np.cumprod(np.full(n_steps, decay)) for decay in (MEAN_DECAY, SQUARE_DECAY))
    return (falling * np.sqrt(1.0 - square) / (1.0 - mean)).astype(np.float32).reshape(n_epochs, n_batches)
