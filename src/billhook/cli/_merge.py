import argparse
import time

from billhook._checks import as_bytes
from billhook.cli import _interrupt
from billhook.cli._model import compare, read
from billhook.cli._progress import ProgressDisplay
from billhook.refinement import merge


def run(arguments: argparse.Namespace) -> None:
    """Merge leaves of a saved forest, write the result, and print what it cost."""
    size = None if arguments.size is None else as_bytes(arguments.size, "--size")
    forest, X, y = read(arguments)
    start = time.perf_counter()
    with ProgressDisplay("merging leaves", unit="leaves") as bar:
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
