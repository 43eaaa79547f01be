"""The balanced layout in C: bytes in the order in which a row reads them, and a small program that does."""

from billhook.codegen._balanced_data import BalancedData, balanced_data
from billhook.codegen._balanced_leaves import BalancedLeaves
from billhook.codegen._balanced_reads import BalancedReads, fast_type
from billhook.codegen._codes import counters, find_codes, functions_of_codes, reads_bits
from billhook.codegen._compact import SYMMETRIC, compact
from billhook.codegen._form import Form, Input, Program, c_type, suffix
from billhook.codegen._reader import APART, count, data, mask, place, take
from billhook.codegen._steps import code_type, missing_code
from billhook.codegen._test_fields import TestFields
from billhook.packing import Packed

TREES = """/* Trees lie one after the other, each behind its length. A split is what it asks, and whether its left and
 * its right side are splits too; then comes the length of the left side if both are, or else the leaves. */"""

CODE = """/* The code of a feature, by its place in bytes. */
#define CODE(at) *(const uint16_t *)(const void *)((const uint8_t *)codes + (at))

"""


def balanced(packed: Packed, form: Form, prefix: str) -> Program:
    """Return the data and the functions that compute scores from features."""
    if not packed.layout.n_splits:  # there is nothing to be quick about
        return compact(packed, form, prefix)
    made = balanced_data(packed)
    reads = BalancedReads(packed, made)
    needs_take = reads.unit == 1 or reads_bits(packed)
    text = "\n".join(
        [
            data(made.data, made.cuts if reads.unit == 8 else ()),
            place(reads.n_places),
            *([take(reads.widths)] if needs_take else []),
            APART,
            *([reads.spot()] if reads.unit == 8 else []),
            *functions_of_codes(packed, form, max(made.test.shift, 0)),
            _add_trees(packed, made, reads),
            *(_scores(packed, made, kind, prefix) for kind in form.inputs),
        ]
    )
    return Program(text)


def _scores(packed: Packed, made: BalancedData, kind: Input, prefix: str) -> str:
    features = made.sections["features"] if made.form.has_features else None
    begin = f"void {prefix}_scores{suffix(kind)}(const {c_type(kind)} *x, int32_t *scores)\n{{\n"
    return f"""{begin}    {code_type(packed)} codes[{packed.layout.n_tested}];
{counters(packed)}{find_codes(packed, kind, features)}    add_trees(codes, scores);
}}
"""


def _add_trees(packed: Packed, made: BalancedData, reads: BalancedReads) -> str:
    """Return the function that walks down all trees and adds up their leaves."""
    layout = packed.layout
    leaves = BalancedLeaves(packed, made, reads)
    kind = fast_type(made.length.bits)
    if layout.is_symmetric:
        comment, walk = SYMMETRIC, _walk_levels(packed, made, reads)
    else:
        length = reads.steps(made.length.bits)
        comment, walk = TREES, f"        tree = (place)(tree + {length} + length);\n{_walk(packed, made, reads)}"
    column = f"    {count(layout.n_columns)} column = 0;\n" if layout.column_bits else ""
    next_column = f"""        if (!length) {{
            column++;
            tree = (place)(tree + {reads.steps(made.length.bits)});
            continue;
        }}
"""
    by_bytes = CODE if "CODE(" in walk else ""
    return f"""{by_bytes}{leaves.declared}{comment}
static APART void add_trees(const {code_type(packed)} *codes, int32_t *scores)
{{
    place tree = {reads.begin("trees")};
{column}{leaves.start}    while (tree != {reads.steps(made.end)}) {{
        {reads.spot_type} at = {reads.spot_of("tree")};
        {kind} length = ({kind})({reads.read(made.length.bits, "at")});
        at = {reads.past(made.length.bits)};
{next_column if layout.column_bits else ""}{walk}{leaves.add}    }}
{leaves.finish}}}
"""


