"""Data frames of any library (pandas, polars, pyarrow and others that narwhals knows), made into tables."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from reprlib import repr as short
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._checks import resolve_name
from billhook._deadline import check_time
from billhook._types import Task
from billhook.tables._collect import LabelColumn, categorical_of, text_of
from billhook.tables._columns import Column
from billhook.tables._distinct import cells_of, distinct_of
from billhook.tables._held_together import hold_out
from billhook.tables._labels import TrainingLabels, check_present, label_column, label_name, target_of
from billhook.tables._rounding import as_float32
from billhook.tables._table import Table, training_table

TITLE = "the data frame"
FrameKind = Literal["number", "category", "text"]
REMEDIES = {
    "Date": "turn it into numbers, for example the year or the days since a date",
    "Datetime": "turn it into numbers, for example the hour or the days since a date",
    "Time": "turn it into numbers, for example the seconds since midnight",
    "Duration": "turn it into numbers, for example its seconds",
    "List": "make a column of each part",
    "Array": "make a column of each part",
    "Struct": "make a column of each part",
}
DROP_IT = "turn it into numbers or text, or drop it"
NUMBERS = (bool, int, float, Decimal)
MIXED = "cast the column to one type: numbers, or text for categories"


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame whose columns are in memory; a lazy frame of polars raises TypeError."""
    # Asked of the type, as to ask a lazy frame for its columns takes time.
    if isinstance(X, np.ndarray) or not hasattr(type(X), "columns"):
        return False
    import narwhals.stable.v1 as nw

    if isinstance(X, nw.LazyFrame) or nw.dependencies.is_polars_lazyframe(X):
        raise TypeError(_not_a_frame(X))
    return isinstance(X, nw.DataFrame) or bool(nw.dependencies.is_into_dataframe(X))


def frame_columns(
    X: Any,
    *,
    names: Collection[str] | None = None,
    categorical: Collection[str] = frozenset(),
    rounding: str = "nearest",
) -> dict[str, Column]:
    """Return the columns of a data frame by name: float32 arrays and Categorical.

    Numbers become float32; booleans become 0 and 1; NaN stands for a missing value. Columns
    of text are categorical with the categories sorted, and columns of a type that declares its categories (a
    categorical of pandas, an Enum of polars) have those that occur in the declared order. A frame says itself what is
    missing (null, None, NaN): "", "NA", "?" and the like are categories like all others, other than in files.

    Parameters
    ----------
    X : data frame
        Column names that are no strings do not count, as for scikit-learn: such columns are called by their places,
        "0", "1" and so on.
    names : column names, optional
        The columns to return, in the order of the frame; by default all. Those that the frame lacks are left out.
    categorical : column names
        Columns of numbers to return as Categorical: see `Encoding.categorical`.
    rounding : {"nearest", "down"}
        How numbers that are not float32 become so.
    """
    frame, all_names = _opened(X)
    return {
        # Asked for a column by its place, narwhals lists the names of all.
        name: _column(
            frame.get_column(name) if isinstance(own_name, str) else frame[:, place],
            name,
            is_categorical=name in categorical,
            rounding=rounding,
        )
        for place, (name, own_name) in enumerate(zip(all_names, _own_names(X), strict=True))
        if names is None or name in names
    }


def table_of(X: Any, y: ArrayLike, *, task: str | None = None, title: str = TITLE) -> Table:
    """Return the table of a data frame and its labels, without the columns that no model could learn from.

    Parameters
    ----------
    X : data frame
        Its columns are read as by `frame_columns`, and dropped by the same rules as by `read_table`.
    y : array-like
        The labels. With a task they are taken as they are, and have been checked by the caller.
    task : {"classification", "regression"}, optional
        By default it is guessed from the labels as by `read_table`.
    title : str
        What messages call the table.
    """
    columns = frame_columns(X)
    labels = np.asarray(y)
    n_rows = len(_opened(X)[0])
    if labels.shape != (n_rows,):
        raise ValueError(
            f"y must have one label for each of the {n_rows:,} rows of {title}, not shape {labels.shape}"
        )
    if task is None:
        cells = np.empty(n_rows, object)
        cells[:] = labels.tolist()
        target = target_of(LabelColumn(cells, labels.dtype.kind not in "iuf"), "y", title, None)
    else:
        known: dict[str, Task] = {name: name for name in get_args(Task)}
        asked: Task = resolve_name(task, known, "there is no task")
        target = TrainingLabels(labels.astype(np.float64) if asked == "regression" else labels, asked, ())
    return training_table(title, columns, target)


