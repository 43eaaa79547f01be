"""The C reader of blobs, and a project around it."""

from textwrap import fill

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._example import Example
from billhook.codegen._memory import DoesNotFitError, check_reader_fits
from billhook.codegen._names import comment, identifier
from billhook.codegen._resources import filled_template, runtime_source
from billhook.codegen._targets import Target
from billhook.packing import CategoryQuantizer, Packed, RankQuantizer, UniformQuantizer

BYTES_A_LINE = 24
AVR_ARRAY = 32_767
READER = ("billhook.h", "billhook.c")
SETTINGS = "billhook_config.h"
REPLACING = (SETTINGS, "billhook_replace.h", "billhook_replace.c")
LIBRARY = """
`arduino/{prefix}` is a library for the Arduino IDE: copy it to your `libraries` folder. Its example `replace` takes a
new model over the serial line and uses it from then on, without a new firmware. On AVR it is kept in the EEPROM,
after a reset too; elsewhere in memory, until a reset. One that is damaged or cut off is refused: the one before stays
in use where both have room, else the one in flash.
"""


def c_project(packed: Packed, name: str, rows: NDArray[np.float32], target: Target) -> dict[str, str | bytes]:
    """Return the files of a C project: the reader, the model as a blob and as an array, a self-test."""
    prefix = identifier(name)
    n_bytes = len(packed.to_bytes(names=False))
    if target.family == "avr" and n_bytes > AVR_ARRAY:
        raise DoesNotFitError(
            f"the model is a blob of {n_bytes:,} bytes, and avr-gcc compiles arrays of {AVR_ARRAY:,} at most: pack "
            "it with fewer bits, or leave runtime out for C that has it in parts"
        )
    check_reader_fits(n_bytes, n_scratch(packed) + packed.n_features, target)
    files: dict[str, str | bytes] = {
        **{file: runtime_source(f"c/{file}") for file in READER},
        f"{prefix}.bhm": packed.to_bytes(),
        f"{prefix}_blob.h": blob_header(packed, prefix),
        "main.c": _main(packed, prefix, rows),
        "Makefile": filled_template("runtime_c/Makefile", prefix=prefix),
        "README.md": _readme(packed, prefix, len(rows), target),
    }
    if target.is_arduino:
        library = f"arduino/{prefix}"
        sources = {file: runtime_source(f"c/arduino/{file}") for file in REPLACING}
        call = "bh_value(&model, x)" if packed.classes is None else "bh_predict(&model, x)"
        about = {"prefix": prefix, "upper": prefix.upper(), "n_features": packed.n_features, "call": call}
        sketch = filled_template("runtime_c/replace.ino", **about)
        files |= {
            f"{library}/library.properties": filled_template("runtime_c/library.properties", prefix=prefix),
            **{f"{library}/src/{file}": text for file, text in sources.items()},
            **{f"{library}/src/{file}": files[file] for file in (*READER, f"{prefix}_blob.h")},
            f"{library}/examples/replace/replace.ino": sketch,
        }
    return files


def c_example(packed: Packed, name: str) -> Example:
    """Return what the examples of packages consist of that have the reader and a model in them."""
    prefix = identifier(name)
    is_regression = packed.classes is None
    answer = '"%g\\n", (double)bh_value(&model, x)' if is_regression else '"%d\\n", bh_predict(&model, x)'
    return Example(
        prefix=prefix,
        sources=("billhook.c",),
        headers=(f"{prefix}_blob.h", "billhook.h"),
        what="A number" if is_regression else f"One of {packed.n_classes} classes",
        n_features=packed.n_features,
        type_="float",
        filled=(),
        printed=(f"printf({answer});",),
        sent=(),
        prints_floats=is_regression,
        program="example_blob.c",
        self_test="main.c",
        settings=SETTINGS,
    )


