"""Tables of scores, ranks and tests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from billhook.analysis._scores import rank, wins
from billhook.analysis._shape import by_shape
from billhook.analysis.report._study_report import StudyReport
from billhook.html import Cell, Head, PageTable, TableRow, minus, number_heads

if TYPE_CHECKING:
    import pandas as pd

NONE = "\N{EN DASH}"


class TitledTable(NamedTuple):
    """A table with a heading of its own, and a word on it."""

    heading: str
    table: PageTable
    about: str = ""


def areas_table(study: StudyReport) -> TitledTable:
    """Return the areas under the fronts."""
    return TitledTable(
        "Area under the Pareto front",
        scores_table("areas", study.areas, study, digits=4, factor=1.0),
        "Mean accuracy over all model sizes up to the largest forest of the data set; larger is better.",
    )


def below_tables(study: StudyReport) -> list[TitledTable]:
    """Return the best accuracies below each of the caps."""
    return [
        TitledTable(
            f"Best accuracy below {cap} KB",
            scores_table(f"below-{cap}", scores, study, digits=2, factor=100.0),
            f"In percent; a dash where a method has no model of at most {cap} KB.",
        )
        for cap, scores in study.below.items()
    ]


def scores_table(name: str, scores: "pd.DataFrame", study: StudyReport, *, digits: int, factor: float) -> PageTable:
    """Return scores of methods by data set, the best of each in bold, and on how many each method is best."""
    scores = scores.reindex(index=study.data, columns=study.methods)
    values = np.round(scores.to_numpy(np.float64) * factor, 10)
    best = values == np.nanmax(np.where(np.isnan(values), -np.inf, values), axis=1, keepdims=True)
    rows = [
        TableRow([Head(data)], _cells(row, is_best, digits))
        for data, row, is_best in zip(study.data, values, best, strict=True)
    ]
    rows.append(TableRow([Head("best on")], _cells(best.sum(axis=0), (), 0), "total"))
    return PageTable(name, [Head("data set"), *number_heads(study.methods)], rows)


def comparison_tables(study: StudyReport) -> list[TitledTable]:
    """Return the ranks, the wins and the tests of the methods, as far as there are some."""
    return [*_ranks_table(study), *_wins_table(study), *_pairs_table(study)]


def _ranks_table(study: StudyReport) -> list[TitledTable]:
    """Return ranks by area, with their means."""
    if study.comparison is None:
        return []
    ranks = rank(study.areas).reindex(columns=study.methods)
    rows = [
        TableRow([Head(str(data))], _cells(row, row == row.min(), 1))
        for data, row in zip(ranks.index, ranks.to_numpy(), strict=True)
    ]
    rows.append(TableRow([Head("mean")], _cells(ranks.mean().to_numpy(), (), 2), "total"))
    table = PageTable("ranks", [Head("data set"), *number_heads(study.methods)], rows)
    return [TitledTable("Ranks by area", table, "1 is best; ties share the mean of their ranks.")]


def _wins_table(study: StudyReport) -> list[TitledTable]:
    """Return wins, ties and losses of each method against each."""
    if len(study.methods) < 2:
        return []
    counts = wins(study.areas).reindex(index=study.methods, columns=study.methods)
    rows = [
        TableRow([Head(str(name))], [_win_cell(cell) for cell in row])
        for name, row in zip(counts.index, counts.to_numpy(), strict=True)
    ]
    table = PageTable("wins", [Head("row against column"), *number_heads(study.methods)], rows)
    about = (
        "On how many data sets the area of the row's method is larger than, equal to and smaller than the column's."
    )
    return [TitledTable("Wins, ties and losses", table, about)]


def _pairs_table(study: StudyReport) -> list[TitledTable]:
    """Return the tests of all pairs, the clearest difference first."""
    if study.comparison is None:
        return []
    pairs = study.comparison.pairs.sort_values(["p_holm", "p"], kind="stable")
    heads = [Head("better"), Head("worse"), *number_heads(["p", "p (Holm)"]), Head("significant")]
    rows = [
        TableRow(
            [Head(pair.first)],
            [
                Cell(pair.second),
                Cell(p_text(pair.p), "number"),
                Cell(p_text(pair.p_holm), "number"),
                Cell("yes", "yes") if pair.differs else Cell("no", "none"),
            ],
        )
        for pair in pairs.itertuples(index=False)
    ]
    about = (
        "Two-sided Wilcoxon signed-rank test of the areas, with Holm's correction for multiple comparisons. "
        "The method with the better mean rank comes first."
    )
    return [TitledTable("Pairwise tests", PageTable("pairs", heads, rows), about)]


def shape_tables(study: StudyReport) -> dict[str, PageTable]:
    """Return accuracies by leaves and trees of every data set that has both numbers."""
    tables = {}
    for number, data in enumerate(study.data):
        try:
            scores = by_shape(study.table, data)
        except ValueError:  # no configuration with both numbers
            continue
        ordered = scores.reindex(columns=[m for m in study.methods if m in scores])
        tables[data] = _shape_table(f"shape-{number}", ordered)
    return tables


def _shape_table(name: str, scores: "pd.DataFrame") -> PageTable:
    values = np.round(100 * scores.to_numpy(np.float64), 10)
    best = values == np.nanmax(values, axis=1, keepdims=True)
    rows = [
        TableRow(number_heads([str(leaves), str(trees)]), _cells(row, is_best, 2))
        for (leaves, trees), row, is_best in zip(scores.index, values, best, strict=True)
    ]
    return PageTable(name, number_heads(["leaves", "trees", *map(str, scores.columns)]), rows)


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


def _win_cell(cell: str) -> Cell:
    if not cell:
        return Cell("", "number none")
    won, tied, lost = (int(part) for part in cell.split("/"))
    kind = " gain" if won > lost else " loss" if won < lost else ""
    return Cell(cell, f"number{kind}", abs(won - lost) / max(won + tied + lost, 1))


def _cells(values: Sequence[Any] | Any, is_best: Sequence[bool] | Any, digits: int) -> list[Cell]:
    marks = is_best if len(is_best) else np.zeros(len(values), np.bool_)
    return [
        Cell(NONE, "number")
        if np.isnan(value)
        else Cell(minus(f"{value:.{digits}f}"), "number best" if mark else "number")
        for value, mark in zip(values, marks, strict=True)
    ]
