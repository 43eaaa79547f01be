"""The main job: the most accurate model that fits a number of bytes."""

from billhook.budget._compress import TooSmallError
from billhook.budget._distributed import DaskExecutor, fit_on_cluster
from billhook.budget._encoding import OrderedFeatures, choose_encoding, has_categories_to_order, training_rows
from billhook.budget._fit import FitResult, build, fit, search_budgets, settings_of
from billhook.budget._limits import limit_for
from billhook.budget._search import Candidate, Search
from billhook.budget._splits import TrainingRows
from billhook.budget._user_ensemble import UserEnsemble, n_values_of
from billhook.budget.report._report import FitReport

__all__ = [
    "Candidate",
    "DaskExecutor",
    "FitReport",
    "FitResult",
    "OrderedFeatures",
    "Search",
    "TooSmallError",
    "TrainingRows",
    "UserEnsemble",
    "build",
    "choose_encoding",
    "fit",
    "fit_on_cluster",
    "has_categories_to_order",
    "limit_for",
    "n_values_of",
    "search_budgets",
    "settings_of",
    "training_rows",
]
