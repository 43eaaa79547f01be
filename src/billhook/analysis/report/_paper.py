"""The study's numbers compared with those of the paper."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from billhook.analysis._configurations import configurations
from billhook.analysis._fronts import areas, best_below
from billhook.analysis._published import published
from billhook.analysis._schema import BOOSTING, DONE, SIZES
from billhook.analysis._shape import by_shape
from billhook.analysis.report._study_report import StudyReport
from billhook.analysis.report._tables import NONE, TitledTable
from billhook.html import Cell, Head, PageTable, TableRow, count_text, minus, number_heads

if TYPE_CHECKING:
    import pandas as pd

# Differences of so many points, or more, have the full colour.
FULL = 3.0
# What its tables are of.
BASES = ("random_forest", BOOSTING)
# What is wrong with the paper's own numbers.
DOUBTFUL = {"CA": "the paper reports an error in its code", "DREP": "its second stage never ran in the paper's code"}


class BesideThePaper(NamedTuple):
    """The tables that the paper has too, and a word on them."""

    about: str
    tables: list[TitledTable]


def beside_the_paper(study: StudyReport) -> BesideThePaper | None:
    """Return the tables that the paper has too, with the differences coloured; nothing if it has none of them."""
    results = study.results[study.results["base"].isin(BASES) & (study.results["status"] == DONE)]
    billed = SIZES["as_published"].column
    has_billed = billed in results and results[billed].notna().any()
    size = "as_published" if has_billed else study.size
    if results.empty:
        return None
    ours = configurations(results, size=size)
    pairs = [
        ("paper-64", "Best accuracy below 64 KB", best_below(ours, 64), published("accuracy_below_64KB")),
        ("paper-256", "Best accuracy below 256 KB", best_below(ours, 256), published("accuracy_below_256KB")),
        ("paper-areas", "Area under the Pareto front", areas(ours), published("area_under_pareto_front")),
    ]
    if (
        "eeg" in set(ours["data"])
        and ours.loc[ours["data"] == "eeg", ["n_leaves", "n_trees"]].notna().all(axis=1).any()
    ):
        pairs.append(
            (
                "paper-eeg",
                "Accuracy on eeg by number of leaves and trees",
                by_shape(ours, "eeg"),
                published("eeg_accuracy_by_n_l_and_K"),
            )
        )
    tables = [table for pair in pairs if (table := _beside(*pair, study=study)) is not None]
    if not tables:
        return None
    sizes = " Sizes are counted as in the paper's tables." if size == "as_published" else ""
    doubts = "; ".join(f"{name}: {why}" for name, why in DOUBTFUL.items() if name in study.methods)
    doubts = f" Some of the paper's numbers cannot be reproduced ({doubts})." if doubts else ""
    about = (
        f"Each cell has this study's number and, behind it, the difference from the paper's in points.{sizes}{doubts}"
    )
    return BesideThePaper(about, tables)


def _beside(
    name: str, heading: str, ours: "pd.DataFrame", theirs: "pd.DataFrame", *, study: StudyReport
) -> TitledTable | None:
    """Return a table of what is in both; a point is a hundredth."""
    rows = ours.index.intersection(theirs.index, sort=False)
    known = set(ours.columns) & set(theirs.columns)
    columns = [name for name in (method.removeprefix("random_forest ") for method in study.methods) if name in known]
    mine = 100 * ours.reindex(index=rows, columns=columns).to_numpy(np.float64)
    gaps = mine - 100 * theirs.reindex(index=rows, columns=columns).to_numpy(np.float64)
    both = gaps[~np.isnan(gaps)]
    if not both.size:
        return None
    heads = [
        Head("leaves \N{MULTIPLICATION SIGN} trees" if rows.nlevels > 1 else "data set"),
        *number_heads(columns),
    ]
    lines = [
        TableRow([Head(_name(row))], [_cell(*pair) for pair in zip(numbers, differences, strict=True)])
        for row, numbers, differences in zip(rows, mine, gaps, strict=True)
    ]
    about = (
        f"{count_text(both.size, 'number')} in both: mean difference {minus(f'{both.mean():+.2f}')} points, "
        f"median absolute difference {np.median(np.abs(both)):.2f} points."
    )
    return TitledTable(heading, PageTable(name, heads, lines), about)


def _name(row: object) -> str:
    return " \N{MULTIPLICATION SIGN} ".join(map(str, row)) if isinstance(row, tuple) else str(row)


def _cell(number: float, gap: float) -> Cell:
    if np.isnan(number):
        return Cell(NONE, "number none")
    if np.isnan(gap):
        return Cell(f"{number:.2f}", "number")
    gap = round(gap, 2) + 0.0  # no minus at zero
    kind = " gain" if gap > 0 else " loss" if gap < 0 else ""
    return Cell(f"{number:.2f}", f"number{kind}", min(abs(gap) / FULL, 1.0), minus(f"{gap:+.2f}"))
