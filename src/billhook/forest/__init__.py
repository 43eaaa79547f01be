"""One flat, frozen set of arrays for any tree ensemble."""

from billhook.forest._container import Contents, ModelFileError, read_container, write_container
from billhook.forest._forest import Forest, same
from billhook.forest._interruption import is_interruption
from billhook.forest._labels import as_targets, as_weights
from billhook.forest._load import forest_from, labels_from_json, load
from billhook.forest._look_up import look_up
from billhook.forest._replacing import replacing
from billhook.forest._rows import as_rows, round_down
from billhook.forest._save import labels_to_json
from billhook.forest._truncate import as_int, at_least_one, constant_trees, cut_back, drop, without_constants

__all__ = [
    "Contents",
    "Forest",
    "ModelFileError",
    "as_int",
    "as_rows",
    "as_targets",
    "as_weights",
    "at_least_one",
    "constant_trees",
    "cut_back",
    "drop",
    "forest_from",
    "is_interruption",
    "labels_from_json",
    "labels_to_json",
    "load",
    "look_up",
    "read_container",
    "replacing",
    "round_down",
    "same",
    "without_constants",
    "write_container",
]
