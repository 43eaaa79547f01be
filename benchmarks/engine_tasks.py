"""What benchmarks/engine.py measures, and the process that does it: in this environment and in that of release 0.1.0.

Only what both have is used, and of it only what is public. The process reads a line of JSON from its standard input
for each thing to do, and answers with one.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import billhook as bh

# Rows to predict; to learn from; to prune on; for the solvers that take long.
ALL, MANY, SOME, FEW = slice(None), slice(12_000), slice(6_000), slice(3_000)
N_ANSWERS = 1_000
SECONDS_OF_A_TURN, SHORTEST_TIMED = 0.04, 2e-4
Answer = dict[str, np.ndarray]


class Task(NamedTuple):
    """Something to measure: `prepare` returns what is timed, and what makes an answer of its result.

    How the parts of an answer are compared is in their names: see `same` in engine.py.
    """

    name: str
    n_classes: int
    prepare: Callable[["Inputs"], tuple[Callable[[], Any], Callable[[Any], Answer]]]


class Forests(NamedTuple):
    """Forests on the rows of one table, by their number of trees and their leaves."""

    table: str
    n_classes: int
    sizes: tuple[tuple[int, int], ...]


FORESTS = (
    Forests("two", 2, ((256, 64), (64, 1024), (32, 64), (8, 64), (128, 32))),
    Forests("six", 6, ((64, 64), (32, 64))),
    Forests("eighteen", 18, ((64, 64), (32, 256), (32, 64), (8, 64))),
    Forests("twenty_six", 26, ((32, 128), (8, 64))),
    Forests("numbers", 0, ((64, 64),)),
)
BOOSTED = (("two", 100), ("eighteen", 20))


class Inputs:
    """The folder with the tables and the models; models are written once, by release 0.1.0."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self, table: str, some: slice = ALL) -> tuple[np.ndarray, np.ndarray]:
        """Return some rows of a table, and their labels."""
        with np.load(self.folder / f"{table}.npz") as arrays:
            return np.ascontiguousarray(arrays["X"][some]), arrays["y"][some]

    def path(self, table: str, n_trees: int, n_leaves: int) -> Path:
        """Return where a forest is."""
        return self.folder / f"{table}-{n_trees}x{n_leaves}.bhk"

    def forest(self, table: str, n_trees: int, n_leaves: int) -> bh.Forest:
        """Return a forest of random trees, or of so many rounds of boosting with 0 leaves."""
        return bh.load(self.path(table, n_trees, n_leaves))

    def packed(self, table: str) -> bh.Packed:
        """Return the first forest of a table, packed."""
        return bh.load(self.folder / f"{table}-packed.bhk")

    def estimator(self, table: str, n_trees: int, n_leaves: int) -> Any:
        """Return a random forest of scikit-learn."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestRegressor if table == "numbers" else RandomForestClassifier
        model = kind(n_trees, max_leaf_nodes=n_leaves, random_state=0, n_jobs=-1)
        return model.fit(*self.rows(table, SOME)).set_params(n_jobs=1)

    def make(self) -> None:
        """Write the models that are not there."""
        from xgboost import XGBClassifier

        for table, _, sizes in FORESTS:
            for size in sizes:
                if not self.path(table, *size).exists():
                    bh.as_forest(self.estimator(table, *size)).save(self.path(table, *size))
            if not (self.folder / f"{table}-packed.bhk").exists():
                bh.pack(self.forest(table, *sizes[0])).save(self.folder / f"{table}-packed.bhk")
        for table, n_rounds in BOOSTED:
            if not self.path(table, n_rounds, 0).exists():
                model = XGBClassifier(n_estimators=n_rounds, max_depth=5, n_jobs=1, random_state=0)
                bh.as_forest(model.fit(*self.rows(table, SOME))).save(self.path(table, n_rounds, 0))


def predict(table: str, n_trees: int, n_leaves: int, some: slice = ALL) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        forest = inputs.forest(table, n_trees, n_leaves)
        X, _ = inputs.rows(table, some)
        return lambda: forest.predict(X), lambda result: predictions(forest, X, result)

    return prepare


def predict_packed(table: str, some: slice = ALL) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        packed = inputs.packed(table)
        X, _ = inputs.rows(table, some)
        return lambda: packed.predict(X), lambda result: predictions(packed, X, result)

    return prepare


def predictions(model: bh.Forest | bh.Packed, X: np.ndarray, predicted: np.ndarray) -> Answer:
    if model.classes is None:
        return {"close predicted": predicted}
    return {"labels": predicted, "close scores": model.decision_function(X[:N_ANSWERS])}


def apply(table: str, n_trees: int, n_leaves: int) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        forest = inputs.forest(table, n_trees, n_leaves)
        X, _ = inputs.rows(table)
        return lambda: forest.apply(X), lambda result: {"exact leaves": result}

    return prepare


def as_forest(table: str, n_trees: int, n_leaves: int) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        model = inputs.estimator(table, n_trees, n_leaves)
        return lambda: bh.as_forest(model), lambda result: scores(result, inputs.rows(table)[0])

    return prepare


def refine(table: str, solver: str, loss: str) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        forest = inputs.forest(table, 32, 64)
        X, y = inputs.rows(table, MANY)
        options = {"solver": solver, "loss": loss, "epochs": 5, "random_state": 0}
        if solver == "bcd":
            options |= {"l2": 1.0}
        return (
            lambda: bh.refine(forest, X, y, validation_fraction=None, **options),
            lambda result: scores(result, X),
        )

    return prepare


def scores(forest: bh.Forest, X: np.ndarray) -> Answer:
    return {"close scores": forest.decision_function(X[:N_ANSWERS])}


def order(method: str, table: str, size: tuple[int, int]) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        forest = inputs.forest(table, *size)
        X, y = inputs.rows(table, SOME)
        return (
            lambda: bh.pruning_order(forest, X, y, method=method, random_state=0),
            lambda result: {"exact order": result},
        )

    return prepare


def prune(method: str, table: str, size: tuple[int, int]) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        forest = inputs.forest(table, *size)
        X, y = inputs.rows(table, SOME)
        return (
            lambda: bh.prune(forest, X, y, method=method, n_trees=16, random_state=0),
            lambda result: {"exact size": np.array([result.n_trees, result.n_leaves]), **scores(result, X)},
        )

    return prepare


def merge(table: str) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        forest = inputs.forest(table, 32, 64)
        X, y = inputs.rows(table, SOME)
        return (
            lambda: bh.merge(forest, X, y, max_leaves=500),
            lambda result: {"exact leaves": np.array([result.n_leaves]), "labels": result.predict(X)},
        )

    return prepare


def pack(table: str, **options: Any) -> Callable[[Inputs], Any]:
    def prepare(inputs: Inputs) -> Any:
        forest = inputs.forest(table, 32, 64)
        X, y = inputs.rows(table, FEW)

        def answer(result: bh.Packed) -> Answer:
            predicted = result.predict(X)
            # Codebooks start from k-means, and that of 0.1.0 was another.
            quality = (
                {"accuracy": np.array([np.mean(predicted == y)])} if "codebook" in options else {"labels": predicted}
            )
            return {"size": np.array([result.nbytes]), **quality}

        return lambda: bh.pack(forest, X=X, y=y, **options), answer

    return prepare


def _tasks() -> list[Task]:
    tasks = []
    for table, n_classes, sizes in FORESTS:
        for n_trees, n_leaves in sizes:
            name = f"predict, {_classes(n_classes)}, {n_trees} x {n_leaves}"
            tasks.append(Task(name, n_classes, predict(table, n_trees, n_leaves)))
    for table, n_rounds in BOOSTED:
        n_classes = next(forests.n_classes for forests in FORESTS if forests.table == table)
        name = f"predict, {_classes(n_classes)}, {n_rounds} rounds of boosting"
        tasks.append(Task(name, n_classes, predict(table, n_rounds, 0)))
    one = slice(1)
    for table, n_classes in (("two", 2), ("eighteen", 18), ("twenty_six", 26)):
        tasks.append(Task(f"one row, {_classes(n_classes)}, 8 x 64", n_classes, predict(table, 8, 64, one)))
    for table, n_classes, size in (("two", 2, (256, 64)), ("two", 2, (64, 1024)), ("eighteen", 18, (64, 64))):
        tasks.append(Task(f"apply, {_classes(n_classes)}, {size[0]} x {size[1]}", n_classes, apply(table, *size)))
    for table, n_classes, size in (("two", 2, (64, 1024)), ("eighteen", 18, (32, 256))):
        name = f"as_forest, {_classes(n_classes)}, {size[0]} x {size[1]}"
        tasks.append(Task(name, n_classes, as_forest(table, *size)))
    for solver in ("sgd", "bcd"):
        for table, n_classes in (("two", 2), ("six", 6), ("eighteen", 18)):
            for loss in ("cross_entropy", "mse", "squared_hinge"):
                name = f"refine {solver}, {_classes(n_classes)}, {loss}"
                tasks.append(Task(name, n_classes, refine(table, solver, loss)))
    for table, n_classes, size in (("two", 2, (128, 32)), ("eighteen", 18, (64, 64))):
        for method in bh.pruning_methods():
            if not any(isinstance(default, type) for default in method.options.values()):  # takes no function
                prepare = (order if method.nested else prune)(method.name, table, size)
                tasks.append(Task(f"prune {method.name}, {_classes(n_classes)}", n_classes, prepare))
    for table, n_classes in (("two", 2), ("six", 6), ("eighteen", 18)):
        tasks.append(Task(f"merge, {_classes(n_classes)}", n_classes, merge(table)))
        tasks.append(Task(f"rounding, {_classes(n_classes)}", n_classes, pack(table, leaf_bits=4)))
        if n_classes > 2:
            tasks.append(Task(f"codebook, {_classes(n_classes)}", n_classes, pack(table, leaf_bits=6, codebook=32)))
        tasks.append(Task(f"packed predict, {_classes(n_classes)}", n_classes, predict_packed(table)))
        tasks.append(Task(f"packed one row, {_classes(n_classes)}", n_classes, predict_packed(table, one)))
    return tasks


def _classes(n_classes: int) -> str:
    return f"{n_classes} classes" if n_classes else "regression"


TASKS = {task.name: task for task in _tasks()}


def answer_requests() -> None:
    """Do what standard input says; what is printed meanwhile goes to stderr."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    inputs = Inputs(Path(sys.argv[1]))
    run: Callable[[], Any] = lambda: None  # noqa: E731
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "make":
            inputs.make()
            reply = 0.0
        elif request["do"] == "prepare":
            run, answer = TASKS[request["task"]].prepare(inputs)
            run()  # compiles what is compiled when it first runs
            np.savez(request["answer"], **answer(run()))
            reply = 0.0
        else:
            reply = _seconds(run)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _seconds(run: Callable[[], Any]) -> float:
    """Return the seconds of the processor that a run takes: the least in one turn, as what disturbs only adds."""
    now = time.process_time
    end = now() + SECONDS_OF_A_TURN
    times, least = 1, math.inf
    while True:
        start = now()
        for _ in range(times):
            run()
        seconds = now() - start
        if seconds < SHORTEST_TIMED:  # the clock would count
            times *= 4
            continue
        least = min(least, seconds / times)
        if now() > end:
            return least


if __name__ == "__main__":
    answer_requests()
