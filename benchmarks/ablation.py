"""What does each choice of the search gain? Configurations with and without it, all else the same.

    BILLHOOK_DATA=... python benchmarks/ablation.py --results ablation.jsonl --folds 2 3 4
    python benchmarks/ablation.py --results ablation.jsonl --show

For each data set and fold, a few configurations are learned from the training fold as they are, and again with one
choice changed. Shown is the mean of the paired differences on test rows with its standard error over configurations
and folds: in points of accuracy, or, of numbers, by how many percent the root mean squared error is less. A search
that may choose gains more than the mean of a choice, where that is above nothing for some data set.

Runs that are in the results already are not made again: an interrupted benchmark goes on when it is called again.
"""

import argparse
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import fit_numbers
import fit_true_bytes
import numpy as np

from billhook.budget import TooSmallError, _compress, encode_table
from billhook.budget._portfolio import MORE_CLASSES, NUMBERS, TWO_CLASSES
from billhook.budget._scoring import score_of
from billhook.budget._space import Trial
from billhook.budget._trial_runner import ALL, TrialRunner
from billhook.packing import _codebook
from billhook.refinement import MergePasses, merge

CLASSES = ("eeg", "elec", "chess", "satimage", "connect", "magic", "adult", "bank", "japanese-vowels", "anura")
BUDGET_OF_CLASSES, BUDGET_OF_NUMBERS = 2048, 1024
# Those that are learned anew with each choice: of two classes, of more, and of numbers.
TRIED = {
    1: [[entry for entry in TWO_CLASSES if not entry.projections][n]._replace(sweeps=0) for n in (1, 2, 4)],
    2: [entry._replace(sweeps=0) for entry in MORE_CLASSES[:3]],
}
TRIED_NUMBERS = [
    entry._replace(sweeps=0)
    for entry in NUMBERS
    if entry.row_share == 1.0 and entry.overgrow == 2.0 and not entry.smoothing and not entry.projections
][:3]
MOST_ROWS = 36_000
AS_IT_IS = "as it is"
# Of merging: rounds, and passes before, between and after them.
FINER_MERGING = MergePasses(24, 3, 3, 10)


def grown_with(**choices) -> Callable[[Trial], Trial]:
    return lambda trial: replace(trial, growth=replace(trial.growth, **choices))


def finer(trial: Trial) -> Trial:
    growth = trial.growth
    return replace(trial, growth=replace(growth, bits=min(growth.bits + 2, 16), bins=min(growth.bins * 4, 8192)))


def merged_from(overgrow: float) -> Callable[[Trial], Trial]:
    def changed(trial: Trial) -> Trial:
        l2 = trial.compression.l2 or 1.0
        return replace(trial, compression=replace(trial.compression, overgrow=overgrow, l2=l2))

    return changed


def with_other_splits(n_sweeps: int) -> Callable[[Trial], Trial]:
    def changed(trial: Trial) -> Trial:
        compression = replace(trial.compression, sweeps=n_sweeps)
        return replace(trial, compression=compression if compression.l2 is not None else trial.compression)

    return changed


CHOICES: dict[str, Callable[[Trial], Trial]] = {
    AS_IT_IS: lambda trial: trial,
    "codes of 2 bits more": finer,
    "at most 256 tests": grown_with(max_tests=256),
    "reuse factor 2": grown_with(reuse_factor=2.0),
    "70 % of rows": grown_with(row_share=0.7),
    "half of rows": grown_with(row_share=0.5),
    "half of features": grown_with(column_share=0.5),
    "half of both": grown_with(row_share=0.5, column_share=0.5),
    "growth L2 10": grown_with(l2=10.0),
    "rate 0.05": grown_with(learning_rate=0.05, min_weight=30.0),
    "rate 0.05, half of both, L2 10": grown_with(
        learning_rate=0.05, min_weight=30.0, row_share=0.5, column_share=0.5, l2=10.0
    ),
    "8 projections": grown_with(projections=8),
    "16 projections": grown_with(projections=16),
    "smoothed targets": grown_with(smoothing=1.0),
    "half smoothed targets": grown_with(smoothing=0.5),
    "merged from 3 x": merged_from(3.0),
    "whole trees dropped before merging": merged_from(3.0),
    "splits chosen again": with_other_splits(1),
    "splits chosen again 4 times": with_other_splits(4),
    "merged in twice the rounds": lambda trial: trial,
    "codebook in twice the rounds": lambda trial: trial,
}
# What is no choice of a configuration is changed while a model is made.
CHANGED_INSIDE: dict[str, Callable[[], AbstractContextManager]] = {
    "whole trees dropped before merging": lambda: patch.object(_compress, "merge", merge_the_best_trees),
    "merged in twice the rounds": lambda: patch.object(_compress, "merge", merge_finely),
    "codebook in twice the rounds": lambda: patch.multiple(
        _codebook, FREE_ROUNDS=2 * _codebook.FREE_ROUNDS, WHOLE_ROUNDS=2 * _codebook.WHOLE_ROUNDS
    ),
}


