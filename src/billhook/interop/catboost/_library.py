"""What needs CatBoost itself: its models written as JSON."""

import os
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from billhook._files import ModelFileError
from billhook.interop._json_parts import decode_trees

# Far more than a file of a gigabyte needs.
TIMEOUT_SECONDS = 600
DAMAGED = "CatBoost cannot open it: it is damaged"
# What the process that opens a file runs.
CONVERT = "import sys; from billhook.interop.catboost._library import convert; convert(*sys.argv[1:])"


def json_of_model(model: Any) -> dict[str, Any]:
    """Return a fitted model as it stands in a JSON file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        _save(model, path)
        read: dict[str, Any] = decode_trees(path.read_bytes())
    return read


def json_of_file(path: Path) -> dict[str, Any]:
    """Return the model in a binary file of CatBoost.

    A process of its own opens it: the library does not check all that it finds in a file, and one that is damaged can
    end the process that reads it.
    """
    if find_spec("catboost") is None:
        raise ImportError(
            "to read a .cbm file, pip install 'billhook[catboost]'; JSON, which save_model(path, format='json') "
            "writes, is read without"
        )
    _check_length(path)
    with TemporaryDirectory() as folder:
        converted = Path(folder) / "model.json"
        command = [sys.executable, "-c", CONVERT, str(path.absolute()), str(converted)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise ModelFileError(f"CatBoost did not open it within {TIMEOUT_SECONDS} seconds") from None
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            reason = said[-1] if done.returncode == 1 and said else DAMAGED
            raise ModelFileError(reason)
        try:
            read: dict[str, Any] = decode_trees(converted.read_bytes())
        except ModelFileError:
            raise ModelFileError(DAMAGED) from None
    return read


def convert(source: str, target: str) -> None:
    """Write the model in a binary file of CatBoost as JSON; what is wrong with it ends the process."""
    from catboost import CatBoost, CatBoostError

    try:
        _save(CatBoost().load_model(source), Path(target))
    except (CatBoostError, TypeError, ValueError) as error:
        sys.exit(" ".join(str(error).split()))


def _check_length(path: Path) -> None:
    """Raise ModelFileError for a file that is cut off: its first part says how long that is."""
    with open(path, "rb") as file:
        _, length, long = struct.unpack("<4sIQ", file.read(16).ljust(16, b"\0"))
    expected = 16 + long if length == 2**32 - 1 else 8 + length
    if length == 0 or path.stat().st_size < expected:
        raise ModelFileError("this CatBoost model is cut off")


def _save(model: Any, path: Path) -> None:
    """Write a fitted model as JSON; refuse what CatBoost cannot write, by name."""
    if not hasattr(model, "save_model") or not hasattr(model, "is_fitted"):
        raise TypeError(f"as_forest cannot read catboost's {type(model).__name__}; pass a fitted model")
    if not model.is_fitted():
        raise ValueError(f"this {type(model).__name__} is not fitted yet: call fit first")
    for kind in ("text", "embedding"):
        places = getattr(model, f"get_{kind}_feature_indices")()
        if places:
            names = ", ".join(repr(str(model.feature_names_[place])) for place in places)
            raise TypeError(
                f"as_forest reads features that are numbers or categories, and no {kind} features: turn {names} into "
                "columns of numbers before training, or drop it"
            )
    model.save_model(str(path), format="json")
