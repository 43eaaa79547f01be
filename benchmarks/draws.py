"""How much of a model's accuracy is luck, and whether its fit to the rows it has learned from tells of it.

For each data set, fold and size: three configurations of the portfolio, each learned from all rows of the training
fold as it is and in several draws, which leave out some of the rows of each tree. Printed are

    mistakes   made on the rows learned from, as a share of those made on test rows
    spread     the standard deviation of the accuracy of draws on test rows, in points, mean over configurations
    of fits    that on the rows learned from
    told       the correlation of the draws' fit (accuracy on the rows learned from) with it
    draws      the mean of the draws' accuracy on test rows, compared with the model as it is
    best fit   that of the draw that fits best, compared with the mean of the draws

    BILLHOOK_DATA=... python benchmarks/draws.py --folds 2 3
"""

import argparse

import numpy as np
from ablation import TRIED
from fit_true_bytes import DATA, KB, folds_of, read

from billhook.budget import encode_table
from billhook.budget._last_draws import best_fit
from billhook.budget._scoring import score_of
from billhook.budget._space import Trial, drawn_as
from billhook.budget._trial_outcome import TrialBatch
from billhook.budget._trial_runner import ALL, TrialRunner


def draws_of(name: str, fold: int, budget: int, n_draws: int) -> list[list[float]]:
    """Return, for each configuration, what the columns show."""
    table = read(name)
    train, test = folds_of(table, fold)
    learned = encode_table(table.take(train), budget)
    X = learned.encoding.apply(dict(zip(table.names, table.take(test).columns, strict=True)))
    runner = TrialRunner(learned.rows, score_of(None, learned.rows))
    found = []
    for entry in TRIED[min(runner.n_values, 2)]:
        growth = runner.canonical(entry.growth(learned.rows.X.shape[1], runner.n_values))
        trial = Trial(budget, growth, entry.compression(runner.n_values, budget))
        outcomes = []
        for draw in range(n_draws + 1):
            outcomes += runner.run(TrialBatch(growth, ALL, False, (drawn_as(trial, draw),)))
        accuracy = {id(one): 100.0 * float(np.mean(one.packed.predict(X) == table.y[test])) for one in outcomes}
        as_it_is, *draws = outcomes
        scores, fits = [accuracy[id(one)] for one in draws], [100.0 * one.fit_score for one in draws]
        told = np.corrcoef(fits, scores)[0, 1] if np.std(fits) and np.std(scores) else 0.0
        mistakes = (100.0 - np.mean(fits)) / (100.0 - np.mean(scores))
        mean = np.mean(scores)
        found.append(
            [
                mistakes,
                np.std(scores),
                np.std(fits),
                told,
                mean - accuracy[id(as_it_is)],
                accuracy[id(best_fit(draws))] - mean,
            ]
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA, metavar="NAME")
    parser.add_argument("--folds", nargs="+", type=int, default=[2, 3], metavar="N", help="of the five, from 0")
    parser.add_argument("--kilobytes", nargs="+", type=int, default=[2], metavar="KB")
    parser.add_argument("--draws", type=int, default=8, metavar="N", help="of each configuration (default: 8)")
    options = parser.parse_args()
    columns = ("mistakes", "spread", "of fits", "told", "draws", "best fit")
    print(f"| | KB | {' | '.join(columns)} |\n|---|---:|{'---:|' * len(columns)}", flush=True)
    for name in options.data:
        for kilobytes in options.kilobytes:
            found = np.concatenate([draws_of(name, fold, kilobytes * KB, options.draws) for fold in options.folds])
            mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
            cells = [f"{mean[0]:.2f}", f"{mean[1]:.2f}", f"{mean[2]:.2f}", f"{mean[3]:+.2f}"]
            cells += [f"{mean[k]:+.2f} ± {error[k]:.2f}" for k in (4, 5)]
            print(f"| {name} | {kilobytes} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
