"""C that reads a model's bytes and turns the values of features into codes."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from billhook._types import Bytes
from billhook.packing import KEY_SHIFTS, Packed, RankQuantizer, UniformQuantizer

# The largest array that avr-gcc compiles is one of 32,767 bytes.
PART = 32_000


def data(content: Bytes, cuts: Sequence[int] = ()) -> str:
    """Return bytes of a model as a constant array, and how they are read.

    What is too long for an array is in parts, which end at one of the `cuts` if possible.
    """
    numbers = content.tolist() or [0]
    if len(numbers) <= PART:
        return f"{NEAR}\nstatic const uint8_t data[{len(numbers)}] FLASH = {{\n{_rows(numbers)}\n}};\n\n{NEAR_READ}"
    ends = parts_of(len(numbers), cuts) or [*range(PART, len(numbers), PART), len(numbers)]
    parts = [numbers[start:end] for start, end in pairwise([0, *ends])]
    macros = [f"#define PART_{k} \\\n" + _rows(part).replace("\n", " \\\n") for k, part in enumerate(parts)]
    arrays = "\n".join(
        f"static const uint8_t data_{k}[{len(part)}] PROGMEM = {{ PART_{k} }};" for k, part in enumerate(parts)
    )
    steps = "\n".join(
        f"    if (at < {len(part)}u)\n        return pgm_get_far_address(data_{k}) + at;\n    at -= {len(part)}u;"
        for k, part in enumerate(parts[:-1])
    )
    return f"""{chr(10).join(macros)}

#if defined(__AVR__)
/* In parts, since the compiler takes no larger arrays; some may lie beyond what 16 bits can address. */
#include <avr/pgmspace.h>
{arrays}

static uint32_t address_of(uint32_t at)
{{
{steps}
    return pgm_get_far_address(data_{len(parts) - 1}) + at;
}}
#define BYTE(at) pgm_read_byte_far(address_of(at))
#else
static const uint8_t data[{len(numbers)}] = {{ {", ".join(f"PART_{k}" for k in range(len(parts)))} }};
#define BYTE(at) data[at]
#endif

{BYTE_BY_BYTE}"""


def parts_of(n_bytes: int, cuts: Sequence[int]) -> list[int] | None:
    """Return where parts that are not too long end, if each can end at one of the cuts, which are ascending."""
    ends, begin = [], 0
    while n_bytes - begin > PART:
        end = next((cut for cut in reversed(cuts) if cut - begin <= PART), begin)
        if end <= begin:
            return None
        ends.append(end)
        begin = end
    return [*ends, n_bytes]


def _rows(numbers: list[int]) -> str:
    rows = [numbers[start : start + 24] for start in range(0, len(numbers), 24)]
    return ",\n".join("    " + ",".join(map(str, row)) for row in rows)


NEAR = """#if defined(__AVR__)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#else
#define FLASH
#endif
"""
BYTE_BY_BYTE = """#define HALF(at) (uint16_t)(BYTE(at) | (uint16_t)BYTE((at) + 1u) << 8)
#define WORD(at) ((uint32_t)BYTE((at) + 3u) << 24 | (uint32_t)BYTE((at) + 2u) << 16 | HALF(at))
"""
NEAR_READ = f"""#if defined(__AVR__)
#define BYTE(at) pgm_read_byte(data + (at))
#define HALF(at) pgm_read_word(data + (at))
#define WORD(at) pgm_read_dword(data + (at))
#else
#define BYTE(at) data[at]
{BYTE_BY_BYTE}#endif
"""

BITS_OF_FLOAT = """static uint32_t bits_of(float x)
{
    union { float number; uint32_t bits; } both;
    both.number = x;
    return both.bits;
}
"""

BITS_OF_WHOLE = """/* The bits of the float of a whole number. */
static uint32_t bits_of_whole(int16_t x)
{
    uint32_t size = x < 0 ? (uint32_t)-(int32_t)x : (uint32_t)x, high = x < 0 ? 406 : 150;
    if (!size)
        return 0;
    for (; size < 0x800000; size += size)
        high--;
    return high << 23 | (size & 0x7FFFFF);
}
"""


def place(n_bytes: int) -> str:
    """Return the definition of the type of a place in so many bytes."""
    return f"typedef {'uint16_t' if n_bytes * 8 < 2**16 else 'uint32_t'} place; /* in bits or bytes */\n"


def count(n: int) -> str:
    """Return the smallest type that counts to n."""
    return "uint8_t" if n < 2**8 else "uint16_t" if n < 2**16 else "uint32_t"


def whole(number: int) -> str:
    """Return a literal that is unsigned, and long where 16 bits do not do."""
    return f"{number}u" if number < 2**16 else f"{number}ul"


def bit_of(packed: Packed, section: str) -> str:
    """Return where a section of the data begins, in bits."""
    return whole(8 * packed.layout.sections[section])


def mask(bits: int) -> str:
    """Return as many ones."""
    return hex((1 << bits) - 1) + ("" if bits < 16 else "u" if bits == 16 else "ul")


def code_type(packed: Packed) -> str:
    """Return the smallest type that holds every code and, where it matters, one more for missing values."""
    n_codes = max((int(quantizer.n_codes) for quantizer in packed.quantizers), default=0)
    asked = int(packed.coded.threshold.max(initial=0))
    needs_more = packed.layout.missing == "split" or (packed.layout.missing == "right" and asked == 0xFF)
    return "uint8_t" if n_codes + needs_more <= 2**8 else "uint16_t"


def missing_code(packed: Packed, shift: int = 0) -> int:
    """Return the code of a missing value, shifted up: one that goes the way that all splits send it."""
    if packed.layout.missing == "left":
        return 0
    most = 0xFF if code_type(packed) == "uint8_t" else 0xFFFF
    return most << shift & most


def code_of(packed: Packed, shift: int) -> str:
    """Return the function from the bits of a float to its code, shifted up by so many bits."""
    return _ranks(packed, shift) if packed.layout.grid == "ranks" else _steps(packed, shift)


def _shifted(packed: Packed, code: str, shift: int) -> str:
    """Return an expression for a code that is shifted up."""
    return f"({code_type(packed)})({code} << {shift})" if shift else f"({code_type(packed)}){code}"


def _ranks(packed: Packed, shift: int) -> str:
    layout = packed.layout
    begin = layout.sections["grids"] + -(-layout.count_bits * layout.n_ordered // 8)
    missing = f"""    if ((key & 0x7FFFFFFF) > 0x7F800000)
        return {missing_code(packed, shift)};
