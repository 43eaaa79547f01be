"""Trees grown on binned rows: gradient boosting, random forests and extra trees, with the same splits everywhere."""

from billhook.growing._as_forest import forest_of_trees
from billhook.growing._binned_rows import BinnedRows
from billhook.growing._boosting import Boosting, GrowthLoss
from billhook.growing._projections import ProjectionLoss, learn_projections
from billhook.growing._random_forest import grow_random_forest

__all__ = [
    "BinnedRows",
    "Boosting",
    "GrowthLoss",
    "ProjectionLoss",
    "forest_of_trees",
    "grow_random_forest",
    "learn_projections",
]
