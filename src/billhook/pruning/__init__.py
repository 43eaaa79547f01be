"""Fewer trees: every published method of ensemble pruning."""

from billhook.pruning._methods import (
    PruningGain,
    PruningMethod,
    choose_trees,
    prune,
    pruning_gain,
    pruning_methods,
    pruning_order,
)

__all__ = [
    "PruningGain",
    "PruningMethod",
    "choose_trees",
    "prune",
    "pruning_gain",
    "pruning_methods",
    "pruning_order",
]
