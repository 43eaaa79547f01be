"""What a program answers besides scores: classes, numbers and probabilities, for a row or for many."""

from billhook.codegen._form import LIMITS, Form, Input, Program, c_type, suffix
from billhook.codegen._names import string_literal
from billhook.codegen._probabilities import as_bytes, as_floats
from billhook.packing import Packed

# The version of the functions of a model: it rises where one of them changes its meaning.
VERSION = 1
# Scores are whole numbers: what is this close to one was meant to be it.
CLOSE = 1e-6
# Scores are compared without a loop where there are so many splits for each: there, that is 2 % of the code at most.
SPLITS_IN_LINE = 32
HIGHER = """/* Compilers for these processors would make instructions of it that are always read, but for what they do
 * not know. */
#if defined(__thumb2__)
#define AT_TIMES __asm__ volatile("");
#else
#define AT_TIMES
#endif
#define HIGHER(c) if (scores[c] > most) { AT_TIMES most = scores[c]; best = c; }
"""


def declarations(packed: Packed, form: Form, prefix: str) -> list[str]:
    """Return lines of a header that declare all functions."""
    lines = []
    for kind in form.inputs:
        if kind != "float":
            lines.append(f"/* For features that are whole numbers from {LIMITS[kind][0]} to {LIMITS[kind][1]}. */")
        x, end = f"const {c_type(kind)} *x", suffix(kind)
        lines.append(f"void {prefix}_scores{end}({x}, int32_t *scores);")
        if packed.classes is None:
            lines.append(f"float {prefix}_value{end}({x});")
        else:
            lines.append(f"int {prefix}_predict{end}({x});")
    lines += ["", "/* Rows stand in x one after the other. */", *_declared_rows(packed, form, prefix)]
    if packed.classes is not None:
        lines += ["", *_declared_probabilities(packed, form, prefix)]
        if form.has_names:
            lines += ["", f"const char *{prefix}_class_name(int number);"]
    return lines


def _declared_rows(packed: Packed, form: Form, prefix: str) -> list[str]:
    return [_rows_of(packed, kind, prefix) + ";" for kind in form.inputs]


def _declared_probabilities(packed: Packed, form: Form, prefix: str) -> list[str]:
    lines = [
        f"/* The probabilities of all {packed.n_classes} classes, to 1e-5. As bytes they need no floats: 255 is 1,",
        " * and they are off by 0.6 of 255 at most. */",
    ]
    for kind in form.inputs:
        x, end = f"const {c_type(kind)} *x", suffix(kind)
        lines.append(f"void {prefix}_predict_proba{end}({x}, float *probabilities);")
        lines.append(f"void {prefix}_predict_proba8{end}({x}, uint8_t *probabilities);")
    if packed.link == "isolation":
        lines += [
            "",
            "/* How much of an outlier a row is, from 0 to 1: more than 0.5 for one that is predicted so. */",
        ]
        lines += [f"float {prefix}_anomaly_score{suffix(kind)}(const {c_type(kind)} *x);" for kind in form.inputs]
    return lines


def threshold_lines(packed: Packed, prefix: str) -> list[str]:
    """Return lines of a header on the threshold of the second of two classes."""
    if packed.n_classes != 2:
        return []
    name = f"{prefix.upper()}_THRESHOLD"
    return [
        "",
        f"/* With {name} defined where {prefix}.c is compiled, as by -D{name}=0.8, the second class is predicted",
        " * where its probability is at least that; without it, where it is the likelier one. It must be above 0 and",
        " * below 1. */",
    ]


def includes(packed: Packed, prefix: str) -> list[str]:
    """Return lines of a source that include what the functions need."""
    if packed.link == "exp":
        return ["#include <math.h>", ""]
    if packed.n_classes == 2:
        return [f"#if defined({prefix.upper()}_THRESHOLD)", "#include <math.h>", "#endif", ""]
    if packed.n_classes > 2:
        name = f"{prefix.upper()}_THRESHOLD"
        return [f"#if defined({name})", f'#error "{name} is for two classes"', "#endif", ""]
    return []


def definitions(packed: Packed, program: Program, form: Form, prefix: str) -> list[str]:
    """Return all functions that answer."""
    if packed.classes is None:
        functions = [_value(packed, kind, prefix) for kind in form.inputs]
    else:
        functions = [_predict(packed, program, form, kind, prefix) for kind in form.inputs]
        functions = [HIGHER, *functions] if _compares_in_line(packed, form) else functions
    functions += [_rows(packed, kind, prefix) for kind in form.inputs]
    if packed.classes is None:
        return functions
    functions += [as_floats(packed, prefix), as_bytes(packed)]
    for kind in form.inputs:
        functions += [_probabilities(packed, kind, prefix, "float"), _probabilities(packed, kind, prefix, "uint8_t")]
    if packed.link == "isolation":
        functions += [_anomaly_score(kind, prefix) for kind in form.inputs]
    return [*functions, _class_name(packed, prefix)] if form.has_names else functions


