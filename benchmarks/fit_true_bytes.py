"""How accurate models of 1 to 16 KB of true data bytes are: the search, release 0.1.0, and what one does otherwise.

For each data set and fold, one search serves all budgets; all choices are made on rows held out of the training fold.
Release 0.1.0 has as many seconds, in an environment of its own. Beside them, at the same bytes and chosen on a
hold-out too: XGBoost shrunk by hand and packed, and the paper's random forest with leaf refinement, packed.

    BILLHOOK_DATA=... python benchmarks/fit_true_bytes.py --folds 2 3 --seconds 120 --results folds.csv
    BILLHOOK_DATA=... python benchmarks/fit_true_bytes.py --results folds.csv --who "XGBoost by hand" "RF-LR packed"
    BILLHOOK_DATA=... python benchmarks/fit_true_bytes.py --results folds.csv --show [--folds 2 3]

Seconds are those of the processor, and a search has one thread: how busy the machine is hardly matters. Models of
all sizes are then learned anew from all rows, which the seconds do not count. What 0.1.0 compiles on its first
run is compiled beforehand.

Runs that are in the results already are not made again: an interrupted benchmark goes on when it is called again.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from environments import RELEASE, environment_of, environment_variables, install_too

if TYPE_CHECKING:
    import pandas as pd

    from billhook.tables import Table

KB = 1024
BUDGETS = (1 * KB, 2 * KB, 4 * KB, 8 * KB, 16 * KB)
LARGER = (32 * KB, 64 * KB)
DATA = (
    "eeg", "elec", "chess", "satimage", "mnist", "connect", "avila", "magic", "japanese-vowels", "anura", "nomao",
    "adult", "bank", "mozilla",
)  # fmt: skip
SEARCH, BEFORE, BY_HAND, BY_PAPER = "billhook fit", "0.1.0", "XGBoost by hand", "RF-LR packed"
# What is to be reached at 2 KB, in points: so much more than 0.1.0 in the mean, and so much less on no data set.
WANTED_GAIN, ALLOWED_LOSS = 0.7, 0.2
# Libraries with threads of their own.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Job(NamedTuple):
    """What to run: whose models, of what, and how many seconds the search has."""

    who: str
    data: str
    fold: int
    seconds: float


class Row(NamedTuple):
    """A model, and what it says of the test rows: a line of the results."""

    who: str
    data: str
    fold: int
    budget: int
    allowed: float
    nbytes: int
    accuracy: float
    configurations: int
    seconds: float


def printed(kilobytes: int) -> "pd.Series":
    """Return what the paper's best method reaches below so many KB, as it counts, by data set."""
    import billhook as bh

    return 100 * bh.analysis.published(f"accuracy_below_{kilobytes}KB").max(axis=1)


