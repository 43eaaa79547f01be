"""The main job: the most accurate model that fits a number of bytes."""

from billhook.budget._client import connect, send, settle, was_lost, workers_of
from billhook.budget._cluster import (
    ClusterError,
    ClusterWorkers,
    grow_on_cluster,
    merge_on_cluster,
    refine_on_cluster,
    round_on_cluster,
)
from billhook.budget._encoding import Ordered, choose_encoding, has_orders, rows_of
from billhook.budget._fit import Found, build, find, search_budgets, settings_of
from billhook.budget._given import Given, n_values_of
from billhook.budget._large import OnCluster, find_on_cluster
from billhook.budget._parts import Parts
from billhook.budget._report import FitReport
from billhook.budget._rows import Rows
from billhook.budget._search import Candidate, Search
from billhook.budget._shrink import TooSmallError
from billhook.budget._size import as_bytes, room_for

__all__ = [
    "Candidate",
    "ClusterError",
    "ClusterWorkers",
    "FitReport",
    "Found",
    "Given",
    "OnCluster",
    "Ordered",
    "Parts",
    "Rows",
    "Search",
    "TooSmallError",
    "as_bytes",
    "build",
    "choose_encoding",
    "connect",
    "find",
    "find_on_cluster",
    "grow_on_cluster",
    "has_orders",
    "merge_on_cluster",
    "n_values_of",
    "refine_on_cluster",
    "room_for",
    "round_on_cluster",
    "rows_of",
    "search_budgets",
    "send",
    "settings_of",
    "settle",
    "was_lost",
    "workers_of",
]