def _test(packed: Packed, made: BalancedData, reads: BalancedReads) -> tuple[str, str]:
    """Return statements that read what is asked at `at`, and whether the row goes right."""
    head, test = made.head, made.test
    names, read_from, lines = ("first", "rest"), "at", []
    if made.form.has_pairs:
        lines += _fields(head.first_bits, head.rest_bits, names, "at", reads)
        number = f"first & {mask(head.code_bits)}" if head.first_bits > head.code_bits else "first"
        lines.append(f"{reads.spot_type} pair = {reads.entry_of('pairs', number, test.bits)};")
        names, read_from = ("asked", "of"), "pair"
    lines += _fields(test.first_bits, test.rest_bits, names, read_from, reads)
    holder = names[1] if test.rest_bits else names[0]
    feature = _code(packed, test, holder)
    code = names[0] if test.shift >= 0 else f"({names[0]} & {mask(test.code_bits)})"
    if not test.missing_bits:
        return _indented(lines, 12), f"{feature} > {code}"
    marks = names[0] if test.is_marked_first else holder
    lines.append(f"{code_type(packed)} code = {feature};")
    missing = missing_code(packed, max(test.shift, 0))
    is_left = f"code == {missing} && {marks} >> {test.missing_at} & 1"
    return _indented(lines, 12), f"code > {code} && !({is_left})"


def _code(packed: Packed, test: TestFields, holder: str) -> str:
    """Return the code of the feature that a test asks for."""
    if not test.feature_bits:
        return "codes[0]"
    if test.feature_at == 1 and code_type(packed) == "uint16_t":
        return f"CODE({holder} & {hex((2 << test.feature_bits) - 2)})"
    above = test.feature_at + test.feature_bits < (test.rest_bits or test.first_bits)
    feature = f"{holder} >> {test.feature_at}" if test.feature_at else holder
    return f"codes[{feature} & {mask(test.feature_bits)}]" if above else f"codes[{feature}]"


def _indented(lines: list[str], spaces: int) -> str:
    return "".join(f"{' ' * spaces}{line}\n" for line in lines)


def _fields(first: int, rest: int, names: tuple[str, str], at: str, reads: BalancedReads) -> list[str]:
    """Return statements that read the one or two numbers that a test is."""
    kind = fast_type(first)
    lines = [f"{kind} {names[0]} = ({kind})({reads.read(first, at)});"]
    if rest:
        kind = fast_type(rest)
        lines.append(f"{kind} {names[1]} = ({kind})({reads.read(rest, reads.past(first, at))});")
    return lines


def _walk(packed: Packed, made: BalancedData, reads: BalancedReads) -> str:
    """Return statements that go from the first split of a tree to a leaf, which is then at `at`."""
    head = made.head
    read, goes_right = _test(packed, made, reads)
    holder = "rest" if head.rest_bits and not head.is_marked_first else "first"
    # In one byte, where there are bytes, since a processor of 8 bits has no other.
    shift = head.left_at // 8 * 8 if reads.unit == 8 else head.left_at
    left, right = (1 << (at - shift) for at in (head.left_at, head.right_at))
    marks = f"{holder} >> {shift}" if shift else holder
    behind = reads.past(head.bits)
    past_leaf = [f"at = {reads.past(made.row_bits)};"]
    if made.form.has_table:
        past_leaf = reads.past_number(made.entry, behind)
    # `at` stays at the split until it is known where to go on.
    return f"""        for (;;) {{
{read}            uint8_t right = {goes_right}, sides = (uint8_t)({marks}) & {hex(left | right)};
            if (sides == {hex(left | right)}) {{
{_indented(reads.skip("right", made.skip, behind), 16)}            }} else if (sides == {hex(right)}) {{
                if (!right)
                    break;
{_indented(past_leaf, 16)}            }} else if (sides) {{
                if (right)
                    break;
{_indented(past_leaf, 16)}            }} else {{
                if (right) {{
{_indented(past_leaf, 20)}                }}
                break;
            }}
            at = {behind};
        }}
        at = {behind};
"""


def _walk_levels(packed: Packed, made: BalancedData, reads: BalancedReads) -> str:
    """Return statements that walk down a symmetric tree to a leaf, which is then at `at`."""
    read, goes_right = _test(packed, made, reads)
    leaf, test = reads.steps(made.leaf_bits), reads.steps(made.head.bits)
    return f"""        uint16_t leaf = 0;
        tree = (place)(tree + {reads.steps(made.length.bits)} + length * {test} + ((place)1 << length) * {leaf});
        do {{
{read}            leaf = (uint16_t)(2 * leaf + ({goes_right}));
            at = {reads.past(made.head.bits)};
        }} while (--length);
        at = ({reads.spot_type})(at + (place)leaf * {leaf});
"""
