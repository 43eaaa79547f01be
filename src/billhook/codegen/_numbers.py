"""C that reads numbers of unequal length: tables of gaps, and groups of numbers."""

from billhook.codegen._reader import count, entry_of, mask
from billhook.codegen._steps import code_type, missing_code
from billhook.packing import Group, Packed

# A third of a number up to this is its product with this one, by 2^16.
LARGEST_BY_THIRD, THIRD = 2**15, 21846


def split_type(packed: Packed) -> str:
    """Return the type of the number of a split, or a leaf, of all trees."""
    return "uint_fast16_t" if packed.layout.n_leaves < 2**16 else "uint32_t"


def ask(packed: Packed) -> str:
    """Return the function that answers all tests of a table of gaps."""
    layout = packed.layout
    # Of what is counted: codes up to the highest asked for, and the tests of a feature, of which there are fewer.
    most = (int(packed.coded.threshold.max(initial=0)) + 1) << (layout.missing == "split")
    number = "uint8_t" if most < 2**8 else "uint16_t" if most < 2**16 else "uint32_t"
    right = "code > key"
    if layout.missing == "split":
        right = f"code == {missing_code(packed)} ? !(key & 1) : code > key >> 1"
    find_low = f"""            low = {layout.gap_bits};
            for (gap = n; gap && low; gap >>= 1)
                low--;
"""
    if not layout.least_tests:  # a projection may be all that uses a feature
        find_low = f"""            if (n) {{
                low = {layout.gap_bits};
                for (gap = n; gap && low; gap >>= 1)
                    low--;
            }}
"""
    first = "gap + 1" if layout.least_tests else "gap"
    return f"""/* Answer all tests in the order of features and thresholds, a bit for each: a 1 sends the row to the
 * right. A number is as many ones as its high bits say, a zero, and its low bits: how many tests a feature
 * has, then the gaps before each. */
#define NEXT_BIT() \\
    if (!left) {{ \\
        byte = BYTE(at); \\
        at++; \\
        left = 8; \\
    }} \\
    left--; \\
    bit = byte & 1; \\
    byte >>= 1

static void ask(const {code_type(packed)} *codes, uint8_t *answers)
{{
    place at = {layout.sections["pairs"]}u;
    uint8_t byte = 0, left = 0, bit, low = {layout.many_bits}, answer = 0, one = 1;
    {count(layout.n_tested)} k = 0;
    {number} n = 0, key = 0;
    {code_type(packed)} code = 0;
    do {{
        {number} gap = 0;
        uint8_t unread = low;
        for (;;) {{
            NEXT_BIT();
            if (!bit)
                break;
            gap++;
        }}
        for (; unread; unread--) {{
            NEXT_BIT();
            gap = ({number})(gap << 1 | bit);
        }}
        if (n) {{
            key = ({number})(key + gap);
            if ({right})
                answer |= one;
            key++;
            one = (uint8_t)(one << 1);
            if (!one) {{
                *answers++ = answer;
                answer = 0;
                one = 1;
            }}
            if (!--n)
                low = {layout.many_bits};
        }} else {{
            n = ({number})({first});
            key = 0;
            code = codes[k];
            k++;
{find_low}        }}
    }} while (n || k < {layout.n_tested});
    *answers = answer;
}}
"""


def number_of_test(packed: Packed) -> str:
    """Return the function that reads what a split asks, or its number, from a group of several."""
    layout = packed.layout
    group = Group(layout.group, layout.radix)
    low = group.low_bits(layout.pair_bits)
    nodes = split_type(packed)
    width = group.digit_bits + group.size * low
    if group.size == 2:
        which = "split >> 1"
    elif layout.n_inner <= LARGEST_BY_THIRD:
        which = f"(uint32_t)split * {THIRD}u >> 16"
    else:
        which = "split / 3"
    square = group.radix**2
    rest = entry_of(packed, "tests", "group", width, f"{group.digit_bits}u + of * {low}u")
    highest = (
        ""
        if group.size == 2
        else f"""    for (digit = 0; digits >= {square}; digit++)
        digits = (uint8_t)(digits - {square});
    if (of < 2)
"""
    )
    return f"""/* What a split asks: a digit below {group.radix}, {group.size} of which are one number; low bits. */
static APART number number_of({nodes} split)
{{
    {nodes} group = ({nodes})({which});
    uint8_t of = (uint8_t)(split - {group.size} * group), digits, digit;
    digits = (uint8_t)({entry_of(packed, "tests", "group", width, "0u")} & {mask(group.digit_bits)});
{highest}    for (digit = 0; digits >= {group.radix}; digit++)
        digits = (uint8_t)(digits - {group.radix});
    if (!of)
        digit = digits;
    return (number)((number)((number)digit << {low}) | ({rest} & {mask(low)}));
}}
"""
