import os

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import billhook as bh
from billhook.cli import main
from billhook.codegen import choose_layout, target_named
from billhook.tables import EncodedColumn, Encoding


@pytest.fixture(scope="module")
def wine():
    frame = load_wine(as_frame=True).frame
    return frame.assign(
        target=frame["target"].map({0: "barolo", 1: "grignolino", 2: "barbera"}),
        colour=[("red", "dark", "pale")[k % 3] for k in range(178)],
    )


@pytest.fixture(scope="module")
def result(wine):
    return bh.fit_table(wine, "target", budget=500, n_trials=3)


def test_it_gives_the_model_and_the_report(wine, result):
    assert isinstance(result, bh.FitResult)
    assert result.packed.nbytes <= 500
    assert result.report.classes == ("barbera", "barolo", "grignolino")
    assert result.report.n_rows == 178
    assert not result.was_interrupted
    assert [candidate.nbytes for candidate in result.front] == sorted(c.nbytes for c in result.front)
    assert [column.name for column in result.packed.encoding.columns] == [*wine.columns.drop("target")]


def test_the_command_line_writes_the_same_model(wine, result, tmp_path):
    wine.to_csv(tmp_path / "wine.csv", index=False)
    options = ["--label", "target", "--budget", "500", "--trials", "3", "--out", str(tmp_path / "out")]
    assert main(["fit", str(tmp_path / "wine.csv"), *options]) == 0
    assert bh.load(tmp_path / "out" / "model.bhk") == result.packed


def test_a_file_and_a_frame_give_the_same_model(wine, result, tmp_path):
    wine.to_parquet(tmp_path / "wine.parquet")
    from_file = bh.fit_table(tmp_path / "wine.parquet", "target", budget=500, n_trials=3)
    assert from_file.packed == result.packed


def test_out_is_written_whole(result, wine, tmp_path):
    notes = []
    written = bh.fit_table(
        wine, "target", budget=500, n_trials=3, out=tmp_path / "out", name="wine", log=notes.append
    )
    assert sorted(os.listdir(tmp_path / "out")) == ["c", "model.bhk", "report.html", "search.json"]
    assert bh.load(tmp_path / "out" / "model.bhk") == result.packed == written.packed
    assert "wine_predict" in (tmp_path / "out" / "c" / "wine.h").read_text()
    assert any("classification" in note for note in notes)
    with pytest.raises(FileExistsError, match="force=True replaces files in it"):
        written.save(tmp_path / "out")
    written.save(tmp_path / "out", force=True)


def test_regression_a_target_and_a_saved_forest(tmp_path):
    frame = load_diabetes(as_frame=True).frame
    result = bh.fit_table(frame, "target", target="arduino-uno", reserve="30KB", n_trials=2)
    assert result.packed.task == "regression"
    assert result.report.target == "arduino-uno"
    X, y = load_wine(return_X_y=True)
    bh.as_forest(RandomForestClassifier(10, random_state=0).fit(X, y)).save(tmp_path / "rf.bhk")
    rows = load_wine(as_frame=True).frame
    compressed = bh.fit_table(rows, "target", budget=400, model=tmp_path / "rf.bhk", n_trials=2)
    assert compressed.packed.nbytes <= 400
    assert any("looks better on them" in note for note in compressed.report.notes)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "say how large the model may be: budget='4KB', or target='arduino-uno', or both"),
        ({"budget": "much"}, "budget must be a number of bytes"),
        ({"budget": 500, "label": "kind"}, "has no column 'kind'"),
        ({"budget": 500, "label": None}, "label must be the name of the column to predict, not None"),
        ({"budget": 500, "task": "ranking"}, "ranking"),
        ({"budget": 500, "target": "unos"}, "there is no target 'unos'"),
        ({"budget": 500, "reserve": "1KB"}, "reserve keeps bytes of a target's flash"),
        ({"budget": 500, "max_cycles": 900}, "max_cycles are those of a target: say which"),
        ({"budget": 500, "target": "arduino-uno", "max_cycles": 0}, "max_cycles must be 1 or more, not 0"),
        ({"budget": 500, "n_trials": 0}, "n_trials must be at least 1, not 0"),
        ({"budget": 500, "n_trials": None, "time_limit": None}, "say when to stop: time_limit=60"),
        ({"budget": 500, "time_limit": -1.0, "n_trials": None}, "time_limit must be above 0 seconds, not -1.0"),
        ({"budget": 500, "time_limit": "60", "n_trials": None}, "time_limit must be above 0 seconds, not '60'"),
        ({"budget": 500, "n_jobs": 0}, "n_jobs must be a number of jobs"),
        ({"budget": 500, "random_state": "a"}, "random_state"),
        ({"budget": 500, "model": 3}, "int"),
        ({"budget": 500, "random_state": -1}, "random_state must be at least 0, not -1"),
        ({"budget": 500, "categorical": "hashed"}, "there is no encoding 'hashed'"),
        ({"budget": 500, "scoring": "acuracy"}, "there is no scoring 'acuracy'"),
        ({"budget": 500, "out": ""}, "out must be the name of a folder, not ''"),
        ({"budget": 500, "class_weight": "balance"}, "balance"),
        ({"budget": 500, "model": "nowhere.bhk"}, "nowhere.bhk"),
        ({"budget": 500, "label": "alcohol", "class_weight": "balanced"}, "class_weight must be None for regression"),
    ],
)
def test_what_cannot_be(wine, options, says):
    with pytest.raises((ValueError, TypeError, OSError), match=says):
        bh.fit_table(wine, **({"label": "target", "n_trials": 1} | options))


