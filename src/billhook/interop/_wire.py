"""Protocol buffers: one message, or millions of small ones at once.

A message is a sequence of fields, each a tag (its number times 8, plus its type) and what it holds: a number in
groups of 7 bits (VARINT), 8 bytes, 4 bytes, or a length and so many bytes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook._types import Bytes

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
LENGTHS = {EIGHT_BYTES: 8, FOUR_BYTES: 4}
# Of a message that is decoded together with others, where a field comes once at most.
MAX_FIELDS = 32
CUT_OFF = "the model is cut off, or damaged"


class MessageField(NamedTuple):
    """One field of many messages.

    Attributes
    ----------
    message : int64 array
        The messages that have the field.
    start, end : int64 array
        Where its bytes are.
    number : int64 array
        What a VARINT is; 0 for other types.
    """

    message: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    number: NDArray[np.int64]

    def numbers(self, n_messages: int, default: int = 0) -> NDArray[np.int64]:
        """Return the number of each message."""
        numbers = np.full(n_messages, default, np.int64)
        numbers[self.message] = self.number
        return numbers

    def floats(self, data: Bytes, n_messages: int, dtype: str) -> NDArray[Any]:
        """Return the number of 4 or 8 bytes of each message, 0 where it has none."""
        numbers = np.zeros(n_messages, dtype)
        numbers[self.message] = gathered(data, self.start, numbers.itemsize).view(dtype)[:, 0]
        return numbers


def gathered(data: Bytes, start: NDArray[np.int64], length: int) -> Bytes:
    """Return the bytes from each start on, of shape (starts, length)."""
    if not start.size:
        return np.zeros((0, length), np.uint8)
    return sliding_window_view(data, length)[start]


def fields_of(
    data: Bytes, start: NDArray[np.int64], end: NDArray[np.int64], known: Mapping[int, int]
) -> dict[int, MessageField]:
    """Return the fields of the messages that lie between each start and end.

    Parameters
    ----------
    data : uint8 array
    start, end : int64 array
    known : mapping from number to type
        The fields that a message may have, each once at most. Others are refused.
    """
    place, message = start.copy(), np.arange(start.size)
    parts: dict[int, list[MessageField]] = {number: [] for number in known}
    for _ in range(MAX_FIELDS):
        is_open = place < end
        place, end, message = place[is_open], end[is_open], message[is_open]
        if not place.size:
            return {number: _joined(found) for number, found in parts.items()}
        tag = data[place]
        place += 1
        is_known = np.zeros(place.size, np.bool_)
        for number, type_ in known.items():
            chosen = np.flatnonzero(tag == number * 8 + type_)
            if chosen.size:
                found = _found(data, message[chosen], place[chosen], end[chosen], type_)
                parts[number].append(found)
                place[chosen] = found.end
                is_known[chosen] = True
        if not is_known.all():
            odd = int(tag[~is_known][0])
            raise ModelFileError(f"a node has a field {odd // 8} of type {odd % 8}, which Billhook does not know")
    raise ModelFileError("a node has too many fields")


def fields_in(data: bytes) -> dict[int, list[Any]]:
    """Return what the fields of one message hold, by number: integers, and bytes for all else."""
    fields: dict[int, list[Any]] = {}
    place = 0
    while place < len(data):
        tag, place = varint_at(data, place)
        type_ = tag % 8
        if type_ == VARINT:
            number, place = varint_at(data, place)
            fields.setdefault(tag // 8, []).append(number)
        elif type_ in (EIGHT_BYTES, FOUR_BYTES, BYTES):
            length, place = (LENGTHS[type_], place) if type_ in LENGTHS else varint_at(data, place)
            content, place = data[place : place + length], place + length
            if length < 0 or place > len(data):
                raise ModelFileError(CUT_OFF)
            fields.setdefault(tag // 8, []).append(content)
        else:
            raise ModelFileError(CUT_OFF)
    return fields


def integers_in(data: bytes) -> list[int]:
    """Return the numbers of a packed field."""
    numbers, place = [], 0
    while place < len(data):
        number, place = varint_at(data, place)
        numbers.append(number)
    return numbers


def varint_at(data: bytes | memoryview, place: int) -> tuple[int, int]:
    """Return the number that begins at a place, and the place behind it."""
    number = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise ModelFileError(CUT_OFF)
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            # Negative numbers come as the 64 bits that they are.
            return (number - 2**64 if 2**63 <= number < 2**64 else number), place
    raise ModelFileError(CUT_OFF)


def _found(
    data: Bytes, message: NDArray[np.int64], place: NDArray[np.int64], limit: NDArray[np.int64], type_: int
) -> MessageField:
    number = np.zeros(place.size, np.int64)
    if type_ == VARINT:
        number, end = _varints(data, place, limit)
        start = place
    elif type_ == BYTES:
        length, start = _varints(data, place, limit)
        if (length < 0).any() or (length > limit - start).any():
            raise ModelFileError(CUT_OFF)
        end = start + length
    else:
        start, end = place, place + LENGTHS[type_]
        if (end > limit).any():
            raise ModelFileError(CUT_OFF)
    return MessageField(message, start, end, number)


def _varints(
    data: Bytes, place: NDArray[np.int64], limit: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers that begin at these places, and the places behind them."""
    number, end = np.zeros(place.size, np.int64), place.copy()
    unread = np.arange(place.size)
    for shift in range(0, 70, 7):
        if (end[unread] >= limit[unread]).any():
            raise ModelFileError(CUT_OFF)
        byte = data[end[unread]].astype(np.int64)
        end[unread] += 1
        number[unread] |= (byte & 127) << min(shift, 63)
        unread = unread[byte >= 128]
        if not unread.size:
            return number, end
    raise ModelFileError(CUT_OFF)


def _joined(parts: list[MessageField]) -> MessageField:
    if not parts:
        nothing = np.zeros(0, np.int64)
        return MessageField(nothing, nothing, nothing, nothing)
    joined = MessageField(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    if np.bincount(joined.message).max() > 1:
        raise ModelFileError("a node has a field twice")
    return joined