"""
    ranks = [ranks.thresholds for ranks in packed.quantizers if isinstance(ranks, RankQuantizer)]
    has_infinity = any(bool(np.isinf(thresholds[-1:]).any()) for thresholds in ranks)
    above = (
        "    if (key > 0xFF800000)\n        key = 0xFF800000;\n" if layout.missing == "none" and has_infinity else ""
    )
    return f"""/* How many of the n thresholds from `first` on lie below x. */
static {code_type(packed)} code_of(uint32_t key, uint32_t first, uint16_t n)
{{
    uint16_t low = 0;
{"" if layout.missing == "none" else missing}    if (key == 0x80000000)
        key = 0;
    key = key & 0x80000000 ? ~key : key | 0x80000000;
{above}    while (low < n) {{
        uint16_t middle = (uint16_t)(low + (n - low) / 2);
        place at = (place)({begin} + 4 * (first + middle));
        if (WORD(at) < key)
            low = (uint16_t)(middle + 1);
        else
            n = middle;
    }}
    return {_shifted(packed, "low", shift)};
}}
"""


def _steps(packed: Packed, shift_up: int) -> str:
    layout = packed.layout
    code = code_type(packed)
    at_offset = layout.shift_bytes
    at_scale = at_offset + layout.offset_bytes
    shift = str(layout.shift)
    if layout.shift_bytes:
        shift = f"(uint8_t)({shift} + BYTE(at))" if layout.shift else "BYTE(at)"
    offset = f"{layout.offset}"
    if layout.offset_bytes:
        cut = f" & {mask(8 * layout.offset_bytes)}" if layout.offset_bytes < 4 else ""
        offset = f"(int32_t)(WORD(at + {at_offset}u){cut}) + ({offset})"
    scales = [quantizer.scale > 0 for quantizer in packed.quantizers if isinstance(quantizer, UniformQuantizer)]
    scaled = f"(uint16_t)((uint32_t)fine * scale >> 16) >> {15 - layout.code_bits}"
    if layout.code_bits == 16:
        scaled = "(uint32_t)fine * scale >> 15"
    more = {0: "", 1: f" + BYTE(at + {at_scale}u)", 2: f" + HALF(at + {at_scale}u)"}[layout.scale_bytes]
    read_scale = f"    scale = (uint16_t)({layout.scale}u{more});\n"
    if layout.scale == 0 and layout.scale_bytes == 2:
        read_scale = f"    scale = HALF(at + {at_scale}u);\n"
    if not any(scales):
        scale = ""
    elif all(scales):
        scale = f"{read_scale}    fine = (uint_fast16_t)({scaled});\n"
    else:
        scale = f"{read_scale}    if (scale)\n        fine = (uint_fast16_t)({scaled});\n"
    most = min(1 << layout.code_bits, 65535) - 1
    # A code that no split asks for need not be cut off, unless it could be taken for another.
    asked = int(packed.coded.threshold.max(initial=0))
    is_cut = shift_up > 0 or layout.missing == "split" or asked == most or code == "uint8_t"
    cut = f"    if (fine > {most})\n        fine = {most};\n" if is_cut and scale else ""
    largest = most if is_cut and not scale else 0xFFFF
    shifted, product = _shifted(packed, "fine", shift_up), ""
    if scale and all(scales) and layout.code_bits + shift_up == 16:
        # The product is cut off, and has its highest bits where they belong, but for the last shift.
        scale = f"{read_scale}    product = (uint32_t)fine * scale;\n"
        cut = "    if (product >> 31)\n        product = 0x7FFFFFFF;\n"
        shifted = f"(uint16_t)((uint16_t)(product >> 16) << 1 & {hex(0x10000 - (1 << shift_up))})"
        product = "    uint32_t product;\n"
    missing = f"    if (power == 0xFF && below)\n        return {missing_code(packed, shift_up)};\n"
    clamp = "        if (bits > 0xFF800000)\n            bits = 0xFF800000;\n" if layout.missing == "none" else ""
    by_keys = ""
    if any(getattr(quantizer, "is_by_keys", False) for quantizer in packed.quantizers):
        by_keys = f"""    if (shift <= {KEY_SHIFTS[1]}) {{ /* steps by the order of floats */
        if (bits == 0x80000000)
            bits = 0;
        bits = bits >> 31 ? ~bits : bits | 0x80000000;
{clamp}        below = -(int32_t)(bits >> shift);
    }} else
