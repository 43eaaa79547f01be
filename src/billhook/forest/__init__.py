"""One flat, frozen set of arrays for any tree ensemble."""

from billhook.forest._container import ModelFileError
from billhook.forest._forest import Forest
from billhook.forest._load import load
from billhook.forest._rows import round_down
from billhook.forest._truncate import as_int

__all__ = ["Forest", "ModelFileError", "as_int", "load", "round_down"]
