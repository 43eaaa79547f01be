"""By which rule the last model is best chosen among those that were compared: test accuracy and bytes of each choice.

    BILLHOOK_DATA=... python benchmarks/choosing.py --data satimage magic bank adult --folds 3

One search for all sizes, of so many seconds of the processor, on one thread, for each data set and fold; then each
rule chooses among the same finalists, by the same splits of the training rows, and its choice is learned from all of
these. Printed are accuracies on the test rows, which no rule sees.

    mean rank   the best mean of the ranks in accuracy and in log loss
    accuracy    the highest
    log loss    the lowest
    smallest    the fewest bytes, among those whose accuracy is not lower by more than a standard error of the paired
                difference to the best by mean rank, over the splits
    both        the same, and whose log loss is not higher by more than its standard error: what the search does
"""

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from fit_true_bytes import BUDGETS, KB, folds_of, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from billhook.budget import Candidate

DATA = ("eeg", "satimage", "magic", "bank", "adult", "japanese-vowels")


def is_told_apart(better: tuple[float, ...], worse: tuple[float, ...]) -> bool:
    """Whether the paired differences are in the mean more than their standard error."""
    differences = np.subtract(better, worse)
    if len(differences) < 2:
        return bool(differences.sum() > 0.0)
    return bool(differences.mean() > differences.std(ddof=1) / np.sqrt(len(differences)))


def smallest(finalists: "list[Candidate]", *, by_loss_too: bool) -> "Candidate":
    best = finalists[0]

    def is_as_good(one: "Candidate") -> bool:
        if one is not best and one.nbytes > 0.97 * best.nbytes:
            return False
        is_lossy = by_loss_too and is_told_apart(one.losses, best.losses)
        return not is_told_apart(best.scores, one.scores) and not is_lossy

    return min(filter(is_as_good, finalists), key=lambda one: one.nbytes)


RULES: "dict[str, Callable[[list[Candidate]], Candidate]]" = {
    "mean rank": lambda finalists: finalists[0],
    "accuracy": lambda finalists: max(finalists, key=lambda one: one.score_to_rank),
    "log loss": lambda finalists: min(finalists, key=lambda one: float(np.mean(one.losses))),
    "smallest": lambda finalists: smallest(finalists, by_loss_too=False),
    "both": lambda finalists: smallest(finalists, by_loss_too=True),
}


def chosen(name: str, fold: int, seconds: float) -> list[dict[str, tuple[float, int]]]:
    """Return, for each size, the test accuracy and the bytes of what each rule chooses."""
    from billhook.budget import encode_table, search_budgets

    table = read(name)
    train, test = folds_of(table, fold)
    learned = encode_table(table.take(train), 4 * KB)
    X = learned.encoding.apply(dict(zip(table.names, table.take(test).columns, strict=True)))
    search = search_budgets(learned.rows, BUDGETS, time_limit=seconds, now=time.process_time)
    known: dict = {}
    by_size = []
    for budget in BUDGETS:
        finalists = search.candidates(budget, final=True)
        of_rule = {}
        for rule, choose in RULES.items():
            trial = choose(finalists).trial
            if trial not in known:
                split = search.whole.split_of_last(trial)
                packed = search.whole.build(trial, split, saved=search.bytes_saved(trial))
                known[trial] = (100.0 * float(np.mean(packed.predict(X) == table.y[test])), packed.nbytes)
            of_rule[rule] = known[trial]
        by_size.append(of_rule)
    return by_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA, metavar="NAME")
    parser.add_argument("--folds", nargs="+", type=int, default=[3], metavar="N", help="of the five, from 0")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="of a search (default: 60)")
    options = parser.parse_args()
    print(f"| | KB | {' | '.join(RULES)} |\n|---|---:|{'---:|' * len(RULES)}", flush=True)
    gains: dict[str, list[float]] = {rule: [] for rule in RULES}
    bytes_too: dict[str, list[float]] = {rule: [] for rule in RULES}
    for name in options.data:
        for fold in options.folds:
            for budget, of_rule in zip(BUDGETS, chosen(name, fold, options.seconds), strict=True):
                cells = [f"{accuracy:.2f}, {nbytes} B" for accuracy, nbytes in of_rule.values()]
                print(f"| {name}, fold {fold} | {budget // KB} | {' | '.join(cells)} |", flush=True)
                today = of_rule["mean rank"]
                for rule, (accuracy, nbytes) in of_rule.items():
                    gains[rule].append(accuracy - today[0])
                    bytes_too[rule].append(nbytes / today[1])
    print("\n| rule | points more than by mean rank | bytes, of those by mean rank |\n|---|---:|---:|")
    for rule, points in gains.items():
        error = np.std(points, ddof=1) / np.sqrt(len(points))
        print(f"| {rule} | {np.mean(points):+.2f} ± {error:.2f} | {np.mean(bytes_too[rule]):.2f} |")


if __name__ == "__main__":
    main()
