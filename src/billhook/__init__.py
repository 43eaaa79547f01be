"""Shrinks tree ensembles to fit.

>>> import billhook as bh
>>> bh.__version__
'0.1.0'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from billhook._files import ModelFileError
from billhook.codegen import DoesNotFitError, Measurement, MissingToolError, Target, emit, measure, targets
from billhook.forest import Forest
from billhook.interop import as_forest, to_estimator
from billhook.packing import Packed, PackReport, load, pack, pack_report
from billhook.pruning import (
    PruningGain,
    PruningMethod,
    PruningReport,
    prune,
    pruning_gain,
    pruning_methods,
    pruning_order,
)
from billhook.refinement import MergePasses, MergeReport, RefinementReport, merge, refine

if TYPE_CHECKING:
    from billhook import analysis, datasets, study
    from billhook.estimators import (
        CompactForestClassifier,
        CompactForestRegressor,
        PrunedForestClassifier,
        PrunedForestRegressor,
        RefinedForestClassifier,
        RefinedForestRegressor,
    )

__version__ = "0.1.0"
PARTS = ("analysis", "datasets", "study")

__all__ = [
    "CompactForestClassifier",
    "CompactForestRegressor",
    "DoesNotFitError",
    "Forest",
    "Measurement",
    "MergePasses",
    "MergeReport",
    "MissingToolError",
    "ModelFileError",
    "PackReport",
    "Packed",
    "PrunedForestClassifier",
    "PrunedForestRegressor",
    "PruningGain",
    "PruningMethod",
    "PruningReport",
    "RefinedForestClassifier",
    "RefinedForestRegressor",
    "RefinementReport",
    "Target",
    "analysis",
    "as_forest",
    "datasets",
    "emit",
    "load",
    "measure",
    "merge",
    "pack",
    "pack_report",
    "prune",
    "pruning_gain",
    "pruning_methods",
    "pruning_order",
    "refine",
    "study",
    "targets",
    "to_estimator",
]


def __getattr__(name: str) -> Any:
    """Import the parts that not everyone needs, and with them scikit-learn, when they are asked for."""
    if name in PARTS:
        return import_module(f"billhook.{name}")
    if name in __all__:
        return getattr(import_module("billhook.estimators"), name)
    raise AttributeError(f"module 'billhook' has no attribute {name!r}")
