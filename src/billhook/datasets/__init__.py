"""Reading tables, and making features of their columns."""

from billhook.datasets._features import encode, features_of
from billhook.datasets._labels import labels_like
from billhook.datasets._table import Table, read_features, read_table

__all__ = ["Table", "encode", "features_of", "labels_like", "read_features", "read_table"]
