import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook._checks import as_bytes
from billhook.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A forest, the rows it was grown on and others."""
    monkeypatch.chdir(tmp_path)
    frame, y = load_digits(return_X_y=True, as_frame=True)
    rf = RandomForestClassifier(12, max_leaf_nodes=12, random_state=0).fit(frame[:1000], y[:1000])
    bh.as_forest(rf).save("model.bhk")
    frame.assign(digit=y)[:1000].to_csv("rows.csv", index=False)
    frame.assign(digit=y)[1000:].to_csv("others.csv", index=False)
    return tmp_path


REFINE = ["refine", "model.bhk", "rows.csv", "--label", "digit", "--out", "better.bhk"]
MERGE = ["merge", "model.bhk", "rows.csv", "--label", "digit", "--out", "small.bhk"]


@pytest.mark.usefixtures("folder")
def test_it_writes_what_refine_returns(capsys):
    arguments = ["--loss", "cross_entropy", "--validation", "others.csv", "--option", "tol=0.01", "--l2", "2"]
    assert main([*REFINE, *arguments]) == 0
    rows, others = pd.read_csv("rows.csv"), pd.read_csv("others.csv")
    y, y_other = rows.pop("digit"), others.pop("digit")
    expected = bh.refine(
        bh.load("model.bhk"), rows, y, loss="cross_entropy", validation=(others, y_other), tol=0.01, l2=2.0
    )
    assert bh.load("better.bhk") == expected
    printed = capsys.readouterr().out
    assert "on the 797 rows of others.csv" in printed
    assert "error held out" in printed
    assert "Wrote better.bhk (cross_entropy, bcd," in printed


@pytest.mark.usefixtures("folder")
def test_without_a_gain_it_says_so_and_writes_the_forest_as_it_was(capsys):
    others = pd.read_csv("others.csv")
    # Labels that say whatever the forest says now: nothing can be better than that.
    others.assign(digit=bh.load("model.bhk").predict(others.drop(columns="digit"))).to_csv("same.csv", index=False)
    assert main([*REFINE, "--validation", "same.csv"]) == 0
    assert "the forest is as it was" in capsys.readouterr().out
    assert bh.load("better.bhk") == bh.load("model.bhk")


@pytest.mark.usefixtures("folder")
def test_gradient_descent_and_no_validation(capsys):
    assert main([*REFINE, "--solver", "sgd", "--epochs", "5", "--validation-fraction", "0"]) == 0
    assert "mse, sgd, 5 passes" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_numbers_are_refined_and_merged(capsys):
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    bh.as_forest(RandomForestRegressor(9, max_leaf_nodes=8, random_state=0).fit(frame, y)).save("numbers.bhk")
    frame.assign(target=y).to_csv("numbers.csv", index=False)
    arguments = ["numbers.bhk", "numbers.csv", "--label", "target"]
    assert main(["refine", *arguments, "--loss", "huber", "--validation-fraction", "0", "--out", "r.bhk"]) == 0
    assert main(["merge", *arguments, "--leaves", "30", "--out", "m.bhk"]) == 0
    assert "root mean sq. err." in capsys.readouterr().out
    assert bh.load("m.bhk").n_leaves <= 30


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("size", ["8KB", "8 kb", "8192", "0.0078125MB"])
def test_merge_takes_a_size(size):
    assert main([*MERGE, "--size", size]) == 0
    small = bh.load("small.bhk")
    assert 7500 < small.size() <= 8192
    assert as_bytes(size) == 8192


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*REFINE, "--loss", "hinge"], "loss must be 'auto' or one of cross_entropy"),
        ([*REFINE, "--l2", "-1"], "l2 must be a finite number not below 0, not -1.0"),
        ([*REFINE, "--solver", "adam"], "solver must be one of 'bcd', 'sgd', not 'adam'"),
        ([*REFINE, "--solver", "sgd", "--step-size", "-1"], "step_size must be a finite number not below 0"),
        ([*REFINE, "--solver", "sgd", "--step-size", "1e6"], "diverges"),
        ([*REFINE, "--validation-fraction", "1.5"], "from 0 to below 1"),
        ([*REFINE, "--validation", "nowhere.csv"], "nowhere.csv"),
        ([*REFINE, "--option", "speed=3"], "does not take the option 'speed'"),
        ([*REFINE, "--option", "tol"], "--option takes NAME=VALUE"),
        ([*REFINE, "--option", "l2=3"], "use --l2 for l2, not --option"),
        ([*REFINE, "--threads", "0"], "--threads must be at least 1, not 0"),
        ([*REFINE[:-1], "model.bhk"], "is there already; --force replaces it"),
        ([*REFINE[:-1], "nowhere/b.bhk"], "no such folder"),
        (
            [*MERGE, "--size", "8XB"],
            "--size must be a number of bytes with or without B, KB, MB or GB, as 64KB, not '8XB'",
        ),
        ([*MERGE, "--size=-8KB"], "--size must be a number of bytes"),
        ([*MERGE, "--size", "10B"], "a single leaf takes 57"),
        ([*MERGE, "--leaves", "0"], "max_leaves must be at least 1, not 0"),
        ([*MERGE, "--leaves", "20", "--loss", "auto"], "one loss, by its name"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(folder, arguments, message, capsys):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("arguments", [MERGE, [*MERGE, "--leaves", "3", "--size", "8KB"]])
def test_merge_wants_either_leaves_or_a_size(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "--leaves" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_arguments_are_not_guessed(capsys):
    with pytest.raises(SystemExit):
        main([*REFINE, "--los", "mse"])
    assert "unrecognized arguments: --los" in capsys.readouterr().err
