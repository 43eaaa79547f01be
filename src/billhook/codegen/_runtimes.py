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


# What people look for.
ALSO_CALLED = dict.fromkeys(("wasm", "webassembly", "javascript", "js", "typescript", "node", "html"), "web")
ALSO_CALLED |= dict.fromkeys(("arduino", "c99", "c++", "cpp"), "c") | {"python": "micropython", "cargo": "rust"}


def runtime_named(name: str) -> RuntimeProject:
    """Return the function that makes the projects of this runtime."""
    called = ALSO_CALLED.get(str(name).strip().lower())
    if called:
        raise ValueError(f"there is no runtime {name!r}; did you mean {called!r}?")
    return resolve_name(name, RUNTIMES, "there is no runtime")
