"""What a model does on the rows of a table, what is in it, and what could be left out."""

from billhook.inspection._compare import ComparedModel, ModelComparison, compare
from billhook.inspection._describe import (
    BytePart,
    ColumnUse,
    ModelDescription,
    ProjectionUse,
    byte_parts,
    describe,
)
from billhook.inspection._diagnose import DiagnosedSize, Diagnosis, diagnose
from billhook.inspection._page import fitting_text, measure_text
from billhook.inspection._predict_table import TablePredictions, predict_table
from billhook.inspection._removal import RemovableTrees
from billhook.inspection._score_table import TableScores, score_table

__all__ = [
    "BytePart",
    "ColumnUse",
    "ComparedModel",
    "DiagnosedSize",
    "Diagnosis",
    "ModelComparison",
    "ModelDescription",
    "ProjectionUse",
    "RemovableTrees",
    "TablePredictions",
    "TableScores",
    "byte_parts",
    "compare",
    "describe",
    "diagnose",
    "fitting_text",
    "measure_text",
    "predict_table",
    "score_table",
]
