"""Packed models as C, and what they take on a device."""

from billhook.codegen._emit import emit, made_up_rows
from billhook.codegen._form import Form, as_inputs, form_of
from billhook.codegen._measure import Measurement, MissingToolError, measure
from billhook.codegen._memory import DoesNotFitError, check_fits, fits_in, flash_with_reader, room_for_data
from billhook.codegen._source import header, source
from billhook.codegen._targets import Target, target_named, targets

__all__ = [
    "DoesNotFitError",
    "Form",
    "Measurement",
    "MissingToolError",
    "Target",
    "as_inputs",
    "check_fits",
    "emit",
    "fits_in",
    "flash_with_reader",
    "form_of",
    "header",
    "made_up_rows",
    "measure",
    "room_for_data",
    "source",
    "target_named",
    "targets",
]
