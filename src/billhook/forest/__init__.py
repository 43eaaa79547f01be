"""One flat, frozen set of arrays for any tree ensemble."""

from billhook.forest._check import check_encoding, hand_over
from billhook.forest._derive import derive
from billhook.forest._forest import Forest, same
from billhook.forest._labels import as_targets, as_weights
from billhook.forest._load import forest_from, labels_from_json
from billhook.forest._predict import outlier_probability
from billhook.forest._repr import count_of, prediction_of
from billhook.forest._rows import as_rows
from billhook.forest._save import labels_to_json
from billhook.forest._sets import BITS, MAX_CATEGORIES, CategorySets, categories_of, pool_sets
from billhook.forest._truncate import constant_trees, cut_back, drop, without_constants
from billhook.tables import round_down

__all__ = [
    "BITS",
    "MAX_CATEGORIES",
    "CategorySets",
    "Forest",
    "as_rows",
    "as_targets",
    "as_weights",
    "categories_of",
    "check_encoding",
    "constant_trees",
    "count_of",
    "cut_back",
    "derive",
    "drop",
    "forest_from",
    "hand_over",
    "labels_from_json",
    "labels_to_json",
    "outlier_probability",
    "pool_sets",
    "prediction_of",
    "round_down",
    "same",
    "without_constants",
]
