import argparse
import inspect
from typing import Any

from billhook.cli._tables import print_table
from billhook.pruning import pruning_methods


def add_to(commands: Any) -> None:
    """Add `billhook methods`."""
    parser = commands.add_parser(
        "methods",
        help="list the pruning methods",
        description="List the pruning methods of `billhook prune`, with their options and defaults.",
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Print a table of the methods that can be named on the command line."""
    rows = []
    for method in pruning_methods():
        if inspect.Parameter.empty in method.options.values():
            continue  # takes a function of the caller's
        options = " ".join(f"{name}={default}" for name, default in method.options.items())
        rows.append((method.name, method.family, "yes" if method.regression else "no", method.reference, options))
    print_table(("method", "family", "regression", "reference", "options"), rows)
