"""Runs trials: bins and splits the rows, grows ensembles on them, and keeps what several trials share."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import OutOfTimeError, TimeLimit, check_time, within
from billhook.budget._compress import CodedRows, CompressedStages, TooSmallError, compress
from billhook.budget._grow import GrowingEnsemble, n_rounds
from billhook.budget._memory import n_rows_to_grow, rows_to_refine
from billhook.budget._scoring import Score, accuracy, tempered_log_loss
from billhook.budget._space import GrowthConfig, Trial
from billhook.budget._splits import FIRST_FINAL, Split, TrainingRows, all_rows, sample_rows, some_rows, split_rows
from billhook.budget._stages import Stage, scored_stages
from billhook.budget._user_ensemble import UserEnsemble
from billhook.forest import Forest
from billhook.growing import BinnedRows
from billhook.packing import BinnedFeatures, CodedFeatures, Coding, Packed, RowCodes, code_features

# The number of the split that holds out nothing.
ALL = -1
# Of up to so many rows, and of more correspondingly fewer, but one for each of two threads.
KEPT_FEATURES, KEPT_CODINGS, KEPT_BINNINGS, KEPT_BINS, KEPT_FORESTS, KEPT_USER_FORESTS = 3, 4, 6, 4, 8, 2
KEPT_ROWS, LEAST_KEPT = 40_000, 2
# What a split takes at least, beside its leaf: its place in the tree, and its test.
LEAST_SPLIT_BITS = 8.0
TESTS_PER_BIN = 4
# So many tell how long the others will take.
FIRST_TREES = 3
# More are not grown in the time that a trial may take.
MOST_TREES = 500


@dataclass(frozen=True, eq=False)
class TrialOutcome:
    """The score and the model of a trial on one split of the rows; no model if nothing fits the budget.

    `seconds` is what it takes alone, with all that it shares with other trials: `shared_seconds`, to bin and to grow.
    `stages` are those of trials on the first final split. `loss` is the log loss, of finalists that are chosen by
    accuracy. `saved` are the bytes that rounding and sharing leaves saved, of a model; `is_quick` whether it was made
    with fewer passes than the last one is.
    """

    trial: Trial
    split: int
    score: float
    packed: Packed | None
    seconds: float
    shared_seconds: float = 0.0
    stages: tuple[Stage, ...] = ()
    loss: float | None = None
    saved: int = 0
    is_quick: bool = False


class TrialBatch(NamedTuple):
    """Trials with the same growth and budget on one split: what is grown once serves all of them.

    After `until`, if that is a moment, they are broken off. `saved` is what rounding and sharing leaves is expected
    to save of each, in bytes; nothing where it is not known.
    """

    growth: GrowthConfig
    split: int
    is_quick: bool
    trials: tuple[Trial, ...]
    until: TimeLimit | None = None
    saved: tuple[int, ...] = ()


class SharedSeconds(NamedTuple):
    """How long it took so far to make what trials share, and how long what one of them needs of it."""

    spent: float
    needed: float


@dataclass(eq=False)
class TrialRunner:
    """The rows, and what is made of them more than once.

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

    def sample(self, most_rows: int) -> "TrialRunner":
        """Return a runner on a sample of the rows; this one if there are not more."""
        sampled = sample_rows(self.rows, most_rows, self.seed)
        return self if sampled is self.rows else replace(self, rows=sampled)

    def run(self, batch: TrialBatch) -> list[TrialOutcome]:
        """Return the outcomes of the trials of a batch; of those that are broken off, none."""
        outcomes = []
        split = self.split(batch.split)
        n_leaves = max(self.n_leaves(trial) for trial in batch.trials)
        with within(batch.until):
            for trial, saved in zip(batch.trials, batch.saved or [0] * len(batch.trials), strict=True):
                try:
                    check_time()
                    outcomes.append(self._outcome(trial, split, n_leaves, saved, is_quick=batch.is_quick))
                except OutOfTimeError:
                    break
        return outcomes

    def _outcome(self, trial: Trial, split: Split, n_leaves: int, saved: int, *, is_quick: bool) -> TrialOutcome:
        before = self._shared_seconds(trial, split).spent
        start = time.perf_counter()
        packed: Packed | None = None
        score = -np.inf
        with suppress(TooSmallError):
            stages = self.stages(trial, split, n_leaves=n_leaves, is_quick=is_quick, saved=saved)
            packed, score, saved = stages.packed, self.judge(stages.packed, split), stages.saved
        after = self._shared_seconds(trial, split)
        # What another thread took to grow for both of them may be more than this one waited.
        seconds = max(0.0, time.perf_counter() - start - (after.spent - before)) + after.needed
        is_shown = packed is not None and split.number == FIRST_FINAL
        shown = self._scored(stages, trial, split, score) if is_shown else ()
        loss = None if packed is None or split.number < FIRST_FINAL else self._loss(packed, split)
        return TrialOutcome(trial, split.number, score, packed, seconds, after.needed, shown, loss, saved, is_quick)

    def _scored(self, stages: CompressedStages, trial: Trial, split: Split, score: float) -> tuple[Stage, ...]:
        """Return the stages with their scores on the held-out rows."""
        _, _, codes = self.grown(trial.growth, split, 0)
        held_out = split.held_out
        shown, labels, weight = codes[held_out], self.rows.labels[held_out], self.rows.weight[held_out]
        return scored_stages(
            stages, trial.compression, lambda forest: self.score(forest, shown, labels, weight), score
        )

    def build(self, trial: Trial, split: Split, *, is_quick: bool = False, saved: int = 0) -> Packed:
        """Return the model of a trial, learned from the training rows of a split."""
        return self.stages(trial, split, is_quick=is_quick, saved=saved).packed

    def stages(
        self, trial: Trial, split: Split, *, n_leaves: int | None = None, is_quick: bool = False, saved: int = 0
    ) -> CompressedStages:
        """Return the model of a trial and the forests on the way to it.

        `n_leaves` leaves are grown if other trials of the same ensemble need more. `saved` is what rounding and
        sharing leaves is expected to save, in bytes.
        """
        own_leaves = self.n_leaves(trial)
        forest, coding, codes = self.grown(trial.growth, split, own_leaves if n_leaves is None else n_leaves)
        if trial.growth.family == "boosted":  # not the trees that were grown for another trial
            forest = forest.select(range(min(forest.n_trees, n_rounds(trial.growth, own_leaves))))
        if split.number == ALL:  # it is grown for good
            self.clear_caches()
        rows = self.rows
        n_used = np.unique(forest.feature[forest.feature >= 0]).size
        train = rows_to_refine(split.train, rows.X.shape, n_used, forest.n_trees, self.n_values)
        coded = CodedRows(
            codes[train],
            rows.labels[train],
            rows.weight[train],
            rows.has_missing,
            rows.loss.refinement if rows.classes is None else "cross_entropy",
            is_quick,
        )
        return compress(forest, coding, trial.compression, trial.budget, coded, saved=saved)

    def judge(self, packed: Packed, split: Split) -> float:
        """Return the score of a model on the held-out rows."""
        held_out = split.held_out
        features = self.features(split)[held_out]
        return self.score(packed, features, self.rows.labels[held_out], self.rows.weight[held_out])

    def _loss(self, packed: Packed, split: Split) -> float | None:
        """Return the log loss of a model on the held-out rows, if accuracy is what counts."""
        if self.score is not accuracy:
            return None
        held_out = split.held_out
        features = self.features(split)[held_out]
        return tempered_log_loss(packed, features, self.rows.y[held_out], self.rows.weight[held_out])

    def features(self, split: Split) -> NDArray[np.float32]:
        """Return the features of all rows, as learned from the training rows of a split."""
        recode = self.rows.recode
        if recode is None or split.number == ALL:
            return self.rows.X
        features: NDArray[np.float32] = self._cached(
            self._features, KEPT_FEATURES, split.number, lambda: recode(split.train)
        )
        return features

    def split(self, number: int) -> Split:
        """Return the `number`-th split of the rows."""
        return all_rows(self.rows) if number == ALL else split_rows(self.rows, number, self.seed)

    @cached_property
    def n_held_out(self) -> int:
        """How many rows trials are judged by, on each split about."""
        return self.split(0).held_out.size

    def split_of_last(self, trial: Trial, most: int | None = None) -> Split:
        """Return the rows that the last model learns from, at most so many: all that there is memory for."""
        n_rows = self.n_rows_of_last(trial) if most is None else min(most, self.n_rows_of_last(trial))
        return self.split(ALL) if n_rows == self.rows.n_rows else some_rows(self.rows, n_rows, self.seed)

    def n_rows_of_last(self, trial: Trial) -> int:
        """Return how many rows the last model of a trial may learn from: mostly all, else all there is memory for."""
        if self.user_ensemble is not None:
            return self.rows.n_rows
        return n_rows_to_grow(self.rows.X.shape, self.n_values, trial.growth.bins)

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

    def _shared_seconds(self, trial: Trial, split: Split) -> SharedSeconds:
        growth = trial.growth
        number = ALL if self.rows.recode is None else split.number
        parts = ((growth.bits, number), (growth.bits, growth.bins, number))
        binning = sum(self._seconds.get(part, 0.0) for part in parts)
        growing = self._forests.get(_key(growth, split))
        if not isinstance(growing, GrowingEnsemble):
            return SharedSeconds(binning, binning)
        return SharedSeconds(binning + growing.seconds, binning + growing.seconds_for(self.n_leaves(trial)))

    def seconds_to_grow(self, trial: Trial, split: Split) -> float:
        """Grow the first trees of a trial, of boosted ones, and return about how long the others will take."""
        self.grown(trial.growth, split, FIRST_TREES * trial.growth.leaves)
        growing: GrowingEnsemble = self._forests[_key(trial.growth, split)]
        return max(0.0, growing.seconds_for(self.n_leaves(trial)) - growing.seconds)

    def canonical(self, growth: GrowthConfig) -> GrowthConfig:
        """Return the growth with the bits and bins that it comes to: whole numbers need no more than there are."""
        if growth.family == "user":
            return growth
        key = (growth.bits, growth.bins)
        if key not in self._canonical:
            binned = self.binned(*key, self.split(0))
            n_bins = max(edges.size for edges in binned.edges) + 1
            n_codes = max(quantizer.n_codes for quantizer in binned.coding.quantizers)
            self._canonical[key] = (n_codes - 1).bit_length(), min(growth.bins, max(n_bins, 2))
        bits, bins = self._canonical[key]
        return replace(growth, bits=bits, bins=bins)

    def grown(self, growth: GrowthConfig, split: Split, n_leaves: int) -> tuple[Forest, Coding, RowCodes]:
        """Return an ensemble of about so many leaves, or more, on codes, and the codes."""
        key = _key(growth, split)
        if self.user_ensemble is not None:
            ensemble = self.user_ensemble
            on_codes: tuple[Forest, Coding, RowCodes] = self._cached(
                self._forests, KEPT_USER_FORESTS, key, lambda: ensemble.on_codes(growth, self.rows, split)
            )
            return on_codes
        binned = self.binned(growth.bits, growth.bins, split)
        # One that grows holds its rows and no more: made by two threads at once, one is forgotten.
        growing: GrowingEnsemble = self._cached(
            self._forests,
            KEPT_FORESTS,
            key,
            lambda: GrowingEnsemble(growth, self.rows, split, self._bins(growth, split, binned), self.seed),
        )
        return growing.forest(n_leaves, binned), binned.coding, binned.codes

    def _bins(self, growth: GrowthConfig, split: Split, binned: BinnedFeatures) -> BinnedRows:
        """Return the training rows of a split as bins: ensembles on the same ones share them."""
        key = _key((growth.bits, growth.bins), split)
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

    def n_leaves(self, trial: Trial) -> int:
        """Return about how many leaves fit a budget, and so many times over; rather too many."""
        growth, compression = trial.growth, trial.compression
        n_tests = min(TESTS_PER_BIN * growth.bins, growth.max_tests or np.inf)
        test_bits = min(np.log2(n_tests), growth.bits + np.log2(self.rows.X.shape[1]))
        leaf_bits = compression.leaf_bits * self.n_values
        if compression.codebook is not None:
            leaf_bits = min(leaf_bits, int(np.log2(compression.codebook)))
        bits = max(LEAST_SPLIT_BITS, 2.0 + test_bits + leaf_bits)
        most = (MOST_TREES - 1) * growth.leaves
        return min(int(8 * trial.budget * compression.overgrow / bits), most) + growth.leaves

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


def _key(what: Hashable, split: Split) -> tuple[Hashable, int, int]:
    """Return the key of what is made of the training rows of a split; all rows may be fewer than there are."""
    return what, split.number, split.train.size


def batches_of(trials: Sequence[Trial], split: int, *, is_quick: bool, is_in_order: bool = False) -> list[TrialBatch]:
    """Return the batches of trials on a split: one for each growth and budget; in order, one for each trial."""
    if is_in_order:  # where there may be no time for the last, which could share with the first
        return [TrialBatch(trial.growth, split, is_quick, (trial,)) for trial in trials]
    alike: dict[tuple[GrowthConfig, int], list[Trial]] = {}
    for trial in trials:
        alike.setdefault((trial.growth, trial.budget), []).append(trial)
    return [TrialBatch(growth, split, is_quick, tuple(batch)) for (growth, _), batch in alike.items()]
