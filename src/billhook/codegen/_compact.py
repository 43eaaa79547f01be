"""The compact layout in C: the bytes of a Packed, and a small program that reads them."""

from string import Template

import numpy as np

from billhook.codegen._codes import counters, find_codes, functions_of_codes, widths_of_codes
from billhook.codegen._form import Form, Input, Program, c_type, suffix
from billhook.codegen._numbers import ask, number_of_test, split_type
from billhook.codegen._reader import (
    APART,
    AT_BIT,
    HAS_LPM,
    add_values,
    bit_of,
    count,
    data,
    entries,
    entry_of,
    is_near,
    mask,
    place,
    take,
    taken,
    whole,
)
from billhook.codegen._steps import code_type, missing_code
from billhook.packing import Packed

TREES = """/* Trees lie one after the other, level by level. The k-th 1 among the shapes of a tree's splits leads
 * to its split k + 1, the k-th 0 to its leaf k. */"""
# With fewer numbers in a leaf, code that reads one after the other is too long for what it gains.
FEWEST_STREAMED = 8
# With splits up to this, 8 bits are enough for the number of bytes of the shapes of a tree.
MOST_PASSED = 1000
# Bits of a leaf that are read at once.
LARGEST_ROW = 16
# Apart, a function has more registers, and takes more code: too much on a processor of 8 bits.
ADD_TREES = """#if defined(__AVR__)
#define ADD_TREES
#else
#define ADD_TREES APART
#endif
"""
SYMMETRIC = """/* Trees lie one after the other. All splits on a level ask the same: the answers, from the first level
 * down, are the bits of the number of a leaf. */"""


def compact(packed: Packed, form: Form, prefix: str) -> Program:
    """Return the data and the functions that compute scores from features."""
    walking = [
        *([number_of_test(packed)] if packed.layout.group else []),
        *([_shapes(packed)] if packed.layout.n_inner and not packed.layout.is_symmetric else []),
        _add_trees(packed),
    ]
    text = "\n".join(
        [
            data(packed.data),
            place(packed.nbytes),
            take(_widths(packed), packed.nbytes, has_entries=bool(entries(walking))),
            APART,
            *entries(walking),
            ADD_TREES,
            *functions_of_codes(packed, form),
            *([ask(packed)] if packed.layout.ask_bits else []),
            *walking,
            *(_scores(packed, kind, prefix) for kind in form.inputs),
        ]
    )
    return Program(text)


def _widths(packed: Packed) -> tuple[int, ...]:
    """Return the bits of all numbers that are read, but for those that are read in parts."""
    layout = packed.layout
    of_trees = (layout.test_bits, layout.tree_bits, layout.column_bits, layout.pair_bits)
    row = layout.n_values * layout.leaf_bits
    return (
        *widths_of_codes(packed),
        *of_trees,
        layout.entry_bits if layout.n_entries else 0,
        row if layout.leaf_bits % 8 and row <= LARGEST_ROW else 0,
    )


def _scores(packed: Packed, kind: Input, prefix: str) -> str:
    n_used, n_tested = packed.layout.n_used, packed.layout.n_tested
    begin = f"void {prefix}_scores{suffix(kind)}(const {c_type(kind)} *x, int32_t *scores)\n{{\n"
    if n_used == 0:
        return f"{begin}    (void)x;\n    add_trees(scores);\n}}\n"
    answers, asked = "", "codes"
    if packed.layout.ask_bits:
        answers, asked = f"    uint8_t answers[{packed.layout.n_pairs // 8 + 1}];\n", "answers"
    ask_all = "    ask(codes, answers);\n" if answers else ""
    return f"""{begin}    {code_type(packed)} codes[{n_tested}];
{answers}{counters(packed)}{find_codes(packed, kind)}{ask_all}    add_trees({asked}, scores);
}}
"""


def _most_splits(packed: Packed) -> int:
    return int(np.diff(packed.coded.offset).max(initial=1)) // 2


