import argparse
import sys
import time
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._model import add_model_and_table, add_out, compare, option, read
from billhook.cli._progress import ProgressBar
from billhook.pruning import pruning_choice


def add_to(commands: Any) -> None:
    """Add `billhook prune`."""
    parser = commands.add_parser(
        "prune",
        allow_abbrev=False,
        help="keep the best trees of a forest",
        description="Keep the trees of a saved forest that a pruning method chooses on the rows of a table.",
    )
    add_model_and_table(parser, "rows to judge the trees on")
    parser.add_argument("--trees", required=True, type=int, metavar="K", help="how many trees to keep")
    parser.add_argument("--method", default="reduced_error", help="see `billhook methods` (default: %(default)s)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="one of the method's own options"
    )
    parser.add_argument("--seed", type=int, default=0, help="for methods that draw (default: %(default)s)")
    add_out(parser, "the pruned forest")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Read, prune, write, and say what it cost."""
    options = dict(option(text) for text in given.option)
    forest, X, y = read(given)
    start = time.perf_counter()
    pruned = pruning_choice(
        forest,
        X,
        y,
        method=given.method,
        n_trees=given.trees,
        random_state=given.seed,
        progress=ProgressBar(sys.stderr),
        **options,
    ).forest
    seconds = time.perf_counter() - start
    compare(forest, pruned, [(given.table, X, y)])
    _interrupt.finish()
    pruned.save(given.out)
    print(f"Wrote {given.out} ({given.method}, {seconds:.1f} s).")
