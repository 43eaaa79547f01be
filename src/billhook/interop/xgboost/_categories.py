"""The names of categories that XGBoost keeps in a model since 3.1, if it was trained on a data frame."""

from typing import Any

import numpy as np

from billhook._files import ModelFileError
from billhook.interop.xgboost._layout import check_fields, integers_at, list_at, object_at
from billhook.tables import MOST_NAMED, EncodedColumn, Encoding


def encoding_of(parts: dict[str, Any], names: list[str]) -> Encoding | None:
    """Return how the columns of a data frame become features; None if the model has no categories.

    Parameters
    ----------
    parts : dict
        The trees and what belongs to them.
    names : list of str
        Of the features.
    """
    if "cats" not in parts:
        return None
    cats = object_at(parts, "cats")
    check_fields(cats, ("enc", "feature_segments", "sorted_idx"), "the model's cats")
    columns = list_at(cats, "enc")
    if not columns or not names:
        return None
    if len(columns) != len(names):
        raise ModelFileError(f"the model has categories for {len(columns)} features of {len(names)}")
    encoded = [_column(name, column) for name, column in zip(names, columns, strict=True)]
    return Encoding(tuple(encoded)) if any(column.kind != "number" for column in encoded) else None


def _column(name: str, fields: Any) -> EncodedColumn:
    if not isinstance(fields, dict):
        raise ModelFileError(f"the categories of feature {name!r} are not given as an object")
    categories = _texts(name, fields) if "offsets" in fields else _numbers(name, fields)
    if not categories:
        return EncodedColumn(name)
    if len(categories) > MOST_NAMED:
        raise ValueError(
            f"column {name!r} has {len(categories):,} categories, and data frames are encoded with up to "
            f"{MOST_NAMED:,}: fit on the codes of the categories, in an array, with feature_types"
        )
    return EncodedColumn(name, "ordered", tuple(categories))


def _numbers(name: str, fields: dict[str, Any]) -> list[str]:
    check_fields(fields, ("type", "values"), f"the categories of feature {name!r}")
    return [str(number) for number in integers_at(fields, "values").tolist()]


def _texts(name: str, fields: dict[str, Any]) -> list[str]:
    check_fields(fields, ("offsets", "values"), f"the categories of feature {name!r}")
    offsets, values = integers_at(fields, "offsets"), integers_at(fields, "values")
    if not offsets.size:
        return []
    if offsets[0] != 0 or offsets[-1] != values.size or (np.diff(offsets) < 0).any():
        raise ModelFileError(f"the offsets of the categories of feature {name!r} must rise to {values.size}")
    if (values < 0).any() or (values > 127).any():
        # XGBoost up to 3.2 counts characters of a data frame of pandas where it should count bytes, and cuts the
        # names off elsewhere: what they were cannot be told.
        raise ValueError(
            f"the categories of column {name!r} are not all ASCII, and XGBoost keeps such names damaged: rename "
            "them, or fit on the codes of the categories, in an array, with feature_types"
        )
    text = values.astype(np.uint8).tobytes().decode("ascii")
    return [text[start:end] for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
