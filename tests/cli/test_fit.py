import os
import re
import shutil
import subprocess
import time

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import billhook as bh
from billhook.cli import main


def write(path, columns):
    """Write columns of a table as CSV."""
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def of(load, label="kind"):
    data = load()
    names = [str(name).replace(" ", "_") for name in data.feature_names]
    return dict(zip(names, data.data.T.tolist(), strict=True)) | {label: data.target.tolist()}


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    table = of(load_wine)
    table["kind"] = [("barolo", "grignolino", "barbera")[k] for k in table["kind"]]
    table["colour"] = [("red", "dark red", "pale, red")[k % 3].replace(",", "") for k in range(178)]
    return write(tmp_path_factory.mktemp("wine") / "wine.csv", table)


def fit(capsys, *arguments):
    code = main(["fit", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_from_a_table_to_c_that_tests_itself(wine, tmp_path, capsys):
    out = tmp_path / "wine"
    code, said, told = fit(capsys, wine, "--label", "kind", "--budget", "600", "--out", out, "--trials", "4")
    assert code == 0, told
    assert "178 rows" in said
    assert "3 classes" in said
    printed = re.search(r"held-out accuracy +(\S+)% \(95% interval: (\S+)% to (\S+)%\)", said)
    score, low, high = map(float, printed.groups())
    assert low < score < high
    assert "'kind' holds text with 3 different values: classification." in told
    packed = bh.load(out / "model.bhk")
    assert packed.nbytes <= 600
    assert f"{packed.nbytes:,} bytes of 600" in said
    assert packed.classes.tolist() == ["barbera", "barolo", "grignolino"]
    assert "<html" in (out / "report.html").read_text()
    if shutil.which("cc") and shutil.which("make"):
        tested = subprocess.run(["make", "-C", out / "c", "test"], capture_output=True, text=True, check=True)
        assert "rows as expected" in tested.stdout
    assert "put_colour" in (out / "c" / "model.h").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wine"]


def test_the_same_seed_and_trials_write_the_same_model(wine, tmp_path, capsys):
    options = ("--label", "kind", "--budget", "400", "--trials", "4", "--seed", "5")
    for name, jobs in (("one", 1), ("two", 2)):
        assert fit(capsys, wine, *options, "--jobs", jobs, "--out", tmp_path / name)[0] == 0
    assert bh.load(tmp_path / "one" / "model.bhk") == bh.load(tmp_path / "two" / "model.bhk")
    assert (tmp_path / "one/c/model.c").read_text() == (tmp_path / "two/c/model.c").read_text()


def test_numbers_are_predicted_as_such(tmp_path, capsys):
    path = write(tmp_path / "d.csv", of(load_diabetes, "progress"))
    code, said, told = fit(
        capsys, path, "--label", "progress", "--budget", "1KB", "--trials", "3", "--out", tmp_path / "o"
    )
    assert code == 0, told
    assert "regression" in told
    assert re.search(r"held-out R2 +\S+ \(95% interval: \S+ to \S+\)", said)
    assert bh.load(tmp_path / "o/model.bhk").task == "regression"
    as_classes = ("--task", "classification", "--trials", "1", "--out", tmp_path / "p")
    code, _, told = fit(capsys, path, "--label", "progress", "--budget", "200", *as_classes)
    assert code == 2
    assert "too small" in told


def test_the_room_of_a_board(wine, tmp_path, capsys):
    options = ("--label", "kind", "--target", "arduino-uno", "--reserve", "30KB", "--trials", "2")
    code, said, told = fit(capsys, wine, *options, "--out", tmp_path / "o")
    assert code == 0, told
    assert bh.load(tmp_path / "o/model.bhk").nbytes <= 32_256 - 30 * 1024 - 1250
    assert "on arduino-uno" in said
    assert (tmp_path / "o/c/arduino").is_dir()


def test_what_is_too_slow_is_written_and_said(wine, tmp_path, capsys):
    options = ["--target", "uno", "--budget", "500", "--max-cycles", "3", "--trials", "1"]
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(wine), "--label", "kind", "--out", str(tmp_path / "out"), *options])
    assert ended.value.code == 4
    printed = capsys.readouterr()
    assert re.search(r"cycles a row, [\d,]+ bytes of flash <- written, more than asked for", printed.out)
    assert re.search(r"no layout that fits arduino-uno takes at most 3 cycles a row: .*--max-cycles", printed.err)
    assert bh.load(tmp_path / "out" / "model.bhk").nbytes <= 500


