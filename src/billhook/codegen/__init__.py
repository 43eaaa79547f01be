"""Packed models as C."""

from billhook.codegen._compact import header, source
from billhook.codegen._emit import emit
from billhook.codegen._targets import Target, target_named, targets

__all__ = ["Target", "emit", "header", "source", "target_named", "targets"]
