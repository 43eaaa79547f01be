"""The C reader as WebAssembly in an ES module, and a page that predicts from a form."""

import base64
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._names import identifier
from billhook.codegen._resources import filled_template, runtime_source
from billhook.codegen._targets import Target
from billhook.codegen._toolchains import TIMEOUT_SECONDS, MissingToolError
from billhook.html import render
from billhook.packing import CategoryQuantizer, Packed

SOURCES = ("c/billhook.h", "c/billhook.c", "web/billhook_web.c")
OPTIONS = ("-std=c99", "-Os", "-ffreestanding", "-fno-builtin", "-nostdlib", "-Wl,--no-entry", "-Wl,--strip-all")
# Significant digits of numbers that stand in the form at first.
DIGITS = 4


def web_project(packed: Packed, name: str, rows: NDArray[np.float32], target: Target) -> dict[str, str | bytes]:  # noqa: ARG001 - as all runtimes
    """Return a page, the module with the reader in it, and the model.

    Raises
    ------
    MissingToolError
        If no compiler for WebAssembly is installed.
    """
    prefix = identifier(name)
    module = web_module()
    blob = packed.to_bytes()
    page = render(
        "billhook.codegen",
        "runtime_web/index.html",
        title=name,
        origin=packed.origin,
        module=module.replace("\nexport ", "\n"),
        model=base64.b64encode(blob).decode(),
        fields=fields_of(packed, rows),
        n_bytes=len(blob),
    )
    return {
        "index.html": page,
        "billhook.mjs": module,
        "billhook.d.mts": runtime_source("web/billhook.d.mts"),
        f"{prefix}.bhm": blob,
        "README.md": filled_template("runtime_web/README.md", prefix=prefix, call=_call(packed)),
    }


@cache
def web_module() -> str:
    """Return the ES module with the compiled reader in it."""
    program = base64.b64encode(_compiled()).decode()
    return runtime_source("web/billhook.mjs").replace('"$program"', f'"{program}"')


def _compiled() -> bytes:
    """Return the C reader as WebAssembly, by clang or else by zig."""
    compilers = []
    if which("clang") and which("wasm-ld"):
        compilers.append(["clang", "--target=wasm32"])
    if find_spec("ziglang"):
        compilers.append([sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-freestanding"])
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            (Path(folder) / Path(source).name).write_text(runtime_source(source), encoding="utf-8")
        for compiler in compilers:
            command = [*compiler, *OPTIONS, "billhook.c", "billhook_web.c", "-o", "billhook.wasm"]
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=TIMEOUT_SECONDS,
            )
            if done.returncode == 0:
                return (Path(folder) / "billhook.wasm").read_bytes()
            said = f": {done.stderr[:500]}"
    raise MissingToolError(
        "there is no compiler for WebAssembly; on Debian: apt-get install clang lld; elsewhere: pip install ziglang"
        + said
    )


def fields_of(packed: Packed, rows: NDArray[np.float32]) -> list[dict[str, Any]]:
    """Return what a form asks for: the columns, or features, that the model looks at, with a value to begin with."""
    used = set(packed.used.tolist())
    if packed.encoding is None:
        names = packed.feature_names or tuple(f"feature {k}" for k in range(packed.n_features))
        return [_number(packed, rows, names[feature], feature) for feature in sorted(used)]
    fields, first = [], 0
    for column in packed.encoding.columns:
        if not used.isdisjoint(range(first, first + column.n_features)):
            if column.kind == "number":
                fields.append(_number(packed, rows, column.name, first))
            else:
                missing = None if column.missing is None else column.categories.index(column.missing)
                field = {"name": column.name, "feature": first, "kind": column.kind, "missing": missing}
                fields.append(field | {"categories": list(column.categories)})
        first += column.n_features
    return fields


def _number(packed: Packed, rows: NDArray[np.float32], name: str, feature: int) -> dict[str, Any]:
    """Return the field of a number: the middle of some rows, and from where to where it makes a difference."""
    values = packed.typical_values()[feature].astype(np.float64)
    known = rows[:, feature][np.isfinite(rows[:, feature])].astype(np.float64)
    low, high = float(values.min()), float(values.max())
    margin = max((high - low) * 0.25, abs(high) * 0.05, 1e-6)
    is_whole = _is_category(packed, feature) or bool((known == np.rint(known)).all() and known.size)
    start = float(np.median(known)) if known.size else (low + high) / 2.0
    if is_whole:
        low, high, start = np.floor(low), np.ceil(high), np.rint(start)
        margin = 0.0 if _is_category(packed, feature) else np.ceil(margin)
    low, high = min(low - margin, start), max(high + margin, start)
    numbers = {"low": low, "high": high, "start": start, "step": 1.0 if is_whole else (high - low) / 200.0}
    return {"name": name, "feature": feature, "kind": "number"} | {
        key: float(f"{number:.{DIGITS}g}") for key, number in numbers.items()
    }


def _is_category(packed: Packed, feature: int) -> bool:
    at = packed.used.tolist().index(feature)
    return isinstance(packed.quantizers[at], CategoryQuantizer)


def _call(packed: Packed) -> str:
    return "model.predict(row)" if packed.classes is None else "model.predictProba(row)"
