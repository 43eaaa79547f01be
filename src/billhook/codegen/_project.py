"""The files of a C project around a model: how to build it, test it and use it."""

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._compact import float_literal, header, source
from billhook.codegen._names import comment, identifier
from billhook.codegen._targets import Target
from billhook.packing import Packed


def project(packed: Packed, target: Target, name: str, rows: NDArray[np.float32]) -> dict[str, str]:
    """Return the texts of all files by their path."""
    prefix = identifier(name)
    files = {
        f"{prefix}.h": header(packed, name),
        f"{prefix}.c": source(packed, name),
        "selftest.c": _self_test(packed, prefix, rows),
        "Makefile": _makefile(prefix),
        "README.md": _readme(packed, target, prefix),
    }
    if target.is_arduino:
        library = f"arduino/{prefix}"
        example = f"{library}/examples/predict/predict.ino"
        files |= {
            f"{library}/library.properties": _properties(prefix),
            f"{library}/src/{prefix}.h": files[f"{prefix}.h"],
            f"{library}/src/{prefix}.c": files[f"{prefix}.c"],
            example: _sketch(packed, prefix),
        }
    return files


def _makefile(prefix: str) -> str:
    return f"""CC ?= cc
CFLAGS ?= -std=c99 -O2 -Wall -Wextra -pedantic

test: selftest
\t./selftest

selftest: selftest.c {prefix}.c {prefix}.h
\t$(CC) $(CFLAGS) selftest.c {prefix}.c -o $@

clean:
\trm -f selftest

.PHONY: test clean
"""


def _self_test(packed: Packed, prefix: str, rows: NDArray[np.float32]) -> str:
    scores = packed.scores(rows)
    bits = rows.view(np.uint32)
    n_rows, n_features = rows.shape
    inputs = ",\n".join("    {" + ", ".join(f"0x{bit:08X}u" for bit in row) + "}" for row in bits.tolist())
    outputs = ",\n".join("    {" + ", ".join(map(str, row)) + "}" for row in scores.tolist())
    return f"""/* Compares the scores of {n_rows} rows with those that they had when the model was written. */

#include <stdio.h>
#include <string.h>

#include "{prefix}.h"

/* Floats by their bits, so that nothing is lost in print. */
static const uint32_t rows[{n_rows}][{n_features}] = {{
{inputs}
}};

static const int32_t expected[{n_rows}][{packed.layout.n_columns}] = {{
{outputs}
}};

int main(void)
{{
    int row, wrong = 0;
    for (row = 0; row < {n_rows}; row++) {{
        float x[{n_features}];
        int32_t scores[{packed.layout.n_columns}];
        memcpy(x, rows[row], sizeof x);
        {prefix}_scores(x, scores);
        if (memcmp(scores, expected[row], sizeof scores)) {{
            printf("row %d: the scores differ\\n", row);
            wrong++;
        }}
    }}
    printf("%d of {n_rows} rows as expected\\n", {n_rows} - wrong);
    return wrong != 0;
}}
"""


def _readme(packed: Packed, target: Target, prefix: str) -> str:
    layout = packed.layout
    kind = "a number" if packed.classes is None else f"one of {packed.n_classes} classes"
    names = packed.feature_names or tuple(f"feature {k}" for k in range(packed.n_features))
    features = "\n".join(f"{k}. {comment(feature)}" for k, feature in enumerate(names))
    call = (
        f"    float y = {prefix}_value(x);"
        if packed.classes is None
        else f"    int c = {prefix}_predict(x);\n    const char *name = {prefix}_class_name(c);"
    )
    arduino = (
        f"\n`arduino/{prefix}` is a library for the Arduino IDE: copy it to your `libraries` folder.\n"
        if target.is_arduino
        else ""
    )
    return f"""# {prefix}

{layout.n_trees} trees, {layout.n_leaves} leaves; predicts {kind} from {packed.n_features} features.
{packed.nbytes} bytes of constant data; no memory but the stack, no library.

Add `{prefix}.h` and `{prefix}.c` to your program:

    #include "{prefix}.h"

    float x[{packed.n_features}] = {{...}};  /* NAN where a value is missing */
{call}

`{prefix}_scores` has the raw scores in units of {float_literal(packed.scale)}. `make test` compiles the model
for this machine and compares it with the rows in `selftest.c`.
{arduino}
The features, in this order:

{features}
"""


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


def _sketch(packed: Packed, prefix: str) -> str:
    if packed.classes is None:
        answer = f"Serial.println({prefix}_value(x));"
    else:
        answer = f"Serial.println({prefix}_class_name({prefix}_predict(x)));"
    return f"""#include <{prefix}.h>

void setup() {{
  Serial.begin(115200);
}}

void loop() {{
  float x[{prefix.upper()}_N_FEATURES] = {{0}};  // put your measurements here
  {answer}
  delay(1000);
}}
"""
