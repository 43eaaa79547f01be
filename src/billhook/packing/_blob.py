"""A packed model as one string of bytes that programs read as they are, on a device or elsewhere: a blob.

All numbers are little-endian. What a reader needs comes first and ends with a checksum; names may follow:

    magic      3 bytes   "BHM"
    version    1 byte    1
    length     4 bytes   of all of this, up to and with the checksum
    scale      4 bytes   float32: what one unit of a score is worth
    base       4 bytes   float32: what is added to that; 0 for classes
    n          1 byte    how many bytes the fields take
    fields     n bytes   see `FIELDS`: what kind of model it is, counts and widths
    data                 the bytes of the model, as `_encode` describes them
    checksum   4 bytes   CRC-32 of all before it

    names                UTF-8 JSON, to the end but for 4 bytes: labels of classes, names of features, how columns of
                         a table become features, and scale and base in full
    checksum   4 bytes   CRC-32 of the names; where there are no names, there is none

A field is a whole number of up to 32 bits in groups of 7, the lowest first, each in a byte whose highest bit says
that another follows. A number that may be negative, i, is written as 2 i, or as -2 i - 1 if it is below 0. Fields at
the end that are 0 are left out. A reader refuses more fields than it knows.
"""

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from billhook._files import ModelFileError
from billhook.forest import labels_from_json, labels_to_json
from billhook.packing._groups import GROUPS, Group
from billhook.packing._layout import FACTOR_BITS, ByteLayout
from billhook.packing._stored_layout import layout_from
from billhook.tables import encoding_from_json, encoding_to_json

if TYPE_CHECKING:
    from billhook.packing._packed import Packed

MAGIC = b"BHM"
VERSION = 1
PREFIX = struct.Struct("<3sBIffB")
CHECKSUM = struct.Struct("<I")
# Readers count bits in 32 bits, and classes in 16.
MOST_BYTES = 2**29 - 1
MOST_CLASSES = 2**16 - 1
# Of leaves, and of numbers that leaves have.
MOST_NUMBERS = 2**25 - 1
# Of a test, and of what is written of a tree.
MOST_BITS = 32

LINKS = ("identity", "logistic", "softmax", "exp", "isolation")
MISSING = ("none", "right", "left", "split")
# Bits of the first field. The link is in its three lowest, where missing values go in the next two.
FLAGS = {
    "is_regression": 1 << 5,
    "last_wins": 1 << 6,  # of two classes with equal scores
    "rounds_down": 1 << 7,  # numbers of 64 bits, when they become features
    "has_ranks": 1 << 8,  # not steps
    "has_map": 1 << 9,
    "is_symmetric": 1 << 10,
    "has_factors": 1 << 11,
    "has_one_score": 1 << 12,  # else one for each class
    "has_one_value": 1 << 13,  # a leaf; else one for each score
}
FIELDS = (
    "flags",
    "n_features",
    "n_classes",  # 1 for regression
    "n_trees",
    "n_leaves",
    "n_used",
    "code_bits",
    "tree_bits",
    "least_inner",
    "leaf_bits",
    "base",  # may be negative
    "base_bytes",
    "n_pairs",
    "n_entries",
    "shift",
    "offset",  # may be negative
    "scale",
    "shift_bytes",
    "offset_bytes",
    "scale_bytes",
    "n_grids",
    "group",  # 0, or which of `GROUPS`, from 1 on
    "ask_bits",
    "gap_bits",
    "many_bits",
    "count_bits",
    "n_thresholds",
    "n_categorical",
    "n_categories",
    "category_bits",
    "size_bits",
    "n_levels",  # of all trees, if they are symmetric: their `n_inner`
)
SIGNED = ("base", "offset")
NAMES = ("classes", "feature_names", "origin", "encoding", "scale", "base")


def to_blob(packed: "Packed", *, names: bool = True) -> bytes:
    """Return a model as a blob."""
    fields = b"".join(map(_field_bytes, _without_last_zeros(_fields_of(packed))))
    core = fields + packed.data.tobytes()
    length = PREFIX.size + len(core) + CHECKSUM.size
    _check_countable(packed)
    if length > MOST_BYTES:
        raise ValueError(f"a model of {packed.nbytes:,} bytes is too large for a blob, which may have {MOST_BYTES:,}")
    scale, base = as_float32(packed.scale), as_float32(packed.base)
    core = PREFIX.pack(MAGIC, VERSION, length, scale, base, len(fields)) + core
    parts = [core, CHECKSUM.pack(zlib.crc32(core))]
    if names:
        text = json.dumps(_names_of(packed), ensure_ascii=False, separators=(",", ":")).encode()
        parts += [text, CHECKSUM.pack(zlib.crc32(text))]
    return b"".join(parts)


