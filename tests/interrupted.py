"""A program that runs a command of Billhook again and again, and interrupts it at moments spread over the run.

Moments are counted in calls of Python functions, in all threads but those that look how far things are every so many
seconds: a busy machine changes nothing.
Each run is a fork of this process, which may have run a command like it before: all is imported then, and compiled.
"""

import faulthandler
import json
import os
import signal
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path

SECONDS_AT_MOST = 300  # a run that hangs is ended; what it was at is in what it has said


def run(command, folder, moment, *, to_group):
    """Become a process that runs the command in a folder, and is interrupted at a call, if any; return its status."""
    os.setpgid(0, 0)
    faulthandler.dump_traceback_later(SECONDS_AT_MOST, exit=True)
    os.chdir(folder)
    os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = str(folder / "tmp")
    sys.argv = ["billhook", *command]
    calls, is_ready = count(1), False

    def profile(_frame, event, _argument):
        # In Python 3.11 a thread that is profiled gets no further while a signal waits for the main thread, which may
        # wait for that thread.
        nonlocal is_ready
        if event != "call":
            return
        if threading.current_thread().name == "progress":
            sys.setprofile(None)
            return
        is_ready = is_ready or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        if is_ready and next(calls) == moment:
            sys.setprofile(None)
            (os.killpg if to_group else os.kill)(os.getpid(), signal.SIGINT)

    from billhook.cli import start

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        return start()
    finally:
        if moment is None:
            (folder / "tmp" / "calls").write_text(str(next(calls)))


def forked(command, folder, moment=None, *, to_group=False):
    """Run the command in a new process; return its status, and what it and its own processes have said."""
    (folder / "tmp").mkdir(parents=True)
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        os.dup2(write, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.close(write)
        sys.exit(run(command, folder, moment, to_group=to_group))
    os.close(write)
    with open(read) as pipe:
        said = pipe.read()  # until the last process that could say something has ended
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said


def main():
    plan = json.loads(sys.argv[1])
    folder, command = Path(plan["folder"]), plan["command"]
    if plan["warm"]:
        from billhook.cli import main as billhook

        (folder / "warm").mkdir()
        os.chdir(folder / "warm")
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            assert billhook(plan["warm"]) == 0
    status, said = forked(command, folder / "whole")
    assert status == 0, said
    calls = folder / "whole" / "tmp" / "calls"
    n_calls = int(calls.read_text())
    calls.unlink()
    for number in range(plan["moments"]):
        # The last is after the end of the command, when Python puts itself away.
        moment = 1 + number * (n_calls + 1) // max(plan["moments"] - 1, 1)
        where = folder / f"{number}"
        status, said = forked(command, where, moment, to_group=plan["to_group"])
        print(
            json.dumps({"folder": str(where), "moment": f"{moment:,} of {n_calls:,}", "status": status, "said": said})
        )


if __name__ == "__main__":
    main()
