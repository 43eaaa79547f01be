"""Programs that read a model as a blob, by language: a project around each, with the model in it.

A runtime is a function from a packed model, a name, rows to test with and a target to the files of a project.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook.codegen._runtime_c import c_project
from billhook.codegen._runtime_micropython import micropython_project
from billhook.codegen._runtime_rust import rust_project
from billhook.codegen._runtime_web import web_project
from billhook.codegen._targets import Target
from billhook.packing import Packed

RuntimeProject = Callable[[Packed, str, NDArray[np.float32], Target], Mapping[str, str | bytes]]
RUNTIMES: dict[str, RuntimeProject] = {
    "c": c_project,
    "micropython": micropython_project,
    "rust": rust_project,
    "web": web_project,
}


def runtime_named(name: str) -> RuntimeProject:
    """Return the function that makes the projects of this runtime."""
    return resolve_name(name, RUNTIMES, "there is no runtime")
