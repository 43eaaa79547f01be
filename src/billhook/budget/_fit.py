"""From rows and a number of bytes to the best model that fits, and the report on the search."""

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._progress import shown_by
from billhook.budget._clock import Clock
from billhook.budget._column_curve import ColumnPoint, column_curve
from billhook.budget._compress import TooSmallError
from billhook.budget._executors import Executor, ThreadExecutor
from billhook.budget._last_model import LastModel, learn_last
from billhook.budget._other_models import OtherModel, other_models
from billhook.budget._output import write_fit
from billhook.budget._record import SearchRecord
from billhook.budget._results import Candidate
from billhook.budget._rows_as_codes import ALL
from billhook.budget._scoring import perfect_score, score_of
from billhook.budget._search import FAMILIES, Search
from billhook.budget._space import GrowthConfig, Trial
from billhook.budget._splits import TrainingRows
from billhook.budget._trial_runner import TrialRunner
from billhook.budget._user_ensemble import UserEnsemble
from billhook.budget.report import FitReport, front_of, report_on
from billhook.codegen import Target
from billhook.packing import Packed, size_on_codes

# Smaller budgets that are searched too, for the front: these shares of the budget.
SMALLER = (4, 2)
# A model with one split takes less, with so many more for each number of a leaf: there is no need to make one.
CERTAIN_BYTES, CERTAIN_BYTES_OF_VALUE = 1024, 16
# Squares of sums of more would overflow.
LARGEST_TARGET = 1e100
# Rows that the self-test of the C project chooses from.
EXAMPLES = 1_000


@dataclass(frozen=True, eq=False, repr=False)
class FitResult:
    """The best model that was found.

    Attributes
    ----------
    packed : Packed
        The model, learned from all rows; or from fewer, if the time allowed no more, which the report says.
    front : tuple of Candidate
        The candidates that no other beats at no more bytes, smallest first.
    report : FitReport
        What was tried, as data; ``report.save("report.html")`` writes it as a page.
    was_interrupted, ran_out_of_memory : bool
        Whether the search ended before its time, and whether that was for want of memory.
    examples : float32 array (rows, features)
        Some of the rows as features, which the self-test of the C project uses.
    record : SearchRecord or None
        What another search can go on from; None of a search on a cluster.
    """

    packed: Packed
    front: tuple[Candidate, ...]
    report: FitReport
    was_interrupted: bool
    examples: NDArray[np.float32]
    record: SearchRecord | None = None
    ran_out_of_memory: bool = False

    def __repr__(self) -> str:
        score = f"held-out {self.report.scoring} {self.report.score:.4g}"
        return f"FitResult({self.packed.nbytes:,} bytes of {self.report.budget:,}; {score}; {self.packed!r})"

    def save(self, folder: str | PathLike[str], *, name: str = "model", force: bool = False) -> None:
        """Write ``model.bhk``, ``report.html``, ``search.json`` and a C project ``c`` to a folder: all or none.

        Parameters
        ----------
        folder : path
            Its parent is there. If it is there too it must be empty, unless `force` is given.
        name : str
            The prefix of all names in C.
        force : bool
            Whether to replace the files of an earlier fit; other files in the folder stay.
        """
        record = None if self.record is None else self.record.to_json()
        write_fit(folder, self.packed, self.report, self.examples, name=name, force=force, record=record)


