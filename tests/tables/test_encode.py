"""Encoding against pandas and loops, and tables for models that there are."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.tables import Categorical, Table, encode, features_of, read_features, read_table


def table_of(codes, categories, y, task):
    column = Categorical(np.array(codes, np.int32), categories)
    number = np.arange(len(y), dtype=np.float32)
    return Table("t.csv", ("n", "c"), (number, column), np.array(y), task)


@given(st.data())
def test_one_hot_is_what_pandas_makes(data):
    categories = tuple(sorted(data.draw(st.sets(st.text(min_size=1), min_size=1, max_size=6))))
    codes = data.draw(st.lists(st.integers(-1, len(categories) - 1), min_size=1, max_size=30))
    X, encoding = encode(table_of(codes, categories, [0] * len(codes), "classification"))
    series = pd.Series(pd.Categorical.from_codes(codes, categories))
    np.testing.assert_array_equal(X[:, 0], np.arange(len(codes)))
    if len(categories) == 2:
        assert encoding.feature_names == ("n", f"c={categories[1]}")
        expected = pd.Series(codes).where(pd.Series(codes) >= 0).to_numpy(np.float32)[:, None]
    else:
        assert encoding.feature_names == ("n", *(f"c={category}" for category in categories))
        expected = pd.get_dummies(series).to_numpy(np.float32)
    np.testing.assert_array_equal(X[:, 1:], expected)


def order_of(encoding):
    return encoding.columns[1].categories


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_categories_are_ordered_by_their_mean_target(task):
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 9, 400)
    y = rng.normal(size=400) if task == "regression" else (rng.random(400) < 0.4).astype(int)
    X, encoding = encode(table_of(codes, tuple("abcdefghi"), y, task), "ordered")
    frame = pd.DataFrame({"c": [None if code < 0 else "abcdefghi"[code] for code in codes], "y": y})
    expected = frame.groupby("c")["y"].mean().sort_values(kind="stable")
    assert order_of(encoding) == tuple(expected.index)
    place = frame["c"].map({category: k for k, category in enumerate(expected.index)}).to_numpy(np.float32)
    np.testing.assert_array_equal(X[:, 1], place)


def test_of_more_classes_the_first_principal_direction_counts():
    rng = np.random.default_rng(1)
    codes = np.arange(700) % 7
    y = np.array(["u", "v", "w", "x"])[((codes + 1) * rng.random(700) * 0.8).astype(int) % 4]
    _, encoding = encode(table_of(codes, tuple("abcdefg"), y, "classification"), "ordered")
    shares = pd.crosstab(codes, y, normalize="index").to_numpy()  # as many rows of each: no weights needed
    pca = PCA(1, svd_solver="full").fit(shares)
    along = pca.transform(shares)[:, 0] * np.sign(pca.components_[0][np.argmax(np.abs(pca.components_[0]))])
    assert order_of(encoding) == tuple("abcdefg"[k] for k in np.argsort(along))


def test_rows_count_in_the_principal_direction():
    """As if each category's shares stood there once for each of its rows."""
    rng = np.random.default_rng(2)
    codes = rng.choice(6, 900, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    y = rng.integers(3, size=900) * (rng.random(900) < codes / 6)
    _, encoding = encode(table_of(codes, tuple("abcdef"), y, "classification"), "ordered")
    shares = pd.crosstab(codes, y, normalize="index").to_numpy()
    pca = PCA(1, svd_solver="full").fit(shares[codes])
    along = pca.transform(shares)[:, 0] * np.sign(pca.components_[0][np.argmax(np.abs(pca.components_[0]))])
    assert order_of(encoding) == tuple("abcdef"[k] for k in np.argsort(along))


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_equal_categories_stay_in_the_order_of_their_names(n_classes):
    y = np.repeat(np.arange(6) % max(n_classes, 2), 5) * 0.1
    task = "regression" if n_classes == 1 else "classification"
    _, encoding = encode(table_of(list(range(5)) * 6, tuple("abcde"), y, task), "ordered")
    assert order_of(encoding) == tuple("abcde")


def test_an_encoding_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="no encoding 'onehot'; did you mean 'one_hot'"):
        encode(table_of([0, 1], ("a", "b"), [0, 1], "classification"), "onehot")


@pytest.fixture
def trained(tmp_path):
    """A model of a table with every kind of column, the table's path, and its features."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 200),
            "version": rng.choice(["1", "1.0", "10", "beta"], 200),
            "sex": rng.choice(["f", "m"], 200),
            "y": rng.choice(["no", "yes"], 200),
        }
    )
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    table = read_table(path, "y")
    X, encoding = encode(table)
    forest = RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, table.y)
    return bh.pack(forest).with_encoding(encoding), frame, X


def test_a_model_reads_the_table_it_was_trained_on(trained, tmp_path):
    packed, frame, X = trained
    for name, write in (("a.csv", frame.to_csv), ("a.parquet", frame.to_parquet)):
        shuffled = frame[["y", "sex", "version", "age"]].assign(other="x")
        getattr(shuffled, write.__name__)(tmp_path / name, index=False)
        table = read_features(tmp_path / name, "y", categorical=packed.encoding.categorical)
        np.testing.assert_array_equal(features_of(table, packed), X)


def test_categories_that_look_like_numbers_stay_names(trained, tmp_path):
    """The last rows hold no letters, so that nothing but the model says that 1 and 1.0 are names."""
    packed, frame, X = trained
    part = frame["version"].isin(["1", "1.0", "10"]).to_numpy()
    frame[part].to_csv(tmp_path / "part.csv", index=False)
    table = read_features(tmp_path / "part.csv", categorical=packed.encoding.categorical)
    np.testing.assert_array_equal(features_of(table, packed), X[part])


def test_what_a_table_lacks_is_said(trained, tmp_path):
    packed, frame, _ = trained
    frame.drop(columns="sex").to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(ValueError, match="lacks the column 'sex'"):
        features_of(read_features(tmp_path / "few.csv"), packed)
    frame.assign(age="1,5").to_csv(tmp_path / "text.csv", index=False)
    with pytest.raises(ValueError, match=r"'age' of .* holds '1,5' in row 1, which is not a number; write decimals"):
        features_of(read_features(tmp_path / "text.csv", categorical=packed.encoding.categorical), packed)
    frame.assign(age=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "date.parquet")
    with pytest.raises(ValueError, match=r"lacks the column 'age', .*: it is of the type timestamp"):
        features_of(read_features(tmp_path / "date.parquet", categorical=packed.encoding.categorical), packed)


def test_a_forest_without_names_takes_all_numbers(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    forest = bh.as_forest(RandomForestClassifier(2, random_state=0).fit(X, X[:, 0] > 0))
    pd.DataFrame(X, columns=["a", "b"]).assign(word="x").to_csv(tmp_path / "rows.csv", index=False)
    np.testing.assert_array_equal(features_of(read_features(tmp_path / "rows.csv"), forest), X)
