"""Data frames of three libraries, and the same rows in files."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.tables import (
    Categorical,
    _cells,
    encode,
    features_of,
    frame_columns,
    is_frame,
    read_features,
    read_table,
    table_of,
    table_of_frame,
)

NAN = np.nan
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=LIBRARIES)
def frame_of(request):
    """Make a data frame of a library from a dict of lists."""
    return LIBRARIES[request.param]


def assert_same(left, right):
    if isinstance(left, Categorical):
        assert isinstance(right, Categorical)
        assert left.categories == right.categories
        left, right = left.codes, right.codes
    assert left.dtype == right.dtype
    np.testing.assert_array_equal(left, right)


def texts_of(column):
    return [None if code < 0 else column.categories[code] for code in column.codes]


def test_frames_are_told_from_arrays(frame_of):
    assert is_frame(frame_of({"a": [1.0]}))
    for other in (np.zeros((1, 1)), [[1.0]], {"a": [1.0]}, pd.Series([1.0]), pl.Series([1.0]), None, "rows.csv"):
        assert not is_frame(other)
        with pytest.raises(TypeError, match="a data frame is expected, not "):
            frame_columns(other)


@pytest.mark.parametrize(
    "take",
    [
        is_frame,
        frame_columns,
        lambda frame: bh.fit_table(frame, "a", budget=500),
        lambda frame: bh.CompactForestClassifier(budget=500).fit(frame, [0, 1]),
    ],
)
def test_lazy_frames_are_to_be_collected(take):
    with pytest.raises(TypeError, match=r"LazyFrame; call its collect\(\) first"):
        take(pl.LazyFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}))


def test_a_model_with_a_category_called_na_and_an_empty_one_becomes_c(frame_of, tmp_path):
    """Countries by their codes: Namibia is NA."""
    rows = {"country": ["NA", "", "DE", None] * 10, "y": ["a", "b", "b", "a"] * 10}
    table = table_of_frame(frame_of(rows), "y")
    X, encoding = encode(table)
    assert encoding.columns[0].categories == ("", "DE", "NA")
    packed = bh.pack(RandomForestClassifier(3, random_state=0).fit(X, table.y), X=X, y=table.y)
    packed = packed.with_encoding(encoding)
    np.testing.assert_array_equal(packed.predict(features_of(frame_of(rows), packed)), table.y)
    bh.emit(packed, tmp_path / "c", X=X)
    header = (tmp_path / "c" / "model.h").read_text()
    for name in ("NA", "DE", "MISSING"):
        assert f"MODEL_COUNTRY_{name}" in header


def test_every_kind_of_column_with_missing_values(frame_of):
    frame = frame_of(
        {
            "int": [2**24 + 1, None, -3],
            "float": [0.1, None, 1e300],
            "bool": [True, None, False],
            "text": ["b", None, " a "],
            "marked": ["?", None, "NA"],
            "empty": ["", None, "x"],
            "nothing": [None, None, None],
        }
    )
    columns = frame_columns(frame)
    assert list(columns) == ["int", "float", "bool", "text", "marked", "empty", "nothing"]
    assert_same(columns["int"], np.array([2**24, NAN, -3], np.float32))
    assert_same(columns["float"], np.array([0.1, NAN, np.inf], np.float32))
    assert_same(columns["bool"], np.array([1, NAN, 0], np.float32))
    assert_same(columns["text"], Categorical(np.array([1, -1, 0], np.int32), ("a", "b")))
    assert_same(columns["marked"], Categorical(np.array([0, -1, 1], np.int32), ("?", "NA")))
    assert_same(columns["empty"], Categorical(np.array([0, -1, 1], np.int32), ("", "x")))
    assert_same(columns["nothing"], np.full(3, NAN, np.float32))


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "Float32", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_nullable_numbers_of_pandas(dtype):
    frame = pd.DataFrame({"a": pd.array([1, None, 200], dtype=dtype)})
    assert_same(frame_columns(frame)["a"], np.array([1, NAN, 200], np.float32))


@pytest.mark.parametrize("dtype", ["string", "string[pyarrow]", "object", "category", "str"])
def test_text_of_pandas(dtype):
    frame = pd.DataFrame({"a": pd.Series(["b", None, "a"], dtype=dtype)})
    assert_same(frame_columns(frame)["a"], Categorical(np.array([1, -1, 0], np.int32), ("a", "b")))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.5, NAN], dtype=np.float16),
        pd.arrays.SparseArray([1.5, NAN]),
        pd.Series([1.5, None], dtype=object),
        pd.Series([decimal.Decimal("1.5"), None], dtype=object),
        pd.Series([np.float64(1.5), pd.NA], dtype=object),
        pl.Series([1.5, None]).cast(pl.Decimal(8, 2)),
        pa.array([decimal.Decimal("1.5"), None]),
        pa.array([1.5, None], pa.float32()),
        pl.Series([1.5, NAN], dtype=pl.Float32),
    ],
)
def test_numbers_of_every_type(column):
    make = (
        pl.DataFrame if isinstance(column, pl.Series) else pa.table if isinstance(column, pa.Array) else pd.DataFrame
    )
    assert_same(frame_columns(make({"a": column}))["a"], np.array([1.5, NAN], np.float32))


@pytest.mark.parametrize(
    ("frame", "categories"),
    [
        (pd.DataFrame({"a": pd.Categorical(["z", None, "b"], categories=["z", "unseen", "b"])}), ("z", "b")),
        (pd.DataFrame({"a": pd.Categorical(["z", None, "b"], categories=["z", "b"], ordered=True)}), ("z", "b")),
        (pl.DataFrame({"a": pl.Series(["z", None, "b"], dtype=pl.Enum(["z", "unseen", "b"]))}), ("z", "b")),
        # These number their categories as they occur, which declares no order.
        (pl.DataFrame({"a": pl.Series(["z", None, "b"], dtype=pl.Categorical)}), ("b", "z")),
        (pa.table({"a": pa.array(["z", None, "b"]).dictionary_encode()}), ("b", "z")),
    ],
)
def test_declared_categories_stay_in_their_order(frame, categories):
    column = frame_columns(frame)["a"]
    assert column.categories == categories
    assert texts_of(column) == ["z", None, "b"]


def test_categories_that_are_numbers_are_text():
    frame = pd.DataFrame({"a": pd.Categorical([10, 2, None]), "b": pd.Categorical([1.0, 2.5, 1.0])})
    a, b = frame_columns(frame).values()
    assert (a.categories, texts_of(a)) == (("2", "10"), ["10", "2", None])
    assert (b.categories, texts_of(b)) == (("1", "2.5"), ["1", "2.5", "1"])


def test_numbers_are_categorical_where_a_model_asks_for_it(frame_of):
    frame = frame_of({"a": [10.0, 2.5, None], "b": [True, None, False], "c": [1, 2, 3]})
    columns = frame_columns(frame, categorical={"a", "b"})
    assert (columns["a"].categories, texts_of(columns["a"])) == (("10", "2.5"), ["10", "2.5", None])
    assert texts_of(columns["b"]) == ["true", None, "false"]
    assert_same(columns["c"], np.array([1, 2, 3], np.float32))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            [datetime.date(2020, 1, 1)] * 2,
            "column 'a' (is of the type Date|holds datetime.date).*turn it into numbers",
        ),
        (
            [datetime.datetime(2020, 1, 1)] * 2,
            "column 'a' is of the type Datetime.*turn it into numbers, for example",
        ),
        (
            [datetime.timedelta(1)] * 2,
            "column 'a' is of the type Duration.*turn it into numbers, for example its sec",
        ),
        ([datetime.time(1)] * 2, "column 'a' (is of the type Time|holds datetime.time).*turn it into numbers"),
        ([[1, 2], [3, 4]], "column 'a' (is of the type List|holds \\[1, 2\\], a list)"),
        ([{"b": 1}, {"b": 2}], "column 'a' (is of the type Struct|holds {'b': 1}, a dict)"),
        ([b"x", b"y"], "column 'a' (is of the type Binary|holds b'x', a bytes)"),
    ],
)
def test_what_is_neither_number_nor_text_is_refused(frame_of, cells, message):
    frame = frame_of({"a": cells, "b": [1, 2]})
    with pytest.raises(ValueError, match=message):
        frame_columns(frame)
    assert list(frame_columns(frame, names=["b"])) == ["b"]


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (pd.DataFrame({"a": [1, 2.5, "x"]}), ValueError, "holds text and numbers, such as 'x' and 2.5: cast the"),
        (pd.DataFrame({"a": [1j, 2j]}), ValueError, "column 'a' holds 1j, a complex"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=2)}), ValueError, "column 'a' holds .*, a Period"),
        (
            pd.DataFrame({"a": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"]))}),
            ValueError,
            "column 'a' holds .*, a Timestamp",
        ),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "more than one column 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "more than one column 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", 3]), TypeError, "some column names are strings and 3 is not"),
    ],
)
def test_odd_frames_are_refused(frame, error, message):
    with pytest.raises(error, match=message):
        frame_columns(frame)


def test_names_that_are_no_strings_do_not_count():
    frame = pd.DataFrame([[1.0, 5.0, 0], [2.0, 6.0, 1], [3.0, 5.0, 1]], columns=[7, 3, 9])
    assert list(frame_columns(frame)) == ["0", "1", "2"]
    table = table_of_frame(frame, 9)
    assert table.names == ("0", "1")
    assert table.y.tolist() == [0, 1, 1]


@pytest.fixture
def rows():
    """Columns of every kind that CSV knows too, some of which no model can use."""
    rng = np.random.default_rng(0)
    n_rows = 120
    some = rng.random((n_rows, 3)) < 0.1
    colour = rng.choice(["red", "green", "blue"], n_rows)
    number = rng.normal(size=n_rows)
    return {
        "id": list(range(1, n_rows + 1)),
        "number": [None if missing else float(cell) for cell, missing in zip(number, some[:, 0], strict=True)],
        "count": [None if missing else int(cell) for cell, missing in zip(number * 9, some[:, 1], strict=True)],
        "colour": [None if missing else str(cell) for cell, missing in zip(colour, some[:, 2], strict=True)],
        "same": [7] * n_rows,
        "word": ["x"] * n_rows,
        "nothing": [None] * n_rows,
        "key": [f"key {k}" for k in range(n_rows)],
        "kind": [str(cell) for cell in rng.choice(["yes", "no"], n_rows)],
        "price": [float(cell) for cell in rng.normal(size=n_rows)],
    }


@pytest.mark.parametrize("label", ["kind", "price", "count"])
@pytest.mark.parametrize("task", [None, "classification", "regression"])
def test_a_frame_is_the_table_that_its_file_holds(frame_of, rows, label, task, tmp_path):
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    pl.DataFrame(rows).write_parquet(tmp_path / "rows.parquet")
    results = []
    for read in (
        lambda: read_table(tmp_path / "rows.csv", label, task=task),
        lambda: read_table(tmp_path / "rows.parquet", label, task=task),
        lambda: table_of_frame(frame_of(rows), label, task=task),
    ):
        try:
            results.append(read())
        except ValueError as error:
            results.append(str(error))
    *files, table = results
    if isinstance(table, str):
        for file, name in zip(files, ("rows.csv", "rows.parquet"), strict=True):
            expected = file.replace(str(tmp_path / name), "the data frame")
            # What is missing has no name in a file of text.
            assert table.replace("None in row", "'' in row") == expected.replace("None in row", "'' in row")
        return
    for file in files:
        assert (table.names, table.task, table.notes, table.left_out) == (
            file.names,
            file.task,
            file.notes,
            file.left_out,
        )
        assert table.y.dtype == file.y.dtype
        assert table.y.tolist() == file.y.tolist()
        for ours, theirs in zip(table.columns, file.columns, strict=True):
            assert_same(ours, theirs)
    assert list(table.left_out) == ["id", "same", "word", "nothing", "key"]
    assert "Dropped column 'id': it numbers the rows." in table.notes


CELLS = {
    "number": st.none() | st.floats(width=32, allow_nan=False),
    "whole": st.none() | st.integers(-(2**53), 2**53),
    # What marks a missing value in files is a value in frames.
    "text": st.none()
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5).filter(
        lambda text: not _cells.is_missing(text)
    ),
}


@given(st.data())
def test_columns_are_those_of_a_parquet_file(tmp_path_factory, data):
    n_rows = data.draw(st.integers(1, 8))
    kinds = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    types = {"number": pl.Float64, "whole": pl.Int64, "text": pl.String}
    frame = pl.DataFrame(
        [
            pl.Series(f"{k}", data.draw(st.lists(CELLS[kind], min_size=n_rows, max_size=n_rows)), dtype=types[kind])
            for k, kind in enumerate(kinds)
        ]
    )
    path = tmp_path_factory.getbasetemp() / "drawn.parquet"
    frame.write_parquet(path)
    expected = read_features(path)
    for library in (frame, frame.to_arrow(), frame.to_pandas()):
        columns = frame_columns(library)
        assert tuple(columns) == expected.names
        for ours, theirs in zip(columns.values(), expected.columns, strict=True):
            if isinstance(theirs, Categorical) and not theirs.categories and not isinstance(ours, Categorical):
                assert np.isnan(ours).all()  # pandas does not say of what type nothing is
            else:
                assert_same(ours, theirs)


def test_labels_of_a_frame_keep_their_type(frame_of):
    for labels, kind in ((["1", "2"] * 2, "U"), ([True, False] * 2, "b"), ([0.5, 2.25] * 2, "f"), ([1, 2] * 2, "i")):
        table = table_of_frame(frame_of({"a": [1.0, 2.0, 3.0, 4.0], "y": labels}), "y")
        assert table.y.dtype.kind == kind
        assert table.y.tolist() == labels
        assert table.task == ("regression" if kind == "f" else "classification")


def test_labels_beside_a_frame(frame_of, rows):
    kind = rows.pop("kind")
    table = table_of(frame_of(rows), kind, title="X")
    whole = table_of_frame(frame_of(rows | {"kind": kind}), "kind")
    assert (table.names, table.task, table.left_out) == (whole.names, "classification", whole.left_out)
    assert table.y.tolist() == kind
    # With a task nothing is made of them.
    assert table_of(frame_of(rows), [1.0, 2.0] * 60, task="classification").y.dtype == np.float64
    assert table_of(frame_of(rows), [1, 2] * 60, task="regression").y.dtype == np.float64
    with pytest.raises(ValueError, match=r"one label for each of the 120 rows of X, not shape \(2,\)"):
        table_of(frame_of(rows), [1, 2], title="X")
    with pytest.raises(ValueError, match="X has no column to learn from: 'same' is 7 in every row"):
        table_of(frame_of({"same": [7, 7]}), [1, 2], task="classification", title="X")


@pytest.mark.parametrize(
    ("columns", "label", "message"),
    [
        ({"a": [1, 2], "size": [1, 2]}, "sise", "the data frame has no column 'sise'; did you mean 'size'"),
        ({"a": [1, 2]}, "a", "the data frame has no column beside 'a'"),
        ({"a": [1, 2], "y": [1, 1]}, "y", "the label column 'y' of the data frame is 1 in every row"),
        ({"a": [1, 2], "y": ["x", None]}, "y", "'y' of the data frame has 1 empty cell among 2, the first in row 2"),
        ({"a": [], "y": []}, "y", "the data frame has no rows"),
        ({"a": ["1,5", "2,5"], "y": [1, 2]}, "y", "column 'a' of the data frame holds '1,5' in row 1: write numbers"),
    ],
)
def test_frames_that_cannot_be_learned_from_are_refused(frame_of, columns, label, message):
    with pytest.raises(ValueError, match=message):
        table_of_frame(frame_of(columns), label)


@pytest.fixture
def trained(rows):
    rows = {name: rows[name] for name in ("number", "colour", "kind")} | {"flag": [True, None, False] * 40}
    table = table_of_frame(pl.DataFrame(rows), "kind")
    X, encoding = encode(table)
    forest = RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, table.y)
    return bh.pack(forest).with_encoding(encoding), rows, X


def test_a_model_takes_the_frame_it_was_trained_on(trained, frame_of):
    packed, rows, X = trained
    shuffled = {"when": [datetime.date(2020, 1, 1)] * 120} | {name: rows[name] for name in reversed(list(rows))}
    np.testing.assert_array_equal(features_of(frame_of(shuffled), packed), X)
    for name in ("number", "colour", "flag"):
        with pytest.raises(
            ValueError, match=f"the data frame lacks the column '{name}', which the model was trained"
        ):
            features_of(frame_of({other: rows[other] for other in rows if other != name}), packed)


def test_a_model_of_a_frame_takes_its_files(trained, tmp_path):
    """Booleans are text there."""
    packed, rows, X = trained
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    pl.DataFrame(rows).write_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        table = read_features(tmp_path / name, categorical=packed.encoding.categorical)
        np.testing.assert_array_equal(features_of(table, packed), X)


def test_a_model_of_a_file_takes_its_frame(rows, frame_of, tmp_path):
    rows = {"kind": rows["kind"], "flag": [True, False, None] * 40, "version": [1, 2, "beta"] * 40}
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    table = read_table(tmp_path / "rows.csv", "kind")
    X, encoding = encode(table)
    packed = bh.pack(RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, table.y))
    first = {"flag": rows["flag"][::3], "version": [1] * 40}  # numbers, as nothing here says what else there was
    np.testing.assert_array_equal(features_of(frame_of(first), packed.with_encoding(encoding)), X[::3])


@pytest.mark.parametrize("texts", [("false", "true"), ("False", "True"), ("FALSE", "TRUE")])
def test_booleans_of_a_frame_are_the_categories_of_a_file(texts, frame_of, tmp_path):
    flags = [k % 3 == 0 for k in range(30)]
    lines = "\n".join(f"{texts[flag]},{texts[flag] if k % 2 else 'unsure'},{k % 2}" for k, flag in enumerate(flags))
    (tmp_path / "rows.csv").write_text(f"flag,sure,y\n{lines}\n")
    table = read_table(tmp_path / "rows.csv", "y")
    X, encoding = encode(table)
    packed = bh.pack(RandomForestClassifier(3, random_state=0).fit(X, table.y)).with_encoding(encoding)
    assert not np.isnan(X).any()
    np.testing.assert_array_equal(features_of(frame_of({"flag": flags, "sure": flags}), packed)[1::2], X[1::2])


@pytest.mark.parametrize("texts", [("false", "true"), ("False", "True"), ("FALSE", "TRUE")])
def test_an_estimator_fitted_to_booleans_takes_a_file(texts, tmp_path):
    flags = [k % 3 == 0 for k in range(60)]
    frame = pd.DataFrame({"flag": flags, "number": [k % 7 for k in range(60)]})
    model = bh.CompactForestClassifier(budget=300, n_trials=1, random_state=0).fit(frame, np.array(flags, int))
    lines = "\n".join(f"{texts[flag]},{k % 7}" for k, flag in enumerate(flags))
    (tmp_path / "rows.csv").write_text(f"flag,number\n{lines}\n")
    X = features_of(read_features(tmp_path / "rows.csv"), model.packed_)
    np.testing.assert_array_equal(X, features_of(frame, model.packed_))
    np.testing.assert_array_equal(X[:, 0], flags)
    np.testing.assert_array_equal(model.packed_.predict(X), flags)


def test_unknown_and_missing_cells(trained, frame_of):
    packed, _, _ = trained
    frame = frame_of({"number": [None, 1.0], "colour": ["violet", None], "flag": [None, None]})
    colours = [name.startswith("colour=") for name in packed.feature_names]
    X = features_of(frame, packed)
    assert not X[:, colours].any()
    assert np.isnan(X[:, packed.feature_names.index("flag")]).all()
    assert packed.predict(X).shape == (2,)
    for odd in (["1", "2"], ["x", None]):
        with pytest.raises(
            ValueError, match=f"column 'number' of the data frame holds '{odd[0]}' in row 1, which is"
        ):
            features_of(frame_of({"number": odd, "colour": ["red"] * 2, "flag": [True] * 2}), packed)


def test_a_forest_without_an_encoding_takes_columns_by_name(frame_of):
    X = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    named = RandomForestClassifier(2, random_state=0).fit(pd.DataFrame(X, columns=["a", "b"]), X[:, 0] > 0)
    frame = frame_of({"word": ["x"] * 20, "b": X[:, 1].tolist(), "a": X[:, 0].tolist()})
    np.testing.assert_array_equal(features_of(frame, bh.as_forest(named)), X)
    unnamed = RandomForestClassifier(2, random_state=0).fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(features_of(frame, bh.as_forest(unnamed)), X[:, ::-1])
