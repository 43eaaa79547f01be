"""What a model does on the rows of a table, what is in it, and what could be left out."""

from billhook.inspection._predict_table import TablePredictions, predict_table
from billhook.inspection._score_table import TableScores, score_table

__all__ = ["TablePredictions", "TableScores", "predict_table", "score_table"]
