"""What a search chooses: how an ensemble is grown, and how it is made to fit."""

from dataclasses import dataclass, replace
from typing import Any, Literal

Family = Literal["boosted", "random_forest", "extra_trees", "given"]
Rounding = Literal["scores", "labels", "alone"]
ROUNDINGS: tuple[Rounding, ...] = ("scores", "labels", "alone")


@dataclass(frozen=True)
class GrowthConfig:
    """How an ensemble is grown.

    Attributes
    ----------
    family : {"boosted", "random_forest", "extra_trees", "given"}
    leaves : int
        Of a tree, at most.
    rate : float
        Of boosting.
    bits, bins : int
        Features become codes of so many bits, and trees may split each at so many places, less one.
    min_weight : float
        The least sum of second derivatives, or of rows, in a leaf.
    """

    family: Family
    leaves: int
    rate: float = 1.0
    bits: int = 8
    bins: int = 64
    min_weight: float = 1.0


@dataclass(frozen=True)
class CompressionConfig:
    """How a grown ensemble is made to fit.

    Attributes
    ----------
    over : float
        It is grown to so many times the budget, and sibling leaves are merged until it fits. With 1 it is cut off
        where the budget ends: as many trees as fit.
    l2 : float or None
        The pull on leaf values, in rows, when they are refined; None leaves them as they were grown.
    leaf_bits : int
        Of a number of a leaf.
    codebook : int or None
        How many different leaves there are.
    by_class : bool
        Whether each class has a scale of its own.
    rounding : {"scores", "labels", "alone"}
        Whether leaves are rounded so that later trees make up for what is lost of the scores, or of the fit to
        labels, or each alone.
    """

    over: float = 1.0
    l2: float | None = None
    leaf_bits: int = 4
    codebook: int | None = None
    by_class: bool = False
    rounding: Rounding = "scores"

    @property
    def packing(self) -> dict[str, Any]:
        """The options of `pack`."""
        scales = "class" if self.by_class else "one"
        return {"leaf_bits": self.leaf_bits, "codebook": self.codebook, "scales": scales}


@dataclass(frozen=True)
class Trial:
    """One way to a model of at most so many bytes."""

    budget: int
    recipe: GrowthConfig
    shrinking: CompressionConfig


# More than trees that were given have.
MOST_LEAVES = 1 << 20
LEAVES = (4, MOST_LEAVES)
GROWN_LEAVES = (4, 256)
LEARNING_RATES = (0.03, 1.0)
BINS = (4, 8192)
CODE_BITS = (3, 16)
LEAF_BITS = (2, 8)
CODEBOOKS = (8, 1024)
L2_VALUES = (None, 0.3, 1.0, 3.0, 10.0, 30.0)
OVERGROW_VALUES = (1.0, 1.5, 2.0, 3.0)
MIN_WEIGHTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def neighbours(trial: Trial) -> list[Trial]:
    """Return the trials that differ in one choice."""
    recipe, how = trial.recipe, trial.shrinking
    ends = LEAVES if recipe.family == "given" else GROWN_LEAVES
    recipes = [replace(recipe, leaves=leaves) for leaves in _halved_and_doubled(recipe.leaves, ends)]
    if recipe.family == "boosted":
        recipes += [replace(recipe, rate=rate) for rate in _scaled(recipe.rate, 1.5, LEARNING_RATES)]
    if recipe.family != "given":
        recipes += [replace(recipe, bins=bins) for bins in _halved_and_doubled(recipe.bins, BINS)]
        finer, coarser = (recipe.bits + 2, recipe.bins * 4), (recipe.bits - 2, recipe.bins // 4)
        recipes += [
            replace(recipe, bits=bits, bins=bins)
            for bits, bins in (finer, coarser)
            if _is_in(bits, CODE_BITS) and _is_in(bins, BINS)
        ]
        recipes += [replace(recipe, min_weight=weight) for weight in _beside(recipe.min_weight, MIN_WEIGHTS)]
    recipes += [replace(recipe, bits=bits) for bits in (recipe.bits - 1, recipe.bits + 1) if _is_in(bits, CODE_BITS)]
    ways = [replace(how, over=over) for over in _beside(how.over, OVERGROW_VALUES)]
    ways += [replace(how, l2=l2) for l2 in _beside(how.l2, L2_VALUES)]
    ways += [replace(how, leaf_bits=n) for n in (how.leaf_bits - 1, how.leaf_bits + 1) if _is_in(n, LEAF_BITS)]
    ways += [replace(how, rounding=rounding) for rounding in ROUNDINGS if rounding != how.rounding]
    if how.codebook is not None:
        ways += [replace(how, codebook=n) for n in _halved_and_doubled(how.codebook, CODEBOOKS)]
        ways.append(replace(how, by_class=not how.by_class))
    found = [replace(trial, recipe=other) for other in recipes] + [replace(trial, shrinking=way) for way in ways]
    return [other for other in found if is_sensible(other)]


def is_sensible(trial: Trial) -> bool:
    """Whether the choices go together: merging refines, and a codebook needs labels."""
    how = trial.shrinking
    return not (how.over > 1.0 and how.l2 is None) and not (how.codebook is not None and how.rounding != "labels")


def _is_in(number: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= number <= ends[1]


def _halved_and_doubled(number: int, ends: tuple[int, int]) -> list[int]:
    return [n for n in (number // 2, number * 2) if _is_in(n, ends)]


def _scaled(number: float, factor: float, ends: tuple[float, float]) -> list[float]:
    return [round(n, 3) for n in (number / factor, min(number * factor, ends[1])) if _is_in(n, ends) and n != number]


def _beside(given: Any, steps: tuple[Any, ...]) -> list[Any]:
    at = steps.index(given)
    return [steps[k] for k in (at - 1, at + 1) if 0 <= k < len(steps)]
