"""Any library's model to a Forest, and back."""

from billhook.interop._dispatch import as_forest, to_estimator

__all__ = ["as_forest", "to_estimator"]
