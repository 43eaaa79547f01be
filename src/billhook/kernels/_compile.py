from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

Params = ParamSpec("Params")
Result = TypeVar("Result")


def compiled(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Return the function compiled on first call, cached on disk, and free of the interpreter lock."""
    return cast("Callable[Params, Result]", numba.njit(cache=True, nogil=True)(function))