def read(name: str) -> "Table":
    from billhook.tables import Table, read_table

    table = read_table(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet", "label", task="classification")
    if name == "mnist":  # 6,000 and 1,000 rows, as the paper
        table = table.take(np.concatenate([np.arange(6_000), np.arange(60_000, 61_000)]))
    names = [name for name in table.names if name != "split"]
    kept = tuple(column for name, column in zip(table.names, table.columns, strict=True) if name != "split")
    return Table(table.title, tuple(names), kept, table.y, table.task)


def folds_of(table: "Table", fold: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds
        splits = StratifiedKFold(5, shuffle=True, random_state=12345).split(np.zeros(len(table.y)), table.y)
        return list(splits)[fold]


def by_search(job: Job) -> list[Row]:
    table = read(job.data)
    return searched(table, *folds_of(table, job.fold), job, BUDGETS)


def searched(table: "Table", train: np.ndarray, test: np.ndarray, job: Job, budgets: tuple[int, ...]) -> list[Row]:
    """Return the models of all budgets that one search finds."""
    from billhook.budget import encode_table, search_budgets

    learned = encode_table(table.take(train), 4 * KB)
    X = learned.encoding.apply(dict(zip(table.names, table.take(test).columns, strict=True)))
    start = time.process_time()
    search = search_budgets(learned.rows, budgets, time_limit=job.seconds, now=time.process_time)
    return models_of(search, X, table.y[test], job, start, budgets)


def by_release(job: Job) -> list[Row]:
    """Do the same with release 0.1.0, in its environment."""
    from dataclasses import replace

    from billhook.budget import Ordered, choose_encoding, has_orders, rows_of, search_budgets
    from billhook.datasets import Table, encode, read_table

    whole = read_table(Path(os.environ["BILLHOOK_DATA"]) / f"{job.data}.parquet", "label", task="classification")
    if job.data == "mnist":
        whole = whole.take(np.concatenate([np.arange(6_000), np.arange(60_000, 61_000)]))
    kept = [place for place, name in enumerate(whole.names) if name != "split"]
    names, columns = tuple(whole.names[place] for place in kept), tuple(whole.columns[place] for place in kept)
    table = Table(whole.path, names, columns, whole.y, whole.task)
    train, test = folds_of(table, job.fold)
    learned = table.take(train)
    X, encoding = encode(learned, choose_encoding(learned, 4 * KB, 0))
    is_ordered = has_orders(learned) and all(column.kind != "one_hot" for column in encoding.columns)
    rows = replace(rows_of(learned, X), recode=Ordered(learned) if is_ordered else None)
    features = encoding.apply(dict(zip(table.names, table.take(test).columns, strict=True)))
    start = time.process_time()
    search = search_budgets(rows, BUDGETS, time_limit=job.seconds, now=time.process_time)
    return models_of(search, features, table.y[test], job, start)


def models_of(
    search, X: np.ndarray, y: np.ndarray, job: Job, start: float, budgets: tuple[int, ...] = BUDGETS
) -> list[Row]:
    """Return the model of each budget that a finished search has found, learned from all rows."""
    found = []
    for budget in budgets:
        if search.best(budget) is None:
            continue
        packed = search.final(budget)
        accuracy = float(np.mean(packed.predict(X) == y))
        seconds = time.process_time() - start
        found.append(Row(*job[:3], budget, job.seconds, packed.nbytes, accuracy, search.n_done, seconds))
    return found


def by_hand(job: Job) -> list[Row]:
    """XGBoost with a few depths and rates, as many rounds as fit when packed with 8-bit leaves; the best held out."""
    from by_hand import best_held_out
    from sklearn.model_selection import train_test_split
    from xgboost import XGBClassifier

    import billhook as bh
    from billhook.budget import training_rows
    from billhook.tables import encode

    table = read(job.data)
    train, test = folds_of(table, job.fold)
    X, _ = encode(table)
    rows = training_rows(X, table.y, is_classification=True)
    fit, held = train_test_split(train, test_size=0.15, stratify=rows.y[train], random_state=0)

    def grown(depth: int, rate: float, some: np.ndarray) -> "bh.Forest":
        n_rounds = max(4, int(4_000 / 2**depth / rows.n_values**0.5))
        model = XGBClassifier(n_estimators=n_rounds, max_depth=depth, learning_rate=rate, n_jobs=1, verbosity=0)
        return bh.as_forest(model.fit(X[some], rows.y[some]))

    settings = [(depth, rate) for depth in (3, 4, 6) for rate in (0.1, 0.3)]

    def score(packed: "bh.Packed") -> float:
        return float(np.mean(packed.predict(X[held]) == rows.y[held]))

    found = []
    budgets, at_once = BUDGETS + LARGER, max(1, rows.n_values)
    for made in best_held_out(grown, settings, fit, train, budgets, score, at_once=at_once):
        accuracy = float(np.mean(made.packed.predict(X[test]) == rows.y[test]))
        found.append(Row(*job[:3], made.budget, 0.0, made.packed.nbytes, accuracy, len(settings), 0.0))
    return found


def by_paper(job: Job, budgets: tuple[int, ...] = BUDGETS + LARGER) -> list[Row]:
    """Go the paper's way: a random forest, its first K trees of n_l leaves, refined, packed; the best held out."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    import billhook as bh
    from billhook.budget import training_rows
    from billhook.tables import encode

    table = read(job.data)
    train, test = folds_of(table, job.fold)
    X, _ = encode(table)
    rows = training_rows(X, table.y, is_classification=True)
    fit, held = train_test_split(train, test_size=0.15, stratify=rows.y[train], random_state=0)

    def made(some: np.ndarray, n_trees: int, leaves: int, forest: "bh.Forest") -> "bh.Packed":
        small = forest.truncate(max_leaves=leaves).select(range(n_trees))
        refined = bh.refine(small, X[some], rows.y[some], solver="sgd", validation_fraction=None, random_state=0)
        return bh.pack(refined, missing_values=False)

    def grown(some: np.ndarray) -> "bh.Forest":
        forest = RandomForestClassifier(64, max_leaf_nodes=256, random_state=0, n_jobs=1)
        return bh.as_forest(forest.fit(X[some], rows.y[some]))

    shapes = [(k, n) for k in (2, 4, 8, 16, 32) for n in (16, 64, 256)]
    forest, whole = grown(fit), grown(train)
    leaf = 1 + 1.0 * rows.n_values + 2
    fitting = [(k, n) for k, n in shapes if k * n * leaf < 2 * max(budgets)]
    tried = {}
    for shape in fitting:
        with suppress(ValueError):  # steps of 0.1 may run away
            tried[shape] = made(fit, *shape, forest)
    scores = {shape: np.mean(model.predict(X[held]) == rows.y[held]) for shape, model in tried.items()}
    found = []
    for budget in budgets:
        some = [shape for shape, model in tried.items() if model.nbytes <= budget]
        for shape in sorted(some, key=lambda shape: -scores[shape]):
            try:
                packed = made(train, *shape, whole)
            except ValueError:
                continue
            if packed.nbytes <= budget:
                accuracy = float(np.mean(packed.predict(X[test]) == rows.y[test]))
                found.append(Row(*job[:3], budget, 0.0, packed.nbytes, accuracy, len(fitting), 0.0))
                break
    return found


# All of them


def run_apart(job: Job) -> list[Row]:
    """Run a job in a process of its own, that of the release in its environment."""
    python = environment_of(RELEASE).python if job.who == BEFORE else sys.executable
    variables = environment_variables() if job.who == BEFORE else dict(os.environ)
    words = [python, __file__, "--one", json.dumps(job)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=variables | ONE_THREAD)
    return [Row(*row) for row in json.loads(done.stdout.splitlines()[-1])]


def read_results(path: Path) -> list[Row]:
    if not path.exists():
        return []
    types = [field for _, field in Row.__annotations__.items()]
    with path.open(newline="") as file:
        lines = list(csv.reader(file))[1:]
    return [Row(*(kind(cell) for kind, cell in zip(types, line, strict=True))) for line in lines]


def write_results(path: Path, rows: Iterable[Row]) -> None:
    """Write all rows in an order of their own, so that a run that goes on changes lines beside its own in nothing."""
    ordered = sorted(rows, key=lambda row: (DATA.index(row.data), row.fold, row.who, row.budget))
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(
            row._replace(accuracy=round(row.accuracy, 5), allowed=f"{row.allowed:g}", seconds=round(row.seconds, 1))
            for row in ordered
        )


def run_all(jobs: list[Job], path: Path, n_at_once: int) -> None:
    """Run jobs, and write what comes of each when it is done."""
    if any(job.who == BEFORE for job in jobs):
        install_too(environment_of(RELEASE), "pandas", "pyarrow")
        if not any(row.who == BEFORE for row in read_results(path)):
            for data in ("eeg", "satimage", "adult"):  # compiles for one number a leaf, for several, and for names
                run_apart(Job(BEFORE, data, 4, 20.0))
    with ThreadPoolExecutor(n_at_once) as pool:
        futures = {pool.submit(run_apart, job): job for job in jobs}
        try:
            for number, future in enumerate(as_completed(futures), 1):
                job, rows = futures[future], future.result()
                write_results(path, [*read_results(path), *rows])
                words = ", ".join(f"{row.budget // KB} KB {row.accuracy:.2%}" for row in rows)
                print(
                    f"{number}/{len(jobs)} {job.who} {job.data}, fold {job.fold}: {words}",
                    file=sys.stderr,
                    flush=True,
                )
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


# What came of them


def show(results: list[Row]) -> None:
    accuracy: dict = {}
    for row in results:
        accuracy.setdefault((row.data, row.who, row.budget), {})[row.fold] = 100.0 * row.accuracy
    data = [name for name in DATA if any((name, SEARCH, budget) in accuracy for budget in BUDGETS)]
    show_by_size(accuracy, data)
    show_beside_release(accuracy, data)
    show_beside_paper(accuracy, data)
    show_beside_hand(accuracy, data)


def show_by_size(accuracy: dict, data: list[str]) -> None:
    print(f"| data (folds) | {' | '.join(f'{budget // KB} KB: {BEFORE} | now' for budget in BUDGETS)} |")
    print(f"|---|{'---:|' * (2 * len(BUDGETS))}")
    for name in data:
        ours, before = (accuracy.get((name, who, BUDGETS[1]), {}) for who in (SEARCH, BEFORE))
        folds = sorted(ours.keys() & before.keys() or ours)  # folds differ more than releases do
        cells = []
        for budget in BUDGETS:
            for who in (BEFORE, SEARCH):
                known = accuracy.get((name, who, budget), {})
                shown = [known[fold] for fold in folds if fold in known]
                cells.append(f"{np.mean(shown):.2f}" if shown else "-")
        print(f"| {name} ({', '.join(map(str, folds))}) | {' | '.join(cells)} |")
    print()


def show_beside_release(accuracy: dict, data: list[str]) -> None:
    """Show gains on 0.1.0, on the folds that both have."""
    print("| data | " + " | ".join(f"{budget // KB} KB" for budget in BUDGETS) + " |")
    print(f"|---|{'---:|' * len(BUDGETS)}")
    gains: dict = {budget: {} for budget in BUDGETS}
    for name in data:
        cells = []
        for budget in BUDGETS:
            ours, before = accuracy.get((name, SEARCH, budget), {}), accuracy.get((name, BEFORE, budget), {})
            gaps = [ours[fold] - before[fold] for fold in ours.keys() & before.keys()]
            if gaps:
                gains[budget][name] = float(np.mean(gaps))
            cells.append(with_error(gaps) if gaps else "-")
        print(f"| {name} | {' | '.join(cells)} |")
    means = [with_error(list(gains[budget].values())) if gains[budget] else "-" for budget in BUDGETS]
    print(f"| mean, standard error over data sets | {' | '.join(means)} |\n")
    at_2 = gains[2 * KB]
    if at_2:
        worse = [f"{name} {gain:+.2f}" for name, gain in at_2.items() if gain < -ALLOWED_LOSS]
        print(
            f"2 KB: {np.mean(list(at_2.values())):+.2f} in the mean of {len(at_2)} (wanted {WANTED_GAIN:+}); ", end=""
        )
        print(f"worse by more than {ALLOWED_LOSS}: {', '.join(worse) or 'none'}.")


def with_error(gaps: list[float]) -> str:
    error = f" ± {np.std(gaps, ddof=1) / np.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else ""
    return f"{np.mean(gaps):+.2f}{error}"


def show_beside_paper(accuracy: dict, data: list[str]) -> None:
    for budget, kilobytes in ((1 * KB, 64), (2 * KB, 256), (4 * KB, 256)):
        paper = printed(kilobytes)
        known = [name for name in data if (name, SEARCH, budget) in accuracy]
        less = [name for name in known if mean_of(accuracy, name, SEARCH, budget) < paper[name]]
        print(
            f"{budget // KB} KB is as good as the paper's best below {kilobytes} KB on {len(known) - len(less)} of ",
            end="",
        )
        print(f"{len(known)}; not on {', '.join(less) or 'none'}.")


def show_beside_hand(accuracy: dict, data: list[str]) -> None:
    """Show the first fold beside what one would do otherwise."""
    for who in (BY_HAND, BY_PAPER):
        ratios = []
        for name in data:
            curve = {
                budget: mean_of(accuracy, name, who, budget)
                for budget in BUDGETS + LARGER
                if (name, who, budget) in accuracy
            }
            if curve and (name, SEARCH, 2 * KB) in accuracy:
                ratios.append(bytes_needed(curve, mean_of(accuracy, name, SEARCH, 2 * KB)) / (2 * KB))
                ends = [f"{curve[budget]:.1f}" if budget in curve else "-" for budget in (2 * KB, 16 * KB)]
                print(f"{who}, {name}: {' / '.join(ends)} in 2 / 16 KB")
        reached = [ratio for ratio in ratios if np.isfinite(ratio)]
        if reached:
            print(
                f"For the accuracy of our 2 KB, {who} does not have enough with {LARGER[-1] // KB} KB on "
                f"{len(ratios) - len(reached)} of {len(ratios)}; on the others it takes {min(reached):.1f} to "
                f"{max(reached):.1f} times the bytes, {np.median(reached):.1f} in the median."
            )


def mean_of(accuracy: dict, name: str, who: str, budget: int) -> float:
    return float(np.mean(list(accuracy[name, who, budget].values())))


def bytes_needed(curve: dict[int, float], accuracy: float) -> float:
    """Return where a curve reaches an accuracy, by the logarithm of bytes between its points; infinity if never."""
    best, before = -np.inf, 0
    for budget in sorted(curve):
        if curve[budget] >= accuracy:
            if not before or best == -np.inf:
                return float(budget)
            share = (accuracy - best) / (curve[budget] - best)
            return float(before * (budget / before) ** share)
        if curve[budget] > best:
            best, before = curve[budget], budget
    return np.inf


def main() -> None:
    runs = {SEARCH: by_search, BEFORE: by_release, BY_HAND: by_hand, BY_PAPER: by_paper}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, metavar="FILE", help="a table of what was run (CSV)")
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA, metavar="NAME")
    parser.add_argument(
        "--folds", nargs="+", type=int, default=range(5), choices=range(5), metavar="N", help="of the five, from 0"
    )
    parser.add_argument(
        "--seconds", type=float, default=120.0, metavar="S", help="of a search (default: %(default)g)"
    )
    parser.add_argument("--who", nargs="+", default=(SEARCH, BEFORE), choices=runs, metavar="WHO")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="searches at once (default: %(default)s)")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        job = Job(*json.loads(arguments.one))
        time.perf_counter = time.process_time  # which tells the search how long its trials took
        print(json.dumps(runs[job.who](job)))
        return
    if arguments.results is None:
        parser.error("--results FILE is needed: a table of what was run")
    known = {(row.who, row.data, row.fold) for row in read_results(arguments.results)}
    wanted = [
        Job(who, name, fold, arguments.seconds)
        for fold in arguments.folds
        for name in arguments.data
        for who in arguments.who
    ]
    if not arguments.show:
        run_all([job for job in wanted if job[:3] not in known], arguments.results, arguments.jobs)
    known_rows = read_results(arguments.results)
    show([row for row in known_rows if row.data in arguments.data and row.fold in arguments.folds])


if __name__ == "__main__":
    main()
