"""Columns of data frames by their different values, against a twin that looks at every cell."""

import datetime
import fractions
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from billhook.tables import Categorical, _frames, frame_columns
from naive import frames as naive

DAY = datetime.date(2020, 1, 1)
TEXTS = ["b", None, " b ", "", "a", " ", "NA", "?", "b", "a\0b", "a\0c", "é", "1", "1.0", None, "True", "nan"]
# Longer than what a library looks at to guess what a column of objects holds.
LATE = ["x", "y"] * 100
FLOATS = [0.0, -0.0, 1.0, np.nan, -0.0, 1e300, 2.5, np.inf]


def objects(cells):
    column = np.empty(len(cells), object)
    column[:] = cells
    return pd.DataFrame({"a": pd.Series(column, dtype=object)})


def pandas_of(cells, dtype):
    return pd.DataFrame({"a": pd.Series(cells, dtype=dtype)})


def polars_of(cells, dtype):
    return pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})


FRAMES = {
    "texts": objects(TEXTS),
    "texts and NaN": objects([np.nan, *TEXTS, pd.NA, float("nan"), pd.NaT]),
    "texts of numpy": objects([np.str_("b"), "b", np.str_("a")]),
    "texts below nothing": objects([None] * 150 + TEXTS),
    "surrogates": objects(["\ud800", "a", "\ud801"]),
    "late numbers": objects([*LATE, 1, True, 1.0, 0.0, -0.0, np.float32(0.1), None]),
    "late dates": objects([*LATE, DAY, None, DAY]),
    "late lists": objects([*LATE, [1], [2]]),
    "text and numbers": objects([None, 1, "x", 2.5, True, "y", 3]),
    "text and NaN of decimals": objects([Decimal("NaN"), "x", "y", "x"]),
    "numbers": objects([1, 2.5, True, None, np.nan, pd.NA, 10**30, -0.0, Decimal("0.1"), 1e300]),
    "numbers of numpy": objects([np.float32(0.1), np.int8(3), np.bool_(True), None, np.float64(np.nan)]),
    "too large": objects([1, 10**400]),
    "booleans": objects([True, None, False, True]),
    "equal numbers": objects([True, 1, 1.0, 0, False, -0.0, Decimal(1)]),
    "complex": objects([1, 1 + 0j, 2]),
    "fractions": objects([1, 2, fractions.Fraction(1)]),
    "dates": objects([DAY, None, datetime.datetime(2020, 1, 1)]),
    "dates and text": objects(["x", DAY, "y", 1]),
    "lists": objects([[1], [2]]),
    "bytes": objects([b"x", "x"]),
    "nothing": objects([None, np.nan]),
    "no rows": objects([]),
    **{
        f"pandas {dtype}": pandas_of(TEXTS, dtype)
        for dtype in ("str", "string", "string[python]", "string[pyarrow]", "category", pd.ArrowDtype(pa.string()))
    },
    "pandas str, no rows": pandas_of([], "str"),
    "pandas category, no rows": pandas_of([], "category"),
    "a row twice": pandas_of(TEXTS, "str").set_index(pd.Index([7] * len(TEXTS))),
    **{f"pandas {dtype}": pandas_of([3, None, 1, 3], dtype) for dtype in ("Int64", "UInt8", "int64[pyarrow]")},
    **{f"pandas {dtype}": pandas_of(FLOATS, dtype) for dtype in ("float64", "Float64", "double[pyarrow]")},
    "pandas float32": pandas_of([0.1, np.nan, -0.0, 0.0, 0.1], "float32"),
    "pandas float16": pandas_of([0.1, np.nan, -0.0, 0.0], "float16"),
    "pandas large": pandas_of([2**63 - 1, -(2**63), 2**53 + 1], "int64"),
    **{f"pandas {dtype}": pandas_of([True, None, False], dtype) for dtype in ("boolean", "bool[pyarrow]")},
    "sparse": pd.DataFrame({"a": pd.arrays.SparseArray([1.5, np.nan, 0.0, 1.5])}),
    "dates of pandas": pandas_of(["2020-01-01", None], "datetime64[ns]"),
    "declared": pd.DataFrame({"a": pd.Categorical(["z", None, "b"], categories=["z", "unseen", " z", "b"])}),
    "declared alike": pd.DataFrame({"a": pd.Categorical(["z", " z", "b"], categories=["b", " z", "z"])}),
    "declared numbers": pd.DataFrame({"a": pd.Categorical([10, 2.5, None, 10], categories=[10, 3, 2.5])}),
    "declared floats": pd.DataFrame({"a": pd.Categorical([1.0, 2.5, np.nan])}),
    "declared booleans": pd.DataFrame({"a": pd.Categorical([True, False, None])}),
    "declared dates": pd.DataFrame({"a": pd.Categorical(pd.to_datetime(["2020-01-01", None, "2021-01-01"]))}),
    "declared of all kinds": pd.DataFrame({"a": pd.Categorical(np.array(["x", 1, DAY, "y", 2.5], object))}),
    "declared mixed": pd.DataFrame({"a": pd.Categorical(np.array(["x", 1, "y", 2.5, 1], object))}),
    "intervals": pd.DataFrame({"a": pd.cut([1.0, 5.0, 9.0, np.nan], 2)}),
    "dictionary in pandas": pandas_of(["b", None, "a"], pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    "polars text": polars_of(TEXTS, pl.String),
    "polars categories": polars_of(TEXTS, pl.Categorical),
    "polars categories far on": polars_of([*map(str, range(50)), "x", None, "x", "w"], pl.Categorical).tail(4),
    "polars declared": polars_of(["z", None, "b", "z"], pl.Enum(["z", "unseen", "b"])),
    "polars text, no rows": polars_of([], pl.String),
    "polars nothing": polars_of([None, None], pl.String),
    "polars objects": polars_of([True, None, 2], pl.Object),
    "polars object texts": polars_of(["b", None, "a", float("nan")], pl.Object),
    "polars numbers": polars_of(FLOATS, pl.Float64),
    "polars dates": polars_of([DAY, None], pl.Date),
    "pyarrow text": pa.table({"a": pa.array(TEXTS)}),
    "pyarrow large text": pa.table({"a": pa.array(TEXTS, pa.large_string())}),
    "pyarrow parts": pa.table({"a": pa.chunked_array([["b", "a"], [], [None, "c", "a"]])}),
    "pyarrow no parts": pa.table({"a": pa.chunked_array([], pa.string())}),
    "pyarrow dictionary": pa.table({"a": pa.array(TEXTS).dictionary_encode()}),
    "pyarrow dictionaries": pa.table(
        {"a": pa.chunked_array([pa.array(part).dictionary_encode() for part in (["b", "a"], ["a", None, "c"])])}
    ),
    "pyarrow dictionary with null": pa.table(
        {"a": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["b", None, "a"]))}
    ),
    "pyarrow dictionary of numbers": pa.table({"a": pa.array(FLOATS).dictionary_encode()}),
    "pyarrow numbers": pa.table({"a": pa.array(FLOATS)}),
    "pyarrow dates": pa.table({"a": pa.array([DAY, None])}),
    "pyarrow nothing": pa.table({"a": pa.array([None, None])}),
}


