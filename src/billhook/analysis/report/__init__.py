"""The results of a study as one page."""

from billhook.analysis.report._write import write_report

__all__ = [
    "write_report",
]
