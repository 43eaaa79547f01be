"""Splits on what monotone steps make of numbers, as splits on the numbers themselves."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from billhook.forest import categories_of
from billhook.interop.sklearn._routes import Route, carried, takes_missing, together
from billhook.interop.sklearn._split_tests import NewTests, SplitTests

# The finite float32 numbers in their order are numbered from -LARGEST to LARGEST.
LARGEST = int(np.finfo(np.float32).max.view(np.int32))
# How many of them, evenly spread, are looked at to see whether a step is monotone; and next to each threshold.
N_SPREAD = 257
BESIDE = np.array([-3, -2, -1, 0, 1, 2, 3, 4])


def fold_numbers(tests: SplitTests, new: NewTests, routes: Sequence[Route], names: Sequence[str]) -> None:
    """Set the new tests of the features that come by these routes, all of them without an encoder.

    A threshold becomes the largest float32 that the steps make a number of that goes left, as they compute it in
    float64.
    """
    used = np.unique(tests.feature)
    used = used[[routes[feature].encoder is None for feature in used]] if used.size else used
    for group in together([routes[feature] for feature in used]):
        members = [int(used[k]) for k in group]
        picked = [np.flatnonzero(tests.feature == feature) for feature in members]
        in_group = [routes[feature] for feature in members]
        for feature, tested, route in zip(members, picked, in_group, strict=True):
            new.column[tested] = route.column
            if route.links and (tests.category_set[tested] >= 0).any():
                raise TypeError(
                    f"as_forest cannot read a model that splits by categories of the column {names[route.column]} "
                    f"after {route.named}; leave the column as it is (feature {feature} of the model)"
                )
            for test in tested[tests.category_set[tested] >= 0]:
                new.sets[int(test)] = categories_of(tests.forest, int(tests.category_set[test]))
        if in_group[0].links:
            _fold(tests, new, in_group, picked, names)


def _fold(
    tests: SplitTests, new: NewTests, routes: list[Route], picked: list[NDArray[np.int64]], names: Sequence[str]
) -> None:
    threshold = _padded([tests.threshold[tested] for tested in picked])
    ends = carried(routes, float_of(np.array([-LARGEST, LARGEST]))[:, None].repeat(len(routes), axis=1))
    falls = ends[0] > ends[1]
    place = largest_that(
        lambda numbers: tests.compare(carried(routes, float_of(numbers)).astype(np.float64), threshold) != falls,
        threshold.shape,
    )
    _check(tests, routes, place, threshold, falls, names)
    found = threshold_of(place)
    for k, tested in enumerate(picked):
        new.threshold[tested] = found[: tested.size, k]
        new.is_swapped[tested] = falls[k]
        left = tests.go_left(tested, np.array([missing_after(routes[k])]))[:, 0]
        new.missing_left[tested] = left != falls[k]


def largest_that(goes: Callable[[NDArray[np.int64]], NDArray[np.bool_]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the number of the largest float32 that goes, those that go being the smallest ones.

    -LARGEST - 1 if none does.
    """
    low, high = np.full(shape, -LARGEST - 1), np.full(shape, LARGEST + 1)
    while (high - low > 1).any():
        middle = np.clip((low + high) // 2, -LARGEST, LARGEST)
        is_low = goes(middle) & (high - low > 1)
        is_high = ~is_low & (high - low > 1)
        low, high = np.where(is_low, middle, low), np.where(is_high, middle, high)
    return low


def float_of(place: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the float32 with this number, as float64."""
    magnitude = np.abs(place).astype(np.int32).view(np.float32).astype(np.float64)
    return np.where(place < 0, -magnitude, magnitude)


def threshold_of(place: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the threshold that sends left what is at most the float32 with this number."""
    found = float_of(np.clip(place, -LARGEST, LARGEST)).astype(np.float32)
    found = np.where(place < -LARGEST, np.float32(-np.inf), found)
    return np.where(place >= LARGEST, np.float32(np.inf), found)


def missing_after(route: Route) -> float:
    """Return what the steps make of a missing value; it stays one where they refuse it."""
    cell = np.full((1, 1), np.nan)
    for link in route.links:
        if np.isnan(cell[0, 0]) and not takes_missing(link.step):
            break
        cell = carried([Route(route.column, (link,))], cell).astype(np.float64)
    return float(cell[0, 0])


def _check(
    tests: SplitTests,
    routes: list[Route],
    place: NDArray[np.int64],
    threshold: NDArray[np.float64],
    falls: NDArray[np.bool_],
    names: Sequence[str],
) -> None:
    """Refuse steps that rise here and fall there."""
    spread = np.linspace(-LARGEST, LARGEST, N_SPREAD).astype(np.int64)
    seen = carried(routes, float_of(spread)[:, None].repeat(len(routes), axis=1)).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        seen = seen.astype(np.float32)
        rises = np.where(falls, seen[1:] <= seen[:-1], seen[1:] >= seen[:-1]).all(axis=0)
    for beside in BESIDE:
        number = np.clip(place + beside, -LARGEST, LARGEST)
        left = tests.compare(carried(routes, float_of(number)).astype(np.float64), threshold) != falls
        rises &= (left == (number <= place)).all(axis=0)
    if not rises.all():
        route = routes[int(np.argmin(rises))]
        raise TypeError(
            f"as_forest cannot read a pipeline in which {route.named} makes numbers of the column "
            f"{names[route.column]} that neither only rise nor only fall with it; transform the rows yourself and "
            "pass the model alone"
        )


def _padded(columns: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the columns side by side, each filled up with its last number."""
    longest = max(column.size for column in columns)
    return np.stack([np.append(column, np.full(longest - column.size, column[-1])) for column in columns], axis=1)
