"""The fast layout in C: each tree as comparisons of whole numbers in straight lines.

Whole numbers are compared as they come. Floats too: the bits of a float, read as a whole number, are in the order
of the floats from 0 up, and below 0 in the opposite order, so that comparing with a constant needs no arithmetic.
Processors of 8 bits compare what `_keys` says instead.
"""

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._codes import (
    BITS_OF_FLOAT,
    counters,
    find_codes,
    functions_of_codes,
    needs_codes,
    reads_bits,
    widths_of_codes,
)
from billhook.codegen._fast_leaves import LeafCode, SparseLeaves, leaves_of
from billhook.codegen._form import LIMITS, Form, Input, Program, c_type, suffix
from billhook.codegen._keys import Keys, Sums, keys_of_floats, keys_of_whole, leaves_below
from billhook.codegen._reader import APART, count, data, place, take
from billhook.codegen._steps import code_type, missing_code
from billhook.packing import Packed

# Compilers take more than their time over longer functions.
MOST_SPLITS = 1000
INFINITY = 0x7F800000
# On AVR: of a comparison, and what it takes more in two parts, or where missing values go left; of a leaf of one
# number, or of several and of each that it adds; of a tree, and of the key of a feature; what one in steps takes
# more.
BYTES_OF_SPLIT, BYTES_OF_HALVES, BYTES_OF_MISSING, BYTES_OF_TREE, BYTES_OF_KEY = 12, 16, 10, 10, 62
BYTES_OF_STEPS = 50
BYTES_OF_LEAF, BYTES_OF_RETURN, BYTES_OF_ADDITION, BYTES_OF_WIDE_ADDITION = 10, 6, 6, 16
JOINED = """/* A function of many trees saves registers once. Where jumps are guessed, it gains nothing. */
#if defined(__thumb__)
#define JOINED INLINE
#else
#define JOINED
#endif
"""
NOT_A_NUMBER = {"left": "-1", "right": "0x7FFFFFFF", "split": "0x7FFFFFFF"}


@dataclass(frozen=True)
class Comparisons:
    """How a kind of features is compared.

    Attributes
    ----------
    kind : str
        What the names of the functions of trees end in.
    array : str
        The declaration of the features compared.
    right : list of str
        For each node, the condition for going right: "0" where none does, "" for leaves.
    declared : str
        What stands before the functions of trees.
    made_of_x : tuple of str
        Declarations, statements and the name of what is compared instead of the features x.
    has_sums : bool
        Whether the sums that trees add to stand with what is compared.
    """

    kind: str
    array: str
    right: list[str]
    declared: str = ""
    made_of_x: tuple[str, str, str] = ("", "", "x")
    has_sums: bool = False


def fast(packed: Packed, form: Form, prefix: str) -> Program:
    """Return the functions that compute scores from features."""
    has_room = _estimated_bytes(packed, form) <= form.flash
    has_codes = uses_codes(packed, form)
    parts: list[str] = []
    sums_of: dict[str, str] = {}
    if has_codes:
        # What comes before the trees, and three bytes more, since numbers are read by four.
        n_bytes = packed.layout.sections["trees"] + 3
        parts += [data(packed.data[:n_bytes]), place(n_bytes)] if n_bytes > 3 else []
        parts += [take(widths_of_codes(packed))] if reads_bits(packed) else []
        whole = form.inputs if needs_codes(packed) else ("float",)
        parts += functions_of_codes(packed, replace(form, inputs=whole))
    has_reader = has_codes and packed.layout.sections["trees"] > 0
    leaves = leaves_of(packed, is_small=form.is_small, has_reader=has_reader, has_room=has_room)
    groups = _groups(packed) if leaves.are_joined else []
    trees: list[str] = [JOINED] if groups else []
    compared: set[str] = set()
    for kind in form.inputs:
        tests = _tests(packed, kind, leaves.sums, is_small=form.is_small, has_codes=has_codes)
        if tests.kind not in compared:  # several kinds of features may become the same codes
            parts.append(tests.declared)
            written = [_tree(packed, tests, leaves, tree) for tree in range(packed.layout.n_trees)]
            trees += reversed(written) if any(leaves.next) else written  # what calls another stands behind it
            trees += [_group(group, tests, leaves) for group in groups]
        compared.add(tests.kind)
        trees.append(_scores(packed, kind, tests, leaves, groups, prefix))
        if leaves.sums:
            sums_of[kind] = "keys_of_" + kind if tests.has_sums else "sum_t"
    if any("BITS(" in text for text in trees):
        parts += [BITS_OF_FLOAT, "#define BITS(k) (int32_t)bits_of(x[k])\n"]
    texts = [part for part in [*parts, leaves.declared, *trees] if part]
    if any(re.search(r"\b(APART|INLINE)\b", text) for text in texts):
        texts.insert(0, APART)
    return Program("\n".join(texts), sums_of)


