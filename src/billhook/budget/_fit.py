"""From rows and a number of bytes to the best model that fits, and what there is to say about it."""

import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from billhook._interruption import is_interruption
from billhook.budget._compress import TooSmallError
from billhook.budget._grow import has_xgboost
from billhook.budget._scoring import score_of
from billhook.budget._search import FAMILIES, FIRST_FINAL, Candidate, Clock, Executor, Search, ThreadExecutor
from billhook.budget._space import MOST_LEAVES, GrowthConfig, Trial
from billhook.budget._splits import TrainingRows
from billhook.budget._trial_runner import ALL, TrialRunner
from billhook.budget._user_ensemble import UserEnsemble
from billhook.budget.report._report import Board, FitReport, Point, Step
from billhook.codegen import Target, fits_in, flash_with_reader, targets
from billhook.packing import Packed, size_on_codes

# Smaller budgets that are searched too, for the front.
SMALLER = (4, 2)
SHOWN_ERRORS = 1_000
# Squares of sums of more would not be numbers any more.
LARGEST_TARGET = 1e100


@dataclass(frozen=True, eq=False)
class FitResult:
    """The model, learned from all rows; the candidates that no other beats at no more bytes; and the report."""

    packed: Packed
    front: tuple[Candidate, ...]
    report: FitReport
    is_stopped: bool


