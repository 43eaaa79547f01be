"""The files of a C project around a model: how to build it, test it and use it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._columns import column_table, example
from billhook.codegen._form import Form, Input, as_inputs, c_type, suffix
from billhook.codegen._names import comment, identifier
from billhook.codegen._source import cost, float_literal, header, source
from billhook.codegen._targets import Target
from billhook.packing import Packed


def project(
    packed: Packed, target: Target, form: Form, name: str, rows: NDArray[np.float32], notes: Sequence[str]
) -> dict[str, str]:
    """Return the texts of all files by their path."""
    prefix = identifier(name)
    files = {
        f"{prefix}.h": header(packed, name, form, notes),
        f"{prefix}.c": source(packed, name, form),
        "selftest.c": _self_test(packed, form, prefix, rows),
        "Makefile": _makefile(prefix),
        "README.md": _readme(packed, target, form, prefix, notes),
    }
    if target.is_arduino:
        library = f"arduino/{prefix}"
        example = f"{library}/examples/predict/predict.ino"
        files |= {
            f"{library}/library.properties": _properties(prefix),
            f"{library}/src/{prefix}.h": files[f"{prefix}.h"],
            f"{library}/src/{prefix}.c": files[f"{prefix}.c"],
            example: _sketch(packed, form, prefix),
        }
    return files


def _makefile(prefix: str) -> str:
    return f"""CC ?= cc
CFLAGS ?= -std=c99 -O2 -Wall -Wextra -pedantic

test: selftest
\t./selftest

selftest: selftest.c {prefix}.c {prefix}.h
\t$(CC) $(CFLAGS) selftest.c {prefix}.c -o $@ -lm

clean:
\trm -f selftest

.PHONY: test clean
"""


def _self_test(packed: Packed, form: Form, prefix: str, rows: NDArray[np.float32]) -> str:
    tables = "\n".join(_table(packed, kind, rows) for kind in form.inputs)
    checks = "\n".join(f"    CHECK({c_type(kind)}, {kind}, {prefix}_scores{suffix(kind)})" for kind in form.inputs)
    n_rows, n_features = rows.shape
    return f"""/* Compares the scores of {n_rows} rows with those that they had when the model was written. */

#include <stdio.h>
#include <string.h>

#include "{prefix}.h"