def result(function, *args, **options):
    """Return what a function returns, in plain values that can be compared, or its error."""
    try:
        column = function(*args, **options)
    except (ValueError, TypeError, OverflowError) as error:
        return type(error), str(error)
    if isinstance(column, Categorical):
        assert column.codes.dtype == np.int32
        return column.codes.tolist(), column.categories
    assert column.dtype == np.float32
    return column.tobytes()  # which tells 0.0 from -0.0


@pytest.mark.parametrize("name", FRAMES)
def test_columns_are_those_of_the_twin(name):
    frame = FRAMES[name]
    for is_categorical in (False, True):
        expected = result(naive.frame_column, frame, "a", is_categorical=is_categorical)
        asked = {"a"} if is_categorical else set()
        assert result(lambda asked=asked: frame_columns(frame, categorical=asked)["a"]) == expected


@pytest.mark.parametrize("name", FRAMES)
def test_labels_are_those_of_the_twin(name):
    def ours():
        series = _frames._opened(FRAMES[name])[0]["a"]
        cells, is_text = _frames._labels(series, "a")
        return cells.tolist(), is_text

    def plain(function):
        try:
            cells, is_text = function()
        except (ValueError, TypeError) as error:
            return type(error), str(error)
        return [(type(cell), cell) for cell in cells], is_text

    assert plain(ours) == plain(lambda: naive.frame_labels(FRAMES[name], "a"))


CELLS = st.sampled_from([*TEXTS, 0, 1, 1.0, True, False, -0.0, 0.5, np.nan, pd.NA, Decimal("0.5"), 10**20, DAY])


@given(st.lists(CELLS, max_size=12), st.lists(st.sampled_from([None, "x"]), max_size=2), st.booleans())
def test_drawn_objects(cells, first, is_categorical):
    frame = objects(first * 100 + cells)
    expected = result(naive.frame_column, frame, "a", is_categorical=is_categorical)
    assert result(lambda: frame_columns(frame, categorical={"a"} if is_categorical else ())["a"]) == expected
