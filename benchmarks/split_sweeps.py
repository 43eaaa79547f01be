"""Splits that are chosen again when the ensemble is whole: an experiment of ablation.py.

Trees are grown one after the other, each knowing only those before it. A sweep takes one tree out of the scores at a
time, and visits its splits, children before parents: of all cuts of all features, or of those only that the forest
has already, it takes the one with which the loss of the rows that reach the split is least, both subtrees staying as
they are. Then leaf values are learned again.
"""

import numpy as np

from billhook.forest import Forest, derive
from billhook.refinement import refine

# So much less, in units of the loss, has to be the loss with another cut: what is less may be chance.
LEAST_GAIN = 1e-9


def swept(
    forest: Forest,
    codes: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    loss: str,
    l2: float,
    n_sweeps: int = 2,
    only_known: bool = False,
    least_gain: float = LEAST_GAIN,
) -> Forest:
    """Return the forest with splits chosen again, and its leaf values learned again; codes are whole numbers."""
    codes = codes.astype(np.int64)
    for _ in range(n_sweeps):
        forest = _Sweep(forest, codes, y, weight, loss, only_known, least_gain).forest()
        forest = refine(
            forest,
            codes.astype(np.float32),
            y,
            loss=loss,
            epochs=5,
            l2=l2,
            shrink_to="mean" if forest.classes is None else "zero",
            sample_weight=weight,
            validation_fraction=None,
            random_state=0,
        )
    return forest


class _Sweep:
    def __init__(self, forest, codes, y, weight, loss, only_known, least_gain) -> None:
        assert not forest.n_sets
        assert loss != "mse" or forest.classes is None
        self.source, self.codes, self.weight = forest, codes, weight
        self.y = y if forest.classes is None else np.searchsorted(forest.classes, y)
        self.loss, self.least_gain = loss, least_gain
        self.feature, self.left, self.right = forest.feature.copy(), forest.left.copy(), forest.right.copy()
        self.cut = np.floor(forest.threshold).astype(np.int64)
        n_codes = codes.max(axis=0) + 1
        self.start = np.concatenate([[0], np.cumsum(n_codes)])
        self.flat = codes + self.start[:-1]
        self.is_allowed = np.ones(self.start[-1], bool)
        if only_known:
            self.is_allowed[:] = False
            inner = self.feature >= 0
            self.is_allowed[self.start[self.feature[inner]] + self.cut[inner]] = True
        self.score = forest.decision_function(codes.astype(np.float32)).reshape(len(y), -1)
        self.n_changed = 0
        for tree in range(forest.n_trees):
            self._visit(tree)

    def forest(self) -> Forest:
        """Return the forest with the splits that were chosen."""
        changed = {"feature": self.feature, "left": self.left, "right": self.right}
        threshold = np.where(self.feature >= 0, self.cut, 0).astype(np.float32)
        return derive(self.source, threshold=threshold, **changed)

    def _visit(self, tree: int) -> None:
        first, end = self.source.offset[tree : tree + 2]
        value = self.source.value[first:end] * self.source.tree_weight[tree]
        columns = slice(self.source.tree_column[tree], self.source.tree_column[tree] + value.shape[1])
        every = np.arange(len(self.y))
        self.score[:, columns] -= value[self._leaf(first, every, 0)]
        reaching = {0: every}
        for node in range(end - first):
            at = first + node
            if self.feature[at] >= 0:
                rows = reaching[node]
                goes_left = self.codes[rows, self.feature[at]] <= self.cut[at]
                reaching[int(self.left[at])], reaching[int(self.right[at])] = rows[goes_left], rows[~goes_left]
        for node in reversed(range(end - first)):
            if self.feature[first + node] >= 0 and reaching[node].size:
                self._choose(first, node, reaching[node], value, columns)
        self.score[:, columns] += value[self._leaf(first, every, 0)]

    def _choose(self, first: int, node: int, rows: np.ndarray, value: np.ndarray, columns: slice) -> None:
        """Choose the best cut for a split, by what each row loses more on the left than on the right."""
        at = first + node
        more = self._losses(rows, value[self._leaf(first, rows, self.left[at])], columns)
        more -= self._losses(rows, value[self._leaf(first, rows, self.right[at])], columns)
        more *= self.weight[rows]
        n_features = self.codes.shape[1]
        sums = np.bincount(self.flat[rows].ravel(), np.repeat(more, n_features), minlength=self.start[-1])
        total = more.sum()
        upto = np.cumsum(sums) - np.repeat(total * np.arange(n_features), np.diff(self.start))
        now = upto[self.start[self.feature[at]] + self.cut[at]]
        upto[~self.is_allowed] = np.inf
        upto[self.start[1:] - 1] = np.inf  # all rows on the left
        downfrom = np.where(np.isinf(upto), np.inf, total - upto)
        best, best_turned = int(np.argmin(upto)), int(np.argmin(downfrom))
        is_turned = downfrom[best_turned] < upto[best]
        place, least = (best_turned, downfrom[best_turned]) if is_turned else (best, upto[best])
        if least >= now - self.least_gain:
            return
        self.n_changed += 1
        self.feature[at] = np.searchsorted(self.start, place, side="right") - 1
        self.cut[at] = place - self.start[self.feature[at]]
        if is_turned:
            self.left[at], self.right[at] = self.right[at], self.left[at]

    def _leaf(self, first: int, rows: np.ndarray, node: int) -> np.ndarray:
        """Return the leaf that each row comes to from a node."""
        nodes = np.full(rows.size, node)
        going = np.flatnonzero(self.feature[first + nodes] >= 0)
        while going.size:
            at = first + nodes[going]
            goes_left = self.codes[rows[going], self.feature[at]] <= self.cut[at]
            nodes[going] = np.where(goes_left, self.left[at], self.right[at])
            going = going[self.feature[first + nodes[going]] >= 0]
        return nodes

    def _losses(self, rows: np.ndarray, added: np.ndarray, columns: slice) -> np.ndarray:
        """Return the loss of each row, if so much is added to its scores."""
        score, y = self.score[rows], self.y[rows]
        score[:, columns] += added
        if self.loss == "mse":
            return (score[:, 0] - y) ** 2
        if score.shape[1] == 1:
            return np.logaddexp(0.0, np.where(y > 0, -score[:, 0], score[:, 0]))
        highest = score.max(axis=1)
        power = np.log(np.exp(score - highest[:, None]).sum(axis=1)) + highest
        return power - score[np.arange(len(rows)), y]
