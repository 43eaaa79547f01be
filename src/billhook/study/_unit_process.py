"""Units of a study in a process of their own, which is ended when a run takes longer than it may."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import IO, Any, Literal, NamedTuple

from billhook._interruption import not_interrupted
from billhook._out_of_memory import is_out_of_memory
from billhook.analysis import TIMED_OUT
from billhook.datasets import DataSet
from billhook.study._rows import seed_of
from billhook.study._store import ResultsError, RunRecord, skipped
from billhook.study._study import Configuration, Study, Unit, configurations_of
from billhook.study._unit import Key, Record, run_unit

COMMAND = "from billhook.study._unit_process import serve; serve()"

GO_ON = "What was finished is there: run it again, with fewer jobs or a memory limit"


class UnitRequest(NamedTuple):
    """What the process is asked to do."""

    study: Study
    unit: Unit
    load: Callable[[], DataSet]
    known: set[Key]


class UnitMessage(NamedTuple):
    """What the process answers: the runs that wait for what begins now, records, that all is done, or an error."""

    kind: Literal["begun", "records", "done", "error"]
    value: Any = None


class UnitProcess:
    """A process that does one unit after the other, with a time limit for each run if there is one.

    It is started for the first unit, and again for what is left of one after a run that took too long. Ctrl-C does
    not reach it: whoever has started it ends it, and it ends by itself when its pipes do.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_killed = False
        self._lock = threading.Lock()

    def run_unit(
        self,
        study: Study,
        unit: Unit,
        load: Callable[[], DataSet],
        known: set[Key],
        record: Record,
        time_limit: float | None,
    ) -> None:
        """Make the runs of a unit that are not known yet, and record each; those that take too long as timed out.

        After one of these, a new process makes the base ensemble again, to the bit, for the runs that are left. The
        data set is loaded in the process.
        """
        seed = seed_of(study.seed, unit.data, unit.fold, unit.base)
        left = {
            configuration.key: configuration
            for configuration in configurations_of(study, unit)
            if configuration.key not in known
        }
        while left:
            done = known | ({configuration.key for configuration in configurations_of(study, unit)} - set(left))
            late = self._run(UnitRequest(study, unit, load, done), left, record, time_limit)
            for k, key in enumerate(late):  # the first, and those that waited for the same step
                assert time_limit is not None
                run = skipped(left.pop(key), f"took longer than {time_limit:g} s", seed, TIMED_OUT)
                record([replace(run, seconds=0.0 if k else time_limit)])

    def kill(self) -> None:
        """End the process, from any thread, and let none be started again; `run_unit` then ends with an error."""
        with self._lock:
            self._is_killed = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the process, from the thread that uses it, if any."""
        with self._lock, not_interrupted():
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                for pipe in (self._process.stdin, self._process.stdout):
                    assert pipe is not None
                    with suppress(OSError):  # what was not sent yet
                        pipe.close()
                self._process = None

    def _run(
        self, request: UnitRequest, left: dict[Key, Configuration], record: Record, time_limit: float | None
    ) -> list[Key]:
        """Have the process do a unit, take off `left` what is recorded, and return which runs took too long."""
        process = self._started()
        waiting: list[Key] = []
        deadline: Deadline | None = None
        is_done = is_ended = is_late = False
        try:
            _send(process.stdin, request)
            for kind, value in _messages(process.stdout):
                if kind == "begun":
                    waiting = value
                    if time_limit is not None and deadline is None:
                        deadline = Deadline(process, time_limit)
                elif kind == "records":
                    if deadline is not None and isinstance(value[0], RunRecord):
                        is_ended = deadline.stop() or is_ended  # the record was there before
                        deadline, waiting = None, []
                    record(value)
                    for row in value:
                        left.pop(getattr(row, "key", ()), None)
                elif kind == "error":
                    if is_out_of_memory(value):
                        raise ResultsError(f"memory ran out in {_where(request)} ({value}). {GO_ON}") from value
                    raise value
                else:
                    is_done = True
                    left.clear()
                    break
            is_late = deadline is not None and deadline.stop()
            if not (is_done or is_ended or is_late):
                raise ResultsError(
                    f"{_where(request)} was killed, perhaps for want of memory (exit status {process.wait()}). "
                    + GO_ON
                )
        except BaseException:
            if deadline is not None:
                deadline.stop()
            self.close()
            raise
        if is_ended or is_late:
            self.close()
        return waiting if is_late else []

    def _started(self) -> "subprocess.Popen[bytes]":
        # What can be imported here can be imported there.
        paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
        with self._lock, not_interrupted():
            if self._is_killed:
                raise ResultsError("the study was stopped")
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", COMMAND],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=os.environ | {"PYTHONPATH": paths},
                    creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # on Windows: no Ctrl-C for it
                )
            return self._process


class Deadline:
    """Ends a process after some seconds, if it is not stopped before."""

    def __init__(self, process: "subprocess.Popen[bytes]", seconds: float) -> None:
        self.process, self.seconds = process, seconds
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._is_over = False
        with not_interrupted():
            threading.Thread(target=self._end, daemon=True).start()

    def stop(self) -> bool:
        """Return whether the process was ended; from now on it is not."""
        with self._lock:
            self.stopped.set()
        return self._is_over

    def wait(self) -> None:
        """Wait until the time is over, or it is stopped."""
        self.stopped.wait(self.seconds)

    def _end(self) -> None:
        self.wait()
        with self._lock:
            if not self.stopped.is_set():
                self._is_over = True
                self.process.kill()


def serve() -> None:
    """Do the units that are asked for on the standard input, and answer on the standard output, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is not to get among the answers
    requests: SimpleQueue[UnitRequest | Exception] = SimpleQueue()

    def read() -> None:
        try:
            for request in _messages(sys.stdin.buffer):
                requests.put(request)
        except Exception as error:  # a request names what cannot be imported here
            requests.put(error)
            while sys.stdin.buffer.read(1 << 16):
                pass
        os._exit(0)  # nobody is there any more, however busy this process is

    threading.Thread(target=read, daemon=True).start()
    while True:
        request = requests.get()
        try:
            if isinstance(request, Exception):
                raise request
            study, unit, load, known = request
            run_unit(
                study,
                unit,
                load(),
                known,
                lambda rows: _send(answers, UnitMessage("records", rows)),
                lambda keys: _send(answers, UnitMessage("begun", keys)),
            )
        except Exception as error:
            _send(answers, UnitMessage("error", _picklable(error)))
        else:
            _send(answers, UnitMessage("done"))


def _where(request: UnitRequest) -> str:
    unit = request.unit
    return f"the process of {unit.data}, fold {unit.fold}, {unit.base}"


def _picklable(error: Exception) -> Exception:
    """Return an error as it is, or what it says if it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its own methods do
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _send(pipe: IO[bytes] | None, message: Any) -> None:
    assert pipe is not None
    with suppress(BrokenPipeError):  # the other end has gone, as whoever reads from it will notice
        pickle.dump(message, pipe)
        pipe.flush()


def _messages(pipe: IO[bytes] | None) -> Iterator[Any]:
    """Yield what is sent, until the other end closes the pipe or is ended."""
    assert pipe is not None
    while True:
        try:
            yield pickle.load(pipe)
        except (EOFError, pickle.UnpicklingError):
            return
