"""Refining and merging on a Dask cluster, for rows that no single machine holds."""

from collections.abc import Callable
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from billhook._types import Vector
from billhook.cluster._distributed_rows import DistributedRows
from billhook.cluster._partitions import Partitions
from billhook.forest import Forest
from billhook.refinement import DistributedDescent, Loss, MergePlan, Problem, RefinementOptions, merge_leaves

if TYPE_CHECKING:
    from distributed import Client


class ClusterDescent(DistributedDescent):
    """Block coordinate descent on the rows of a cluster: the passes and the results are those of `Descent`.

    One round trip to all workers a tree carries the steps of the tree before there, and the sums of the next back.
    After `close` the workers forget the rows' leaves and scores.

    Parameters
    ----------
    client : distributed.Client
    forest : Forest
    parts : Partitions
    loss : Loss
    l2 : float
    anchor : array, optional
        What leaf values, times the tree's weight, are drawn to: by default zero for classes, else what they are.
    """

    def __init__(
        self, client: "Client", forest: Forest, parts: Partitions, loss: Loss, l2: float, anchor: Vector | None = None
    ) -> None:
        problem = Problem(forest)
        if anchor is None:
            table = problem.value * problem.weight_of_leaf
            anchor = table if forest.classes is None else np.zeros_like(table)
        self.rows = DistributedRows(client, parts, forest, loss)
        super().__init__(problem, self.rows, loss, l2, anchor)

    def close(self) -> None:
        """Let the workers forget the rows."""
        self.rows.close()


def refine_on_cluster(
    client: "Client",
    forest: Forest,
    parts: Partitions,
    *,
    loss: str | None = None,
    l2: float | None = None,
    n_passes: int = 20,
    tol: float = 1e-3,
) -> Forest:
    """Return the forest with leaf values learned from all rows, as `refine` learns them without validation rows.

    Parameters
    ----------
    client : distributed.Client
    forest : Forest
    parts : Partitions
    loss, l2, tol
        As for `refine`; one loss.
    n_passes : int
        The most passes over the trees: the `epochs` of `refine`.
    """
    chosen, strength = _settings(forest, loss, l2, n_passes, tol)
    with closing(ClusterDescent(client, forest, parts, chosen, strength)) as descent:
        before = np.inf
        for now in islice(descent, n_passes + 1):
            if not np.isfinite(now.objective):
                raise ValueError(f"the loss diverges with l2 {strength:g}; raise it, or scale y")
            last = now
            if before - now.objective <= tol * abs(before) < np.inf:
                break
            before = now.objective
    return descent.problem.refined(last.value, chosen)


def merge_on_cluster(
    client: "Client",
    forest: Forest,
    parts: Partitions,
    *,
    max_leaves: int | None = None,
    size: int | None = None,
    accounting: str | Callable[[Forest], int] = "paper",
    loss: str | None = None,
    l2: float | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> Forest:
    """Return the forest with fewer leaves, merged and refined by all rows as `merge` does it.

    Parameters
    ----------
    client : distributed.Client
    forest : Forest
    parts : Partitions
    max_leaves, size, accounting, loss, l2, progress
        As for `merge`.
    """
    plan = MergePlan.of(forest, max_leaves=max_leaves, size=size, accounting=accounting, loss=loss, l2=l2)
    plan.check(forest)
    with closing(DistributedRows(client, parts, forest, plan.loss)) as rows:
        return merge_leaves(forest, rows, plan, progress)[0]


def _settings(forest: Forest, loss: str | None, l2: float | None, n_passes: int, tol: float) -> tuple[Loss, float]:
    settings = RefinementOptions(loss=loss, l2=l2, epochs=n_passes, tol=tol)
    settings.check()
    losses = settings.losses(forest)
    if len(losses) > 1:
        raise ValueError("a descent on a cluster needs one loss, by its name")
    return losses[0], losses[0].l2 if l2 is None else float(l2)
