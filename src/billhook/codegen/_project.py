"""The files of a C project around a model: how to build it, test it and use it."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._columns import column_table, example
from billhook.codegen._example import Example, arduino_library, example_of
from billhook.codegen._form import Form, Input, as_inputs, c_type, suffix
from billhook.codegen._names import comment, identifier
from billhook.codegen._resources import filled_template
from billhook.codegen._source import cost, float_literal, header, source
from billhook.codegen._targets import Target
from billhook.packing import Packed


def project(
    packed: Packed, target: Target, form: Form, name: str, rows: NDArray[np.float32], notes: Sequence[str]
) -> dict[str, str]:
    """Return the texts of all files by their path."""
    prefix = identifier(name)
    about = example_of(packed, form, prefix)
    files = {
        f"{prefix}.h": header(packed, name, form, notes),
        f"{prefix}.c": source(packed, name, form),
        "selftest.c": _self_test(packed, form, prefix, rows),
        "Makefile": makefile(about),
        "README.md": _readme(packed, target, form, prefix, notes),
    }
    return files | arduino_library(about, files) if target.is_arduino else files


def makefile(about: Example) -> str:
    """Return the Makefile of a project."""
    return filled_template("Makefile", sources=" ".join(about.sources), headers=" ".join(about.headers))


def _self_test(packed: Packed, form: Form, prefix: str, rows: NDArray[np.float32]) -> str:
    checks = [f"    CHECK({c_type(kind)}, {kind}, {prefix}_scores{suffix(kind)})" for kind in form.inputs]
    return filled_template(
        "selftest.c",
        prefix=prefix,
        n_rows=len(rows),
        n_features=packed.n_features,
        n_scores=packed.layout.n_columns,
        n_checks=len(rows) * len(form.inputs),
        tables="\n".join(_table(packed, kind, rows) for kind in form.inputs),
        checks="\n".join(checks),
    )


def _table(packed: Packed, kind: Input, rows: NDArray[np.float32]) -> str:
    """Return rows of a kind, and their scores, as arrays in C."""
    return rows_in_c(kind, rows) + "\n" + scores_in_c(packed, kind, rows)


def rows_in_c(kind: Input, rows: NDArray[np.float32]) -> str:
    """Return rows of a kind as an array in C."""
    if kind == "float":
        about = "/* Floats by their bits, so that nothing is lost in print. */\n"
        cells, type_ = [[f"0x{bit:08X}u" for bit in row] for row in rows.view(np.uint32).tolist()], "uint32_t"
    else:
        about, type_ = "", c_type(kind)
        cells = [[f"{number:.0f}" for number in row] for row in as_inputs(rows, kind).tolist()]
    return about + _array(f"{type_} rows_{kind}", rows.shape, cells)


def scores_in_c(packed: Packed, kind: Input, rows: NDArray[np.float32], end: str = "") -> str:
    """Return the scores of rows of a kind as an array in C, whose name may have an ending."""
    scores = packed.scores(as_inputs(rows, kind))
    return _array(f"int32_t expected_{kind}{end}", scores.shape, [map(str, row) for row in scores.tolist()])


def _array(declared: str, shape: tuple[int, ...], cells: Iterable[Iterable[str]]) -> str:
    lines = ",\n".join("    {" + ", ".join(row) + "}" for row in cells)
    return f"static const {declared}[{shape[0]}][{shape[1]}] = {{\n{lines}\n}};\n"


def _readme(packed: Packed, target: Target, form: Form, prefix: str, notes: Sequence[str]) -> str:
    layout = packed.layout
    first = form.inputs[0]
    call = (
        f"    float y = {prefix}_value{suffix(first)}(x);"
        if packed.classes is None
        else f"    int c = {prefix}_predict{suffix(first)}(x);"
    )
    if packed.classes is not None and form.has_names:
        call += f"\n    const char *name = {prefix}_class_name(c);"
    has_missing = first == "float" and layout.missing != "none"
    others = [f"`{prefix}_scores{suffix(kind)}` for `{c_type(kind)}`" for kind in form.inputs[1:]]
    statements = example(packed, form, prefix)
    if statements:
        statements = [*statements, "/* and so on, for every column */"]
    return filled_template(
        "README.md",
        prefix=prefix,
        n_trees=layout.n_trees,
        n_leaves=layout.n_leaves,
        n_features=packed.n_features,
        what="a number" if packed.classes is None else f"one of {packed.n_classes} classes",
        about="\n".join([cost(packed, form), *map(comment, notes)]),
        type=c_type(first),
        initializer="" if statements else " = {...}",
        missing="  /* NAN where a value is missing */" if has_missing else "",
        filled="".join(f"    {statement}\n" for statement in statements),
        call=call,
        scores=f"{prefix}_scores{suffix(first)}",
        scale=float_literal(packed.scale),
        answers=_answers(packed, prefix, suffix(first)),
        also=f"For whole numbers, without floats, there are\n{' and '.join(others)}." if others else "",
        arduino=about_arduino(prefix) if target.is_arduino else "",
        features=features_listed(packed, form, prefix),
    )


def _answers(packed: Packed, prefix: str, end: str) -> str:
    """Return what the model answers besides, in words."""
    if packed.classes is None:
        return f"`{prefix}_value_rows{end}` takes several rows at once."
    text = (
        f"`{prefix}_predict_proba{end}` has the probabilities of all classes as floats, and\n"
        f"`{prefix}_predict_proba8{end}` as bytes, 255 being 1, without floats. `{prefix}_predict_rows{end}` takes\n"
        "several rows at once."
    )
    if packed.n_classes == 2:
        name = f"{prefix.upper()}_THRESHOLD"
        text += f"\nWith `-D{name}=0.8` the second class is predicted where its probability is 0.8 at least."
    return text


def about_arduino(prefix: str) -> str:
    """Return what a README says of the library for Arduino."""
    return f"\n`arduino/{prefix}` is a library for the Arduino IDE: copy it to your `libraries` folder.\n"


def features_listed(packed: Packed, form: Form, prefix: str) -> str:
    """Return what the model takes: its features, or the columns that they come from."""
    if packed.encoding is None:
        names = packed.feature_names or tuple(f"feature {k}" for k in range(packed.n_features))
        listed = "\n".join(f"{k}. {comment(feature)}" for k, feature in enumerate(names))
        return f"The features, in this order:\n\n{listed}"
    others = [f"`{suffix(kind)}` for `{c_type(kind)}`" for kind in form.inputs if kind != form.inputs[0]]
    return filled_template(
        "README_columns.md",
        also=f"Names of functions end in {' and '.join(others)}.\n" if others else "",
        table=column_table(packed.encoding, form, prefix),
    )
