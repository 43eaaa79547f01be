"""From a table of results to Pareto fronts, areas, ranks, tests, tables, figures and a page."""

from billhook.analysis._charts import accuracy_by_shape, accuracy_over_memory
from billhook.analysis._comparison import Comparison, compare
from billhook.analysis._configurations import configurations
from billhook.analysis._diagram import critical_difference_diagram
from billhook.analysis._fronts import areas, best_below, pareto_front, pareto_fronts
from billhook.analysis._latex import to_latex
from billhook.analysis._maps import score_map, win_map
from billhook.analysis._published import published
from billhook.analysis._schema import (
    BOOSTING,
    DONE,
    FAILED,
    RUN_COLUMNS,
    RUN_KEY,
    SEARCH,
    SIZES,
    SKIPPED,
    STATUSES,
    TIMED_OUT,
)
from billhook.analysis._scores import rank, wins
from billhook.analysis._shape import by_shape
from billhook.analysis._style import colour_of, marker_of
from billhook.analysis._write import write_tables
from billhook.analysis.report._write import write_report

__all__ = [
    "BOOSTING",
    "DONE",
    "FAILED",
    "RUN_COLUMNS",
    "RUN_KEY",
    "SEARCH",
    "SIZES",
    "SKIPPED",
    "STATUSES",
    "TIMED_OUT",
    "Comparison",
    "accuracy_by_shape",
    "accuracy_over_memory",
    "areas",
    "best_below",
    "by_shape",
    "colour_of",
    "compare",
    "configurations",
    "critical_difference_diagram",
    "marker_of",
    "pareto_front",
    "pareto_fronts",
    "published",
    "rank",
    "score_map",
    "to_latex",
    "win_map",
    "wins",
    "write_report",
    "write_tables",
]
