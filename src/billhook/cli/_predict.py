import argparse
import sys
from functools import partial
from typing import BinaryIO

from billhook.cli import _interrupt
from billhook.cli._messages import as_options
from billhook.cli._progress import ProgressDisplay
from billhook.forest import count_of
from billhook.inspection import TablePredictions, predict_table

STDOUT = "-"
SHOWN_CLASSES = 8


def run(arguments: argparse.Namespace) -> None:
    """Predict the rows of a table, write the predictions, and say what there is to say."""
    to_stdout = arguments.out == STDOUT
    if to_stdout and arguments.force:
        raise ValueError("--force replaces a file: name it with --out FILE")
    # Ctrl-C unwinds the writing, so that no temporary file is left.
    with ProgressDisplay("predicting", unit="rows") as display, _interrupt.stoppable():
        done = predict_table(
            arguments.model,
            arguments.table,
            _stdout() if to_stdout else arguments.out,
            proba=arguments.proba,
            label=arguments.label,
            fill_missing=arguments.fill_missing,
            force=arguments.force,
            progress=None if to_stdout and sys.stdout.isatty() else partial(show_rows, display),
        )
    _interrupt.finish()
    for note in done.notes:
        print(as_options(note), file=sys.stderr)
    print(f"{count_of(done.n_rows, 'row')}: {_summary(done)}", file=sys.stderr)
    if not to_stdout:
        print(f"Wrote {arguments.out}.")


def show_rows(display: ProgressDisplay, done: int, about: int | None) -> None:
    """Show how many rows are done, of about how many."""
    total = max(about or 0, done)
    amount = f"{done:,} rows" if about is None else f"{done:,} of about {total:,} rows"
    display(done, 0 if about is None else total, amount=amount)


def _stdout() -> BinaryIO:
    sys.stdout.flush()
    return sys.stdout.buffer


def _summary(done: TablePredictions) -> str:
    """Return what was predicted, in a few words."""
    if done.span is not None:
        return f"predictions from {done.span[0]:.6g} to {done.span[1]:.6g}"
    most = sorted(done.counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} ({count:,})" for name, count in most[:SHOWN_CLASSES])
    n_more = len(most) - SHOWN_CLASSES
    return shown + (f" and {n_more:,} more classes" if n_more > 0 else "")
