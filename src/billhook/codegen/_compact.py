"""The compact layout in C: the bytes of a Packed, and a small program that reads them."""

from billhook.codegen._names import comment, identifier, string_literal
from billhook.packing import Packed, offset_bias


def header(packed: Packed, name: str = "model") -> str:
    """Return the text of the header."""
    prefix = identifier(name)
    guard = f"{prefix.upper()}_H"
    layout = packed.layout
    kind = "a number" if packed.classes is None else f"{packed.n_classes} classes"
    lines = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        f"/* {comment(packed.origin or 'A forest')}: {layout.n_trees} trees, {layout.n_leaves} leaves, {kind}.",
        f" * {packed.nbytes} bytes of data, all constant; no memory but the stack.",
        " *",
        f" * float x[{packed.n_features}] = ...;   the features, in the order of training; NAN where one is missing",
    ]
    if packed.classes is None:
        lines.append(f" * float y = {prefix}_value(x);")
    else:
        lines.append(f" * int c = {prefix}_predict(x);   a class from 0 to {packed.n_classes - 1}")
    lines += [
        " */",
        "",
        "#include <stdint.h>",
        "",
        f"#define {prefix.upper()}_N_FEATURES {packed.n_features}",
        f"#define {prefix.upper()}_N_CLASSES {packed.n_classes}",
        f"#define {prefix.upper()}_N_SCORES {layout.n_columns}",
        f"#define {prefix.upper()}_DATA_BYTES {packed.nbytes}",
        "/* What one unit of a score is worth. */",
        f"#define {prefix.upper()}_SCALE {float_literal(packed.scale)}",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"void {prefix}_scores(const float *x, int32_t *scores);",
    ]
    if packed.classes is None:
        lines.append(f"float {prefix}_value(const float *x);")
    else:
        lines += [f"int {prefix}_predict(const float *x);", f"const char *{prefix}_class_name(int number);"]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def float_literal(number: float) -> str:
    """Return a C literal of the nearest float."""
    text = f"{number:.9g}"
    return (text if any(char in text for char in ".e") else text + ".0") + "f"


def source(packed: Packed, name: str = "model") -> str:
    """Return the text of the source file."""
    prefix = identifier(name)
    layout = packed.layout
    constants = {
        "N_TREES": layout.n_trees,
        "N_USED": layout.n_used,
        "N_COLUMNS": layout.n_columns,
        "N_VALUES": layout.n_values,
        "FEATURE_BITS": layout.feature_bits,
        "CODE_BITS": layout.code_bits,
        "TREE_BITS": layout.tree_bits,
        "COLUMN_BITS": layout.column_bits,
        "LEAF_BITS": layout.leaf_bits,
        "ID_BITS": layout.id_bits,
        "TEST_BITS": layout.test_bits,
        **{f"{section.upper()}_AT": at for section, at in layout.sections.items()},
        **{f"{section.upper()}_BIT": 8 * at for section, at in layout.sections.items()},
    }
    program = "\n".join(
        [
            _take(packed),
            *((_BITS_OF_FLOAT, _code(packed), _walk(packed)) if layout.n_used else ()),
            _scores(packed, prefix),
            _answer(packed, prefix),
        ]
    )
    return "\n".join(
        [
            f'#include "{prefix}.h"',
            "",
            _READ,
            f"static const uint8_t data[{max(packed.nbytes, 1)}] FLASH = {{\n{_bytes(packed)}\n}};",
            "",
            "\n".join(f"#define {key} {_whole(value)}" for key, value in constants.items() if key in program),
            "",
            program,
        ]
    )


def _whole(number: int) -> str:
    """Return a literal that is unsigned, and long where 16 bits do not do."""
    return f"{number}u" if number < 2**16 else f"{number}ul"


def _bytes(packed: Packed) -> str:
    numbers = packed.data.tolist() or [0]
    rows = [numbers[start : start + 24] for start in range(0, len(numbers), 24)]
    return ",\n".join("    " + ",".join(map(str, row)) for row in rows)


