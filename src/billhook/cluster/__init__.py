"""Work on a Dask cluster, for rows that no single machine holds."""

from billhook.cluster._client import (
    MOST_SECONDS,
    WORKER_TIMEOUT,
    ClusterError,
    check_worker_timeout,
    connect,
    reach,
    send,
    workers_of,
)
from billhook.cluster._descent import merge_on_cluster, refine_on_cluster
from billhook.cluster._growing import grow_on_cluster
from billhook.cluster._map import ClusterWorkers, map_on_cluster
from billhook.cluster._partitions import Partition, Partitions

__all__ = [
    "MOST_SECONDS",
    "WORKER_TIMEOUT",
    "ClusterError",
    "ClusterWorkers",
    "Partition",
    "Partitions",
    "check_worker_timeout",
    "connect",
    "grow_on_cluster",
    "map_on_cluster",
    "merge_on_cluster",
    "reach",
    "refine_on_cluster",
    "send",
    "workers_of",
]
