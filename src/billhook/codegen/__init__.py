"""Packed models as C."""

from billhook.codegen._compact import header, source

__all__ = ["header", "source"]
