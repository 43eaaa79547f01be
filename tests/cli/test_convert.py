"""Models of other libraries at the command line: converted, and used as they are."""

import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.cli import main

lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install 'billhook[lightgbm]'")
catboost = pytest.importorskip("catboost", reason="catboost is not installed: pip install 'billhook[catboost]'")


@pytest.fixture(scope="module")
def rows():
    frame, y = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = frame.iloc[:, :4].set_axis(["radius", "texture", "perimeter", "area"], axis=1)
    return frame, y


@pytest.fixture
def folder(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = rows
    frame.assign(kind=y).to_csv("rows.csv", index=False)
    model = lightgbm.LGBMClassifier(n_estimators=12, num_leaves=8, verbose=-1, n_jobs=1).fit(frame, y)
    model.booster_.save_model("model.txt")
    bagged = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}  # whose trees are averaged
    averaged = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=8, verbose=-1, n_jobs=1, **bagged).fit(frame, y)
    averaged.booster_.save_model("averaged.txt")
    return tmp_path


def of_two_targets(frame, y):
    options = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostRegressor(n_estimators=3, depth=2, loss_function="MultiRMSE", **options).fit(
        frame, np.stack([y, -y], axis=1)
    )


@pytest.mark.usefixtures("folder")
def test_an_output_of_several_is_chosen(rows):
    model = of_two_targets(*rows)
    model.save_model("targets.json", format="json")
    assert main(["convert", "targets.json", "--output", "1", "--out", "second.bhk"]) == 0
    np.testing.assert_allclose(bh.load("second.bhk").predict(rows[0]), model.predict(rows[0])[:, 1], rtol=1e-12)
    assert bh.load("targets.json", output=1) == bh.load("second.bhk") == bh.load("second.bhk", output=0)
    with pytest.raises(ValueError, match="there is no output 1; a model of Billhook has one output"):
        bh.load("second.bhk", output=1)


@pytest.mark.usefixtures("folder")
def test_a_model_becomes_a_model_file_and_is_what_it_was(rows, capsys):
    assert main(["convert", "model.txt", "--out", "forest.bhk"]) == 0
    assert "Wrote forest.bhk." in capsys.readouterr().out
    booster = lightgbm.Booster(model_file="model.txt")
    forest = bh.load("forest.bhk")
    np.testing.assert_array_equal(forest.decision_function(rows[0]), booster.predict(rows[0], raw_score=True))
    assert forest == bh.load("model.txt")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", ["onnx", "treelite"])
def test_a_forest_goes_out_and_comes_back(kind, rows):
    pytest.importorskip(kind, reason=f"{kind} is not installed: pip install 'billhook[{kind}]'")
    assert main(["convert", "model.txt", "--to", kind, "--out", f"model.{kind}"]) == 0
    again, forest = bh.load(f"model.{kind}"), bh.load("model.txt")
    # ONNX has leaves in float32.
    np.testing.assert_allclose(again.decision_function(rows[0]), forest.decision_function(rows[0]), atol=1e-5)
    bh.pack(forest).save("packed.bhk")
    assert main(["convert", "packed.bhk", "--to", kind, "--out", f"packed.{kind}"]) == 0


@pytest.mark.usefixtures("folder")
def test_every_command_takes_the_file_of_another_library(capsys):
    rows_of = ["rows.csv", "--label", "kind"]
    assert main(["prune", "averaged.txt", *rows_of, "--trees", "3", "--out", "pruned.bhk"]) == 0
    assert bh.load("pruned.bhk").n_trees == 3
    table = ["model.txt", *rows_of]
    assert main(["refine", *table, "--epochs", "2", "--out", "refined.bhk"]) == 0
    assert main(["merge", *table, "--leaves", "30", "--out", "merged.bhk"]) == 0
    assert main(["emit", "model.txt", "--out", "c"]) == 0
    subprocess.run(["make", "-C", "c", "test"], check=True, capture_output=True)
    assert (
        main(["measure", "model.txt", "rows.csv", "--label", "kind", "--target", "linux-x86_64", "--rows", "9"]) == 0
    )
    assert "100.0%" in capsys.readouterr().out
    fit = ["fit", "rows.csv", "--label", "kind", "--budget", "400", "--model", "model.txt", "--trials", "2"]
    assert main([*fit, "--jobs", "1", "--out", "fitted"]) == 0
    assert bh.load("fitted/model.bhk").nbytes <= 400