def _add_trees(packed: Packed) -> str:
    """Return the function that walks down all trees and adds up their leaves."""
    layout = packed.layout
    most = _most_splits(packed)
    node = "uint_fast8_t" if most < 2**7 else "uint_fast16_t" if most < 2**15 else "uint32_t"
    nodes = split_type(packed)
    codes = f"const {code_type(packed)} *codes, " if layout.n_used else ""
    codes = "const uint8_t *answers, " if layout.ask_bits else codes
    walk = _walk(packed, node) if layout.n_inner else ""
    move_on = f"""        split = ({node})({layout.least_inner}u + (size & {mask(layout.tree_bits)}));
        first = ({nodes})(first + split);
        leaf = ({nodes})(leaf + split + 1u);
"""
    comment = TREES
    if layout.is_symmetric:
        node, walk = "uint16_t", _walk_levels(packed)
        move_on, comment = f"        leaf = ({nodes})(leaf + (({nodes})1 << levels));\n", SYMMETRIC
    begin, width = 8 * layout.sections["trees"], max(layout.tree_bits + layout.column_bits, 1)
    end = whole(begin + layout.n_trees * width)
    start, finish = _base(packed), ""
    if layout.factor_bits:
        start, finish = f"    for (c = 0; c < {layout.n_columns}; c++)\n        scores[c] = 0;\n", start
    counters = f"    {count(layout.n_columns)} c;\n" if layout.n_columns > 1 else ""
    return f"""{comment}
static ADD_TREES void add_trees({codes}int32_t *scores)
{{
    {nodes} first = 0, leaf = 0; /* of the tree */
    place tree;
{counters}{start}    for (tree = {whole(begin)}; tree < {end}; tree = (place)(tree + {width}u)) {{
        number size = take(tree);
        {node} split = 0{walk};
{_add_leaf(packed)}{move_on}    }}
{finish}}}
"""


def _base(packed: Packed) -> str:
    """Return statements that set the scores to what they begin with, or add that to sums times their factors."""
    layout = packed.layout
    if layout.n_columns == 1:
        return f"    scores[0] = {layout.base};\n"
    where, base = base_of_column(packed, layout.sections)
    value = base
    if layout.factor_bits:
        value = f"(int32_t)((uint32_t)scores[c] * BYTE(factor) + (uint32_t)({base}))"
    return f"""    for (c = 0; c < {layout.n_columns}; c++) {{
{where}        scores[c] = {value};
    }}
"""


def base_of_column(packed: Packed, sections: dict[str, int]) -> tuple[str, str]:
    """Return declarations of where numbers of column c are, and an expression for what its score begins with."""
    layout = packed.layout
    three = "((uint32_t)BYTE(at + 2u) << 16 | HALF(at))"
    more = {0: "", 1: "(int32_t)BYTE(at) + ", 2: "(int32_t)HALF(at) + ", 3: f"(int32_t){three} + "}
    if layout.base_bytes == 4:  # all of an unsigned number, in which the sum comes round to what it is
        base = f"(int32_t)(WORD(at) + {layout.base & 0xFFFFFFFF}ul)"
    else:
        base = f"{more[layout.base_bytes]}({layout.base})"
    where = f"        place at = (place)({whole(sections['base'])} + {layout.base_bytes}u * c);\n"
    where = where if layout.base_bytes else ""
    if layout.factor_bits:
        where += f"        place factor = (place)({whole(sections['factors'])} + c);\n"
    return where, base


def _add_leaf(packed: Packed) -> str:
    """Return statements that add the numbers of the leaf that `split` is to the scores."""
    layout = packed.layout
    section, number = "leaves", "leaf + split"
    if layout.n_entries:
        bits = layout.entry_bits
        section, number = "table", f"({entry_of(packed, 'leaves', 'leaf + split', bits)} & {mask(bits)})"
    # Of whole bytes, the place of a byte, else that of a bit.
    in_bytes = layout.leaf_bits % 8 == 0
    size, begin = layout.n_values * layout.leaf_bits, bit_of(packed, section)
    if in_bytes:
        size, begin = size // 8, whole(layout.sections[section])
    value = f"(place)({begin} + (place)({number}) * {size}u)"
    read = "BYTE({0})" if layout.leaf_bits == 8 else "HALF({0})"
    read = read if in_bytes else taken("{0}", layout.leaf_bits)
    if layout.n_values == 1:
        column = "size >> {}" if layout.tree_bits + layout.column_bits <= 16 else "take((place)(tree + {}u))"
        into = f"{column.format(layout.tree_bits)} & {mask(layout.column_bits)}" if layout.column_bits else "0"
        one = read.format(value) if in_bytes else f"{entry_of(packed, section, number, size)} & {mask(size)}"
        return f"        scores[{into}] += (int32_t)({one});\n"
    lines = [f"place at = {value};"]
    if not in_bytes and size <= LARGEST_ROW:
        # All numbers of a leaf are read at once.
        lines = [f"number row = {entry_of(packed, section, number, size)};"]
        lines += [f"for (c = 0; c < {layout.n_values}; c++) {{"]
        lines += [f"    scores[c] += (int32_t)(row & {mask(layout.leaf_bits)});"]
        lines += [f"    row = (number)(row >> {layout.leaf_bits});", "}"]
    elif in_bytes:
        add = [f"    scores[c] += (int32_t){read.format('at')};", f"    at = (place)(at + {layout.leaf_bits // 8}u);"]
        lines += [f"for (c = 0; c < {layout.n_values}; c++) {{", *add, "}"]
    elif layout.n_values < FEWEST_STREAMED:
        add = [f"    scores[c] += (int32_t)({read.format('at')});", f"    at = (place)(at + {layout.leaf_bits}u);"]
        lines += [f"for (c = 0; c < {layout.n_values}; c++) {{", *add, "}"]
    else:
        lines += add_values(layout.n_values, layout.leaf_bits, "scores", "int32_t", AT_BIT, "BYTE(at)", "at++;")
    return "".join(f"        {line}\n" for line in lines)


