"""Packed models as C, and what they take on a target."""

from billhook.codegen._choose_layout import (
    LAYOUTS,
    LayoutChoice,
    LayoutCost,
    TooSlowError,
    check_max_cycles,
    choose_layout,
    measure_each,
)
from billhook.codegen._emit import emit
from billhook.codegen._estimate import data_of
from billhook.codegen._form import Form, Input, LayoutName, as_inputs, form_of
from billhook.codegen._measure import Measurement, measure
from billhook.codegen._memory import (
    DoesNotFitError,
    TargetFit,
    allows_projections,
    data_limit,
    fits_in,
    flash_with_reader,
    most_flash,
    target_fits,
)
from billhook.codegen._names import check_name, identifier
from billhook.codegen._packages import PackageName, packages_named
from billhook.codegen._resources import firmware_source
from billhook.codegen._runtimes import RUNTIMES, runtime_named
from billhook.codegen._source import header, source
from billhook.codegen._targets import Target, target_named, targets
from billhook.codegen._toolchains import COMPILER_OPTIONS, TOOLCHAINS, MissingToolError, Toolchain, tools_for

__all__ = [
    "COMPILER_OPTIONS",
    "LAYOUTS",
    "RUNTIMES",
    "TOOLCHAINS",
    "DoesNotFitError",
    "Form",
    "Input",
    "LayoutChoice",
    "LayoutCost",
    "LayoutName",
    "Measurement",
    "MissingToolError",
    "PackageName",
    "Target",
    "TargetFit",
    "TooSlowError",
    "Toolchain",
    "allows_projections",
    "as_inputs",
    "check_max_cycles",
    "check_name",
    "choose_layout",
    "data_limit",
    "data_of",
    "emit",
    "firmware_source",
    "fits_in",
    "flash_with_reader",
    "form_of",
    "header",
    "identifier",
    "measure",
    "measure_each",
    "most_flash",
    "packages_named",
    "runtime_named",
    "source",
    "target_fits",
    "target_named",
    "targets",
    "tools_for",
]
