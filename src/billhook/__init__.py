"""Shrinks tree ensembles to fit.

>>> import billhook as bh
>>> bh.__version__
'0.1.0'
"""

from billhook.forest import Forest, ModelFileError, load
from billhook.interop import as_forest, to_estimator

__version__ = "0.1.0"

__all__ = ["Forest", "ModelFileError", "as_forest", "load", "to_estimator"]
