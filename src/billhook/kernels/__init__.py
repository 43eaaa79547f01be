"""Plain loops on flat arrays; the only place that knows how they are compiled."""

from billhook.kernels._coordinate_descent import (
    descend_many,
    descend_one,
    step_tree,
    sweep_many,
    sweep_one,
)
from billhook.kernels._descent_setup import (
    add_leaf_values,
    reached_leaves,
)
from billhook.kernels._native import (
    Walker,
    average_upwards,
    choose_entries,
    choose_winners,
    find_nearest,
    has_missing,
    k_means,
    lay_out,
    leaf_ids_plainly,
    move_entries,
    rank_best_first,
    softmax,
    sum_values_plainly,
)
from billhook.kernels._pruning import (
    add_tree,
    best_addition,
    improve_by_swaps,
    largest_area,
    sum_by_leaf_and_class,
    sum_of_products,
    weigh_matches,
)
from billhook.kernels._sgd import (
    sgd_epoch,
    shuffle,
)

__all__ = [
    "Walker",
    "add_leaf_values",
    "add_tree",
    "average_upwards",
    "best_addition",
    "choose_entries",
    "choose_winners",
    "descend_many",
    "descend_one",
    "find_nearest",
    "has_missing",
    "improve_by_swaps",
    "k_means",
    "largest_area",
    "lay_out",
    "leaf_ids_plainly",
    "move_entries",
    "rank_best_first",
    "reached_leaves",
    "sgd_epoch",
    "shuffle",
    "softmax",
    "step_tree",
    "sum_by_leaf_and_class",
    "sum_of_products",
    "sum_values_plainly",
    "sweep_many",
    "sweep_one",
    "weigh_matches",
]
