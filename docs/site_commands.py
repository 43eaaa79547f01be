"""The page of all commands, made from what `billhook COMMAND --help` prints."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from billhook.cli.options import parser_of_all

HEAD = """\
Command line
============

What ``billhook COMMAND --help`` prints, for all commands. Tables are CSV, ARFF or Parquet files; a MODEL is a file of
Billhook or of :doc:`another library </models>`.
"""


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of the commands, and of those below them, in their order."""
    for action in parser._actions:  # argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):
            for below in dict.fromkeys(action.choices.values()):
                yield below
                yield from parsers(below)


def write_commands(path: Path) -> None:
    """Write the page, if it differs from the one that is there: Sphinx reads again what is newer."""
    os.environ["COLUMNS"] = "100"
    os.environ["NO_COLOR"] = "1"
    lines = [HEAD]
    for parser in parsers(parser_of_all()):
        name = parser.prog
        lines += [name, "-" * len(name), "", ".. code-block:: text", ""]
        lines += [f"   {line}".rstrip() for line in parser.format_help().splitlines()]
        lines.append("")
    text = "\n".join(lines)
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
