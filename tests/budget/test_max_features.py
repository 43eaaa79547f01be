"""At most so many columns of a table: never more are read, and the labels of held-out rows do not choose them."""

import re
from dataclasses import replace

import numpy as np
import pandas
import pytest

import billhook as bh
from billhook.budget._column_trials import ColumnTrials
from billhook.budget._columns import ChosenColumns, column_order, notes_on_columns, with_chosen_columns
from billhook.budget._encoding import encode_table
from billhook.budget._fit import fit
from billhook.budget._splits import split_rows
from billhook.budget.report._page import page
from billhook.cli import main
from billhook.tables import EncodedColumn, Encoding, features_of, table_of_frame

N_ROWS = 600


def made_up(seed=0):
    """Return rows whose label is told by two columns together, neither of which tells anything alone, and a third."""
    random = np.random.default_rng(seed)
    a, b = random.random(N_ROWS), random.random(N_ROWS)
    kind = random.choice(["red", "green", "blue", "grey"], N_ROWS)
    told = ((a > 0.5) ^ (b > 0.5)) | (kind == "red")
    noise = {f"noise{k}": random.random(N_ROWS) for k in range(5)}
    told = np.where(random.random(N_ROWS) < 0.03, ~told, told)
    return pandas.DataFrame(noise | {"a": a, "kind": kind, "b": b, "label": np.where(told, "yes", "no")})


@pytest.fixture(scope="module")
def frame():
    return made_up()


@pytest.fixture(scope="module", params=["one_hot", "ordered"])
def three(request, frame):
    return bh.fit_table(frame, "label", budget=600, n_trials=2, max_features=3, categorical=request.param)


def test_the_columns_that_tell_the_label_are_read_and_no_others(three, frame):
    assert [column.name for column in three.packed.encoding.columns] == ["a", "kind", "b"]
    assert any(note == "The model reads 3 of 8 columns: 'a', 'kind', 'b'." for note in three.report.notes)
    few = frame[["a", "kind", "b"]]
    X = features_of(few, three.packed)
    assert X.shape[1] == three.packed.n_features
    assert np.mean(three.packed.predict(X) == frame["label"]) > 0.9


def test_the_c_takes_the_features_of_these_columns_only(three, tmp_path):
    three.save(tmp_path / "out")
    header = (tmp_path / "out" / "c" / "model.h").read_text()
    assert int(re.search(r"MODEL_N_FEATURES (\d+)", header)[1]) == three.packed.encoding.n_features
    assert "noise" not in header


def test_the_report_draws_the_score_over_the_number_of_columns(three):
    points = three.report.columns
    assert [point.n_columns for point in points] == [1, 2, 3, 4, 5, 8]
    assert [point.is_chosen for point in points] == [False, False, True, False, False, False]
    assert sorted(name for point in points for name in point.added) == sorted(
        ["a", "b", "kind", *(f"noise{k}" for k in range(5))]
    )
    assert points[2].score > points[0].score + 0.1
    html = page(three.report)
    assert html[html.index('id="columns-chart"') :].count('<circle class="dot') >= len(points)
    assert "noise4" in html


def test_scores_that_are_no_numbers_are_not_drawn(frame):
    def undefined_for_few(model, X, y):
        return np.nan if len(y) < 100 else np.mean(model.predict(X) == y)

    result = bh.fit_table(frame, "label", budget=300, n_trials=1, max_features=2, scoring=undefined_for_few)
    assert result.report.columns == ()
    assert "columns-chart" not in page(result.report)


def test_as_many_as_there_are_leave_nothing_out(frame):
    plain = bh.fit_table(frame, "label", budget=400, n_trials=1)
    for most in (8, 100):
        found = bh.fit_table(frame, "label", budget=400, n_trials=1, max_features=most)
        assert found.packed == plain.packed
        assert found.report.columns == ()
        assert f"max_features={most} leaves nothing out: there are 8 columns to learn from." in found.report.notes


@pytest.mark.parametrize("categorical", ["one_hot", "ordered"])
def test_labels_of_held_out_rows_choose_nothing(frame, categorical):
    table = table_of_frame(frame, "label")
    encoded = encode_table(table, 500, categorical=categorical)
    rows = with_chosen_columns(encoded, 2, seed=0, clock=None).rows
    split = split_rows(rows, 0, 0)
    y = rows.y.copy()
    y[split.held_out] = 1 - y[split.held_out]
    other = replace(table, y=rows.classes[y])
    others = with_chosen_columns(encode_table(other, 500, categorical=categorical), 2, seed=0, clock=None).rows
    before, after = rows.recode(split.train), others.recode(split.train)
    assert before.names == after.names
    assert np.array_equal(before.X, after.X, equal_nan=True)


def test_every_model_of_the_search_reads_at_most_so_many(frame):
    encoded = encode_table(table_of_frame(frame, "label"), 500, categorical="one_hot")
    chosen = with_chosen_columns(encoded, 2, seed=0, clock=None)
    result = fit(chosen.rows, 500, n_trials=3)
    for candidate in result.front:
        assert len(candidate.encoding.columns) == 2
        assert candidate.packed.feature_names == candidate.encoding.feature_names


def test_equal_rows_are_those_that_are_equal_in_all_columns(frame):
    few_values = frame.round({"a": 0, "b": 0})
    encoded = encode_table(table_of_frame(few_values, "label"), 500, categorical="one_hot")
    rows = with_chosen_columns(encoded, 3, seed=0, clock=None).rows
    assert encoded.rows.units is None
    assert rows.units is None
    assert rows.take(np.arange(300)).units is None


