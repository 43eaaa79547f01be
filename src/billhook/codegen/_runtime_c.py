"""The C reader of blobs, and a project around it."""

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._names import identifier
from billhook.codegen._targets import Target
from billhook.packing import Packed

BYTES_A_LINE = 24


def c_project(packed: Packed, name: str, rows: NDArray[np.float32], target: Target) -> dict[str, str | bytes]:  # noqa: ARG001
    """Return the files of a C project: the reader, the model as a blob and as an array, a self-test."""
    prefix = identifier(name)
    return {
        f"{prefix}.bhm": packed.to_bytes(),
        f"{prefix}_blob.h": blob_header(packed.to_bytes(names=False), prefix),
    }


def blob_header(blob: bytes, prefix: str) -> str:
    """Return a blob as a constant array in C."""
    lines = [blob[at : at + BYTES_A_LINE] for at in range(0, len(blob), BYTES_A_LINE)]
    numbers = ",\n".join("    " + ",".join(map(str, line)) for line in lines)
    return f"static const unsigned char {prefix}_blob[{len(blob)}] = {{\n{numbers}\n}};\n"
