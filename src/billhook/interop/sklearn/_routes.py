"""Which column of its input each column of a transformer's output comes from, and through which steps."""

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from inspect import getattr_static
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import get_tags

ENCODERS = (OneHotEncoder, OrdinalEncoder)


class Link(NamedTuple):
    """A step that a column passes.

    Attributes
    ----------
    step : fitted transformer
    place : int
        Of the column among those that the step takes.
    output : int
        Of the column among those that the step gives.
    is_sparse : bool
        Whether the step is given a sparse matrix.
    """

    step: Any
    place: int
    output: int
    is_sparse: bool


class Route(NamedTuple):
    """Where a feature comes from: the number of a column of the table, and the steps that it passes, in order."""

    column: int
    links: tuple[Link, ...] = ()

    @property
    def encoder(self) -> int | None:
        """The place among the links of the first that makes numbers of categories, if there is one."""
        return next((k for k, link in enumerate(self.links) if isinstance(link.step, ENCODERS)), None)

    @property
    def named(self) -> str:
        """The steps in words."""
        return ", ".join(dict.fromkeys(type(link.step).__name__ for link in self.links))


class Routes(NamedTuple):
    """The routes of all columns of a matrix, and whether it is sparse."""

    columns: tuple[Route, ...]
    is_sparse: bool = False


def through(step: Any, routes: Routes) -> Routes:
    """Return where the columns of a fitted step's output come from; refuse a step that is not column by column."""
    if isinstance(step, FrozenEstimator):
        step = step.estimator
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return routes
    if isinstance(step, str) and step == "drop":
        return Routes((), routes.is_sparse)
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            routes = through(part, routes)
        return routes
    if isinstance(step, ColumnTransformer):
        return _through_columns(step, routes)
    if isinstance(step, SelectorMixin):
        return routes._replace(columns=tuple(routes.columns[k] for k in step.get_support(indices=True)))
    if isinstance(step, FunctionTransformer) and step.func is None:
        return routes
    sources = _sources(step)
    if isinstance(step, KBinsDiscretizer) and step.encode != "ordinal":
        numbers = copy(step)
        numbers.encode = "ordinal"
        return through(step._encoder, through(numbers, routes))
    if isinstance(step, PowerTransformer) and step.standardize:
        power = copy(step)
        power.standardize = False
        return through(step._scaler, through(power, routes))
    return Routes(
        tuple(
            Route(
                routes.columns[place].column, (*routes.columns[place].links, Link(step, place, k, routes.is_sparse))
            )
            for k, place in enumerate(sources)
        ),
        _gives_sparse(step, routes.is_sparse),
    )


def _through_columns(step: ColumnTransformer, routes: Routes) -> Routes:
    if step.transformer_weights:
        raise TypeError("as_forest cannot read a ColumnTransformer with transformer_weights; leave them out")
    columns: list[Route] = []
    for name, part, _ in step.transformers_:
        picked = tuple(routes.columns[k] for k in step._transformer_to_input_indices[name])
        if picked:
            columns += through(part, routes._replace(columns=picked)).columns
    return Routes(tuple(columns), bool(step.sparse_output_))


def _sources(step: Any) -> NDArray[np.int64]:
    """Return, for each column that a step gives, which of its input it is made of."""
    kind = next((kind for kind in type(step).__mro__ if kind in SOURCES), None)
    name = type(step).__name__
    if kind is None:
        hint = (
            "; as_forest cannot see what the function does: compute the columns before the pipeline"
            if isinstance(step, FunctionTransformer)
            else f"; steps before the model may be {', '.join(sorted(kind.__name__ for kind in SOURCES))}, "
            "ColumnTransformer, Pipeline and selectors of columns: pass the model alone and transform the rows "
            "yourself"
        )
        raise TypeError(f"as_forest cannot read a pipeline with a {name}{hint}")
    if getattr_static(type(step), "transform") is not getattr_static(kind, "transform"):
        raise TypeError(f"as_forest cannot read a {name}: it is a {kind.__name__} with a transform of its own")
    return np.asarray(SOURCES[kind](step), np.int64)


