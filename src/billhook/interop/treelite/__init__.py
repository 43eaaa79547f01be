"""Treelite's models: read from memory, from checkpoints and from JSON, and written."""

import struct
from os import PathLike
from pathlib import Path
from typing import Any

from billhook._files import ModelFileError
from billhook.forest import Forest
from billhook.interop.treelite._checkpoint import begins_checkpoint, read_checkpoint
from billhook.interop.treelite._json import checkpoint_of
from billhook.interop.treelite._read import forest_of
from billhook.interop.treelite._write import write

__all__ = ["begins_checkpoint", "read", "read_file", "read_json", "write"]


def read(model: Any, *, output: int | None = None) -> Forest:
    """Return a treelite.Model as a forest.

    Raw scores are treelite's times `sigmoid_alpha`, which is 1 for most models. Numbers between -1 and 0 are in
    category 0, as in LightGBM; treelite has them in none.

    Parameters
    ----------
    model : treelite.Model
    output : int, optional
        The number of the target, for a model of several.
    """
    if not hasattr(model, "serialize_bytes"):
        raise TypeError(f"as_forest cannot read treelite's {type(model).__name__}; pass a treelite.Model")
    return forest_of(read_checkpoint(model.serialize_bytes()), output)


def read_file(path: str | PathLike[str], *, output: int | None = None) -> Forest:
    """Return the forest of a checkpoint, which treelite's `serialize` wrote; treelite is not needed."""
    try:
        return forest_of(read_checkpoint(Path(path).read_bytes()), output)
    except (ValueError, TypeError, OverflowError, struct.error) as error:
        raise ModelFileError(str(error)) from None


def read_json(model: dict[str, Any], *, output: int | None = None) -> Forest:
    """Return the forest of a model that treelite's `dump_as_json` wrote."""
    try:
        return forest_of(checkpoint_of(model), output)
    except ModelFileError:
        raise
    except (KeyError, AttributeError) as error:
        raise ModelFileError(f"treelite's JSON lacks {error}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(str(error)) from None
