"""XGBoost's fitted tree boosters, and the files it writes."""

from billhook.interop.xgboost._read import read, read_file, read_json

__all__ = ["read", "read_file", "read_json"]
