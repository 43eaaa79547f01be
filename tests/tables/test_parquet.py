import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

from billhook.tables import Categorical, read_features, read_table


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
    with pytest.raises(ValueError, match="the label column 'y' is of the type date32"):
        read_table(tmp_path / "d.parquet", "y")
