"""From a finished search to the report on it."""

import platform
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np

from billhook._deadline import TimeLimit, within
from billhook.budget._clock import Clock
from billhook.budget._interval import Interval, JudgedRows, score_interval
from billhook.budget._last_model import LastModel
from billhook.budget._results import Candidate
from billhook.budget._scoring import RememberedModel, highest_score
from billhook.budget._search import Search
from billhook.budget._space import Trial, settings_of
from billhook.budget._splits import TrainingRows
from billhook.budget._trial_outcome import TrialOutcome
from billhook.budget._trial_runner import TrialRunner
from billhook.budget.report._report import FitReport, Point
from billhook.codegen import Target, target_fits

SHOWN_ERRORS = 1_000
# An interval may take so many seconds, and longer where the time is not over: a scorer is called a hundred times.
FOR_INTERVAL = 0.5


def report_on(
    search: Search,
    best: Candidate,
    last: LastModel,
    budget: int,
    *,
    scoring: Any,
    target: Target | None,
    title: str,
    notes: tuple[str, ...],
) -> FitReport:
    """Return the report on a search whose best candidate became the `last` model."""
    rows, packed = search.whole.rows, last.packed
    runner = search.comparing if best.is_final else search.trying
    # It may have run on others too, which do not count where not all that it was compared with did.
    outcomes = [search.outcomes[best.trial][number] for number in best.splits]
    judged = _judged(runner, outcomes)
    highest = highest_score(scoring)
    confusion, errors = _mistakes(runner.rows, judged)
    return FitReport(
        title=title,
        task="classification" if rows.classes is not None else "regression",
        scoring=_scoring_name(scoring, rows),
        n_rows=rows.n_rows,
        n_features=rows.of_all_columns.X.shape[1],
        budget=budget,
        nbytes=packed.nbytes,
        target=None if target is None else target.name,
        # What is expected on a split by those on others may come to more.
        scores=tuple(min(score, highest) for score in best.scores),
        interval=_interval(judged, runner, best, outcomes, scoring, _end_of_interval(search.clock)),
        points=_points(search, best),
        stages=next((o.stages for o in search.outcomes[best.trial].values() if o.stages), ()),
        targets=target_fits(packed),
        classes=() if rows.classes is None else tuple(str(label) for label in rows.classes.tolist()),
        confusion=confusion,
        errors=errors,
        notes=(*notes, *_notes(search, last, best)),
        n_trials=search.n_done,
        seconds=search.clock.seconds,
        seed=search.whole.seed,
        versions=_versions(),
    )


def front_of(search: Search) -> tuple[Candidate, ...]:
    """Return the candidates that no other beats at no more bytes, the smallest first; of the finalists, if any."""
    candidates = search.candidates(final=True) or search.candidates()
    front: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda candidate: (candidate.nbytes, -candidate.score)):
        if not front or candidate.score > front[-1].score:
            front.append(candidate)
    return tuple(front)


def _notes(search: Search, last: LastModel, best: Candidate) -> list[str]:
    notes = []
    if not best.is_final and search.n_done > 1:
        notes.append(
            "The best configurations were not compared on rows held out anew: the score is that on the rows they "
            "were chosen on, and likely to be too good."
        )
    if search.trying.rows.n_rows < search.whole.rows.n_rows:
        tried, compared = search.trying.rows.n_rows, search.comparing.rows.n_rows
        sampled = f"Configurations were evaluated on a sample of {tried:,} rows"
        sampled += f" and compared on {compared:,}" if best.is_final else ""
        is_from_all = last.n_rows is None and not search.is_interrupted
        notes.append(f"{sampled}; the model has learned from all." if is_from_all else f"{sampled}.")
    stretches = search.comparing.rows.stretches
    if stretches is not None and len(stretches.bounds) == 1:
        notes.append(
            "There are too few different times to compare the best configurations on other rows than those they were "
            "chosen on: the score is likely to be too good."
        )
    elif stretches is not None and search.final_splits:
        notes.append(
            f"The best configurations were compared on the latest {len(search.final_splits)} of "
            f"{len(stretches.bounds)} stretches of time, and chosen on earlier ones."
        )
    if last.n_rows is not None:
        notes.append(f"The model has learned from {last.n_rows:,} of {search.whole.rows.n_rows:,} rows: {last.why}.")
    drawn = search.drawn.get(best.trial, [])
    if any(one.packed is last.packed and one.trial != best.trial for one in drawn):
        notes.append(
            f"The best configuration was learned from all rows {len(drawn)} times, with other trees each time: the "
            "model is the one that fits the rows best."
        )
    if search.ended_early:
        notes.append(f"The search ended early, after {search.clock.seconds:.0f} s: {search.ended_early}.")
    if search.is_out_of_memory:
        notes.append(
            "Memory ran out: this is the best model found until then. Fewer jobs (n_jobs=1), rows or columns need "
            "less."
        )
    elif search.is_interrupted:
        notes.append("The search was interrupted: this is the best model found until then.")
    return notes


