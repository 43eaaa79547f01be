import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.columns = [name.removesuffix(" (cm)").replace(" ", "_") for name in frame]
    rf = RandomForestClassifier(4, max_leaf_nodes=4, random_state=0).fit(frame, y)
    bh.pack(rf).save(folder / "model.bhk")
    frame.assign(kind=y).to_csv(folder / "rows.csv", index=False)
    return folder


def test_bytes_columns_and_targets_are_printed(folder, capsys):
    assert main(["show", str(folder / "model.bhk")]) == 0
    out = capsys.readouterr().out
    nbytes = bh.load(folder / "model.bhk").nbytes
    assert f"{nbytes} bytes by part:" in out
    assert "all 23 targets" in out
    columns = out.partition("columns are in use:\n")[2].splitlines()[1:5]
    assert {line.split()[0] for line in columns} <= {"sepal_length", "sepal_width", "petal_length", "petal_width"}
    assert "with TABLE it counts the rows of it" in out


def test_rows_tell_what_is_lost_without_a_column(folder, capsys):
    assert main(["show", str(folder), str(folder / "rows.csv"), "--label", "kind", "--columns", "2"]) == 0
    out = capsys.readouterr().out
    assert "accuracy lost: how much is lost when the cells of the column change places." in out
    assert "more: --columns" in out


def test_a_tree_is_drawn_alone(folder, capsys):
    assert main(["show", str(folder), "--tree", "0"]) == 0
    assert capsys.readouterr().out.strip() == bh.describe(folder, trees=(0,)).trees[0]


def test_a_page_is_written_and_replaced_by_force(folder, tmp_path, capsys):
    command = ["show", str(folder), "--html", str(tmp_path / "page.html")]
    assert main(command) == 0
    assert "Bytes by part" in (tmp_path / "page.html").read_text()
    assert main(command) == 2
    assert "is there already; --force replaces it" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("show none.bhk", "none.bhk: No such file"),
        ("show rows.csv", "this is no model file that Billhook knows"),
        ("show model.bhk --label kind", "`billhook show MODEL TABLE --label COLUMN`"),
        ("show model.bhk --tree 4", "there is no tree 4: the model has 4 trees, numbers 0 to 3"),
        ("show model.bhk --depth 2", "name one with --tree N"),
        ("show model.bhk --tree 0 --depth 0", "--depth must be at least 1, not 0"),
        ("show model.bhk --columns 0", "--columns must be at least 1, not 0"),
        ("show model.bhk --force", "--force replaces the file of --html"),
        ("show model.bhk --html none/page.html", "there is no such folder"),
        ("show model.bhk rows.csv --label nokin", "has no column 'nokin'"),
        ("show model.bhk rows.csv --label petal_width", "is a column that the model predicts from"),
    ],
)
def test_wrong_inputs_are_said_in_one_line(folder, arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(arguments.split()) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_names_of_any_kind_are_printed(tmp_path, capsys):
    X, y = np.random.default_rng(0).normal(size=(50, 1)), np.arange(50) % 2
    forest = bh.as_forest(RandomForestClassifier(1, max_leaf_nodes=2, random_state=0).fit(X, y))
    forest.save(tmp_path / "f.bhk")
    assert main(["show", str(tmp_path / "f.bhk")]) == 0
    assert "feature 0" in capsys.readouterr().out
