"""The experimental study: what is to be compared, in a file; running it; the table of results."""

from billhook.study._file import StudyFileError, read, shipped
from billhook.study._run import about, results, run
from billhook.study._store import ResultsError
from billhook.study._study import Method, Source, Study

__all__ = [
    "Method",
    "ResultsError",
    "Source",
    "Study",
    "StudyFileError",
    "about",
    "read",
    "results",
    "run",
    "shipped",
]