def _ask_test(packed: Packed, which: str) -> tuple[str, str]:
    """Return statements that read the test with this number, and whether it sends the row to the right."""
    layout = packed.layout
    width = layout.pair_bits
    where = f"(place)({bit_of(packed, 'tests')} + (place)({which}) * {width}u)"
    number = entry_of(packed, "tests", which, width)
    if layout.group:
        number = f"number_of(({split_type(packed)})({which}))"
    elif layout.n_pairs:
        number = f"{number} & {mask(width)}"
    if layout.n_pairs and not layout.ask_bits:
        where = f"(place)({bit_of(packed, 'pairs')} + (place)({number}) * {layout.test_bits}u)"
        number = entry_of(packed, "pairs", number, layout.test_bits)
    read = f"            bits = {number};\n"
    feature = f"bits >> {layout.code_bits} & {mask(layout.feature_bits)}" if layout.feature_bits else "0"
    code = f"(bits & {mask(layout.code_bits)})"
    left = f"bits >> {layout.code_bits + layout.feature_bits} & 1"
    if layout.test_bits > 25:
        read = f"            place test = {where};\n            bits = take(test);\n"
        feature = f"take((place)(test + {layout.code_bits}u)) & {mask(layout.feature_bits)}"
        left = f"take((place)(test + {layout.code_bits + layout.feature_bits}u)) & 1"
    right = f"codes[{feature}] > {code}"
    if layout.missing == "split":
        right = f"codes[{feature}] == {missing_code(packed)} ? !({left}) : {right}"
    if layout.ask_bits:
        right = "answers[bits >> 3] >> (bits & 7) & 1"
    return read, right


def _walk_levels(packed: Packed) -> str:
    """Return statements that walk down a symmetric tree to a leaf, whose number is then `split`."""
    layout = packed.layout
    read, right = _ask_test(packed, "first")
    return f""";
        uint8_t levels = (uint8_t)({layout.least_inner}u + (size & {mask(layout.tree_bits)})), level = levels;
        do {{
            number bits;
{read}            split = (uint16_t)(2u * split + (({right}) ? 1u : 0u));
            first++;
        }} while (--level)"""


def _walk(packed: Packed, node: str) -> str:
    """Return statements that walk from the first split of a tree to a leaf, whose number is then `split`."""
    read, right = _ask_test(packed, "first + split")
    ahead = f"#if {HAS_LPM}\n        {node} ahead;\n#endif\n" if _passes_bytes(packed) else ""
    return f""", ones = 0, to; /* ones among the shapes that the walk has left behind */
        uint_fast8_t before = (uint_fast8_t)(2 * (first & 3)); /* bits in the same byte, of another tree */
        {node} passed = ({node})(0 - before);
        place shapes = (place)({packed.layout.sections["shapes"]}u + (first >> 2));
        shapes_t some = (shapes_t)(SHAPES(shapes) & ~(power(before) - 1)), bit;
{ahead}        do {{
            number bits;
{read}            to = ({node})(2 * split + ({right}));
{_pass_shapes(packed, node)}            split = ({node})(ones + ones_of(some & (shapes_t)(bit - 1)) + 1);
        }} while (some & bit);
        split = ({node})(to + 1 - split)"""


