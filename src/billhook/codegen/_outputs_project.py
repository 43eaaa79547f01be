"""The files of a C project for several outputs: a model for each, and a function that answers for all."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._example import Example, arduino_library, example_of
from billhook.codegen._form import Form, Input, c_type, suffix
from billhook.codegen._project import about_arduino, features_listed, makefile, rows_in_c, scores_in_c
from billhook.codegen._resources import filled_template
from billhook.codegen._source import cost, header, source
from billhook.codegen._targets import Target
from billhook.packing import Packed


def outputs_project(
    outputs: Mapping[str, Packed],
    target: Target,
    form: Form,
    prefix: str,
    rows: NDArray[np.float32],
    notes: Sequence[str],
) -> dict[str, str]:
    """Return the texts of all files by their path; the notes are one for each output, or none."""
    about = outputs_example(outputs, form, prefix)
    files = {
        f"{prefix}.h": filled_template("outputs/outputs.h", **_values(outputs, form, prefix)),
        f"{prefix}.c": "\n".join([f'#include "{prefix}.h"', "", *_functions(outputs, form, prefix)]),
    }
    for number, (output, packed) in enumerate(outputs.items()):
        files[f"{output}.h"] = header(packed, output, form, notes[number : number + 1])
        files[f"{output}.c"] = source(packed, output, form)
    files |= {
        "selftest.c": _self_test(outputs, form, prefix, rows),
        "Makefile": makefile(about),
        "README.md": _readme(outputs, target, form, prefix),
    }
    return files | arduino_library(about, files) if target.is_arduino else files


def outputs_example(outputs: Mapping[str, Packed], form: Form, prefix: str) -> Example:
    """Return what the examples around several outputs consist of."""
    first, packed = next(iter(outputs.items()))
    one, answers = example_of(packed, form, first), _answers(packed)
    begin = (
        f"{_answer_type(packed)} {answers}[{prefix.upper()}_N_OUTPUTS];",
        "int k;",
        f"{_name(packed, form.inputs[0], prefix)}(x, {answers});",
        f"for (k = 0; k < {prefix.upper()}_N_OUTPUTS; k++)",
    )
    printed = 'printf("%g\\n", (double)values[k]);' if packed.classes is None else 'printf("%d\\n", classes[k]);'
    return one._replace(
        prefix=prefix,
        sources=(f"{prefix}.c", *(f"{output}.c" for output in outputs)),
        headers=(f"{prefix}.h", *(f"{output}.h" for output in outputs)),
        what=f"{len(outputs)} {_what(packed)}",
        printed=(*begin, f"    {printed}"),
        sent=(*begin, f"  Serial.println({answers}[k]);"),
    )


def _what(packed: Packed) -> str:
    return "numbers" if packed.classes is None else "classes"


def _answers(packed: Packed) -> str:
    """Return the name of the array of answers."""
    return "values" if packed.classes is None else "classes"


def _answer_type(packed: Packed) -> str:
    return "float" if packed.classes is None else "int"


def _name(packed: Packed, kind: Input, prefix: str, all_: str = "_all") -> str:
    """Return the name of the function that answers for all outputs, or that of one."""
    return f"{prefix}_{'value' if packed.classes is None else 'predict'}{all_}{suffix(kind)}"


def _declared(packed: Packed, kind: Input, prefix: str) -> str:
    return f"void {_name(packed, kind, prefix)}(const {c_type(kind)} *x, {_answer_type(packed)} *{_answers(packed)})"


def _functions(outputs: Mapping[str, Packed], form: Form, prefix: str) -> list[str]:
    """Return the functions that answer for all outputs."""
    packed = next(iter(outputs.values()))
    return [f"{_declared(packed, kind, prefix)}\n{{\n{_each(outputs, kind)}\n}}\n" for kind in form.inputs]


def _each(outputs: Mapping[str, Packed], kind: Input) -> str:
    """Return statements that ask one output after the other."""
    return "\n".join(
        f"    {_answers(packed)}[{number}] = {_name(packed, kind, output, '')}(x);"
        for number, (output, packed) in enumerate(outputs.items())
    )


def _values(outputs: Mapping[str, Packed], form: Form, prefix: str) -> dict[str, object]:
    """Return what stands for the names in the templates."""
    packed, kind = next(iter(outputs.values())), form.inputs[0]
    has_missing = kind == "float" and any(model.layout.missing != "none" for model in outputs.values())
    listed = [
        f" * {number}. {output}.h: {_about(model)}, {cost(model, form)}"
        for number, (output, model) in enumerate(outputs.items())
    ]
    return {
        "prefix": prefix,
        "upper": prefix.upper(),
        "n_outputs": len(outputs),
        "n_features": packed.n_features,
        "what": "a number" if packed.classes is None else "a class",
        "listed": "\n".join(listed),
        "type": c_type(kind),
        "missing": "; NAN where one is missing" if has_missing else "",
        "answer": _answer_type(packed),
        "answers": _answers(packed),
        "call": f"{_name(packed, kind, prefix)}(x, {_answers(packed)});",
        "includes": "\n".join(f'#include "{output}.h"' for output in outputs),
        "declarations": "\n".join(f"{_declared(packed, each, prefix)};" for each in form.inputs),
    }


def _about(packed: Packed) -> str:
    trees = "one tree" if packed.layout.n_trees == 1 else f"{packed.layout.n_trees} trees"
    classes = "" if packed.classes is None else f", {packed.n_classes} classes"
    return f"{trees}, {packed.layout.n_leaves} leaves{classes}"


def _self_test(outputs: Mapping[str, Packed], form: Form, prefix: str, rows: NDArray[np.float32]) -> str:
    tables, answers, checks = [], [], []
    for kind in form.inputs:
        tables.append(rows_in_c(kind, rows))
        for output, packed in outputs.items():
            tables.append(scores_in_c(packed, kind, rows, f"_{output}"))
            scores = f"{packed.layout.n_columns}, {output}_scores{suffix(kind)}"
            checks.append(f"    CHECK({c_type(kind)}, {kind}, {output}, {scores})")
        packed = next(iter(outputs.values()))
        head = f"const {c_type(kind)} *x, {_answer_type(packed)} *{_answers(packed)}"
        answers.append(f"static void answers_{kind}({head})\n{{\n{_each(outputs, kind)}\n}}\n")
        checks.append(f"    CHECK_ALL({c_type(kind)}, {kind}, {_name(packed, kind, prefix)})")
    return filled_template(
        "outputs/selftest.c",
        **_values(outputs, form, prefix) | {"answers": "\n".join(answers)},
        n_rows=len(rows),
        tables="\n".join(tables),
        checks="\n".join(checks),
        n_checks=len(rows) * len(checks),
    )


def _readme(outputs: Mapping[str, Packed], target: Target, form: Form, prefix: str) -> str:
    first, packed = next(iter(outputs.items()))
    values = _values(outputs, form, prefix)
    filled = example_of(packed, form, first).filled
    if filled:
        filled = (*filled, "/* and so on, for every column */")
    rows = [
        f"| {number} | `{output}.h`, `{output}.c` | {_about(model)} | {cost(model, form)} |"
        for number, (output, model) in enumerate(outputs.items())
    ]
    functions = "`_predict`, `_predict_proba` and `_class_name`" if packed.classes is not None else "`_value`"
    return filled_template(
        "outputs/README.md",
        **values | {"missing": values["missing"] and "  /* NAN where a value is missing */"},
        initializer="" if filled else " = {...}",
        filled="".join(f"    {statement}\n" for statement in filled),
        table="\n".join(["| | files | | |", "|---|---|---|---|", *rows]),
        functions=functions,
        first=first,
        arduino=about_arduino(prefix) if target.is_arduino else "",
        features=features_listed(packed, form, first),
    )
