"""What follows the slider of the memory cap."""

from collections.abc import Sequence
from typing import NamedTuple

from billhook.analysis.report._curves import CurvesPlot, curves_plot
from billhook.analysis.report._payload import first_stop, targets_by_flash
from billhook.analysis.report._study_report import StudyReport
from billhook.codegen import Target
from billhook.html import Head, Tick, byte_ticks, count_text, number_heads, size_text


class Live(NamedTuple):
    """The stop that the slider starts at, the axis of bytes, the targets, the heads of the table and the plots."""

    start: int
    across: list[Tick]
    targets: list[Target]
    heads: list[Head]
    plots: list[CurvesPlot]
    beyond: str


def live(study: StudyReport, stops: Sequence[int]) -> Live:
    """Return what follows the slider: the map, the table and the plots."""
    drawn = study.table[study.table["nbytes"] <= study.largest]
    return Live(
        start=first_stop(stops, study.caps),
        across=byte_ticks(study.span),
        targets=targets_by_flash(),
        heads=[Head("data set"), Head("best"), Head("model"), *number_heads(study.methods)],
        plots=[
            curves_plot(number, data, drawn[drawn["data"] == data], study.looks, study.span)
            for number, data in enumerate(study.data)
        ],
        beyond=_beyond(study),
    )


def _beyond(study: StudyReport) -> str:
    n_beyond = int((study.table["nbytes"] > study.largest).sum())
    if not n_beyond:
        return ""
    are = "is" if n_beyond == 1 else "are"
    return f"{count_text(n_beyond, 'configuration')} above {size_text(study.largest)} {are} not shown."