def _each(step: Any) -> Any:
    return np.arange(step.n_features_in_)


def _of_one_hot(step: Any) -> Any:
    return np.repeat(_each(step), step._n_features_outs)


def _of_imputer(step: Any) -> Any:
    missing = step.missing_values
    if not (isinstance(missing, float) and np.isnan(missing)) and type(missing).__name__ != "NAType":
        raise TypeError(
            f"as_forest cannot read a SimpleImputer with missing_values={missing!r}, a number like others; mark "
            "missing values with NaN, and fit it with missing_values=np.nan"
        )
    is_number = np.array([not (isinstance(value, float) and np.isnan(value)) for value in step.statistics_])
    kept = _each(step) if step.keep_empty_features else np.flatnonzero(is_number)
    return kept if step.indicator_ is None else np.concatenate([kept, step.indicator_.features_])


def _gives_sparse(step: Any, takes_sparse: bool) -> bool:
    if isinstance(step, OneHotEncoder):
        return bool(step.sparse_output)
    return takes_sparse


SOURCES: dict[type, Callable[[Any], Any]] = {
    StandardScaler: _each,
    MinMaxScaler: _each,
    MaxAbsScaler: _each,
    RobustScaler: _each,
    PowerTransformer: _each,
    QuantileTransformer: _each,
    OrdinalEncoder: _each,
    OneHotEncoder: _of_one_hot,
    KBinsDiscretizer: _each,
    SimpleImputer: _of_imputer,
}


def together(routes: Sequence[Route]) -> list[list[int]]:
    """Return the numbers of routes in groups that one call of each step can serve: no two need the same place."""
    groups: list[tuple[tuple[int, ...], set[tuple[int, int]], list[int]]] = []
    for number, route in enumerate(routes):
        steps = tuple(id(link.step) for link in route.links)
        places = {(k, link.place) for k, link in enumerate(route.links)}
        for same, taken, members in groups:
            if same == steps and not taken & places:
                taken |= places
                members.append(number)
                break
        else:
            groups.append((steps, places, [number]))
    return [members for _, _, members in groups]


def carried(routes: Sequence[Route], cells: NDArray[Any]) -> NDArray[Any]:
    """Return what the steps make of cells (rows, routes); the routes are one of `together`'s groups."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for links in zip(*(route.links for route in routes), strict=True):
            cells = _transformed(links, cells)
    return cells


def _transformed(links: tuple[Link, ...], cells: NDArray[Any]) -> NDArray[Any]:
    step = links[0].step
    places = [link.place for link in links]
    X = _filler(step, len(cells), cells.dtype)
    if cells.dtype.kind == "f":
        # What steps refuse stays larger, or smaller, than all that they take.
        cells = np.where(_is_positive_only(step) & (cells <= 0.0), -np.inf, cells)
        is_refused = np.isinf(cells)
        X[:, places] = np.where(is_refused, X[:, places], cells)
    else:
        X[:, places] = cells
        is_refused = None
    given = step.transform(sparse.csr_matrix(X) if links[0].is_sparse else X)
    if sparse.issparse(given):
        given = given.toarray()
    made = np.asarray(given)[:, [link.output for link in links]]
    return made if is_refused is None or not is_refused.any() else np.where(is_refused, cells, made)


def _is_positive_only(step: Any) -> bool:
    return isinstance(step, PowerTransformer) and bool(step.method == "box-cox")


def _filler(step: Any, n_rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return rows that the step takes, for the columns that nobody asks for."""
    if isinstance(step, ENCODERS):
        first = [categories[0] for categories in step.categories_]
        if all(categories.dtype.kind in "iufb" for categories in step.categories_) and dtype.kind != "O":
            return np.repeat(np.array([first], dtype), n_rows, axis=0)
        row = np.empty(len(first), object)
        row[:] = first
        return np.repeat(row[None], n_rows, axis=0)
    return np.full((n_rows, step.n_features_in_), np.nan if takes_missing(step) else 0.0, dtype)


def takes_missing(step: Any) -> bool:
    """Return whether the step takes rows with missing values."""
    return bool(get_tags(step).input_tags.allow_nan)
