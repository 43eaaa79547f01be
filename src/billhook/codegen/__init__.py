"""Packed models as C, and what they take on a device."""

from billhook.codegen._emit import emit
from billhook.codegen._form import Form
from billhook.codegen._measure import Measurement, MissingToolError, measure
from billhook.codegen._source import header, source
from billhook.codegen._targets import Target, target_named, targets

__all__ = [
    "Form",
    "Measurement",
    "MissingToolError",
    "Target",
    "emit",
    "header",
    "measure",
    "source",
    "target_named",
    "targets",
]
