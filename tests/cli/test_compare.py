import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    frame, y = load_iris(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=4, random_state=0).fit(frame, y))
    forest.save(folder / "forest.bhk")
    bh.pack(forest.select([0, 1])).save(folder / "small.bhk")
    renamed = frame.rename(columns=lambda name: f"other {name}")
    bh.as_forest(RandomForestClassifier(2, random_state=0).fit(renamed, y)).save(folder / "other.bhk")
    frame.assign(kind=y).to_csv(folder / "rows.csv", index=False)
    return folder


def test_a_line_for_each_model(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["compare", "forest.bhk", "small.bhk", "rows.csv", "--label", "kind"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "model",
        "bytes",
        "trees",
        "leaves",
        "accuracy",
        "balanced",
        "accuracy",
        "log",
        "loss",
        "agrees",
    ]
    assert lines[1].split()[0] == "forest.bhk"
    assert lines[2].split()[:3] == ["small.bhk", str(bh.load("small.bhk").nbytes), "2"]
    assert lines[1].split()[-1] == "100.00%"


def test_without_labels_only_the_agreement_is_known(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["compare", "forest.bhk", "small.bhk", "rows.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["model", "bytes", "trees", "leaves", "agrees"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("forest.bhk rows.csv", "two models or more are compared, and a table comes last"),
        ("forest.bhk small.bhk", "two models or more are compared"),
        ("forest.bhk none.bhk rows.csv", "none.bhk: No such file"),
        ("forest.bhk small.bhk none.csv", "none.csv: No such file"),
        ("forest.bhk small.bhk rows.csv --label kin", "did you mean 'kind'?"),
        ("forest.bhk small.bhk rows.csv --target unno", "there is no target 'unno'"),
        ("forest.bhk other.bhk rows.csv", "other.bhk: rows.csv lacks"),
        ("forest.bhk forest.bhk rows.csv", "forest.bhk is given twice"),
        ("forest.bhk rows.csv small.bhk", "small.bhk is a Billhook model, not a text file or a table"),
    ],
)
def test_wrong_inputs_are_said_in_one_line(folder, arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["compare", *arguments.split()]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
