import argparse
import inspect

from billhook.cli._tables import print_table
from billhook.pruning import pruning_methods


def run(_: argparse.Namespace) -> None:
    """Print a table of the methods that can be named on the command line."""
    rows = []
    for method in pruning_methods():
        if inspect.Parameter.empty in method.options.values():
            continue  # takes a function of the caller's
        options = " ".join(f"{name}={default}" for name, default in method.options.items())
        rows.append((method.name, method.family, "yes" if method.regression else "no", method.reference, options))
    print_table(("method", "family", "regression", "reference", "options"), rows)
