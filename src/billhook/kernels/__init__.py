"""Plain loops on flat arrays; the only place that knows how they are compiled."""

from billhook.kernels._codebook import choose_entries, move_entries
from billhook.kernels._coordinate_descent import descend_many, descend_one, step_tree, sweep_many, sweep_one
from billhook.kernels._descent_setup import add_leaf_values, reached_leaves
from billhook.kernels._forest_fallback import leaf_ids_plainly, sum_values_plainly
from billhook.kernels._forest_layout import lay_out
from billhook.kernels._forest_walk import Tables, leaf_ids, leaf_ids_of_few, sum_values, sum_values_of_few
from billhook.kernels._native import (
    add_tree,
    add_weighted_trees,
    average_upwards,
    best_addition,
    count_votes,
    find_votes,
    improve_by_swaps,
    largest_area,
    rank_best_first,
    residual_products,
    sgd_epoch,
    shuffle,
    slopes_of_trees,
    sum_by_leaf_and_class,
    sum_by_vote,
    sum_of_products,
    weigh_agreement,
    weigh_matches,
)

__all__ = [
    "Tables",
    "add_leaf_values",
    "add_tree",
    "add_weighted_trees",
    "average_upwards",
    "best_addition",
    "choose_entries",
    "count_votes",
    "descend_many",
    "descend_one",
    "find_votes",
    "improve_by_swaps",
    "largest_area",
    "lay_out",
    "leaf_ids",
    "leaf_ids_of_few",
    "leaf_ids_plainly",
    "move_entries",
    "rank_best_first",
    "reached_leaves",
    "residual_products",
    "sgd_epoch",
    "shuffle",
    "slopes_of_trees",
    "step_tree",
    "sum_by_leaf_and_class",
    "sum_by_vote",
    "sum_of_products",
    "sum_values",
    "sum_values_of_few",
    "sum_values_plainly",
    "sweep_many",
    "sweep_one",
    "weigh_agreement",
    "weigh_matches",
]
