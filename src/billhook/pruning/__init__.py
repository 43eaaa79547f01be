"""Fewer trees: every published method of ensemble pruning."""

from billhook.pruning._methods import PruningMethod, prune, pruning_methods, pruning_order

__all__ = ["PruningMethod", "prune", "pruning_methods", "pruning_order"]
