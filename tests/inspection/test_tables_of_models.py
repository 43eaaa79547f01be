"""`predict_table` and `score_table`: the table is read in blocks, and what does not suit the model is said."""

import io
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

import billhook as bh
from billhook.tables import EncodedColumn, Encoding

pandas = pytest.importorskip("pandas")
COLOURS = ("blue", "green", "red")


@pytest.fixture(scope="module")
def shop():
    """A model on a colour, a number and a flag, and a table for it."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"colour": rng.choice([*COLOURS, None], 900), "age": rng.normal(size=900).astype(np.float32)}
    )
    y = np.where((frame["colour"] == "red") | (frame["age"] > 1), "buys", "leaves")
    encoding = Encoding((EncodedColumn("colour", "one_hot", COLOURS), EncodedColumn("age")))
    X = np.column_stack([*(frame["colour"] == colour for colour in COLOURS), frame["age"]]).astype(np.float32)
    forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=8, random_state=0).fit(X, y))
    return bh.pack(forest).with_encoding(encoding), frame, y


def written(model, table, **options):
    """Return what is predicted as a data frame, and what was said."""
    file = io.BytesIO()
    done = bh.predict_table(model, table, file, **options)
    file.seek(0)
    return pandas.read_csv(file), done


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_gets_the_predictions_of_python_in_its_order(shop, tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("billhook.tables._read.CELLS", 512)  # several blocks
    packed, frame, _ = shop
    table = tmp_path / f"rows.{suffix}"
    frame.to_csv(table, index=False) if suffix == "csv" else frame.to_parquet(table)
    found, done = written(packed, table, proba=True)
    assert found["prediction"].tolist() == packed.predict(frame).tolist()
    np.testing.assert_allclose(
        found[["probability_buys", "probability_leaves"]], packed.predict_proba(frame), atol=5e-7
    )
    assert done.n_rows == sum(done.counts.values()) == 900
    assert done.notes == ()


def test_decimal_commas_are_predicted_as_points_are(shop, tmp_path, monkeypatch):
    monkeypatch.setattr("billhook.tables._read.CELLS", 512)  # several blocks
    packed, frame, _ = shop
    frame = frame.assign(age=[*np.arange(600.0) / 1000 + 1, *frame["age"][600:]])  # 1,234 may be thousands
    frame.to_csv(tmp_path / "rows.csv", sep=";", decimal=",", index=False, float_format="%.3f")
    found, done = written(packed, tmp_path / "rows.csv")
    assert found["prediction"].tolist() == packed.predict(frame.round({"age": 3})).tolist()
    assert done.notes == ("Numbers of column 'age' have decimal commas.",)


def test_parquet_has_the_probabilities_in_full_and_the_labels_in_their_type(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    bh.predict_table(forest, X, tmp_path / "out.parquet", proba=True)
    found = pandas.read_parquet(tmp_path / "out.parquet")
    assert found["prediction"].dtype == np.int64
    np.testing.assert_array_equal(found.iloc[:, 1:], forest.predict_proba(X))


@pytest.mark.parametrize("kind", ["model file", "blob", "folder of a fit"])
def test_a_model_may_be_a_file_a_blob_or_the_folder_of_a_fit(shop, tmp_path, kind):
    packed, frame, _ = shop
    path = tmp_path / "model.bhk"
    path.write_bytes(packed.to_bytes()) if kind == "blob" else packed.save(path)
    found, _ = written(tmp_path if kind == "folder of a fit" else path, frame)
    assert found["prediction"].tolist() == packed.predict(frame).tolist()


def test_unknown_categories_and_surplus_columns_are_counted_and_said(shop):
    packed, frame, _ = shop
    table = frame.assign(colour=["mauve", "puce", *frame["colour"][2:]], id=1)
    _, done = written(packed, table)
    assert done.notes == (
        "Column 'id' is not known to the model: ignored.",
        "Column 'colour' has 2 cells with categories that the model does not know, 'mauve' the first: counted as "
        "missing.",
    )


def test_missing_columns_are_refused_with_the_nearest_name(shop):
    packed, frame, _ = shop
    with pytest.raises(ValueError, match="lacks 1 column that the model was trained on: 'age'; did you mean 'ages'"):
        written(packed, frame.rename(columns={"age": "ages"}))


def test_missing_columns_count_as_missing_cells_where_that_is_asked_for(shop):
    packed, frame, _ = shop
    found, done = written(packed, frame[["colour"]], fill_missing=True)
    assert found["prediction"].tolist() == packed.predict(frame.assign(age=np.nan)).tolist()
    assert done.notes == ("Column 'age' is not in the data frame: counted as missing in every row.",)
    found, _ = written(packed, frame[["age"]], fill_missing=True)
    assert found["prediction"].tolist() == packed.predict(frame.assign(colour=None)).tolist()
    with pytest.raises(ValueError, match="all there are: is this the right table"):
        written(packed, frame[["age"]].rename(columns={"age": "x"}), fill_missing=True)


def test_a_model_without_missing_values_counts_its_missing_cells_and_lacks_no_column(shop):
    packed, frame, _ = shop
    strict = bh.pack(packed.to_forest(), missing_values=False).with_encoding(packed.encoding)
    _, done = written(strict, frame.assign(age=[np.nan, *frame["age"][1:]]))
    assert done.notes == (
        "Column 'age' has 1 missing cell, and the model was made without missing values: counted as very large.",
    )
    with pytest.raises(ValueError, match="made without missing values: add the columns"):
        written(strict, frame[["colour"]], fill_missing=True)


def test_a_model_without_names_takes_all_columns_of_numbers():
    X, y = load_iris(return_X_y=True)
    forest = bh.as_forest(RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(X, y))
    frame = load_iris(as_frame=True).frame
    found, _ = written(forest, frame, label="target")
    assert found["prediction"].tolist() == forest.predict(X).tolist()
    with pytest.raises(ValueError, match="takes 4 features; the data frame has 5 columns of numbers"):
        written(forest, frame)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("out", "has no suffix that says what to write: name it"),
        ("out.xlsx", "tables are written as csv and parquet, not as .xlsx; name it out.csv"),
        ("none/out.csv", "there is no such folder"),
        ("there.csv", "is there already; force=True replaces it"),
        ("rows.csv", "is the table that is read"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_left(shop, tmp_path, out, message):
    packed, frame, _ = shop
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises((ValueError, OSError), match=message):
        bh.predict_table(packed, tmp_path / "rows.csv", tmp_path / out)
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", "there.csv"}


def test_a_cell_that_is_no_number_far_down_has_its_row_and_leaves_no_file(shop, tmp_path, monkeypatch):
    monkeypatch.setattr("billhook.tables._read.CELLS", 512)
    packed, _, _ = shop
    (tmp_path / "rows.csv").write_text("colour,age\n" + "red,1\n" * 700 + "red,old\n")
    with pytest.raises(ValueError, match="holds 'old' in row 701, which is not a number"):
        bh.predict_table(packed, tmp_path / "rows.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_regression_has_no_probabilities_and_its_span_is_told():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = bh.as_forest(GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0).fit(X, y))
    found, done = written(forest, X)
    np.testing.assert_array_equal(found["prediction"], forest.predict(X))
    assert done.span == (found["prediction"].min(), found["prediction"].max())
    with pytest.raises(TypeError, match="leave proba out"):
        written(forest, X, proba=True)


def test_scores_of_classes_are_those_of_scikit_learn(shop, tmp_path, monkeypatch):
    monkeypatch.setattr("billhook.tables._read.CELLS", 512)
    packed, frame, y = shop
    noisy = np.where(np.arange(900) % 7 == 0, "buys", y)
    frame.assign(y=noisy).to_csv(tmp_path / "rows.csv", index=False)
    scores = bh.score_table(packed, tmp_path / "rows.csv", "y")
    predicted, probability = packed.predict(frame), packed.predict_proba(frame)
    assert scores.measures == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(noisy, predicted),
            "balanced accuracy": metrics.balanced_accuracy_score(noisy, predicted),
            "log loss": metrics.log_loss(noisy, np.clip(probability, 1e-15, 1)),
        },
        rel=1e-9,
    )
    np.testing.assert_array_equal(scores.confusion, metrics.confusion_matrix(noisy, predicted))


def test_probabilities_that_are_none_are_made_some_for_the_log_loss():
    """A refined forest's may be negative, and need not be 1 together."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(X, y))
    odd = replace(forest, value=forest.value * 2.0 - 0.3)
    probability = np.maximum(odd.predict_proba(X), 0.0)
    probability /= probability.sum(axis=1, keepdims=True)
    scores = bh.score_table(odd, X.assign(y=y), "y")
    assert scores.measures["log loss"] == pytest.approx(metrics.log_loss(y, probability))


