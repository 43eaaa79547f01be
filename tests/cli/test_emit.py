import shutil
import subprocess

import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.columns = ["sl", "sw", "pl", "pw"]
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=8, random_state=0).fit(frame, y))
    forest.save("model.bhk")
    bh.pack(forest).save("packed.bhk")
    frame.assign(kind=y).to_csv("rows.csv", index=False)
    return tmp_path


EMIT = ["emit", "model.bhk", "--out", "c"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--threshold-bits", "exact", "--leaf-bits", "4"],
        ["--target", "arduino-uno"],
        ["--layout", "fast", "--inputs", "float,int16"],
        ["--layout", "balanced", "--leaf-bits", "5"],
        ["--optimize", "speed", "--codebook", "8", "--scales", "class", "--no-missing-values"],
    ],
)
@pytest.mark.parametrize("table", [[], ["--table", "rows.csv", "--label", "kind"]])
def test_a_saved_forest_becomes_c_that_passes_its_test(folder, options, table, capsys):
    assert main([*EMIT, *options, *table]) == 0
    printed = capsys.readouterr().out
    assert "bytes" in printed
    assert ("get another class" in printed) == bool(table)
    assert ("Accuracy" in (folder / "c" / "model.h").read_text()) == bool(table)
    subprocess.run(["make", "-C", str(folder / "c"), "test"], check=True, capture_output=True)


@pytest.mark.usefixtures("folder")
def test_packed_models_and_numbers_too(capsys):
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestRegressor(5, max_leaf_nodes=8, random_state=0).fit(frame, y))
    forest.save("numbers.bhk")
    frame.assign(target=y).to_csv("numbers.csv", index=False)
    arguments = ["--table", "numbers.csv", "--label", "target"]
    assert main(["emit", "numbers.bhk", "--out", "a", *arguments]) == 0
    assert "root mean squared error" in capsys.readouterr().out
    bh.pack(forest).save("packed.bhk")
    assert main(["emit", "packed.bhk", "--out", "b", *arguments]) == 0


@pytest.mark.parametrize(("options", "written"), [([], "compact"), (["--optimize", "speed"], "fast")])
def test_the_cost_of_each_layout_is_printed(folder, options, written, capsys):
    if not shutil.which("avr-gcc") or not shutil.which("simavr"):
        pytest.skip("avr-gcc and simavr are not installed: make toolchains")
    assert main([*EMIT, "--target", "arduino-uno", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["layout", "bytes", "of", "flash", "of", "32,256", "cycles", "a", "row"]
    lines = lines[2:5]
    assert [line.split()[0] for line in lines] == ["compact", "balanced", "fast"]
    assert [line.split()[0] for line in lines if line.endswith("<- written")] == [written]
    assert ("goto" in (folder / "c" / "model.c").read_text()) == (written == "fast")


@pytest.mark.usefixtures("folder")
def test_without_a_compiler_it_is_written_all_the_same(capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert main([*EMIT, "--target", "arduino-uno"]) == 0
    assert "apt-get install gcc-avr avr-libc" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_speed_gives_way_where_there_is_no_room(capsys):
    if not shutil.which("avr-gcc") or not shutil.which("simavr"):
        pytest.skip("avr-gcc and simavr are not installed: make toolchains")
    X, y = make_classification(3000, 10, n_informative=8, random_state=0)
    bh.as_forest(RandomForestClassifier(24, max_leaf_nodes=180, random_state=0).fit(X, y)).save("large.bhk")
    assert main(["emit", "large.bhk", "--out", "c", "--target", "arduino-uno", "--optimize", "speed"]) == 0
    assert "does not fit arduino-uno; wrote the balanced one" in capsys.readouterr().out
    assert main(["emit", "large.bhk", "--out", "d", "--target", "arduino-uno", "--layout", "fast"]) == 2
    assert "arduino-uno has 32,256; --layout compact takes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*EMIT, "--layout", "fats"], "no layout 'fats'; did you mean 'fast'?"),
        ([*EMIT, "--inputs", "float,int15"], "no kind of input 'int15'; did you mean 'int16'?"),
        ([*EMIT, "--inputs", ""], "no kind of input ''"),
        ([*EMIT, "--codebook", "1"], "--codebook must be between 2 and 65,536, not 1"),
        ([*EMIT, "--scales", "two"], "--scales must be"),
        (
            ["emit", "packed.bhk", "--out", "c", "--leaf-bits", "4"],
            "--leaf-bits is for a forest; packed.bhk is packed",
        ),
        (["emit", "packed.bhk", "--out", "c", "--no-missing-values"], "--no-missing-values is for a forest"),
        (["emit", "nowhere.bhk", "--out", "c"], "nowhere.bhk"),
        (["emit", "rows.csv", "--out", "c"], "no model file that Billhook knows"),
        ([*EMIT, "--target", "arduino-unos"], "did you mean 'arduino-uno'?"),
        ([*EMIT, "--threshold-bits", "40"], "between 2 and 16, not 40"),
        (
            [*EMIT, "--threshold-bits", "some"],
            "--threshold-bits must be \"exact\" or a whole number from 2 to 16, not 'some'",
        ),
        ([*EMIT, "--leaf-bits", "1"], "--leaf-bits must be between 2 and 16, not 1"),
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
    assert "arduino-uno        avr           32,256    2,048     16" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_the_printed_command_runs_whatever_the_folder_is_called(capsys):
    assert main(["emit", "model.bhk", "--out", "my c"]) == 0
    assert "`make -C 'my c' test` tests them." in capsys.readouterr().out
