"""Yggdrasil Decision Forests (ydf): its models, and the folders it saves them to."""

from billhook.interop.ydf._read import read, read_file

__all__ = ["read", "read_file"]
