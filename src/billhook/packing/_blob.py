"""A packed model as one string of bytes that programs read as they are, on a device or elsewhere: a blob.

Numbers are big-endian, and checksums little-endian, as they come out of a register. What a reader needs comes first
and ends with a checksum; names may follow:

    magic      3 bytes   "BHM"
    version    1 byte    1
    length     4 bytes   of all of this, up to and with the checksum
    flags      1 byte    see `FLAGS`
    kind       1 byte    how scores become answers: a place in `KINDS`
    bits       1 byte    that say how many numbers a section has
    nothing    1 byte    0
    sections             the model, as `_blob_sections` describes it
    checksum   4 bytes   CRC-32 of all before it

    names                UTF-8 JSON, to the end but for 4 bytes: labels of classes, names of features, how columns of
                         a table become features, and scale and base in full
    checksum   4 bytes   CRC-32 of the names; where there are no names, there is none
"""

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from billhook._files import ModelFileError
from billhook.forest import labels_from_json, labels_to_json
from billhook.packing._blob_model import BlobModel, model_of, sections_of
from billhook.packing._blob_sections import MOST_ANYWHERE, MOST_COUNT, read_sections, write_sections
from billhook.packing._encode import encode
from billhook.tables import encoding_from_json, encoding_to_json

if TYPE_CHECKING:
    from billhook.packing._packed import Packed

MAGIC = b"BHM"
VERSION = 1
HEADER = struct.Struct(">3sBIBBBB")
CHECKSUM = struct.Struct("<I")
# Readers count bits in 32 bits, and classes in 16.
MOST_BYTES = 2**29 - 1
MOST_CLASSES = 2**16 - 1

# Tasks and links.
KINDS = (
    ("classification", "identity"),
    ("classification", "logistic"),
    ("classification", "softmax"),
    ("classification", "isolation"),
    ("regression", "identity"),
    ("regression", "exp"),
)
FLAGS = {
    "last_wins": 1,  # of two classes with equal scores
    "rounds_down": 2,  # numbers of 64 bits, when they become features
    "has_no_missing": 4,  # what is not a number is an infinity of its sign
    "has_one_value": 8,  # a leaf; else one for each score
    "has_one_score": 16,  # of two classes: that of the second, less that of the first
}
NAMES = ("classes", "feature_names", "origin", "encoding", "scale", "base")


def to_blob(packed: "Packed", *, names: bool = True) -> bytes:
    """Return a model as a blob."""
    _check_countable(packed)
    count_bits, data = write_sections(sections_of(packed, (as_float32(packed.scale), as_float32(packed.base))))
    length = HEADER.size + len(data) + CHECKSUM.size
    if length > MOST_BYTES:
        raise ValueError(f"a model of {packed.nbytes:,} bytes is too large for a blob, which may have {MOST_BYTES:,}")
    is_set = {
        "last_wins": packed.ties == "last",
        "rounds_down": packed.rounding == "down",
        "has_no_missing": packed.layout.missing == "none",
        "has_one_value": packed.layout.n_values == 1,
        "has_one_score": packed.layout.n_columns < packed.n_classes,
    }
    flags = sum(FLAGS[name] for name, value in is_set.items() if value)
    core = HEADER.pack(MAGIC, VERSION, length, flags, KINDS.index((packed.task, packed.link)), count_bits, 0) + data
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
    if n_numbers > MOST_COUNT:
        raise ValueError(f"a blob may have {MOST_COUNT:,} numbers of a kind, not {n_numbers:,}")
    if packed.n_features >= 1 << MOST_ANYWHERE:
        raise ValueError(f"a blob may have {(1 << MOST_ANYWHERE) - 1:,} features, not {packed.n_features:,}")


def from_blob(blob: bytes) -> "Packed":
    """Return the model that a blob is.

    Raises
    ------
    ModelFileError
        If it is damaged, made up, or of another version; it says what is wrong.
    """
    from billhook.packing._packed import Packed

    length, flags, (task, link), sections = _core(blob)
    try:
        model = model_of(sections, has_one_value=flags["has_one_value"], missing_values=not flags["has_no_missing"])
        layout, data = encode(
            model.walked,
            model.used,
            model.quantizers,
            model.n_features,
            model.leaf_bits,
            model.factor,
            missing_values=not flags["has_no_missing"],
            is_symmetric=model.is_symmetric,
            projections=model.projections,
        )
        data.flags.writeable = False
        packed = Packed(
            data=data,
            layout=layout,
            n_features=model.n_features,
            link=link,
            task=task,
            ties="last" if flags["last_wins"] else "first",
            rounding="down" if flags["rounds_down"] else "nearest",
            **_about(model, task, flags, _read_names(blob[length:])),
        )
        packed.check()
    except (ValueError, TypeError, IndexError, AssertionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"it is no valid packed model: {error}") from None
    return packed


def _about(model: BlobModel, task: str, flags: dict[str, bool], names: dict[str, Any]) -> dict[str, Any]:
    """Return classes, names and the like: those that a blob has, or what there is without."""
    n_columns = model.walked.base.size
    if flags["has_one_score"] and (task == "regression" or n_columns > 1):
        raise ModelFileError(f"{n_columns} scores of {task} cannot tell two classes apart")
    n_classes = n_columns + flags["has_one_score"]
    classes = None if task == "regression" else np.arange(n_classes)
    scale, base = model.floats
    if classes is not None and "classes" in names and len(names["classes"]) != n_classes:
        raise ModelFileError(
            f"there are names of {len(names['classes'])} classes, of which the model has {n_classes}"
        )
    without = {"feature_names": None, "origin": "", "encoding": None, "scale": scale, "base": base}
    return without | {"classes": classes} | names


def is_blob(start: bytes) -> bool:
    """Whether a file that begins so is a blob."""
    return start.startswith(MAGIC)


def _core(blob: bytes) -> tuple[int, dict[str, bool], tuple[str, str], dict[str, Any]]:
    """Return length, flags, task and link, and sections of a blob whose checksum is right."""
    if not is_blob(blob):
        raise ModelFileError(f"it does not begin with {MAGIC.decode()}: it is no blob of a model")
    if len(blob) < HEADER.size + CHECKSUM.size:
        raise ModelFileError(f"it is cut off after {len(blob)} bytes")
    _, version, length, bits, kind, count_bits, nothing = HEADER.unpack_from(blob)
    if version != VERSION:
        raise ModelFileError(f"it is of version {version}, and this Billhook reads version {VERSION}")
    if length > len(blob):
        raise ModelFileError(f"it is cut off: {len(blob):,} bytes of {length:,}")
    end = length - CHECKSUM.size
    if end < HEADER.size or length > MOST_BYTES:
        raise ModelFileError(f"its length cannot be {length:,} bytes")
    if CHECKSUM.unpack_from(blob, end)[0] != zlib.crc32(blob[:end]):
        raise ModelFileError("it is damaged: its checksum is wrong")
    if bits & ~sum(FLAGS.values()) or kind >= len(KINDS) or nothing:
        raise ModelFileError(f"it is of a kind that is not known ({bits:#x}, {kind}): read it with a newer Billhook")
    flags = {name: bool(bits & flag) for name, flag in FLAGS.items()}
    sections = read_sections(np.frombuffer(blob[HEADER.size : end], np.uint8), count_bits)
    return length, flags, KINDS[kind], sections


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
