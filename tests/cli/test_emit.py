import subprocess

import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.columns = ["sl", "sw", "pl", "pw"]
    bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=8, random_state=0).fit(frame, y)).save("model.bhk")
    frame.assign(kind=y).to_csv("rows.csv", index=False)
    return tmp_path


EMIT = ["emit", "model.bhk", "--out", "c"]


@pytest.mark.parametrize(
    "options", [[], ["--threshold-bits", "exact", "--leaf-bits", "4"], ["--target", "arduino-uno"]]
)
@pytest.mark.parametrize("table", [[], ["--table", "rows.csv", "--label", "kind"]])
def test_a_saved_forest_becomes_c_that_passes_its_test(folder, options, table, capsys):
    assert main([*EMIT, *options, *table]) == 0
    printed = capsys.readouterr().out
    assert "bytes" in printed
    assert ("same class" in printed) == bool(table)
    subprocess.run(["make", "-C", str(folder / "c"), "test"], check=True, capture_output=True)


@pytest.mark.usefixtures("folder")
def test_packed_models_and_numbers_too(capsys):
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestRegressor(5, max_leaf_nodes=8, random_state=0).fit(frame, y))
    forest.save("numbers.bhk")
    frame.assign(target=y).to_csv("numbers.csv", index=False)
    arguments = ["--table", "numbers.csv", "--label", "target"]
    assert main(["emit", "numbers.bhk", "--out", "a", *arguments]) == 0
    assert "root mean sq. err." in capsys.readouterr().out
    bh.pack(forest).save("packed.bhk")
    assert main(["emit", "packed.bhk", "--out", "b", *arguments]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["emit", "nowhere.bhk", "--out", "c"], "nowhere.bhk"),
        (["emit", "rows.csv", "--out", "c"], "not a Billhook model file"),
        ([*EMIT, "--target", "arduino-unos"], "did you mean 'arduino-uno'?"),
        ([*EMIT, "--threshold-bits", "40"], "between 2 and 16, not 40"),
        ([*EMIT, "--threshold-bits", "some"], "threshold_bits must be a whole number, not 'some'"),
        ([*EMIT, "--leaf-bits", "1"], "leaf_bits must be between 2 and 16, not 1"),
        ([*EMIT, "--table", "rows.csv"], "--table and --label go together"),
        ([*EMIT, "--table", "rows.csv", "--label", "kid"], "did you mean 'kind'?"),
        ([*EMIT, "--table", "nowhere.csv", "--label", "kind"], "nowhere.csv"),
        (["emit", "model.bhk", "--out", "."], "not empty"),
        (["emit", "model.bhk", "--out", "no/where"], "no such folder"),
        (["emit", "model.bhk", "--out", "rows.csv"], "this is a file"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(folder, arguments, message, capsys):
    before = sorted(path.name for path in folder.iterdir())
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_targets_are_listed(capsys):
    assert main(["targets"]) == 0
    assert "arduino-uno         avr               32,256     2,048    16" in capsys.readouterr().out