"""
    formula = "ceil(x 2^power) - offset"
    formula = f"floor(({formula}) scale / 2^{31 - layout.code_bits})" if scale else formula
    return f"""/* {formula}, in whole numbers; the feature's shift is 150 - power. */
static {code} code_of(uint32_t bits{", place at" if layout.step_bytes else ""})
{{
    int32_t below = (int32_t)(bits & 0x7FFFFF); /* of minus the value */
    uint_fast8_t power = (uint8_t)((uint16_t)(bits >> 16) >> 7), shift = {shift};
    uint_fast16_t fine{", scale" if scale else ""};
{product}{"" if layout.missing == "none" else missing}    if (power)
        below |= 0x800000;
    if (!(bits >> 31))
        below = -below;
{by_keys}    if (power < shift) {{
        shift = (uint_fast8_t)(shift - power);
        if (shift > 24)
            shift = 24;
#if defined(__AVR__)
        for (; shift > 7; shift = (uint_fast8_t)(shift - 8))
            below >>= 8;
#endif
        below >>= shift;
    }} else {{
        shift = (uint_fast8_t)(power - shift);
        below = (int32_t)((uint32_t)below << (shift < 6 ? shift : 6));
    }}
    below += {offset};
    if (below > 0)
        return 0;
    fine = below < -{largest}L ? {largest} : (uint_fast16_t)-below;
{scale}{cut}    return {shifted};
}}
"""


def code_of_category(packed: Packed, shift: int) -> str:
    """Return the function from the bits of a float to the code of the category that it is, cut off towards zero."""
    layout = packed.layout
    missing = f"""    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return {missing_code(packed, shift)};
"""
    last = (1 << layout.category_bits) - 1 << shift
    at = f"(place)(table + (place)category * {layout.category_bits}u)"
    return f"""/* The code of the category that a number is, cut off towards zero; the highest if it is in no set. */
static {code_type(packed)} code_of_category(uint32_t bits, place table, uint16_t n)
{{
    uint8_t power = (uint8_t)((uint16_t)(bits >> 16) >> 7);
    uint16_t category = 0;
{"" if layout.missing == "none" else missing}    if (power >= 127) {{
        if (power > 142 || bits >> 31)
            return {last};
        category = (uint16_t)((0x800000 | (bits & 0x7FFFFF)) >> (150 - power));
    }}
    if (category >= n)
        return {last};
    return {_shifted(packed, f"({taken(at, layout.category_bits)})", shift)};
}}
"""


def widths_of_codes(packed: Packed) -> tuple[int, ...]:
    """Return the bits of the numbers that say how features become codes."""
    layout = packed.layout
    return (layout.count_bits, layout.id_bits, layout.grid_bits, layout.size_bits, layout.category_bits)


def reads_bits(packed: Packed) -> bool:
    """Return whether what turns features into codes has numbers that are not whole bytes."""
    layout = packed.layout
    has_ids = layout.id_bits > 0 and not layout.has_map
    return has_ids or (layout.grid == "ranks" and layout.n_ordered > 0) or layout.n_grids > 0 or layout.n_categorical > 0


def take(widths: tuple[int, ...]) -> str:
    """Return the function that reads numbers of any width, up to 25 bits, of these widths."""
    small = "uint16_t" if max(widths) <= 16 else "uint32_t"
    return f"""#if defined(__AVR__)
