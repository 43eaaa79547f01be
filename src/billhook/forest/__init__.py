"""One flat, frozen set of arrays for any tree ensemble."""

from billhook.forest._container import ModelFileError
from billhook.forest._forest import Forest
from billhook.forest._labels import as_targets, as_weights
from billhook.forest._load import load
from billhook.forest._rows import as_rows, round_down
from billhook.forest._truncate import as_int, cut_back

__all__ = [
    "Forest",
    "ModelFileError",
    "as_int",
    "as_rows",
    "as_targets",
    "as_weights",
    "cut_back",
    "load",
    "round_down",
]
