"""Accuracy at 0.5 to 16 KB of true data bytes: Billhook beside what else could be done with as many bytes.

    BILLHOOK_DATA=... python benchmarks/rivals.py --results rivals.jsonl --data eeg satimage magic --folds 3
    BILLHOOK_DATA=... python benchmarks/rivals.py --results rivals.jsonl --mnist --seconds 200
    python benchmarks/rivals.py --results rivals.jsonl --show --markdown --draw rivals.svg

One run, the same folds, and for each of these the same true bytes, which are those of data: what reads or computes a
model is not counted. All choices are made on rows held out of the training fold.

    billhook fit        one search for all sizes, of so many seconds of the processor, on one thread
    XGBoost, LightGBM   a few depths and rates, as many rounds as fit, or fewer, packed by Billhook with 8-bit leaves
    LightGBM, cegb      the same with penalties on splits and on features (Peter and others 2017)
    net, 4 or 8 bits    a multilayer perceptron, rounded and trained on with the rounding: see nets.py
    emlearn             a random forest as emlearn 0.23 stores it: 7 bytes a split, leaves of 8 bits or votes
    RF-LR packed        the paper's random forest with refined leaves

What others print (with its reference in rivals_page.py) stands beside them where it is of the same data.
Runs that are in the results already are not made again: an interrupted benchmark goes on when it is called again.
"""

import argparse
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from by_hand import best_held_out
from fit_true_bytes import BY_PAPER, DATA, KB, SEARCH, Job, Row, by_paper, folds_of, read, searched
from nets import inputs_for, nbytes_of, rounded, sizes_for, trained
from rivals_page import EMLEARN, LIGHTGBM, MNIST, NETS, PENALISED, XGBOOST, picture_of, show
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import billhook as bh
from billhook.budget import training_rows
from billhook.tables import encode