def test_the_features_of_a_column_are_not_looked_for_among_all_columns(monkeypatch):
    """With thousands of columns that took several times the time limit."""
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(random.random((60, 200))).add_prefix("x").assign(label=np.arange(60) % 2)
    chosen = with_chosen_columns(encode_table(table_of_frame(frame, "label"), 500), 2, seed=0, clock=None).rows.recode
    n_features, asked = EncodedColumn.n_features, []
    monkeypatch.setattr(
        EncodedColumn, "n_features", property(lambda self: asked.append(self) or n_features.fget(self))
    )
    chosen.order(np.arange(50))
    assert 0 < len(asked) <= 10 * 200


def test_thousands_of_columns_are_written_as_rows_are(frame):
    rows = encode_table(table_of_frame(frame, "label"), 500).rows
    many, few = (Encoding(tuple(EncodedColumn(f"x{k}") for k in range(n))) for n in (1200, 1))
    chosen = replace(rows, recode=ChosenColumns(rows, many, 1, 0))
    assert notes_on_columns(chosen, few) == ("The model reads 1 of 1,200 columns: 'x0'.",)


def trials_of(frame, label):
    rows = encode_table(table_of_frame(frame, label), 500, categorical="one_hot").rows
    places = [np.array([k]) for k in range(rows.X.shape[1])]
    return ColumnTrials(rows.X, rows, np.arange(len(frame)), places, 0)


def test_what_gains_only_together_is_found_where_columns_are_tried_together():
    random = np.random.default_rng(3)
    X = random.random((2000, 4))
    # The first two gain most each, as they say nearly the same; with one of them, the third says more than the other.
    X[:, 1] = X[:, 0] + 0.01 * random.random(2000)
    y = X[:, 0] + 0.25 * X[:, 2]
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=y)
    trials = trials_of(frame, "y")
    assert set(column_order(trials, 2, 3)[:2]) in ({0, 2}, {1, 2})
    assert sorted(column_order(trials, 2, 3)) == sorted(column_order(trials, 2, 0)) == [0, 1, 2, 3]


@pytest.mark.parametrize("max_features", [None, 2])
def test_the_model_at_hand_has_the_orders_and_columns_of_its_own_rows(max_features):
    """A search that is interrupted before its last model returns one of a split: categories are in other orders."""
    random = np.random.default_rng(0)
    kind = random.integers(24, size=N_ROWS)
    told = random.random(N_ROWS) < np.where(kind % 2, 0.9, 0.1)
    columns = {f"noise{k}": random.random(N_ROWS) for k in range(2)}
    frame = pandas.DataFrame(columns | {"kind": [f"k{k}" for k in kind], "label": np.where(told, "yes", "no")})

    def interrupt(search):
        if search.stage == "learning from all rows":
            raise KeyboardInterrupt

    options = {"max_features": max_features, "categorical": "ordered", "keep_best": True, "progress": interrupt}
    result = bh.fit_table(frame, "label", budget=400, n_trials=1, **options)
    assert result.was_interrupted
    X = features_of(frame, result.packed)
    assert np.array_equal(result.examples, X[: len(result.examples)], equal_nan=True)
    # Its categories are in the order of the shares among the rows that it has learned from, not among all.
    whole = encode_table(table_of_frame(frame, "label"), 400, categorical="ordered").encoding
    orders = [next(c.categories for c in e.columns if c.name == "kind") for e in (result.packed.encoding, whole)]
    assert orders[0] != orders[1]
    assert np.mean(result.packed.predict(X) == frame["label"]) > 0.85
    names = [column.name for column in result.packed.encoding.columns]
    assert len(names) == (max_features or 3)
    if max_features:  # these, and not those of the model that was not learned
        assert f"The model reads 2 of 3 columns: {', '.join(map(repr, names))}." in result.report.notes


def test_choosing_columns_is_told_of_only_where_columns_are_chosen(frame):
    for most, is_told in ((None, False), (8, False), (2, True)):
        told = []
        options = {"max_features": most, "progress": lambda search, told=told: told.append(search.stage)}
        bh.fit_table(frame, "label", budget=400, n_trials=1, **options)
        assert ("choosing columns" in told) == is_told


def test_a_fit_is_gone_on_with_the_same_number(frame, tmp_path):
    bh.fit_table(frame, "label", budget=400, n_trials=1, max_features=2, out=tmp_path / "out")
    again = bh.resume_fit(tmp_path / "out", frame, n_trials=1)
    assert len(again.packed.encoding.columns) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_features": 0}, "max_features must be at least 1, not 0"),
        ({"max_features": -3}, "max_features must be at least 1, not -3"),
        ({"max_features": 1.5}, "max_features must be a whole number, not 1.5"),
        ({"max_features": 2, "model": "forest.bhk"}, "the trees of a model are there already: leave one of them out"),
    ],
)
def test_what_cannot_be(frame, options, says):
    with pytest.raises((ValueError, TypeError), match=says):
        bh.fit_table(frame, "label", budget=400, n_trials=1, **options)


def test_the_command_says_which_columns_are_read(frame, tmp_path, capsys):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = ["--label", "label", "--budget", "400", "--trials", "1", "--out", str(tmp_path / "out")]
    assert main(["fit", str(tmp_path / "rows.csv"), *options, "--max-features", "3"]) == 0
    assert "The model reads 3 of 8 columns: 'a', 'kind', 'b'." in capsys.readouterr().out
    assert main(["fit", str(tmp_path / "rows.csv"), *options, "--max-features", "0", "--force"]) == 2
    assert "--max-features must be at least 1, not 0" in capsys.readouterr().err
