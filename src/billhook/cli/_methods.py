import argparse
import inspect
from typing import Any

from billhook.pruning import pruning_methods


def add_to(commands: Any) -> None:
    """Add `billhook methods`."""
    parser = commands.add_parser("methods", help="list the pruning methods")
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Print a table of the methods that can be named on the command line."""
    rows = [("method", "family", "numbers too", "reference", "options")]
    for method in pruning_methods():
        if inspect.Parameter.empty in method.options.values():
            continue  # takes a function of the caller's
        options = ", ".join(f"{name}={default}" for name, default in method.options.items())
        rows.append((method.name, method.family, "yes" if method.regression else "", method.reference, options))
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
