"""Boosted trees grown by XGBoost on the workers of a cluster."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.cluster._client import ATTEMPTS, PAUSE, ClusterError, address_of, reach, wait_for, was_lost, workers_of
from billhook.cluster._partitions import Partition, Partitions
from billhook.cluster._watched import while_they_live
from billhook.forest import Forest
from billhook.interop import as_forest, boosting_parameters

if TYPE_CHECKING:
    from distributed import Client

FOR_REGRESSION = ("reg:", "count:")


class PartitionSummary(NamedTuple):
    """What the client learns of a part."""

    n_rows: int
    n_features: int
    labels: tuple[Any, ...]


def grow_on_cluster(client: "Client", parts: Partitions, *, n_rounds: int = 100, **parameters: Any) -> Forest:
    """Return boosted trees grown on all rows, which stay on their workers; they exchange histograms.

    Where there are more than two classes, a round is one tree whose leaves have a value for each. If a worker dies,
    growing begins anew on those that are left.

    Parameters
    ----------
    client : distributed.Client
    parts : Partitions
    n_rounds : int
    **parameters
        XGBoost's, beside or instead of ``tree_method="hist"``, ``grow_policy="lossguide"``, ``max_leaves=64``. An
        `objective` that begins with ``reg:`` or ``count:`` is for regression; else y are class labels.
    """
    for _ in range(ATTEMPTS):
        workers = set(workers_of(client))
        try:
            return _grown(client, parts, n_rounds, parameters)
        except ClusterError:
            raise
        except Exception as error:  # XGBoost and Dask each have their own for a worker that died
            if not _has_lost_any(client, workers):
                raise
            last = error
    raise ClusterError(
        f"workers of the cluster at {address_of(client)} died {ATTEMPTS} times in a row while growing; see their "
        "logs, which may speak of too little memory"
    ) from last


def _has_lost_any(client: "Client", workers: set[str]) -> bool:
    """Return whether one of these workers has gone; the scheduler may learn of it a moment later than others."""
    deadline = time.monotonic() + PAUSE
    while workers <= set(workers_of(client)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _grown(client: "Client", parts: Partitions, n_rounds: int, parameters: dict[str, Any]) -> Forest:
    from dask import array
    from dask.delayed import delayed
    from distributed import futures_of

    try:
        from xgboost import dask as boosting
    except ImportError:
        raise ImportError("to grow trees on a cluster, pip install 'billhook[xgboost,dask]'") from None

    is_classes = not str(parameters.get("objective", "")).startswith(FOR_REGRESSION)
    # Held until the end: X and y are taken out of them one after the other.
    pieces = reach(client, client.persist, [load(client) for load in parts.loaders])
    _await(client, futures_of(pieces))
    summarise, take_x, take_y, take_weight = (
        delayed(function, pure=False) for function in (_summary, _features, _targets, _weights)
    )
    known = client.compute([summarise(piece, is_classes) for piece in pieces])
    _await(client, known)
    summaries: list[PartitionSummary] = reach(client, client.gather, known)
    n_features = _common_width(summaries)
    classes = _all_classes(summaries) if is_classes else None
    matrix = reach(
        client,
        boosting.DaskDMatrix,
        client,
        _stacked(array, [take_x(piece) for piece in pieces], (n_features,)),
        _stacked(array, [take_y(piece, classes) for piece in pieces]),
        weight=_stacked(array, [take_weight(piece) for piece in pieces]),
        feature_names=None if parts.feature_names is None else list(parts.feature_names),
    )
    parameters = boosting_parameters(None if classes is None else classes.size, **parameters)

    def train() -> Any:
        return reach(client, boosting.train, client, parameters, matrix, num_boost_round=n_rounds)

    booster = while_they_live(client, set(matrix.worker_map), train)["booster"]
    forest = as_forest(booster)
    return forest if classes is None else replace(forest, classes=classes)


def _await(client: "Client", futures: list[Any]) -> None:
    wait_for(client, futures)
    if any(was_lost(client, future) for future in futures):
        raise RuntimeError("rows were lost with a worker")


def _stacked(array: Any, blocks: list[Any], more: tuple[int, ...] = ()) -> Any:
    """Return blocks of rows, nobody here knows how many, as one Dask array."""
    return array.concatenate([array.from_delayed(block, (np.nan, *more), np.float32) for block in blocks])


def _common_width(summaries: list[PartitionSummary]) -> int:
    widths = sorted({summary.n_features for summary in summaries})
    if len(widths) > 1:
        raise ValueError(f"parts have different numbers of features: {', '.join(map(str, widths))}")
    if not any(summary.n_rows for summary in summaries):
        raise ValueError("the parts have no rows")
    return widths[0]


def _all_classes(summaries: list[PartitionSummary]) -> NDArray[Any]:
    labels = {label for summary in summaries for label in summary.labels}
    if len(labels) < 2:
        raise ValueError(f"there is one class only, {labels.pop()!r}; growing needs two or more")
    try:
        return np.array(sorted(labels))
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(f"labels are of kinds that have no order among each other: {kinds}") from None


def _summary(rows: Partition, is_classes: bool) -> PartitionSummary:
    if not is_classes:
        return PartitionSummary(len(rows.y), rows.X.shape[1], ())
    labels = set(rows.y.tolist())
    if any(label is None or label != label for label in labels):
        raise ValueError("y holds missing labels; leave out these rows")
    return PartitionSummary(len(rows.y), rows.X.shape[1], tuple(labels))


def _features(rows: Partition) -> NDArray[np.float32]:
    return np.asarray(rows.X, np.float32)


def _targets(rows: Partition, classes: NDArray[Any] | None) -> NDArray[np.float32]:
    numbers = rows.y if classes is None else np.searchsorted(classes, rows.y.astype(classes.dtype))
    return np.asarray(numbers, np.float32)


def _weights(rows: Partition) -> NDArray[np.float32]:
    return np.ones(len(rows.y), np.float32) if rows.weight is None else np.asarray(rows.weight, np.float32)
