"""The report of a search as one HTML page that opens anywhere: it loads nothing from elsewhere."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from billhook.budget.report._chart import (
    KINDS,
    RADIUS,
    candidates_chart,
    columns_chart,
    kind_of,
    label_of,
    layouts_chart,
    residuals_chart,
    scatter_chart,
)
from billhook.budget.report._mistakes import confusion_matrix, errors_text
from billhook.budget.report._words import difference_text, in_words, score_text, scoring_text, shared
from billhook.html import Head, count_text, render, time_text

if TYPE_CHECKING:
    from billhook.budget._stages import Stage
    from billhook.budget.report._report import FitReport

PACKAGE = "billhook.budget.report"
TARGET_HEADS = (
    Head("target"),
    Head("fits"),
    Head("share of flash"),
    Head("used", is_number=True),
    Head("flash", is_number=True),
    Head("RAM", is_number=True),
)
COLUMN_HEADS = (Head("columns", is_number=True), Head("score", is_number=True), Head("read in addition"))
LAYOUT_HEADS = (Head("layout"), Head("fits"), Head("flash", is_number=True), Head("cycles a row", is_number=True))
OTHER_HEADS = (Head("model"), Head("bytes", is_number=True), Head("score", is_number=True), Head("settings"))
# Of columns that are read in addition.
MOST_NAMES = 8
POINT_AT = "Point at a dot, or use the arrow keys, to see its settings."


class FrontRow(NamedTuple):
    """A configuration on the Pareto front, with the settings that not all of them share."""

    number: int
    kind: str
    nbytes: int
    score: str
    is_chosen: bool
    settings: str


class FrontTable(NamedTuple):
    """The configurations on the Pareto front, the largest first."""

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


class PanelText(NamedTuple):
    """What the panel below the chart says of a configuration."""

    label: str
    settings: str


def page(report: "FitReport") -> str:
    """Return the report of a search as an HTML page.

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
        interval=_interval(report),
        target=next((target for target in report.targets if target.name == report.target), None),
        fitting=_fitting(report),
        kinds=KINDS,
        radius=RADIUS,
        chart=candidates_chart(report),
        panel=_panel(report),
        front=_front(report),
        target_heads=TARGET_HEADS,
        columns=columns_chart(report),
        column_heads=COLUMN_HEADS,
        listed=listed,
        layouts=layouts_chart(report),
        layout_heads=LAYOUT_HEADS,
        other_heads=OTHER_HEADS,
        stage_heads=_stage_heads(report),
        stages=_stages(report),
        confusion=None if report.confusion is None else confusion_matrix(report.confusion, report.classes),
        errors="" if errors is None else errors_text(errors),
        scatter=None if errors is None else scatter_chart(errors),
        residuals=None if errors is None else residuals_chart(errors),
        making={
            "Configurations": f"{report.n_trials:,} evaluated",
            "Time": time_text(report.seconds),
            "Random seed": str(report.seed),
            "Versions": ", ".join(f"{name} {version}" for name, version in report.versions.items()),
        },
    )


def listed(names: Sequence[str]) -> str:
    """Return names, and of many how many more there are."""
    n_more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {n_more:,} more" if n_more > 0 else "")


def _interval(report: "FitReport") -> str:
    """Return what the score may be on rows to come."""
    if report.interval is None:
        return ""
    low, high = (score_text(end, report.scoring) for end in report.interval)
    return f" (95% interval: {low} to {high})"


def _fitting(report: "FitReport") -> str:
    """Return on which targets the model fits, for a report whose own target is not among them."""
    n_targets, n_fitting = len(report.targets), sum(target.fits for target in report.targets)
    if report.target is not None:
        return f"Its target is {report.target}."
    if not n_targets:
        return ""
    if n_fitting in (0, n_targets):
        return f"It fits {'all' if n_fitting else 'none'} of the targets below."
    return f"It fits {n_fitting} of the {n_targets} targets below."


def _panel(report: "FitReport") -> PanelText:
    """Return what the panel says at first: the chosen configuration."""
    chosen = next((point for point in report.points if point.is_chosen), None)
    if chosen is None:
        return PanelText(POINT_AT, "")
    return PanelText(label_of(chosen, report.scoring), in_words(chosen.settings))


def _front(report: "FitReport") -> FrontTable | None:
    shown = [(k, point) for k, point in enumerate(report.points) if point.is_on_front or point.is_chosen]
    if not shown:
        return None
    shown.sort(key=lambda numbered: (-numbered[1].nbytes, -numbered[1].score))
    same = shared([point.settings for _, point in shown])
    about = f"{count_text(len(shown), 'configuration')}, largest first: no other is both smaller and better."
    if in_words(same):
        about += f" Settings that all share: {in_words(same)}."
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
        Head("stage"),
        Head(scoring_text(report.scoring), is_number=True),
        Head("change", is_number=True),
        Head("loss or gain"),
        Head("bytes", is_number=True),
        Head("details"),
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
