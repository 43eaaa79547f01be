"""The study's numbers beside those that the paper prints."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from billhook.analysis._configurations import BOOSTING, configurations
from billhook.analysis._fronts import areas, best_below
from billhook.analysis._published import published
from billhook.analysis._shape import by_shape
from billhook.analysis.report._study import Study
from billhook.analysis.report._tables import NONE, titled
from billhook.html import count_text, head, minus, number_head, table

if TYPE_CHECKING:
    import pandas as pd

# Differences of so many points, or more, have the full colour.
FULL = 3.0
# What its tables are of.
BASES = ("random_forest", BOOSTING)
# What is wrong with the paper's own numbers.
DOUBTFUL = {"CA": "the paper reports an error in its code", "DREP": "its second stage never ran in the paper's code"}


def beside_the_paper(study: Study) -> str:
    """Return the tables that the paper has too, with the differences coloured."""
    results = study.results[study.results["base"].isin(BASES) & (study.results["status"] == "done")]
    has_billed = "size_published" in results and results["size_published"].notna().any()
    size = "as_published" if has_billed else study.size
    if results.empty:
        return ""
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
            ("paper-eeg", "eeg by leaves and trees", by_shape(ours, "eeg"), published("eeg_accuracy_by_n_l_and_K"))
        )
    found = "".join(_beside(*pair, study=study) for pair in pairs)
    if not found:
        return ""
    sizes = "Sizes are counted as the paper's tables were billed." if size == "as_published" else ""
    doubts = "; ".join(f"{name}: {why}" for name, why in DOUBTFUL.items() if name in study.methods)
    doubts = f" Of the paper's numbers some are not to be met ({doubts})." if doubts else ""
    about = (
        f"This study's number, and by how many points it is above or below the one the paper prints. {sizes}{doubts}"
    )
    return f'<p class="aside">{escape(about)}</p>{found}'


def _beside(name: str, heading: str, ours: "pd.DataFrame", theirs: "pd.DataFrame", *, study: Study) -> str:
    """Return a table of what is in both; a point is a hundredth."""
    rows = ours.index.intersection(theirs.index, sort=False)
    known = set(ours.columns) & set(theirs.columns)
    columns = [name for name in (method.removeprefix("random_forest ") for method in study.methods) if name in known]
    mine = 100 * ours.reindex(index=rows, columns=columns).to_numpy(np.float64)
    gaps = mine - 100 * theirs.reindex(index=rows, columns=columns).to_numpy(np.float64)
    both = gaps[~np.isnan(gaps)]
    if not both.size:
        return ""
    heads = [
        head("leaves \N{MULTIPLICATION SIGN} trees" if rows.nlevels > 1 else "data set"),
        *map(number_head, columns),
    ]
    lines = [
        f'<tr><th scope="row">{escape(_name(row))}</th>{"".join(map(_cell, numbers, differences))}</tr>'
        for row, numbers, differences in zip(rows, mine, gaps, strict=True)
    ]
    about = (
        f"{count_text(both.size, 'number')} in both: on average {minus(f'{both.mean():+.2f}')} points, "
        f"half of them within {np.median(np.abs(both)):.2f}."
    )
    return titled(name, heading, table(name, heads, lines), about)


def _name(row: object) -> str:
    return " \N{MULTIPLICATION SIGN} ".join(map(str, row)) if isinstance(row, tuple) else str(row)


def _cell(number: float, gap: float) -> str:
    if np.isnan(number):
        return f'<td class="number none">{NONE}</td>'
    if np.isnan(gap):
        return f'<td class="number">{number:.2f}</td>'
    gap = round(gap, 2) + 0.0  # no minus at zero
    kind = " gain" if gap > 0 else " loss" if gap < 0 else ""
    depth = min(abs(gap) / FULL, 1.0)
    return (
        f'<td class="number{kind}" style="--depth:{depth:.2f}">{number:.2f}<small>{minus(f"{gap:+.2f}")}</small></td>'
    )
