import argparse
import sys
import time
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._model import add_model_and_table, add_out, compare, option, read
from billhook.cli._progress import ProgressBar
from billhook.pruning import prune


def add_to(commands: Any) -> None:
    """Add `billhook prune`."""
    parser = commands.add_parser(
        "prune",
        allow_abbrev=False,
        help="keep the best trees of a forest",
        description="Keep the trees of a saved forest that a pruning method selects on the rows of a table.",
    )
    add_model_and_table(parser, "rows to evaluate the trees on")
    parser.add_argument("--trees", required=True, type=int, metavar="K", help="how many trees to keep")
    parser.add_argument("--method", default="reduced_error", help="see `billhook methods` (default: %(default)s)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="one of the method's own options"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of methods that draw (default: %(default)s)")
    add_out(parser, "the pruned forest")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Prune a saved forest, write the result, and print what it cost."""
    options = dict(option(text) for text in arguments.option)
    forest, X, y = read(arguments)
    start = time.perf_counter()
    pruned = prune(
        forest,
        X,
        y,
        method=arguments.method,
        n_trees=arguments.trees,
        random_state=arguments.seed,
        progress=ProgressBar(sys.stderr),
        **options,
    )
    seconds = time.perf_counter() - start
    compare(forest, pruned, [(arguments.table, X, y)])
    _interrupt.finish()
    pruned.save(arguments.out)
    print(f"Wrote {arguments.out} ({arguments.method}, {seconds:.1f} s).")
