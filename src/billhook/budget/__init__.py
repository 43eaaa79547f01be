"""The main job: the most accurate model that fits a number of bytes."""

from billhook.budget._clock import Clock
from billhook.budget._compress import TooSmallError
from billhook.budget._distributed import DaskExecutor, fit_on_cluster
from billhook.budget._encoding import choose_encoding, encode_table
from billhook.budget._executors import Executor, ThreadExecutor
from billhook.budget._fit import FitResult, build, fit, search_budgets
from billhook.budget._fit_table import checked_seed, checked_time_limit, fit_table
from billhook.budget._limits import limit_for, projections_for
from billhook.budget._other_models import OtherModel
from billhook.budget._projecting import check_max_projections
from billhook.budget._regression_loss import RegressionLoss, regression_loss
from billhook.budget._results import Candidate
from billhook.budget._resume import resume_fit
from billhook.budget._search import Search
from billhook.budget._space import settings_of
from billhook.budget._splits import TrainingRows, training_rows
from billhook.budget._units import equal_rows
from billhook.budget._user_ensemble import UserEnsemble
from billhook.budget.report import FitReport, error_measures

__all__ = [
    "Candidate",
    "Clock",
    "DaskExecutor",
    "Executor",
    "FitReport",
    "FitResult",
    "OtherModel",
    "RegressionLoss",
    "Search",
    "ThreadExecutor",
    "TooSmallError",
    "TrainingRows",
    "UserEnsemble",
    "build",
    "check_max_projections",
    "checked_seed",
    "checked_time_limit",
    "choose_encoding",
    "encode_table",
    "equal_rows",
    "error_measures",
    "fit",
    "fit_on_cluster",
    "fit_table",
    "limit_for",
    "projections_for",
    "regression_loss",
    "resume_fit",
    "search_budgets",
    "settings_of",
    "training_rows",
]
