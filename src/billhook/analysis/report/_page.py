"""The page of a study."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from billhook.analysis.report._banner import uneven_words, unfinished_words
from billhook.analysis.report._diagram import diagram
from billhook.analysis.report._live import live
from billhook.analysis.report._methods import Look
from billhook.analysis.report._overview import overview, times_table, unfinished
from billhook.analysis.report._paper import beside_the_paper
from billhook.analysis.report._payload import payload
from billhook.analysis.report._study_report import StudyReport
from billhook.analysis.report._tables import (
    areas_table,
    below_tables,
    comparison_tables,
    p_text,
    shape_tables,
)
from billhook.html import count_text, render

PACKAGE = "billhook.analysis.report"
HEADINGS = {
    "wins-at": "Best method at each model size",
    "together": "Comparison over all data sets",
    "tables": "Scores of all methods",
    "shapes": "Accuracy by number of leaves and trees",
    "paper": "Comparison with the paper",
    "unfinished": "Runs without a result",
    "making": "About this study",
}


class StudySummary(NamedTuple):
    """A sentence with the name of the best method in its middle, if there is one."""

    start: str
    best: str
    end: str


class Tile(NamedTuple):
    """The winner below a memory cap; no look if no model is that small."""

    cap: float
    number: int
    look: Look | None
    words: str


def page(study: StudyReport, about: Mapping[str, Any]) -> str:
    """Return the page of a study as one piece of HTML."""
    content = payload(study)
    # Not every page has these.
    parts = {"shapes": shape_tables(study), "paper": beside_the_paper(study), "unfinished": unfinished(study)}
    return render(
        PACKAGE,
        "study.html",
        title=str(about.get("study") or "Study of pruning methods"),
        study=study,
        content=content,
        unfinished_words=unfinished_words(study, about),
        uneven_words=uneven_words(study),
        summary=_summary(study),
        tiles=[_tile(study, cap) for cap in study.caps],
        sections={name: heading for name, heading in HEADINGS.items() if parts.get(name, True)},
        live=live(study, content["stops"]),
        together_words=_together(study),
        diagram=None if study.comparison is None else diagram(study.comparison, study.looks),
        together=comparison_tables(study),
        score_tables=[areas_table(study), *below_tables(study)],
        overview=overview(study, about),
        times=times_table(study, about.get("seconds")),
        **parts,
    )


def _summary(study: StudyReport) -> StudySummary:
    """Return which method is best, in a sentence."""
    start = f"{count_text(len(study.methods), 'method')} on {count_text(len(study.data), 'data set')}."
    if study.comparison is None:
        return StudySummary(start, "", "")
    best = str(study.comparison.mean_ranks.index[0])
    pairs = study.comparison.pairs
    worse = pairs.loc[(pairs["first"] == best) & pairs["differs"], "second"]
    end = f" is best: mean rank {study.comparison.mean_ranks.iloc[0]:.2f} by the area under the Pareto front"
    if len(worse) == len(study.methods) - 1:
        end += ", significantly better than all others."
    elif worse.empty:
        end += ", though not significantly better than any other."
    else:
        others = [name for name in study.methods if name != best and name not in set(worse)]
        end += f", significantly better than all but {_listed(others)}."
    return StudySummary(f"{start} Over all sizes, ", best, end)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _tile(study: StudyReport, cap: float) -> Tile:
    """Return the winner below a cap: what most readers want to know."""
    scores = study.below[cap].reindex(columns=study.methods).to_numpy(np.float64).round(10)
    fitting = ~np.isnan(scores).all(axis=1)
    if not fitting.any():
        return Tile(cap, 0, None, "")
    known = scores[fitting]
    counts = (known == np.nanmax(known, axis=1, keepdims=True)).sum(axis=0)
    first, *others = (int(m) for m in np.argsort(-counts, kind="stable"))
    words = f"best on {counts[first]} of {fitting.sum()}"
    if others and counts[others[0]]:
        name, n_best = study.looks[others[0]].name, counts[others[0]]
        words += f", as is {name}" if n_best == counts[first] else f", then {name} on {n_best}"
    return Tile(cap, first, study.looks[first], words)


def _together(study: StudyReport) -> str:
    """Return how the methods were compared, or why they were not."""
    comparison = study.comparison
    if comparison is None:
        return f"No statistical test: {study.obstacle}."
    test = (
        f" Friedman test: statistic {comparison.friedman_statistic:.2f}, p {p_text(comparison.friedman_p)}."
        if not np.isnan(comparison.friedman_p)
        else ""
    )
    left = (
        f" Left out because a method has no area there: {', '.join(comparison.left_out)}."
        if comparison.left_out
        else ""
    )
    return (
        f"Mean rank by the area under the Pareto front on {count_text(comparison.n_data, 'data set')}; 1 is best, on "
        f"the left. Bars join methods that do not differ significantly (at {comparison.alpha:g}).{test}{left}"
    )
