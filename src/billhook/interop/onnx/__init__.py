"""ONNX: its tree ensembles read, and forests written as graphs."""

from os import PathLike
from pathlib import Path
from typing import Any

from billhook._files import ModelFileError
from billhook.forest import Forest
from billhook.interop.onnx._read import forest_of
from billhook.interop.onnx._write import write

__all__ = ["begins_model", "read", "read_file", "write"]

# The fields that may come after the version, in the order in which they are written: producer_name,
# producer_version, domain, model_version, doc_string, graph, opset_import.
VERSION_TAG = 0x08
NEXT_TAGS = (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42)
MAX_VERSION = 100


def read(model: Any, *, output: int | None = None) -> Forest:
    """Return the tree ensemble of an onnx.ModelProto as a forest.

    Scores and classes are those of ONNX Runtime.

    Parameters
    ----------
    model : onnx.ModelProto
    output : int, optional
        The number of the target, for a regressor of several.
    """
    if type(model).__name__ != "ModelProto":
        raise TypeError(f"as_forest cannot read onnx's {type(model).__name__}; pass an onnx.ModelProto")
    return forest_of(model.SerializeToString(), output)


def begins_model(start: bytes) -> bool:
    """Return whether a file begins as ONNX's models do: with the version of the format, and a field of a model."""
    return len(start) > 3 and start[0] == VERSION_TAG and 0 < start[1] <= MAX_VERSION and start[2] in NEXT_TAGS


def read_file(path: str | PathLike[str], *, output: int | None = None) -> Forest:
    """Return the forest of a model in a file of ONNX."""
    try:
        return forest_of(Path(path).read_bytes(), output)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(str(error)) from None
