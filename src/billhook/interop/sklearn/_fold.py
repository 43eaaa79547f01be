"""Splits on what steps make of the columns of a table, as splits on the columns themselves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest
from billhook.interop.sklearn._fold_categories import encoded_columns, fold_categories
from billhook.interop.sklearn._fold_numbers import fold_numbers
from billhook.interop.sklearn._routes import Route
from billhook.interop.sklearn._split_tests import nothing_new, split_tests, with_new_tests
from billhook.tables import EncodedColumn, Encoding


def folded(
    forest: Forest,
    exact: NDArray[np.float64] | None,
    routes: Sequence[Route],
    n_columns: int,
    given_names: Any,
    *,
    cuts_off: bool = False,
) -> Forest:
    """Return the forest that takes columns of a table in place of the features that steps make of them.

    Parameters
    ----------
    forest : Forest
        It takes the features.
    exact : float64 array (nodes), optional
        Its thresholds as they were before they were rounded to float32.
    routes : sequence of Route
        Where each feature comes from.
    n_columns : int
        Of the table.
    given_names : sequence of str, optional
        The names of the columns.
    cuts_off : bool
        Whether categories that are numbers may be cut off to whole ones, even if others are not refused.
    """
    names = [str(name) for name in (range(n_columns) if given_names is None else given_names)]
    shown = [repr(name) for name in names] if given_names is not None else names
    tests = split_tests(forest, exact)
    new = nothing_new(tests)
    columns = encoded_columns(routes, shown, cuts_off=cuts_off)
    fold_categories(tests, new, routes, columns, shown)
    fold_numbers(tests, new, routes, shown)
    if all(cells.are_numbers for cells in columns.values()):
        about = {"feature_names": None if given_names is None else tuple(names), "n_features": n_columns}
        return with_new_tests(tests, new, **about, encoding=None)
    # A column that no step passes on may hold anything: a table need not have it.
    kept = sorted({route.column for route in routes})
    encoding = Encoding(
        tuple(
            columns[column].encoded(names[column]) if column in columns else EncodedColumn(names[column])
            for column in kept
        )
    )
    new.column[:] = np.searchsorted(kept, new.column)
    about = {"feature_names": encoding.feature_names, "n_features": encoding.n_features}
    return with_new_tests(tests, new, **about, encoding=encoding)
