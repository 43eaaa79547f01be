"""A forest on codes: the features in use, and how values and thresholds become whole numbers."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from billhook._types import Float32Array, Int64Array, Vector
from billhook.forest import Forest, derive
from billhook.packing._fit_quantizers import exact_quantizers, feature_values, fitted_quantizer
from billhook.packing._order import splits_by_feature
from billhook.packing._quantizers import Quantizer, RankQuantizer

NO_VALUES = np.zeros(0)
# Codes of 16 bits, of which one is that of a missing value.
MOST_RANKS = 2**16 - 2
# What steps of its own take for a feature, about.
STEP_BYTES = 4


class Coding(NamedTuple):
    """The features in use, how their values become codes, and the values that thresholds have to tell apart."""

    used: Int64Array
    quantizers: list[Quantizer]
    values: list[Vector]


def coding_of(forest: Forest, threshold_bits: int | Literal["exact"], rows: Float32Array | None) -> Coding:
    """Return how a forest is coded, with thresholds of so many bits, chosen for these rows if there are any."""
    if forest.n_sets > 0:
        raise ValueError(
            "this forest has categorical splits, and packed models have splits by thresholds only; train the model "
            "on one-hot encoded columns"
        )
    used, of_feature = splits_by_feature(forest)
    thresholds = [np.unique(forest.threshold[nodes]) for nodes in of_feature]
    columns = [None] * used.size if rows is None else [rows[:, feature] for feature in used]
    return coding_of_thresholds(used, thresholds, threshold_bits, int((forest.feature >= 0).sum()), columns)


def coding_of_thresholds(
    used: Int64Array,
    thresholds: list[Float32Array],
    threshold_bits: int | Literal["exact"],
    n_splits: int,
    columns: Sequence[Float32Array | None],
) -> Coding:
    """Return how these features are coded, of each its thresholds and the values of some rows, if there are any."""
    exact = exact_quantizers(thresholds, n_splits)
    if threshold_bits == "exact" and exact is None:
        most = max((threshold.size for threshold in thresholds), default=0)
        if most > MOST_RANKS:
            raise ValueError(f"a feature has {most:,} thresholds, more than 16 bits can count: use threshold_bits=16")
        return Coding(used, [RankQuantizer(threshold) for threshold in thresholds], [NO_VALUES] * used.size)
    # Exact steps that are alike for all features may be the shorter way even with longer codes.
    if exact is not None and (
        threshold_bits == "exact" or n_splits * (exact[0].bits - threshold_bits) <= 8 * STEP_BYTES * used.size
    ):
        return Coding(used, list(exact), [NO_VALUES] * used.size)
    assert threshold_bits != "exact"
    values = [feature_values(threshold, x) for threshold, x in zip(thresholds, columns, strict=True)]
    quantizers: list[Quantizer] = [
        fitted_quantizer(threshold, threshold_bits, seen) for threshold, seen in zip(thresholds, values, strict=True)
    ]
    return Coding(used, quantizers, values)


def with_codes(forest: Forest, coding: Coding) -> Forest:
    """Return the forest on codes: features are numbered among those in use, thresholds are codes."""
    feature, threshold = forest.feature.copy(), forest.threshold.copy()
    _, of_feature = splits_by_feature(forest)
    for k, (nodes, quantizer, values) in enumerate(zip(of_feature, coding.quantizers, coding.values, strict=True)):
        feature[nodes] = k
        threshold[nodes] = quantizer.threshold_codes(forest.threshold[nodes], values)
    n_features = max(coding.used.size, 1)
    return derive(forest, feature=feature, threshold=threshold, n_features=n_features, feature_names=None)


def without_unused(walked: Forest, coding: Coding) -> tuple[Forest, Coding]:
    """Return the forest without features that no split tests any more."""
    left, number = np.unique(walked.feature[walked.feature >= 0], return_inverse=True)
    feature = walked.feature.copy()
    feature[feature >= 0] = number
    kept = derive(walked, feature=feature, n_features=max(left.size, 1), feature_names=None)
    return kept, Coding(
        coding.used[left], [coding.quantizers[k] for k in left.tolist()], [coding.values[k] for k in left.tolist()]
    )