def test_a_model_with_an_encoding_leaves_none_to_choose(wine):
    model = bh.as_forest(
        DecisionTreeClassifier(max_depth=2).fit(wine.drop(columns=["target", "colour"]), wine["target"])
    )
    encoded = model.with_encoding(Encoding(tuple(EncodedColumn(name) for name in model.feature_names)))
    with pytest.raises(
        ValueError, match="categorical='one_hot' is for tables that are encoded here, and the model has"
    ):
        bh.fit_table(wine, "target", budget=500, n_trials=1, model=encoded, categorical="one_hot")


def test_cycles_choose_the_layout_of_the_c_project(wine, tmp_path):
    result = bh.fit_table(wine, "target", budget=500, target="arduino-uno", max_cycles=20_000, n_trials=1)
    costs = {cost.layout: cost for cost in result.report.layouts}
    assert set(costs) == {"compact", "balanced", "fast"}
    assert result.report.too_slow == ""
    chosen = costs[result.report.layout]
    assert chosen.flash == min(cost.flash for cost in costs.values() if cost.cycles <= 20_000)
    few = costs["balanced"].cycles
    result = bh.fit_table(
        wine, "target", budget=500, target="arduino-uno", max_cycles=few, n_trials=1, out=tmp_path / "out"
    )
    assert result.report.layout == "balanced"
    assert "in the order in which they are read" in (tmp_path / "out" / "c" / "model.h").read_text()
    assert "Flash over cycles" in (tmp_path / "out" / "report.html").read_text()


def test_a_model_that_is_too_slow_is_written_in_the_fastest_layout(wine, tmp_path):
    out = tmp_path / "out"
    result = bh.fit_table(wine, "target", budget=500, target="arduino-uno", max_cycles=3, n_trials=1, out=out)
    fastest = min((cost for cost in result.report.layouts if cost.fits), key=lambda cost: cost.cycles)
    assert result.report.layout == fastest.layout
    assert "takes at most 3 cycles a row: " in result.report.too_slow
    assert result.report.too_slow.endswith(f"max_cycles={fastest.cycles} would do, or fewer or smaller trees")
    assert (out / "c" / "model.c").exists()
    assert f"max_cycles={fastest.cycles} would do" in (out / "report.html").read_text()


def test_a_layout_leaves_the_flash_that_is_reserved(wine):
    options = {"budget": 500, "target": "arduino-uno", "n_trials": 1}
    packed = bh.fit_table(wine, "target", **options).packed
    costs = {cost.layout: cost for cost in choose_layout(packed, target="uno", max_cycles=10**6).costs}
    room = target_named("uno").flash - costs["fast"].flash
    for reserve, layout in ((room, "fast"), (room + 1, "balanced")):
        report = bh.fit_table(wine, "target", **options, max_cycles=1, reserve=reserve).report
        assert report.layout == layout
        assert f"fits arduino-uno beside {reserve:,} bytes takes at most 1 cycles" in report.too_slow


