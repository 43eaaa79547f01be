"""One unit of a study: an ensemble is grown once, and everything that is made of it shares what it can."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from json import loads
from typing import Any, TypeVar

import numpy as np

from billhook._checks import as_bytes
from billhook._interruption import is_interruption
from billhook.analysis import BOOSTING, SEARCH
from billhook.datasets import DataSet
from billhook.forest import Forest
from billhook.packing import Packed, pack
from billhook.refinement import merge, refine
from billhook.study._forests import Made, Picked, Trees, node_bytes
from billhook.study._rows import Rows, rows_of, seed_of
from billhook.study._scores import scores_of
from billhook.study._store import ResultsError, Run, Work, skipped
from billhook.study._study import Configuration, Method, Study, Unit, configurations_of
from billhook.study._time import at_most, was_time
from billhook.study._trees import boost, grow

Record = Callable[[list[Run] | list[Work]], None]
Result = TypeVar("Result")


def run_unit(
    study: Study, unit: Unit, data: DataSet, known: set[tuple[Any, ...]], record: Record, time_limit: float | None
) -> None:
    """Make the runs of a unit that are not known yet, and record each as it finishes."""
    from threadpoolctl import threadpool_limits

    todo = [one for one in configurations_of(study, unit) if one.key not in known]
    if not todo:
        return
    # One thread: sums then have one order, whoever does the unit.
    with threadpool_limits(1):
        made = _Made(study, unit, todo, record, time_limit)
        try:
            made.rows = rows_of(study, unit, data)
            {BOOSTING: made.boosted, SEARCH: made.searched}.get(unit.base, made.forests)()
        except ResultsError:  # what cannot be written cannot be written as failed either
            raise
        except Exception as error:
            _raise_if_interrupted(error)
            made.fail_rest(error)


class _Made:
    """What is made in a unit, and written down."""

    rows: Rows

    def __init__(
        self, study: Study, unit: Unit, todo: list[Configuration], record: Record, time_limit: float | None
    ) -> None:
        self.study, self.unit, self.todo, self.record, self.time_limit = study, unit, todo, record, time_limit
        self.n_recorded = 0

    def fail_rest(self, error: Exception) -> None:
        """Write down that what is left has failed."""
        for one in self.todo[self.n_recorded :]:
            self.put(skipped(one, words_of(error), self.seed(), "failed"))

    def put(self, run: Run) -> None:
        self.record([run])
        self.n_recorded += 1

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.record([Work(self.unit.data, self.unit.fold, self.unit.base, name, time.perf_counter() - start)])

    def seed(self, one: Configuration | None = None, *more: Any) -> int:
        shape = () if one is None else (one.n_leaves, one.n_trees)
        return seed_of(self.study.seed, self.unit.data, self.unit.fold, self.unit.base, *shape, *more)

    def attempt(self, one: Configuration, make: Callable[[], Made]) -> None:
        """Make a run, and write down what came of it."""
        start = time.perf_counter()
        seed = self.seed()
        try:
            with at_most(self.time_limit):
                made = make()
                found = self.measured(made)
        except _SkippedError as reason:
            run = skipped(one, str(reason), seed)
        except Exception as error:  # what one method cannot do is no reason not to try the others
            _raise_if_interrupted(error)
            if was_time(error):
                run = skipped(one, f"took longer than {self.time_limit:g} s", seed, "timed_out")
            else:
                run = skipped(one, words_of(error), seed, "failed")
        else:
            run = Run(*one.key, "done", 0.0, seed, **found)
        self.put(replace(run, seconds=time.perf_counter() - start))

    def measured(self, made: Made) -> dict[str, Any]:
        """Return the columns of a run that is done."""
        of_train = scores_of(self.rows.train.y, made.predicted_train, self.rows.n_classes)
        of_test = scores_of(self.rows.test.y, made.predicted_test, self.rows.n_classes)
        found: dict[str, Any] = {
            "accuracy_train": of_train.accuracy,
            **of_test._asdict(),
            "n_nodes": made.n_nodes,
            "size_paper": made.n_nodes * made.node_bytes["paper"],
        }
        if "as_published" in self.study.sizes:
            found["size_published"] = made.n_nodes * made.node_bytes["as_published"]
        if "packed" in self.study.sizes:
            model = made.model()
            found["size_packed"] = model.nbytes if isinstance(model, Packed) else pack(model).nbytes
        return found

    # Kinds of units

    def forests(self) -> None:
        """Make everything that comes of a base ensemble."""
        study, rows = self.study, self.rows
        with self.step("growing"):
            # As large as the study asks for, not as is left to do: so the same, however often it was interrupted.
            most = max(one.n_leaves or 2 for one in configurations_of(study, self.unit))
            largest = grow(self.unit.base, rows.grown.X, rows.grown.y, study.n_base_trees, most, self.seed())
        for n_leaves, some in groupby(self.todo, lambda one: one.n_leaves):
            assert n_leaves is not None
            with self.step("finding leaves"):
                trees = Trees(largest.truncate(max_leaves=n_leaves), rows)
            for (method, choice), alike in groupby(some, lambda one: (one.method, one.choice)):
                settings = method.settings("", loads(choice))
                most = max(method.n_trees or study.n_trees)
                picked = Picked(trees, method.prune, settings, most, self.seed(None, n_leaves))
                for one in alike:
                    self.attempt(one, partial(self.one_of_forest, one, picked))

    def one_of_forest(self, one: Configuration, picked: Picked) -> Made:
        """Prune, and refine and merge if that is asked for."""
        method, choice, n_trees = one.method, loads(one.choice), one.n_trees
        assert n_trees is not None
        forest = picked.trees.forest
        if n_trees > forest.n_trees:
            raise _SkippedError(f"the base ensemble has {forest.n_trees} trees")
        if method.refine is None and method.merge is None:
            return picked.made(n_trees)
        small = picked.forest(n_trees)
        rows = self.rows.judged
        if method.refine is not None:
            settings = {"validation_fraction": None, **method.settings("refine", choice)}
            small = refine(small, rows.X, rows.y, random_state=self.seed(one, "refine"), **settings)
        if method.merge is not None:
            settings = method.settings("merge", choice)
            share = settings.pop("share")
            small = merge(small, rows.X, rows.y, size=max(1, int(share * small.size())), **settings)
        return self.of_model(small)

    def boosted(self) -> None:
        """Grow boosted trees; fewer rounds are the beginning of more."""
        X, (known, y) = self.rows.grown.X, np.unique(self.rows.grown.y, return_inverse=True)
        for (n_leaves, method, choice), alike in groupby(
            self.todo, lambda one: (one.n_leaves, one.method, one.choice)
        ):
            assert n_leaves is not None
            n_rounds = max(method.n_trees or self.study.n_trees)
            settings = method.settings("", loads(choice))

            def grown(settings: Any = settings, n_leaves: int = n_leaves, n_rounds: int = n_rounds) -> Forest:
                return replace(boost(X, y, n_rounds, n_leaves, self.seed(), settings), classes=known)

            whole = once(grown)

            def first(n_trees: int, whole: Callable[[], Forest] = whole) -> Made:
                n_first = n_trees * max(1, whole().base.size)
                return self.of_model(whole().select(range(min(whole().n_trees, n_first))))

            for one in alike:
                self.attempt(one, partial(first, one.n_trees or 0))

    def searched(self) -> None:
        """Look for the best models of some numbers of bytes; one search serves all of a method."""
        from billhook.budget import TrainingRows as RowsToSearch
        from billhook.budget import search_budgets

        X, (known, y) = self.rows.grown.X, np.unique(self.rows.grown.y, return_inverse=True)
        rows = RowsToSearch(X, y, np.ones(len(X)), known)

        def budget_of(choice: dict[str, Any], method: Method) -> int:
            return as_bytes(method.settings("", choice)["budget"])

        for (method, trials), alike in groupby(
            self.todo, lambda one: (one.method, one.method.settings("", loads(one.choice))["trials"])
        ):
            same = [choice for choice in method.choices() if method.settings("", choice)["trials"] == trials]
            budgets = tuple(sorted({budget_of(choice, method) for choice in same}))
            search = once(partial(search_budgets, rows, budgets, trials=trials, seed=self.seed()))

            def best(budget: int, search: Callable[[], Any] = search) -> Made:
                if search().best(budget) is None:
                    raise ValueError(f"no model of {budget:,} bytes was found: give more bytes, or more trials")
                return self.of_model(search().final(budget))

            for one in alike:
                self.attempt(one, partial(best, budget_of(loads(one.choice), method)))

    def of_model(self, model: Forest | Packed) -> Made:
        """Return what a model predicts, and its size."""
        forest = model.to_forest() if isinstance(model, Packed) else model
        predicted = [np.asarray(model.predict(part.X), np.int64) for part in (self.rows.train, self.rows.test)]
        return Made(predicted[0], predicted[1], forest.n_nodes, node_bytes(forest), lambda: model)


def once(make: Callable[[], Result]) -> Callable[[], Result]:
    """Return a function that makes something when it is first called, and tries once only."""
    made: list[Result | Exception] = []

    def get() -> Result:
        if not made:
            try:
                made.append(make())
            except Exception as error:
                made.append(error)
        if isinstance(made[0], Exception):
            raise made[0]
        return made[0]

    return get


class _SkippedError(Exception):
    """A run that makes no sense."""


def _raise_if_interrupted(error: Exception) -> None:
    """Let an interruption be one, where compiled code has made an error of it: it is no failed run."""
    if is_interruption(error):
        raise KeyboardInterrupt from error


def words_of(error: Exception) -> str:
    """Return what an error says, in a line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
