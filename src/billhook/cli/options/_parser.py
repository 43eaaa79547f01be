import argparse

from billhook import __version__
from billhook.cli.options import (
    _compare,
    _completion,
    _convert,
    _data,
    _diagnose,
    _emit,
    _fit,
    _measure,
    _merge,
    _methods,
    _predict,
    _prune,
    _refine,
    _score,
    _show,
    _study,
    _targets,
)
from billhook.cli.options._help import HelpFormatter, examples

# In the order of their help.
COMMANDS = (
    *(_fit, _predict, _score, _show, _compare, _diagnose),
    *(_prune, _refine, _merge, _convert, _emit, _measure, _methods, _targets, _data, _study, _completion),
)


def parser_of_all() -> argparse.ArgumentParser:
    """Return the parser of the command line, with all sub-commands."""
    parser = argparse.ArgumentParser(
        prog="billhook",
        description="Shrink tree ensembles to fit a number of bytes, and write them as C.",
        epilog=examples("billhook fit --demo --out digits    learn to read digits in 4 KB", "billhook fit --help"),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"billhook {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return parser
