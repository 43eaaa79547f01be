"""Splits on what encoders make of categories, as splits on the categories themselves."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import KBinsDiscretizer

from billhook.interop.sklearn._fold_numbers import float_of, largest_that, missing_after, threshold_of
from billhook.interop.sklearn._routes import Link, Route, carried
from billhook.interop.sklearn._split_tests import NewTests, SplitTests
from billhook.tables import EncodedColumn, text_of

# Whole numbers below this are float32 numbers.
MOST = 2**24
# A category that no encoder knows.
UNKNOWN = "\x00unknown"


class EncodedCells(NamedTuple):
    """The categories of a column that encoders know.

    Attributes
    ----------
    values : object array
        As the encoders have them, without those that stand for missing.
    missing : object
        What stands for missing: None if an encoder knows that, else NaN.
    are_numbers : bool
        Whether the column is read as the numbers it holds. Where any column holds text, all are read by an encoding.
    counts_as : int or None
        The place of the category that an imputer makes of a missing cell, where cells that no encoder knows are
        something else.
    """

    values: NDArray[Any]
    missing: Any
    are_numbers: bool
    counts_as: int | None = None

    def encoded(self, name: str) -> EncodedColumn:
        """Return how the column of this name becomes a feature."""
        if self.are_numbers:
            return EncodedColumn(name)
        texts = tuple(text_of(value) for value in self.values.tolist())
        return EncodedColumn(name, "ordered", texts, None if self.counts_as is None else texts[self.counts_as])


class Made(NamedTuple):
    """What the steps make of each category of a column, of a missing cell and of an unknown one; None if refused."""

    of_values: NDArray[np.float64]
    of_missing: float | None
    of_unknown: float | None


def encoded_columns(routes: Sequence[Route], names: Sequence[str], *, cuts_off: bool) -> dict[int, EncodedCells]:
    """Return the categories of each column whose own cells are encoded."""
    known: dict[int, dict[Any, None]] = {}
    tolerant: set[int] = set()
    for route in routes:
        if route.encoder is None or _is_of_bins(route, names):
            continue
        link = route.links[route.encoder]
        categories = link.step.categories_[link.place]
        known.setdefault(route.column, {}).update(dict.fromkeys(categories.tolist()))
        if not cuts_off and link.step.handle_unknown != "error" and categories.dtype.kind not in "iub":
            tolerant.add(route.column)
    are_numbers = all(_is_missing(value) or _is_number(value) for values in known.values() for value in values)
    columns = {}
    for column, categories in known.items():
        there = [value for value in categories if not _is_missing(value)]
        values = np.empty(len(there), object)
        values[:] = there
        # Between whole numbers, a set has the one below: an encoder would not know them.
        is_whole = column not in tolerant and all(
            float(v).is_integer() and 0 <= v < MOST for v in there if are_numbers
        )
        if are_numbers and not is_whole:
            raise TypeError(
                f"as_forest cannot read a model that encodes the numbers of the column {names[column]}, such as "
                f"{there[0]!r}, unless they are whole numbers from 0 on, given as such or with "
                "handle_unknown='error'; make text of them, or whole numbers, and fit again"
            )
        cells = EncodedCells(values, None if None in categories else np.nan, are_numbers)
        if not are_numbers:
            of_column = [
                r for r in routes if r.column == column and r.encoder is not None and not _is_of_bins(r, names)
            ]
            cells = cells._replace(counts_as=_counts_as([_made_by(route, cells) for route in of_column]))
        columns[column] = cells
    return columns


def _counts_as(made: Sequence[Made]) -> int | None:
    """Return the place of the category that all routes make the same of as of a missing cell, if it needs one."""
    if all(one.of_missing is None or one.of_unknown in (None, one.of_missing) for one in made):
        return None
    is_same = [one.of_values == one.of_missing for one in made if one.of_missing is not None]
    places = np.flatnonzero(np.all(is_same, axis=0))
    return int(places[0]) if places.size else None


def fold_categories(
    tests: SplitTests,
    new: NewTests,
    routes: Sequence[Route],
    columns: dict[int, EncodedCells],
    names: Sequence[str],
) -> None:
    """Set the new tests of the features that come from encoders."""
    ends: dict[tuple[Link, ...], NDArray[np.float32]] = {}
    for feature in np.unique(tests.feature):
        route = routes[feature]
        if route.encoder is None:
            continue
        tested = np.flatnonzero(tests.feature == feature)
        new.column[tested] = route.column
        if _is_of_bins(route, names):
            before = route.links[: route.encoder]
            if before not in ends:
                ends[before] = _ends_of_bins(route)
            _fold_bins(tests, new, route, tested, ends[before])
        else:
            _fold_cells(tests, new, route, tested, columns[route.column], names[route.column])


def _is_of_bins(route: Route, names: Sequence[str]) -> bool:
    """Return whether the encoder is given numbers of bins, and not the cells of the table."""
    assert route.encoder is not None
    before = [link.step for link in route.links[: route.encoder]]
    if all(isinstance(step, SimpleImputer) for step in before):
        return False
    if isinstance(before[-1], KBinsDiscretizer):
        return True
    raise TypeError(
        f"as_forest cannot read a pipeline that encodes as categories what {route.named} make of the column "
        f"{names[route.column]}; encode the column as it is"
    )


def _fold_bins(
    tests: SplitTests, new: NewTests, route: Route, tested: NDArray[np.int64], limits: NDArray[np.float32]
) -> None:
    assert route.encoder is not None
    link = route.links[route.encoder]
    bins = np.asarray(link.step.categories_[link.place], np.float64)
    made = carried([Route(0, route.links[route.encoder :])], bins[:, None]).astype(np.float64)[:, 0]
    missing = _one(tests, tested, missing_after(route))
    for test, left, missing_left in zip(tested, tests.go_left(tested, made), missing, strict=True):
        changes = np.flatnonzero(left[1:] != left[:-1])
        new.is_swapped[test] = not left[0]
        new.missing_left[test] = missing_left == left[0]
        new.threshold[test] = limits[changes[0]] if changes.size else np.inf
        if changes.size > 1:
            new.steps[int(test)] = limits[changes]


def _ends_of_bins(route: Route) -> NDArray[np.float32]:
    """Return the largest number in each bin but the last."""
    assert route.encoder is not None
    link = route.links[route.encoder]
    bins = np.asarray(link.step.categories_[link.place], np.float64)
    up_to = [route._replace(links=route.links[: route.encoder])]
    end = largest_that(
        lambda numbers: carried(up_to, float_of(numbers)[:, None])[:, 0] <= bins[:-1], (bins.size - 1,)
    )
    return threshold_of(end)


def _fold_cells(
    tests: SplitTests, new: NewTests, route: Route, tested: NDArray[np.int64], cells: EncodedCells, name: str
) -> None:
    assert route.encoder is not None
    link = route.links[route.encoder]
    made, missing, unknown = _made_by(route, cells)
    left = tests.go_left(tested, made)
    left_if_missing = (
        tests.missing_left[tested] if missing is None else tests.go_left(tested, np.array([missing]))[:, 0]
    )
    left_if_unknown = None if unknown is None else tests.go_left(tested, np.array([unknown]))[:, 0]
    if not cells.are_numbers and left_if_unknown is not None:
        # To an encoding, missing cells are like those that hold another category, or count as one that it knows.
        if cells.counts_as is None and missing is not None and (left_if_missing != left_if_unknown).any():
            raise TypeError(
                f"as_forest cannot read a pipeline in which missing cells of the column {name} and categories that "
                f"the {type(link.step).__name__} does not know come to different answers; fit it with "
                "handle_unknown='error', or mark missing cells by a category of their own before the pipeline"
            )
        left_if_missing = left_if_unknown
    for k, test in enumerate(tested):
        others_left = None if left_if_unknown is None or not cells.are_numbers else bool(left_if_unknown[k])
        _set_test(new, int(test), left[k], bool(left_if_missing[k]), cells, others_left)


def _made_by(route: Route, cells: EncodedCells) -> Made:
    assert route.encoder is not None
    link = route.links[route.encoder]
    own = set(link.step.categories_[link.place].tolist())
    is_own = np.array([value in own for value in cells.values.tolist()], np.bool_)
    unknown = _made_of(route, _strange(cells), cells)
    made = np.full(cells.values.size, np.nan if unknown is None else unknown)
    if is_own.any():
        made[is_own] = _carried(route, cells.values[is_own], cells)
    return Made(made, _made_of(route, cells.missing, cells), unknown)


def _one(tests: SplitTests, tested: NDArray[np.int64], value: float) -> NDArray[np.bool_]:
    """Return in which of the tests the value goes left."""
    return tests.go_left(tested, np.array([value]))[:, 0]


def _set_test(
    new: NewTests,
    test: int,
    left: NDArray[np.bool_],
    missing_left: bool,
    cells: EncodedCells,
    others_left: bool | None,
) -> None:
    """Set the test for which some of the categories go left; others go as `others_left` says, if they are taken."""
    place = cells.values.astype(np.float64) if cells.are_numbers else np.arange(left.size, dtype=np.float64)
    order = np.argsort(place)
    rising = left[order]
    changes = np.flatnonzero(rising[1:] != rising[:-1])
    if changes.size > 1 or others_left is not None:
        is_swapped = bool(others_left)
        new.sets[test] = np.sort(place[left != is_swapped]).astype(np.int64)
        new.threshold[test] = 0.0
    else:
        is_swapped = not rising[0] if rising.size else False
        new.threshold[test] = place[order[changes[0]]] if changes.size else np.inf
    new.is_swapped[test] = is_swapped
    new.missing_left[test] = missing_left != is_swapped


def _made_of(route: Route, cell: Any, cells: EncodedCells) -> float | None:
    """Return what the steps make of one cell, or None if they refuse it."""
    one = np.empty(1, object)
    one[0] = cell
    try:
        return float(_carried(route, one, cells)[0])
    except ValueError:
        return None


def _carried(route: Route, values: NDArray[Any], cells: EncodedCells) -> NDArray[np.float64]:
    given = values.astype(np.float64) if _all_numbers(cells) else values
    return np.asarray(carried([route], given[:, None])[:, 0].astype(np.float64))


def _all_numbers(cells: EncodedCells) -> bool:
    return cells.missing is not None and not any(isinstance(value, str) for value in cells.values.tolist())


def _strange(cells: EncodedCells) -> Any:
    """Return a cell that no encoder knows."""
    return max(float(value) for value in cells.values.tolist()) + 1.0 if _all_numbers(cells) else UNKNOWN


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.number | np.bool_)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"
