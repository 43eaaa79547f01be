"""C that reads numbers of unequal length: tables of gaps, and groups of numbers."""

from billhook.codegen._reader import bit_of, code_type, count, mask, missing_code
from billhook.packing import Group, Packed

# A third of a number up to this is its product with this one, by 2^16.
LARGEST_BY_THIRD, THIRD = 2**15, 21846


def split_type(packed: Packed) -> str:
    """Return the type of the number of a split, or a leaf, of all trees."""
    return "uint16_t" if packed.layout.n_leaves < 2**16 else "uint32_t"


def ask(packed: Packed) -> str:
    """Return the function that answers all tests of a table of gaps: a bit for each, 1 for those that send a row right."""
    layout = packed.layout
    gap = "uint16_t" if layout.key_bits < 16 and layout.n_pairs < 2**16 else "uint32_t"
    right = "code > key"
    if layout.missing == "split":
        right = f"code == {missing_code(packed)} ? !(key & 1) : code > key >> 1"
    return f"""/* Answer all tests, in the order of features and thresholds: a 1 sends the row to the right. A number is as
 * many ones as its high bits say, a zero, and its low bits: how many tests a feature has, then the gaps before
 * each. */
static void ask(const {code_type(packed)} *codes, uint8_t *answers)
{{
    place at = {layout.sections["pairs"]}u;
    uint8_t byte = 0, left = 0, low = {layout.many_bits}, answer = 0, one = 1;
    {count(layout.n_used)} k = 0;
    {gap} n = 0, key = 0;
    {code_type(packed)} code = 0;
    do {{
        {gap} gap = 0;
        uint8_t unread = (uint8_t)(low + 1), is_high = 1;
        do {{
            if (left) {{
                byte >>= 1;
            }} else {{
                byte = BYTE(at);
                at++;
                left = 8;
            }}
            left--;
            if (is_high && byte & 1) {{
                gap++;
                continue;
            }}
            if (!is_high)
                gap = ({gap})(2 * gap + (byte & 1));
            is_high = 0;
            unread--;
        }} while (unread);
        if (n) {{
            key = ({gap})(key + gap);
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
            n = ({gap})(gap + 1);
            key = 0;
            code = codes[k];
            k++;
            low = {layout.gap_bits};
            for (gap = n; gap && low; gap >>= 1)
                low--;
        }}
    }} while (n || k < {layout.n_used});
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
    highest = "" if group.size == 2 else f"""    for (digit = 0; digits >= {square}; digit++)
        digits = (uint8_t)(digits - {square});
    if (of < 2)
"""
    return f"""/* Return what a split asks: a digit below {group.radix}, of {group.size} that are one number, and low bits. */
static number number_of({nodes} split)
{{
    {nodes} group = ({nodes})({which});
    uint8_t of = (uint8_t)(split - {group.size} * group), digits, digit;
    place at = (place)({bit_of(packed, "tests")} + (place)group * {width}u);
    digits = (uint8_t)(take(at) & {mask(group.digit_bits)});
{highest}    for (digit = 0; digits >= {group.radix}; digit++)
        digits = (uint8_t)(digits - {group.radix});
    if (!of)
        digit = digits;
    at = (place)(at + {group.digit_bits}u + of * {low}u);
    return (number)((number)((number)digit << {low}) | (take(at) & {mask(low)}));
}}
"""
