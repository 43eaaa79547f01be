"""Runs chosen tests against a mutant, in a process of its own, until the first fails."""

import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType

ROOT = Path(__file__).parents[2]
# A test is endless when it takes this much longer than without a mutant: so many times, and so many CPU seconds more.
TIMES_LONGER, SECONDS_LONGER = 10, 15
MOST_MEMORY = 4 << 30
# Who takes no CPU time for so many seconds, however busy the machine is, waits for ever.
MOST_IDLE = 120
OPTIONS = ["-q", "-s", "--assert=plain", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]


def cpu_seconds():
    """Return the CPU seconds of this process and of the processes that it has started and waited for."""
    return sum(os.times()[:4])


def in_a_fork(work, cpu):
    """Return what `work` returns in a fork of this process, or how that ended: it crashed, or took too much."""
    scratch = tempfile.mkdtemp(prefix="mutants-")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _work_here(work, writer, scratch)
    os.close(writer)
    said, why = b"", None
    used, since = 0.0, time.monotonic()
    while why is None:
        if select.select([reader], [], [], 1.0)[0]:
            part = os.read(reader, 1 << 16)
            if not part:
                break
            said += part
            continue
        before, used = used, _cpu_of_group(child)
        if used != before:
            since = time.monotonic()
        if used > TIMES_LONGER * cpu or time.monotonic() > since + MOST_IDLE:
            why = "took too long"
        elif _memory(child) > MOST_MEMORY:
            why = "took too much memory"
    os.close(reader)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    shutil.rmtree(scratch, ignore_errors=True)
    if said and why is None:
        return json.loads(said)
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    why = why or ("took too long" if number == signal.SIGPROF else f"crashed: {signal.strsignal(number) or status}")
    return {"killed": True, "by": why, "n_run": None}


