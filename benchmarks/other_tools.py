"""Forests as other tools write them in C, each behind the same function; used by the comparisons beside this file."""

import copy
import tempfile
from pathlib import Path

import numpy as np
from firmware import Model


def argmax(number, call, scores="s"):
    """Return a function that calls something for the scores and answers with the class of the highest."""
    return f"""
int answer(const row_t *x)
{{
    {number} {scores}[N_CLASSES] = {{0}};
    int best = 0, c;
    {call};
    for (c = 1; c < N_CLASSES; c++)
        if ({scores}[c] > {scores}[best])
            best = c;
    return best;
}}
"""


def if_else(estimator):
    """Return nested ifs on floats, as one would write them by hand."""

    def literal(number):
        text = f"{number:.9g}"
        return (text if "." in text or "e" in text else text + ".0") + "f"

    def branch(tree, node, value, depth):
        indent = "    " * min(depth, 8)
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            return [f"{indent}s[{c}] += {literal(p)};" for c, p in enumerate(value[node]) if p]
        threshold = np.float32(tree.threshold[node])
        if threshold > tree.threshold[node]:
            threshold = np.nextafter(threshold, np.float32(-np.inf))
        return [
            f"{indent}if (x[{tree.feature[node]}] <= {literal(threshold)}) {{",
            *branch(tree, left, value, depth + 1),
            f"{indent}}} else {{",
            *branch(tree, right, value, depth + 1),
            f"{indent}}}",
        ]

    lines = ['#include "row.h"', f"#define N_CLASSES {estimator.n_classes_}"]
    for k, member in enumerate(estimator.estimators_):
        lines += [f"static void tree{k}(const float *x, float *s)", "{"]
        lines += [*branch(member.tree_, 0, member.tree_.value[:, 0].astype(np.float32), 1), "}"]
    calls = "; ".join(f"tree{k}(x, s)" for k in range(len(estimator.estimators_)))
    return Model("\n".join(lines) + argmax("float", calls))


def emlearn_model(estimator, **how):
    """Return what emlearn writes; its int16 models take whole numbers."""
    import emlearn

    np.seterr(all="warn", under="ignore")  # emlearn has numpy raise errors from its import on
    code = emlearn.convert(estimator, **how).save(name="m", format="c", include_proba=False)
    row = how["dtype"]
    source = f'#include "row.h"\n{code}\nint answer(const row_t *x) {{ return m_predict(x, N_FEATURES); }}\n'
    return Model(source, row, options=(f"-I{Path(emlearn.__file__).parent}",))


def scaled(estimator, scale, is_raised):
    """Return the estimator with thresholds for rows times a factor; raised: for `<` instead of `<=`."""
    estimator = copy.deepcopy(estimator)
    for member in estimator.estimators_:
        threshold = member.tree_.threshold
        threshold[:] = threshold * scale
        if is_raised:
            threshold[:] = np.floor(threshold) + 1
        threshold[:] = np.clip(threshold, -32768, 32767)
    return estimator


def m2cgen_model(estimator):
    """Return what m2cgen writes: nested ifs on doubles."""
    import m2cgen

    about = f'#include "row.h"\n#define N_CLASSES {estimator.n_classes_}\n'
    return Model(about + m2cgen.export_to_c(estimator) + argmax("double", "score((double *)x, s)"), "double")


def micromlgen_model(estimator):
    """Return what micromlgen writes: nested ifs in C++, a vote for each tree."""
    import micromlgen

    # No compiler for AVR has this header, and nothing of it is used.
    code = micromlgen.port(estimator).replace("#include <cstdarg>", "#include <stdint.h>")
    wrapper = 'extern "C" int answer(const row_t *x)\n{\n    Eloquent::ML::Port::RandomForest forest;\n'
    wrapper += "    return forest.predict((float *)x);\n}\n"
    return Model(f'#include "row.h"\n{code}\n{wrapper}', is_cpp=True)


def tl2cgen_model(estimator):
    """Return what tl2cgen writes: nested ifs on doubles that may be missing."""
    import tl2cgen
    import treelite

    with tempfile.TemporaryDirectory() as folder:
        tl2cgen.generate_c_code(treelite.sklearn.import_model(estimator), dirpath=folder, params={}, verbose=False)
        code, about = ((Path(folder) / name).read_text() for name in ("main.c", "header.h"))
    call = "predict((union Entry *)x, 0, s)"
    source = f'#include "row.h"\n#define N_CLASSES {estimator.n_classes_}\n{code}\n' + argmax("double", call)
    return Model(source, "double", files={"header.h": about})
