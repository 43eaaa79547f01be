"""The search on a cluster: trials on its workers, and last models of rows that no single machine holds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.budget._compress import PASSES, CodedRows, compress
from billhook.budget._fit import FitResult, fit
from billhook.budget._grow import boosting_parameters, n_rounds, on_codes
from billhook.budget._scoring import score_of
from billhook.budget._search import COMPARED_ROWS
from billhook.budget._space import Trial
from billhook.budget._splits import TrainingRows
from billhook.budget._trial_runner import Outcome, TrialBatch, TrialRunner
from billhook.cluster import (
    ClusterWorkers,
    Partitions,
    grow_on_cluster,
    merge_on_cluster,
    reach,
    refine_on_cluster,
    workers_of,
)
from billhook.cluster import Partition as PartRows
from billhook.forest import Forest
from billhook.packing import BinnedFeatures, Coding, Packed, codes_of

if TYPE_CHECKING:
    from distributed import Client

# Jobs sent at a time for each worker: the clock is looked at in between.
AHEAD = 2


@dataclass
class DaskExecutor:
    """Workers of a search that are those of a Dask cluster. What is found does not depend on how many there are."""

    client: "Client"
    _sent: dict[int, tuple[TrialRunner, ClusterWorkers[TrialRunner]]] = field(default_factory=dict)

    def map(self, bench: TrialRunner, jobs: Iterable[TrialBatch]) -> Iterator[list[Outcome]]:
        """Yield what comes of each job, as they end; those of a worker that dies are run by others."""
        _, workers = self._sent.setdefault(id(bench), (bench, ClusterWorkers(self.client, bench)))
        waiting = iter(jobs)
        while some := list(islice(waiting, AHEAD * max(1, len(workers_of(self.client))))):
            for _, outcomes in workers.map(TrialRunner.run, some):
                yield outcomes

    def close(self) -> None:
        """Cancel what is pending."""
        for _, workers in self._sent.values():
            workers.close()


def fit_on_cluster(
    client: "Client", parts: Partitions, budget: int, *, is_classes: bool, **options: Any
) -> FitResult:
    """Return the best model of at most `budget` bytes, learned from rows that stay on the workers.

    Ways are tried and compared on a sample of the rows, on the workers too. The last model is grown, refined and
    merged with all rows; its leaves are rounded with the sample.

    Parameters
    ----------
    client : distributed.Client
    parts : Partitions
    budget : int
    is_classes : bool
        Whether labels are classes, or numbers.
    **options
        As of `fit`.
    """
    sample = sample_of(client, parts, COMPARED_ROWS, is_classes=is_classes)
    workers = DaskExecutor(client)
    try:
        note = f"Ways were compared on {sample.rows.n_rows:,} of {sample.n_rows:,} rows; the model has seen all."
        options["notes"] = (*options.get("notes", ()), note)
        final = partial(build_on_cluster, client, parts, sample.rows, seed=options.get("seed", 0))
        return fit(sample.rows, budget, workers=workers, families=("boosted",), final=final, **options)
    finally:
        workers.close()


class RowSample(NamedTuple):
    """Some rows of all parts, and how many there are in all."""

    rows: TrainingRows
    n_rows: int


def sample_of(client: "Client", parts: Partitions, most: int, *, is_classes: bool) -> RowSample:
    """Return rows at random from all parts, those of every class among them."""
    each = -(-most // len(parts))
    take = partial(_some, each, is_classes)
    recipes = parts.map(take).recipes
    found: list[tuple[PartRows, int]] = reach(
        client, client.gather, client.compute([recipe(client) for recipe in recipes], retries=3)
    )
    X = np.concatenate([np.asarray(rows.X, np.float32) for rows, _ in found])
    y = np.concatenate([rows.y for rows, _ in found])
    weight = np.concatenate([np.ones(len(r.y)) if r.weight is None else r.weight for r, _ in found])
    n_rows = sum(number for _, number in found)
    if not is_classes:
        return RowSample(TrainingRows(X, y.astype(np.float64), weight, None, parts.feature_names), n_rows)
    classes, number = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"there is one class only, {classes.tolist()[0]!r}: there is nothing to tell apart")
    return RowSample(TrainingRows(X, number, weight, classes, parts.feature_names), n_rows)


def _some(most: int, is_classes: bool, rows: PartRows) -> Any:
    n_rows = len(rows.y)
    some = np.sort(np.random.default_rng([0, n_rows]).permutation(n_rows)[:most])
    if is_classes and n_rows:
        some = np.union1d(some, np.unique(rows.y, return_index=True)[1])
    weight = None if rows.weight is None else rows.weight[some]
    return PartRows(rows.X[some], rows.y[some], weight), n_rows


def build_on_cluster(
    client: "Client", parts: Partitions, sample: TrainingRows, trial: Trial, *, seed: int = 0
) -> Packed:
    """Return the model of a trial: grown, refined and merged with the rows of all parts, rounded with the sample."""
    bench = TrialRunner(sample, score_of(None, sample), seed)
    cuts = bench.cuts(trial.recipe.bits, trial.recipe.bins)
    n_trees = n_rounds(trial.recipe, bench.n_leaves(trial))
    binned = parts.map(partial(_binned, cuts.coding, cuts.edges, sample.has_missing))
    grown = grow_on_cluster(client, binned, n_rounds=n_trees, **boosting_parameters(trial.recipe, sample, seed))
    loss = "mse" if sample.classes is None else "cross_entropy"
    learned = CodedRowsOnCluster(
        cuts.codes,
        sample.labels,
        sample.weight,
        sample.has_missing,
        loss,
        client=client,
        parts=parts.map(partial(_coded, cuts.coding, sample.has_missing)),
    )
    return compress(on_codes(grown, cuts, sample), cuts.coding, trial.shrinking, trial.budget, learned)


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedRowsOnCluster(CodedRows):
    """Codes of a sample here, and of all rows on a cluster, to learn from."""

    client: "Client"
    parts: Partitions

    def merge(self, forest: Forest, size: Callable[[Forest], int], aim: int, l2: float) -> Forest:
        """Return the forest merged until it takes at most so many bytes."""
        options: dict[str, Any] = {"size": aim, "accounting": size, "loss": self.loss, "l2": l2}
        return merge_on_cluster(self.client, forest, self.parts, **options)

    def refine(self, forest: Forest, l2: float) -> Forest:
        """Return the forest with better leaf values."""
        return refine_on_cluster(self.client, forest, self.parts, loss=self.loss, l2=l2, n_passes=PASSES)


def _coded(coding: Coding, has_missing: bool, rows: PartRows) -> PartRows:
    X = np.ascontiguousarray(rows.X, np.float32) + np.float32(0.0)
    return PartRows(codes_of(X, coding.used, coding.quantizers, missing_values=has_missing), rows.y, rows.weight)


def _binned(coding: Coding, after: list[NDArray[np.int64]], has_missing: bool, rows: PartRows) -> PartRows:
    codes = _coded(coding, has_missing, rows).X
    bins = BinnedFeatures(codes, coding, after).bins(np.arange(len(codes)))
    return PartRows(bins.astype(np.float32), rows.y, rows.weight)
