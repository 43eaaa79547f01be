"""CatBoost's fitted models, its JSON and its binary model files."""

from billhook.interop.catboost._read import read, read_file, read_json

__all__ = [
    "read",
    "read_file",
    "read_json",
]
