import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from billhook.datasets import load_table
from billhook.tables import encode, read_table


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "job": rng.choice(["cook", "clerk", "nurse"], n),
            "part": np.where(np.arange(n) % 4 == 0, "test", "train"),
        }
    )
    return frame.assign(kind=np.where((frame["age"] > 50) ^ (frame["job"] == "cook"), "yes", "no"))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_ones_own_becomes_a_data_set(frame, suffix, tmp_path):
    path = tmp_path / f"people.of.2020.{suffix}"
    frame = frame.drop(columns="part")
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    data = load_table(path, "kind")
    X, encoding = encode(read_table(path, "kind"))
    np.testing.assert_array_equal(data.X, X)
    assert data.X.dtype == np.float32
    assert data.encoding == encoding
    assert data.feature_names == ("age", "job=clerk", "job=cook", "job=nurse")
    assert data.y.tolist() == frame["kind"].tolist()
    assert data.classes.tolist() == ["no", "yes"]
    assert (data.name, data.train, data.test) == ("people.of.2020", None, None)
    assert repr(data) == "DataSet('people.of.2020': 60 rows, 4 features, 2 classes)"
    assert data.notes == read_table(path, "kind").notes


def test_folds_are_those_of_the_paper(frame, tmp_path):
    frame.drop(columns="part").to_csv(tmp_path / "rows.csv", index=False)
    data = load_table(tmp_path / "rows.csv", "kind")
    expected = StratifiedKFold(5, shuffle=True, random_state=12345).split(data.X, data.y)
    found = list(data.folds(5, 12345))
    assert len(found) == 5
    for (train, test), (wanted_train, wanted_test) in zip(found, expected, strict=True):
        assert train.tolist() == wanted_train.tolist()
        assert test.tolist() == wanted_test.tolist()


def test_numbers_to_predict_are_shuffled_into_folds(frame, tmp_path):
    frame.drop(columns="part").to_csv(tmp_path / "rows.csv", index=False)
    data = load_table(tmp_path / "rows.csv", "age", task="regression")
    assert data.classes is None
    assert "regression" in repr(data)
    expected = [test.tolist() for _, test in KFold(3, shuffle=True, random_state=1).split(data.X)]
    assert [test.tolist() for _, test in data.folds(3, 1)] == expected


def test_a_column_gives_the_split(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    data = load_table(tmp_path / "rows.csv", "kind", split="part", name="mine")
    ((train, test),) = data.folds(5, 0)
    assert test.tolist() == list(range(0, 60, 4))
    assert sorted([*train, *test]) == list(range(60))
    assert not any("part" in name for name in data.feature_names)
    assert repr(data) == "DataSet('mine': 60 rows, 4 features, 2 classes, split 45/15)"


def test_rows_with_missing_values_stay_or_go(frame, tmp_path):
    frame.loc[[0, 5], "age"] = None
    frame.loc[[5, 9], "job"] = None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    kept = load_table(tmp_path / "rows.csv", "kind", split="part")
    assert np.isnan(kept.X[:, 0]).nonzero()[0].tolist() == [0, 5]
    assert kept.X[5, 1:].tolist() == [0, 0, 0]
    data = load_table(tmp_path / "rows.csv", "kind", split="part", missing="remove")
    complete = frame.dropna()
    assert len(data.X) == len(complete) == 57
    assert data.X[:, 0].tolist() == complete["age"].tolist()
    assert data.y.tolist() == complete["kind"].tolist()
    assert data.test.tolist() == np.flatnonzero(complete["part"] == "test").tolist()
    assert "Removed 3 of 60 rows: they have missing values." in data.notes


def test_what_cannot_be_split_is_said(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"must hold train or test in every row, not \['clerk', 'cook', 'nurse'\]"):
        load_table(path, "kind", split="job")
    with pytest.raises(ValueError, match=r"must hold train or test in every row, not \['numbers'\]"):
        load_table(path, "kind", split="age")
    with pytest.raises(ValueError, match="did you mean 'part'"):
        load_table(path, "kind", split="parts")
    with pytest.raises(ValueError, match="called 'removed'; did you mean 'remove'"):
        load_table(path, "kind", missing="removed")
    frame.assign(part="train").to_csv(path, index=False)
    with pytest.raises(ValueError, match="is 'train' in every row: it is no split"):
        load_table(path, "kind", split="part")
    frame.assign(age=np.where(frame["part"] == "test", np.nan, 1.0 * np.arange(60))).to_csv(path, index=False)
    with pytest.raises(ValueError, match="no row with test in column 'part'"):
        load_table(path, "kind", split="part", missing="remove")


def test_folds_that_cannot_be_are_refused(frame, tmp_path):
    frame["kind"] = ["rare"] * 3 + ["often"] * 57
    frame.to_csv(tmp_path / "rows.csv", index=False)
    data = load_table(tmp_path / "rows.csv", "kind")
    with pytest.raises(ValueError, match="n is 5, but class 'rare' has 3 rows"):
        list(data.folds(5))
    with pytest.raises(ValueError, match="n must be from 2 to the number of rows, 60, not 1"):
        list(data.folds(1))
    assert len(list(data.folds(3))) == 3