def _cpu_of_group(leader):
    """Return the CPU seconds of a process and of those that it has started, but for those that left its group."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            values = path.read_text().rpartition(")")[2].split()
            if int(values[2]) == leader:
                total += sum(map(int, values[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def _memory(process):
    """Return the bytes that a process holds."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _work_here(work, writer, scratch):
    """Do it in this process, silently, and end it."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    said = None
    try:
        said = work()
    except BaseException as error:  # pytest ends with SystemExit, for one
        said = {"killed": True, "by": f"{type(error).__name__}: {error}"[:200], "n_run": None}
    finally:
        data = json.dumps(said).encode()
        while data:
            data = data[os.write(writer, data) :]
        os._exit(0)


class Loop:
    """Runs items until one fails or the time is over; a plugin of pytest."""

    def __init__(self, seconds, cpu):
        self.seconds, self.cpu, self.failed = seconds, cpu, None

    def pytest_runtest_logreport(self, report):
        """Note a failure."""
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def run(self, items):
        """Return which test fails, and how many have run."""
        end = cpu_seconds() + self.cpu
        n_run = 0
        for number, item in enumerate(items):
            limit = TIMES_LONGER * self.seconds.get(item.nodeid, 1.0) + SECONDS_LONGER
            signal.setitimer(signal.ITIMER_PROF, limit)
            following = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            n_run += 1
            if self.failed or cpu_seconds() > end:
                break
        return {"killed": self.failed is not None, "by": self.failed, "n_run": n_run}


def hurry(**changes):
    """Let hypothesis not look for the simplest example that fails: that one does is enough."""
    from hypothesis import Phase, settings

    settings.register_profile("mutants", settings(), phases=(Phase.explicit, Phase.generate), **changes)
    settings.load_profile("mutants")


class ColdRun(Loop):
    """A run of pytest that collects some files and runs some of their tests, in the order given."""

    def __init__(self, tests, seconds, cpu):
        super().__init__(seconds, cpu)
        self.tests, self.outcome = tests, None

    def pytest_configure(self):
        """Set up hypothesis."""
        hurry()

    def pytest_collectreport(self, report):
        """Note that a file cannot be imported."""
        if report.failed and self.failed is None:
            self.failed = f"{report.nodeid}, when it is imported"

    def pytest_runtestloop(self, session):
        """Run the chosen ones."""
        if self.failed is None:
            items = {item.nodeid: item for item in session.items}
            self.outcome = self.run([items[test] for test in self.tests if test in items])
        return True


def cold(tests, seconds, source, cpu):
    """Return whether one of the tests fails with Billhook as it is in the folder `source`."""

    def work():
        use(source)
        run = ColdRun(tests, seconds, cpu)
        import pytest

        status = pytest.main([*OPTIONS, *sorted({test.partition("::")[0] for test in tests})], plugins=[run])
        if run.outcome:
            return run.outcome
        return {"killed": True, "by": run.failed or f"pytest ended with {int(status)}", "n_run": 0}

    return in_a_fork(work, cpu)


def use(source):
    """Import Billhook from a folder from now on, and write no compiled modules beside it."""
    sys.meta_path = [m for m in sys.meta_path if "ditable" not in type(m).__module__ + type(m).__name__]
    sys.path.insert(0, str(source))
    sys.dont_write_bytecode = True
    import billhook

    assert billhook.__file__.startswith(str(source))


class Server(Loop):
    """A run of pytest that has collected all tests of a folder, and runs some of them in a fork for each mutant.

    Nothing is imported again for a mutant: the functions that were changed get other code.
    """

    def __init__(self, requests, answers, seconds, cpu):
        super().__init__(seconds, cpu)
        self.requests, self.answers = requests, answers

    def pytest_configure(self):
        """Set up hypothesis."""
        hurry()

    def pytest_runtestloop(self, session):
        """Answer requests until there are no more."""
        items = {item.nodeid: item for item in session.items}
        functions = {}
        for function in gc.get_objects():
            if type(function) is FunctionType:
                functions.setdefault(function.__code__.co_filename, []).append(function)
        from .python_places import mutated

        for line in self.requests:
            request = json.loads(line)

            def work(request=request):
                path, line = request["path"], request["function"]
                if request["index"] is None:
                    return self.run([items[test] for test in request["tests"] if test in items])
                tree, _ = mutated(Path(path).read_text(), request["index"])
                codes = {(c.co_firstlineno, c.co_qualname): c for c in _codes(compile(tree, path, "exec"))}
                is_changed = False
                for function in functions.get(path, ()):
                    old = function.__code__
                    function.__code__ = codes.get((old.co_firstlineno, old.co_qualname), old)
                    is_changed |= old.co_firstlineno == line
                if not is_changed:
                    return {"killed": False, "by": None, "n_run": None}
                return self.run([items[test] for test in request["tests"] if test in items])

            self.answers.write(json.dumps(in_a_fork(work, self.cpu)) + "\n")
            self.answers.flush()
        return True


def _codes(code):
    """Yield all code that there is in a module."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


class Folder:
    """A process with a server for the tests of a folder."""

    def __init__(self, paths, seconds, cpu):
        request_reader, request_writer = os.pipe()
        answer_reader, answer_writer = os.pipe()
        self.process = os.fork()
        if not self.process:
            os.close(request_writer)
            os.close(answer_reader)
            _serve(paths, seconds, cpu, request_reader, answer_writer)
        os.close(request_reader)
        os.close(answer_writer)
        self.requests, self.answers = os.fdopen(request_writer, "w"), os.fdopen(answer_reader)

    def run(self, path, index, function, tests):
        """Return whether a test fails with a place of a file, or None, changed; None where it takes a new import."""
        request = {"path": str(path), "index": index, "function": function, "tests": tests}
        self.requests.write(json.dumps(request) + "\n")
        self.requests.flush()
        answer = json.loads(self.answers.readline())
        return None if not answer["killed"] and answer["n_run"] is None else answer

    def close(self):
        """End the process."""
        self.requests.close()
        os.waitpid(self.process, 0)


def _serve(paths, seconds, cpu, requests, answers):
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    with os.fdopen(requests) as reader, os.fdopen(answers, "w") as writer:
        import pytest

        pytest.main([*OPTIONS, *paths], plugins=[Server(reader, writer, seconds, cpu)])
    os._exit(0)