def test_a_saved_forest_is_made_to_fit(tmp_path, capsys):
    from sklearn.ensemble import RandomForestClassifier

    X, y = load_breast_cancer(return_X_y=True)
    names = [str(name).replace(" ", "_") for name in load_breast_cancer().feature_names]
    pandas = pytest.importorskip("pandas")
    forest = RandomForestClassifier(20, random_state=0).fit(pandas.DataFrame(X, columns=names), y)
    bh.as_forest(forest).save(tmp_path / "rf.bhk")
    path = write(tmp_path / "c.csv", of(load_breast_cancer))
    options = ("--label", "kind", "--budget", "500", "--model", tmp_path / "rf.bhk", "--trials", "2")
    code, _, told = fit(capsys, path, *options, "--out", tmp_path / "o")
    assert code == 0, told
    assert bh.load(tmp_path / "o/model.bhk").nbytes <= 500


def test_a_folder_that_is_there_is_replaced_only_with_force(wine, tmp_path, capsys):
    out = tmp_path / "o"
    out.mkdir()
    (out / "precious.txt").write_text("mine")
    options = ("--label", "kind", "--budget", "300", "--trials", "1", "--out", out)
    code, _, told = fit(capsys, wine, *options)
    assert code == 2
    assert "--force replaces files in it" in told
    assert (out / "precious.txt").read_text() == "mine"
    code, _, told = fit(capsys, wine, *options, "--force")
    assert code == 0, told
    assert sorted(os.listdir(out)) == ["c", "model.bhk", "precious.txt", "report.html", "search.json"]
    assert os.listdir(tmp_path) == ["o"]


