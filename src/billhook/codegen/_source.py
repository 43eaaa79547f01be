"""The text of a model in C: header and source."""

from collections.abc import Sequence

import numpy as np

from billhook.codegen._balanced import balanced
from billhook.codegen._columns import column_includes, column_lines
from billhook.codegen._compact import compact
from billhook.codegen._fast import fast
from billhook.codegen._form import LIMITS, Form, Program, c_type, suffix
from billhook.codegen._names import comment, identifier, string_literal
from billhook.packing import Packed

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
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    for input_kind in form.inputs:
        if input_kind != "float":
            lines.append(
                f"/* For features that are whole numbers from {LIMITS[input_kind][0]} to {LIMITS[input_kind][1]}. */"
            )
        lines.append(f"void {prefix}_scores{suffix(input_kind)}(const {c_type(input_kind)} *x, int32_t *scores);")
        answer = "float {}_value{}" if packed.classes is None else "int {}_predict{}"
        lines.append(f"{answer.format(prefix, suffix(input_kind))}(const {c_type(input_kind)} *x);")
    if packed.classes is not None:
        lines += ["", f"const char *{prefix}_class_name(int number);"]
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
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(number)
    if not np.isfinite(nearest) or (number != 0.0 and abs(nearest) < np.finfo(np.float32).tiny):
        raise ValueError(f"{number:g} is beyond the floats of C: scale the target, or use predict in Python")
    text = f"{number:.9g}"
    return (text if any(char in text for char in ".e") else text + ".0") + "f"


def source(packed: Packed, name: str = "model", form: Form = COMPACT) -> str:
    """Return the text of the source file."""
    prefix = identifier(name)
    program = WRITERS[form.layout](packed, form, prefix)
    answers = [_answer(packed, program, prefix, suffix(kind), c_type(kind)) for kind in form.inputs]
    names = [] if packed.classes is None else [_class_name(packed, prefix)]
    includes = [f'#include "{prefix}.h"', *(["", "#include <math.h>"] if packed.link == "exp" else []), ""]
    return "\n".join([*includes, program.text, *answers, *names])


def _answer(packed: Packed, program: Program, prefix: str, ending: str, feature: str) -> str:
    if packed.classes is None:
        value = f"{prefix.upper()}_BASE + (float)score * {prefix.upper()}_SCALE"
        value = f"expf({value})" if packed.link == "exp" else value
        return f"""float {prefix}_value{ending}(const {feature} *x)
{{
    int32_t score;
    {prefix}_scores{ending}(x, &score);
    return {value};
}}
"""
    n_columns = packed.layout.n_columns
    if packed.n_classes == 1:
        answer = "return 0;"
    elif n_columns == 1:
        answer = f"return scores[0] {'>=' if packed.ties == 'last' else '>'} 0;"
    else:
        answer = f"""for (c = 1; c < {n_columns}; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;"""
    counters = "\n    int best = 0, c;" if n_columns > 1 else ""
    type_, compute = ("sum_t", "add_up") if program.adds_up else ("int32_t", f"{prefix}_scores")
    return f"""int {prefix}_predict{ending}(const {feature} *x)
{{
    {type_} scores[{n_columns}];{counters}
    {compute}{ending}(x, scores);
    {answer}
}}
"""


def _class_name(packed: Packed, prefix: str) -> str:
    assert packed.classes is not None
    names = ", ".join(string_literal(str(label)) for label in packed.classes.tolist())
    return f"""const char *{prefix}_class_name(int number)
{{
    static const char *const names[] = {{{names}}};
    return number >= 0 && number < {packed.n_classes} ? names[number] : "";
}}
"""