def fit(
    rows: TrainingRows,
    budget: int,
    *,
    user_ensemble: UserEnsemble | None = None,
    scoring: Any = None,
    time_limit: float | None = 60.0,
    n_trials: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    n_jobs: int = 1,
    families: tuple[str, ...] = FAMILIES,
    shares_tests: bool = True,
    max_projections: int | None = None,
    final: Callable[[Trial], Packed] | None = None,
    keep_best: bool = False,
    target: Target | None = None,
    compare: bool = False,
    resume: SearchRecord | None = None,
    title: str = "",
    notes: tuple[str, ...] = (),
    progress: Callable[[Search], None] | None = None,
    clock: Clock | None = None,
) -> FitResult:
    """Return the best model of at most `budget` bytes that is found in the time, or with so many trials.

    The time is that of `clock` if it runs already, else `time_limit` seconds from now, the report included. With
    `n_trials` there is no limit, and so many trials are made. With `compare`, the report has what others make of the
    budget; with `resume`, an earlier search is gone on with. `final` makes the last model of the best trial, by
    default from all rows. With `keep_best`, an interruption, or too little memory, ends the search and what is best
    so far is returned.
    """
    if rows.classes is None and not np.abs(rows.y).max() <= LARGEST_TARGET:
        raise ValueError(f"y holds {rows.y[np.abs(rows.y).argmax()]:g}: targets may be up to {LARGEST_TARGET:g}")
    clock = clock or Clock(time_limit)
    importlib.import_module("scipy.special")  # needed in the end: if there is no memory for it, nothing is lost yet
    runner = TrialRunner(rows, score_of(scoring, rows), seed, user_ensemble)
    smallest = _smallest(runner) if budget < CERTAIN_BYTES + CERTAIN_BYTES_OF_VALUE * runner.n_values else 1
    if smallest > budget:
        raise TooSmallError(
            f"a budget of {budget:,} bytes is too small: a model with one split takes {smallest:,} bytes here"
        )
    progress = progress or (lambda _search: None)
    budgets = tuple(sorted({max(smallest, budget // share) for share in SMALLER} | {budget}))
    search = Search(
        runner,
        budgets,
        executor or ThreadExecutor(n_jobs),
        clock if n_trials is None else replace(clock, limit=None),
        n_trials=None if n_trials is None else n_trials + (0 if resume is None else len(resume.best)),
        keep_best=keep_best,
        progress=progress,
        families=_families(rows, families) if user_ensemble is None else ("user",),
        perfect=perfect_score(scoring),
        shares_tests=shares_tests,
        max_projections=max_projections,
        first=() if resume is None else resume.best,
        may_draw=final is None and user_ensemble is None,
    )
    if resume is not None:
        resume.check(rows)
        search.outcomes |= {trial: {} for trial in resume.others}  # not to be tried again
    columns = _columns(search, budget) if rows.of_all_columns is not rows else ()
    search.run()
    best = search.best(budget)
    if best is None:
        raise TooSmallError(f"no model of at most {budget:,} bytes was found; a larger budget may help")
    try:
        progress(search)
        with shown_by(None):  # the search is what is shown, and not each step of its last model
            last = learn_last(search, best, final)
    except (Exception, KeyboardInterrupt) as error:
        search.end(error)
        last = LastModel(best.packed, encoding=best.encoding)
    others, of_others = _compared(search, best, budget) if compare else ((), ())
    search.is_built, search.stage = True, "writing the report"
    progress(search)
    runner.clear_caches()
    report = report_on(search, best, last, budget, scoring=scoring, target=target, title=title, notes=notes)
    report = replace(report, others=others, columns=columns, notes=(*report.notes, *of_others))
    some = np.arange(0, rows.n_rows, -(-rows.n_rows // EXAMPLES))
    packed, examples = last.packed, rows.X[some]
    if last.encoding is not None and rows.recode is not None:  # its features are not those of the other rows
        packed, examples = packed.with_encoding(last.encoding), rows.recode.take(some).encoded(last.encoding)
    return FitResult(
        packed,
        front_of(search),
        report,
        search.is_interrupted,
        examples,
        SearchRecord.of(search),
        ran_out_of_memory=search.is_out_of_memory,
    )


def _columns(search: Search, budget: int) -> tuple[ColumnPoint, ...]:
    """Return the scores of models of fewer and more columns than are chosen."""
    search.stage = "choosing columns"
    search.progress(search)
    points = column_curve(search.trying, budget, search.clock)
    search.stage = "evaluating"
    return points


def _compared(search: Search, best: Candidate, budget: int) -> tuple[tuple[OtherModel, ...], tuple[str, ...]]:
    """Return what others make of the budget, and notes; what has been found is not lost if that is interrupted."""
    if search.is_interrupted:
        return (), ("There is no comparison with others, as the search ended before its time.",)
    search.stage = "comparing with others"
    search.progress(search)
    try:
        return other_models(search, best, budget)
    except (Exception, KeyboardInterrupt) as error:
        search.end(error)
        return (), ("The comparison with others was interrupted.",)


def _families(rows: TrainingRows, families: tuple[str, ...]) -> tuple[str, ...]:
    """Return those that can learn the loss: averages of trees learn squares."""
    is_other_loss = rows.classes is None and rows.loss.name != "squared_error"
    return ("boosted",) if is_other_loss else families


def search_budgets(
    rows: TrainingRows,
    budgets: tuple[int, ...],
    *,
    n_trials: int | None = None,
    time_limit: float | None = None,
    now: Callable[[], float] = time.perf_counter,
    seed: int = 0,
) -> Search:
    """Return a finished search for the best models of several budgets that count the same."""
    runner = TrialRunner(rows, score_of(None, rows), seed)
    share = 1.0 / len(budgets)
    clock = Clock(time_limit, now)
    search = Search(
        runner,
        budgets,
        ThreadExecutor(1),
        clock,
        n_trials=n_trials,
        share_of_last=share,
        perfect=perfect_score(None),
        may_end_early=False,
    )
    search.run()
    return search


def build(rows: TrainingRows, trial: Trial, *, user_ensemble: UserEnsemble | None = None, seed: int = 0) -> Packed:
    """Return the model of a trial, learned from all rows, or from as many as there is memory for."""
    runner = TrialRunner(rows, score_of(None, rows), seed, user_ensemble)
    return runner.build(trial, runner.split_of_last(trial))


def _smallest(runner: TrialRunner) -> int:
    """Return the bytes of a model with a single split."""
    growth = GrowthConfig("boosted" if runner.user_ensemble is None else "user", 2, 1.0, 3, 4)
    few = runner.sample(2_000 if runner.user_ensemble is None else 200)  # an estimator may be slow
    forest, coding, _ = few.grown(growth, few.split(ALL), 2)
    stump = forest.select([0]).truncate(max_leaves=2)
    return size_on_codes(stump, coding, leaf_bits=2, missing_values=runner.rows.has_missing)
