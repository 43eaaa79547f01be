"""What a search found as one page that opens anywhere: nothing in it is loaded from elsewhere."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from billhook.budget.report._chart import KINDS, RADIUS, candidates_chart, kind_of, label_of, scatter_chart
from billhook.budget.report._mistakes import confusion_matrix, errors_text
from billhook.budget.report._words import difference_text, in_words, score_text, scoring_text, shared
from billhook.html import Head, count_text, render, time_text

if TYPE_CHECKING:
    from billhook.budget.report._report import FitReport, Stage

PACKAGE = "billhook.budget.report"
TARGET_HEADS = (
    Head("board"),
    Head("fits"),
    Head("of the flash"),
    Head("taken", is_number=True),
    Head("flash", is_number=True),
    Head("RAM", is_number=True),
)
POINT_AT = "Point at a dot, or go to it with the arrow keys."


class FrontRow(NamedTuple):
    """A candidate of the front, with the settings that are not the same in all."""

    number: int
    kind: str
    nbytes: int
    score: str
    is_chosen: bool
    settings: str


class FrontTable(NamedTuple):
    """The candidates of the front, the largest first."""

    about: str
    heads: Sequence[Head]
    rows: list[FrontRow]


class SignedBar(NamedTuple):
    """A bar to the right of the middle for a gain, to the left for a loss; in percent."""

    kind: str
    left: float
    width: float


class StageRow(NamedTuple):
    """A stage, and by how much it is better or worse than the one before."""

    stage: "Stage"
    change: str
    bar: SignedBar | None


class Told(NamedTuple):
    """What the panel below the chart says of a candidate."""

    label: str
    settings: str


def page(report: "FitReport") -> str:
    """Return a page on what a search found: HTML in one piece.

    Parameters
    ----------
    report : FitReport
    """
    errors = report.errors if report.errors is not None and len(report.errors) else None
    return render(
        PACKAGE,
        "fit.html",
        report=report,
        scoring=scoring_text(report.scoring),
        score=partial(score_text, scoring=report.scoring),
        spread=_spread(report),
        target=next((target for target in report.targets if target.name == report.target), None),
        whereabouts=_whereabouts(report),
        kinds=KINDS,
        radius=RADIUS,
        chart=candidates_chart(report),
        told=_told(report),
        front=_front(report),
        target_heads=TARGET_HEADS,
        stage_heads=_stage_heads(report),
        stages=_stages(report),
        confusion=None if report.confusion is None else confusion_matrix(report.confusion, report.classes),
        errors="" if errors is None else errors_text(errors),
        scatter=None if errors is None else scatter_chart(errors),
        making={
            "Trials": f"{report.n_trials:,}",
            "Time": time_text(report.seconds),
            "Seed": str(report.seed),
            "Versions": ", ".join(f"{name} {version}" for name, version in report.versions.items()),
        },
    )


def _spread(report: "FitReport") -> str:
    """Return the ends of the scores on several splits."""
    if len(report.scores) < 2:
        return ""
    least, most = (score_text(end, report.scoring) for end in (min(report.scores), max(report.scores)))
    return f" ({least} to {most} on {len(report.scores)} splits)"


def _whereabouts(report: "FitReport") -> str:
    """Return where the model fits, if the target is not among those that are known."""
    n_fitting = sum(target.fits for target in report.targets)
    if report.target is not None:
        return f", for {report.target}"
    if not report.targets:
        return ""
    if n_fitting == len(report.targets):
        return "; it fits all boards below"
    return f"; it fits {n_fitting or 'none'} of the {len(report.targets)} boards below"


def _told(report: "FitReport") -> Told:
    """Return what is said of the chosen candidate, which the panel starts with."""
    chosen = next((point for point in report.points if point.is_chosen), None)
    if chosen is None:
        return Told(POINT_AT, "")
    return Told(label_of(chosen, report.scoring), in_words(chosen.settings))


def _front(report: "FitReport") -> FrontTable | None:
    shown = [(k, point) for k, point in enumerate(report.points) if point.is_on_front or point.is_chosen]
    if not shown:
        return None
    shown.sort(key=lambda numbered: (-numbered[1].nbytes, -numbered[1].score))
    same = shared([point.settings for _, point in shown])
    about = f"{count_text(len(shown), 'candidate')}, from the largest: no other is both smaller and better."
    if in_words(same):
        about += f" In all of them: {in_words(same)}."
    rows = [
        FrontRow(
            number=k,
            kind=kind_of(point),
            nbytes=point.nbytes,
            score=score_text(point.score, report.scoring),
            is_chosen=point.is_chosen,
            settings=in_words({name: value for name, value in point.settings.items() if name not in same}),
        )
        for k, point in shown
    ]
    heads = (Head("bytes", is_number=True), Head(scoring_text(report.scoring), is_number=True), Head("settings"))
    return FrontTable(about, heads, rows)


def _stage_heads(report: "FitReport") -> tuple[Head, ...]:
    return (
        Head("step"),
        Head(scoring_text(report.scoring), is_number=True),
        Head("difference", is_number=True),
        Head("loss or gain"),
        Head("bytes", is_number=True),
        Head("how"),
    )


def _stages(report: "FitReport") -> list[StageRow]:
    if not report.stages:
        return []
    changes = [None, *(after.score - before.score for before, after in pairwise(report.stages))]
    largest = max((abs(change) for change in changes if change is not None and np.isfinite(change)), default=0.0)
    return [
        StageRow(
            stage,
            "" if change is None else difference_text(change, report.scoring),
            _signed_bar(change, largest),
        )
        for stage, change in zip(report.stages, changes, strict=True)
    ]


def _signed_bar(change: float | None, largest: float) -> SignedBar | None:
    if change is None or not largest or not np.isfinite(change):
        return None
    width = 50 * abs(change) / largest
    return SignedBar("gain", 50.0, width) if change >= 0 else SignedBar("loss", 50 - width, width)
