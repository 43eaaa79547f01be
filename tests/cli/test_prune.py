import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A forest and its rows in the current folder, in every form a table can have."""
    monkeypatch.chdir(tmp_path)
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.columns = ["sl", "sw", "pl", "pw"]
    kind = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    bh.as_forest(RandomForestClassifier(12, random_state=0).fit(frame[::2], kind[::2])).save("model.bhk")
    table = frame.assign(kind=kind)
    table.to_csv("rows.csv", index=False)
    table[["kind", "pw", "sl", "pl", "sw"]].to_csv("rows.tsv", index=False, sep="\t")
    table.to_parquet("rows.parquet")
    return tmp_path


ARGUMENTS = ["prune", "model.bhk", "rows.csv", "--label", "kind", "--trees", "4", "--out", "small.bhk"]


@pytest.mark.parametrize("table", ["rows.csv", "rows.tsv", "rows.parquet"])
def test_it_writes_what_prune_returns(folder, table, capsys):
    arguments = [table if a == "rows.csv" else a for a in ARGUMENTS]
    assert main([*arguments, "--method", "drep", "--option", "rho=0.3"]) == 0
    rows = pd.read_csv("rows.csv")
    expected = bh.prune(
        bh.load("model.bhk"), rows[["sl", "sw", "pl", "pw"]], rows["kind"], method="drep", n_trees=4, rho=0.3
    )
    assert bh.load("small.bhk") == expected
    printed = capsys.readouterr().out
    assert "accuracy" in printed
    assert "on the 150 rows of" in printed
    assert re.search(r"^size +\S+ KB +\S+ KB +not packed: 29 bytes a node$", printed, re.MULTILINE)
    assert (folder / "small.bhk").exists()


@pytest.mark.usefixtures("folder")
def test_numbers_are_pruned_too(capsys):
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    bh.as_forest(RandomForestRegressor(9, random_state=0).fit(frame.to_numpy(), y)).save("numbers.bhk")
    frame.assign(target=y).to_csv("numbers.csv", index=False)
    assert main(["prune", "numbers.bhk", "numbers.csv", "--label", "target", "--trees", "3", "--out", "few.bhk"]) == 0
    assert "root mean squared error" in capsys.readouterr().out
    assert bh.load("few.bhk").n_trees == 3


@pytest.mark.usefixtures("folder")
def test_labels_that_look_like_numbers_may_be_strings():
    X, y = load_iris(return_X_y=True)
    bh.as_forest(RandomForestClassifier(5, random_state=0).fit(X, y.astype(str))).save("strings.bhk")
    pd.DataFrame(X).assign(y=y).to_csv("strings.csv", index=False)
    assert main(["prune", "strings.bhk", "strings.csv", "--label", "y", "--trees", "2", "--out", "two.bhk"]) == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "names", [["01", "02", "03"], [True, False, True], ["1", "2.5", "3"], ["none", "some", "all"], [1.0, 2.0, 3.5]]
)
def test_labels_are_read_as_the_forest_knows_them(names):
    X, y = load_iris(return_X_y=True)
    labels = np.array(names)[y]
    bh.as_forest(
        RandomForestClassifier(5, random_state=0).fit(X, labels.astype(str) if names[0] == 1.0 else labels)
    ).save("l.bhk")
    pd.DataFrame(X).assign(y=labels).to_csv("l.csv", index=False)
    assert main(["prune", "l.bhk", "l.csv", "--label", "y", "--trees", "2", "--out", "two.bhk"]) == 0


def write(text):
    with open("odd.csv", "w") as file:
        file.write(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model.bhk": "nowhere.bhk"}, "nowhere.bhk"),
        ({"model.bhk": "rows.csv"}, "no model file that Billhook knows"),
        ({"rows.csv": "nowhere.csv"}, "nowhere.csv"),
        ({"rows.csv": "model.bhk"}, "not a text file|no rows below"),
        ({"kind": "kid"}, "no column 'kid'; did you mean 'kind'?"),
        ({"4": "13"}, "between 1 and 12"),
        ({"small.bhk": "nowhere/small.bhk"}, "no such folder"),
        ({"small.bhk": "model.bhk"}, "is there already; --force replaces it"),
        ({"rows.csv": ("odd.csv", "a,a,kind\n1,2,x\n")}, "more than one column 'a'"),
        ({"rows.csv": ("odd.csv", "sl,sw,pl,pw,kind\n1,2,3,4\n")}, "line 2 of odd.csv has 4 cells"),
        ({"rows.csv": ("odd.csv", "sl,sw,pl,pw,kind\n1,2,high,4,setosa\n")}, "'pl' of odd.csv holds 'high' in row 1"),
        ({"rows.csv": ("odd.csv", "sl,sw,pl,pw,kind\n1,2,3,4,\n")}, "has 1 empty cell among 1, the first in row 1"),
        ({"rows.csv": ("odd.csv", "sl,sw,pl,kind\n1,2,3,setosa\n")}, "lacks the column 'pw'"),
        (
            {"rows.csv": ("odd.csv", "sl,sw,pl,pw,kind\n1,2,3,4,rose\n")},
            "labels that the forest does not know: 'rose'",
        ),
        ({"rows.csv": ("odd.csv", "")}, "no rows below"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(folder, change, message, capsys):
    if isinstance(change.get("rows.csv"), tuple):
        write(change["rows.csv"][1])
        change = {"rows.csv": "odd.csv"}
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main([change.get(a, a) for a in ARGUMENTS]) == 2
    said = capsys.readouterr().err
    assert any(part in said for part in message.split("|")), said
    assert "Traceback" not in said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("folder")
def test_options_are_checked(capsys):
    assert main([*ARGUMENTS, "--option", "rho"]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err
    assert main([*ARGUMENTS, "--option", "rho=0.3"]) == 2
    assert "reduced_error does not take the option 'rho'" in capsys.readouterr().err
    assert main([*ARGUMENTS, "--method", "reduced_eror"]) == 2
    assert "did you mean 'reduced_error'" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_force_replaces():
    assert main(ARGUMENTS) == 0
    assert main([*ARGUMENTS, "--force", "--method", "random"]) == 0


@pytest.mark.usefixtures("folder")
def test_missing_values_are_read():
    write("sl,sw,pl,pw,kind\n1,,3,4,setosa\nNA,2,?,4,virginica\n")
    assert main([("odd.csv" if a == "rows.csv" else a) for a in ARGUMENTS]) == 0


def test_methods_are_listed(capsys):
    assert main(["methods"]) == 0
    printed = capsys.readouterr().out
    assert all(method.name in printed for method in bh.pruning_methods() if "score" not in method.options)


def test_the_command_is_installed():
    command = np.char.add(sys.executable.rsplit("/", 1)[0], "/billhook").item()
    shown = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert shown == f"billhook {bh.__version__}\n"
    assert "prune" in subprocess.run([command], capture_output=True, text=True, check=True).stdout


@pytest.mark.usefixtures("folder")
def test_a_packed_model_is_not_pruned(capsys):
    bh.pack(bh.load("model.bhk")).save("packed.bhk")
    assert main(["packed.bhk" if argument == "model.bhk" else argument for argument in ARGUMENTS]) == 2
    error = capsys.readouterr().err
    assert "packed.bhk" in error
    assert "the file holds a packed model, not a forest: give the file of the forest itself" in error
