"""The scikit-learn shell: thin classes over the functions."""

from billhook.estimators._compact import CompactForestClassifier, CompactForestRegressor
from billhook.estimators._pruned import PrunedForestClassifier, PrunedForestRegressor
from billhook.estimators._refined import RefinedForestClassifier, RefinedForestRegressor

__all__ = [
    "CompactForestClassifier",
    "CompactForestRegressor",
    "PrunedForestClassifier",
    "PrunedForestRegressor",
    "RefinedForestClassifier",
    "RefinedForestRegressor",
]
