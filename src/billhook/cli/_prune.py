import argparse
import time

from billhook.cli import _interrupt
from billhook.cli._model import check_seed, compare, option, read
from billhook.cli._progress import ProgressDisplay
from billhook.pruning import prune


def run(arguments: argparse.Namespace) -> None:
    """Prune a saved forest, write the result, and print what it cost."""
    options = dict(option(text) for text in arguments.option)
    check_seed(arguments.seed)
    forest, X, y = read(arguments)
    start = time.perf_counter()
    with ProgressDisplay("pruning") as progress:
        pruned = prune(
            forest,
            X,
            y,
            method=arguments.method,
            n_trees=arguments.trees,
            random_state=arguments.seed,
            progress=progress,
            **options,
        )
    seconds = time.perf_counter() - start
    compare(forest, pruned, [(arguments.table, X, y)])
    _interrupt.finish()
    pruned.save(arguments.out)
    print(f"Wrote {arguments.out} ({arguments.method}, {seconds:.1f} s).")
