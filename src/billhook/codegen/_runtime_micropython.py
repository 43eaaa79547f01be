"""The module for MicroPython that reads blobs, with a model beside it."""

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._names import identifier
from billhook.codegen._resources import filled_template, runtime_source
from billhook.codegen._runtime_c import READER
from billhook.codegen._runtime_rust import features_listed
from billhook.codegen._shorten import shorten
from billhook.codegen._targets import Target
from billhook.packing import Packed

# Rows in the test, which is a file that a small device has to read.
MOST_ROWS, MOST_NUMBERS = 32, 1024
USER_MODULE = ("modbillhook.c", "micropython.mk", "micropython.cmake")


def micropython_project(
    packed: Packed,
    name: str,
    rows: NDArray[np.float32],
    target: Target,  # noqa: ARG001 - the same for all
) -> dict[str, str | bytes]:
    """Return the files: the module, the model as a blob, an example, a test on rows; and the C reader as a module."""
    prefix, layout = identifier(name), packed.layout
    rows = rows[: max(1, min(MOST_ROWS, MOST_NUMBERS // max(packed.n_features, 1)))]
    proba = "    model.predict_proba(row)              # one for each of model.classes\n"
    scores = packed.scores(rows).tolist()
    return {
        "billhook.py": micropython_module(),
        f"{prefix}.bhm": packed.to_bytes(),
        "main.py": filled_template("runtime_micropython/main.py.txt", prefix=prefix, row=_row(rows[0])),
        "test_model.py": filled_template(
            "runtime_micropython/test_model.py.txt",
            prefix=prefix,
            n_features=packed.n_features,
            inputs="\n".join(f'    "{row.tobytes().hex()}",' for row in rows.astype("<f4")),
            outputs="\n".join(f"    ({', '.join(map(str, row))},)," for row in scores),
        ),
        **{f"user_module/{file}": runtime_source(f"micropython/user_module/{file}") for file in USER_MODULE},
        **{f"user_module/{file}": runtime_source(f"c/{file}") for file in READER},
        "README.md": filled_template(
            "runtime_micropython/README.md",
            prefix=prefix,
            n_features=packed.n_features,
            n_trees=layout.n_trees,
            n_leaves=layout.n_leaves,
            n_bytes=len(packed.to_bytes()),
            n_rows=len(rows),
            what="a number" if packed.classes is None else f"one of {packed.n_classes} classes",
            answer="a number" if packed.classes is None else "a label",
            proba="" if packed.classes is None else proba,
            features=features_listed(packed),
        ),
    }


def micropython_module() -> str:
    """Return the module as devices get it: with short names, and where the readable one is."""
    short = shorten(runtime_source("micropython/billhook.py"))
    return f"# Reads models of Billhook, which has this in readable form: codegen/runtimes/micropython.\n{short}"


def _row(row: NDArray[np.float32]) -> str:
    """Return numbers as they stand in a list in Python."""
    return ", ".join(str(number) if np.isfinite(number) else f'float("{number}")' for number in row)
