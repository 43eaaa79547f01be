"""Growing, refining, rounding and merging on a Dask cluster, for rows that no single machine holds; and trials."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from billhook._types import Vector
from billhook.cluster._client import ATTEMPTS, ClusterError, address_of, connect, reach, send, wait_for, was_lost
from billhook.cluster._distributed_rows import DistributedRows
from billhook.cluster._growing import grow_on_cluster
from billhook.cluster._partitions import Partitions
from billhook.forest import Forest
from billhook.refinement import DistributedDescent, Loss, MergePlan, Problem, RefinementOptions, merge_leaves

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = [
    "ClusterDescent",
    "ClusterError",
    "ClusterWorkers",
    "Partitions",
    "connect",
    "grow_on_cluster",
    "merge_on_cluster",
    "refine_on_cluster",
    "round_on_cluster",
]

Data = TypeVar("Data")
Item = TypeVar("Item")
Result = TypeVar("Result")


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
        self.crew = DistributedRows(client, parts, forest, loss)
        super().__init__(problem, self.crew, loss, l2, anchor)

    def close(self) -> None:
        """Let the workers forget the rows."""
        self.crew.close()


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


def round_on_cluster(
    client: "Client",
    forest: Forest,
    parts: Partitions,
    *,
    unit: ArrayLike,
    lowest: int,
    highest: int,
    loss: str | None = None,
    l2: float = 1.0,
    n_passes: int = 3,
) -> Forest:
    """Return the forest with leaf values, times the tree's weight, that are whole units: rounded inside the descent.

    Each tree's leaves are rounded in their turn, and those of later trees make up for it. Values are drawn to what
    they were.

    Parameters
    ----------
    client : distributed.Client
    forest : Forest
    parts : Partitions
    unit : number, or one for each column of the scores
        For two classes with a value each, the unit of the second minus the first.
    lowest, highest : int
        The limits of the numbers of units.
    loss, l2
        As for `refine`; one loss.
    n_passes : int
    """
    chosen, strength = _settings(forest, loss, l2, n_passes, 0.0)
    problem = Problem(forest)
    units = np.broadcast_to(np.asarray(unit, np.float64), problem.base.shape)
    if not (np.isfinite(units).all() and (units > 0.0).all()):
        raise ValueError(f"unit must be above 0 and finite, not {unit!r}")
    if lowest > highest or n_passes < 1:
        raise ValueError(f"rounding needs lowest <= highest and a pass, not {lowest}, {highest} and {n_passes}")
    anchor = problem.value * problem.weight_of_leaf
    with closing(ClusterDescent(client, forest, parts, chosen, strength, anchor)) as descent:
        descent.round_to(units, lowest, highest, n_passes)
        return problem.refined(descent.value(), chosen)


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
    with closing(DistributedRows(client, parts, forest, plan.loss)) as crew:
        return merge_leaves(forest, crew, plan, progress)[0]


def _settings(forest: Forest, loss: str | None, l2: float | None, n_passes: int, tol: float) -> tuple[Loss, float]:
    settings = RefinementOptions(loss=loss, l2=l2, epochs=n_passes, tol=tol)
    settings.check()
    losses = settings.losses(forest)
    if len(losses) > 1:
        raise ValueError("a descent on a cluster needs one loss, by its name")
    return losses[0], losses[0].l2 if l2 is None else float(l2)


class ClusterWorkers(Generic[Data]):
    """Workers that try things out on the same data, which is sent once and copied from worker to worker.

    Parameters
    ----------
    client : distributed.Client
    data : object
        What every trial needs; not changed by any.
    """

    def __init__(self, client: "Client", data: Data) -> None:
        self.client, self.data = client, data
        self._sent: Future[Any] | None = None
        self._pending: set[Future[Any]] = set()

    def map(self, function: Callable[[Data, Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Yield each item and ``function(data, item)``, as they are done.

        The function must depend on nothing else: then it does not matter how many workers there are, or that one
        dies, whose items others take over. An error in it is raised here, and names the item.

        Parameters
        ----------
        function : function
            Of the data and an item. It must be importable on the workers, as Billhook must.
        items : iterable
        """
        from distributed import CancelledError

        left = dict(enumerate(items))
        tries = dict.fromkeys(left, 0)
        under_way = self._submit(function, left)
        try:
            while under_way:
                wait_for(self.client, under_way, one=True)
                again = {}
                for future in [future for future in under_way if future.status != "pending"]:
                    number = under_way.pop(future)
                    self._pending.discard(future)
                    tries[number] += 1
                    try:
                        result = self._result(future, left[number])
                    except CancelledError:
                        again[number] = left[number]
                    else:
                        yield left[number], result
                if again and max(tries[number] for number in again) >= ATTEMPTS:
                    raise ClusterError(
                        f"{len(again)} items were lost {ATTEMPTS} times with the workers of the cluster at "
                        f"{address_of(self.client)}; see their logs"
                    )
                under_way |= self._submit(function, again, anew=True) if again else {}
        finally:
            self._cancel(under_way)

    def close(self) -> None:
        """Cancel what is under way, and let the workers forget the data."""
        self._cancel(list(self._pending))
        self._sent = None

    def _result(self, future: "Future[Any]", item: object) -> Any:
        """Return the result of a future that has settled; raise CancelledError if it was lost, even just now."""
        from distributed import CancelledError

        try:
            if was_lost(self.client, future):
                raise CancelledError
            return reach(self.client, future.result)
        except CancelledError:
            raise
        except Exception as error:
            error.add_note(f"while a worker of the cluster tried {item!r}")
            raise

    def _submit(
        self, function: Callable[[Data, Item], Result], items: dict[int, Item], *, anew: bool = False
    ) -> "dict[Future[Any], int]":
        """Have the workers try these items; send the data first, if they have not got it or lost it."""
        if self._sent is None or anew:
            self._sent = send(self.client, self.data)
        futures = {
            reach(self.client, self.client.submit, function, self._sent, item, pure=False): number
            for number, item in items.items()
        }
        self._pending |= set(futures)
        return futures

    def _cancel(self, futures: "Iterable[Future[Any]]") -> None:
        some = list(futures)
        self._pending -= set(some)
        if some and self.client.status == "running":
            self.client.cancel(some)