def uses_codes(packed: Packed, form: Form) -> bool:
    """Return whether features become codes before they are compared: categories and projections always do."""
    if needs_codes(packed):
        return True
    has_room = _estimated_bytes(packed, form) <= form.flash
    is_small = form.is_small and "float" in form.inputs and packed.layout.n_used > 0
    return is_small and not (has_room and keys_of_floats(packed, None))


def _estimated_bytes(packed: Packed, form: Form) -> int:
    """Return about how much flash the quickest program takes on a processor of 8 bits, rather more than less."""
    layout = packed.layout
    has_keys = layout.n_used > 0 and "float" in form.inputs and not needs_codes(packed)
    keys = keys_of_floats(packed, None) if has_keys else None
    of_floats = 0
    if keys is not None:
        in_two, asks_if_missing = (sum(part in test for test in keys.right) for part in ("||", "!= 0x"))
        of_floats = BYTES_OF_HALVES * in_two + BYTES_OF_MISSING * asks_if_missing + BYTES_OF_KEY * layout.n_used
        of_floats += BYTES_OF_STEPS * keys.prepared.count("key_in_steps(")
    of_leaves = BYTES_OF_LEAF * layout.n_leaves
    if layout.n_values > 1:
        leaves = SparseLeaves(packed, is_small=True)
        is_wide = leaves.sums is not None and leaves.sums.n_bytes > leaves.sums.number
        # Those of a tree that are equal are one.
        number = np.repeat(np.arange(layout.n_trees), np.diff(packed.coded.offset))
        different = np.unique(np.column_stack([number, leaves.away])[packed.coded.feature < 0], axis=0)
        added = int((different[:, 1:] != 0).sum())
        of_leaves = (
            BYTES_OF_RETURN * len(different) + (BYTES_OF_WIDE_ADDITION if is_wide else BYTES_OF_ADDITION) * added
        )
    of_trees = BYTES_OF_SPLIT * layout.n_splits + BYTES_OF_TREE * layout.n_trees + of_leaves
    return of_floats + of_trees * len(form.inputs)


def _tests(packed: Packed, kind: Input, sums: Sums | None, *, is_small: bool, has_codes: bool) -> Comparisons:
    if kind != "float" and not needs_codes(packed):
        low, high = LIMITS[kind]
        limit = np.floor(packed.bounds.astype(np.float64))
        keys = keys_of_whole(packed, limit, low, high, sums) if is_small and kind == "int16" else None
        if keys is not None:
            return _of_keys(kind, keys, sums)
        # To remember what it has read, avr-gcc would save registers in every tree.
        const = "const volatile" if is_small else "const"
        return Comparisons(kind, f"{const} {kind}_t *x", _whole_tests(packed, limit, low, high))
    if has_codes:
        codes = packed.coded.threshold.astype(np.float64)
        array = f"    {code_type(packed)} codes[{packed.layout.n_tested}];\n{counters(packed)}"
        made_of_x = (array, find_codes(packed, kind), "codes")
        return Comparisons("codes", f"const {code_type(packed)} *x", _code_tests(packed, codes), made_of_x=made_of_x)
    keys = keys_of_floats(packed, sums) if is_small and packed.layout.n_used else None
    if keys is not None:
        return _of_keys(kind, keys, sums)
    if packed.layout.n_used == 0 or packed.layout.missing == "none":
        return Comparisons("bits", "const float *x", _bit_tests(packed))
    return Comparisons("bits", "const int32_t *x", _bit_tests(packed), made_of_x=_bits(packed))