def _check_countable(packed: "Packed") -> None:
    """Raise ValueError if there is more of something than readers count."""
    layout = packed.layout
    if packed.n_classes > MOST_CLASSES:
        raise ValueError(f"a blob may have {MOST_CLASSES:,} classes, not {packed.n_classes:,}")
    n_numbers = max(layout.n_leaves, (layout.n_entries or layout.n_leaves) * layout.n_values)
    if n_numbers > MOST_NUMBERS:
        raise ValueError(f"a blob may have {MOST_NUMBERS:,} numbers of leaves, not {n_numbers:,}")
    n_bits = max(layout.test_bits, layout.tree_bits + layout.column_bits)
    if n_bits > MOST_BITS:
        raise ValueError(f"a test, or the size of a tree, may take {MOST_BITS} bits in a blob, not {n_bits}")


def from_blob(blob: bytes) -> "Packed":
    """Return the model that a blob is.

    Raises
    ------
    ModelFileError
        If it is damaged, made up, or of another version; it says what is wrong.
    """
    from billhook.packing._packed import Packed

    scale, base, fields, data = _core(blob)
    layout, about = _layout_of(fields)
    if data.size != layout.sections["end"]:
        raise ModelFileError(f"the layout is one of {layout.sections['end']:,} bytes; the data have {data.size:,}")
    n_classes = about.pop("n_classes")
    names: dict[str, Any] = {
        "classes": None if about["task"] == "regression" else np.arange(n_classes),
        "feature_names": None,
        "origin": "",
        "encoding": None,
        "scale": scale,
        "base": base,
    }
    names |= _read_names(blob[_length(blob) :])
    try:
        packed = Packed(data=data, layout=layout, n_features=layout.n_features, **about, **names)
        packed.check()
    except (ValueError, TypeError, IndexError, AssertionError) as error:
        raise ModelFileError(f"it is no valid packed model: {error}") from None
    if packed.n_classes != n_classes:
        raise ModelFileError(f"there are names of {packed.n_classes} classes, of which the model has {n_classes}")
    return packed


def is_blob(start: bytes) -> bool:
    """Whether a file that begins so is a blob."""
    return start.startswith(MAGIC)


def _fields_of(packed: "Packed") -> dict[str, int]:
    layout = packed.layout
    is_set = {
        "is_regression": packed.classes is None,
        "last_wins": packed.ties == "last",
        "rounds_down": packed.rounding == "down",
        "has_ranks": layout.grid == "ranks",
        "has_map": layout.has_map,
        "is_symmetric": layout.is_symmetric,
        "has_factors": layout.factor_bits > 0,
        "has_one_score": layout.n_columns == 1,
        "has_one_value": layout.n_values == 1,
    }
    flags = LINKS.index(packed.link) | MISSING.index(layout.missing) << 3
    group = Group(layout.group, layout.radix)
    fields = {name: getattr(layout, name) for name in FIELDS if hasattr(layout, name)} | {
        "flags": flags | sum(FLAGS[name] for name, value in is_set.items() if value),
        "n_classes": packed.n_classes,
        "group": GROUPS.index(group) + 1 if group.size else 0,
        "n_levels": layout.n_inner if layout.is_symmetric else 0,
    }
    for name in SIGNED:
        fields[name] = 2 * fields[name] if fields[name] >= 0 else -2 * fields[name] - 1
    return {name: fields[name] for name in FIELDS}


