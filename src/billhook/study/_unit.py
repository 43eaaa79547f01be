"""One unit of a study: an ensemble is grown once, and everything that is made of it shares what it can."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from json import loads
from typing import Any

import numpy as np

from billhook._checks import as_bytes
from billhook._interruption import is_interruption
from billhook._out_of_memory import is_out_of_memory
from billhook.analysis import BOOSTING, DONE, FAILED, SEARCH
from billhook.datasets import DataSet
from billhook.forest import Forest, derive
from billhook.packing import Packed, forest_of_tests, pack
from billhook.refinement import merge, refine
from billhook.study._forests import BaseEnsemble, EvaluatedModel, TreePicker, node_bytes
from billhook.study._rows import FoldRows, rows_of, seed_of
from billhook.study._scores import scores_of
from billhook.study._shared import Shared
from billhook.study._store import ResultsError, RunRecord, StepRecord, skipped
from billhook.study._study import Configuration, Method, Study, Unit, configurations_of
from billhook.study._trees import boost, grow

Key = tuple[Any, ...]
Record = Callable[[list[RunRecord] | list[StepRecord]], None]
Announce = Callable[[list[Key]], None]


def run_unit(
    study: Study,
    unit: Unit,
    data: DataSet,
    known: set[Key],
    record: Record,
    announce: Announce = lambda _: None,
) -> None:
    """Make the runs of a unit that are not known yet, and record each as it finishes.

    Parameters
    ----------
    study : Study
    unit : Unit
    data : DataSet
    known : set of keys
        Of the runs that are there already.
    record : function
        Takes records of runs, or of steps.
    announce : function
        Told, before each run and each step that several runs share, the keys of the runs that wait for it.
    """
    from threadpoolctl import threadpool_limits

    todo = [configuration for configuration in configurations_of(study, unit) if configuration.key not in known]
    if not todo:
        return
    # One thread: sums then have one order, whoever does the unit.
    with threadpool_limits(1):
        runner = _UnitRunner(study, unit, todo, record, announce)
        try:
            runner.rows = rows_of(study, unit, data)
            {BOOSTING: runner.boosted, SEARCH: runner.searched}.get(unit.base, runner.forests)()
        except ResultsError:  # what cannot be written cannot be written as failed either
            raise
        except Exception as error:
            _raise_if_interrupted(error)
            runner.fail_rest(error)


class _UnitRunner:
    """Makes the runs of a unit, and records them."""

    rows: FoldRows

    def __init__(
        self, study: Study, unit: Unit, todo: list[Configuration], record: Record, announce: Announce
    ) -> None:
        self.study, self.unit, self.todo, self.record, self.announce = study, unit, todo, record, announce
        self.n_recorded = 0

    def fail_rest(self, error: Exception) -> None:
        """Record that what is left has failed."""
        for configuration in self.todo[self.n_recorded :]:
            self.put(skipped(configuration, words_of(error), self.seed(), FAILED))

    def put(self, run: RunRecord) -> None:
        self.record([run])
        self.n_recorded += 1

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        self.record([StepRecord(self.unit.data, self.unit.fold, self.unit.base, name, seconds)])

    def shared_by(self, configurations: list[Configuration]) -> Callable[[], AbstractContextManager[None]]:
        """Return a context in which something is made for all of these that are not recorded yet."""

        @contextmanager
        def announced() -> Iterator[None]:
            current, *rest = self.todo[self.n_recorded :]
            self.announce(
                [current.key, *(configuration.key for configuration in rest if configuration in configurations)]
            )
            yield
            self.announce([current.key])

        return announced

    def seed(self, configuration: Configuration | None = None, *more: Any) -> int:
        shape = () if configuration is None else (configuration.n_leaves, configuration.n_trees)
        return seed_of(self.study.seed, self.unit.data, self.unit.fold, self.unit.base, *shape, *more)

    def attempt(self, configuration: Configuration, make: Callable[[], EvaluatedModel]) -> None:
        """Make a run, and record what came of it."""
        start = time.perf_counter()
        seed = self.seed()
        self.announce([configuration.key])
        try:
            columns = self.measured(make())
        except _SkippedError as reason:
            run = skipped(configuration, str(reason), seed)
        except Exception as error:  # what one method cannot do is no reason not to try the others
            _raise_if_interrupted(error)
            run = skipped(configuration, words_of(error), seed, FAILED)
        else:
            run = RunRecord(*configuration.key, DONE, 0.0, seed, **columns)
        self.put(replace(run, seconds=time.perf_counter() - start))

    def measured(self, made: EvaluatedModel) -> dict[str, Any]:
        """Return the columns of a run that is done."""
        of_train = scores_of(self.rows.train.y, made.predicted_train, self.rows.n_classes)
        of_test = scores_of(self.rows.test.y, made.predicted_test, self.rows.n_classes)
        columns: dict[str, Any] = {
            "accuracy_train": of_train.accuracy,
            **of_test._asdict(),
            "n_nodes": made.n_nodes,
            "size_paper": made.n_nodes * made.node_bytes["paper"],
        }
        if "as_published" in self.study.sizes:
            columns["size_published"] = made.n_nodes * made.node_bytes["as_published"]
        if "packed" in self.study.sizes:
            model = made.model()
            columns["size_packed"] = model.nbytes if isinstance(model, Packed) else pack(model).nbytes
        return columns

    # Kinds of units

    def forests(self) -> None:
        """Make everything that comes of a base ensemble."""
        study, rows = self.study, self.rows
        with self.step("growing"):
            # As large as the study asks for, not as is left to do: so the same, however often it was interrupted.
            most = max(configuration.n_leaves or 2 for configuration in configurations_of(study, self.unit))
            largest = grow(self.unit.base, rows.grown.X, rows.grown.y, study.n_base_trees, most, self.seed())
        for n_leaves, of_leaves in groupby(self.todo, lambda configuration: configuration.n_leaves):
            assert n_leaves is not None
            with self.step("finding leaves"):
                trees = BaseEnsemble(largest.truncate(max_leaves=n_leaves), rows)
            for (method, choice), group in groupby(
                of_leaves, lambda configuration: (configuration.method, configuration.choice)
            ):
                alike = list(group)
                settings = method.settings("", loads(choice))
                most = max(method.n_trees or study.n_trees)
                seed = self.seed(None, n_leaves)
                picker = TreePicker(trees, method.prune, settings, most, seed, self.shared_by(alike))
                for configuration in alike:
                    self.attempt(configuration, partial(self.of_forest, configuration, picker))

    def of_forest(self, configuration: Configuration, picker: TreePicker) -> EvaluatedModel:
        """Prune, and refine and merge if that is asked for."""
        method, choice, n_trees = configuration.method, loads(configuration.choice), configuration.n_trees
        assert n_trees is not None
        forest = picker.trees.forest
        if n_trees > forest.n_trees:
            raise _SkippedError(f"the base ensemble has {forest.n_trees} trees")
        if method.refine is None and method.merge is None:
            return picker.made(n_trees)
        small = picker.forest(n_trees)
        rows = self.rows.judged
        if method.refine is not None:
            settings = {"validation_fraction": None, **method.settings("refine", choice)}
            small = refine(small, rows.X, rows.y, random_state=self.seed(configuration, "refine"), **settings)
        if method.merge is not None:
            settings = method.settings("merge", choice)
            share = settings.pop("share")
            small = merge(small, rows.X, rows.y, size=max(1, int(share * small.size())), **settings)
        return self.of_model(small)

    def boosted(self) -> None:
        """Grow boosted trees; fewer rounds are the beginning of more."""
        X, (known, y) = self.rows.grown.X, np.unique(self.rows.grown.y, return_inverse=True)
        for (n_leaves, method, choice), group in groupby(
            self.todo, lambda configuration: (configuration.n_leaves, configuration.method, configuration.choice)
        ):
            assert n_leaves is not None
            alike = list(group)
            n_rounds = max(method.n_trees or self.study.n_trees)
            settings = method.settings("", loads(choice))

            def grown(n_rounds: int = n_rounds, n_leaves: int = n_leaves, settings: Any = settings) -> Forest:
                return replace(boost(X, y, n_rounds, n_leaves, self.seed(), settings), classes=known)

            whole = Shared(grown, self.shared_by(alike))

            def first(n_trees: int, whole: Shared[Forest] = whole) -> EvaluatedModel:
                forest = whole.get()
                n_first = n_trees * max(1, forest.base.size)
                return self.of_model(forest.select(range(min(forest.n_trees, n_first))))

            for configuration in alike:
                self.attempt(configuration, partial(first, configuration.n_trees or 0))

    def searched(self) -> None:
        """Look for the best models of some numbers of bytes; one search serves all of a method."""
        from billhook.budget import TrainingRows, search_budgets

        X, (known, y) = self.rows.grown.X, np.unique(self.rows.grown.y, return_inverse=True)
        rows = TrainingRows(X, y, np.ones(len(X)), known)

        def budget_of(choice: dict[str, Any], method: Method) -> int:
            return as_bytes(method.settings("", choice)["budget"])

        for (method, trials), group in groupby(
            self.todo,
            lambda configuration: (
                configuration.method,
                configuration.method.settings("", loads(configuration.choice))["trials"],
            ),
        ):
            alike = list(group)
            same = [choice for choice in method.choices() if method.settings("", choice)["trials"] == trials]
            budgets = tuple(sorted({budget_of(choice, method) for choice in same}))
            run_search = partial(search_budgets, rows, budgets, n_trials=trials, seed=self.seed())
            search = Shared(run_search, self.shared_by(alike))

            def best(budget: int, search: Shared[Any] = search) -> EvaluatedModel:
                if search.get().best(budget) is None:
                    raise ValueError(f"no model of {budget:,} bytes was found: give more bytes, or more trials")
                return self.of_model(search.get().final(budget))

            for configuration in alike:
                self.attempt(configuration, partial(best, budget_of(loads(configuration.choice), method)))

    def of_model(self, model: Forest | Packed) -> EvaluatedModel:
        """Return what a model predicts, and its size."""
        # The accountings know data sets by their number of features: projections are none.
        forest = model if isinstance(model, Forest) else derive(forest_of_tests(model), n_features=model.n_features)
        predicted = [np.asarray(model.predict(part.X), np.int64) for part in (self.rows.train, self.rows.test)]
        return EvaluatedModel(predicted[0], predicted[1], forest.n_nodes, node_bytes(forest), lambda: model)


class _SkippedError(Exception):
    """A run that makes no sense."""


def _raise_if_interrupted(error: Exception) -> None:
    """Let an interruption be one, where compiled code has made an error of it: it is no failed run."""
    if is_interruption(error):
        raise KeyboardInterrupt from error


def words_of(error: Exception) -> str:
    """Return what an error says, in a line."""
    if is_out_of_memory(error):
        said = " ".join(str(error).split())[:300] or type(error).__name__
        return f"memory ran out ({said}): run it again with retry, and fewer jobs or a memory limit"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
