"""Any library's model to a Forest, and back."""

from billhook.interop._dispatch import as_forest, to_estimator
from billhook.interop._seen import seen_rows

__all__ = ["as_forest", "seen_rows", "to_estimator"]
