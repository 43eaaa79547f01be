import shutil
from dataclasses import replace

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.cli import main
from billhook.codegen import TOOLCHAINS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.columns = ["sl", "sw", "pl", "pw"]
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=6, random_state=0).fit(frame, y))
    forest.save("model.bhk")
    bh.pack(forest).save("packed.bhk")
    frame[["pw", "sl", "pl", "sw"]].assign(kind="a flower").to_csv("rows.csv", index=False)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("model", ["model.bhk", "packed.bhk"])
def test_the_host_runs_all_rows(model, capsys):
    assert main(["measure", model, "rows.csv", "--target", "linux-x86_64"]) == 0
    assert "150  100.0%" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_all_targets_make_a_table(capsys):
    assert main(["measure", "model.bhk", "rows.csv", "--target", "all", "--layout", "compact", "--rows", "5"]) == 0
    printed = capsys.readouterr()
    for target in bh.targets():
        assert target.name in printed.out + printed.err
    if shutil.which("simavr") and shutil.which("avr-gcc"):
        assert "arduino-uno" in printed.out
    assert "esp32: no compiler for esp32 (xtensa-lx6) is to be had from Debian" in printed.err


@pytest.mark.usefixtures("folder")
def test_without_an_emulator_it_is_said_why_there_are_no_cycles(capsys, monkeypatch):
    if shutil.which("xtensa-lx106-elf-gcc") is None:
        pytest.skip("xtensa-lx106-elf-gcc is not installed: make toolchains")
    without = replace(TOOLCHAINS["xtensa-lx106"], emulator=(), measures="size", core="size only: no emulator")
    monkeypatch.setitem(TOOLCHAINS, "xtensa-lx106", without)
    assert main(["measure", "model.bhk", "rows.csv", "--target", "D1 mini", "--layout", "compact"]) == 0
    printed = capsys.readouterr()
    headings, cells = (line.split() for line in printed.out.splitlines())
    assert headings == ["target", "layout", "flash", "RAM", "fits", "left"]
    assert cells[0] == "esp8266"
    assert "esp8266: size only: no emulator" in printed.err


@pytest.mark.usefixtures("folder")
def test_a_missing_tool_ends_with_3(capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert main(["measure", "model.bhk", "rows.csv", "--target", "arduino-uno"]) == 3
    assert "apt-get install gcc-avr avr-libc" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["measure", "model.bhk", "rows.csv", "--target", "generic", "--layout", "slow"], "no layout 'slow'"),
        (
            ["measure", "model.bhk", "rows.csv", "--target", "generic", "--inputs", "int16"],
            "int16 features are",
        ),
        (["measure", "nowhere.bhk", "rows.csv", "--target", "generic"], "nowhere.bhk"),
        (["measure", "model.bhk", "nowhere.csv", "--target", "generic"], "nowhere.csv"),
        (["measure", "model.bhk", "rows.csv", "--target", "arduino"], "no target 'arduino'"),
        (["measure", "model.bhk", "few.csv", "--target", "generic"], "lacks the column 'sw'"),
        (["measure", "model.bhk", "words.csv", "--target", "generic"], "no column of numbers"),
    ],
)
def test_what_is_wrong_is_said(arguments, message, capsys, folder):
    (folder / "few.csv").write_text("sl,pl,pw\n1,2,3\n")
    (folder / "words.csv").write_text("a\nx\n")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
