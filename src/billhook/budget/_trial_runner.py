"""Runs trials: bins and splits the rows, grows ensembles on them, and keeps what several trials share."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from billhook._deadline import OutOfTimeError, check_time, within
from billhook.budget._compress import CodedRows, CompressedStages, TooSmallError, compress
from billhook.budget._fit_to_rows import ROWS_TO_PICK_BY, evenly_spaced, fit_to, misfit
from billhook.budget._grow import GrowingEnsemble, leaves_for, n_rounds
from billhook.budget._memory import n_rows_to_grow, rows_to_refine
from billhook.budget._projecting import can_be_projected
from billhook.budget._rows_as_codes import ALL, RowsAsCodes, key_of, projection_key
from billhook.budget._scoring import accuracy, tempered_log_loss
from billhook.budget._smooth_targets import can_be_smoothed
from billhook.budget._space import GrowthConfig, Trial
from billhook.budget._splits import (
    FIRST_FINAL,
    Split,
    sample_rows,
    some_rows,
)
from billhook.budget._stages import Stage, scored_stages
from billhook.budget._trial_outcome import SharedSeconds, TrialBatch, TrialOutcome
from billhook.forest import Forest
from billhook.packing import Coding, Packed, RowCodes

# Of up to so many rows, and of more correspondingly fewer, but one for each of two threads.
KEPT_FORESTS, KEPT_USER_FORESTS = 8, 2
# So many tell how long the others will take.
FIRST_TREES = 3


@dataclass(eq=False)
class TrialRunner(RowsAsCodes):
    """Runs trials: learns models from some of the rows, and judges them by others."""

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
            try:
                trials = [self._best_grown(batch.trials, split)] if batch.only_best else batch.trials
            except OutOfTimeError:
                return []
            for trial, saved in zip(trials, batch.saved or [0] * len(trials), strict=True):
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
        score, n_tests = -np.inf, 0
        with suppress(TooSmallError):
            stages = self.stages(trial, split, n_leaves=n_leaves, is_quick=is_quick, saved=saved)
            packed, saved = stages.packed, stages.saved
            score = self.judge(packed, split) if split.held_out.size else np.nan
            n_tests = stages.n_tests if trial.growth.family == "boosted" else 0
        after = self._shared_seconds(trial, split)
        # What another thread took to grow for both of them may be more than this one waited.
        seconds = max(0.0, time.perf_counter() - start - (after.spent - before)) + after.needed
        is_shown = packed is not None and split.number == FIRST_FINAL
        shown = self._scored(stages, trial, split, score) if is_shown else ()
        encoding = None if packed is None else self.split_features(split).encoding
        common = (trial, split.number, score, packed, seconds, after.needed, shown)
        if packed is None:
            return TrialOutcome(*common, None, saved, is_quick, encoding)
        fitted: tuple[float | None, ...] = ()
        if self.score is accuracy and split.number == ALL:
            fitted = None, *fit_to(packed, self.features(split), self.rows, split)
        elif self.score is accuracy:
            fitted = (misfit(packed, self.features(split), self.rows, split, score),)
        loss = self._loss(packed, split) if split.number >= FIRST_FINAL else None
        return TrialOutcome(*common, loss, saved, is_quick, encoding, n_tests, *fitted)

    def _best_grown(self, trials: Sequence[Trial], split: Split) -> Trial:
        """Return the trial whose trees, before they are made to fit a budget, fit the rows best."""
        some = evenly_spaced(split.train, ROWS_TO_PICK_BY)

        def loss(trial: Trial) -> float:
            forest, _, codes = self._grown_for(trial, split)
            return tempered_log_loss(forest, codes[some], self.rows.y[some], self.rows.weight[some])

        return min(trials, key=loss)

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
        is_last = split.number == ALL
        return self.stages(trial, split, is_quick=is_quick, saved=saved, is_last=is_last).packed

    def stages(
        self,
        trial: Trial,
        split: Split,
        *,
        n_leaves: int | None = None,
        is_quick: bool = False,
        saved: int = 0,
        is_last: bool = False,
    ) -> CompressedStages:
        """Return the model of a trial and the forests on the way to it.

        `n_leaves` leaves are grown if other trials of the same ensemble need more. `saved` is what rounding and
        sharing leaves is expected to save, in bytes. Of what `is_last`, nothing is kept.
        """
        forest, coding, codes = self._grown_for(trial, split, n_leaves)
        labels = self._learned(trial.growth, split).labels
        if is_last:
            self.clear_caches()
        rows = self.rows
        n_used = np.unique(forest.feature[forest.feature >= 0]).size
        shape = rows.n_rows, codes.shape[1]
        train = rows_to_refine(split.train, shape, n_used, forest.n_trees, self.n_values)
        coded = CodedRows(
            codes[train],
            labels[train],
            rows.weight[train],
            self.split_features(split).has_missing,
            rows.loss.refinement if rows.classes is None else "cross_entropy",
            is_quick,
        )
        return compress(forest, coding, trial.compression, trial.budget, coded, saved=saved)

    def _grown_for(self, trial: Trial, split: Split, n_leaves: int | None = None) -> tuple[Forest, Coding, RowCodes]:
        """Return the ensemble of a trial on codes, of which so many leaves are grown, and the codes."""
        own_leaves = self.n_leaves(trial)
        forest, coding, codes = self.grown(trial.growth, split, own_leaves if n_leaves is None else n_leaves)
        if trial.growth.family == "boosted":  # not the trees that were grown for another trial
            forest = forest.select(range(min(forest.n_trees, n_rounds(trial.growth, own_leaves))))
        return forest, coding, codes

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
        n_features = self.rows.X.shape[1] + trial.growth.projections
        return n_rows_to_grow((self.rows.n_rows, n_features), self.n_values, trial.growth.bins)

    def _shared_seconds(self, trial: Trial, split: Split) -> SharedSeconds:
        growth = trial.growth
        number = ALL if self.rows.recode is None else split.number
        parts = ((growth.bits, number), (growth.bits, growth.bins, number))
        binning = sum(self._seconds.get(part, 0.0) for part in parts)
        binning += self._seconds.get(("smooth", split.number), 0.0) if growth.smoothing else 0.0
        binning += self._seconds.get(projection_key(growth, split), 0.0)
        # What features are is learned from some rows only, however many there are: no trial takes longer by it.
        spent = binning + self._seconds.get(("features", split.number), 0.0)
        growing = self._forests.get(key_of(growth, split))
        if not isinstance(growing, GrowingEnsemble):
            return SharedSeconds(spent, binning)
        return SharedSeconds(spent + growing.seconds, binning + growing.seconds_for(self.n_leaves(trial)))

    def seconds_to_grow(self, trial: Trial, split: Split) -> float:
        """Grow the first trees of a trial, of boosted ones, and return about how long the others will take."""
        self.grown(trial.growth, split, FIRST_TREES * trial.growth.leaves)
        growing: GrowingEnsemble = self._forests[key_of(trial.growth, split)]
        return max(0.0, growing.seconds_for(self.n_leaves(trial)) - growing.seconds)

    def canonical(self, growth: GrowthConfig) -> GrowthConfig:
        """Return the growth with the bits and bins that it comes to: whole numbers need no more than there are.

        Targets are smoothed, and features projected, only where they can be.
        """
        if growth.family == "user":
            return growth
        if growth.smoothing and not can_be_smoothed(self.rows):
            growth = replace(growth, smoothing=0.0)
        if growth.projections and not (growth.family == "boosted" and can_be_projected(self.rows)):
            growth = replace(growth, projections=0)
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
        key = key_of(growth, split)
        if self.user_ensemble is not None:
            ensemble = self.user_ensemble
            on_codes: tuple[Forest, Coding, RowCodes] = self._cached(
                self._forests, KEPT_USER_FORESTS, key, lambda: ensemble.on_codes(growth, self.rows, split)
            )
            return on_codes
        binned = self._projected(growth, split)
        # One that grows holds its rows and no more: made by two threads at once, one is forgotten.
        growing: GrowingEnsemble = self._cached(
            self._forests,
            KEPT_FORESTS,
            key,
            lambda: GrowingEnsemble(
                growth,
                self._learned(growth, split),
                split,
                self._bins(growth, split, binned),
                self.seed,
                self._names(split, binned),
            ),
        )
        return growing.forest(n_leaves, binned), binned.coding, binned.codes

    def n_leaves(self, trial: Trial) -> int:
        """Return about how many leaves fit a budget, and so many times over; rather too many."""
        return leaves_for(trial, self.rows.X.shape[1] + trial.growth.projections, self.n_values)
