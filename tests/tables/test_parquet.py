import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

from billhook.tables import Categorical, read_features, read_table, table_of_frame


def test_every_type_is_read(tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 80
    frame = pd.DataFrame(
        {
            "float": rng.normal(size=n_rows),
            "int": pd.array(rng.integers(-9, 9, n_rows), dtype="Int64"),
            "decimal": [decimal.Decimal(k) / 4 for k in range(n_rows)],
            "bool": pd.array(rng.random(n_rows) < 0.5, dtype="boolean"),
            "text": rng.choice(["b", "a", "?"], n_rows),
            "category": pd.Categorical(rng.choice(["z", "x"], n_rows), categories=["z", "unseen", "x"]),
            "when": [datetime.date(2020, 1, 1)] * n_rows,
            "y": rng.integers(3, size=n_rows),
        }
    )
    frame.loc[::5, ["float", "int", "bool", "category"]] = None
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=17)
    (tmp_path / "rows.parquet").rename(tmp_path / "rows.data")  # what it is does not depend on its name
    table = read_table(tmp_path / "rows.data", "y")
    columns = dict(zip(table.names, table.columns, strict=True))
    assert table.left_out == {"when": "is of the type date32[day], which is not read"}
    for name in ("float", "int", "decimal"):
        expected = frame[name].astype(object).where(frame[name].notna(), np.nan).astype(np.float64)
        np.testing.assert_array_equal(columns[name], expected.to_numpy().astype(np.float32))

    def spelled(cell):
        return str(cell).lower() if isinstance(cell, bool | np.bool_) else str(cell)

    for name in ("bool", "text", "category"):
        assert isinstance(columns[name], Categorical)
        found = [None if code < 0 else columns[name].categories[code] for code in columns[name].codes]
        is_there = frame[name].notna() & (frame[name].astype(object) != "?")
        assert found == [spelled(cell) if there else None for cell, there in zip(frame[name], is_there, strict=True)]
    assert columns["category"].categories == ("x", "z")
    assert table.y.tolist() == frame["y"].tolist()


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["1", "2"] * 2, "U"),
        ([True, False] * 2, "b"),
        ([0.5, 2.25] * 2, "f"),
        ([1, 2] * 2, "i"),
        (pd.Categorical(["1", "2"] * 2), "U"),
    ],
)
def test_labels_keep_their_type(labels, kind, tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}).assign(y=labels)
    frame.to_parquet(tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet", "y")
    assert table.y.dtype.kind == kind
    assert table.y.tolist() == frame["y"].tolist()
    assert table.task == ("regression" if kind == "f" else "classification")


def test_numbers_are_read_as_names_where_a_model_asks_for_them(tmp_path):
    pd.DataFrame({"a": [10.0, 2.5, None], "b": [123456789, 7, 7]}).to_parquet(tmp_path / "rows.parquet")
    a, b = read_features(tmp_path / "rows.parquet", categorical=("a", "b")).columns
    assert (a.categories, a.codes.tolist()) == (("10", "2.5"), [0, 1, -1])
    assert (b.categories, b.codes.tolist()) == (("123456789", "7"), [0, 1, 1])


def test_what_is_no_parquet_is_said(tmp_path):
    (tmp_path / "rows.parquet").write_text("a,y\n1,2\n")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read_table(tmp_path / "rows.parquet", "y")
    (tmp_path / "rows.parquet").write_text("")
    with pytest.raises(ValueError, match="is empty"):
        read_table(tmp_path / "rows.parquet", "y")
    pd.DataFrame({"a": [1.0, 2.0], "y": [datetime.date(2020, 1, k) for k in (1, 2)]}).to_parquet(
        tmp_path / "d.parquet"
    )
    with pytest.raises(ValueError, match=r"the label column 'y' of .*d.parquet is of the type date32"):
        read_table(tmp_path / "d.parquet", "y")


def test_what_parquet_can_hold_and_a_model_cannot_is_left_out(tmp_path):
    """Views of text are text; dictionaries are what their values are."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    n_rows = 24
    texts = ["a", "b"] * (n_rows // 2)
    columns = {
        "half": pyarrow.array(np.arange(n_rows).astype(np.float16)),
        "unsigned": pyarrow.array(np.arange(n_rows, dtype=np.uint64) * np.uint64(2**59)),
        "large text": pyarrow.array(texts, pyarrow.large_string()),
        "view": pyarrow.array(texts, pyarrow.string_view()),
        "dictionary of numbers": pyarrow.array([k % 3 for k in range(n_rows)]).dictionary_encode(),
        "bytes": pyarrow.array([text.encode() for text in texts]),
        "dictionary of bytes": pyarrow.array([text.encode() for text in texts]).dictionary_encode(),
        "list": pyarrow.array([[1, 2]] * n_rows),
        "parts": pyarrow.array([{"a": 1}] * n_rows),
        "when": pyarrow.array([datetime.datetime(2020, 1, 1)] * n_rows),
        "time": pyarrow.array([datetime.timedelta(k) for k in range(n_rows)]),
        "nothing": pyarrow.nulls(n_rows),
        "digits": pyarrow.array([str(k) for k in range(n_rows)]),
        "y": pyarrow.array(texts),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet", "y")
    assert table.names == ("half", "unsigned", "large text", "view", "dictionary of numbers")
    assert table.columns[1].tolist() == [float(k * 2**59) for k in range(n_rows)]
    assert table.left_out["digits"].endswith("though all are numbers: make it a column of numbers")
    assert table.left_out["bytes"] == "is of the type binary, which is not read"
    assert table.left_out["nothing"] == "has no value in any row"


def test_an_infinite_class_is_refused(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, np.inf, 1.0]}).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"label column 'y' of .* has an infinite number in row 2"):
        read_table(tmp_path / "rows.parquet", "y")


def test_a_damaged_page_is_said(tmp_path):
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=500), "y": [0, 1] * 250})
    frame.to_parquet(path, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[1000] ^= 255
    path.write_bytes(data)
    with pytest.raises(OSError, match=r"rows.parquet is damaged: column 'a' cannot be read"):
        read_table(path, "y")


def test_the_index_of_a_shuffled_data_frame_is_left_out(tmp_path):
    frame = pd.DataFrame({"a": np.arange(40.0) ** 2, "y": np.arange(40) % 2}).sample(frac=0.75, random_state=0)
    frame.to_parquet(tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet", "y")
    assert table.left_out == {"__index_level_0__": "numbers the rows"}
    frame.to_csv(tmp_path / "rows.csv")
    again = table_of_frame(pd.read_csv(tmp_path / "rows.csv"), "y")
    assert "Dropped column 'Unnamed: 0': it numbers the rows." in again.notes
