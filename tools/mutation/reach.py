"""Which lines each test reaches, and how long it takes; kept in a file, and found anew for what has changed."""

import hashlib
import json
import os
import subprocess
import time
from pathlib import Path

from .runs import OPTIONS, ROOT, cpu_seconds, hurry, use

SOURCE = ROOT / "src" / "billhook"
# The name of what is reached before any test runs.
IMPORTED = ""


class Reach:
    """The tests of a folder: `seconds` of each, and for each file and line of the source the tests that reach it."""

    def __init__(self, known):
        self.seconds = {}
        self.failing = set()
        self.by_line = {}
        for file in known["tests"].values():
            for test, said in file.items():
                if test != IMPORTED:
                    if said["failed"]:
                        self.failing.add(test)
                        continue
                    self.seconds[test] = said["seconds"]
                for name, lines in file[said.get("as", test)]["lines"].items():
                    for line in lines:
                        self.by_line.setdefault(name, {}).setdefault(line, set()).add(test)

    def tests_of(self, place):
        """Return the tests that reach a place, and whether it is reached when modules are imported."""
        lines = self.by_line.get(place.file, {})
        found = set().union(*(lines.get(line, ()) for line in place.lines))
        if not found:
            found = set().union(*(lines.get(line, ()) for line in place.statement))
        is_imported = IMPORTED in found
        found.discard(IMPORTED)
        return found, is_imported

    def tests_of_file(self, name):
        """Return the tests that reach a line of a file."""
        return set().union(*self.by_line.get(name, {}).values()) - {IMPORTED}


def digest(paths):
    """Return a digest of files."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def find(folder, paths, sources, kept, trace, without=()):
    """Return the reach of a folder's tests, from the file `kept` where neither tests nor sources have changed.

    `trace` makes of files of tests a list of what each test reaches.
    """
    files = sorted(file for path in paths for file in (ROOT / path).rglob("test_*.py"))
    files = [file for file in files if str(file.relative_to(ROOT)) not in without]
    of_sources = digest(sources)
    known = json.loads(kept.read_text()) if kept.exists() else {}
    if known.get("sources") != of_sources:
        known = {"sources": of_sources, "digests": {}, "tests": {}}
    digests = {str(file.relative_to(ROOT)): digest([file]) for file in files}
    stale = [name for name, value in digests.items() if known["digests"].get(name) != value]
    for name in set(known["tests"]) - set(digests) - {IMPORTED} | set(stale):
        known["tests"].pop(name, None)
    if stale:
        begin = time.monotonic()
        found = trace(stale)
        for test, said in found.items():
            file = test.partition("::")[0] if test != IMPORTED else IMPORTED
            if test == IMPORTED:
                for name, lines in known["tests"].get(file, {}).get(test, said)["lines"].items():
                    said["lines"][name] = sorted({*lines, *said["lines"].get(name, ())})
            known["tests"].setdefault(file, {})[test] = said
        known["digests"] = digests
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(known))
        print(f"{folder}: what {len(found):,} tests reach, found in {time.monotonic() - begin:.0f} s", flush=True)
    return Reach(known)


class _Tracer:
    """A plugin of pytest that notes for each test how long it takes, whether it fails, and what it reaches."""

    def __init__(self):
        self.found = {}
        self.begin = 0.0

    def pytest_configure(self):
        """Let hypothesis try few examples: lines are reached by the first ones, or seldom."""
        hurry(max_examples=15)

    def pytest_runtest_logstart(self, nodeid):
        """Begin a test."""
        self.begin = cpu_seconds()
        self.start(nodeid)

    def pytest_runtest_logreport(self, report):
        """Note a failure."""
        said = self.found.setdefault(report.nodeid, {"seconds": 0.0, "failed": False, "lines": {}})
        said["failed"] |= report.failed

    def pytest_runtest_logfinish(self, nodeid):
        """End a test."""
        self.found[nodeid]["seconds"] = round(cpu_seconds() - self.begin, 3)
        self.stop(nodeid)


class PythonTracer(_Tracer):
    """What tests reach in Python files."""

    def __init__(self):
        super().__init__()
        import coverage

        self.coverage = coverage.Coverage(
            data_file=None, source=[str(SOURCE)], config_file=False, context=None, messages=False
        )
        self.coverage.set_option("run:disable_warnings", ["no-data-collected", "module-not-imported"])
        self.coverage.start()

    def start(self, nodeid):
        """Begin a test."""
        self.coverage.switch_context(nodeid)

    def stop(self, nodeid):  # noqa: ARG002 - as for C
        """End a test."""
        self.coverage.switch_context(IMPORTED)

    def result(self):
        """Return what was found."""
        self.coverage.stop()
        data = self.coverage.get_data()
        self.found[IMPORTED] = {"seconds": 0.0, "failed": False, "lines": {}}
        for path in data.measured_files():
            name = str(Path(path).relative_to(SOURCE.parent))
            for line, tests in data.contexts_by_lineno(path).items():
                for test in tests:
                    if test in self.found:
                        self.found[test]["lines"].setdefault(name, []).append(line)
        return self.found


class CTracer(_Tracer):
    """What the tests of a file, which take little, reach in C files compiled with `--coverage`."""

    def __init__(self, objects):
        super().__init__()
        import ctypes

        import billhook.kernels._native as native

        self.objects, self.tests = objects, []
        library = ctypes.CDLL(native.__file__)
        self.dump, self.reset = library.mutants_dump, library.mutants_reset

    def start(self, nodeid):
        """Begin a test, which may be the first of a file."""
        if not self.tests or nodeid.partition("::")[0] != self.tests[0].partition("::")[0]:
            self._end_file()
        self.tests.append(nodeid)

    def stop(self, nodeid):
        """End a test."""

    def _end_file(self):
        """Give all tests of a file the lines that were counted since the last one ended."""
        self.dump()
        if self.tests:
            lines = self._lines()
            for test in self.tests:
                self.found[test] |= {"lines": {}, "as": self.tests[0]}
            self.found[self.tests[0]]["lines"] = lines
        self.tests = []
        self.reset()

    def _lines(self):
        counts = sorted(self.objects.glob("*.gcda"))
        if not counts:
            return {}
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", *(path.name for path in counts)],
            cwd=self.objects, capture_output=True, text=True, check=True,
        )  # fmt: skip
        for path in counts:
            path.unlink()
        lines = {}
        for text in done.stdout.splitlines():
            for file in json.loads(text)["files"]:
                if "/" not in file["file"]:  # compiled where it stands
                    reached = {line["line_number"] for line in file["lines"] if line["count"]}
                    lines.setdefault(f"billhook/kernels/{file['file']}", set()).update(reached)
        return {name: sorted(reached) for name, reached in lines.items() if reached}

    def result(self):
        """Return what was found."""
        self._end_file()
        return self.found


def traced(files, make_tracer, source=None):
    """Return what each test of some files reaches; with Billhook from the folder `source`."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            if source is not None:
                use(source)
            tracer = make_tracer()
            import pytest

            if pytest.main([*OPTIONS, *files], plugins=[tracer]) > 1:
                os._exit(1)
            with os.fdopen(writer, "w") as file:
                json.dump(tracer.result(), file)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read()
    os.waitpid(child, 0)
    if not said:
        raise SystemExit(f"what tests reach could not be found, do they run? {' '.join(files)}")
    return json.loads(said)
