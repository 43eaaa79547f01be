"""A forest as a plain sum of trees: what packing starts from."""

from dataclasses import replace

import numpy as np

from billhook.forest import Forest, cut_back, without_constants


def plain_sum(forest: Forest) -> Forest:
    """Return the same scores as a sum: weights folded into the values, one number a leaf for two classes.

    Trees of a single leaf go into the base. There is one tree at least.
    """
    weight = np.repeat(forest.tree_weight, np.diff(forest.offset))[:, None]
    value, base = forest.value * weight, forest.base
    classes, task = forest.classes, forest.task
    column = forest.tree_column
    if value.shape[1] == 2:
        value, base = value[:, 1:] - value[:, :1], base[1:] - base[:1]
    if base.size == 1:
        classes, task = None, "regression"
    summed = replace(
        forest,
        value=value,
        base=base,
        tree_weight=np.ones(forest.n_trees),
        tree_column=column,
        averages=False,
        classes=None if classes is None else np.arange(classes.size),
        task=task,
        link="identity",
        ties="first",
    )
    return without_constants(summed)


def without_idle_splits(forest: Forest) -> Forest:
    """Return the forest without splits whose two sides come to the same leaf values."""
    root = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    is_split = forest.feature >= 0
    value = forest.value.copy()
    # Children come after their parents: from the back, each node is seen after those below it.
    for node in np.flatnonzero(is_split)[::-1]:
        left, right = forest.left[node] + root[node], forest.right[node] + root[node]
        if not is_split[left] and not is_split[right] and np.array_equal(value[left], value[right]):
            is_split[node] = False
            value[node] = value[left]
    return without_constants(cut_back(forest.with_values(value), is_split))
