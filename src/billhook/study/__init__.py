"""The experimental study: what is to be compared, in a file; running it; the table of results."""

from billhook.study._data import load_source
from billhook.study._file import StudyFileError, read, shipped
from billhook.study._published_size import published_size
from billhook.study._run import about, caps, results, run
from billhook.study._store import FILE, ResultsError
from billhook.study._study import DataSource, Method, Study

__all__ = [
    "FILE",
    "DataSource",
    "Method",
    "ResultsError",
    "Study",
    "StudyFileError",
    "about",
    "caps",
    "load_source",
    "published_size",
    "read",
    "results",
    "run",
    "shipped",
]