def test_a_compiler_that_fails_does_not_lose_the_fit(wine, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("avr-gcc cannot compile the model: internal error")

    monkeypatch.setattr("billhook.codegen._choose_layout.measure", fail)
    out = tmp_path / "out"
    result = bh.fit_table(wine, "target", budget=500, target="arduino-uno", max_cycles=900, n_trials=1, out=out)
    assert result.report.layout == "compact"
    assert "no layout could be chosen by its cycles: avr-gcc cannot compile" in result.report.too_slow
    assert (out / "model.bhk").exists()


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="table must be the path of a file or a data frame, not ndarray"):
        bh.fit_table(np.zeros((3, 2)), "a", budget=500)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        bh.fit_table("nowhere.csv", "a", budget=500)


def test_the_frame_of_the_caller_stays_as_it_is(wine):
    before = wine.copy()
    bh.fit_table(wine, "target", budget=300, n_trials=1)
    pandas.testing.assert_frame_equal(wine, before)


def test_rows_of_a_class_without_weight_are_left_out_of_the_orders_too():
    """Categories in an order, labels and features must be of the same rows."""
    rng = np.random.default_rng(0)
    names = np.array([f"n{k:02}" for k in range(40)])
    codes = rng.integers(0, 40, 1500)
    labels = np.where(codes % 2 == 0, "p", "q").astype(object)
    labels[rng.random(1500) < 0.3] = "z"
    frame = pandas.DataFrame({"name": names[codes], "y": labels})
    weights = {"z": 0.0, "p": 1.0, "q": 1.0}
    result = bh.fit_table(frame, "y", budget=600, n_trials=2, categorical="ordered", class_weight=weights)
    assert result.report.classes == ("p", "q")
    assert result.report.score > 0.95


def test_a_forest_finds_its_features_by_name():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": rng.uniform(0, 80, 400), "income": rng.uniform(0, 9000, 400)})
    y = (frame["age"] > 40).to_numpy().astype(int)
    forest = RandomForestClassifier(10, random_state=0).fit(frame, y)
    swapped = frame[["income", "age"]].assign(y=y)
    result = bh.fit_table(swapped, "y", budget=400, n_trials=2, model=forest)
    assert result.report.score > 0.95
    renamed = swapped.rename(columns={"income": "wages"})
    with pytest.raises(ValueError, match="lacks a feature that the model was trained on, 'income'"):
        bh.fit_table(renamed, "y", budget=400, n_trials=2, model=forest)


def test_the_model_predicts_the_frame_it_was_fitted_to(wine, result):
    assert np.mean(result.packed.predict(wine) == wine["target"]) > 0.85
    assert result.packed.predict_proba(wine.drop(columns="target")).shape == (178, 3)
    assert repr(result).startswith(f"FitResult({result.packed.nbytes:,} bytes of 500; held-out accuracy ")
    assert len(repr(result)) < 200


def test_a_table_knows_its_labels(wine):
    from billhook.tables import table_of_frame

    table = table_of_frame(wine, "target")
    assert bh.fit_table(table, budget=300, n_trials=1).packed.nbytes <= 300
    with pytest.raises(ValueError, match="a Table knows its labels"):
        bh.fit_table(table, "target", budget=300, n_trials=1)


def test_a_reserve_of_nothing_is_one():
    frame = load_diabetes(as_frame=True).frame
    assert (
        bh.fit_table(frame, "target", budget=300, target="arduino-uno", reserve="0", n_trials=1).packed.nbytes <= 300
    )


def test_an_interruption_is_raised_unless_the_best_is_to_be_kept(wine):
    def interrupt(search):
        if search.best(search.budgets[-1]) is not None and not search.is_interrupted:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bh.fit_table(wine, "target", budget=300, n_trials=5, progress=interrupt)
    kept = bh.fit_table(wine, "target", budget=300, n_trials=5, progress=interrupt, keep_best=True)
    assert kept.was_interrupted
