"""Plain loops on flat arrays; the only place that knows how they are compiled."""

from billhook.kernels._codebook import choose_entries, move_entries
from billhook.kernels._forest_fallback import leaf_ids_plainly, sum_values_plainly
from billhook.kernels._forest_layout import lay_out
from billhook.kernels._forest_walk import Tables, leaf_ids, leaf_ids_of_few, sum_values, sum_values_of_few
from billhook.kernels._native import (
    average_upwards,
    descend_many,
    descend_one,
    find_reached,
    find_states,
    rank_best_first,
    renumber_leaves,
    row_losses_many,
    row_losses_one,
    step_tree,
    sweep_many,
    sweep_one,
    total_loss_many,
    total_loss_one,
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
from billhook.kernels._sgd import sgd_epoch, shuffle

__all__ = [
    "Tables",
    "add_tree",
    "average_upwards",
    "best_addition",
    "choose_entries",
    "descend_many",
    "descend_one",
    "find_reached",
    "find_states",
    "improve_by_swaps",
    "largest_area",
    "lay_out",
    "leaf_ids",
    "leaf_ids_of_few",
    "leaf_ids_plainly",
    "move_entries",
    "rank_best_first",
    "renumber_leaves",
    "row_losses_many",
    "row_losses_one",
    "sgd_epoch",
    "shuffle",
    "step_tree",
    "sum_by_leaf_and_class",
    "sum_of_products",
    "sum_values",
    "sum_values_of_few",
    "sum_values_plainly",
    "sweep_many",
    "sweep_one",
    "total_loss_many",
    "total_loss_one",
    "weigh_matches",
]