def _of_keys(kind: Input, keys: Keys, sums: Sums | None) -> Comparisons:
    if not keys.prepared:
        return Comparisons(kind, keys.array, keys.right, keys.declared)
    variables = "    uint32_t bits;\n" if kind == "float" else ""
    variables = variables if sums else f"    keys_of_{kind} keys;\n{variables}"
    prepared = keys.prepared.replace("keys.", "keys->") if sums else keys.prepared
    made_of_x = (variables, prepared, "keys" if sums else "&keys")
    return Comparisons(kind, keys.array, keys.right, keys.declared, made_of_x, sums is not None)


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
    most = 0xFF if code_type(packed) == "uint8_t" else 0xFFFF
    is_split = packed.layout.missing == "split"
    tests = []
    left = packed.coded.missing_left.tolist()
    for feature, code, goes_left in zip(packed.coded.feature.tolist(), codes.tolist(), left, strict=True):
        test = "" if feature < 0 else "0" if code == most else f"x[{feature}] > {int(code)}"
        tests.append(
            f"{test} && x[{feature}] != {missing}" if test not in ("", "0") and is_split and goes_left else test
        )
    return tests


def _bit_tests(packed: Packed) -> list[str]:
    bits = packed.bounds.view(np.int32).tolist()
    missing = packed.layout.missing
    used = packed.used.tolist()
    tests = []
    left = packed.coded.missing_left.tolist()
    for feature, bound, goes_left in zip(packed.coded.feature.tolist(), bits, left, strict=True):
        if feature < 0:
            tests.append("")
            continue
        x = f"BITS({used[feature]})" if missing == "none" else f"x[{feature}]"
        if bound == INFINITY and missing == "none":
            tests.append("0")
        else:
            test = f"{x} > {bound}" if bound >= 0 else f"(uint32_t){x} < {bound & 0xFFFFFFFF}u"
            tests.append(f"{test} && {x} != {NOT_A_NUMBER['split']}" if missing == "split" and goes_left else test)
    return tests


def _tree(packed: Packed, tests: Comparisons, leaves: LeafCode, tree: int) -> str:
    """Return the function that walks down a tree: behind a test stands the side with fewer leaves.

    So most jumps are short, and on a processor of 8 bits, long ones take two.
    """
    coded = packed.coded
    first, end = coded.offset[tree : tree + 2].tolist()
    left, right = coded.left[first:end].tolist(), coded.right[first:end].tolist()
    conditions = tests.right[first:end]
    n_leaves = leaves_below(left, right)
    sums = "x->sums" if tests.has_sums else "sums"
    argument, given = ("", "") if tests.has_sums else (leaves.argument, leaves.given)
    next_tree = leaves.next[tree]
    following = "" if next_tree is None else _name(tests, next_tree, 0)
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
                lines.append(f"    {leaves.leaf(first + node, sums, following)}")
            elif n_splits == MOST_SPLITS:
                lines.append(f"    {leaves.go_on(_name(tests, tree, len(roots)), 'x' + given)}")
                roots.append(node)
            else:
                n_splits += 1
                near, far, condition = left[node], right[node], conditions[node]
                if n_leaves[near] > n_leaves[far]:
                    near, far, condition = far, near, _negated(condition)
                lines.append(f"    if ({condition}) goto n{n_splits};")
                ahead += [(far, f"n{n_splits}"), (near, "")]
        text = "\n".join(lines)
        unused = [] if re.search(r"\bx(\[|->)|BITS|UPPER|\(x\b", text) else ["    (void)x;"]
        unused += ["    (void)sums;"] if "sums" in argument and "sums" not in text else []
        joined = "JOINED " if leaves.are_joined and number == 0 else ""
        declared = f"static {joined}{leaves.returns} {_name(tests, tree, number)}({tests.array}{argument})"
        functions.append("\n".join([declared, "{", *unused, text, "}", ""]))
    # What a function calls comes after it in the list, and must come before it in C.
    return "\n".join(reversed(functions))


