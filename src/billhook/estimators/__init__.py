"""The scikit-learn shell: thin classes over the functions of the other folders."""

from billhook.estimators._pruned import PrunedForestClassifier, PrunedForestRegressor

__all__ = ["PrunedForestClassifier", "PrunedForestRegressor"]
