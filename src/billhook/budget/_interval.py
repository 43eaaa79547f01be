"""How far the score on held-out rows may be from that on rows to come: an interval of 95 %."""

import warnings
from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._deadline import check_time
from billhook._interruption import is_interruption
from billhook._types import RowNumbers, Vector
from billhook.budget._scoring import RememberedModel, Score, accuracy

CONFIDENCE = 0.95
# The held-out rows are left out in so many parts, one after the other, where there is no formula.
PARTS = 20
# A variance of so small a share of that of one row is an error of rounding.
NO_VARIANCE = 1e-12
# The same of an error, of the score.
NO_ERROR = 1e-12


class JudgedRows(NamedTuple):
    """The rows that a split held out, and the model that was judged by them.

    Attributes
    ----------
    numbers : int64 array (rows)
    model : RememberedModel
        Of these rows.
    labels : array (rows)
    weight : float64 array (rows)
    """

    numbers: RowNumbers
    model: RememberedModel
    labels: NDArray[Any]
    weight: Vector


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    low: float
    high: float


def score_interval(
    judged: Sequence[JudgedRows], score: Score, *, units: RowNumbers | None = None, seed: int = 0
) -> Interval | None:
    """Return an interval of 95 % for the score on rows to come; None where it cannot be known.

    It is that of the mean over the splits. Rows that several splits held out tell one thing, not several, and so do
    rows of a unit, such as a group: what a unit adds to the mean is counted once, over all splits. For accuracy that
    is Wilson's interval for as many independent rows as have this variance; for other scores, a jackknife over parts
    of the rows with Student's t.

    Parameters
    ----------
    judged : sequence of JudgedRows
        One for each split.
    score : function
    units : int64 array (all rows), optional
        Which rows belong together; by default each is alone.
    seed : int

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference.
    M. H. Quenouille (1956), Notes on bias in estimation; J. W. Tukey (1958), Bias and confidence in not-quite large
    samples.
    """
    unit_of = [one.numbers if units is None else units[one.numbers] for one in judged]
    if score is accuracy:
        return _of_shares(judged, unit_of)
    return _jackknife(judged, unit_of, score, seed)


def _of_shares(judged: Sequence[JudgedRows], unit_of: Sequence[RowNumbers]) -> Interval | None:
    """Return the interval of a mean of shares of right rows."""
    # What each row counts in the mean over the splits.
    counts = np.concatenate([one.weight / one.weight.sum() / len(judged) for one in judged])
    is_right = np.concatenate([one.model.predict(one.model.X) == one.labels for one in judged])
    _, unit = np.unique(np.concatenate(unit_of), return_inverse=True)
    n_units = int(unit.max()) + 1
    if n_units < 2:
        return None
    share = float(is_right[0]) if is_right.all() or not is_right.any() else float(counts @ is_right)
    variance = float((np.bincount(unit, counts * (is_right - share)) ** 2).sum()) * n_units / (n_units - 1)
    of_one = share * (1.0 - share)
    if variance <= NO_VARIANCE * of_one:  # all units are alike: nothing is known but how many there are
        return wilson(share, 1.0 / float((np.bincount(unit, counts) ** 2).sum()), _student(n_units - 1))
    return wilson(share, of_one / variance, _student(n_units - 1))


def wilson(share: float, n_rows: float, quantile: float) -> Interval:
    """Return Wilson's interval for a share of so many independent rows.

    Examples
    --------
    >>> low, high = wilson(0.9, 100, 1.96)
    >>> round(low, 4), round(high, 4)
    (0.8256, 0.9448)
    """
    by_rows = quantile**2 / n_rows
    middle = (share + by_rows / 2.0) / (1.0 + by_rows)
    half = quantile * sqrt(share * (1.0 - share) / n_rows + by_rows / (4.0 * n_rows)) / (1.0 + by_rows)
    # The ends are those of the share exactly where it is 0 or 1.
    return Interval(max(0.0, middle - half) if share else 0.0, min(1.0, middle + half) if share < 1.0 else 1.0)


def _jackknife(
    judged: Sequence[JudgedRows], unit_of: Sequence[RowNumbers], score: Score, seed: int
) -> Interval | None:
    """Return the interval of the mean of any score, by leaving out parts of the units."""
    different = np.unique(np.concatenate(unit_of))
    n_parts = min(PARTS, different.size)
    if n_parts < 2:
        return None
    part_of = np.random.default_rng([seed, different.size]).permutation(np.arange(different.size) % n_parts)
    parts = [part_of[np.searchsorted(different, unit)] for unit in unit_of]

    def mean_without(part: int) -> float:
        check_time()
        scores = []
        for one, in_part in zip(judged, parts, strict=True):
            kept = np.flatnonzero(in_part != part)
            if kept.size:  # a split may have rows of a single group
                model = one.model.of_rows(kept)
                scores.append(score(model, model.X, one.labels[kept], one.weight[kept]))
        return float(np.mean(scores))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scorers, on parts without a class
        try:
            whole = mean_without(-1)
            without = np.array([mean_without(part) for part in range(n_parts)])
        except Exception as failure:  # the time is over, or a scorer fails on a part without one of the classes
            if is_interruption(failure):
                raise
            return None
    error = sqrt((n_parts - 1) / n_parts * float(((without - without.mean()) ** 2).sum()))
    # Where no part makes a difference, as of a model without a mistake, nothing is known of the rows to come.
    if not np.isfinite([whole, error]).all() or error <= NO_ERROR * max(1.0, abs(whole)):
        return None
    half = _student(n_parts - 1) * error
    return Interval(whole - half, whole + half)


def _student(freedom: int) -> float:
    """Return the quantile of Student's t for the ends of an interval."""
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, 0.5 + CONFIDENCE / 2.0))
