"""What a search found, as data and as a page."""

from billhook.budget.report._collect import front_of, report_on
from billhook.budget.report._mistakes import error_measures
from billhook.budget.report._report import FitReport

__all__ = ["FitReport", "error_measures", "front_of", "report_on"]
