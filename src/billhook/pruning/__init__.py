"""Fewer trees: every published method of ensemble pruning."""

from billhook.pruning._choice import PruningChoice
from billhook.pruning._methods import (
    PruningGain,
    PruningMethod,
    prune,
    pruning_choice,
    pruning_gain,
    pruning_methods,
    pruning_order,
)

__all__ = [
    "PruningChoice",
    "PruningGain",
    "PruningMethod",
    "prune",
    "pruning_choice",
    "pruning_gain",
    "pruning_methods",
    "pruning_order",
]
