"""The search on a cluster: trials on its workers, and last models of rows that no single machine holds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.budget._compress import PASSES, CodedRows, compress
from billhook.budget._fit import FitResult, fit
from billhook.budget._grow import growth_parameters, n_rounds, on_codes
from billhook.budget._scoring import score_of
from billhook.budget._search import COMPARED_ROWS
from billhook.budget._space import Trial
from billhook.budget._splits import TrainingRows, training_rows
from billhook.budget._trial_outcome import TrialBatch, TrialOutcome
from billhook.budget._trial_runner import TrialRunner
from billhook.cluster import (
    ClusterWorkers,
    Partition,
    Partitions,
    grow_on_cluster,
    merge_on_cluster,
    reach,
    refine_on_cluster,
    workers_of,
)
from billhook.forest import Forest
from billhook.packing import BinnedFeatures, Coding, Packed, RowCodes, codes_of

if TYPE_CHECKING:
    from distributed import Client

# Batches sent at a time for each worker: the clock is looked at in between.
AHEAD = 2


@dataclass
class DaskExecutor:
    """Runs batches of trials on the workers of a Dask cluster; the outcomes do not depend on how many there are."""

    client: "Client"
    _sent: dict[int, tuple[TrialRunner, ClusterWorkers[TrialRunner]]] = field(default_factory=dict)

    def map(self, runner: TrialRunner, batches: Iterable[TrialBatch]) -> Iterator[list[TrialOutcome]]:
        """Yield the outcomes of each batch, as they end; those of a worker that dies are run by others."""
        _, workers = self._sent.setdefault(id(runner), (runner, ClusterWorkers(self.client, runner)))
        waiting = iter(batches)
        while next_batches := list(islice(waiting, AHEAD * max(1, len(workers_of(self.client))))):
            for _, outcomes in workers.map(TrialRunner.run, next_batches):
                yield outcomes

    def close(self) -> None:
        """Cancel what is pending."""
        for _, workers in self._sent.values():
            workers.close()


def fit_on_cluster(
    client: "Client", partitions: Partitions, budget: int, *, is_classification: bool, **options: Any
) -> FitResult:
    """Return the best model of at most `budget` bytes, learned from rows that stay on the workers.

    Configurations are evaluated and compared on a sample of the rows, on the workers too. The last model is grown,
    refined and merged with all rows; with the sample its leaves are rounded, and splits chosen again.

    Parameters
    ----------
    client : distributed.Client
    partitions : Partitions
    budget : int
    is_classification : bool
        Whether labels are classes, or numbers.
    **options
        As of `fit`.
    """
    sample = sample_of(client, partitions, COMPARED_ROWS, is_classification=is_classification)
    executor = DaskExecutor(client)
    try:
        compared = f"Configurations were compared on a sample of {sample.rows.n_rows:,} of {sample.n_rows:,} rows"
        options["notes"] = (*options.get("notes", ()), f"{compared}; the last model learns from all.")
        final = partial(build_on_cluster, client, partitions, sample.rows, seed=options.get("seed", 0))
        # What XGBoost can grow, which grows on a cluster.
        return fit(
            sample.rows,
            budget,
            executor=executor,
            families=("boosted",),
            shares_tests=False,
            final=final,
            **options,
        )
    finally:
        executor.close()


class RowSample(NamedTuple):
    """Some rows of all partitions, and how many there are in all."""

    rows: TrainingRows
    n_rows: int


def sample_of(client: "Client", partitions: Partitions, most_rows: int, *, is_classification: bool) -> RowSample:
    """Return rows at random from all partitions, with rows of every class."""
    take = partial(_sampled, -(-most_rows // len(partitions)), is_classification)
    loaders = partitions.map(take).loaders
    samples: list[tuple[Partition, int]] = reach(
        client, client.gather, client.compute([loader(client) for loader in loaders], retries=3)
    )
    parts = [part for part, _ in samples]
    weights = [np.ones(len(part.y)) if part.weight is None else part.weight for part in parts]
    rows = training_rows(
        np.concatenate([np.asarray(part.X, np.float32) for part in parts]),
        np.concatenate([part.y for part in parts]),
        is_classification=is_classification,
        feature_names=partitions.feature_names,
    )
    rows = replace(rows, weight=np.concatenate(weights))  # as those on the workers are
    return RowSample(rows, sum(n_rows for _, n_rows in samples))


def _sampled(most_rows: int, is_classification: bool, part: Partition) -> Any:
    n_rows = len(part.y)
    numbers = np.sort(np.random.default_rng([0, n_rows]).permutation(n_rows)[:most_rows])
    if is_classification and n_rows:
        numbers = np.union1d(numbers, np.unique(part.y, return_index=True)[1])
    weight = None if part.weight is None else part.weight[numbers]
    return Partition(part.X[numbers], part.y[numbers], weight), n_rows


def build_on_cluster(
    client: "Client", partitions: Partitions, sample: TrainingRows, trial: Trial, *, seed: int = 0
) -> Packed:
    """Return the model of a trial: grown, refined and merged with all rows.

    The sample rounds its leaves, and chooses splits again where the trial does.
    """
    runner = TrialRunner(sample, score_of(None, sample), seed)
    binned = runner.binned(trial.growth.bits, trial.growth.bins)
    n_trees = n_rounds(trial.growth, runner.n_leaves(trial))
    coding = binned.coding._replace(values=[])  # sent with each part, and as large as one
    bins = partitions.map(partial(_binned, coding, binned.edges, sample.has_missing))
    grown = grow_on_cluster(client, bins, n_rounds=n_trees, **growth_parameters(trial.growth, sample, seed))
    loss = "mse" if sample.classes is None else "cross_entropy"
    coded = CodedRowsOnCluster(
        binned.codes[:],
        sample.labels,
        sample.weight,
        sample.has_missing,
        loss,
        client=client,
        partitions=partitions.map(partial(_coded, coding, sample.has_missing)),
    )
    return compress(
        on_codes(grown, binned, sample, sample.feature_names), binned.coding, trial.compression, trial.budget, coded
    ).packed


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedRowsOnCluster(CodedRows):
    """Codes of a sample here, and of all rows on a cluster, to learn from."""

    client: "Client"
    partitions: Partitions

    def merge(self, forest: Forest, size: Callable[[Forest], int], limit: int, l2: float) -> Forest:
        """Return the forest merged until it takes at most `limit` bytes."""
        options: dict[str, Any] = {"size": limit, "accounting": size, "loss": self.loss, "l2": l2}
        return merge_on_cluster(self.client, forest, self.partitions, **options)

    def refine(self, forest: Forest, l2: float) -> Forest:
        """Return the forest with better leaf values."""
        return refine_on_cluster(self.client, forest, self.partitions, loss=self.loss, l2=l2, n_passes=PASSES)


def _coded(coding: Coding, has_missing: bool, part: Partition) -> Partition:
    X = np.ascontiguousarray(part.X, np.float32) + np.float32(0.0)
    return Partition(codes_of(X, coding.used, coding.quantizers, missing_values=has_missing), part.y, part.weight)


def _binned(coding: Coding, edges: list[NDArray[np.int64]], has_missing: bool, part: Partition) -> Partition:
    codes = RowCodes(np.ascontiguousarray(part.X, np.float32), coding.quantizers, missing_values=has_missing)
    bins = BinnedFeatures(codes, coding, edges).bins(np.arange(len(part.y)))
    return Partition(bins.astype(np.float32), part.y, part.weight)
