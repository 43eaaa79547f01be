"""The experimental study: what is to be compared, in a file; running it; the table of results."""

from billhook.study._data import load_source
from billhook.study._file import StudyFileError, read, shipped
from billhook.study._run import about, caps, results, run
from billhook.study._store import FILE, ResultsError
from billhook.study._study import Method, Source, Study

__all__ = [
    "FILE",
    "Method",
    "ResultsError",
    "Source",
    "Study",
    "StudyFileError",
    "about",
    "caps",
    "load_source",
    "read",
    "results",
    "run",
    "shipped",
]
