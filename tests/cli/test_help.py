"""Help answers at once: what a command needs is imported when it runs, not to say what it takes."""

import argparse
import json
import subprocess
import sys

import pytest

from billhook import analysis
from billhook.cli.options import parser_of_all
from billhook.cli.options._command import Command
from billhook.cli.options._study import SIZES

HEAVY = {"numpy", "scipy", "sklearn", "pandas", "joblib", "numba", "narwhals", "xgboost", "rich", "jinja2"}
# Says on its last line what was imported, after the command has ended in whatever way.
CODE = """if True:
    import json, sys
    from billhook.cli import main
    try:
        main(sys.argv[1:])
    except SystemExit as end:
        assert end.code in (0, 2), end.code
    print()
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
    print(json.dumps([name for name in sys.modules if name.startswith("billhook.")]))
"""
# A small module that cannot be imported any more when it is needed.
NEEDED_WITHOUT_MEMORY = "billhook._out_of_memory"


def parsers(parser, words=()):
    """Return every parser of the command line by the words that lead to it."""
    found = {words: parser}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                found |= parsers(inner, (*words, name))
    return found


PARSERS = parsers(parser_of_all())


def imported_by(*arguments):
    """Return what is printed, the packages that are imported, and the modules of Billhook."""
    command = [sys.executable, "-c", CODE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *text, packages, modules = done.stdout.splitlines()
    return "\n".join(text), set(json.loads(packages)), json.loads(modules)


def test_all_commands_are_seen():
    assert {words[0] for words in PARSERS if words} == {
        *("fit", "predict", "score", "show", "compare", "diagnose"),
        *(
            "prune",
            "refine",
            "merge",
            "convert",
            "emit",
            "measure",
            "methods",
            "targets",
            "data",
            "study",
            "completion",
        ),
    }
    assert ("study", "run") in PARSERS
    assert ("data", "fetch") in PARSERS


@pytest.mark.parametrize("words", PARSERS, ids=" ".join)
def test_help_imports_nothing_heavy(words):
    text, packages, modules = imported_by(*words, "--help")
    assert text.startswith(f"usage: {' '.join(('billhook', *words))}")
    assert not packages & HEAVY
    assert not [name for name in modules if not name.startswith(("billhook.cli", NEEDED_WITHOUT_MEMORY))]


@pytest.mark.parametrize("words", [(), ("data",), ("study",), ("--version",), ("fit", "--nonsense")], ids=" ".join)
def test_what_needs_no_command_imports_nothing_heavy(words):
    _, packages, _ = imported_by(*words)
    assert not packages & HEAVY


@pytest.mark.parametrize("words", [words for words in PARSERS if words], ids=" ".join)
def test_every_command_has_something_to_run(words):
    run = PARSERS[words].get_default("run")
    assert callable(run.load() if isinstance(run, Command) else run)


def test_sizes_are_those_of_the_analysis():
    assert tuple(analysis.SIZES) == SIZES