typedef {small} number;
#else
typedef uint32_t number;
#define WINDOW 24
#endif

/* Return the number that begins at this bit, and what comes after it. */
static number take(place at)
{{
    return (number)(WORD(at >> 3) >> (at & 7));
}}
"""


# A macro for functions that are not to become part of others.
APART = """/* Inlined, there would be too many variables for the registers. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif
"""


def taken(at: str, bits: int) -> str:
    """Return an expression for the number of so many bits at a place."""
    return f"take({at}) & {mask(bits)}"


def find_codes(packed: Packed, kind: str) -> str:
    """Return statements that turn the features x into codes."""
    layout = packed.layout
    where, declared, found = "k", "", ""
    if layout.has_map:
        declared = f"    place map = {layout.sections['features']}u;\n    uint8_t byte = 0, left = 0;\n"
        found = """        do {
            byte >>= 1;
            if (!left) {
                byte = BYTE(map);
                map++;
                left = 8;
            }
            left--;
            x++;
        } while (!(byte & 1));
"""
        where = "-1"
    elif layout.id_bits:
        at = f"(place)({bit_of(packed, 'features')} + (place)k * {layout.id_bits}u)"
        where = taken(at, layout.id_bits)
    bits = f"bits_of(x[{where}])" if kind == "float" else f"bits_of_whole(x[{where}])"
    categories = _find_categories(packed, bits) if layout.n_categorical else ""
    if layout.n_ordered == 0:
        return f"    k = 0;\n{categories}"
    if layout.grid == "ranks":
        at = f"{bit_of(packed, 'grids')} + (place)k * {layout.count_bits}u"
        return f"""{declared}    for (k = 0; k < {layout.n_ordered}; k++) {{
        uint16_t n = (uint16_t)(take((place)({at})) & {mask(layout.count_bits)});
{found}        codes[k] = code_of({bits}, first, n);
        first += n;
    }}
{categories}"""
    at = ""
    if layout.step_bytes:
        number = "k"
        if layout.n_grids:
            at = f"(place)({bit_of(packed, 'steps')} + (place)k * {layout.grid_bits}u)"
            number = f"({taken(at, layout.grid_bits)})"
        at = f", (place)({layout.sections['grids']}u + (place){number} * {layout.step_bytes}u)"
    return f"""{declared}    for (k = 0; k < {layout.n_ordered}; k++) {{
{found}        codes[k] = code_of({bits}{at});
    }}
{categories}"""


def _find_categories(packed: Packed, bits: str) -> str:
    """Return statements that turn the values of the categorical features, which come last, into codes."""
    layout = packed.layout
    at = f"{bit_of(packed, 'sizes')} + (place)(k - {layout.n_ordered}u) * {layout.size_bits}u"
    # Of empty sets only, there is nothing to read, and may be nothing behind it.
    size = taken(f"(place)({at})", layout.size_bits) if layout.size_bits else "0"
    return f"""    for (; k < {layout.n_used}; k++) {{
        uint16_t n = (uint16_t)({size});
        codes[k] = code_of_category({bits}, table, n);
        table = (place)(table + (place)n * {layout.category_bits}u);
    }}
"""


def counters(packed: Packed) -> str:
    """Return declarations of what `find_codes` counts with."""
    layout = packed.layout
    first = "    uint32_t first = 0;\n" if layout.n_ordered and layout.grid == "ranks" else ""
    table = f"    place table = {bit_of(packed, 'categories')};\n" if layout.n_categorical else ""
    return f"    {count(layout.n_used)} k;\n{first}{table}"


def functions_of_codes(packed: Packed, shift: int = 0) -> list[str]:
    """Return the functions that `find_codes` calls."""
    layout = packed.layout
    ordered = [code_of(packed, shift)] if layout.n_ordered else []
    return [*ordered, *([code_of_category(packed, shift)] if layout.n_categorical else [])]
