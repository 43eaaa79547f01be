"""Projections for trees to split: the hidden units of a small net, with weights of a few bits."""

from contextlib import suppress

import numpy as np

from billhook._checks import as_int
from billhook._types import Float32Array, RowNumbers, Vector
from billhook.budget._fit_to_rows import evenly_spaced
from billhook.budget._splits import TrainingRows
from billhook.growing import ProjectionLoss, learn_projections
from billhook.packing import CodedFeatures, Projections, RowCodes

# What projections are learned of: features as codes of so many bits, whatever those that trees are grown on have.
CODE_BITS, BINS = 8, 64
# Of a weight, its sign included.
WEIGHT_BITS = 4
# Of fewer rows, what a net learns is chance.
FEWEST_ROWS = 300
# Rows that say between what numbers sums lie, and how far features are spread; of which some are learned from.
MOST_ROWS, MOST_TO_LEARN_FROM = 20_000, 120_000


def check_max_projections(max_projections: int | None, model: object = None) -> None:
    """Raise ValueError unless trees may be grown on so many projections at most."""
    if max_projections is None:
        return
    if as_int(max_projections, "max_projections") < 0:
        raise ValueError(
            f"max_projections must be 0 or more, not {max_projections}: 0 is for splits of features alone"
        )
    if model is not None and max_projections:
        raise ValueError(
            f"max_projections={max_projections} is for trees that are grown here, and those of a model are there "
            "already: leave one of them out"
        )


def can_be_projected(rows: TrainingRows) -> bool:
    """Return whether sums of features can be learned of such rows: nothing is missing, and they are not few."""
    return rows.n_rows >= FEWEST_ROWS and not rows.has_missing


def weight_bytes(n_features: int, n_projections: int) -> int:
    """Return about how many bytes projections of so many features take."""
    return -(-n_features * n_projections * WEIGHT_BITS // 8)


def learned_directions(
    codes: RowCodes, rows: TrainingRows, target: Vector, train: RowNumbers, n_projections: int, seed: int
) -> Vector:
    """Return what to multiply standardised features with, (features, projections), learned from the training rows."""
    train = evenly_spaced(train, MOST_TO_LEARN_FROM)  # the codes of all might take as much memory as the table
    of_train, weight = codes[train], rows.weight[train]
    n_classes = 1 if rows.classes is None else rows.classes.size
    loss: ProjectionLoss = "squared" if rows.classes is None else "logistic" if n_classes == 2 else "softmax"
    directions = learn_projections(
        of_train, target[train], weight, loss=loss, n_classes=n_classes, n_projections=n_projections, seed=seed
    )
    some = evenly_spaced(train, MOST_ROWS)
    return np.asarray(directions * _spread(codes[some], rows.weight[some])[:, None])


def projections_of(coded: CodedFeatures, directions: Vector, weight: Vector, train: RowNumbers) -> Projections | None:
    """Return sums of codes in these directions, from the lowest that training rows have.

    None if no direction tells rows apart, or if there are so many codes that a target could not add them up.
    """
    some = evenly_spaced(train, MOST_ROWS)
    codes = coded.codes[some]
    spread = _spread(codes, weight[some])[:, None]
    directions = np.divide(directions, spread, out=np.zeros_like(directions), where=spread > 0.0)
    largest = np.abs(directions).max(axis=0)
    most = (1 << (WEIGHT_BITS - 1)) - 1
    weights = np.rint(directions[:, largest > 0.0] / largest[largest > 0.0] * most).astype(np.int64).T
    if not len(weights):
        return None
    bits = max(quantizer.bits for quantizer in coded.coding.uniform_quantizers)
    turn = np.zeros(len(weights), np.int64)
    sums = Projections(weights, turn, turn, bits).sums(codes)
    low, high = sums.min(axis=0), sums.max(axis=0)
    while ((high >> turn) - (low >> turn) >= 1 << bits).any():
        turn += (high >> turn) - (low >> turn) >= 1 << bits
    projections = Projections(weights, turn, low >> turn, bits)
    with suppress(ValueError):
        projections.check()
        return projections
    return None


def _spread(codes: Float32Array, weight: Vector) -> Vector:
    """Return the standard deviation of each feature; 0 where it has one value."""
    spread = np.empty(codes.shape[1])
    for k, column in enumerate(codes.T.astype(np.float64)):
        spread[k] = np.sqrt(np.average((column - np.average(column, weights=weight)) ** 2, weights=weight))
    return np.where(codes.min(axis=0) < codes.max(axis=0), spread, 0.0)
