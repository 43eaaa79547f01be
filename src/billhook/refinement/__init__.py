"""Better leaf values for the same trees, and fewer leaves."""

from billhook.refinement._coordinate_descent import BlockDescent, Descent
from billhook.refinement._distributed_descent import DistributedDescent, Holders, Layout, Part, Task
from billhook.refinement._leaves import find_leaves
from billhook.refinement._losses import LOSSES, Loss
from billhook.refinement._merge import QUICK, MergePlan, merge, merge_leaves
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import Problem, kernel_targets
from billhook.refinement._refine import RefinementReport, refine, refinement_report

__all__ = [
    "LOSSES",
    "QUICK",
    "BlockDescent",
    "Descent",
    "DistributedDescent",
    "Holders",
    "Layout",
    "Loss",
    "MergePlan",
    "Part",
    "Problem",
    "RefinementOptions",
    "RefinementReport",
    "Task",
    "find_leaves",
    "kernel_targets",
    "merge",
    "merge_leaves",
    "refine",
    "refinement_report",
]
