"""Where trials are made: the rows, cut into codes and parted, and the ensembles grown on them."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.budget._compress import CodedRows, TooSmallError, compress
from billhook.budget._grow import GrowingEnsemble, has_xgboost, n_rounds
from billhook.budget._scoring import Score
from billhook.budget._space import GrowthConfig, Trial
from billhook.budget._splits import Split, TrainingRows, all_rows, sample, split
from billhook.budget._user_ensemble import UserEnsemble
from billhook.forest import Forest
from billhook.packing import BinnedFeatures, Coding, Packed, bin_features

ALL = -1
KEPT_CUTS, KEPT_FORESTS, KEPT_GIVEN = 6, 8, 2
# What a split takes at least, beside its leaf: its place in the tree, and its test.
LEAST_SPLIT_BITS = 8.0
TESTS_PER_BIN = 4
# More are not grown in the time that a trial may take.
MOST_TREES = 500
# Leaves of so many rows and trees are held at once, in two bytes each; beyond that, fewer rows are learned from.
MOST_LEAF_IDS = 150_000_000


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a trial on one split of the rows; no packed model if nothing fits the budget."""

    trial: Trial
    split: int
    score: float
    packed: Packed | None
    seconds: float


class TrialBatch(NamedTuple):
    """Trials with one recipe and budget on one split: what is grown once serves all of them."""

    recipe: GrowthConfig
    split: int
    is_quick: bool
    trials: tuple[Trial, ...]