{tables}
#define CHECK(feature, kind, compute) \\
    for (row = 0; row < {n_rows}; row++) {{ \\
        feature x[{n_features}]; \\
        int32_t scores[{packed.layout.n_columns}]; \\
        memcpy(x, rows_##kind[row], sizeof x); \\
        compute(x, scores); \\
        if (memcmp(scores, expected_##kind[row], sizeof scores)) {{ \\
            printf(#kind " row %d: the scores differ\\n", row); \\
            wrong++; \\
        }} \\
    }}

int main(void)
{{
    int row, wrong = 0;
{checks}
    printf("%d of {n_rows * len(form.inputs)} rows as expected\\n", {n_rows * len(form.inputs)} - wrong);
    return wrong != 0;
}}
"""


def _table(packed: Packed, kind: Input, rows: NDArray[np.float32]) -> str:
    """Return rows of a kind, and their scores."""
    if kind == "float":
        about = "/* Floats by their bits, so that nothing is lost in print. */\n"
        cells, type_ = [[f"0x{bit:08X}u" for bit in row] for row in rows.view(np.uint32).tolist()], "uint32_t"
    else:
        rows = as_inputs(rows, kind)
        about, type_ = "", c_type(kind)
        cells = [[f"{number:.0f}" for number in row] for row in rows.tolist()]
    inputs = ",\n".join("    {" + ", ".join(row) + "}" for row in cells)
    outputs = ",\n".join("    {" + ", ".join(map(str, row)) + "}" for row in packed.scores(rows).tolist())
    return f"""{about}static const {type_} rows_{kind}[{len(rows)}][{packed.n_features}] = {{
{inputs}
}};

static const int32_t expected_{kind}[{len(rows)}][{packed.layout.n_columns}] = {{
{outputs}
}};
"""


def _readme(packed: Packed, target: Target, form: Form, prefix: str, notes: Sequence[str]) -> str:
    layout = packed.layout
    kind = "a number" if packed.classes is None else f"one of {packed.n_classes} classes"
    first = form.inputs[0]
    call = (
        f"    float y = {prefix}_value{suffix(first)}(x);"
        if packed.classes is None
        else f"    int c = {prefix}_predict{suffix(first)}(x);\n    const char *name = {prefix}_class_name(c);"
    )
    arduino = (
        f"\n`arduino/{prefix}` is a library for the Arduino IDE: copy it to your `libraries` folder.\n"
        if target.is_arduino
        else ""
    )
    missing = "  /* NAN where a value is missing */" if first == "float" and layout.missing != "none" else ""
    about = "\n".join([cost(packed, form), *map(comment, notes)])
    others = [f"`{prefix}_scores{suffix(one)}` for `{c_type(one)}`" for one in form.inputs[1:]]
    also = f"For whole numbers, without floats, there are\n{' and '.join(others)}." if others else ""
    lines = example(packed, form, prefix)
    filled = "".join(f"    {line}\n" for line in [*lines, "/* and so on, for every column */"] if lines)
    return f"""# {prefix}

{layout.n_trees} trees, {layout.n_leaves} leaves; predicts {kind} from {packed.n_features} features.
{about}

Add `{prefix}.h` and `{prefix}.c` to your program:

    #include "{prefix}.h"

    {c_type(first)} x[{packed.n_features}]{"" if filled else " = {...}"};{missing}
{filled}{call}

`{prefix}_scores{suffix(first)}` has the raw scores in units of {float_literal(packed.scale)}. {also}
Compile with `-Os -ffunction-sections` and link with `-Wl,--gc-sections`, as the Arduino IDE does, so that functions
that you do not call take no room. `make test` compiles the model for this machine and compares it with the rows in
`selftest.c`.
{arduino}
{_features(packed, form, prefix)}
"""


def _features(packed: Packed, form: Form, prefix: str) -> str:
    """Return what the model takes: its features, or the columns that they come from."""
    if packed.encoding is None:
        names = packed.feature_names or tuple(f"feature {k}" for k in range(packed.n_features))
        listed = "\n".join(f"{k}. {comment(feature)}" for k, feature in enumerate(names))
        return f"The features, in this order:\n\n{listed}"
    others = [f"`{suffix(kind)}` for `{c_type(kind)}`" for kind in form.inputs if kind != form.inputs[0]]
    also = f"Names of functions end in {' and '.join(others)}.\n" if others else ""
    return f"""The columns of the table. A number goes to its place in `x`; a category goes there by the function of
its column, which sets all its inputs. What is none of the categories counts as missing.
{also}
{column_table(packed.encoding, form, prefix)}"""


def _properties(prefix: str) -> str:
    return f"""name={prefix}
version=1.0.0
author=Billhook
maintainer=Billhook
sentence=A tree ensemble as constant data and a small program that reads it.
paragraph=Written by Billhook.
category=Data Processing
url=
architectures=*
includes={prefix}.h
"""


def _sketch(packed: Packed, form: Form, prefix: str) -> str:
    first = form.inputs[0]
    if packed.classes is None:
        answer = f"Serial.println({prefix}_value{suffix(first)}(x));"
    else:
        answer = f"Serial.println({prefix}_class_name({prefix}_predict{suffix(first)}(x)));"
    filled = "".join(f"  {line}\n" for line in example(packed, form, prefix))
    return f"""#include <{prefix}.h>

void setup() {{
  Serial.begin(115200);
}}

void loop() {{
  {c_type(first)} x[{prefix.upper()}_N_FEATURES] = {{0}};  // put your measurements here
{filled}  {answer}
  delay(1000);
}}
"""