def _points(search: Search, best: Candidate) -> tuple[Point, ...]:
    front = {candidate.trial for candidate in front_of(search)}
    final = {candidate.trial: candidate for candidate in search.candidates(final=True)}
    tried = search.candidates()
    # Those that did not reach the finals were judged on other rows, and the best of many look too good: they are
    # shown lower by as much as the finalists fell.
    gaps = [final[candidate.trial].score - candidate.score for candidate in tried if candidate.trial in final]
    fall = float(np.mean(gaps)) if gaps else 0.0
    return tuple(_point(candidate, final.get(candidate.trial), fall, front, best.trial) for candidate in tried)


def _point(tried: Candidate, final: Candidate | None, fall: float, front: set[Trial], best: Trial) -> Point:
    return Point(
        nbytes=tried.nbytes if final is None else final.nbytes,
        score=min(tried.score + fall, 1.0) if final is None else final.score,
        settings=settings_of(tried.trial),
        is_final=final is not None,
        is_on_front=tried.trial in front,
        is_chosen=tried.trial == best,
    )


def _judged(runner: TrialRunner, outcomes: Iterable[TrialOutcome]) -> list[JudgedRows]:
    """Return the rows that each split held out, with the model for it."""
    judged = []
    for outcome in outcomes:
        assert outcome.packed is not None
        split = runner.split(outcome.split)
        held_out = split.held_out
        model = RememberedModel(outcome.packed, runner.features(split)[held_out])
        judged.append(JudgedRows(held_out, model, runner.rows.labels[held_out], runner.rows.weight[held_out]))
    return judged


def _interval(
    judged: list[JudgedRows],
    runner: TrialRunner,
    best: Candidate,
    outcomes: list[TrialOutcome],
    scoring: Any,
    until: TimeLimit | None,
) -> Interval | None:
    """Return the interval of the score of the best, which may have been corrected by what other splits told."""
    with within(until):
        found = score_interval(judged, runner.score, units=runner.rows.units, seed=runner.seed)
    if found is None:
        return None
    corrected_by = best.score - float(np.mean([outcome.score for outcome in outcomes]))
    highest = highest_score(scoring)
    return Interval(*(min(end + corrected_by, highest) for end in found))


def _end_of_interval(clock: Clock) -> TimeLimit | None:
    return clock.until(max(clock.at(1.0), clock.seconds + FOR_INTERVAL))


def _mistakes(rows: TrainingRows, judged: list[JudgedRows]) -> tuple[Any, Any]:
    """Return the confusion matrix of all held-out rows, or true and predicted targets of some."""
    classes = rows.classes
    y = np.concatenate([rows.y[one.numbers] for one in judged])
    y_predicted = np.concatenate([one.model.predict(one.model.X) for one in judged])
    if classes is None:
        pairs = np.stack([y, y_predicted], axis=1).astype(np.float64)
        return None, pairs[:: -(-len(pairs) // SHOWN_ERRORS)]
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    numbers = np.array([number_of[label] for label in y_predicted.tolist()])
    counts = np.bincount(y * classes.size + numbers, minlength=classes.size**2)
    return counts.reshape(classes.size, classes.size), None


def _scoring_name(scoring: Any, rows: TrainingRows) -> str:
    if scoring is None:
        return "accuracy" if rows.classes is not None else rows.loss.scoring
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", type(scoring).__name__)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in ("billhook", "numpy", "scikit-learn", "xgboost-cpu", "xgboost"):
        try:
            versions[name] = version(name)
        except ImportError:
            continue
    return versions
