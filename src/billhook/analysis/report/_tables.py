"""Tables of scores, ranks and tests."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from billhook.analysis._scores import rank, wins
from billhook.analysis._shape import by_shape
from billhook.analysis.report._study import Study
from billhook.html import head, minus, number_head, table

if TYPE_CHECKING:
    import pandas as pd

NONE = "\N{EN DASH}"


def titled(name: str, heading: str, content: str, about: str = "") -> str:
    """Return a table with a heading of its own, and a word on it."""
    words = f'<p class="aside">{escape(about)}</p>' if about else ""
    return f'<h3 id="{name}-heading">{escape(heading)}</h3>\n{words}{content}\n'


def areas_table(study: Study) -> str:
    """Return the areas under the fronts."""
    return titled(
        "areas",
        "Area under the Pareto front",
        scores_table("areas", study.areas, study, digits=4, factor=1.0),
        "Accuracy on average over all sizes up to the largest forest of the data set; larger is better.",
    )


def below_tables(study: Study) -> str:
    """Return the best accuracies below each of the caps."""
    return "".join(
        titled(
            f"below-{cap}",
            f"Best accuracy below {cap} KB",
            scores_table(f"below-{cap}", scores, study, digits=2, factor=100.0),
            f"Percent; a dash where a method has no model of at most {cap} KB.",
        )
        for cap, scores in study.below.items()
    )


def scores_table(name: str, scores: "pd.DataFrame", study: Study, *, digits: int, factor: float) -> str:
    """Return scores of methods by data set, the best of each in bold, and on how many each method is best."""
    scores = scores.reindex(index=study.data, columns=study.methods)
    values = np.round(scores.to_numpy(np.float64) * factor, 10)
    best = values == np.nanmax(np.where(np.isnan(values), -np.inf, values), axis=1, keepdims=True)
    heads = [head("data set"), *(number_head(method) for method in study.methods)]
    rows = [
        f'<tr><th scope="row">{escape(data)}</th>{_cells(row, is_best, digits)}</tr>'
        for data, row, is_best in zip(study.data, values, best, strict=True)
    ]
    rows.append(f'<tr class="total"><th scope="row">best on</th>{_cells(best.sum(axis=0), (), 0)}</tr>')
    return table(name, heads, rows)


def ranks_table(study: Study) -> str:
    """Return ranks by area, with their means."""
    if study.comparison is None:
        return ""
    ranks = rank(study.areas).reindex(columns=study.methods)
    heads = [head("data set"), *(number_head(method) for method in study.methods)]
    rows = [
        f'<tr><th scope="row">{escape(str(data))}</th>{_cells(row, row == row.min(), 1)}</tr>'
        for data, row in zip(ranks.index, ranks.to_numpy(), strict=True)
    ]
    rows.append(f'<tr class="total"><th scope="row">mean</th>{_cells(ranks.mean().to_numpy(), (), 2)}</tr>')
    return titled("ranks", "Ranks by area", table("ranks", heads, rows), "1 is best; equal areas share their ranks.")


def pairs_table(study: Study) -> str:
    """Return the tests of all pairs, the clearest difference first."""
    if study.comparison is None:
        return ""
    pairs = study.comparison.pairs.sort_values(["p_holm", "p"], kind="stable")
    heads = (head("better"), head("worse"), number_head("p"), number_head("p, corrected"), head("they differ"))
    rows = [
        f'<tr><th scope="row">{escape(pair.first)}</th><td>{escape(pair.second)}</td>'
        f'<td class="number">{p_text(pair.p)}</td><td class="number">{p_text(pair.p_holm)}</td>'
        f'<td class="{"yes" if pair.differs else "none"}">{"yes" if pair.differs else "not shown"}</td></tr>'
        for pair in pairs.itertuples(index=False)
    ]
    about = (
        "Wilcoxon's signed-rank test of the areas, two-sided, with Holm's correction for the number of pairs. "
        "The method of the better mean rank comes first."
    )
    return titled("pairs", "Pairwise tests", table("pairs", heads, rows), about)


def wins_table(study: Study) -> str:
    """Return wins, ties and losses of each method against each."""
    if len(study.methods) < 2:
        return ""
    counts = wins(study.areas).reindex(index=study.methods, columns=study.methods)
    heads = [head("row against column"), *(number_head(method) for method in study.methods)]
    rows = [
        f'<tr><th scope="row">{escape(name)}</th>{"".join(_win_cell(cell) for cell in row)}</tr>'
        for name, row in zip(counts.index, counts.to_numpy(), strict=True)
    ]
    about = "Data sets on which the area of the method in the line is larger, equal and smaller."
    return titled("wins", "Wins, ties and losses", table("wins", heads, rows), about)


def shape_tables(study: Study) -> str:
    """Return accuracies by leaves and trees, folded up, for every data set that has both numbers."""
    found = []
    for number, data in enumerate(study.data):
        try:
            scores = by_shape(study.table, data)
        except ValueError:  # no configuration with both numbers
            continue
        content = _shape_table(f"shape-{number}", scores.reindex(columns=[m for m in study.methods if m in scores]))
        found.append(f'<details><summary id="shape-{number}-heading">{escape(data)}</summary>\n{content}</details>\n')
    if not found:
        return ""
    about = "Percent; of several configurations of one shape the best. The best method of a line is in bold."
    return f'<p class="aside">{about}</p>{"".join(found)}'


def _shape_table(name: str, scores: "pd.DataFrame") -> str:
    heads = [number_head("leaves"), number_head("trees"), *(number_head(str(method)) for method in scores.columns)]
    values = np.round(100 * scores.to_numpy(np.float64), 10)
    best = values == np.nanmax(values, axis=1, keepdims=True)
    rows = [
        f'<tr><th scope="row" class="number">{leaves}</th><th scope="row" class="number">{trees}</th>'
        f"{_cells(row, is_best, 2)}</tr>"
        for (leaves, trees), row, is_best in zip(scores.index, values, best, strict=True)
    ]
    return table(name, heads, rows)


def p_text(p: float) -> str:
    """Return a p-value as one would print it.

    Examples
    --------
    >>> p_text(0.03456), p_text(0.00001)
    ('0.035', '< 0.0001')
    """
    if np.isnan(p):
        return NONE
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.995 else "1"


def _win_cell(cell: str) -> str:
    if not cell:
        return '<td class="number none"></td>'
    won, _, lost = (int(part) for part in cell.split("/"))
    kind = " gain" if won > lost else " loss" if won < lost else ""
    depth = abs(won - lost) / max(sum(int(part) for part in cell.split("/")), 1)
    return f'<td class="number{kind}" style="--depth:{depth:.2f}">{cell}</td>'


def _cells(values: Sequence[Any] | Any, is_best: Sequence[bool] | Any, digits: int) -> str:
    marks = is_best if len(is_best) else np.zeros(len(values), np.bool_)
    return "".join(
        f'<td class="number">{NONE}</td>'
        if np.isnan(value)
        else f'<td class="number{" best" if mark else ""}">{minus(f"{value:.{digits}f}")}</td>'
        for value, mark in zip(values, marks, strict=True)
    )