def fit(
    rows: TrainingRows,
    budget: int,
    *,
    given: UserEnsemble | None = None,
    scoring: Any = None,
    time_limit: float | None = 60.0,
    trials: int | None = None,
    seed: int = 0,
    workers: Executor | None = None,
    n_jobs: int = 1,
    families: tuple[str, ...] = FAMILIES,
    final: Callable[[Trial], Packed] | None = None,
    keeps_best: bool = False,
    target: Target | None = None,
    title: str = "",
    notes: tuple[str, ...] = (),
    progress: Callable[[Search], None] = lambda _search: None,
) -> FitResult:
    """Return the best model of at most `budget` bytes that is found in the time, or with so many trials.

    `final` makes the last model of the best trial, by default from all rows. With `keeps_best`, an interruption ends
    the search and what is best so far is returned.
    """
    if rows.classes is None and not np.abs(rows.y).max() <= LARGEST_TARGET:
        raise ValueError(f"a target is {rows.y[np.abs(rows.y).argmax()]:g}: targets may be up to {LARGEST_TARGET:g}")
    bench = TrialRunner(rows, score_of(scoring, rows), seed, given=given)
    smallest = _smallest(bench)
    if smallest > budget:
        raise TooSmallError(
            f"a budget of {budget:,} bytes is too small: a model with one split takes {smallest:,} bytes here"
        )
    budgets = tuple(sorted({max(smallest, budget // share) for share in SMALLER} | {budget}))
    search = Search(
        bench,
        budgets,
        workers or ThreadExecutor(n_jobs),
        Clock(None if trials is not None else time_limit),
        n_trials=trials,
        keeps_best=keeps_best,
        progress=progress,
        families=families if given is None else ("given",),
    )
    search.run()
    best = search.best(budget)
    if best is None:
        raise TooSmallError(f"no model of at most {budget:,} bytes was found; a larger budget may help")
    try:
        progress(search)
        packed = search.final(budget) if final is None else final(best.trial)
    except (Exception, KeyboardInterrupt) as error:
        if not keeps_best or not is_interruption(error):
            raise
        search.is_stopped, packed = True, best.packed
    search.is_built, search.stage = True, "writing the report"
    progress(search)
    bench.forget()
    report = _report(search, best, packed, budget, scoring, target, title, _notes(search, notes))
    return FitResult(packed, front_of(search), report, search.is_stopped)


def search_budgets(
    rows: TrainingRows,
    budgets: tuple[int, ...],
    *,
    trials: int | None = None,
    time_limit: float | None = None,
    now: Callable[[], float] = time.perf_counter,
    seed: int = 0,
) -> Search:
    """Return a search for the best models of several budgets that count the same, when it has been run."""
    bench = TrialRunner(rows, score_of(None, rows), seed)
    share = 1.0 / len(budgets)
    search = Search(bench, budgets, ThreadExecutor(1), Clock(time_limit, now), n_trials=trials, share_of_last=share)
    search.run()
    return search


def build(rows: TrainingRows, trial: Trial, *, given: UserEnsemble | None = None, seed: int = 0) -> Packed:
    """Return the model of a trial, learned from all rows."""
    bench = TrialRunner(rows, score_of(None, rows), seed, given=given)
    return bench.build(trial, bench.split(ALL))


def front_of(search: Search) -> tuple[Candidate, ...]:
    """Return the candidates that no other beats at no more bytes, the smallest first; of those compared last."""
    return _undominated(search.candidates(final=True) or search.candidates())


def _undominated(candidates: list[Candidate]) -> tuple[Candidate, ...]:
    front: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda one: (one.nbytes, -one.score)):
        if not front or candidate.score > front[-1].score:
            front.append(candidate)
    return tuple(front)


def _smallest(bench: TrialRunner) -> int:
    """Return what a model with a single split takes."""
    recipe = GrowthConfig("boosted" if bench.given is None else "given", 2, 1.0, 3, 4)
    few = bench.sample(2_000)
    forest, coding, _ = few.grown(recipe, few.split(ALL), 2)
    one = forest.select([0]).truncate(max_leaves=2)
    return size_on_codes(one, coding, leaf_bits=2, missing_values=bench.rows.has_missing)


def _notes(search: Search, notes: tuple[str, ...]) -> tuple[str, ...]:
    found = list(notes)
    if search.whole.given is None and not has_xgboost():
        found.append("XGBoost is not installed, so boosted trees are scikit-learn's: pip install 'billhook[fit]'.")
    if search.bench.rows.n_rows < search.whole.rows.n_rows:
        tried, compared = search.bench.rows.n_rows, search.other.rows.n_rows
        found.append(
            f"Ways were tried on {tried:,} of the rows and compared on {compared:,}; the model has seen all."
        )
    if search.is_stopped:
        found.append("The search was interrupted: this is the best model found until then.")
    return tuple(found)


def _report(
    search: Search,
    best: Candidate,
    packed: Packed,
    budget: int,
    scoring: Any,
    target: Target | None,
    title: str,
    notes: tuple[str, ...],
) -> FitReport:
    rows = search.whole.rows
    front = {candidate.trial for candidate in front_of(search)}
    confusion, errors = _mistakes(search, best)
    return FitReport(
        title=title,
        task="classification" if rows.classes is not None else "regression",
        scoring=_name_of(scoring, rows),
        n_rows=rows.n_rows,
        n_features=rows.X.shape[1],
        budget=budget,
        nbytes=packed.nbytes,
        target=None if target is None else target.name,
        scores=best.scores,
        points=tuple(_points(search, best, front)),
        steps=_steps(search, best),
        boards=tuple(_boards(packed)),
        classes=() if rows.classes is None else tuple(str(label) for label in rows.classes.tolist()),
        confusion=confusion,
        errors=errors,
        notes=notes,
        n_trials=search.n_done,
        seconds=search.clock.seconds,
        seed=search.whole.seed,
        versions=_versions(),
    )


def _points(search: Search, best: Candidate, front: set[Trial]) -> list[Point]:
    final = {candidate.trial: candidate for candidate in search.candidates(final=True)}
    tried = search.candidates()
    # What was only tried was so on other rows, and the best of many look too good: shown as others turned out to be.
    gaps = [final[one.trial].score - one.score for one in tried if one.trial in final]
    found = []
    for candidate in tried:
        trial = candidate.trial
        shown = final.get(trial, candidate)
        found.append(
            Point(
                nbytes=shown.nbytes,
                score=shown.score if trial in final else min(shown.score + float(np.mean(gaps or [0.0])), 1.0),
                settings=settings_of(trial),
                is_final=trial in final,
                is_on_front=trial in front,
                is_chosen=trial == best.trial,
            )
        )
    return found


def settings_of(trial: Trial) -> dict[str, Any]:
    """Return the choices of a trial by their names, without those that do not matter to it."""
    recipe, how = asdict(trial.recipe), asdict(trial.shrinking)
    if trial.recipe.family != "boosted":
        recipe.pop("rate")
        recipe.pop("min_weight")
    if trial.recipe.family == "given":
        recipe.pop("bins")
        if trial.recipe.leaves == MOST_LEAVES:
            recipe.pop("leaves")
    how = {name: value for name, value in how.items() if value is not None}
    if trial.shrinking.codebook is None:
        how.pop("by_class")
    return recipe | how


def _steps(search: Search, best: Candidate) -> tuple[Step, ...]:
    """Return what each step came to, on one split of the rows."""
    bench, trial = search.other, best.trial
    parted = bench.split(next(iter(search.final_splits), 0))
    forests: dict[str, Any] = {}
    packed = bench.build(trial, parted, told=forests.__setitem__)
    _, _, codes = bench.grown(trial.recipe, parted, 0)
    held = parted.held_out
    labels, weight = bench.rows.labels[held], bench.rows.weight[held]

    def score(forest: Any) -> float:
        return bench.score(forest, codes[held], labels, weight)

    grown, fitting = forests["grown"], forests["made to fit"]
    how = trial.shrinking
    found = [Step("grown", score(grown), None, f"{grown.n_trees:,} trees, {grown.n_leaves:,} leaves")]
    if how.l2 is not None:
        name = "merged" if fitting.n_leaves < grown.n_leaves else "refined"
        found.append(Step(name, score(fitting), None, f"{fitting.n_trees:,} trees, {fitting.n_leaves:,} leaves"))
    leaf = f"{how.leaf_bits}-bit leaves" + (f", {how.codebook} different" if how.codebook else "")
    found.append(Step("packed", bench.judge(packed, parted), packed.nbytes, leaf))
    return tuple(found)


def _mistakes(search: Search, best: Candidate) -> tuple[Any, Any]:
    """Return the confusion matrix of all rows held out, or true and predicted numbers of some."""
    bench = search.other if best.is_final else search.bench
    classes = bench.rows.classes
    tried = search.outcomes[best.trial]
    numbers = [number for number in tried if (number >= FIRST_FINAL) == best.is_final]
    true, predicted = [], []
    for number in numbers:
        packed = search.outcomes[best.trial][number].packed
        assert packed is not None
        held = bench.split(number).held_out
        true.append(bench.rows.y[held])
        predicted.append(packed.predict(bench.features(bench.split(number))[held]))
    y, said = np.concatenate(true), np.concatenate(predicted)
    if classes is None:
        pairs = np.stack([y, said], axis=1).astype(np.float64)
        return None, pairs[:: -(-len(pairs) // SHOWN_ERRORS)]
    place = {label: k for k, label in enumerate(classes.tolist())}
    as_number = np.array([place[label] for label in said.tolist()])
    counts = np.bincount(y * classes.size + as_number, minlength=classes.size**2)
    return counts.reshape(classes.size, classes.size), None


def _boards(packed: Packed) -> list[Board]:
    found = []
    for target in targets():
        if target.flash:
            takes = flash_with_reader(packed.nbytes, target)
            found.append(Board(target.name, target.flash, target.ram, takes, fits_in(packed, target)))
    return found


def _name_of(scoring: Any, rows: TrainingRows) -> str:
    if scoring is None:
        return "accuracy" if rows.classes is not None else "R2"
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", type(scoring).__name__)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("billhook", "numpy", "scikit-learn", "xgboost-cpu", "xgboost"):
        try:
            found[name] = version(name)
        except ImportError:
            continue
    return found
