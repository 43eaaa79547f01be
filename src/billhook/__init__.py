"""Shrinks tree ensembles to fit.

>>> import billhook as bh
>>> bh.__version__
'0.2.0'
"""

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from billhook import analysis, datasets, study, tables
    from billhook._files import ModelFileError
    from billhook.budget import FitReport, FitResult, TooSmallError, fit_table, resume_fit
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
    from billhook.inspection import (
        ModelDescription,
        TablePredictions,
        TableScores,
        describe,
        diagnose,
        predict_table,
        score_table,
    )
    from billhook.interop import as_forest, as_forests, to_estimator, to_onnx, to_treelite
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

__version__ = "0.2.0"
# Where the public names are, imported when they are first asked for: `import billhook` itself takes no time.
FOLDERS = {
    "budget": ("FitReport", "FitResult", "TooSmallError", "fit_table", "resume_fit"),
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
    "inspection": (
        "Diagnosis",
        "ModelComparison",
        "ModelDescription",
        "TablePredictions",
        "TableScores",
        "compare",
        "describe",
        "diagnose",
        "predict_table",
        "score_table",
    ),
    "interop": ("as_forest", "as_forests", "to_estimator", "to_onnx", "to_treelite"),
    "packing": ("PackReport", "Packed", "load", "pack", "pack_report"),
    "pruning": (
        "PruningGain",
        "PruningMethod",
        "PruningReport",
        "prune",
        "pruning_gain",
        "pruning_methods",
        "pruning_order",
    ),
    "refinement": ("MergePasses", "MergeReport", "RefinementReport", "merge", "refine"),
}
PARTS = ("analysis", "datasets", "study", "tables")

__all__ = [
    "CompactForestClassifier",
    "CompactForestRegressor",
    "Diagnosis",
    "DoesNotFitError",
    "FitReport",
    "FitResult",
    "Forest",
    "Measurement",
    "MergePasses",
    "MergeReport",
    "MissingToolError",
    "ModelComparison",
    "ModelDescription",
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
    "TablePredictions",
    "TableScores",
    "Target",
    "TooSmallError",
    "analysis",
    "as_forest",
    "as_forests",
    "compare",
    "datasets",
    "describe",
    "diagnose",
    "emit",
    "fit_table",
    "load",
    "measure",
    "merge",
    "pack",
    "pack_report",
    "predict_table",
    "prune",
    "pruning_gain",
    "pruning_methods",
    "pruning_order",
    "refine",
    "resume_fit",
    "score_table",
    "study",
    "tables",
    "targets",
    "to_estimator",
    "to_onnx",
    "to_treelite",
]


def __getattr__(name: str) -> "Any":
    """Import what is asked for, and with it what it needs: not everyone needs scikit-learn, or pandas."""
    from importlib import import_module

    if name in PARTS:
        return import_module(f"billhook.{name}")
    for folder, names in FOLDERS.items():
        if name in names:
            value = getattr(import_module(f"billhook.{folder}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'billhook' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
