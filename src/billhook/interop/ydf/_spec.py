"""The columns that a model of ydf was trained on."""

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._wire import fields_in
from billhook.tables import MOST_NAMED, EncodedColumn, Encoding

NUMERICAL, CATEGORICAL, BOOLEAN, DISCRETIZED = 1, 4, 7, 9
TYPES = {
    2: "NUMERICAL_SET",
    3: "NUMERICAL_LIST",
    5: "CATEGORICAL_SET",
    6: "CATEGORICAL_LIST",
    8: "STRING",
    10: "HASH",
    11: "NUMERICAL_VECTOR_SEQUENCE",
}


class InputColumn(NamedTuple):
    """A column of the data.

    Attributes
    ----------
    name : str
    type : int
    categories : tuple of str
        Of a categorical column; the first stands for all that are not in the dictionary.
    boundaries : float32 array
        Of a discretized column, between its bins.
    """

    name: str
    type: int
    categories: tuple[str, ...]
    boundaries: NDArray[np.float32]


def column_at(columns: list[Any], place: int) -> InputColumn:
    """Return one of the columns of a data specification."""
    if not 0 <= place < len(columns):
        raise ModelFileError(f"the model has no column {place}")
    fields = fields_in(as_bytes(columns[place]))
    name, type_ = text_in(fields, 2), as_number(fields, 1)
    categories: tuple[str, ...] = ()
    if type_ == CATEGORICAL:
        categories = _categories(name, fields_in(as_bytes(fields.get(6, [b""])[-1])))
    boundaries = np.zeros(0, np.float32)
    if type_ == DISCRETIZED:
        boundaries = as_floats(fields_in(as_bytes(fields.get(8, [b""])[-1])), 1)
    return InputColumn(name, type_, categories, boundaries)


def encoding_of(columns: list[InputColumn]) -> Encoding | None:
    """Return how a data frame becomes the features; None if no column is categorical."""
    for column in columns:
        if column.type not in (NUMERICAL, CATEGORICAL, BOOLEAN, DISCRETIZED):
            kind = TYPES.get(column.type, f"number {column.type}")
            raise TypeError(
                f"the feature {column.name!r} has the semantic {kind}; as_forest reads NUMERICAL, CATEGORICAL, "
                "BOOLEAN and DISCRETIZED_NUMERICAL: train without it"
            )
        if len(column.categories) > MOST_NAMED:
            raise ValueError(
                f"the feature {column.name!r} has {len(column.categories):,} categories, and data frames are encoded "
                f"with up to {MOST_NAMED:,}: train with max_vocab_count={MOST_NAMED - 1}"
            )
    if not any(column.type == CATEGORICAL for column in columns):
        return None
    return Encoding(
        tuple(
            EncodedColumn(column.name, "ordered", column.categories)
            if column.type == CATEGORICAL
            else EncodedColumn(column.name)
            for column in columns
        )
    )


def encoded_names(columns: list[InputColumn]) -> tuple[str, ...]:
    """Return names of the features which say that categories come as numbers."""
    return tuple(f"{column.name} (number)" if column.type == CATEGORICAL else column.name for column in columns)


def as_bytes(value: Any) -> bytes:
    """Return the bytes of a field, or refuse a number."""
    if not isinstance(value, bytes):
        raise ModelFileError("the model has a number where a text or a message should be")
    return value


def as_number(fields: dict[int, list[Any]], number: int, default: int = 0) -> int:
    """Return the whole number that a field has."""
    value = fields.get(number, [default])[-1]
    if not isinstance(value, int):
        raise ModelFileError(f"field {number} of the model is no whole number")
    return value


def as_floats(fields: dict[int, list[Any]], number: int) -> NDArray[np.float32]:
    """Return the float32 numbers of a repeated field, packed or not."""
    data = b"".join(as_bytes(value) for value in fields.get(number, []))
    if len(data) % 4:
        raise ModelFileError(f"field {number} of the model does not hold numbers of four bytes")
    return np.array(struct.unpack(f"<{len(data) // 4}f", data), np.float32)


def text_in(fields: dict[int, list[Any]], number: int) -> str:
    """Return the text of a field, empty if it is not there."""
    try:
        return as_bytes(fields.get(number, [b""])[-1]).decode()
    except UnicodeDecodeError:
        raise ModelFileError("the model has a text that is not UTF-8") from None


def _categories(name: str, fields: dict[int, list[Any]]) -> tuple[str, ...]:
    """Return the categories in the order of their numbers."""
    if as_number(fields, 5):
        raise TypeError(
            f"the categories of {name!r} are whole numbers without a dictionary; as_forest reads those with one: "
            "train on text"
        )
    by_number = {}
    for item in fields.get(7, []):
        entry = fields_in(as_bytes(item))
        by_number[as_number(fields_in(as_bytes(entry.get(2, [b""])[-1])), 1)] = text_in(entry, 1)
    if set(by_number) != set(range(as_number(fields, 2))):
        raise ModelFileError(f"the dictionary of {name!r} must number its categories from 0")
    return tuple(by_number[number] for number in range(len(by_number)))
