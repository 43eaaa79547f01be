"""The text of a model in C: header and source."""

from collections.abc import Sequence

from billhook.codegen._answers import VERSION, declarations, definitions, includes, threshold_lines
from billhook.codegen._balanced import balanced
from billhook.codegen._columns import column_includes, column_lines
from billhook.codegen._compact import compact
from billhook.codegen._fast import fast
from billhook.codegen._form import Form, c_type, suffix
from billhook.codegen._names import comment, identifier
from billhook.packing import Packed, as_float32

COMPACT = Form()
WRITERS = {"compact": compact, "balanced": balanced, "fast": fast}


def header(packed: Packed, name: str = "model", form: Form = COMPACT, notes: Sequence[str] = ()) -> str:
    """Return the text of the header; the notes are lines that stand in the comment at its beginning."""
    prefix = identifier(name)
    upper = prefix.upper()
    layout = packed.layout
    kind = "a number" if packed.classes is None else f"{packed.n_classes} classes"
    first = form.inputs[0]
    call = (
        f" * float y = {prefix}_value{suffix(first)}(x);"
        if packed.classes is None
        else f" * int c = {prefix}_predict{suffix(first)}(x);   a class from 0 to {packed.n_classes - 1}"
    )
    missing = "; NAN where one is missing" if first == "float" and layout.missing != "none" else ""
    trees = "one tree" if layout.n_trees == 1 else f"{layout.n_trees} trees"
    lines = [
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        f"/* {comment(packed.origin or 'A forest')}: {trees}, {layout.n_leaves} leaves, {kind}.",
        f" * {cost(packed, form)}",
        *(f" * {comment(note)}" for note in notes),
        " *",
        f" * {c_type(first)} x[{packed.n_features}] = ...;   the features, in the order of training{missing}",
        call,
        " */",
        "",
        *column_includes(packed, form),
        "#include <stdint.h>",
        "",
        "/* Of the functions below: another where one of them has another meaning. */",
        f"#define {upper}_VERSION {VERSION}",
        f"#define {upper}_N_FEATURES {packed.n_features}",
        f"#define {upper}_N_CLASSES {packed.n_classes}",
        f"#define {upper}_N_SCORES {layout.n_columns}",
        *([f"#define {upper}_DATA_BYTES {packed.nbytes}"] if form.layout == "compact" else []),
        "/* What one unit of a score is worth. */",
        f"#define {upper}_SCALE {float_literal(packed.scale)}",
        *(
            ["/* What is added to that. */", f"#define {upper}_BASE {float_literal(packed.base)}"]
            if packed.classes is None
            else []
        ),
        *threshold_lines(packed, prefix),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    lines += declarations(packed, form, prefix)
    lines += ["", "#ifdef __cplusplus", "}", "#endif", *column_lines(packed, form, prefix), "", "#endif", ""]
    return "\n".join(lines)


def cost(packed: Packed, form: Form) -> str:
    """Return what the model takes, in words."""
    if form.layout == "compact":
        return f"{packed.nbytes} bytes of data, all constant; no memory but the stack."
    if form.layout == "balanced":
        return "Bytes in the order in which they are read, for less time; no memory but the stack."
    return "Comparisons in straight lines, made for speed; no memory but the stack."


def float_literal(number: float) -> str:
    """Return a C literal of the nearest float."""
    as_float32(number, "scale the target, or use predict in Python")
    text = f"{number:.9g}"
    return (text if any(char in text for char in ".e") else text + ".0") + "f"


def source(packed: Packed, name: str = "model", form: Form = COMPACT) -> str:
    """Return the text of the source file."""
    prefix = identifier(name)
    program = WRITERS[form.layout](packed, form, prefix)
    begin = [f'#include "{prefix}.h"', "", *includes(packed, prefix)]
    return "\n".join([*begin, program.text, *definitions(packed, program, form, prefix)])
