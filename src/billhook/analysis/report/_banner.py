"""What a reader is to know before any number: that runs are missing."""

from collections.abc import Mapping
from html import escape
from numbers import Integral
from typing import Any

from billhook.analysis.report._study import Study

MOST_NAMES = 5


def banner(study: Study, about: Mapping[str, Any]) -> str:
    """Return that the study is unfinished, and where configurations are compared by different folds; or nothing."""
    return _unfinished(runs_there(study, about), runs_to_be(about)) + _uneven(study)


def runs_there(study: Study, about: Mapping[str, Any]) -> int:
    """Return how many runs have ended: as given by status, or as counted in the results."""
    counts = about.get("counts")
    return sum(counts.values()) if isinstance(counts, Mapping) else len(study.runs)


def runs_to_be(about: Mapping[str, Any]) -> int | None:
    """Return how many runs there are to be, if that is known."""
    runs = about.get("runs")
    return None if isinstance(runs, bool) or not isinstance(runs, Integral) else int(runs)


def _unfinished(there: int, to_be: int | None) -> str:
    if to_be is None or there >= to_be:
        return ""
    return (
        f'<p class="banner" role="status"><strong>Unfinished:</strong> {there:,} of {to_be:,} runs '
        f"{'is' if there == 1 else 'are'} there; methods and data sets are compared by what is there.</p>\n"
    )


def _uneven(study: Study) -> str:
    n = len(study.uneven)
    if not n:
        return ""
    names = _some([name for name in study.data if name in set(study.uneven["data"])])
    lack, are = ("configuration lacks", "its mean is") if n == 1 else ("configurations lack", "their means are")
    return (
        f'<p class="banner uneven">{n:,} {lack} folds that others on the same data set have; {are} over fewer '
        f"folds. This is so on {escape(names)}.</p>\n"
    )


def _some(names: list[str]) -> str:
    """Return a few names, and how many more there are."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
