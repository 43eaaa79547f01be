"""A table of predictions for a table of rows, written some thousand rows at a time."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from billhook._files import atomic_write
from billhook.forest import Forest
from billhook.inspection._models import model_of
from billhook.inspection._rows import rows_for
from billhook.packing import Packed

TableFormat = Literal["csv", "parquet"]
SUFFIXES: dict[str, TableFormat] = {".csv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
PREDICTION, PROBABILITY = "prediction", "probability"
# Of a probability in text.
DECIMALS = 6


@dataclass(frozen=True)
class TablePredictions:
    """What was predicted for the rows of a table.

    Attributes
    ----------
    n_rows : int
    counts : dict
        For each class that was predicted how many rows; empty for regression.
    span : (float, float) or None
        For regression the least and the largest prediction.
    notes : tuple of str
        What there is to say about the table: columns that were ignored, categories that the model does not know.
    """

    n_rows: int
    counts: dict[Any, int]
    span: tuple[float, float] | None
    notes: tuple[str, ...]


def predict_table(
    model: Any,
    table: Any,
    out: str | PathLike[str] | BinaryIO,
    *,
    proba: bool = False,
    label: str | None = None,
    fill_missing: bool = False,
    force: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> TablePredictions:
    """Predict the rows of a table, however large it is, and write the predictions, one line for each row.

    Parameters
    ----------
    model : Forest, Packed, fitted estimator, or path
        Of a model file of any kind that `load` reads, or of the folder of a fit.
    table : path or data frame
        CSV, Parquet or ARFF. Columns go by their names; others are ignored, and `notes` says which.
    out : path or binary file
        The file to write: CSV, or Parquet if it ends in .parquet. It is there when all is written, or not at all.
    proba : bool
        Whether to write the probability of each class too.
    label : str, optional
        A column of the table to leave out, for models that know no names of columns.
    fill_missing : bool
        Whether columns that the table lacks count as missing in every row.
    force : bool
        Whether to replace a file.
    progress : function, optional
        Called with the rows done, and about how many there are, None if that is not known.

    Examples
    --------
    >>> import io
    >>> import billhook as bh
    >>> from sklearn.datasets import load_iris
    >>> frame = load_iris(as_frame=True).frame
    >>> packed = bh.fit_table(frame, "target", budget=300, n_trials=1).packed
    >>> file = io.BytesIO()
    >>> done = bh.predict_table(packed, frame, file, proba=True)
    >>> done.n_rows, file.getvalue().split()[0]
    (150, b'prediction,probability_0,probability_1,probability_2')
    >>> done.notes
    ("Column 'target' is not known to the model: ignored.",)
    """
    known = model_of(model)
    if proba and known.classes is None:
        raise TypeError("the model predicts numbers, which have no probabilities: leave proba out")
    form: TableFormat = "csv"
    if isinstance(out, str | PathLike):
        form = _format_of(Path(out))
        _check_out(Path(out), table, force=force)
    rows = rows_for(known, table, label, fill_missing=fill_missing)
    blocks = iter(rows)
    first = next(blocks)  # so that a wrong table is said before anything is written
    counts: Counter[Any] = Counter()
    n_rows, low, high = 0, np.inf, -np.inf
    with atomic_write(out) if isinstance(out, str | PathLike) else _as_it_is(out) as file:
        writer = _ParquetTable(file, known, proba=proba) if form == "parquet" else _CsvTable(file, known, proba=proba)
        for block in _chained(first, blocks):
            predicted = known.predict(block.X)
            writer.write(predicted, known.predict_proba(block.X) if proba else None)
            n_rows += len(predicted)
            if known.classes is None:
                low, high = min(low, float(predicted.min())), max(high, float(predicted.max()))
            else:
                counts.update(predicted.tolist())
            if progress is not None:
                progress(n_rows, rows.about_n_rows)
        writer.close()
    in_order = (
        {} if known.classes is None else {name: counts[name] for name in known.classes.tolist() if counts[name]}
    )
    span = (low, high) if known.classes is None else None
    return TablePredictions(n_rows, in_order, span, tuple(rows.notes))


def _chained(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from others


@contextmanager
def _as_it_is(file: BinaryIO) -> Iterator[BinaryIO]:
    yield file


def _format_of(path: Path) -> TableFormat:
    if path.suffix.lower() in SUFFIXES:
        return SUFFIXES[path.suffix.lower()]
    known = " and ".join(get_args(TableFormat))
    if not path.name:
        raise ValueError("the name of the file to write is empty: give that of a .csv or .parquet file")
    if not path.suffix:
        raise ValueError(f"{path} has no suffix that says what to write: name it {path}.csv or {path}.parquet")
    raise ValueError(f"{path}: tables are written as {known}, not as {path.suffix}; name it {path.stem}.csv")


def _check_out(out: Path, table: Any, *, force: bool) -> None:
    if isinstance(table, str | PathLike) and out.resolve() == Path(table).resolve():
        raise ValueError(f"{out} is the table that is read: name another file")
    if out.exists() and not out.is_dir() and not force:
        raise FileExistsError(f"{out} is there already; force=True replaces it")


class _TableWriter(Protocol):
    def write(self, predicted: NDArray[Any], probabilities: NDArray[np.float64] | None) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write what comes last, and leave the file itself open."""


def _headings(model: Forest | Packed, *, proba: bool) -> list[str]:
    classes: Sequence[Any] = () if model.classes is None or not proba else model.classes.tolist()
    return [PREDICTION, *(f"{PROBABILITY}_{name}" for name in classes)]


class _CsvTable:
    def __init__(self, file: BinaryIO, model: Forest | Packed, *, proba: bool) -> None:
        self.file = file
        self._write([_headings(model, proba=proba)])

    def write(self, predicted: NDArray[Any], probabilities: NDArray[np.float64] | None) -> None:
        columns = [predicted.tolist()]
        if probabilities is not None:
            columns += (np.round(probabilities, DECIMALS) + 0.0).T.tolist()
        self._write(zip(*columns, strict=True))

    def _write(self, rows: Iterable[Sequence[Any]]) -> None:
        # A text file around this one would close it when it is forgotten.
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        self.file.write(text.getvalue().encode())

    def close(self) -> None:
        self.file.flush()


class _ParquetTable:
    def __init__(self, file: BinaryIO, model: Forest | Packed, *, proba: bool) -> None:
        try:
            import pyarrow
            from pyarrow.parquet import ParquetWriter
        except ImportError:
            raise ImportError("to write Parquet files, pip install 'billhook[parquet]'") from None
        example = pyarrow.array([0.0] if model.classes is None else model.classes.tolist())
        names = _headings(model, proba=proba)
        types = [example.type, *([pyarrow.float64()] * (len(names) - 1))]
        self.schema = pyarrow.schema(list(zip(names, types, strict=True)))
        self.parquet = ParquetWriter(file, self.schema)

    def write(self, predicted: NDArray[Any], probabilities: NDArray[np.float64] | None) -> None:
        import pyarrow

        of_classes = [] if probabilities is None else list(np.ascontiguousarray(probabilities.T))
        columns = [pyarrow.array(predicted.tolist(), self.schema.types[0]), *map(pyarrow.array, of_classes)]
        self.parquet.write_table(pyarrow.table(columns, schema=self.schema))

    def close(self) -> None:
        self.parquet.close()
