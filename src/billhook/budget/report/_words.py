"""Sizes, scores and settings as people read them."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from billhook.html import minus

SCORINGS = {"r2": "R\N{SUPERSCRIPT TWO}"}
SHARES = ("accuracy", "balanced_accuracy")
FAMILIES = {
    "boosted": "boosted trees",
    "random_forest": "random forest",
    "extra_trees": "extra trees",
    "given": "the given ensemble",
}
ROUNDINGS = {
    "scores": "rounded so that scores stay",
    "labels": "rounded with the labels",
    "alone": "rounded one by one",
}
# An empty phrase is left out: what is not done need not be said.
PHRASES: dict[str, Callable[[Any], str]] = {
    "family": lambda name: FAMILIES.get(name, str(name)),
    "leaves": lambda n: f"{n} leaves a tree",
    "rate": lambda rate: "" if rate == 1 else f"rate {rate:g}",
    "bits": lambda n: f"{n}-bit features",
    "bins": lambda n: f"{n} bins",
    "min_weight": lambda weight: f"leaf weight {weight:g} or more",
    "over": lambda times: "cut off to fit" if times == 1 else f"grown to {times:g} times the budget, then merged",
    "l2": lambda pull: "leaves as grown" if pull is None else f"leaves refined with pull {pull:g}",
    "leaf_bits": lambda n: f"{n}-bit leaf values",
    "codebook": lambda n: "" if n is None else f"{n} different leaves",
    "by_class": lambda by_class: "a scale for each class" if by_class else "",
    "rounding": lambda name: ROUNDINGS.get(name, str(name)),
}


def is_share(scoring: str) -> bool:
    """Whether scores are shares of rows, and so read best in percent."""
    return scoring in SHARES


def scoring_text(scoring: str) -> str:
    """Return the name of a scoring as one would say it."""
    return SCORINGS.get(scoring, scoring.replace("_", " "))


def in_words(settings: dict[str, Any]) -> str:
    """Return settings as phrases, in their order; settings that are not known by name and value.

    Examples
    --------
    >>> in_words({"family": "boosted", "leaves": 32, "codebook": None, "depth": 4})
    'boosted trees, 32 leaves a tree, depth 4'
    """
    phrases = (
        PHRASES[name](value) if name in PHRASES else f"{name.replace('_', ' ')} {value}"
        for name, value in settings.items()
    )
    return ", ".join(phrase for phrase in phrases if phrase)


def shared(some: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings that are the same in all; of one alone, none: there is nothing to compare it with."""
    if len(some) < 2:
        return {}
    return {
        name: value
        for name, value in some[0].items()
        if all(name in other and other[name] == value for other in some[1:])
    }


def score_text(score: float, scoring: str) -> str:
    """Return a score in percent with two decimals, or with four significant digits.

    Examples
    --------
    >>> score_text(0.97123, "accuracy"), score_text(0.97123, "r2")
    ('97.12%', '0.9712')
    """
    if not math.isfinite(score):
        return "none"
    return minus(f"{score:.2%}" if is_share(scoring) else _four_digits(score))


def difference_text(difference: float, scoring: str) -> str:
    """Return a signed difference of scores, of shares in points of a hundred."""
    if not math.isfinite(difference):
        return "none"
    return minus(f"{100 * difference:+.2f} points" if is_share(scoring) else f"{difference:+.4g}")


def _four_digits(number: float) -> str:
    if abs(number) >= 1e4 and abs(number) < 1e12:  # rather than an exponent
        return f"{float(f'{number:.4g}'):,.0f}"
    return f"{number:#.4g}".removesuffix(".")
