"""What needs CatBoost itself: its models as bytes."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


def bytes_of_model(model: Any) -> bytes:
    """Return a fitted model as it stands in a binary file; refuse what CatBoost cannot write, by name."""
    if not hasattr(model, "save_model") or not hasattr(model, "is_fitted"):
        raise TypeError(f"as_forest cannot read catboost's {type(model).__name__}; pass a fitted model")
    if not model.is_fitted():
        raise ValueError(f"this {type(model).__name__} is not fitted yet: call fit first")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.save_model(str(path), format="cbm")
        return path.read_bytes()
