"""`billhook emit` for models of several outputs, and for several models."""

import subprocess

import catboost
import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import billhook as bh
from billhook.cli import main

X, y = load_diabetes(return_X_y=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "loss_function": "MultiRMSE"}
    model = catboost.CatBoostRegressor(n_estimators=3, depth=2, **options).fit(X, np.stack([y, -y], axis=1))
    model.save_model("targets.json", format="json")
    forests = bh.as_forests(model)
    forests[0].save("up.bhk")
    bh.pack(forests[1], leaf_bits=6).save("down.bhk")
    return tmp_path


def test_all_outputs_of_a_file_become_one_project(folder, capsys):
    options = ["--leaf-bits", "6", "--target", "uno", "--no-names", "--package", "cmake", "--name", "both"]
    assert main(["emit", "targets.json", "--outputs", "all", "--out", "my c", *options]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[:3] for line in printed.splitlines()[1:3]] == [["0", "3", "12"], ["1", "3", "12"]]
    assert "`make -C 'my c' test` tests them." in printed
    done = subprocess.run(["make", "-C", "my c", "test"], cwd=folder, check=True, capture_output=True, text=True)
    assert "288 of 288 checks as expected" in done.stdout
    assert "both_value_all(const float *x, float *values)" in (folder / "my c" / "both.h").read_text()


@pytest.mark.usefixtures("folder")
def test_blobs_of_all_outputs_are_written_beside_each_other(capsys):
    assert main(["emit", "targets.json", "--outputs", "all", "--blob", "model.bhm", "--leaf-bits", "6"]) == 0
    assert "Wrote model_1.bhm: " in capsys.readouterr().out
    assert bh.load("model_1.bhm") == bh.pack(bh.load("targets.json", output=1), leaf_bits=6)
    assert main(["emit", "targets.json", "--outputs", "all", "--blob", "model.bhm"]) == 2
    assert "model_0.bhm is there already; --force replaces it" in capsys.readouterr().err


def test_several_models_are_outputs_by_the_names_of_their_files(folder):
    assert main(["emit", "up.bhk", "down.bhk", "--out", "c", "--layout", "fast", "--inputs", "float,int16"]) == 0
    subprocess.run(["make", "-C", "c", "test"], cwd=folder, check=True, capture_output=True)
    assert "model_up_value(x)" in (folder / "c" / "model.c").read_text()
    assert main(["emit", "up.bhk", "targets.json", "--outputs", "all", "--out", "d"]) == 0
    assert "model_targets_1_value(x)" in (folder / "d" / "model.c").read_text()
    assert main(["emit", "up.bhk", "--outputs", "all", "--out", "e"]) == 0
    assert "model_0_value(x)" in (folder / "e" / "model.c").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["targets.json", "--out", "c"], "(of a file, `billhook emit --outputs all`)"),
        (["up.bhk", "targets.json", "--out", "c"], "targets.json: a model for MultiRMSE has 2 outputs"),
        (["up.bhk", "up.bhk", "--out", "c"], "there is an output 'up' already; give the file another name"),
        (["up.bhk", "down.bhk", "--out", "c", "--leaf-bits", "5"], "down.bhk is packed already"),
        (["targets.json", "--outputs", "all"], "--out names the folder for a project, --blob the files"),
        (["targets.json", "--outputs", "all", "--blob", "b", "--name", "x"], "--name is for a project"),
        (["targets.json", "--outputs", "all", "--out", "c", "--runtime", "rust"], "--blob writes one for each"),
        (["targets.json", "--outputs", "all", "--out", "c", "--optimize", "speed"], "give --layout"),
        (
            ["targets.json", "--outputs", "all", "--out", "c", "--table", "t.csv"],
            "--table is for one model: pack each",
        ),
        (["targets.json", "--outputs", "all", "--out", "c", "--layout", "fats"], "did you mean 'fast'?"),
        (["targets.json", "--outputs", "all", "--out", "."], "not empty"),
        (["nowhere.json", "--outputs", "all", "--out", "c"], "nowhere.json"),
        (["bad.json", "--outputs", "all", "--out", "c"], "bad.json: this JSON is no model"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(folder, arguments, message, capsys):
    (folder / "bad.json").write_text('{"name": "a recipe"}')
    before = sorted(path.name for path in folder.iterdir())
    assert main(["emit", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before
