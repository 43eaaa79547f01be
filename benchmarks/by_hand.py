"""What one makes by hand of as many bytes: trees of a library, as many as fit when packed, the best on a hold-out."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

import billhook as bh

# Bits of a threshold: rounding to so many costs nothing that can be seen, and halves what a split takes.
THRESHOLD_BITS = 12


class Made(NamedTuple):
    """A model that was chosen for a budget, and its settings."""

    budget: int
    settings: Hashable
    packed: bh.Packed


def largest_fitting(forest: bh.Forest, budget: int, at_once: int = 1) -> bh.Packed | None:
    """Return the first trees of a forest that fit when packed, as many as do; None if not one does.

    `at_once` is how many trees a round of boosting has, which stay together.
    """
    low, high = 0, forest.n_trees // at_once
    best = None
    while low < high:
        middle = (low + high + 1) // 2
        some = forest.select(range(middle * at_once))
        packed = bh.pack(some, threshold_bits=THRESHOLD_BITS, missing_values=False)
        low, high, best = (middle, high, packed) if packed.nbytes <= budget else (low, middle - 1, best)
    return best


def best_held_out(
    grown: Callable[..., bh.Forest],
    settings: Iterable[tuple],
    fit: np.ndarray,
    train: np.ndarray,
    budgets: Iterable[int],
    score: Callable[[bh.Packed], float],
    *,
    at_once: int = 1,
    smaller_too: bool = False,
) -> Iterator[Made]:
    """Yield the model for each budget: of some settings the best on a hold-out, grown again on all training rows.

    `grown(*setting, rows)` grows trees on some rows, and `score` says how good a model is on those held out. Models
    have as many trees as fit; with `smaller_too` those of smaller budgets, which come first, are chosen from as well.
    """
    tried = {setting: grown(*setting, fit) for setting in settings}
    whole: dict = {}
    scores: dict[tuple, float] = {}
    for budget in budgets:
        scores = scores if smaller_too else {}
        for setting, forest in tried.items():
            model = largest_fitting(forest, budget, at_once)
            if model is not None:
                scores[setting, budget] = score(model)
        if not scores:
            continue
        best, size = max(scores, key=lambda choice: scores[choice])
        if best not in whole:
            whole[best] = grown(*best, train)
        packed = largest_fitting(whole[best], size, at_once)
        if packed is not None:
            yield Made(budget, best, packed)
