"""Columns and labels of a data frame, one cell after the other."""

from decimal import Decimal
from reprlib import repr as short

import narwhals.stable.v1 as nw
import numpy as np

from billhook.tables import Categorical
from billhook.tables._collect import text_of
from billhook.tables._frames import DROP_IT, MIXED, REMEDIES

NUMBERS = (bool, int, float, Decimal)


def frame_column(frame, name, *, is_categorical=False):
    """Return a column as numbers or Categorical."""
    series = nw.from_native(frame, eager_only=True)[name]
    cells, kind = cells_and_kind(series, name)
    if kind == "number" and not is_categorical:
        with np.errstate(over="ignore"):
            return np.array([np.float32(np.nan if cell is None else float(cell)) for cell in cells], np.float32)
    # Equal cells are the same category, called as the first of them.
    texts = {}
    for cell in cells:
        if cell is not None:
            texts.setdefault(cell, text_of(cell))
    present = set(texts.values())
    categories = sorted(present)
    is_declared = series.implementation.is_pandas() and hasattr(series.to_native(), "cat")
    if kind == "category" and (is_declared or str(series.dtype).startswith("Enum")):
        declared = [text_of(value) for value in series.cat.get_categories().to_list()]
        categories = [text for text in dict.fromkeys(declared) if text in present]
    codes = [-1 if cell is None else categories.index(texts[cell]) for cell in cells]
    return Categorical(np.array(codes, np.int32), tuple(categories))


def frame_labels(frame, name):
    """Return the labels as a list, and whether they are text."""
    series = nw.from_native(frame, eager_only=True)[name]
    cells, kind = cells_and_kind(series, name)
    are_booleans = series.dtype == nw.Boolean or any(isinstance(cell, bool) for cell in cells)
    return cells, kind != "number" or are_booleans


def cells_and_kind(series, name):
    """Return the cells, None where one is missing, and whether they are numbers, text or categories."""
    cells = []
    for cell, is_null in zip(series.to_list(), series.is_null().to_list(), strict=True):
        is_missing = is_null or cell is None or cell != cell
        cells.append(None if is_missing else cell.item() if isinstance(cell, np.generic) else cell)
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return cells, "number"
    if dtype == nw.String:
        return cells, "text"
    if dtype in (nw.Object, nw.Unknown):
        return cells, kind_of_values(cells, name)
    if dtype in (nw.Categorical, nw.Enum):
        kind_of_values(cells, name)
        return cells, "category"
    type_name = str(dtype).partition("(")[0]
    raise ValueError(f"column {name!r} is of the type {dtype}: {REMEDIES.get(type_name, DROP_IT)}")


def kind_of_values(cells, name):
    """Return what a column holds by the types of its values."""
    examples = {type(cell): cell for cell in reversed(cells) if cell is not None}
    odd = [value for type_, value in examples.items() if not issubclass(type_, (str, *NUMBERS))]
    if odd:
        raise ValueError(f"column {name!r} holds {short(odd[0])}, a {type(odd[0]).__name__}: {DROP_IT}")
    texts = [value for value in examples.values() if isinstance(value, str)]
    numbers = [value for value in examples.values() if not isinstance(value, str)]
    if texts and numbers:
        raise ValueError(
            f"column {name!r} holds text and numbers, such as {short(texts[0])} and {short(numbers[0])}: {MIXED}"
        )
    return "text" if texts else "number"
