"""The rows of a search as trees are grown on them, made once for all trials that share them."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._types import Vector
from billhook.budget._projecting import BINS, CODE_BITS, learned_directions, projections_of
from billhook.budget._scoring import Score
from billhook.budget._smooth_targets import smooth_targets
from billhook.budget._space import GrowthConfig
from billhook.budget._splits import Split, SplitFeatures, TrainingRows, all_rows, split_rows
from billhook.budget._user_ensemble import UserEnsemble
from billhook.growing import BinnedRows
from billhook.packing import BinnedFeatures, CodedFeatures, code_features, projection_name

# The number of the split that holds out nothing.
ALL = -1
# Of up to so many rows, and of more correspondingly fewer, but one for each of two threads.
KEPT_FEATURES, KEPT_CODINGS, KEPT_BINNINGS, KEPT_BINS = 3, 4, 6, 6
KEPT_TARGETS, KEPT_DIRECTIONS, KEPT_PROJECTIONS = 8, 32, 6
KEPT_ROWS, LEAST_KEPT = 40_000, 2


@dataclass(eq=False)
class RowsAsCodes:
    """The rows, and what trees are grown on: their codes, bins, targets and projections, each made once.

    Attributes
    ----------
    rows : TrainingRows
    score : function
    seed : int
    user_ensemble : UserEnsemble, optional
        The ensemble to compress, if the user brings one.
    """

    rows: TrainingRows
    score: Score
    seed: int = 0
    user_ensemble: UserEnsemble | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._features: OrderedDict[Any, Any] = OrderedDict()
        self._codings: OrderedDict[Any, Any] = OrderedDict()
        self._binnings: OrderedDict[Any, Any] = OrderedDict()
        self._bins_of_rows: OrderedDict[Any, Any] = OrderedDict()
        self._forests: OrderedDict[Any, Any] = OrderedDict()
        self._smooth_targets: OrderedDict[Any, Any] = OrderedDict()
        self._directions: OrderedDict[Any, Any] = OrderedDict()
        self._projections: OrderedDict[Any, Any] = OrderedDict()
        self._projected_binnings: OrderedDict[Any, Any] = OrderedDict()
        self._seconds: dict[Any, float] = {}
        self._canonical: dict[tuple[int, int], tuple[int, int]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def clear_caches(self) -> None:
        """Free what was kept because it might be needed again."""
        with self._lock:
            self._features.clear()
            self._codings.clear()
            self._binnings.clear()
            self._bins_of_rows.clear()
            self._forests.clear()
            self._smooth_targets.clear()
            self._directions.clear()
            self._projections.clear()
            self._projected_binnings.clear()

    def features(self, split: Split) -> NDArray[np.float32]:
        """Return the features of all rows, as learned from the training rows of a split."""
        return self.split_features(split).X

    def split_features(self, split: Split) -> SplitFeatures:
        """Return the features of all rows, as learned from the training rows of a split, and their names."""
        recode = self.rows.recode
        if recode is None or split.number == ALL:
            return SplitFeatures(self.rows.X, self.rows.feature_names, self.rows.has_missing)

        def learn() -> SplitFeatures:
            start = time.perf_counter()
            learned = recode(split.train)
            self._seconds["features", split.number] = time.perf_counter() - start
            return learned

        features: SplitFeatures = self._cached(self._features, KEPT_FEATURES, split.number, learn)
        return features

    def _learned(self, growth: GrowthConfig, split: Split) -> TrainingRows:
        """Return the rows with what trees learn of them: their targets, or smoother ones."""
        if not growth.smoothing:
            return self.rows

        def smooth() -> NDArray[np.float64]:
            start = time.perf_counter()
            targets = smooth_targets(self.rows, self.features(split), split.train, self.seed)
            self._seconds["smooth", split.number] = time.perf_counter() - start
            return targets

        targets = self._cached(self._smooth_targets, KEPT_TARGETS, key_of("smooth", split), smooth)
        return replace(self.rows, y=growth.smoothing * targets + (1.0 - growth.smoothing) * self.rows.y)

    def split(self, number: int) -> Split:
        """Return the `number`-th split of the rows."""
        return all_rows(self.rows) if number == ALL else split_rows(self.rows, number, self.seed)

    def binned(self, bits: int, bins: int, split: Split | None = None) -> BinnedFeatures:
        """Return the rows as codes; those of a split, where features are learned from its training rows."""
        recoded = split if split is not None and self.rows.recode is not None and split.number != ALL else None
        X = self.rows.X if recoded is None else self.features(recoded)
        key = (bits, bins, ALL if recoded is None else recoded.number)

        def code_rows() -> CodedFeatures:
            start = time.perf_counter()
            coded = code_features(X, bits, 500)
            if split is None or split.number != ALL:  # which is asked for them once
                coded.codes.keep()
            self._seconds[key[::2]] = time.perf_counter() - start
            return coded

        def bin_rows() -> BinnedFeatures:
            coded: CodedFeatures = self._cached(self._codings, KEPT_CODINGS, key[::2], code_rows)
            start = time.perf_counter()
            binned = coded.binned(bins)
            self._seconds[key] = time.perf_counter() - start
            return binned

        binned: BinnedFeatures = self._cached(self._binnings, KEPT_BINNINGS, key, bin_rows)
        return binned

    def _projected(self, growth: GrowthConfig, split: Split) -> BinnedFeatures:
        """Return the rows as codes, with projections behind the features that are learned from the split's rows."""
        binned = self.binned(growth.bits, growth.bins, split)
        # Of columns that are chosen anew for each split, some may have missing values.
        if not growth.projections or self.split_features(split).has_missing:
            return binned

        def learn() -> Vector:
            codes, target = self.binned(CODE_BITS, BINS, split).codes, self._learned(growth, split).y
            start = time.perf_counter()
            learned = learned_directions(codes, self.rows, target, split.train, growth.projections, self.seed)
            self._seconds[projection_key(growth, split)] = time.perf_counter() - start
            return learned

        def project() -> CodedFeatures:
            directions = self._cached(self._directions, KEPT_DIRECTIONS, projection_key(growth, split), learn)
            coded = CodedFeatures(binned.codes, binned.coding)
            projections = projections_of(coded, directions, self.rows.weight, split.train)
            return coded if projections is None else coded.projected(projections)

        key = (projection_key(growth, split), growth.bits)
        coded: CodedFeatures = self._cached(self._projections, KEPT_PROJECTIONS, key, project)
        if coded.coding.projections is None:
            return binned
        projected: BinnedFeatures = self._cached(
            self._projected_binnings, KEPT_PROJECTIONS, (key, growth.bins), lambda: coded.binned(growth.bins)
        )
        return projected

    def _names(self, split: Split, binned: BinnedFeatures) -> tuple[str, ...] | None:
        """Return the names of what trees split."""
        names, projections = self.split_features(split).names, binned.coding.projections
        if names is None or projections is None:
            return names
        return (*names, *map(projection_name, range(projections.n_projections)))

    def _bins(self, growth: GrowthConfig, split: Split, binned: BinnedFeatures) -> BinnedRows:
        """Return the training rows of a split as bins: ensembles on the same ones share them."""
        of_projections = (growth.projections, growth.smoothing) if growth.projections else ()
        key = key_of((growth.bits, growth.bins, of_projections), split)
        bins: BinnedRows = self._cached(
            self._bins_of_rows, KEPT_BINS, key, lambda: BinnedRows.of(*binned.codes_of_bins(split.train))
        )
        return bins

    @property
    def n_values(self) -> int:
        """How many numbers a leaf has, of the trees that are grown or that the user brought."""
        if self.user_ensemble is not None:
            return self.user_ensemble.n_values
        return self.rows.n_values

    def _cached(self, cache: OrderedDict[Any, Any], most: int, key: Any, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key in cache:
                cache.move_to_end(key)
                return cache[key]
        value = make()
        with self._lock:
            value = cache.setdefault(key, value)
            while len(cache) > max(LEAST_KEPT, min(most, most * KEPT_ROWS // self.rows.n_rows)):
                cache.popitem(last=False)
        return value


def projection_key(growth: GrowthConfig, split: Split) -> Hashable:
    return key_of(("projections", growth.projections, growth.smoothing), split)


def key_of(what: Hashable, split: Split) -> tuple[Hashable, int, int]:
    """Return the key of what is made of the training rows of a split; all rows may be fewer than there are."""
    return what, split.number, split.train.size
