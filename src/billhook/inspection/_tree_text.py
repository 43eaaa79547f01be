"""A tree drawn as text."""

import numpy as np

from billhook._checks import as_int
from billhook.forest import Forest, categories_of, count_of
from billhook.tables import EncodedColumn, Encoding

# A tree with more leaves is drawn so deep only, if nothing else is asked for.
MOST_LEAVES, DEPTH = 64, 4
MOST_CATEGORIES = 8


def tree_text(forest: Forest, number: int, *, max_depth: int | None = None, encoding: Encoding | None = None) -> str:
    """Return a tree as text, a line for each node; `number` counts trees from 0, from the end if it is negative.

    The `encoding` is that of the forest, or of its first features, if others stand behind them.
    """
    tree = as_int(number, "trees")
    if not -forest.n_trees <= tree < forest.n_trees:
        last = forest.n_trees - 1
        raise ValueError(f"there is no tree {tree}: the model has {count_of(last + 1, 'tree')}, numbers 0 to {last}")
    if max_depth is not None and as_int(max_depth, "max_depth") < 1:
        raise ValueError(f"max_depth must be at least 1, not {max_depth}")
    drawing = _Drawing(forest, tree % forest.n_trees, forest.encoding if encoding is None else encoding)
    if max_depth is None and drawing.n_leaves(0) > MOST_LEAVES:
        max_depth = DEPTH
    return "\n".join(drawing.lines(max_depth))


class _Drawing:
    def __init__(self, forest: Forest, tree: int, encoding: Encoding | None) -> None:
        self.forest = forest
        self.tree = tree
        self.first = int(forest.offset[tree])
        self.questions = _Questions(forest, encoding)

    def lines(self, max_depth: int | None) -> list[str]:
        lines: list[str] = []
        # Node, what stands before its own line and before those below it, its depth, and what leads to it.
        waiting: list[tuple[int, str, str, int, str]] = [(0, "", "", 0, "")]
        while waiting:
            node, before, below, depth, answer = waiting.pop()
            is_leaf = self.forest.feature[self.first + node] < 0
            is_cut = not is_leaf and max_depth is not None and depth >= max_depth
            if is_leaf:
                lines.append(f"{before}{answer}{self._leaf(node)}")
            elif is_cut:
                lines.append(f"{before}{answer}... {count_of(self.n_leaves(node), 'leaf', 'leaves')}")
            else:
                question, left_is_yes = self.questions.of(self.first + node)
                at = self.first + node
                sides = [int(self.forest.left[at]), int(self.forest.right[at])]
                yes, no = sides if left_is_yes else sides[::-1]
                is_yes = bool(self.forest.missing_left[at]) == left_is_yes
                note = " (or missing)" if is_yes and self.questions.may_be_missing(at) else ""
                lines.append(f"{before}{answer}{question}{note}?")
                waiting.append((no, below + "`-- ", below + "    ", depth + 1, "no: "))
                waiting.append((yes, below + "|-- ", below + "|   ", depth + 1, "yes: "))
        return lines

    def n_leaves(self, node: int) -> int:
        """Return the leaves below a node."""
        count, waiting = 0, [node]
        while waiting:
            at = self.first + waiting.pop()
            if self.forest.feature[at] < 0:
                count += 1
            else:
                waiting += [int(self.forest.left[at]), int(self.forest.right[at])]
        return count

    def _leaf(self, node: int) -> str:
        """Return what a leaf adds to the score, or predicts where the trees are averaged."""
        forest = self.forest
        value = forest.value[self.first + node]
        weight = float(forest.tree_weight[self.tree])
        if forest.averages:
            own = value * weight * forest.n_trees
            if forest.classes is None:
                return f"{own[0]:.4g}"
            if own.size == forest.n_classes:
                best = int(own.argmax())
                return f"{forest.classes[best]} ({own[best]:.4g})"
            value, weight = own, 1.0
        own = value * weight
        if forest.classes is None:
            return f"{own[0]:+.4g}"
        if own.size > 1:
            best = int(own.argmax())
            return f"{own[best]:+.4g} for {forest.classes[best]}"
        column = int(forest.tree_column[self.tree])
        name = forest.classes[column if forest.base.size > 1 else min(1, forest.n_classes - 1)]
        return f"{own[0]:+.4g} for {name}"


class _Questions:
    """What splits ask, in the words of the table that rows come from."""

    def __init__(self, forest: Forest, encoding: Encoding | None) -> None:
        self.forest = forest
        self.place: list[tuple[EncodedColumn, int]] = []
        if encoding is not None:
            self.place = [(column, k) for column in encoding.columns for k in range(column.n_features)]

    def of(self, node: int) -> tuple[str, bool]:
        """Return what a node asks, and whether rows for which the answer is yes go left."""
        forest = self.forest
        feature, threshold = int(forest.feature[node]), float(forest.threshold[node])
        if forest.category_set[node] >= 0:
            codes = categories_of(forest, int(forest.category_set[node])).tolist()
            return f"{self._name(feature)} in {{{_listed([str(code) for code in codes])}}}", True
        if feature < len(self.place):
            column, k = self.place[feature]
            if column.kind == "one_hot" and 0.0 <= threshold < 1.0:
                return f"{column.name} is {column.categories[k]}", False
            if column.kind == "ordered":
                return _ordered(column, threshold)
            return f"{column.name} <= {_number(threshold)}", True
        return f"{self._name(feature)} <= {_number(threshold)}", True

    def may_be_missing(self, node: int) -> bool:
        """Return whether what a node asks for can be missing: the features of a one-hot column never are."""
        feature = int(self.forest.feature[node])
        return feature >= len(self.place) or self.place[feature][0].kind != "one_hot"

    def _name(self, feature: int) -> str:
        names = self.forest.feature_names
        return f"feature {feature}" if names is None else names[feature]


def _ordered(column: EncodedColumn, threshold: float) -> tuple[str, bool]:
    n_left = int(np.clip(np.floor(threshold) + 1, 0, len(column.categories)))
    left, right = column.categories[:n_left], column.categories[n_left:]
    if len(left) == 1:
        return f"{column.name} is {left[0]}", True
    if len(right) == 1:
        return f"{column.name} is {right[0]}", False
    return f"{column.name} in {{{_listed(list(left))}}}", True


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MOST_CATEGORIES]) + (", ..." if len(names) > MOST_CATEGORIES else "")


def _number(threshold: float) -> str:
    """Return the shortest number that is the same float32, where that is short."""
    text = np.format_float_positional(np.float32(threshold), trim="-")
    return text if len(text) <= 8 else f"{threshold:.6g}"
