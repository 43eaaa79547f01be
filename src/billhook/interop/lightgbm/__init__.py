"""LightGBM's fitted tree boosters, and the files that it writes."""

from billhook.interop.lightgbm._read import read, read_file, read_json

__all__ = [
    "read",
    "read_file",
    "read_json",
]
