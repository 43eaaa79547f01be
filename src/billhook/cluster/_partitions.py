"""Rows spread over the workers of a cluster, as loaders: what is lost with a worker is loaded again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import resolve_name
from billhook.cluster._client import reach, send
from billhook.tables import Categorical, read_features

if TYPE_CHECKING:
    from distributed import Client

Loader = Callable[["Client"], Any]
Reader = Callable[[str], tuple[Any, ...]]


class Partition(NamedTuple):
    """The rows of one part; weights, if it has any."""

    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None


@dataclass(frozen=True)
class Partitions:
    """Rows in parts. Workers read them, or are sent them; none of them comes back to the client.

    Attributes
    ----------
    loaders : tuple of functions
        Each takes a client and returns a `dask.delayed` object of `Partition`.
    feature_names : tuple of str, optional
    """

    loaders: tuple[Loader, ...]
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.loaders:
            raise ValueError("there are no parts: give at least one file, one partition or one row")

    def __len__(self) -> int:
        return len(self.loaders)

    def map(self, function: Callable[[Partition], Partition]) -> "Partitions":
        """Return the parts with their rows changed by a function, where they are."""
        return Partitions(tuple(partial(_mapped, function, loader) for loader in self.loaders), self.feature_names)

    @classmethod
    def from_files(
        cls,
        client: "Client",
        paths: Iterable[str | PathLike[str]],
        *,
        label: str | None = None,
        read: Reader | None = None,
    ) -> "Partitions":
        """Return one part for each file, which the worker that needs it reads: it must find the file by this path.

        Parameters
        ----------
        client : distributed.Client
        paths : list of str
        label : str
            The column to predict, in Parquet files of numbers or in CSV files; the other columns are the features, by
            the names and in the order of the first file; paths are relative to the client's folder. Or
        read : function
            From a path to (X, y) or (X, y, weight).
        """
        files = [fspath(path) for path in paths]
        if (label is None) == (read is None):
            raise ValueError("files need either a label, the column to predict, or a function read(path) -> (X, y)")
        if read is not None or label is None or not files:
            return cls(tuple(partial(_from_file, read, path) for path in files))
        files = [str(Path(path).absolute()) for path in files]  # workers may be in other folders
        names = tuple(reach(client, client.submit(_names_in, files[0], label, pure=False).result))
        by_name = partial(_read_columns, label=label, names=names)
        return cls(tuple(partial(_from_file, by_name, path) for path in files), names)

    @classmethod
    def from_arrays(
        cls, X: ArrayLike, y: ArrayLike, *, n_parts: int, sample_weight: ArrayLike | None = None
    ) -> "Partitions":
        """Return rows that are in memory here, to be sent to the workers in so many parts of about equal size.

        Parameters
        ----------
        X, y : arrays
        n_parts : int
        sample_weight : array, optional
        """
        X, y = np.asarray(X), np.asarray(y)
        weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        _checked(X, y, weight, "the rows")
        if not 1 <= n_parts <= max(len(y), 1):
            raise ValueError(f"n_parts must be from 1 to the number of rows, {len(y):,}, not {n_parts}")
        bounds = np.linspace(0, len(y), n_parts + 1).astype(np.int64)
        loaders = []
        for number, (begin, end) in enumerate(pairwise(bounds)):
            rows = Partition(X[begin:end], y[begin:end], None if weight is None else weight[begin:end])
            loaders.append(partial(_from_memory, rows, f"part {number}"))
        return cls(tuple(loaders))

    @classmethod
    def from_dask(cls, X: Any, y: Any, sample_weight: Any = None) -> "Partitions":
        """Return one part for each partition of Dask arrays, data frames or series.

        Parameters
        ----------
        X : dask array or data frame
            Partitioned by rows only.
        y, sample_weight : dask arrays or series
            Partitioned as X.
        """
        columns = [_partitions(X), _partitions(y)]
        columns.append([None] * len(columns[0]) if sample_weight is None else _partitions(sample_weight))
        if len({len(column) for column in columns}) > 1:
            counts = ", ".join(str(len(column)) for column in columns)
            raise ValueError(
                f"X, y and sample_weight are in different numbers of partitions ({counts}); rechunk them"
            )
        named = enumerate(zip(*columns, strict=True))
        loaders = tuple(partial(_from_partition, x, t, w, f"partition {number}") for number, (x, t, w) in named)
        return cls(loaders, tuple(map(str, X.columns)) if hasattr(X, "columns") else None)


def _mapped(function: Callable[[Partition], Partition], loader: Loader, client: "Client") -> Any:
    from dask.delayed import delayed

    return delayed(function, pure=False)(loader(client))


def _from_file(read: Any, path: str, client: "Client") -> Any:  # noqa: ARG001 - as a Loader
    from dask.delayed import delayed

    return delayed(_read, pure=False)(read, path)


def _from_memory(rows: Partition, name: str, client: "Client") -> Any:
    from dask.delayed import delayed

    # What is sent is lost with its worker; then it is sent again, under another name.
    sent = [None if array is None else send(client, array) for array in rows]
    return delayed(_checked, pure=False)(*sent, name)


def _from_partition(X: Any, y: Any, weight: Any, name: str, client: "Client") -> Any:  # noqa: ARG001 - as a Loader
    from dask.delayed import delayed

    return delayed(_checked, pure=False)(X, y, weight, name)


def _partitions(of: Any) -> list[Any]:
    if not hasattr(of, "to_delayed"):
        raise TypeError(f"from_dask takes Dask arrays, data frames and series, not {type(of).__name__}")
    parts = np.asarray(of.to_delayed())
    if parts.ndim > 1 and parts[0].size > 1:
        raise ValueError(f"X is in {parts[0].size} blocks of columns; partition it by rows: X.rechunk((rows, -1))")
    return list(parts.ravel())


def _read(read: Reader, path: str) -> Partition:
    columns = read(path)
    X, y, weight = columns if len(columns) == 3 else (*columns, None)
    return _checked(X, y, weight, path)


def _checked(X: Any, y: Any, weight: Any, name: str) -> Partition:
    """Return the rows as arrays, or say what is wrong with which part."""
    X, y = np.asarray(X), np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if X.ndim != 2 or y.ndim != 1:
        raise ValueError(f"{name}: X must have two dimensions and y one, not shapes {X.shape} and {y.shape}")
    weight = None if weight is None else np.asarray(weight, np.float64).reshape(-1)
    n_weights = len(y) if weight is None else weight.size
    if not len(X) == len(y) == n_weights:
        raise ValueError(f"{name}: X has {len(X):,} rows, y {len(y):,} labels and {n_weights:,} weights")
    return Partition(X, y, weight)


def _names_in(path: str, label: str) -> tuple[str, ...]:
    """Return the names of the columns of a file but that of the label."""
    if Path(path).suffix != ".parquet":
        return read_features(path, label).names
    names = tuple(_parquet().read_schema(path).names)
    if label not in names:
        raise ValueError(f"{path} has no column {label!r}; its columns are {', '.join(names)}")
    return tuple(name for name in names if name != label)


def _read_columns(path: str, *, label: str, names: tuple[str, ...]) -> tuple[Any, Any]:
    """Return these columns of a file as float32, and its labels."""
    table = read_features(path, label)
    columns = dict(zip(table.names, table.columns, strict=True))
    X = np.empty((len(table.y), len(names)), np.float32)
    for k, name in enumerate(names):
        column = resolve_name(name, columns, f"{path} has no column", "its columns are")
        if isinstance(column, Categorical):
            raise ValueError(f"column {name!r} of {path} holds {column.categories[0]!r}, not numbers; encode it")
        X[:, k] = column
    return X, table.y


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError("to read Parquet files, pip install 'billhook[dask]' where the workers are") from None
    return parquet
