"""What do projections gain, and what do they cost? Models with none to 32 of them, of the same bytes.

    BILLHOOK_DATA=... python benchmarks/projections.py --folds 3 4
    BILLHOOK_DATA=... python benchmarks/projections.py --folds 4 --data eeg --cycles arduino-uno cortex-m4

For each data set: three configurations of the portfolio, learned from the training fold with each number of
projections, all else the same: the mean on test rows of the accuracy in percent (of numbers, of the root mean squared
error) and, behind it, what projections change, in points (of numbers, in percent), with its standard error over
configurations and folds. A dash is where their weights would take more than a search lets them, or values are
missing.

With `--cycles`, cycles a row on these targets, measured in emulators, of the first configuration.
"""

import argparse
from dataclasses import replace

import fit_numbers
import fit_true_bytes
import numpy as np
from ablation import CLASSES, TRIED, TRIED_NUMBERS

import billhook as bh
from billhook.budget import TooSmallError, encode_table
from billhook.budget._projecting import weight_bytes
from billhook.budget._rows_as_codes import ALL
from billhook.budget._scoring import score_of
from billhook.budget._search import MOST_FOR_WEIGHTS
from billhook.budget._space import PROJECTIONS, Trial
from billhook.budget._trial_runner import TrialRunner

NUMBERS_OF_PROJECTIONS = PROJECTIONS[:-1]
DATA = (*CLASSES, *fit_numbers.DATA)
# Rows that cycles are counted of.
ROWS = 50


class Fold:
    """The rows of a fold, and models of them."""

    def __init__(self, data: str, fold: int) -> None:
        self.is_numbers = data in fit_numbers.DATA
        source = fit_numbers if self.is_numbers else fit_true_bytes
        table = source.read(data)
        train, test = source.folds_of(table, fold)
        encoded = encode_table(table.take(train), 1024)
        self.X = encoded.encoding.apply(dict(zip(table.names, table.take(test).columns, strict=True)))
        self.y = table.y[test]
        self.runner = TrialRunner(encoded.rows, score_of(None, encoded.rows), 0).sample(36_000)
        self.entries = TRIED_NUMBERS if self.is_numbers else TRIED[min(self.runner.n_values, 2)]

    def model(self, entry, budget: int, n_projections: int) -> bh.Packed | None:
        """Return the model of a configuration, if it has so many projections and fits."""
        runner, n_features = self.runner, self.runner.rows.X.shape[1]
        if weight_bytes(n_features, n_projections) > MOST_FOR_WEIGHTS * budget:
            return None
        growth = runner.canonical(replace(entry.growth(n_features, runner.n_values), projections=n_projections))
        if growth.projections != n_projections:
            return None
        try:
            return runner.build(Trial(budget, growth, entry.compression(runner.n_values, budget)), runner.split(ALL))
        except TooSmallError:
            return None

    def score(self, packed: bh.Packed | None) -> float:
        """Return the accuracy on test rows in percent, or the error; not a number without a model."""
        if packed is None:
            return np.nan
        predicted = packed.predict(self.X)
        return fit_numbers.rmse(predicted, self.y) if self.is_numbers else 100.0 * float(np.mean(predicted == self.y))


def cells_of(folds: list[Fold], budget: int) -> list[str]:
    """Return for each number of projections what the table shows."""
    scores = np.array(
        [
            [fold.score(fold.model(entry, budget, n)) for n in NUMBERS_OF_PROJECTIONS]
            for fold in folds
            for entry in fold.entries
        ]
    )
    cells, base = [], scores[:, 0].mean()
    for k in range(len(NUMBERS_OF_PROJECTIONS)):
        mean, changed = scores[:, k].mean(), scores[:, k] - scores[:, 0]
        change, error = changed.mean(), changed.std(ddof=1) / np.sqrt(len(changed))
        cell, of_change = f"{mean:.2f}", f"{change:+.2f} ± {error:.2f}"
        if folds[0].is_numbers:
            cell, of_change = f"{mean:.4g}", f"{100 * change / base:+.1f} ± {100 * error / base:.1f} %"
        cells.append("-" if np.isnan(mean) else cell if k == 0 else f"{cell} ({of_change})")
    return cells


def show_cycles(data: str, fold: Fold, budget: int, targets: list[str]) -> None:
    for n in NUMBERS_OF_PROJECTIONS:
        packed = fold.model(fold.entries[0], budget, n)
        if packed is None:
            continue
        shape = packed.layout
        cells = [data, f"{budget / 1024:g}", str(shape.n_projections), str(shape.n_projections * shape.n_used)]
        for target in targets:
            measured = bh.measure(packed, fold.X[:ROWS], target=target)
            cells.append(f"{measured.flash:,} B, {measured.cycles or measured.instructions:,}")
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA, metavar="NAME")
    parser.add_argument("--folds", nargs="+", type=int, default=[3, 4], metavar="N", help="of the five, from 0")
    parser.add_argument("--bytes", nargs="+", type=int, default=[512, 1024, 2048], metavar="N")
    parser.add_argument("--cycles", nargs="+", default=(), metavar="TARGET")
    options = parser.parse_args()
    names = ("projections", "weights", *options.cycles) if options.cycles else map(str, NUMBERS_OF_PROJECTIONS)
    columns = ("KB", *names)
    print(f"| | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}", flush=True)
    for data in options.data:
        folds = [Fold(data, fold) for fold in options.folds]
        for budget in options.bytes:
            if options.cycles:
                show_cycles(data, folds[0], budget, options.cycles)
            else:
                print(f"| {data} | {budget / 1024:g} | {' | '.join(cells_of(folds, budget))} |", flush=True)


if __name__ == "__main__":
    main()
