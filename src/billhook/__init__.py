"""Shrinks tree ensembles to fit.

>>> import billhook as bh
>>> bh.__version__
'0.1.0'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from billhook import analysis, datasets, study
    from billhook._files import ModelFileError
    from billhook.codegen import DoesNotFitError, Measurement, MissingToolError, Target, emit, measure, targets
    from billhook.estimators import (
        CompactForestClassifier,
        CompactForestRegressor,
        PrunedForestClassifier,
        PrunedForestRegressor,
        RefinedForestClassifier,
        RefinedForestRegressor,
    )
    from billhook.forest import Forest
    from billhook.interop import as_forest, to_estimator
    from billhook.packing import Packed, PackReport, load, pack, pack_report
    from billhook.pruning import (
        PruningChoice,
        PruningGain,
        PruningMethod,
        prune,
        pruning_choice,
        pruning_gain,
        pruning_methods,
        pruning_order,
    )
    from billhook.refinement import RefinementReport, merge, refine, refinement_report

__version__ = "0.1.0"
# Where the public names are, imported when they are first asked for: `import billhook` itself takes no time.
FOLDERS = {
    "codegen": ("DoesNotFitError", "Measurement", "MissingToolError", "Target", "emit", "measure", "targets"),
    "estimators": (
        "CompactForestClassifier",
        "CompactForestRegressor",
        "PrunedForestClassifier",
        "PrunedForestRegressor",
        "RefinedForestClassifier",
        "RefinedForestRegressor",
    ),
    "_files": ("ModelFileError",),
    "forest": ("Forest",),
    "interop": ("as_forest", "to_estimator"),
    "packing": ("PackReport", "Packed", "load", "pack", "pack_report"),
    "pruning": (
        "PruningChoice",
        "PruningGain",
        "PruningMethod",
        "prune",
        "pruning_choice",
        "pruning_gain",
        "pruning_methods",
        "pruning_order",
    ),
    "refinement": ("RefinementReport", "merge", "refine", "refinement_report"),
}
PARTS = ("analysis", "datasets", "study")

__all__ = [
    "CompactForestClassifier",
    "CompactForestRegressor",
    "DoesNotFitError",
    "Forest",
    "Measurement",
    "MissingToolError",
    "ModelFileError",
    "PackReport",
    "Packed",
    "PrunedForestClassifier",
    "PrunedForestRegressor",
    "PruningChoice",
    "PruningGain",
    "PruningMethod",
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
    "pruning_choice",
    "pruning_gain",
    "pruning_methods",
    "pruning_order",
    "refine",
    "refinement_report",
    "study",
    "targets",
    "to_estimator",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for, and with it what it needs: not everyone needs scikit-learn, or pandas."""
    if name in PARTS:
        return import_module(f"billhook.{name}")
    for folder, names in FOLDERS.items():
        if name in names:
            found = getattr(import_module(f"billhook.{folder}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'billhook' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