def _layout_of(numbers: list[int]) -> tuple[ByteLayout, dict[str, Any]]:
    """Return the layout that the fields describe, and what else they say about the model."""
    fields = dict(zip(FIELDS, numbers, strict=True))
    for name in SIGNED:
        fields[name] = -(fields[name] // 2) - 1 if fields[name] & 1 else fields[name] // 2
    flags = fields.pop("flags")
    known = 0x1F | sum(FLAGS.values())
    if flags & ~known or flags & 7 >= len(LINKS):
        raise ModelFileError(f"it is of a kind that is not known ({flags:#x}): read it with a newer Billhook")
    is_set = {name: bool(flags & bit) for name, bit in FLAGS.items()}
    group, n_classes, n_levels = fields.pop("group"), fields.pop("n_classes"), fields.pop("n_levels")
    most = 2 if is_set["has_one_score"] else MOST_CLASSES
    if group > len(GROUPS) or not 1 <= n_classes <= most:
        raise ModelFileError(f"the layout has {n_classes} classes and groups of kind {group}")
    size, radix = GROUPS[group - 1] if group else (0, 0)
    n_columns = 1 if is_set["has_one_score"] else n_classes
    layout = layout_from(
        fields
        | {
            "n_inner": n_levels if is_set["is_symmetric"] else max(fields["n_leaves"] - fields["n_trees"], 0),
            "n_columns": n_columns,
            "n_values": 1 if is_set["has_one_value"] else n_columns,
            "grid": "ranks" if is_set["has_ranks"] else "steps",
            "has_map": is_set["has_map"],
            "missing": MISSING[flags >> 3 & 3],
            "factor_bits": FACTOR_BITS if is_set["has_factors"] else 0,
            "group": size,
            "radix": radix,
            "is_symmetric": is_set["is_symmetric"],
        }
    )
    about = {
        "link": LINKS[flags & 7],
        "task": "regression" if is_set["is_regression"] else "classification",
        "ties": "last" if is_set["last_wins"] else "first",
        "rounding": "down" if is_set["rounds_down"] else "nearest",
        "n_classes": n_classes,
    }
    return layout, about


def _core(blob: bytes) -> tuple[float, float, list[int], np.ndarray[Any, np.dtype[np.uint8]]]:
    """Return scale, base, fields and data of a blob whose checksum is right."""
    if not is_blob(blob):
        raise ModelFileError(f"it does not begin with {MAGIC.decode()}: it is no blob of a model")
    if len(blob) < PREFIX.size + CHECKSUM.size:
        raise ModelFileError(f"it is cut off after {len(blob)} bytes")
    _, version, length, scale, base, n_bytes = PREFIX.unpack_from(blob)
    if version != VERSION:
        raise ModelFileError(f"it is of version {version}, and this Billhook reads version {VERSION}")
    if length > len(blob):
        raise ModelFileError(f"it is cut off: {len(blob):,} bytes of {length:,}")
    begin, end = PREFIX.size + n_bytes, length - CHECKSUM.size
    if end < begin or length > MOST_BYTES:
        raise ModelFileError(f"its length cannot be {length:,} bytes")
    if CHECKSUM.unpack_from(blob, end)[0] != zlib.crc32(blob[:end]):
        raise ModelFileError("it is damaged: its checksum is wrong")
    fields = _read_fields(blob[PREFIX.size : begin])
    return scale, base, fields, np.frombuffer(blob[begin:end], np.uint8)


def _length(blob: bytes) -> int:
    return int(PREFIX.unpack_from(blob)[2])


def _read_fields(text: bytes) -> list[int]:
    numbers: list[int] = []
    number = shift = 0
    for byte in text:
        number |= (byte & 0x7F) << shift
        shift += 7
        if number >> 32 or shift > 35:
            raise ModelFileError("a field has more than 32 bits")
        if not byte & 0x80:
            numbers.append(number)
            number = shift = 0
    if shift or len(numbers) > len(FIELDS):
        raise ModelFileError(f"its {len(numbers)} fields are more than the {len(FIELDS)} known, or cut off")
    return numbers + [0] * (len(FIELDS) - len(numbers))


def _field_bytes(number: int) -> bytes:
    low: list[int] = []
    while number >= 0x80:
        low.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*low, number])


def _without_last_zeros(fields: dict[str, int]) -> list[int]:
    numbers = list(fields.values())
    while numbers[-1] == 0:
        numbers.pop()
    return numbers


def as_float32(number: float, remedy: str = "scale the target") -> float:
    """Return the nearest float32, or raise ValueError if there is none that programs can compute with."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(number)
    if not np.isfinite(nearest) or (number != 0.0 and abs(nearest) < np.finfo(np.float32).tiny):
        raise ValueError(f"{number:g} is beyond the floats of C: {remedy}")
    return float(nearest)


def _names_of(packed: "Packed") -> dict[str, Any]:
    """Return what is of no use to the walk down the trees; only what there is."""
    names = {
        "classes": None if packed.classes is None else labels_to_json(packed.classes),
        "feature_names": packed.feature_names,
        "origin": packed.origin or None,
        "encoding": None if packed.encoding is None else encoding_to_json(packed.encoding),
        "scale": packed.scale,
        "base": packed.base or None,
    }
    return {name: value for name, value in names.items() if value is not None}


def _read_names(text: bytes) -> dict[str, Any]:
    if not text:
        return {}
    end = len(text) - CHECKSUM.size
    if end < 0 or CHECKSUM.unpack_from(text, end)[0] != zlib.crc32(text[:end]):
        raise ModelFileError("its names are damaged or cut off: their checksum is wrong")
    try:
        names = json.loads(text[:end].decode())
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its names are no JSON: {error}") from None
    if not isinstance(names, dict) or not set(names) <= set(NAMES):
        raise ModelFileError(f"its names must be an object with some of {', '.join(NAMES)}")
    if "classes" in names:
        names["classes"] = labels_from_json(names["classes"])
    if "encoding" in names:
        try:
            names["encoding"] = encoding_from_json(names["encoding"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelFileError(f"its encoding cannot be read: {error}") from None
    if isinstance(names.get("feature_names"), list):
        names["feature_names"] = tuple(names["feature_names"])
    return names
