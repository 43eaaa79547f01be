import io
import os
import pty
import subprocess
import sys

import numpy as np
import pandas
import pytest

from billhook._progress import shown_by, tell_progress
from billhook.cli._progress import ProgressDisplay
from billhook.tables import read_table

HIDDEN, SHOWN = b"\x1b[?25l", b"\x1b[?25h"


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Time that passes only when told."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_a_terminal_is_shown_how_far_the_work_has_come(terminal):
    with ProgressDisplay("pruning", unit="trees", patience=0.0, out=terminal) as display:
        display(1, 4, "best 0.9 [of all]")
        assert "\x1b[?25l" in terminal.getvalue()
    shown = terminal.getvalue()
    for part in ("pruning", "25%", "1 of 4 trees", "best 0.9 [of all]"):
        assert part in shown
    assert shown.endswith("\r\x1b[K\x1b[?25h")  # wiped when done


def test_short_work_shows_nothing(terminal):
    for out in (terminal, io.StringIO()):
        with ProgressDisplay("pruning", out=out, now=Clock()) as display:
            display(1, 2)
            display(2, 2)
        assert out.getvalue() == ""


def test_without_a_terminal_there_is_a_line_now_and_then():
    out, clock = io.StringIO(), Clock()
    with ProgressDisplay("pruning", unit="trees", out=out, now=clock) as display:
        for done in range(1, 26):
            clock.seconds = float(done)
            display(done, 100, "best 0.9")
    assert out.getvalue().splitlines() == [
        "pruning: 2 of 100 trees (2%), 1 min 38 s left; best 0.9",
        "pruning: 12 of 100 trees (12%), 1 min 28 s left; best 0.9",
        "pruning: 22 of 100 trees (22%), 1 min 18 s left; best 0.9",
    ]


def test_a_dumb_terminal_has_lines_too(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    clock = Clock()
    with ProgressDisplay("pruning", out=terminal, now=clock) as display:
        clock.seconds = 3.0
        display(1, 2)
    assert terminal.getvalue() == "pruning: 1 of 2 steps (50%)\n"


def test_each_unit_is_a_line_if_asked_for():
    out = io.StringIO()
    with ProgressDisplay("running", unit="runs", each_note=True, out=out, now=Clock()) as display:
        for done, note in ((10, ""), (12, "iris"), (13, "iris"), (16, "wine")):
            display(done, 16, note)
    assert [line.partition(" (")[0] for line in out.getvalue().splitlines()] == [
        "running: 12 of 16 runs",
        "running: 16 of 16 runs",
    ]


def test_after_its_end_a_display_is_quiet(terminal):
    display = ProgressDisplay("running", patience=0.0, out=terminal)
    display.end()
    display(1, 2)
    assert terminal.getvalue() == ""


INTERRUPTED = """
import sys, threading
from billhook.cli import _interrupt
from billhook.cli._progress import ProgressDisplay
_interrupt.install()
with ProgressDisplay("waiting", patience=0.0) as display:
    display(1, 2)
    if sys.argv[1] == "stoppable":
        _interrupt.can_stop()
    try:
        print("ready", flush=True)
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
print("billhook: interrupted; all is in order", file=sys.stderr)
sys.exit(_interrupt.STATUS)
"""


@pytest.mark.parametrize(("stage", "last"), [("leaving", b"nothing was written"), ("stoppable", b"all is in order")])
def test_ctrl_c_leaves_a_clean_line_and_shows_the_cursor(stage, last):
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, stage],
        stdin=child,
        stdout=subprocess.PIPE,
        stderr=child,
        env=os.environ | {"TERM": "xterm"},
        start_new_session=True,
    )
    os.close(child)
    assert process.stdout.readline() == b"ready\n"
    written = b""
    while HIDDEN not in written:
        written += os.read(parent, 4096)
    process.send_signal(2)
    try:
        while part := os.read(parent, 4096):
            written += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(parent)
    process.stdout.close()
    assert process.wait() == 130
    assert written.rfind(SHOWN) > written.rfind(HIDDEN)
    assert written.endswith(b"\r\x1b[K\x1b[?25hbillhook: interrupted; " + last + b"\r\n")


def test_reading_tells_how_far_it_is(tmp_path):
    """Of text, compressed or not, in bytes; of Parquet files in columns."""
    frame = pandas.DataFrame({"a": np.arange(2000.0), "b": np.arange(2000.0) ** 2, "y": np.arange(2000) % 2})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_csv(tmp_path / "rows.csv.gz", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    for name, unit in (("rows.csv", "MB"), ("rows.csv.gz", "MB"), ("rows.parquet", "columns")):
        told = []

        def display(done, total, _note="", *, doing=None, amount=None, told=told):
            told.append((done, total, doing, amount))

        with shown_by(display):
            read_table(tmp_path / name, "y")
            with shown_by(None):
                read_table(tmp_path / name, "y")
        done, totals, doing, amounts = zip(*told, strict=True)
        assert len(told) > 1
        assert sorted(done) == list(done)
        assert done[-1] <= totals[-1]
        assert set(doing) == {f"reading {name}"}
        assert all(amount.endswith(f" {unit}") for amount in amounts)


def test_a_display_shows_what_loops_tell_and_begins_anew_to_reckon_the_time():
    out, clock = io.StringIO(), Clock()
    with ProgressDisplay("pruning", unit="trees", out=out, now=clock) as display:
        for seconds, done in ((1.0, 10), (2.0, 20)):
            clock.seconds = seconds
            tell_progress("reading rows.csv", done, 100, f"{done} of 100 MB")
        for seconds, done in ((12.0, 1), (22.0, 2)):
            clock.seconds = seconds
            display(done, 4, doing="pruning")
    tell_progress("reading rows.csv", 30, 100, "30 of 100 MB")
    assert out.getvalue().splitlines() == [
        "reading rows.csv: 20 of 100 MB (20%), 8 s left",
        "pruning: 1 of 4 trees (25%)",
        "pruning: 2 of 4 trees (50%), 20 s left",
    ]
