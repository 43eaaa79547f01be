"""Reading tables."""

from billhook.datasets._table import Table, labels_like, read_features, read_table

__all__ = ["Table", "labels_like", "read_features", "read_table"]
