import argparse
import ast
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.cli._progress import ProgressBar
from billhook.datasets import Table, labels_like, read_table
from billhook.forest import Forest, load
from billhook.pruning import pruning_choice


def add_to(commands: Any) -> None:
    """Add `billhook prune`."""
    parser = commands.add_parser(
        "prune",
        help="keep the best trees of a forest",
        description="Keep the trees of a saved forest that a pruning method chooses on the rows of a table.",
    )
    parser.add_argument("model", metavar="MODEL", help="a forest that Forest.save wrote")
    parser.add_argument("table", metavar="TABLE", help="rows to judge the trees on: CSV or Parquet")
    parser.add_argument("--label", required=True, metavar="COLUMN", help="the column to predict")
    parser.add_argument("--trees", required=True, type=int, metavar="K", help="how many trees to keep")
    parser.add_argument("--method", default="reduced_error", help="see `billhook methods` (default: %(default)s)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="one of the method's own options"
    )
    parser.add_argument("--seed", type=int, default=0, help="for methods that draw (default: %(default)s)")
    parser.add_argument("--out", required=True, metavar="FILE", help="where to write the pruned forest")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Read, prune, write, and say what it cost."""
    if Path(given.out).exists() and not given.force:
        raise FileExistsError(f"{given.out} is there already; --force replaces it")
    options = dict(_option(text) for text in given.option)
    forest = load(given.model)
    table = read_table(given.table, given.label)
    X = _features(table, forest)
    y = labels_like(table.y, forest.classes)
    print(f"{given.model}: {forest!r}", file=sys.stderr)
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
    pruned.save(given.out)
    print(f"{'':18}{'before':>14}{'after':>14}")
    print(f"{'trees':18}{forest.n_trees:>14,}{pruned.n_trees:>14,}")
    print(f"{'leaves':18}{forest.n_leaves:>14,}{pruned.n_leaves:>14,}")
    print(f"{'size (paper)':18}{forest.size() / 1024:>11,.1f} KB{pruned.size() / 1024:>11,.1f} KB")
    name, before, after = _quality(forest, pruned, X, y)
    print(f"{name:18}{before:>14}{after:>14}   on the {len(y):,} rows of {given.table}")
    print(f"Wrote {given.out} ({given.method}, {seconds:.1f} s).")


def _features(table: Table, forest: Forest) -> NDArray[np.float32]:
    """Return the columns the forest was trained on, by name where it knows names."""
    if forest.feature_names is None:
        return table.X
    missing = [name for name in forest.feature_names if name not in table.names]
    if missing:
        raise ValueError(f"the table lacks the column {missing[0]!r}, which the forest was trained on")
    return table.X[:, [table.names.index(name) for name in forest.feature_names]]


def _quality(forest: Forest, pruned: Forest, X: NDArray[np.float32], y: NDArray[Any]) -> tuple[str, str, str]:
    if forest.classes is None:
        errors = [float(np.sqrt(np.mean((model.predict(X) - y) ** 2))) for model in (forest, pruned)]
        return "root mean sq. err.", f"{errors[0]:.4g}", f"{errors[1]:.4g}"
    shares = [float(np.mean(model.predict(X) == y)) for model in (forest, pruned)]
    return "accuracy", f"{shares[0]:.2%}", f"{shares[1]:.2%}"


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--option takes NAME=VALUE, not {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