def _negated(condition: str) -> str:
    simple = re.fullmatch(r"([^&|<>]+) ([<>]) ([^&|<>]+)", condition.replace("->", "@"))
    if simple is None:
        return f"!({condition})"
    return f"{simple[1]} {'<=' if simple[2] == '>' else '>='} {simple[3]}".replace("@", "->")


def _name(tests: Comparisons, tree: int, number: int) -> str:
    return f"tree{tree}{f'_{number}' if number else ''}_{tests.kind}"


def _groups(packed: Packed) -> list[list[int]]:
    """Return trees that become one function."""
    groups: list[list[int]] = []
    n_splits = 0
    for tree, n_nodes in enumerate(np.diff(packed.coded.offset).tolist()):
        n_splits += n_nodes // 2
        if not groups or n_splits > MOST_SPLITS:
            groups.append([])
            n_splits = n_nodes // 2
        groups[-1].append(tree)
    return groups


def _group_name(group: list[int], tests: Comparisons) -> str:
    return f"trees_from_{group[0]}_{tests.kind}"


def _group(group: list[int], tests: Comparisons, leaves: LeafCode) -> str:
    calls = "".join(f"    {_name(tests, tree, 0)}(x{leaves.given});\n" for tree in group)
    return f"static APART void {_group_name(group, tests)}({tests.array}{leaves.argument})\n{{\n{calls}}}\n"


def _scores(
    packed: Packed, kind: Input, tests: Comparisons, leaves: LeafCode, groups: list[list[int]], prefix: str
) -> str:
    layout = packed.layout
    declared, prepared, features = tests.made_of_x
    functions = [_name(tests, tree, 0) for tree in range(layout.n_trees)]
    functions = [_group_name(group, tests) for group in groups] or functions
    arguments = features if leaves.sums is None or tests.has_sums else f"{features}, sums"
    counters, body = leaves.scores(functions, arguments, "keys->sums" if tests.has_sums else "sums")
    text = f"{declared}{counters}{prepared}{body}"
    begin = f"void {prefix}_scores{suffix(kind)}(const {c_type(kind)} *x, int32_t *scores)"
    if leaves.sums is None:
        return f"{begin}\n{{\n{text}}}\n"
    add_up = f"add_up{suffix(kind)}"
    if tests.has_sums:
        return f"""static void {add_up}(const {c_type(kind)} *x, keys_of_{kind} *keys)
{{
{text}}}

{begin}
{{
    keys_of_{kind} keys;
    {count(layout.n_columns)} c;
    {add_up}(x, &keys);
    for (c = 0; c < {layout.n_columns}; c++)
        scores[c] = (int32_t)keys.sums[c] + LOWEST;
}}
"""
    return f"""static void {add_up}(const {c_type(kind)} *x, sum_t *sums)
{{
{text}}}

{begin}
{{
#if LOWER_SUMS
    sum_t sums[{layout.n_columns}];
    {count(layout.n_columns)} c;
    {add_up}(x, sums);
    for (c = 0; c < {layout.n_columns}; c++)
        scores[c] = (int32_t)sums[c] + LOWEST;
#else
    {add_up}(x, scores);
#endif
}}
"""


def _bits(packed: Packed) -> tuple[str, str, str]:
    """Return declarations, statements and the name of bits of floats, with one number for all that are missing."""
    n_used = packed.layout.n_used
    counter = f"    {count(n_used)} k;\n"
    missing = f"""        if ((bits[k] & 0x7FFFFFFF) > {hex(INFINITY)})
            bits[k] = {NOT_A_NUMBER[packed.layout.missing]};
"""
    copy = "    for (k = 0; k < {}; k++) {{\n        bits[k] = BITS({});\n{}    }}\n"
    if n_used == packed.n_features:
        return f"    int32_t bits[{n_used}];\n{counter}", copy.format(n_used, "k", missing), "bits"
    numbers = ", ".join(map(str, packed.used.tolist()))
    smallest = count(packed.n_features)
    declared = f"    static const {smallest} used[{n_used}] = {{{numbers}}};\n    int32_t bits[{n_used}];\n{counter}"
    return declared, copy.format(n_used, "used[k]", missing), "bits"
