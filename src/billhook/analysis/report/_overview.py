"""What was run, how long it took, and which runs have no result."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from billhook.analysis._schema import DONE, SIZES, STATUSES
from billhook.analysis.report._banner import runs_to_be
from billhook.analysis.report._payload import option_text
from billhook.analysis.report._study_report import StudyReport
from billhook.analysis.report._tables import TitledTable
from billhook.html import Cell, Head, PageTable, TableRow, count_text, number_heads

if TYPE_CHECKING:
    import pandas as pd

MOST_GROUPS = 300
MOST_LETTERS = 400
# What is said elsewhere on the page.
SAID = ("study", "seconds", "counts")


class UnfinishedRuns(NamedTuple):
    """Runs that are not done, with a word on them and on those that are not listed."""

    about: str
    table: PageTable
    more: str


def overview(study: StudyReport, about: Mapping[str, Any]) -> dict[str, str]:
    """Return facts about the study: those counted in its results, and those of `about`."""
    results = study.runs
    counted = {
        "Runs": _counts(results, about.get("counts")),
        "Data sets": f"{len(study.data)}: {', '.join(study.data)}",
        "Methods": f"{len(study.methods)}: {', '.join(study.methods)}",
        "Configurations": f"{len(study.table):,}, on up to {count_text(int(study.table['n_folds'].max()), 'fold')}",
        "Leaves per tree": _values(results["n_leaves"]),
        "Trees": _values(results["n_trees"]),
        "Size of a model": SIZES[study.size].words,
    }
    said = (*SAID, "runs") if runs_to_be(about) is not None else SAID
    stated = {
        str(name).replace("_", " ").capitalize(): _words(fact) for name, fact in about.items() if name not in said
    }
    return counted | stated


def unfinished(study: StudyReport) -> UnfinishedRuns | None:
    """Return runs that are not done, those of one data set, method and reason together; None if all are done."""
    rows = study.runs[study.runs["status"] != DONE]
    if rows.empty:
        return None
    keys = ["data", "method", "status", "reason"]
    groups = list(rows.assign(reason=rows["reason"].fillna("")).groupby(keys, sort=True, dropna=False))
    groups.sort(key=lambda group: -len(group[1]))
    heads = [
        *map(Head, ("data set", "method", "status")),
        *number_heads(["runs"]),
        Head("reason"),
        Head("configurations"),
    ]
    table = PageTable("unfinished", heads, [_group(*key, rows=group) for key, group in groups[:MOST_GROUPS]])
    left = len(groups) - MOST_GROUPS
    return UnfinishedRuns(
        about=f"{len(rows):,} of {count_text(len(study.runs), 'run')}. A configuration that lacks folds is averaged "
        "over the others.",
        table=table,
        more=f"{count_text(left, 'more group')} with fewer runs not listed." if left > 0 else "",
    )


def _group(data: str, method: str, status: str, reason: str, *, rows: "pd.DataFrame") -> TableRow:
    parts = [
        f"leaves {_values(rows['n_leaves'])}",
        f"trees {_values(rows['n_trees'])}",
        f"folds {_values(rows['fold'])}",
    ]
    options = [option_text(text) for text in rows["options"].dropna().unique()]
    which = ", ".join([part for part in parts if not part.endswith(" ")] + [words for words in options[:8] if words])
    short = reason if len(reason) <= MOST_LETTERS else f"{reason[:MOST_LETTERS]} …"
    cells = [
        Cell(method),
        Cell(_status_text(status)),
        Cell(f"{len(rows):,}", "number"),
        Cell(short, "words"),
        Cell(which, "words"),
    ]
    return TableRow([Head(data)], cells)


def _status_text(status: str) -> str:
    """Return how a run ended, in words; a status that is not known as it is."""
    return STATUSES.get(status, status.replace("_", " "))


def _counts(results: "pd.DataFrame", by_status: Any) -> str:
    """Return how many runs ended with each status."""
    counts = by_status if isinstance(by_status, Mapping) else results["status"].value_counts().to_dict()
    parts = ", ".join(f"{number:,} {_status_text(str(status))}" for status, number in counts.items())
    return f"{sum(counts.values()):,}: {parts}"


def times_table(study: StudyReport, seconds_of: Any) -> TitledTable | None:
    """Return how long the methods took on each data set: as stated, or summed over the runs; None if unknown."""
    is_stated = isinstance(seconds_of, Mapping) and seconds_of
    if is_stated and all(isinstance(times, Mapping) for times in seconds_of.values()):
        times = {str(data): {str(m): float(s) for m, s in own.items()} for data, own in seconds_of.items()}
    else:
        sums = study.runs.dropna(subset=["seconds"]).groupby(["data", "method"])["seconds"].sum()
        times = {}
        for (data, method), seconds in sums.items():
            times.setdefault(str(data), {})[str(method)] = float(seconds)
    if not times:
        return None
    methods = _in_order({method for own in times.values() for method in own}, study.methods)
    heads = [Head("data set"), *number_heads([*methods, "all"])]
    lines = [_time_row(data, own, methods) for data, own in sorted(times.items())]
    sums_of = {method: sum(own.get(method, 0.0) for own in times.values()) for method in methods}
    lines.append(_time_row("all", sums_of, methods, kind="total"))
    about = "Total over all configurations and folds; runs in parallel count in full."
    return TitledTable("Run time", PageTable("times", heads, lines), about)


def _in_order(names: set[str], order: list[str]) -> list[str]:
    """Return the names in an order, those that it lacks at the end."""
    return [name for name in order if name in names] + sorted(names.difference(order))


def _time_row(name: str, times: Mapping[str, float], methods: Iterable[str], kind: str = "") -> TableRow:
    texts = [short_time(times[method]) if method in times else "" for method in methods]
    texts.append(short_time(sum(times.values())))
    return TableRow([Head(name)], [Cell(text, "number") for text in texts], kind)


def short_time(seconds: float) -> str:
    """Return a span of time in two or three digits.

    Examples
    --------
    >>> short_time(7.25), short_time(2466), short_time(25567)
    ('7.2 s', '41 min', '7.1 h')
    """
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            number = seconds / length
            return f"{number:,.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"
    return f"{seconds:.1f} s"


def _values(column: "pd.Series[Any]") -> str:
    """Return the different numbers of a column: all of a few, the ends of many."""
    values = sorted({int(value) for value in column.dropna()})
    if len(values) > 12:
        return f"{values[0]:,} to {values[-1]:,}"
    return ", ".join(map(str, values))


def _words(fact: Any) -> str:
    """Return any fact in words."""
    if isinstance(fact, Mapping):
        return ", ".join(f"{name} {_words(value)}" for name, value in fact.items())
    if isinstance(fact, (list, tuple, set, np.ndarray)):
        return ", ".join(map(_words, fact))
    return f"{fact:,.6g}" if isinstance(fact, float) else "" if fact is None else str(fact)
