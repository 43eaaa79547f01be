"""Fewer trees: every published method of ensemble pruning."""

from billhook.pruning._choice import Chosen, PruningChoice
from billhook.pruning._judged import Judged, judge
from billhook.pruning._methods import (
    PruningGain,
    PruningMethod,
    choose,
    prune,
    pruning_choice,
    pruning_gain,
    pruning_methods,
    pruning_order,
)

__all__ = [
    "Chosen",
    "Judged",
    "PruningChoice",
    "PruningGain",
    "PruningMethod",
    "choose",
    "judge",
    "prune",
    "pruning_choice",
    "pruning_gain",
    "pruning_methods",
    "pruning_order",
]
