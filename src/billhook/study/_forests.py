"""The trees of a base ensemble, those that a method picks, and what they predict together."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.kernels import add_tree
from billhook.packing import Packed
from billhook.pruning import Selection, evaluate_trees, pruning_methods, select_trees
from billhook.study._published_size import published_size
from billhook.study._rows import ClassNumbers, FoldRows
from billhook.study._shared import Shared

NESTED = {method.name for method in pruning_methods() if method.nested} | {"first"}


@dataclass(frozen=True, eq=False)
class EvaluatedModel:
    """Predicted class numbers, the size, and the model on demand."""

    predicted_train: ClassNumbers
    predicted_test: ClassNumbers
    n_nodes: int
    node_bytes: dict[str, int]
    model: Callable[[], Forest | Packed]


class BaseEnsemble:
    """A base ensemble, and the leaves that rows fall into."""

    def __init__(self, forest: Forest, rows: FoldRows) -> None:
        self.forest = forest
        self.judged = evaluate_trees(forest, rows.judged.X, rows.judged.y, None)
        is_same = rows.judged is rows.train
        self.leaf_train = self.judged.leaf if is_same else np.ascontiguousarray(forest.apply(rows.train.X).T)
        self.leaf_test = np.ascontiguousarray(forest.apply(rows.test.X).T)
        self.n_nodes = np.diff(forest.offset)
        self.node_bytes = node_bytes(forest)


class TreePicker:
    """The trees that a pruning method picks, for one number of trees after the other.

    Of a nested method, all are picked at once, and each number of trees adds to the predictions of fewer.
    """

    def __init__(
        self,
        trees: BaseEnsemble,
        name: str,
        options: dict[str, Any],
        most: int,
        seed: int,
        while_ordering: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.trees, self.name, self.options, self.seed = trees, name, options, seed
        self.most = min(most, trees.forest.n_trees)
        self._order = Shared(self._whole_order, while_ordering)
        self._added: list[int] | None = None

    def chosen(self, n_trees: int) -> Selection:
        """Return the choice of so many trees."""
        if self.name not in NESTED:
            return select_trees(self.trees.judged, self.name, n_trees, self.seed, self.options)
        return Selection(self._order.get()[:n_trees])

    def forest(self, n_trees: int) -> Forest:
        """Return the ensemble of so many trees."""
        chosen, whole = self.chosen(n_trees), self.trees.forest
        small = whole.select(chosen.trees)
        if chosen.weight is None:
            return small
        return small.with_weights(chosen.weight * whole.tree_weight[chosen.trees] * whole.n_trees)

    def made(self, n_trees: int) -> EvaluatedModel:
        """Return what so many trees predict together."""
        trees, chosen = self.trees, self.chosen(n_trees)
        picked = chosen.trees.tolist()
        added, self._added = self._added, None  # until all is added: what is broken off is begun anew
        if added is None or chosen.weight is not None or picked[: len(added)] != added:
            self._begin()
            added = []
        for place in range(len(added), len(picked)):
            value = trees.judged.leaf_value(picked[place])
            value = value if chosen.weight is None else value * chosen.weight[place]
            add_tree(trees.leaf_train[picked[place]], value, self._train)
            add_tree(trees.leaf_test[picked[place]], value, self._test)
        self._added = picked
        classes = np.asarray(trees.forest.classes, np.int64)
        return EvaluatedModel(
            classes[self._train.argmax(axis=1)],
            classes[self._test.argmax(axis=1)],
            int(trees.n_nodes[picked].sum()),
            trees.node_bytes,
            lambda: self.forest(n_trees),
        )

    def _whole_order(self) -> NDArray[np.int64]:
        if self.name == "first":
            return np.arange(self.most)
        return select_trees(self.trees.judged, self.name, self.most, self.seed, self.options).trees

    def _begin(self) -> None:
        """Begin with no tree."""
        n_classes = self.trees.judged.n_classes
        self._train = np.zeros((self.trees.leaf_train.shape[1], n_classes))
        self._test = np.zeros((self.trees.leaf_test.shape[1], n_classes))


def node_bytes(forest: Forest) -> dict[str, int]:
    """Return the bytes of a node, by the accountings that count nodes."""
    sizes = {"paper": forest.size("paper"), "as_published": published_size(forest)}
    return {name: size // forest.n_nodes for name, size in sizes.items()}
