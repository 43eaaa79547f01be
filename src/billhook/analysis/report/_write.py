from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from billhook._files import atomic_write
from billhook.analysis._caps import CAPS, checked_caps
from billhook.analysis.report._page import page
from billhook.analysis.report._study_report import study_of

if TYPE_CHECKING:
    import pandas as pd


def write_report(
    results: "pd.DataFrame",
    path: str | PathLike[str],
    *,
    about: Mapping[str, Any] | None = None,
    size: str = "paper",
    caps: Iterable[float] = CAPS,
) -> Path:
    """Write the page of a study, one HTML file that opens without a network, and return its path.

    Parameters
    ----------
    results : DataFrame
        One row per run.
    path : path of a file
        Its folder must exist; a file of this name is replaced.
    about : mapping, optional
        What the results do not say. `study` is the title; `seconds`, by data set and method, replaces the sums of the
        runs' own times; `counts` is the number of runs by status, if the table lacks some; `runs` is the number of
        runs that were planned, and a page with fewer says that it is unfinished. Everything else, such as `machine`
        or `versions`, is shown as it is.
    size : {"paper", "as_published", "packed"}
        How bytes are counted.
    caps : numbers
        The memory caps in KB, 1 to 8 in ascending order, of the tables and of the winners at the top. The slider
        stops at all of them, and starts at the middle one.
    """
    if about is not None and not isinstance(about, Mapping):
        raise TypeError(f"about must be a mapping, not {type(about).__name__}")
    html = page(study_of(results, size, checked_caps(caps)), about or {})
    with atomic_write(path) as file:
        file.write(html.encode("utf-8", "replace"))  # half a surrogate pair has no place in a file
    return Path(path)