_READ = """#if defined(__AVR__)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#define READ(at) pgm_read_byte(data + (at))
#else
#define FLASH
#define READ(at) data[at]
#endif
"""

_BITS_OF_FLOAT = """static uint32_t bits_of(float x)
{
    union { float number; uint32_t bits; } both;
    both.number = x;
    return both.bits;
}
"""


def _take(packed: Packed) -> str:
    # Places count bits. The base stands behind everything that is taken, so that three bytes can always be read.
    at = "uint16_t" if packed.nbytes * 8 < 2**16 else "uint32_t"
    node = "uint16_t" if packed.layout.n_leaves < 2**16 else "uint32_t"
    return f"""typedef {at} place;
typedef {node} node;

/* Return the number at this place in the data, counted in bits; the mask is as wide as the number, up to 16 bits. */
static uint16_t take(place at, uint16_t mask)
{{
    place byte = (place)(at >> 3);
    uint32_t window = (uint32_t)READ(byte + 2) << 16 | (uint16_t)(READ(byte + 1) << 8) | READ(byte);
    return (uint16_t)(window >> (at & 7)) & mask;
}}

static uint32_t word(place byte)
{{
    uint32_t number = 0;
    uint8_t k;
    for (k = 4; k; k--)
        number = number << 8 | READ(byte + k - 1u);
    return number;
}}
"""


def _mask(bits: int) -> str:
    return hex((1 << bits) - 1)


