"""Better leaf values for the same trees, and fewer leaves."""

from billhook.refinement._descent import Descent
from billhook.refinement._losses import LOSSES, Loss
from billhook.refinement._merge import merge
from billhook.refinement._problem import Problem, kernel_targets
from billhook.refinement._refine import RefinementReport, refine, refinement_report
from billhook.refinement._rows import find_leaves

__all__ = [
    "LOSSES",
    "Descent",
    "Loss",
    "Problem",
    "RefinementReport",
    "find_leaves",
    "kernel_targets",
    "merge",
    "refine",
    "refinement_report",
]
