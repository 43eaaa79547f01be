"""The fast layout in C: each tree as comparisons of whole numbers in straight lines.

Whole numbers are compared as they come. Floats too: the bits of a float, read as a whole number, are in the order
of the floats from 0 up, and below 0 in the opposite order, so that comparing with a constant needs no arithmetic.
Where that takes too much code, on processors of 8 bits, floats become codes first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._form import LIMITS, Form, Input, c_type, suffix
from billhook.codegen._reading import (
    BITS_OF_FLOAT,
    PART,
    code_of,
    code_type,
    count,
    data,
    find_codes,
    missing_code,
    place,
    take,
)
from billhook.packing import Packed

# Compilers take more than their time over longer functions.
MOST_SPLITS = 1000
# How AVR reads numbers of so many bits from flash.
WORDS = {8: "byte", 16: "word", 32: "dword"}
INFINITY = 0x7F800000
NOT_A_NUMBER = {"left": "-1", "right": "0x7FFFFFFF", "split": "0x7FFFFFFF"}


@dataclass(frozen=True)
class Tests:
    """How a kind of features is compared.

    Attributes
    ----------
    kind : str
        What the names of the functions of trees end in.
    array : str
        The declaration of the features compared.
    right : list of str
        For each node, the condition for going right: "0" where none does, "" for leaves.
    """

    kind: str
    array: str
    right: list[str]


def fast(packed: Packed, form: Form, prefix: str) -> str:
    """Return the functions that compute scores from features."""
    uses_codes = form.is_small and "float" in form.inputs and packed.layout.n_used > 0
    parts = []
    if uses_codes:
        # What comes before the trees, and three bytes more, since numbers are read by four.
        n_bytes = packed.layout.sections["trees"] + 3
        reads_bits = packed.layout.id_bits > 0 or packed.layout.grid == "ranks"
        parts += [data(packed, n_bytes), place(n_bytes)] if n_bytes > 3 else []
        parts += [take(packed) if reads_bits else "", BITS_OF_FLOAT, code_of(packed)]
    elif packed.layout.n_used and "float" in form.inputs:
        parts.append(BITS_OF_FLOAT)
    leaves = Leaves(packed)
    parts.append(leaves.table(has_reader=uses_codes and packed.layout.sections["trees"] > 0, is_small=form.is_small))
    for kind in form.inputs:
        tests = _tests(packed, kind, uses_codes=uses_codes)
        parts += [_tree(packed, tests, leaves, tree) for tree in range(packed.layout.n_trees)]
        parts.append(_scores(packed, kind, tests, leaves, prefix, uses_codes=uses_codes))
    return "\n".join(part for part in parts if part)


def _tests(packed: Packed, kind: Input, *, uses_codes: bool) -> Tests:
    if kind != "float":
        low, high = LIMITS[kind]
        limit = np.floor(packed.bounds.astype(np.float64))
        return Tests(kind, f"const {kind}_t *x", _whole_tests(packed, limit, low, high))
    if uses_codes:
        codes = packed.coded.threshold.astype(np.float64)
        return Tests("codes", f"const {code_type(packed)} *x", _code_tests(packed, codes))
    return Tests("bits", "const int32_t *x" if packed.layout.n_used else "const float *x", _bit_tests(packed))


def _whole_tests(packed: Packed, limit: NDArray[np.float64], low: int, high: int) -> list[str]:
    used = packed.used.tolist()
    tests = []
    for feature, bound in zip(packed.coded.feature.tolist(), limit.tolist(), strict=True):
        if feature < 0:
            tests.append("")
        elif bound >= high:
            tests.append("0")
        elif bound < low:
            tests.append("1")
        else:
            tests.append(f"x[{used[feature]}] > {int(bound)}")
    return tests


def _code_tests(packed: Packed, codes: NDArray[np.float64]) -> list[str]:
    missing = missing_code(packed)
    is_split = packed.layout.missing == "split"
    tests = []
    left = packed.coded.missing_left.tolist()
    for feature, code, goes_left in zip(packed.coded.feature.tolist(), codes.tolist(), left, strict=True):
        test = "" if feature < 0 else f"x[{feature}] > {int(code)}"
        tests.append(f"{test} && x[{feature}] != {missing}" if test and is_split and goes_left else test)
    return tests


def _bit_tests(packed: Packed) -> list[str]:
    bits = packed.bounds.view(np.int32).tolist()
    is_split = packed.layout.missing == "split"
    left = packed.coded.missing_left.tolist()
    tests = []
    for feature, bound, goes_left in zip(packed.coded.feature.tolist(), bits, left, strict=True):
        if feature < 0:
            tests.append("")
            continue
        if bound == INFINITY and packed.layout.missing == "none":
            test = "0"
        elif bound >= 0:
            test = f"x[{feature}] > {bound}"
        else:
            test = f"(uint32_t)x[{feature}] < {bound & 0xFFFFFFFF}u"
        tests.append(f"{test} && x[{feature}] != {NOT_A_NUMBER['split']}" if is_split and goes_left else test)
    return tests


class Leaves:
    """How leaves are written: as a number from 0 up that is added, or the number of a row of a table."""

    def __init__(self, packed: Packed) -> None:
        coded, layout = packed.coded, packed.layout
        is_leaf = coded.feature < 0
        values = coded.value.astype(np.int64)
        self.layout = layout
        self.is_table = layout.n_values > 1
        self.number = np.zeros(coded.n_nodes, np.int64)
        if self.is_table:
            self.rows, number = np.unique(values[is_leaf], axis=0, return_inverse=True)
            self.number[is_leaf] = number.ravel()
            self.type = count(len(self.rows) - 1)
        else:
            self.lowest = int(values[is_leaf].min())
            self.number[is_leaf] = values[is_leaf, 0] - self.lowest
            self.type = count(int(self.number.max()))

    def table(self, *, has_reader: bool, is_small: bool) -> str:
        """Return the table of leaves, if there is one."""
        if not self.is_table:
            return ""
        largest = max(-int(self.rows.min()) - 1, int(self.rows.max()))
        bits, read = next((n, word) for n, word in WORDS.items() if largest < 1 << (n - 1))
        kind = f"int{bits}_t"
        include = "" if has_reader else "#include <avr/pgmspace.h>\n"
        if is_small and self.rows.size * bits // 8 > PART:
            raise ValueError(
                f"the table of leaves takes {self.rows.size * bits // 8:,} bytes, and AVR compilers take no array "
                f"beyond {PART:,}: use the compact layout"
            )
        rows = ",\n".join("    {" + ",".join(map(str, row)) + "}" for row in self.rows.tolist())
        return f"""#if defined(__AVR__)
{include}#define TABLE PROGMEM
#define LEAF(at, c) ({kind})pgm_read_{read}(&leaves[at][c])
#else
#define TABLE
#define LEAF(at, c) leaves[at][c]
#endif

