"""Tables as a terminal and a file get them."""

import io
import shlex
import subprocess
import sys

import pytest

from billhook.cli import main
from billhook.cli._tables import print_fields, print_table

ROWS = [("one", "1,234", "", "a few words [of text]"), ("three", "5", "", "more")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_numbers_are_right_aligned_and_empty_columns_left_out(capsys):
    print_table(("name", "size", "nothing", "note"), ROWS, numbers=("size",))
    assert capsys.readouterr().out.splitlines() == [
        "name    size  note",
        "one    1,234  a few words [of text]",
        "three      5  more",
    ]


@pytest.mark.parametrize("columns", [20, 24, 80])
def test_on_a_narrow_terminal_text_is_folded_and_nothing_is_cut(columns, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    print_table(("name", "size", "nothing", "note"), ROWS, numbers=("size",))
    lines = terminal.getvalue().splitlines()
    assert all(len(line) <= columns for line in lines[1:])
    assert sorted(" ".join(lines[1:]).split()) == sorted(cell for row in ROWS for cell in " ".join(row).split())
    assert not any(line.endswith(" ") for line in lines)


def test_a_file_gets_whole_lines_without_colours(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    print_fields([("model", "word " * 60)])
    assert capsys.readouterr().out == "model  " + " ".join(["word"] * 60) + "\n"


def test_a_command_that_prints_no_table_imports_no_rich():
    code = "import sys; from billhook.cli import main; main(['data']); sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("command", ["fit", "prune", "refine", "merge", "emit", "measure", "study"])
def test_help_ends_with_examples(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"examples:\n  billhook {command} " in capsys.readouterr().out


def test_whoever_reads_the_output_may_stop_reading():
    script = f"{shlex.quote(sys.executable)} -m billhook data list | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
