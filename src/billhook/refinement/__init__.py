"""Better leaf values for the same trees, and fewer leaves."""

from billhook.refinement._merge import merge
from billhook.refinement._refine import RefinementReport, refine, refinement_report

__all__ = ["RefinementReport", "merge", "refine", "refinement_report"]