def _value(packed: Packed, kind: Input, prefix: str) -> str:
    value = f"{prefix.upper()}_BASE + (float)score * {prefix.upper()}_SCALE"
    value = f"expf({value})" if packed.link == "exp" else value
    return f"""float {prefix}_value{suffix(kind)}(const {c_type(kind)} *x)
{{
    int32_t score;
    {prefix}_scores{suffix(kind)}(x, &score);
    return {value};
}}
"""


def _compares_in_line(packed: Packed, form: Form) -> bool:
    layout = packed.layout
    return form.layout == "fast" and packed.n_classes > 2 and layout.n_splits >= SPLITS_IN_LINE * layout.n_columns


def _predict(packed: Packed, program: Program, form: Form, kind: Input, prefix: str) -> str:
    n_columns = packed.layout.n_columns
    is_in_line = _compares_in_line(packed, form)
    if packed.n_classes == 1:
        answer = "return 0;"
    elif n_columns == 1:
        answer = f"return scores[0] {'>=' if packed.ties == 'last' else '>'} 0;"
    elif is_in_line:
        higher = "\n    ".join(f"HIGHER({c})" for c in range(1, n_columns))
        answer = f"most = scores[0];\n    {higher}\n    return best;"
    else:
        answer = f"""most = scores[0];
    for (c = 1; c < {n_columns}; c++)
        if (scores[c] > most) {{
            most = scores[c];
            best = c;
        }}
    return best;"""
    # Of two classes, it may matter how much their scores are.
    made = program.sums_of.get(kind) if packed.n_classes > 2 else None
    type_ = "sum_t" if made else "int32_t"
    call = f"{'add_up' if made else f'{prefix}_scores'}{suffix(kind)}(x, scores);"
    declared = f"    {type_} scores[{n_columns}];"
    if made not in (None, "sum_t"):
        declared, call = f"    {made} made;\n    const sum_t *scores = made.sums;", f"add_up{suffix(kind)}(x, &made);"
    counters = f"\n    {type_} most;\n    int best = 0{'' if is_in_line else ', c'};" if n_columns > 1 else ""
    begin = f"int {prefix}_predict{suffix(kind)}(const {c_type(kind)} *x)\n{{"
    plain = f"{declared}{counters}\n    {call}\n    {answer}"
    if packed.n_classes != 2:
        return f"{begin}\n{plain}\n}}\n"
    threshold = f"{prefix.upper()}_THRESHOLD"
    in_range = f"({threshold}) > 0 && ({threshold}) < 1"
    # A size of -1 is an error; where it is not seen, as by Clang in C, division by zero in what must be constant is.
    return f"""{begin}
#if defined({threshold})
    {type_} scores[{n_columns}];
    static const char is_between_0_and_1 = 1 / ({in_range});
    (void)is_between_0_and_1;
    (void)sizeof(char[{in_range} ? 1 : -1]); /* {threshold} must be above 0 and below 1 */
    {call}
    return {_above_threshold(packed, f"(1.0f * ({threshold}))")};
#else
{plain}
#endif
}}
"""


def _above_threshold(packed: Packed, threshold: str) -> str:
    """Return whether the second class has that probability; compilers compute what is constant of it."""
    score = "scores[0]" if packed.layout.n_columns == 1 else "(int32_t)scores[1] - (int32_t)scores[0]"
    if packed.link == "isolation":
        raw = f"-1 - log(1 - {threshold}) / 0.69314718055994531"
    elif packed.link != "identity":
        raw = f"log({threshold} / (1 - {threshold}))"
    elif packed.layout.n_columns == 1:
        raw = f"2 * {threshold} - 1"
    else:
        score, raw = "scores[1]", threshold
    return f"{score} >= (int32_t)ceil(({raw}) / {packed.scale!r} - {CLOSE:g})"


def _rows_of(packed: Packed, kind: Input, prefix: str) -> str:
    """Return the head of the function that takes several rows."""
    name, answers = ("value", "float *values") if packed.classes is None else ("predict", "int *classes")
    return f"void {prefix}_{name}_rows{suffix(kind)}(const {c_type(kind)} *x, unsigned int n_rows, {answers})"


def _rows(packed: Packed, kind: Input, prefix: str) -> str:
    name, answers = ("value", "values") if packed.classes is None else ("predict", "classes")
    return f"""{_rows_of(packed, kind, prefix)}
{{
    for (; n_rows; n_rows--, x += {packed.n_features})
        *{answers}++ = {prefix}_{name}{suffix(kind)}(x);
}}
"""


def _probabilities(packed: Packed, kind: Input, prefix: str, type_: str) -> str:
    name, convert = ("predict_proba", "as_floats") if type_ == "float" else ("predict_proba8", "as_bytes")
    return f"""void {prefix}_{name}{suffix(kind)}(const {c_type(kind)} *x, {type_} *probabilities)
{{
    int32_t scores[{packed.layout.n_columns}];
    {prefix}_scores{suffix(kind)}(x, scores);
    {convert}(scores, probabilities);
}}
"""


def _anomaly_score(kind: Input, prefix: str) -> str:
    return f"""float {prefix}_anomaly_score{suffix(kind)}(const {c_type(kind)} *x)
{{
    float probabilities[2];
    {prefix}_predict_proba{suffix(kind)}(x, probabilities);
    return probabilities[0];
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