def test_labels_that_the_model_does_not_know_count_as_wrong(shop):
    packed, frame, y = shop
    odd = np.where(np.arange(900) < 3, "steals", y)
    scores = bh.score_table(packed, frame.assign(y=odd), "y")
    assert scores.measures["accuracy"] == pytest.approx(np.mean(packed.predict(frame) == odd))
    assert scores.classes == ("buys", "leaves", "steals")
    assert scores.confusion[2].sum() == 3
    assert set(scores.measures) == {"accuracy", "balanced accuracy"}
    assert "3 rows have labels that the model does not know: 'steals'" in scores.notes[-1]


def test_scores_of_regression_are_those_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = bh.as_forest(GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0).fit(X, y))
    scores, predicted = bh.score_table(forest, X.assign(y=y), "y"), forest.predict(X)
    assert scores.measures == pytest.approx(
        {
            "R2": metrics.r2_score(y, predicted),
            "mean absolute error": metrics.mean_absolute_error(y, predicted),
            "root mean squared error": metrics.root_mean_squared_error(y, predicted),
        }
    )
    assert scores.confusion is None


def test_equal_targets_have_no_r2():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = bh.as_forest(GradientBoostingRegressor(n_estimators=2, max_depth=1, random_state=0).fit(X, y))
    assert "R2" not in bh.score_table(forest, X.assign(y=1.0), "y").measures
