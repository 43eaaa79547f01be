"""The paper's data sets: the catalogue, downloads, and the features that the paper makes of them."""

from billhook.datasets._catalogue import Entry, catalogue, names
from billhook.datasets._data_set import DataSet, load_table
from billhook.datasets._download import DownloadedFile, DownloadError
from billhook.datasets._load import FetchedDataSet, fetch, load
from billhook.datasets._locate import DataSetFile, cache_folder, find

__all__ = [
    "DataSet",
    "DataSetFile",
    "DownloadError",
    "DownloadedFile",
    "Entry",
    "FetchedDataSet",
    "cache_folder",
    "catalogue",
    "fetch",
    "find",
    "load",
    "load_table",
    "names",
]