def test_what_fails_leaves_nothing_behind_and_nothing_lost(wine, tmp_path, capsys, monkeypatch):
    out = tmp_path / "o"
    out.mkdir()
    (out / "old").write_text("old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("billhook.budget._output.emit", full)
    options = ("--label", "kind", "--budget", "300", "--trials", "1", "--out", out, "--force")
    code, _, told = fit(capsys, wine, *options)
    assert code == 2
    assert "No space left" in told
    assert os.listdir(tmp_path) == ["o"]
    assert os.listdir(out) == ["old"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "give a table to learn from"),
        (("nowhere.csv", "--label", "a", "--budget", "1KB", "--out", "o"), "nowhere.csv"),
        (("TABLE", "--budget", "1KB", "--out", "o"), "--label says which column"),
        (("TABLE", "--label", "kinds", "--budget", "1KB", "--out", "o"), "kind"),
        (("TABLE", "--label", "kind", "--out", "o"), "say how large the model may be"),
        (("TABLE", "--demo", "--out", "o"), "--demo brings its own rows, and"),
        (("--demo", "--label", "kind", "--out", "o"), "--demo brings its own rows and labels: leave --label out"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--metric", "acuracy", "--out", "o"), "did you mean 'accur"),
        (("TABLE", "--label", "kind", "--budget", "1KB"), "--out names the folder"),
        (("TABLE", "--label", "kind", "--budget", "-1", "--out", "o"), "--budget"),
        (("TABLE", "--label", "kind", "--budget", "much", "--out", "o"), "--budget must be a number of bytes"),
        (("TABLE", "--label", "kind", "--budget", "7", "--out", "o"), "too small: a model with one split takes"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--reserve", "1KB", "--out", "o"), "--reserve keeps bytes"),
        (("TABLE", "--label", "kind", "--target", "unos", "--out", "o"), "there is no target 'unos'"),
        (("TABLE", "--label", "kind", "--target", "arduino-uno", "--reserve", "32KB", "--out", "o"), "reserved"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--scoring", "acc", "--out", "o"), "there is no scoring"),
        (
            ("TABLE", "--label", "kind", "--budget", "1KB", "--trials", "0", "--out", "o"),
            "--trials must be at least 1, not 0",
        ),
        (
            ("TABLE", "--label", "kind", "--budget", "1KB", "--time-limit", "0", "--out", "o"),
            "--time-limit must be above 0",
        ),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--out", "no/such/o"), "no such folder"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--out", "TABLE"), "this is a file"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--out", "o", "--backend", "dask"), "--scheduler"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--out", "/"), "must be a folder of its own"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--out", ""), "--out names the folder"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--out", "o", "--seed", "-1"), "--seed"),
        (("TABLE", "--label", "kind", "--budget", "1KB", "--out", "o", "--jobs", "0"), "--jobs must be"),
        (("FOLDER", "--label", "kind", "--budget", "1KB", "--out", "o"), "is a folder"),
    ],
)
def test_what_cannot_be(wine, tmp_path, capsys, monkeypatch, options, says):
    monkeypatch.chdir(tmp_path)
    given = [str(wine) if word == "TABLE" else str(wine.parent) if word == "FOLDER" else word for word in options]
    if "--trials" not in given:
        given += ["--trials", "1"]
    try:
        code, _, told = fit(capsys, *given)
    except SystemExit:  # argparse takes "-1" for an option
        code, told = 2, capsys.readouterr().err
    assert code == 2
    assert says in told
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"a": [1, 2, 3, 4], "y": ["u", "u", "u", "u"]}, "nothing to learn"),
        ({"a": [1, 2], "y": ["u", "v"]}, "rows"),
        ({"a": [1, 2, 3, 4], "y": ["u", "", "v", "u"]}, "label"),
        ({"a": ["", "", "", ""], "y": ["u", "v", "u", "v"]}, "a"),
        ({"a": [5, 5, 5, 5], "y": ["u", "v", "u", "v"]}, "a"),
        ({"a": range(10_000), "y": [f"n{k}" for k in range(10_000)]}, "classes"),
        ({"a": [f"text {k}" for k in range(400)], "y": ["u", "v"] * 200}, "a"),
    ],
)
def test_tables_that_say_nothing(tmp_path, capsys, columns, says):
    table = write(tmp_path / "t.csv", {name: list(cells) for name, cells in columns.items()})
    code, _, told = fit(capsys, table, "--label", "y", "--budget", "1KB", "--trials", "1", "--out", tmp_path / "o")
    assert code == 2
    assert says in told
    assert "Traceback" not in told
    assert os.listdir(tmp_path) == ["t.csv"]


def test_the_demo_needs_no_table(tmp_path, capsys):
    code, said, told = fit(capsys, "--demo", "--trials", "1", "--budget", "1KB", "--out", tmp_path / "o")
    assert code == 0, told
    assert "scikit-learn's digits: 1,797 rows" in said
    assert np.isfinite(bh.load(tmp_path / "o/model.bhk").scale)


def test_one_tree_is_not_one_trees_and_the_printed_command_runs(tmp_path, capsys):
    path = write(tmp_path / "t.csv", {"x": range(40), "y": ["a", "b"] * 20})
    out = tmp_path / "my model"
    code, said, told = fit(capsys, path, "--label", "y", "--budget", "60", "--trials", "1", "--out", out)
    assert code == 0, told
    assert "1 feature," in said
    assert not re.search(r"\b1 (trees|leaves|features|rows|configurations)\b", said)
    assert f"`make -C '{out / 'c'}' test` tests the C." in said
    assert re.search(r"fits +all \d+ targets with a known flash size, from \S+ up", said)


def test_the_time_begins_with_the_command(wine, tmp_path, capsys, monkeypatch):
    """And so not after all that a fit needs is imported."""
    from billhook.cli import _fit

    clocks = []
    monkeypatch.setattr(_fit, "fit_table", lambda *_, **options: clocks.append(options["started"]) or 1 / 0)
    before = time.perf_counter()
    with pytest.raises(ZeroDivisionError):
        fit(capsys, wine, "--label", "kind", "--budget", "600", "--out", tmp_path / "out")
    assert before < clocks[0] < time.perf_counter()
