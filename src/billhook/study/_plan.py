"""What is left to do of a study: its data sets as they are, and the runs that are not there yet."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from billhook.analysis import SKIPPED
from billhook.study._data import contents_of, load_source
from billhook.study._job import Job
from billhook.study._rows import seed_of
from billhook.study._store import RunRecord, Store, skipped
from billhook.study._study import Study, Unit, configurations_of, units_of


class DatasetSummary:
    """The data sets of a study as they are now: how many folds they have, their shapes, and their contents."""

    def __init__(self, study: Study, skip_missing: bool) -> None:
        self.n_folds: dict[str, int] = {}
        self.shapes: dict[str, tuple[int, int, int]] = {}
        self.contents: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        for source in study.data:
            try:
                data = load_source(source)
                self.n_folds[source.name] = sum(1 for _ in data.folds(study.folds, study.seed))
            except OSError as error:
                self.missing[source.name] = str(error)
                continue
            except ValueError as error:
                raise ValueError(f"data set {source.name}: {error}") from error
            assert data.classes is not None
            self.shapes[source.name] = (*data.X.shape, data.classes.size)
            self.contents[source.name] = contents_of(data)
        if not self.missing or (skip_missing and self.n_folds):
            return
        first = next(iter(self.missing.values())).rstrip(".")
        raise FileNotFoundError(
            f"{len(self.missing)} of {len(study.data)} data sets cannot be found, the first being: {first}. "
            "Or leave out those that are missing (skip_missing=True)."
        )


class Plan(NamedTuple):
    """What is left to do, the largest first; the keys of all runs; those to be made anew; and those to be skipped."""

    jobs: list[Job]
    keys: set[tuple[Any, ...]]
    repeated: list[tuple[Any, ...]]
    skipped: list[RunRecord]


def plan_of(
    study: Study, store: Store, datasets: DatasetSummary, time_limit: float | None, retried: tuple[str, ...]
) -> Plan:
    """Return what is left to do of a study, runs of some statuses included."""
    recorded = store.keys()
    # What was skipped for want of its data is made when they are there.
    now_found = set(store.get_meta("missing", [])) & set(datasets.n_folds)
    repeated = {key for key in recorded - store.keys(without=(SKIPPED,)) if key[0] in now_found}
    known = store.keys(without=retried) - repeated
    retried_too = recorded - known - repeated
    # These all: of a given split there was one fold, where five had been skipped.
    plan = Plan([], set(), list(repeated), [])
    for unit in units_of(study, datasets.n_folds | dict.fromkeys(datasets.missing, study.folds)):
        configurations = {configuration.key: configuration for configuration in configurations_of(study, unit)}
        plan.keys.update(configurations)
        if unit.data in datasets.missing:
            left = [configuration for key, configuration in configurations.items() if key not in recorded]
            seed = seed_of(study.seed, unit.data, unit.fold, unit.base)
            plan.skipped.extend(skipped(configuration, datasets.missing[unit.data], seed) for configuration in left)
            continue
        done = frozenset(key for key in configurations if key in known)
        if len(done) < len(configurations):
            source = next(source for source in study.data if source.name == unit.data)
            n_bytes = _bytes_of(study, unit, datasets.shapes[unit.data])
            plan.jobs.append(Job(study, unit, source, datasets.contents[unit.data], done, time_limit, n_bytes))
            plan.repeated.extend(key for key in configurations if key in retried_too)
    plan.jobs.sort(key=lambda job: (-job.n_bytes, job.unit))
    return plan


def _bytes_of(study: Study, unit: Unit, shape: tuple[int, int, int]) -> int:
    """Return about how much memory a unit takes: its rows, its trees, and the leaves of all rows in all trees."""
    n_rows, n_features, n_classes = shape
    shapes = [
        (configuration.n_leaves or 0, configuration.n_trees or 0) for configuration in configurations_of(study, unit)
    ]
    most_leaves, most_trees = max(leaves for leaves, _ in shapes), max(trees for _, trees in shapes)
    n_trees = study.n_base_trees if unit.base in study.bases else n_classes * most_trees
    n_nodes = 2 * n_trees * min(most_leaves, n_rows)
    trees = n_nodes * (3 * 8 * n_classes + 3 * 60)
    rows = n_rows * (3 * 4 * n_features + 4 * study.n_base_trees + 4 * 8 * n_classes)
    return 200_000_000 + rows + trees


def by_memory(jobs: list[Job], n_jobs: int, limit: int | None) -> Iterator[tuple[list[Job], int]]:
    """Yield jobs, and how many of them may be done at once."""
    groups: dict[int, list[Job]] = {}
    for job in jobs:
        n_at_once = n_jobs if limit is None else min(n_jobs, limit // job.n_bytes)
        if n_at_once < 1:
            raise ValueError(
                f"the memory limit of {limit:,} bytes is too low for {job.unit.data}, which takes about "
                f"{job.n_bytes:,}: raise it, or leave that data set out"
            )
        groups.setdefault(n_at_once, []).append(job)
    yield from ((group, n_at_once) for n_at_once, group in groups.items())
