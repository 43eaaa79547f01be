"""Better leaf values for the same trees, and fewer leaves."""

from billhook.refinement._descent import BlockDescent, Descent
from billhook.refinement._losses import LOSSES, Loss
from billhook.refinement._merge import QUICK, MergePlan, merge, merge_leaves
from billhook.refinement._parted import Holders, Layout, Part, PartedDescent, Task
from billhook.refinement._problem import Problem, kernel_targets
from billhook.refinement._refine import RefinementReport, refine, refinement_report
from billhook.refinement._rows import find_leaves
from billhook.refinement._settings import Settings

__all__ = [
    "LOSSES",
    "QUICK",
    "BlockDescent",
    "Descent",
    "Holders",
    "Layout",
    "Loss",
    "MergePlan",
    "Part",
    "PartedDescent",
    "Problem",
    "RefinementReport",
    "Settings",
    "Task",
    "find_leaves",
    "kernel_targets",
    "merge",
    "merge_leaves",
    "refine",
    "refinement_report",
]
