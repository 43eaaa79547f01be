"""Scores and settings in words."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from billhook.html import minus

SCORINGS = {
    "r2": "R\N{SUPERSCRIPT TWO}",
    "d2_absolute_error_score": "D\N{SUPERSCRIPT TWO} of absolute errors",
    "d2_pinball_score": "D\N{SUPERSCRIPT TWO} of the pinball loss",
    "d2_tweedie_score": "D\N{SUPERSCRIPT TWO} of the Poisson deviance",
}
SHARES = ("accuracy", "balanced_accuracy")
FAMILIES = {
    "boosted": "gradient-boosted trees",
    "random_forest": "random forest",
    "extra_trees": "extra trees",
    "user": "your ensemble",
}
ROUNDINGS = {
    "scores": "rounding that preserves scores",
    "labels": "rounding fitted to the labels",
    "alone": "rounding to nearest",
}
# An empty phrase is left out.
PHRASES: dict[str, Callable[[Any], str]] = {
    "family": lambda name: FAMILIES.get(name, str(name)),
    "leaves": lambda n: f"at most {n} leaves per tree",
    "learning_rate": lambda rate: "" if rate == 1 else f"learning rate {rate:g}",
    "bits": lambda n: f"features quantized to {n} bits",
    "bins": lambda n: f"{n} bins per feature",
    "min_weight": lambda weight: f"minimum leaf weight {weight:g}",
    "max_tests": lambda n: f"at most {n} distinct tests",
    "reuse_factor": lambda factor: f"a new test gains {factor:g} times what one in use does",
    "growth_l2": lambda l2: f"grown with L2 {l2:g}",
    "row_share": lambda share: f"{share:.0%} of the rows drawn for each tree",
    "column_share": lambda share: f"{share:.0%} of the features drawn for each split",
    "smoothing": lambda share: "learns smoothed targets" if share == 1 else f"learns targets smoothed by {share:.0%}",
    "projections": lambda n: f"{n} projections to split",
    "overgrow": lambda times: (
        "truncated to the budget" if times == 1 else f"grown to {times:g} times the budget, then leaves merged"
    ),
    "l2": lambda l2: "leaf values not refined" if l2 is None else f"leaf values refined with L2 {l2:g}",
    "sweeps": lambda n: f"splits chosen again {n} times" if n > 1 else "splits chosen again" if n else "",
    "leaf_bits": lambda n: f"leaf values quantized to {n} bits",
    "codebook": lambda n: "" if n is None else f"codebook of {n} leaves",
    "by_class": lambda by_class: "one scale per class" if by_class else "",
    "rounding": lambda name: ROUNDINGS.get(name, str(name)),
}


def is_share(scoring: str) -> bool:
    """Whether scores are shares of rows, and so read best in percent."""
    return scoring in SHARES


def scoring_text(scoring: str) -> str:
    """Return the name of a scoring in words."""
    return SCORINGS.get(scoring, scoring.replace("_", " "))


def in_words(settings: dict[str, Any]) -> str:
    """Return settings as phrases, in their order; a setting without a phrase by its name and value.

    Examples
    --------
    >>> in_words({"family": "boosted", "leaves": 32, "codebook": None, "depth": 4})
    'gradient-boosted trees, at most 32 leaves per tree, depth 4'
    """
    phrases = (
        PHRASES[name](value) if name in PHRASES else f"{name.replace('_', ' ')} {value}"
        for name, value in settings.items()
    )
    return ", ".join(phrase for phrase in phrases if phrase)


def shared(settings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings that are the same in all; none if there is nothing to compare with."""
    if len(settings) < 2:
        return {}
    first, *others = settings
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
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