def table_of_frame(
    X: Any,
    label: Any,
    *,
    task: str | None = None,
    title: str = TITLE,
    rounding: str = "nearest",
    group: str | None = None,
    split: str | None = None,
) -> Table:
    """Return the table of a data frame that holds the labels in a column, as `read_table` returns that of a file.

    Parameters
    ----------
    X : data frame
        Its columns are read as by `frame_columns`.
    label : str
        The column to predict, or whatever a column of the frame is called; "-1" is the last column unless a column
        has that name.
    task : {"classification", "regression"}, optional
        By default text and few different whole numbers are classes; other numbers are for regression.
    title : str
        What messages call the table.
    rounding : {"nearest", "down"}
        As for `frame_columns`.
    group, split : str, optional
        As for `read_table`.
    """
    frame, names = _opened(X)
    own_names = _own_names(X)
    is_own_name = label in own_names and len(names) > 1
    name = names[own_names.index(label)] if is_own_name else label_name(label, names, title)
    if not len(frame):
        raise ValueError(f"{title} has no rows")
    labels = _labels(frame[:, names.index(name)], name)
    target = target_of(labels, name, title, task)
    apart = hold_out(group, split)
    apart.check(names, name, title)
    columns = frame_columns(X, names=set(names) - {name, *apart.names}, rounding=rounding)
    table = training_table(title, columns, target, label=name, notes=apart.notes)
    groups, times = apart.of({own: _objects(frame[:, names.index(own)]) for own in apart.names}, title)
    return replace(table, groups=groups, times=times)


def frame_for_prediction(
    X: Any,
    label: str | None = None,
    *,
    names: Collection[str] | None = None,
    categorical: Collection[str] = frozenset(),
    rounding: str = "nearest",
) -> tuple[Table, tuple[str, ...]]:
    """Return a data frame as `read_features` returns a file, and the names of all its columns but the label's.

    The parameters are those of `frame_columns`; without a label `y` is empty.
    """
    frame, all_names = _opened(X)
    if not len(frame):
        raise ValueError(f"{TITLE} has no rows")
    name = None if label is None else label_name(label, all_names, TITLE)
    others = tuple(other for other in all_names if other != name)
    wanted = others if names is None else set(names) & set(others)
    columns = frame_columns(X, names=wanted, categorical=categorical, rounding=rounding)
    y = np.zeros(0) if name is None else _labels(frame[:, all_names.index(name)], name).cells
    if name is not None:
        check_present(y, label_column(name, TITLE), frozenset())
    return Table(TITLE, tuple(columns), tuple(columns.values()), y, None), others