@dataclass(eq=False)
class TrialRunner:
    """The rows, and what is made of them more than once.

    Attributes
    ----------
    rows : TrainingRows
    score : function
    seed : int
    given : UserEnsemble, optional
        The caller's own ensemble, if that is to be shrunk.
    """

    rows: TrainingRows
    score: Score
    seed: int = 0
    given: UserEnsemble | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._cuts: OrderedDict[Any, Any] = OrderedDict()
        self._grown: OrderedDict[Any, Any] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        kept = {"_lock", "_cuts", "_grown"}
        return {name: value for name, value in self.__dict__.items() if name not in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def forget(self) -> None:
        """Free what was kept because it might be needed again."""
        with self._lock:
            self._cuts.clear()
            self._grown.clear()

    def sample(self, most_rows: int) -> "TrialRunner":
        """Return the bench of some of the rows, or this one."""
        some = sample(self.rows, most_rows, self.seed)
        return self if some is self.rows else replace(self, rows=some)

    def run(self, job: TrialBatch) -> list[Outcome]:
        """Return what comes of the trials of a job."""
        found = []
        parted = self.split(job.split)
        most = max(job.trials, key=lambda trial: self.n_leaves(trial))
        for trial in job.trials:
            start = time.perf_counter()
            try:
                packed = self.build(trial, parted, n_leaves=self.n_leaves(most), is_quick=job.is_quick)
            except TooSmallError:
                packed = None
            score = -np.inf if packed is None else self.judge(packed, parted)
            found.append(Outcome(trial, job.split, score, packed, time.perf_counter() - start))
        return found

    def build(
        self,
        trial: Trial,
        parted: Split,
        *,
        n_leaves: int | None = None,
        is_quick: bool = False,
        told: Callable[[str, Any], None] | None = None,
    ) -> Packed:
        """Return the model of a trial, learned from the training rows of a split."""
        own = self.n_leaves(trial)
        forest, coding, codes = self.grown(trial.recipe, parted, own if n_leaves is None else n_leaves)
        if trial.recipe.family == "boosted":  # not those that were grown for another trial
            forest = forest.select(range(min(forest.n_trees, n_rounds(trial.recipe, own))))
        rows = self.rows
        loss = "mse" if rows.classes is None else "cross_entropy"
        some = parted.train
        if forest.n_trees * some.size > MOST_LEAF_IDS:
            some = some[:: -(-forest.n_trees * some.size // MOST_LEAF_IDS)]
        labels, weight = rows.labels[some], rows.weight[some]
        learned = CodedRows(
            codes if some.size == rows.n_rows else codes[some], labels, weight, rows.has_missing, loss, is_quick
        )
        return compress(forest, coding, trial.shrinking, trial.budget, learned, told)

    def judge(self, packed: Packed, parted: Split) -> float:
        """Return how good a model is on the rows held out."""
        held = parted.held_out
        return self.score(packed, self.features(parted)[held], self.rows.labels[held], self.rows.weight[held])

    def features(self, parted: Split) -> NDArray[np.float32]:
        """Return the features of all rows, as learned from the training rows of a split."""
        recode = self.rows.recode
        if recode is None or parted.number == ALL:
            return self.rows.X
        made: NDArray[np.float32] = self._kept(self._cuts, KEPT_CUTS, parted.number, lambda: recode(parted.train))
        return made

    def split(self, number: int) -> Split:
        """Return the rows parted for the `number`-th time."""
        return all_rows(self.rows) if number == ALL else split(self.rows, number, self.seed)

    def cuts(self, bits: int, bins: int, parted: Split | None = None) -> BinnedFeatures:
        """Return the rows cut into codes; for a split, where features are learned."""
        depends = parted is not None and self.rows.recode is not None and parted.number != ALL
        X = self.features(parted) if depends and parted is not None else self.rows.X
        key = (bits, bins, parted.number if depends and parted is not None else ALL)
        made: BinnedFeatures = self._kept(self._cuts, KEPT_CUTS, key, lambda: bin_features(X, bits, bins, 500))
        return made

    def canonical(self, recipe: GrowthConfig) -> GrowthConfig:
        """Return the recipe with the bits and bins that it comes to: whole numbers need no more than there are."""
        if recipe.family == "given":
            return recipe
        cuts = self.cuts(recipe.bits, recipe.bins)
        bins = max(edges.size for edges in cuts.edges) + 1
        return replace(
            recipe,
            bins=min(recipe.bins, max(bins, 2)),
            bits=max(grid.n_codes - 1 for grid in cuts.coding.quantizers).bit_length(),
        )

    def grown(self, recipe: GrowthConfig, parted: Split, n_leaves: int) -> tuple[Forest, Coding, NDArray[np.float32]]:
        """Return an ensemble of about so many leaves, or more, on codes, and the codes."""
        if self.given is not None:
            given = self.given
            what = (recipe, parted.number)
            made: tuple[Forest, Coding, NDArray[np.float32]] = self._kept(
                self._grown, KEPT_GIVEN, what, lambda: given.on_codes(recipe, self.rows, parted)
            )
            return made
        cuts = self.cuts(recipe.bits, recipe.bins, parted)
        # One that grows holds its rows and no more: made by two threads at once, one is forgotten.
        key = (recipe, parted.number)
        grown: GrowingEnsemble = self._kept(
            self._grown, KEPT_FORESTS, key, lambda: GrowingEnsemble(recipe, self.rows, parted, self.seed)
        )
        return grown.forest(n_leaves, cuts), cuts.coding, cuts.codes

    @property
    def n_values(self) -> int:
        """How many numbers a leaf has, of the trees that are grown or given."""
        if self.given is not None:
            return self.given.n_values
        return self.rows.n_values if has_xgboost() else 1

    def n_leaves(self, trial: Trial) -> int:
        """Return about how many leaves fit a budget, and so many times over; rather too many."""
        how, rows = trial.shrinking, self.rows
        n_tests = TESTS_PER_BIN * trial.recipe.bins
        test = min(np.log2(n_tests), trial.recipe.bits + np.log2(rows.X.shape[1]))
        leaf = how.leaf_bits * self.n_values
        if how.codebook is not None:
            leaf = min(leaf, int(np.log2(how.codebook)))
        bits = max(LEAST_SPLIT_BITS, 2.0 + test + leaf)
        return (
            min(int(8 * trial.budget * how.over / bits), (MOST_TREES - 1) * trial.recipe.leaves) + trial.recipe.leaves
        )

    def _kept(self, kept: OrderedDict[Any, Any], most: int, key: Any, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key in kept:
                kept.move_to_end(key)
                return kept[key]
        made = make()
        with self._lock:
            made = kept.setdefault(key, made)
            while len(kept) > most:
                kept.popitem(last=False)
        return made


def batches_of(trials: Sequence[Trial], split_number: int, *, is_quick: bool) -> list[TrialBatch]:
    """Return the jobs of trials on a split: one for each recipe and budget."""
    alike: dict[tuple[GrowthConfig, int], list[Trial]] = {}
    for trial in trials:
        alike.setdefault((trial.recipe, trial.budget), []).append(trial)
    return [TrialBatch(recipe, split_number, is_quick, tuple(some)) for (recipe, _), some in alike.items()]