def _code(packed: Packed) -> str:
    """Return the function from a float to its code; MISSING is that of NaN."""
    layout = packed.layout
    missing = "0" if layout.missing == "left" else "0xFFFF"
    if layout.grid == "ranks":
        begin = -(-layout.count_bits * layout.n_used // 8)
        return f"""#define MISSING {missing}
#define KEYS_AT (GRIDS_AT + {begin})

/* How many of the n thresholds from `first` on lie below x. */
static uint16_t code_of(float x, uint32_t first, uint16_t n)
{{
    uint32_t key = bits_of(x);
    uint16_t low = 0;
    if ((key & 0x7FFFFFFF) > 0x7F800000)
        return MISSING;
    if (key == 0x80000000)
        key = 0;
    key = key & 0x80000000 ? ~key : key | 0x80000000;
    while (low < n) {{
        uint16_t middle = (uint16_t)(low + (n - low) / 2);
        if (word((place)(KEYS_AT + 4 * (first + middle))) < key)
            low = (uint16_t)(middle + 1);
        else
            n = middle;
    }}
    return low;
}}
"""
    size, bias = 3 + layout.offset_bytes, offset_bias(layout.offset_bytes)
    offset = "word((place)(at + 1))" + (f" & {_mask(8 * layout.offset_bytes)}" if layout.offset_bytes < 4 else "")
    most = min(1 << layout.code_bits, 65535) - 1
    # A code that no split asks for need not be cut off, unless it could be taken for that of a missing value.
    is_cut = layout.missing == "split" or int(packed.codes.max(initial=0)) == most
    answer = f"fine < {most}u ? fine : {most}u" if is_cut else "fine"
    return f"""#define MISSING {missing}

/* floor((ceil(x 2^power) - offset) scale / 2^{31 - layout.code_bits}), in whole numbers; no scale is 0. */
static uint16_t code_of(float x, {_count(layout.n_used)} feature)
{{
    uint32_t bits = bits_of(x);
    int32_t fixed = (int32_t)(bits & 0x7FFFFF);
    place at = (place)(GRIDS_AT + {size}u * feature);
    uint16_t scale, fine;
    int16_t power = (uint8_t)(bits >> 23);
    if (power == 0xFF && fixed)
        return MISSING;
    if (power)
        fixed |= 0x800000;
    else
        power = 1;
    if (bits >> 31)
        fixed = -fixed;
    power = (int16_t)(power - 150 + (int8_t)READ(at));
    for (; power < 0; power++)
        fixed = (fixed + 1) >> 1;
    for (; power > 0 && fixed < 0x20000000 && fixed > -0x20000000; power--)
        fixed += fixed;
    fixed = fixed + {hex(bias)} - (int32_t)({offset});
    if (fixed <= 0)
        return 0;
    fine = fixed > 65535L ? 0xFFFFu : (uint16_t)fixed;
    scale = take((place)(8 * at + {8 * (size - 2)}), 0xFFFF);
    if (scale)
        fine = (uint16_t)((uint32_t)fine * scale >> {31 - layout.code_bits});
    return {answer};
}}
"""


def _count(n: int) -> str:
    """Return the smallest type that counts to n."""
    return "uint8_t" if n < 2**8 else "uint16_t" if n < 2**16 else "uint32_t"


def _walk(packed: Packed) -> str:
    """Return the function that walks down one tree."""
    layout = packed.layout
    if layout.n_pairs:
        pair_bits = (layout.n_pairs - 1).bit_length()
        number = f"take((place)(TESTS_BIT + (place)split * {pair_bits}), {_mask(pair_bits)})"
        test = f"PAIRS_BIT + (place){number} * TEST_BITS"
    else:
        test = "TESTS_BIT + (place)split * TEST_BITS"
    bit = "!take((place)(at + FEATURE_BITS + CODE_BITS), 1)"
    if layout.test_bits <= 16:
        once = f"\n        uint16_t test = take(at, {_mask(layout.test_bits)});"
        feature = f"test & {_mask(layout.feature_bits)}" if layout.feature_bits else "0"
        code = f"(uint16_t)(test >> {layout.feature_bits}) & {_mask(layout.code_bits)}"
        if layout.missing != "split":
            code = f"(uint16_t)(test >> {layout.feature_bits})"
        bit = f"!(test >> {layout.feature_bits + layout.code_bits})"
    else:
        once = ""
        feature = f"take(at, {_mask(layout.feature_bits)})" if layout.feature_bits else "0"
        code = f"take((place)(at + FEATURE_BITS), {_mask(layout.code_bits)})"
    right = f"code > ({code})"
    if layout.missing == "split":
        right = f"code == MISSING ? {bit} : {right}"
    return f"""/* Count the bits that are 1 among the shapes from one to before another. */
static node ones(place from, place to)
{{
    node count = 0;
    while (from < to) {{
        uint8_t bits = (uint8_t)(READ(SHAPES_AT + (place)(from >> 3)) >> (from & 7));
        uint8_t here = (uint8_t)(8 - (from & 7));
        if (here > to - from) {{
            here = (uint8_t)(to - from);
            bits = (uint8_t)(bits & ((1u << here) - 1));
        }}
        bits = (uint8_t)(bits - (bits >> 1 & 0x55));
        bits = (uint8_t)((bits & 0x33) + (bits >> 2 & 0x33));
        count = (node)(count + (((bits >> 4) + bits) & 15));
        from = (place)(from + here);
    }}
    return count;
}}

/* Walk down the tree whose first split and leaf these are; return the leaf. Each shape is counted once at most. */
static node walk(const uint16_t *codes, node first, node leaf)
{{
    place begin = (place)(2 * (place)first), seen = begin;
    node split = first, found = 0;
    for (;;) {{
        place at = (place)({test});{once}
        uint16_t code = codes[{feature}];
        place shape = (place)(2 * (place)split + ({right}));
        found = (node)(found + ones(seen, shape));
        seen = shape;
        if (!(READ(SHAPES_AT + (place)(shape >> 3)) >> (shape & 7) & 1))
            return (node)(leaf + (shape - begin) - found);
        split = (node)(first + found + 1);
    }}
}}
"""


def _scores(packed: Packed, prefix: str) -> str:
    layout = packed.layout
    ranks = layout.grid == "ranks"
    where = f"take((place)(FEATURES_BIT + (place)k * ID_BITS), {_mask(layout.id_bits)})" if layout.id_bits else "k"
    if ranks:
        count = f"take((place)(GRIDS_BIT + (place)k * {layout.count_bits}), {_mask(layout.count_bits)})"
        code = f"""uint16_t n = {count};
        codes[k] = code_of(x[{where}], first, n);
        first += n;"""
    else:
        code = f"codes[k] = code_of(x[{where}], k);"
    if layout.n_entries:
        entry_bits = (layout.n_entries - 1).bit_length()
        number = f"take((place)(LEAVES_BIT + (place)at * {entry_bits}), {_mask(entry_bits)})" if entry_bits else "0"
        start = f"TABLE_BIT + (place){number} * (N_VALUES * LEAF_BITS)"
    else:
        start = "LEAVES_BIT + (place)at * (N_VALUES * LEAF_BITS)"
    if layout.column_bits:
        at = "(place)(TREES_BIT + (place)tree * (TREE_BITS + COLUMN_BITS) + TREE_BITS)"
        column = f"take({at}, {_mask(layout.column_bits)})"
        width, into = "TREE_BITS + COLUMN_BITS", f"scores[{column}]"
    else:
        width, into = "TREE_BITS", "scores[c]"
    n_inner = _wide(f"(place)(TREES_BIT + (place)tree * ({width}))", layout.tree_bits)
    find_codes = f"""
    for (k = 0; k < N_USED; k++) {{
        {code}
    }}"""
    walked = "walk(codes, split, leaf)"
    counters = f"{_count(max(layout.n_used, layout.n_columns))} k;\n    {_count(layout.n_trees)} tree;"
    declared = f"uint16_t codes[{layout.n_used}];\n    {counters}\n    node split = 0, leaf = 0;"
    if ranks:
        declared += "\n    uint32_t first = 0;"
    if layout.n_used == 0:
        find_codes, walked, declared = "\n    (void)x;", "leaf", f"{counters}\n    node split = 0, leaf = 0;"
    return f"""void {prefix}_scores(const float *x, int32_t *scores)
{{
    {declared}
    for (k = 0; k < N_COLUMNS; k++) {{
        place at = (place)(BASE_AT + 4u * k);
        scores[k] = (int32_t)word(at);
    }}{find_codes}
    for (tree = 0; tree < N_TREES; tree++) {{
        node size = {n_inner};
        node at = {walked};
        place value = (place)({start});
        {_count(layout.n_values)} c;
        for (c = 0; c < N_VALUES; c++) {{
            {into} += (int32_t)take(value, {_mask(layout.leaf_bits)}) - {1 << (layout.leaf_bits - 1)};
            value = (place)(value + LEAF_BITS);
        }}
        split = (node)(split + size);
        leaf = (node)(leaf + size + 1);
    }}
}}
"""


def _wide(at: str, bits: int) -> str:
    """Return an expression for a number that may have more than 16 bits."""
    if bits <= 16:
        return f"take({at}, {_mask(bits)})" if bits else "0"
    return f"((node)take({at}, 0xFFFF) | (node)take((place)({at} + 16u), {_mask(bits - 16)}) << 16)"


def _answer(packed: Packed, prefix: str) -> str:
    if packed.classes is None:
        return f"""float {prefix}_value(const float *x)
{{
    int32_t score;
    {prefix}_scores(x, &score);
    return (float)score * {prefix.upper()}_SCALE;
}}
"""
    n_classes = packed.n_classes
    if n_classes == 1:
        choose = "(void)scores;\n    best = 0;"
    elif packed.layout.n_columns == 1:
        choose = f"best = scores[0] {'>=' if packed.ties == 'last' else '>'} 0;"
    else:
        choose = """best = 0;
    for (c = 1; c < N_COLUMNS; c++)
        if (scores[c] > scores[best])
            best = c;"""
    names = ", ".join(string_literal(str(label)) for label in packed.classes.tolist())
    declare = "uint16_t best, c;" if packed.layout.n_columns > 1 else "int best;"
    return f"""int {prefix}_predict(const float *x)
{{
    int32_t scores[N_COLUMNS];
    {declare}
    {prefix}_scores(x, scores);
    {choose}
    return best;
}}

const char *{prefix}_class_name(int number)
{{
    static const char *const names[] = {{{names}}};
    return number >= 0 && number < {n_classes} ? names[number] : "";
}}
"""
