"""Reading tables, making features of their columns, and the paper's data sets."""

from billhook.datasets._catalogue import Entry, catalogue, names
from billhook.datasets._data_set import DataSet, load_table
from billhook.datasets._download import DownloadError, Received
from billhook.datasets._load import Fetched, fetch, load
from billhook.datasets._places import Place, cache_folder, find

__all__ = [
    "DataSet",
    "DownloadError",
    "Entry",
    "Fetched",
    "Place",
    "Received",
    "cache_folder",
    "catalogue",
    "fetch",
    "find",
    "load",
    "load_table",
    "names",
]
