"""Better leaf values for the same trees, and fewer leaves."""

from billhook.refinement._coordinate_descent import BlockDescent, Descent, trees_at_once
from billhook.refinement._data import find_leaves
from billhook.refinement._distributed_descent import (
    DescentPartition,
    DistributedDescent,
    LeafLayout,
    PartitionHolder,
    PartitionTask,
)
from billhook.refinement._leaf_merging import QUICK, MergePasses, MergePlan, merge_leaves
from billhook.refinement._losses import LOSSES, Loss, loss_named, losses_for, quantile_loss, width_of
from billhook.refinement._merge import merge
from billhook.refinement._options import RefinementOptions
from billhook.refinement._problem import Problem, kernel_targets
from billhook.refinement._refine import refine
from billhook.refinement._report import MergeReport, RefinementReport
from billhook.refinement._split_sweeps import KnownTests, choose_splits

__all__ = [
    "LOSSES",
    "QUICK",
    "BlockDescent",
    "Descent",
    "DescentPartition",
    "DistributedDescent",
    "KnownTests",
    "LeafLayout",
    "Loss",
    "MergePasses",
    "MergePlan",
    "MergeReport",
    "PartitionHolder",
    "PartitionTask",
    "Problem",
    "RefinementOptions",
    "RefinementReport",
    "choose_splits",
    "find_leaves",
    "kernel_targets",
    "loss_named",
    "losses_for",
    "merge",
    "merge_leaves",
    "quantile_loss",
    "refine",
    "trees_at_once",
    "width_of",
]
