"""scikit-learn's fitted tree ensembles."""

from billhook.interop.sklearn._read import read
from billhook.interop.sklearn._write import write

__all__ = [
    "read",
    "write",
]