def blob_header(packed: Packed, prefix: str) -> str:
    """Return a header with a model, without its names, as a constant array."""
    blob = packed.to_bytes(names=False)
    lines = [blob[at : at + BYTES_A_LINE] for at in range(0, len(blob), BYTES_A_LINE)]
    classes = [] if packed.classes is None else [comment(str(label)) for label in packed.classes.tolist()]
    return filled_template(
        "runtime_c/blob.h",
        prefix=prefix,
        upper=prefix.upper(),
        n_features=packed.n_features,
        n_classes=packed.n_classes,
        n_scratch=n_scratch(packed),
        n_bytes=len(blob),
        classes="".join(f"\n *     {number}  {label}" for number, label in enumerate(classes)),
        numbers=",\n".join("    " + ",".join(map(str, line)) for line in lines),
    )


def n_scratch(packed: Packed) -> int:
    """Return how many numbers of 32 bits the reader needs to compute with: scores, and two codes each."""
    return packed.layout.n_columns + (packed.layout.n_tested + 1) // 2


def not_needed(packed: Packed) -> list[str]:
    """Return the macros by which the reader leaves out what this model does not need."""
    steps = [quantizer for quantizer in packed.quantizers if isinstance(quantizer, UniformQuantizer)]
    needs = {
        "MULTICLASS": packed.layout.n_columns > 1,
        "RANKS": any(isinstance(quantizer, RankQuantizer) for quantizer in packed.quantizers),
        "STEPS": not all(quantizer.is_by_keys for quantizer in steps),
        "KEYS": any(quantizer.is_by_keys for quantizer in steps),
        "CATEGORIES": any(isinstance(quantizer, CategoryQuantizer) for quantizer in packed.quantizers),
        "MISSING": packed.layout.missing != "none",
        "SYMMETRIC": packed.layout.is_symmetric,
        "FACTORS": packed.layout.factor_bits > 0,
        "PROJECTIONS": packed.layout.n_projections > 0,
        "VALUES": packed.classes is None,
        "PROBABILITIES": packed.classes is not None,
    }
    return [f"BH_NO_{part}" for part, is_needed in needs.items() if not is_needed]


def _main(packed: Packed, prefix: str, rows: NDArray[np.float32]) -> str:
    cells = [[f"0x{bits:08X}u" for bits in row] for row in rows.view(np.uint32).tolist()]
    limits = np.iinfo(np.int16)
    whole = np.clip(np.rint(np.nan_to_num(rows)), limits.min, limits.max).astype(np.float32)
    return filled_template(
        "runtime_c/main.c",
        prefix=prefix,
        upper=prefix.upper(),
        n_rows=len(rows),
        n_features=packed.n_features,
        n_scores=packed.layout.n_columns,
        inputs=",\n".join("    {" + ", ".join(row) + "}" for row in cells),
        outputs=_rows_in_c(packed.scores(rows).tolist()),
        whole_inputs=_rows_in_c(whole.astype(np.int16).tolist()),
        whole_outputs=_rows_in_c(packed.scores(whole).tolist()),
    )


def _rows_in_c(rows: list[list[int]]) -> str:
    return ",\n".join("    {" + ", ".join(map(str, row)) + "}" for row in rows)


def _readme(packed: Packed, prefix: str, n_rows: int, target: Target) -> str:
    names = packed.feature_names or tuple(f"feature {k}" for k in range(packed.n_features))
    return filled_template(
        "runtime_c/README.md",
        prefix=prefix,
        upper=prefix.upper(),
        n_trees=packed.layout.n_trees,
        n_leaves=packed.layout.n_leaves,
        n_features=packed.n_features,
        what="a number" if packed.classes is None else f"one of {packed.n_classes} classes",
        n_bytes=len(packed.to_bytes(names=False)),
        n_rows=n_rows,
        declared="float y" if packed.classes is None else "int c",
        call="y = bh_value(&model, x)" if packed.classes is None else "c = bh_predict(&model, x)",
        not_needed=fill(", ".join(f"`{macro}`" for macro in not_needed(packed)), 118),
        arduino=LIBRARY.format(prefix=prefix) if target.is_arduino else "",
        features="\n".join(f"{k}. {comment(feature)}" for k, feature in enumerate(names)),
    )