BUDGETS = (KB // 2, KB, 2 * KB, 4 * KB, 8 * KB, 16 * KB)
# All 70,000 rows, of which the last 10,000 are the test rows; and the sizes at which so much is wanted.
MNIST_TRAIN, MNIST_BUDGETS = 60_000, (4 * KB, 12 * KB)
# Leaves that trees have at most, and the rate.
BOOSTED = tuple((leaves, rate) for leaves in (8, 16, 64) for rate in (0.1, 0.3))
# The same, and penalties: on a split, for each row in it, and on the first split by a feature.
PENALTIES = tuple(
    (leaves, rate, *penalty)
    for leaves, rate in ((8, 0.3), (16, 0.1), (64, 0.3))
    for penalty in ((1e-4, 0.0), (1e-3, 0.0), (1e-4, 20.0))
)
MOST_ROUNDS, LEAVES_OF_ALL = 500, 6_000
EMLEARN_LEAVES, EMLEARN_TREES = (8, 16, 32, 64, 128, 256), 64
# A split (packed; 8 on processors that align), the root of a tree.
EMLEARN_SPLIT, EMLEARN_ROOT = 7, 4
# The size at which layers of nets are chosen.
CHOSEN_AT, LAYERS = 4 * KB, (1, 2)


class Task:
    """The rows of a data set and fold as numbers; those to fit and to choose with are parts of the training rows."""

    def __init__(self, name: str, fold: int) -> None:
        self.name, self.fold = name, fold
        self.table = read_mnist() if name == MNIST else read(name)
        n_rows = len(self.table.y)
        parts = (np.arange(MNIST_TRAIN), np.arange(MNIST_TRAIN, n_rows)) if name == MNIST else None
        self.train, self.test = parts or folds_of(self.table, fold)
        self.budgets = MNIST_BUDGETS if name == MNIST else BUDGETS

    def encode(self) -> None:
        """Set the rows as numbers, and those that are held out."""
        self.X, _ = encode(self.table)
        rows = training_rows(self.X, self.table.y, is_classification=True)
        self.y, self.at_once = rows.y, max(1, rows.n_values)
        self.n_classes = rows.classes.size
        self.fit, self.held = train_test_split(
            self.train, test_size=0.15, stratify=self.y[self.train], random_state=0
        )

    def accuracy(self, model, rows: np.ndarray, X: np.ndarray | None = None) -> float:
        """Return the share of these rows that a model is right about; X are all rows as it takes them."""
        return float(np.mean(model.predict((self.X if X is None else X)[rows]) == self.y[rows]))

    def row(self, who: str, budget: int, nbytes: int, accuracy: float, n_settings: int) -> Row:
        """Return a line of the results."""
        return Row(who, self.name, self.fold, budget, 0.0, nbytes, accuracy, n_settings, 0.0)


def read_mnist():
    from os import environ

    from billhook.tables import Table, read_table

    table = read_table(Path(environ["BILLHOOK_DATA"]) / "mnist.parquet", "label", task="classification")
    kept = [place for place, name in enumerate(table.names) if name != "split"]
    names, columns = tuple(table.names[k] for k in kept), tuple(table.columns[k] for k in kept)
    return Table(table.title, names, columns, table.y, table.task)


# Rivals: each yields its models for the task's budgets


def by_boosting(task: Task, who: str, grown, settings: tuple) -> Iterator[Row]:
    def score(packed: bh.Packed) -> float:
        return task.accuracy(packed, task.held)

    grow = partial(grown, task)
    made = best_held_out(
        grow, settings, task.fit, task.train, task.budgets, score, at_once=task.at_once, smaller_too=True
    )
    for one in made:
        yield task.row(who, one.budget, one.packed.nbytes, task.accuracy(one.packed, task.test), len(settings))


def n_rounds(task: Task, leaves: int) -> int:
    """Return the rounds that 16 KB hold, and some more."""
    return max(4, min(MOST_ROUNDS, int(LEAVES_OF_ALL / leaves / task.at_once)))


def grown_by_xgboost(task: Task, leaves: int, rate: float, some: np.ndarray) -> bh.Forest:
    from xgboost import XGBClassifier

    depth = leaves.bit_length() - 1
    model = XGBClassifier(
        n_estimators=n_rounds(task, leaves), max_depth=depth, learning_rate=rate, n_jobs=1, verbosity=0
    )
    return bh.as_forest(model.fit(task.X[some], task.y[some]))


def grown_by_lightgbm(task: Task, leaves: int, rate: float, *penalties_and_rows, **options) -> bh.Forest:
    from lightgbm import LGBMClassifier

    *penalties, some = penalties_and_rows
    if penalties:
        options["cegb_penalty_split"] = penalties[0]
        options["cegb_penalty_feature_coupled"] = [penalties[1]] * task.X.shape[1]
    model = LGBMClassifier(
        n_estimators=n_rounds(task, leaves), num_leaves=leaves, learning_rate=rate, n_jobs=1, verbose=-1, **options
    )
    return bh.as_forest(model.fit(task.X[some], task.y[some]))


def by_nets(task: Task) -> Iterator[Row]:
    """One float net serves all that have as many weights; how many layers is chosen on the hold-out, at one size."""
    inputs = inputs_for(task.X[task.train])
    X, n_outputs = inputs.of(task.X), 1 if task.n_classes == 2 else task.n_classes

    def sizes(budget: int, bits: int, n_layers: int):
        return sizes_for(budget, bits, n_layers, n_outputs, inputs, X.shape[1])

    def made(some: np.ndarray, hidden: tuple[int, ...], known: dict):
        if hidden not in known:
            known[hidden] = trained(X[some], task.y[some], hidden)
        return known[hidden]

    fitted: dict = {}
    scores = {}
    for n_layers in LAYERS:
        hidden = sizes(CHOSEN_AT, 8, n_layers)
        if hidden is not None:
            net = rounded(made(task.fit, hidden, {}), X[task.fit], task.y[task.fit], 8)
            scores[n_layers] = task.accuracy(net, task.held, X)
    best = max(scores, key=lambda n_layers: scores[n_layers], default=LAYERS[0])
    for who, bits in NETS.items():
        for budget in task.budgets:
            hidden = sizes(budget, bits, best)
            if hidden is None:
                continue
            net = rounded(made(task.train, hidden, fitted), X[task.train], task.y[task.train], bits)
            nbytes = nbytes_of(hidden, bits, inputs)
            yield task.row(who, budget, nbytes, task.accuracy(net, task.test, X), len(LAYERS))


class Stored:
    """The first trees of a random forest as emlearn stores them, with votes or leaves of 8 bits.

    Thresholds of 16 bits on features that are scaled to as many lose nothing that can be seen; they stay floats.
    """

    def __init__(self, forest, n_trees: int, has_votes: bool) -> None:
        self.trees = [member.tree_ for member in forest.estimators_[:n_trees]]
        self.leaves = []
        for tree in self.trees:
            share = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True)
            votes = np.eye(share.shape[1])[share.argmax(axis=1)]
            self.leaves.append(votes if has_votes else np.uint8(np.rint(share * 254) / 254 * 255).astype(float))
        ends = [leaves[tree.children_left < 0] for leaves, tree in zip(self.leaves, self.trees, strict=True)]
        n_different = len(np.unique(np.concatenate(ends), axis=0))
        n_splits = sum(int((tree.children_left >= 0).sum()) for tree in self.trees)
        of_leaf = 1 if has_votes else self.leaves[0].shape[1]
        self.nbytes = EMLEARN_SPLIT * n_splits + EMLEARN_ROOT * n_trees + n_different * of_leaf

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class numbers of rows."""
        X = np.ascontiguousarray(X, np.float32)
        return sum(leaves[tree.apply(X)] for leaves, tree in zip(self.leaves, self.trees, strict=True)).argmax(axis=1)


def by_emlearn(task: Task) -> Iterator[Row]:
    from sklearn.ensemble import RandomForestClassifier

    def grown(leaves: int, some: np.ndarray):
        forest = RandomForestClassifier(EMLEARN_TREES, max_leaf_nodes=leaves, random_state=0, n_jobs=1)
        return forest.fit(task.X[some], task.y[some])

    def largest(forest, budget: int, has_votes: bool) -> Stored | None:
        low, high, best = 0, EMLEARN_TREES, None
        while low < high:
            middle = (low + high + 1) // 2
            stored = Stored(forest, middle, has_votes)
            low, high, best = (middle, high, stored) if stored.nbytes <= budget else (low, middle - 1, best)
        return best

    tried = {leaves: grown(leaves, task.fit) for leaves in EMLEARN_LEAVES}
    whole: dict = {}
    scores: dict[tuple, float] = {}
    for budget in task.budgets:
        for leaves, forest in tried.items():
            for has_votes in (False, True):
                stored = largest(forest, budget, has_votes)
                if stored is not None:
                    scores[leaves, has_votes, budget] = task.accuracy(stored, task.held)
        if not scores:
            continue
        leaves, has_votes, size = max(scores, key=lambda choice: scores[choice])
        if leaves not in whole:
            whole[leaves] = grown(leaves, task.train)
        stored = largest(whole[leaves], size, has_votes)
        if stored is not None:
            yield task.row(EMLEARN, budget, stored.nbytes, task.accuracy(stored, task.test), 2 * len(tried))


def by_billhook(task: Task, seconds: float) -> list[Row]:
    job = Job(SEARCH, task.name, task.fold, seconds)
    return searched(task.table, task.train, task.test, job, task.budgets)


# All of them

WHO = {
    SEARCH: (SEARCH,),
    XGBOOST: (XGBOOST,),
    LIGHTGBM: (LIGHTGBM,),
    PENALISED: (PENALISED,),
    "nets": tuple(NETS),
    EMLEARN: (EMLEARN,),
    BY_PAPER: (BY_PAPER,),
}


def models_of(who: str, task: Task, seconds: float) -> list[Row]:
    if who == SEARCH:
        return by_billhook(task, seconds)
    if who == BY_PAPER:
        if task.name == MNIST:
            raise SystemExit(f"{BY_PAPER} is not made of {MNIST}: choose others with --who")
        return by_paper(Job(who, task.name, task.fold, seconds), BUDGETS)
    task.encode()
    ways = {
        XGBOOST: lambda: by_boosting(task, XGBOOST, grown_by_xgboost, BOOSTED),
        LIGHTGBM: lambda: by_boosting(task, LIGHTGBM, grown_by_lightgbm, BOOSTED),
        PENALISED: lambda: by_boosting(task, PENALISED, grown_by_lightgbm, PENALTIES),
        "nets": lambda: by_nets(task),
        EMLEARN: lambda: by_emlearn(task),
    }
    return list(ways[who]())


def run(who: str, name: str, fold: int, seconds: float, results: Path) -> None:
    start = time.process_time()
    with threadpool_limits(1):
        task = Task(name, fold)
        n_test = len(task.test)
        found = models_of(who, task, seconds)
    spent = round(time.process_time() - start, 1)
    with results.open("a") as file:
        for row in found:
            line = row._replace(accuracy=round(row.accuracy, 5), seconds=round(row.seconds, 1))
            file.write(json.dumps({**line._asdict(), "n_test": n_test, "seconds_of_all": spent}) + "\n")
    words = ", ".join(f"{row.who} {row.budget / KB:g} KB {row.accuracy:.2%}" for row in found)
    print(f"{name}, fold {fold}, {spent:.0f} s: {words or f'{who}: nothing fits'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, metavar="FILE", help="JSON lines, a model each")
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA, metavar="NAME")
    parser.add_argument("--folds", nargs="+", type=int, default=[3], choices=range(5), metavar="N")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="of a search (default: %(default)g)")
    parser.add_argument("--who", nargs="+", choices=WHO, metavar="WHO", help=f"of {', '.join(WHO)}")
    parser.add_argument("--mnist", action="store_true", help=f"only {MNIST}; by default only {SEARCH}")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="write a page of pictures (SVG)")
    given = parser.parse_args()
    if not given.show:
        data, folds = ([MNIST], [0]) if given.mnist else (given.data, given.folds)
        for fold in folds:
            for name in data:
                for who in given.who or ([SEARCH] if given.mnist else WHO):
                    # Read each time: others may write to the same results.
                    known = {(row["who"], row["data"], row["fold"]) for row in read_results(given.results)}
                    if not all((one, name, fold) in known for one in WHO[who]):
                        run(who, name, fold, given.seconds, given.results)
    rows = read_results(given.results)
    show(rows, is_markdown=given.markdown)
    if given.draw:
        given.draw.write_text(picture_of(rows))


def read_results(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
