"""Shrinks tree ensembles to fit.

>>> import billhook as bh
>>> bh.__version__
'0.1.0'
"""

from billhook.forest import Forest, ModelFileError, load
from billhook.interop import as_forest, to_estimator
from billhook.pruning import PruningMethod, prune, pruning_methods, pruning_order

__version__ = "0.1.0"

__all__ = [
    "Forest",
    "ModelFileError",
    "PruningMethod",
    "as_forest",
    "load",
    "prune",
    "pruning_methods",
    "pruning_order",
    "to_estimator",
]