def _passes_bytes(packed: Packed) -> bool:
    """Return whether a program for AVR passes shapes in a loop of its own."""
    return is_near(packed) and _most_splits(packed) <= MOST_PASSED


def _pass_shapes(packed: Packed, node: str) -> str:
    """Return statements that count the ones of shapes up to that which is asked for."""
    loop = f"""            while (({node})(to - passed) >= N_SHAPES) {{
                ones = ({node})(ones + ones_of(some));
                shapes = (place)(shapes + N_SHAPES / 8u);
                some = SHAPES(shapes);
                passed = ({node})(passed + N_SHAPES);
            }}
"""
    if not _passes_bytes(packed):
        return f"{loop}            bit = power((uint8_t)(to - passed));\n"
    return f"""#if {HAS_LPM}
            ahead = ({node})(to - passed);
            if (ahead >= N_SHAPES) {{
                uint_fast8_t n = (uint_fast8_t)(ahead / N_SHAPES);
                ones = ({node})(ones + pass_bytes(data + shapes + 1, n, &some));
                shapes = (place)(shapes + n);
                passed = ({node})(to - (ahead & 7));
            }}
            bit = power((uint8_t)ahead);
#else
{loop}            bit = power((uint8_t)(to - passed));
#endif
"""


def _shapes(packed: Packed) -> str:
    """Return what reads and counts shapes."""
    pass_bytes = ""
    if _passes_bytes(packed):
        ones, add = ONE_BYTE if _most_splits(packed) < 2**7 else TWO_BYTES
        pass_bytes = f"#if {HAS_LPM}\n{PASS_BYTES.substitute(ones=ones, add=add)}#endif\n"
    return SHAPES.substitute(pass_bytes=pass_bytes)


# The type of a count of ones, and how the assembler adds to it.
ONE_BYTE = ("uint8_t", "add %1, %4")
TWO_BYTES = ("uint16_t", "add %A1, %4\\n\\tadc %B1, __zero_reg__")
# A byte in 22 cycles: its ones by pairs, by four and by eight.
PASS_BYTES = Template("""/* Count the ones of shapes and of those in the next n - 1 bytes, and read the byte after. */
static INLINE $ones pass_bytes(const uint8_t *next, uint8_t n, uint8_t *some)
{
    uint8_t part, bits = *some;
    $ones ones = 0;
    __asm__("1:\\n\\tmov %3, %4\\n\\tlsr %3\\n\\tandi %3, 0x55\\n\\tsub %4, %3\\n\\t"
            "mov %3, %4\\n\\tandi %3, 0x33\\n\\tlsr %4\\n\\tlsr %4\\n\\tandi %4, 0x33\\n\\tadd %4, %3\\n\\t"
            "mov %3, %4\\n\\tswap %3\\n\\tadd %4, %3\\n\\tandi %4, 0x0F\\n\\t"
            "$add\\n\\tlpm %4, Z+\\n\\tdec %2\\n\\tbrne 1b"
            : "+z"(next), "+r"(ones), "+r"(n), "=&d"(part), "+d"(bits));
    *some = bits;
    return ones;
}
""")
SHAPES = Template("""/* Shapes are read so many bits at a time. */
#if defined(__AVR__)
typedef uint8_t shapes_t;
#define SHAPES(at) BYTE(at)
#define N_SHAPES 8
/* 2 to the power of n: this processor shifts bit by bit. */
static INLINE uint8_t power(uint8_t n)
{
    uint8_t result;
    __asm__("ldi %0, 1\\n\\tsbrc %1, 1\\n\\tldi %0, 4\\n\\tsbrc %1, 0\\n\\tlsl %0\\n\\tsbrc %1, 2\\n\\tswap %0"
            : "=&d"(result)
            : "r"(n));
    return result;
}
static INLINE uint8_t ones_of(uint8_t bits)
{
    bits = (uint8_t)(bits - (bits >> 1 & 0x55));
    bits = (uint8_t)((bits & 0x33) + (bits >> 2 & 0x33));
    return (uint8_t)((bits + (bits >> 4)) & 15);
}
${pass_bytes}#else
typedef uint32_t shapes_t;
#define SHAPES(at) WORD(at)
#define N_SHAPES 32
static INLINE uint32_t power(uint_fast8_t n) { return (uint32_t)1 << n; }
static INLINE uint32_t ones_of(uint32_t bits)
{
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
}
#endif
""")