def merge_finely(*arguments, **options):
    return merge(*arguments, **options | {"passes": FINER_MERGING})


def merge_the_best_trees(forest, X, y, **options):
    """Merge two thirds of the trees: without those whose values have the least squares in the mean over the rows.

    The orders of pruning are of trees that predict by themselves; these are boosted, and correct one another.
    """
    of_leaf = (forest.value**2).sum(axis=1) * forest.row_weight * (forest.feature < 0)
    of_tree = np.add.reduceat(of_leaf, forest.offset[:-1]) * forest.tree_weight**2
    kept = np.sort(np.argsort(-of_tree, kind="stable")[: -(-2 * forest.n_trees // 3)])
    return merge(forest.select(kept), X, y, **options)


def run(data: str, fold: int, choices: list[str], known: set, write: Callable[[dict], None]) -> None:
    is_numbers = data in fit_numbers.DATA
    source = fit_numbers if is_numbers else fit_true_bytes
    table = source.read(data)
    train, test = source.folds_of(table, fold)
    budget = BUDGET_OF_NUMBERS if is_numbers else BUDGET_OF_CLASSES
    encoded = encode_table(table.take(train), budget)
    X = encoded.encoding.apply(dict(zip(table.names, table.take(test).columns, strict=True)))
    runner = TrialRunner(encoded.rows, score_of(None, encoded.rows), 0).sample(MOST_ROWS)
    entries = TRIED_NUMBERS if is_numbers else TRIED[min(runner.n_values, 2)]
    shape = runner.rows.X.shape[1], runner.n_values
    for number, entry in enumerate(entries):
        base = Trial(budget, entry.growth(*shape), entry.compression(runner.n_values, budget))
        for choice, changed in CHOICES.items():
            if choice not in choices or (data, fold, number, choice) in known:
                continue
            trial = changed(base)
            trial = replace(trial, growth=runner.canonical(trial.growth))
            try:
                with CHANGED_INSIDE.get(choice, nullcontext)():
                    packed = runner.build(trial, runner.split(ALL))
            except TooSmallError:
                continue
            predicted = packed.predict(X)
            score = (
                fit_numbers.rmse(predicted, table.y[test])
                if is_numbers
                else float(np.mean(predicted == table.y[test]))
            )
            write({"data": data, "fold": fold, "configuration": number, "choice": choice, "score": score})


def show(rows: list[dict]) -> None:
    score = {(row["data"], row["fold"], row["configuration"], row["choice"]): row["score"] for row in rows}
    data = [name for name in (*CLASSES, *fit_numbers.DATA) if any(key[0] == name for key in score)]
    print(f"| | {' | '.join(data)} |\n|---|{'---:|' * len(data)}")
    for choice in list(CHOICES)[1:]:
        cells = []
        for name in data:
            pairs = [
                (score[(*key[:3], choice)], score[key])
                for key in score
                if key[0] == name and key[3] == AS_IT_IS and (*key[:3], choice) in score
            ]
            gains = [
                100.0 * (1.0 - new / old) if name in fit_numbers.DATA else 100.0 * (new - old) for new, old in pairs
            ]
            error = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
            cells.append(f"{np.mean(gains):+.2f} ± {error:.2f}" if gains else "-")
        print(f"| {choice} | {' | '.join(cells)} |")
    folds = sorted({row["fold"] for row in rows})
    print(f"\nFolds {', '.join(map(str, folds))} of five, from 0.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, metavar="FILE", help="lines of JSON, of what was run")
    every = (*CLASSES, *fit_numbers.DATA)
    parser.add_argument("--data", nargs="+", choices=every, default=every, metavar="NAME")
    parser.add_argument(
        "--folds", nargs="+", type=int, default=(2, 3, 4), choices=range(5), metavar="N", help="of the five, from 0"
    )
    parser.add_argument("--choices", nargs="+", choices=list(CHOICES), default=list(CHOICES), metavar="NAME")
    parser.add_argument("--show", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    rows = []
    if arguments.results.exists():
        rows = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    if not arguments.show:
        known = {(row["data"], row["fold"], row["configuration"], row["choice"]) for row in rows}
        with arguments.results.open("a") as file:

            def write(row: dict) -> None:
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()

            for fold in arguments.folds:
                for data in arguments.data:
                    run(data, fold, [AS_IT_IS, *arguments.choices], known, write)
    show(rows)


if __name__ == "__main__":
    main()
