import argparse
import sys
import time
from typing import Any

from billhook._checks import as_bytes
from billhook.cli import _interrupt
from billhook.cli._model import add_model_and_table, add_out, compare, read
from billhook.cli._progress import ProgressBar
from billhook.refinement import merge


def add_to(commands: Any) -> None:
    """Add `billhook merge`."""
    parser = commands.add_parser(
        "merge",
        allow_abbrev=False,
        help="shrink a forest to a size, split by split",
        description="Merge the sibling leaves of a saved forest that matter least, over all trees together, and "
        "refine the values of the others, until the forest fits.",
    )
    add_model_and_table(parser, "rows to learn from")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--leaves", type=int, metavar="N", help="how many leaves the forest may have in all")
    target.add_argument("--size", metavar="SIZE", help="or how large it may be as the paper counts, as 64KB")
    parser.add_argument(
        "--loss",
        help="cross_entropy, mse or squared_hinge for classification; mse, huber or absolute for regression; poisson "
        "for counts",
    )
    parser.add_argument("--l2", type=float, help="L2 penalty on the leaf values, in rows (default: 1 or 5)")
    add_out(parser, "the merged forest")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Merge leaves of a saved forest, write the result, and print what it cost."""
    size = None if arguments.size is None else as_bytes(arguments.size, "--size")
    forest, X, y = read(arguments)
    bar = ProgressBar(sys.stderr)
    start = time.perf_counter()
    small, report = merge(
        forest,
        X,
        y,
        max_leaves=arguments.leaves,
        size=size,
        loss=arguments.loss,
        l2=arguments.l2,
        progress=lambda done, steps, loss: bar(done, steps, f"loss {loss:.4g}"),
        return_report=True,
    )
    seconds = time.perf_counter() - start
    compare(forest, small, [(arguments.table, X, y)])
    _interrupt.finish()
    small.save(arguments.out)
    print(f"Wrote {arguments.out} ({report.loss}, {report.n_rounds} rounds, l2 {report.l2:g}, {seconds:.1f} s).")
