"""What the commands that turn one model file into another have in common."""

import argparse
import ast
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table
from billhook.forest import Forest
from billhook.packing import Packed, load_forest
from billhook.tables import features_of, labels_like, read_features

Rows = tuple[str, NDArray[np.float32], NDArray[Any]]


def read(arguments: argparse.Namespace) -> tuple[Forest, NDArray[np.float32], NDArray[Any]]:
    """Return the forest, the rows and their labels; before that, refuse to replace a file that is there."""
    check_out(arguments)
    with ProgressDisplay("reading"):
        forest = load_forest(arguments.model)
    X, y = read_rows(arguments.table, arguments.label, forest)
    print(f"{arguments.model}: {forest!r}", file=sys.stderr)
    return forest, X, y


def check_out(arguments: argparse.Namespace) -> None:
    """Refuse to replace a file that is there, unless that is asked for."""
    if Path(arguments.out).exists() and not arguments.force:
        raise FileExistsError(f"{arguments.out} is there already; --force replaces it")


def read_rows(path: str, label: str, forest: Forest | Packed) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Return the rows of a table for this forest, and their labels as it knows them."""
    with ProgressDisplay("reading"):
        table = read_features(path, label, categorical=categorical_of(forest), rounding=forest.rounding)
        return features_of(table, forest), labels_like(table.y, forest.classes)


def categorical_of(model: Forest | Packed) -> frozenset[str]:
    """Return the names of the categorical columns of a model, whatever their cells look like."""
    return frozenset() if model.encoding is None else model.encoding.categorical


def compare(before: Forest, after: Forest, tables: list[Rows], others: Iterable[Sequence[str]] = ()) -> None:
    """Print what two forests take and how well they do on the rows of some tables; `others` are lines that follow."""
    lines: list[Sequence[str]] = [
        ("trees", f"{before.n_trees:,}", f"{after.n_trees:,}", ""),
        ("leaves", f"{before.n_leaves:,}", f"{after.n_leaves:,}", ""),
        (
            "size",
            f"{before.size() / 1024:,.1f} KB",
            f"{after.size() / 1024:,.1f} KB",
            f"not packed: {before.size() // max(1, before.n_nodes)} bytes a node",
        ),
    ]
    for path, X, y in tables:
        lines.append((*_quality(before, after, X, y), f"on the {len(y):,} rows of {path}"))
    print_table(("", "before", "after", ""), [*lines, *others], numbers=("before", "after"))


def _quality(before: Forest, after: Forest, X: NDArray[np.float32], y: NDArray[Any]) -> tuple[str, str, str]:
    if before.classes is None:
        errors = [float(np.sqrt(np.mean((model.predict(X) - y) ** 2))) for model in (before, after)]
        return "root mean squared error", f"{errors[0]:.4g}", f"{errors[1]:.4g}"
    shares = [float(np.mean(model.predict(X) == y)) for model in (before, after)]
    return "accuracy", f"{shares[0]:.2%}", f"{shares[1]:.2%}"


def check_seed(seed: int) -> None:
    """Refuse a seed below 0."""
    if seed < 0:
        raise ValueError(f"--seed must be at least 0, not {seed}")


def option(text: str) -> tuple[str, Any]:
    """Return the name and the value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--option takes NAME=VALUE, not {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