def _opened(X: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the frame as narwhals has it, and the names of its columns."""
    if not is_frame(X):
        raise TypeError(_not_a_frame(X))
    import narwhals.stable.v1 as nw

    names = _names_of(X)  # first, as narwhals refuses names that are there twice in words of its own
    return nw.from_native(X, eager_only=True), names


def _not_a_frame(X: Any) -> str:
    loads = [f"; call its {method}() first" for method in ("collect", "compute") if hasattr(type(X), method)]
    hint = loads[0] if loads else ""
    return f"a data frame is expected, not {type(X).__module__}.{type(X).__name__}{hint}"


def _own_names(X: Any) -> list[Any]:
    # pyarrow calls the arrays themselves columns.
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _names_of(X: Any) -> tuple[str, ...]:
    """Return the names of the columns, or their places if no name is a string."""
    names = _own_names(X)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{TITLE} has more than one column {twice[0]!r}: give each column a name of its own")
    are_strings = {isinstance(name, str) for name in names}
    if len(are_strings) == 2:
        odd = next(name for name in names if not isinstance(name, str))
        raise TypeError(
            f"some column names are strings and {odd!r} is not: make all of them strings, for example with "
            "X.columns = X.columns.astype(str)"
        )
    return tuple(names) if True in are_strings else tuple(map(str, range(len(names))))


def _column(series: Any, name: str, *, is_categorical: bool, rounding: str) -> Column:
    check_time()
    kind = _kind_of(series, name)
    if kind == "number" and not is_categorical:
        return _object_numbers(series, rounding) if _is_of_objects(series) else _numbers(series, rounding)
    codes, values = distinct_of(series)
    declared = None
    if kind == "category":
        _check_categories(values, series, name)
        if _declares_order(series):
            declared = [text_of(value) for value in series.cat.get_categories().to_list()]
    return categorical_of(codes, [text_of(value) for value in values], declared, missing=frozenset())


def _declares_order(series: Any) -> bool:
    """Return whether the categories have an order of their own, and not that in which they occur."""
    if series.implementation.is_pandas_like():
        return hasattr(series.to_native(), "cat")  # which a dictionary of pyarrow in a frame of pandas lacks
    return str(series.dtype).startswith("Enum")


def _is_of_objects(series: Any) -> bool:
    """Return whether only the values tell what a column holds."""
    import narwhals.stable.v1 as nw

    return series.dtype in (nw.Object, nw.Unknown)


def _kind_of(series: Any, name: str) -> FrameKind:
    """Return what a column holds; refuse what is neither numbers nor text, but for single categories."""
    import narwhals.stable.v1 as nw

    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "number"
    if dtype == nw.String:
        return "text"
    if _is_of_objects(series):
        return _kind_of_objects(series, name)
    if dtype in (nw.Categorical, nw.Enum):
        return "category"
    type_name = str(dtype).partition("(")[0]
    raise ValueError(f"column {name!r} is of the type {dtype}: {REMEDIES.get(type_name, DROP_IT)}")


def _kind_of_objects(series: Any, name: str) -> FrameKind:
    types = set(map(type, series.drop_nulls().to_list()))
    if types <= set(NUMBERS):
        return "number"
    return "text" if types == {str} else _kind_of_values(cells_of(series), name)


def _check_categories(values: list[Any], series: Any, name: str) -> None:
    """Raise ValueError for categories that are neither numbers nor text."""
    types = set(map(type, values))
    if not (types <= {str} or types <= set(NUMBERS)):
        _kind_of_values(cells_of(series), name)


def _kind_of_values(cells: list[Any], name: str) -> FrameKind:
    """Return what a column holds by the types of its values."""
    examples = {type(cell): cell for cell in reversed(cells) if cell is not None}
    are_text = {issubclass(type_, str) for type_ in examples}
    odd = [value for type_, value in examples.items() if not issubclass(type_, (str, *NUMBERS))]
    if odd:
        raise ValueError(f"column {name!r} holds {short(odd[0])}, a {type(odd[0]).__name__}: {DROP_IT}")
    if len(are_text) == 2:
        text = next(value for value in examples.values() if isinstance(value, str))
        number = next(value for value in examples.values() if not isinstance(value, str))
        raise ValueError(
            f"column {name!r} holds text and numbers, such as {short(text)} and {short(number)}: {MIXED}"
        )
    return "text" if True in are_text else "number"


def _numbers(series: Any, rounding: str) -> NDArray[np.float32]:
    import narwhals.stable.v1 as nw

    is_null = np.asarray(series.is_null().to_numpy(), np.bool_)
    if str(series.dtype).startswith("Decimal"):  # whatever its precision
        series = series.cast(nw.Float64)
    if is_null.any():
        series = series.fill_null(False if series.dtype == nw.Boolean else 0)
    numbers = as_float32(np.asarray(series.to_numpy()), rounding)
    numbers[is_null] = np.nan
    return numbers


def _object_numbers(series: Any, rounding: str) -> NDArray[np.float32]:
    cells = np.empty(len(series), object)
    cells[:] = series.to_list()
    cells[np.asarray(series.is_null().to_numpy(), np.bool_)] = np.nan
    return as_float32(cells.astype(np.float64), rounding)


def _labels(series: Any, name: str) -> LabelColumn:
    import narwhals.stable.v1 as nw

    kind = _kind_of(series, name)
    if kind == "category":
        distinct = distinct_of(series)
        _check_categories(distinct.values, series, name)
        return LabelColumn(distinct.cells(), is_text=True)
    labels = _objects(series)
    is_number = kind == "number" and series.dtype != nw.Boolean and not any(isinstance(cell, bool) for cell in labels)
    return LabelColumn(labels, not is_number)


def _objects(series: Any) -> NDArray[Any]:
    cells = np.empty(len(series), object)
    cells[:] = cells_of(series)
    return cells
