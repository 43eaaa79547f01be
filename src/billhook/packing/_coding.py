"""A forest on codes: the features in use, and how values and thresholds become whole numbers."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Float32Array, Int64Array, Vector
from billhook.forest import Forest, derive
from billhook.packing._category_codes import CATEGORY_BITS, code_categories
from billhook.packing._fit_quantizers import exact_quantizers, feature_values, fitted_quantizer
from billhook.packing._order import splits_by_feature
from billhook.packing._projections import Projections
from billhook.packing._quantizers import CategoryQuantizer, Quantizer, RankQuantizer, UniformQuantizer

NO_VALUES = np.zeros(0)
# Codes of 16 bits, of which one is that of a missing value.
MOST_RANKS = 2**16 - 2
# What steps of its own take for a feature, about.
STEP_BYTES = 4


class Coding(NamedTuple):
    """The features in use, how their values become codes, and the values that thresholds have to tell apart.

    A feature with categorical splits is there once for each of its chains of sets, behind all others; `place_of_set`
    is the place in the coding, and the code, of each set that a feature is split by. The `projections` of these
    features are numbered behind them.
    """

    used: Int64Array
    quantizers: list[Quantizer]
    values: list[Vector]
    place_of_set: dict[tuple[int, int], tuple[int, int]] = {}  # noqa: RUF012 - never changed
    projections: Projections | None = None

    @property
    def uniform_quantizers(self) -> list[UniformQuantizer]:
        """Those of steps."""
        return [quantizer for quantizer in self.quantizers if isinstance(quantizer, UniformQuantizer)]

    @property
    def n_codes(self) -> list[int]:
        """How many codes each feature has, and each projection behind them."""
        n_projected = [] if self.projections is None else [self.projections.n_codes] * self.projections.n_projections
        return [quantizer.n_codes for quantizer in self.quantizers] + n_projected


def coding_of(forest: Forest, threshold_bits: int | Literal["exact"], rows: Float32Array | None) -> Coding:
    """Return how a forest is coded, with thresholds of so many bits, chosen for these rows if there are any."""
    used, of_feature = splits_by_feature(forest)
    thresholds = [np.unique(forest.threshold[nodes]) for nodes in of_feature]
    columns = [None] * used.size if rows is None else [rows[:, feature] for feature in used]
    n_splits = int((forest.feature >= 0).sum())
    by_threshold = coding_of_thresholds(used, thresholds, threshold_bits, n_splits, columns)
    # The codes of steps have as many bits as their formula says; those of categories are to have no more.
    steps = [quantizer.bits for quantizer in by_threshold.quantizers if isinstance(quantizer, UniformQuantizer)]
    categories = code_categories(forest, max(steps, default=CATEGORY_BITS))
    return Coding(
        np.append(used, categories.used),
        [*by_threshold.quantizers, *categories.quantizers],
        by_threshold.values + [NO_VALUES] * categories.used.size,
        {key: (used.size + chain, code) for key, (chain, code) in categories.place.items()},
    )


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
    # Zipped to the shorter: what follows in the coding are categories.
    for k, (nodes, quantizer, values) in enumerate(zip(of_feature, coding.quantizers, coding.values, strict=False)):
        feature[nodes] = k
        threshold[nodes] = threshold_codes(forest.threshold[nodes], quantizer, values)
    put_sets(feature, threshold, forest, coding)
    return on_features(forest, feature, threshold, max(coding.used.size, 1))


def threshold_codes(threshold: Float32Array, quantizer: Quantizer, values: Vector) -> Int64Array:
    """Return the codes of thresholds of a feature that has some."""
    assert not isinstance(quantizer, CategoryQuantizer)
    return quantizer.threshold_codes(threshold, values)


def put_sets(
    feature: NDArray[np.int32], threshold: Float32Array, forest: Forest, coding: Coding, first: int = 0
) -> None:
    """Set feature and code of the nodes that test a set of categories; features of the coding count from `first`."""
    for node in np.flatnonzero(forest.category_set >= 0).tolist():
        place, code = coding.place_of_set[int(forest.feature[node]), int(forest.category_set[node])]
        feature[node], threshold[node] = first + place, code


def on_features(
    forest: Forest, feature: NDArray[np.int32], threshold: Float32Array, n_features: int, **names: Any
) -> Forest:
    """Return the forest on codes of other features, all of which it splits by thresholds."""
    return derive(
        forest,
        feature=feature,
        threshold=threshold,
        n_features=n_features,
        category_set=np.full(forest.n_nodes, -1),
        set_offset=np.zeros(1),
        set_bits=np.zeros(0),
        **{"feature_names": None, "encoding": None, **names},
    )


def without_unused(walked: Forest, coding: Coding) -> tuple[Forest, Coding, Int64Array]:
    """Return the forest without features that no split tests any more, its coding, and the places of those left.

    A projection that is tested keeps the features that it has weights of.
    """
    tested = np.unique(walked.feature[walked.feature >= 0]).astype(np.int64)
    n_used, projections = coding.used.size, coding.projections
    left, projected = tested[tested < n_used], tested[tested >= n_used]
    if projections is not None:
        projections = projections.take(projected - n_used)
        left = np.union1d(left, projections.inputs)
        projections = projections.of_inputs(left) if projected.size else None
    places = np.append(left, projected)
    is_split = walked.feature >= 0
    feature = walked.feature.copy()
    feature[is_split] = np.searchsorted(places, feature[is_split])
    kept = derive(walked, feature=feature, n_features=max(places.size, 1), feature_names=None, encoding=None)
    of_left = Coding(
        coding.used[left],
        [coding.quantizers[k] for k in left.tolist()],
        [coding.values[k] for k in left.tolist()],
        projections=projections,
    )
    return kept, of_left, places
