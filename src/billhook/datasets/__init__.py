"""Reading tables, making features of their columns, and the paper's data sets."""

from billhook.datasets._catalogue import Entry, catalogue, names
from billhook.datasets._data_set import DataSet, load_table
from billhook.datasets._download import DownloadError, Received
from billhook.datasets._features import encode, features_of
from billhook.datasets._labels import labels_like
from billhook.datasets._load import Fetched, fetch, load
from billhook.datasets._places import Place, cache_folder, find
from billhook.datasets._table import Table, read_features, read_table

__all__ = [
    "DataSet",
    "DownloadError",
    "Entry",
    "Fetched",
    "Place",
    "Received",
    "Table",
    "cache_folder",
    "catalogue",
    "encode",
    "features_of",
    "fetch",
    "find",
    "labels_like",
    "load",
    "load_table",
    "names",
    "read_features",
    "read_table",
]
