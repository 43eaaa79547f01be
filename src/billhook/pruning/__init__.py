"""Fewer trees: every published method of ensemble pruning."""

from billhook.pruning._evaluation import EvaluatedTrees, evaluate_trees
from billhook.pruning._methods import PruningMethod, pruning_methods, select_trees
from billhook.pruning._prune import PruningGain, prune, pruning_gain, pruning_order
from billhook.pruning._selection import PruningReport, Selection

__all__ = [
    "EvaluatedTrees",
    "PruningGain",
    "PruningMethod",
    "PruningReport",
    "Selection",
    "evaluate_trees",
    "prune",
    "pruning_gain",
    "pruning_methods",
    "pruning_order",
    "select_trees",
]
