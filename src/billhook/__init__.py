"""Shrinks tree ensembles to fit.

>>> import billhook as bh
>>> bh.__version__
'0.1.0'
"""

from billhook.forest import Forest, ModelFileError, load
from billhook.interop import as_forest, to_estimator
from billhook.pruning import PruningGain, PruningMethod, prune, pruning_gain, pruning_methods, pruning_order

__version__ = "0.1.0"

__all__ = [
    "Forest",
    "ModelFileError",
    "PruningGain",
    "PruningMethod",
    "as_forest",
    "load",
    "prune",
    "pruning_gain",
    "pruning_methods",
    "pruning_order",
    "to_estimator",
]
