"""What a reader should know before any number: which runs are missing."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from billhook.analysis.report._study_report import StudyReport

MOST_NAMES = 5


def unfinished_words(study: StudyReport, about: Mapping[str, Any]) -> str:
    """Return a sentence on how many runs are still to come; nothing if none are, or nobody knows."""
    there, to_be = runs_there(study, about), runs_to_be(about)
    if to_be is None or there >= to_be:
        return ""
    have = "has" if there == 1 else "have"
    return f"{there:,} of {to_be:,} runs {have} finished; all comparisons use these runs only."


def uneven_words(study: StudyReport) -> str:
    """Return a sentence on configurations that lack folds; nothing if none do."""
    n = len(study.uneven)
    if not n:
        return ""
    names = _first_names([name for name in study.data if name in set(study.uneven["data"])])
    lack, are = ("configuration lacks", "its mean is") if n == 1 else ("configurations lack", "their means are")
    return (
        f"{n:,} {lack} folds that others on the same data set have; {are} over fewer folds. "
        f"Affected data sets: {names}."
    )


def runs_there(study: StudyReport, about: Mapping[str, Any]) -> int:
    """Return how many runs have ended: as given by status, or as counted in the results."""
    counts = about.get("counts")
    return sum(counts.values()) if isinstance(counts, Mapping) else len(study.runs)


def runs_to_be(about: Mapping[str, Any]) -> int | None:
    """Return how many runs there are to be, if that is known."""
    runs = about.get("runs")
    return None if isinstance(runs, bool) or not isinstance(runs, Integral) else int(runs)


def _first_names(names: list[str]) -> str:
    """Return a few names, and how many more there are."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
