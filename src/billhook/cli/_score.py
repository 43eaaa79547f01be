import argparse
import sys
from functools import partial

import numpy as np

from billhook.cli._messages import as_options
from billhook.cli._predict import show_rows
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_fields, print_table
from billhook.forest import count_of
from billhook.inspection import TableScores, score_table

SHARES = ("accuracy", "balanced accuracy")
# A larger matrix is not printed, but the classes that are taken for one another most often.
MOST_CLASSES, MOST_PAIRS = 12, 10


def run(arguments: argparse.Namespace) -> None:
    """Print how well a model does on the rows of a table."""
    with ProgressDisplay("scoring", unit="rows") as display:
        scores = score_table(
            arguments.model,
            arguments.table,
            arguments.label,
            fill_missing=arguments.fill_missing,
            progress=partial(show_rows, display),
        )
    for note in scores.notes:
        print(as_options(note), file=sys.stderr)
    print_fields([("rows", f"{scores.n_rows:,}"), *((name, _text(name, scores)) for name in scores.measures)])
    if scores.confusion is not None:
        print()
        _print_matrix(scores) if len(scores.classes) <= MOST_CLASSES else _print_pairs(scores)


def _text(name: str, scores: TableScores) -> str:
    value = scores.measures[name]
    if name not in SHARES:
        return f"{value:.4g}"
    if name != "accuracy" or scores.confusion is None:
        return f"{value:.2%}"
    n_wrong = scores.n_rows - int(np.trace(scores.confusion))
    return f"{value:.2%} ({count_of(n_wrong, 'row')} wrong)"


def _print_matrix(scores: TableScores) -> None:
    """Print rows by true class, columns by predicted class."""
    assert scores.confusion is not None
    names = [str(name) for name in scores.classes]
    headings = ["true \\ predicted", *names, "recall"]
    rows: list[list[str]] = []
    for name, counts in zip(names, scores.confusion.tolist(), strict=True):
        recall = f"{counts[len(rows)] / sum(counts):.1%}" if sum(counts) else "no row"
        rows.append([name, *(f"{count:,}" if count else "." for count in counts), recall])
    print_table(headings, rows, numbers=headings[1:])


def _print_pairs(scores: TableScores) -> None:
    """Print the pairs of classes that are taken for one another most often."""
    assert scores.confusion is not None
    wrong = scores.confusion - np.diag(np.diagonal(scores.confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]
    pairs = [divmod(int(place), len(scores.classes)) for place in order if wrong.flat[place]]
    if not pairs:
        return
    print(f"Most common mistakes of {len(scores.classes)} classes:")
    headings = ("true class", "taken for", "rows", "of its rows")
    n_true = scores.confusion.sum(axis=1)
    rows = [
        (str(scores.classes[a]), str(scores.classes[b]), f"{wrong[a, b]:,}", f"{wrong[a, b] / n_true[a]:.1%}")
        for a, b in pairs
    ]
    print_table(headings, rows, numbers=headings[2:])