def test_categories_are_kept_from_the_library_to_the_c(tmp_path, monkeypatch):
    """A model trained on text in a data frame takes tables with the same text, and so does its C."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "black"], 400)
    size = rng.normal(size=400)
    y = np.where(np.isin(colour, ["red", "blue"]), size > 0, size < -0.5).astype(int)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": size})
    model = lightgbm.LGBMClassifier(n_estimators=8, num_leaves=6, verbose=-1, n_jobs=1, min_child_samples=5)
    model.fit(frame, y).booster_.save_model("model.txt")
    pd.DataFrame({"size": size, "colour": colour, "kind": y}).to_csv("rows.csv", index=False)
    forest = bh.load("model.txt")
    np.testing.assert_array_equal(forest.predict(frame), model.predict(frame))
    assert main(["emit", "model.txt", "--threshold-bits", "16", "--out", "c"]) == 0
    assert "model_put_colour" in (tmp_path / "c" / "model.h").read_text()
    subprocess.run(["make", "-C", "c", "test"], check=True, capture_output=True)
    fit = ["fit", "rows.csv", "--label", "kind", "--budget", "300", "--model", "model.txt", "--trials", "2"]
    assert main([*fit, "--jobs", "1", "--out", "fitted"]) == 0
    # In a few bytes of its own, nearly as good as the model.
    fitted = np.mean(bh.load("fitted/model.bhk").predict(frame) == y)
    assert fitted > np.mean(model.predict(frame) == y) - 0.05


@pytest.mark.parametrize("target", ["arduino-uno", "cortex-m4"])
def test_symmetric_trees_of_catboost_run_on_a_device(target, rows):
    frame, y = rows
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostClassifier(n_estimators=8, depth=5, **quiet).fit(frame, y)
    packed = bh.pack(model, leaf_bits=8)
    assert packed.layout.is_symmetric
    try:
        assert bh.measure(packed, frame, target=target, max_rows=15).agreement == 1.0
    except bh.MissingToolError as error:
        pytest.skip(f"{error}: make toolchains")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "absent.txt", "--out", "m.bhk"], "absent.txt: No such file"),
        (["convert", "rows.csv", "--out", "m.bhk"], "rows.csv: this is no model file that Billhook knows"),
        (["convert", "model.txt", "--out", "rows.csv"], "rows.csv is there already; --force replaces it"),
        (["convert", "pickled", "--out", "m.bhk"], "pickled: this is a pickle, which can run any code"),
        (["convert", "cut.txt", "--out", "m.bhk"], "cut.txt: "),
        (["convert", "list.json", "--out", "m.bhk"], "list.json: this"),
        (["convert", "broken.json", "--out", "m.bhk"], "broken.json: this is not JSON"),
        (["convert", "other.json", "--out", "m.bhk"], "other.json: this JSON is no model that Billhook knows"),
        (["convert", "empty", "--out", "m.bhk"], "empty: the file is empty: save the model again"),
        (["emit", "empty", "--out", "c"], "empty: the file is empty: save the model again"),
        (["emit", "pickled", "--out", "c"], "pickled: this is a pickle, which can run any code"),
        (["emit", "targets.json", "--out", "c"], "2 outputs, and a forest has one: choose it with output=0 to 1 (of"),
        (
            ["convert", "targets.json", "--output", "2", "--out", "m.bhk"],
            "targets.json: output must be a number from",
        ),
        (
            ["convert", "model.txt", "--output", "1", "--out", "m.bhk"],
            "there is no output 1; the model has one output",
        ),
        (["convert", ".", "--out", "m.bhk"], "this is a folder"),
        (["convert", "model.txt", "--out", "no/such/m.bhk"], "no/such"),
        (["convert", "packed.bhk", "--to", "tensorflow", "--out", "m"], "invalid choice"),
    ],
)
def test_what_is_no_model_is_said_to_be_none(arguments, message, folder, rows, capsys):
    with open("pickled", "wb") as file:
        pickle.dump(RandomForestClassifier(2).fit(*rows), file)
    text = (folder / "model.txt").read_text()
    (folder / "cut.txt").write_text(text[: len(text) // 2])
    (folder / "list.json").write_text("[1, 2]")
    (folder / "broken.json").write_text('{"learner": ')
    (folder / "other.json").write_text('{"name": "a recipe"}')
    (folder / "empty").write_bytes(b"")
    of_two_targets(*rows).save_model("targets.json", format="json")
    before = sorted(path.name for path in folder.iterdir())
    try:
        status = main(arguments)
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before