static const {kind} leaves[{len(self.rows)}][{self.layout.n_values}] TABLE = {{
{rows}
}};
"""


def _tree(packed: Packed, tests: Tests, leaves: Leaves, tree: int) -> str:
    """Return the function that walks down a tree: what stands behind a test is its left side."""
    coded = packed.coded
    first, end = coded.offset[tree : tree + 2].tolist()
    left, right = coded.left[first:end].tolist(), coded.right[first:end].tolist()
    conditions, numbers = tests.right[first:end], leaves.number[first:end].tolist()
    functions: list[str] = []
    roots = [0]
    for number, root in enumerate(roots):
        lines = []
        ahead = [(root, "")]
        n_splits = 0
        while ahead:
            node, label = ahead.pop()
            lines += [f"{label}:"] if label else []
            while left[node] >= 0 and conditions[node] in ("0", "1"):
                node = (right if conditions[node] == "1" else left)[node]
            if left[node] < 0:
                lines.append(f"    return {numbers[node]};")
            elif n_splits == MOST_SPLITS:
                lines.append(f"    return {_name(tests, tree, len(roots))}(x);")
                roots.append(node)
            else:
                n_splits += 1
                lines.append(f"    if ({conditions[node]}) goto n{n_splits};")
                ahead += [(right[node], f"n{n_splits}"), (left[node], "")]
        lines = lines if n_splits else ["    (void)x;", *lines]
        declared = f"static {leaves.type} {_name(tests, tree, number)}({tests.array})"
        functions.append("\n".join([declared, "{", *lines, "}", ""]))
    # What a function calls comes after it in the list, and must come before it in C.
    return "\n".join(reversed(functions))


def _name(tests: Tests, tree: int, number: int) -> str:
    return f"tree{tree}{f'_{number}' if number else ''}_{tests.kind}"


def _scores(packed: Packed, kind: Input, tests: Tests, leaves: Leaves, prefix: str, *, uses_codes: bool) -> str:
    layout = packed.layout
    declared, prepared, given = "", "", "x"
    if kind == "float" and layout.n_used:
        declared, prepared, given = _prepared(packed, uses_codes=uses_codes)
    base = packed.coded.base.astype(np.int64)
    trees = range(layout.n_trees)
    calls = [f"{_name(tests, tree, 0)}({given})" for tree in trees]
    column = packed.coded.tree_column.tolist()
    counter = ""
    if leaves.is_table:
        counter = f"    {count(layout.n_columns)} c;\n    {leaves.type} at;\n"
        start = "\n".join(f"    scores[{c}] = {number};" for c, number in enumerate(base.tolist()))
        add = f"    for (c = 0; c < {layout.n_columns}; c++)\n        scores[c] += LEAF(at, c);"
        body = start + "\n" + "\n".join(f"    at = {call};\n{add}" for call in calls)
    else:
        of_column = [[tree for tree in trees if layout.n_columns == 1 or column[tree] == c] for c in range(len(base))]
        most = int(leaves.number.max()) * max(map(len, of_column))
        total = "uint_fast16_t" if most < 2**16 else "uint32_t"
        counter = f"    {total} sum;\n"
        lines = []
        for c, mine in enumerate(of_column):
            lines += ["sum = 0;", *(f"sum = ({total})(sum + {calls[tree]});" for tree in mine)]
            lines.append(f"scores[{c}] = (int32_t)sum + ({int(base[c]) + leaves.lowest * len(mine)});")
        body = "\n".join(f"    {line}" for line in lines)
    return f"""void {prefix}_scores{suffix(kind)}(const {c_type(kind)} *x, int32_t *scores)
{{
{declared}{counter}{prepared}{body}
}}
"""


def _prepared(packed: Packed, *, uses_codes: bool) -> tuple[str, str, str]:
    """Return declarations, statements and the name of what is compared instead of floats."""
    layout = packed.layout
    n_used = layout.n_used
    counter = f"    {count(n_used)} k;\n"
    if uses_codes:
        first = "    uint32_t first = 0;\n" if layout.grid == "ranks" else ""
        return f"    {code_type(packed)} codes[{n_used}];\n{counter}{first}", find_codes(packed, "float"), "codes"
    missing = ""
    if layout.missing != "none":
        missing = f"""        if ((bits[k] & 0x7FFFFFFF) > {hex(INFINITY)})
            bits[k] = {NOT_A_NUMBER[layout.missing]};
"""
    copy = "    for (k = 0; k < {}; k++) {{\n        bits[k] = (int32_t)bits_of(x[{}]);\n{}    }}\n"
    if n_used == packed.n_features:
        return f"    int32_t bits[{n_used}];\n{counter}", copy.format(n_used, "k", missing), "bits"
    numbers = ", ".join(map(str, packed.used.tolist()))
    kind = count(packed.n_features)
    declared = f"    static const {kind} used[{n_used}] = {{{numbers}}};\n    int32_t bits[{n_used}];\n{counter}"
    return declared, copy.format(n_used, "used[k]", missing), "bits"
