import re

import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import billhook as bh
from billhook.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diagnose")
    X, y = load_digits(n_class=4, return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=16, random_state=0).fit(X[::2], y[::2]))
    forest.save(folder / "forest.bhk")
    bh.pack(forest).save(folder / "packed.bhk")
    X[1::2].assign(digit=y[1::2]).to_csv(folder / "rows.csv", index=False)
    return folder


def test_the_tests_the_chart_and_the_next_command_are_printed(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["diagnose", "forest.bhk", "rows.csv", "--label", "digit"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^no worse without it +\d+ trees? of 8$", out, re.MULTILINE)
    assert "W whole   T truncated   P pruned   R refined   M merged   * several" in out
    assert "(1/32)" in out or "(1/16)" in out


def test_the_next_command_runs(folder, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    assert main(["diagnose", "forest.bhk", "rows.csv", "--label", "digit"]) == 0
    command = capsys.readouterr().out.splitlines()[-1].strip()
    assert command.startswith("billhook ")
    assert main([*command.split()[1:-1], str(tmp_path / "out.bhk")]) == 0


def test_boosted_trees_get_a_chart_without_tests(tmp_path, capsys):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(X[::2], y[::2])
    bh.as_forest(model).save(tmp_path / "f.bhk")
    X.assign(y=y)[1::2].to_csv(tmp_path / "rows.csv", index=False)
    assert main(["diagnose", str(tmp_path / "f.bhk"), str(tmp_path / "rows.csv"), "--label", "y"]) == 0
    printed = capsys.readouterr()
    assert "Single trees cannot be tested" in printed.err
    assert "no worse without it" not in printed.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("packed.bhk rows.csv --label digit", "the model is packed"),
        ("none.bhk rows.csv --label digit", "none.bhk: No such file"),
        ("forest.bhk none.csv --label digit", "none.csv: No such file"),
        ("forest.bhk rows.csv --label digits", "did you mean 'digit'?"),
        ("forest.bhk rows.csv --label pixel_0_1", "is a column that the model predicts from"),
        ("forest.bhk few.csv --label digit", "few.csv has 2 rows; a diagnosis needs 20 at least"),
        ("forest.bhk rows.csv --label digit --seed -1", "--seed must be at least 0, not -1"),
        ("rows.csv forest.bhk --label digit", "this is no model file that Billhook knows"),
    ],
)
def test_wrong_inputs_are_said_in_one_line(folder, arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "few.csv").write_text("".join((folder / "rows.csv").read_text().splitlines(keepends=True)[:3]))
    assert main(["diagnose", *arguments.split()]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
