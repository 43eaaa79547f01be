"""C that turns the values of a feature into codes of steps: see `UniformQuantizer`."""

from typing import NamedTuple

from billhook.codegen._reader import mask
from billhook.packing import KEY_SHIFTS, Packed, UniformQuantizer

# The exponent of a float whose last bit is worth 1.
NO_SHIFT = 150
# Whole numbers of 16 bits times 2 to the power of this are numbers of 32 bits, whatever is added.
MOST_POWER = 13


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


def shifted(packed: Packed, code: str, shift: int) -> str:
    """Return an expression for a code that is shifted up."""
    return f"({code_type(packed)})({code} << {shift})" if shift else f"({code_type(packed)}){code}"


def _quantizers(packed: Packed) -> list[UniformQuantizer]:
    return [quantizer for quantizer in packed.quantizers if isinstance(quantizer, UniformQuantizer)]


def is_quick_whole(packed: Packed) -> bool:
    """Return whether whole numbers become codes without becoming floats."""
    quantizers = _quantizers(packed)
    return bool(quantizers) and all(
        not quantizer.is_by_keys and quantizer.power <= MOST_POWER for quantizer in quantizers
    )


class _Steps(NamedTuple):
    """What is the same for floats and whole numbers: the feature's own numbers, declarations, and the last part."""

    shift: str
    declared: str
    last: str
    formula: str
    argument: str


def steps(packed: Packed, shift_up: int) -> str:
    """Return the function from the bits of a float to its code, shifted up by so many bits."""
    layout = packed.layout
    parts = _parts(packed, shift_up)
    missing = f"    if (power == 0xFF && below)\n        return {missing_code(packed, shift_up)};\n"
    clamp = "        if (bits > 0xFF800000)\n            bits = 0xFF800000;\n" if layout.missing == "none" else ""
    by_keys = ""
    if any(quantizer.is_by_keys for quantizer in _quantizers(packed)):
        by_keys = f"""    if (shift <= {KEY_SHIFTS[1]}) {{ /* steps by the order of floats */
        if (bits == 0x80000000)
            bits = 0;
        bits = bits >> 31 ? ~bits : bits | 0x80000000;
{clamp}        below = -(int32_t)(bits >> shift);
    }} else
"""
    return f"""/* {parts.formula}, in whole numbers; the feature's shift is {NO_SHIFT} - power. */
static {code_type(packed)} code_of(uint32_t bits{parts.argument})
{{
    int32_t below = (int32_t)(bits & 0x7FFFFF); /* of minus the value */
    uint_fast8_t power = (uint8_t)((uint16_t)(bits >> 16) >> 7), shift = {parts.shift};
{parts.declared}{"" if layout.missing == "none" else missing}    if (power)
        below |= 0x800000;
    if (!(bits >> 31))
        below = -below;
{by_keys}    if (power < shift) {{
        shift = (uint_fast8_t)(shift - power);
        if (shift > 24)
            shift = 24;
#if defined(__AVR__)
        if (shift & 16)
            below >>= 16;
        if (shift & 8)
            below >>= 8;
        shift &= 7;
#endif
        below >>= shift;
    }} else {{
        shift = (uint_fast8_t)(power - shift);
        below = (int32_t)((uint32_t)below << (shift < 6 ? shift : 6));
    }}
{parts.last}}}
"""


def steps_of_whole(packed: Packed, shift_up: int) -> str:
    """Return the function from a whole number to its code, shifted up by so many bits."""
    layout = packed.layout
    parts = _parts(packed, shift_up)
    powers = {quantizer.power for quantizer in _quantizers(packed)}
    if layout.shift_bytes:
        up = f"    if (shift <= {NO_SHIFT})\n        below = (int32_t)((uint32_t)below << ({NO_SHIFT} - shift));\n"
        down = f"below >>= shift < {NO_SHIFT + 16} ? shift - {NO_SHIFT} : 16;\n"
        down = f"    else\n        {down}" if max(powers) >= 0 else f"    {down}"
        move = (up if max(powers) >= 0 else "") + (down if min(powers) < 0 else "")
        move = f"    uint_fast8_t shift = {parts.shift};\n{parts.declared}{move}"
    else:
        (power,) = powers
        moved = f"    below = (int32_t)((uint32_t)below << {power});\n" if power > 0 else ""
        moved = f"    below >>= {min(-power, 16)};\n" if power < 0 else moved
        move = f"{parts.declared}{moved}"
    return f"""/* The same of a whole number. */
static {code_type(packed)} code_of_whole(int16_t x{parts.argument})
{{
    int32_t below = -(int32_t)x;
{move}{parts.last}}}
"""


def _parts(packed: Packed, shift_up: int) -> _Steps:
    layout = packed.layout
    at_offset = layout.shift_bytes
    at_scale = at_offset + layout.offset_bytes
    shift = str(layout.shift)
    if layout.shift_bytes:
        shift = f"(uint8_t)({shift} + BYTE(at))" if layout.shift else "BYTE(at)"
    offset = f"{layout.offset}"
    if layout.offset_bytes:
        cut = f" & {mask(8 * layout.offset_bytes)}" if layout.offset_bytes < 4 else ""
        offset = f"(int32_t)(WORD(at + {at_offset}u){cut}) + ({offset})"
    scales = [quantizer.scale > 0 for quantizer in _quantizers(packed)]
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
    is_cut = (
        layout.n_projections > 0
        or shift_up > 0
        or layout.missing == "split"
        or asked == most
        or code_type(packed) == "uint8_t"
    )
    cut = f"    if (fine > {most})\n        fine = {most};\n" if is_cut and scale else ""
    largest = most if is_cut and not scale else 0xFFFF
    code, declared = shifted(packed, "fine", shift_up), f"    uint_fast16_t fine{', scale' if scale else ''};\n"
    if all(scales) and shift_up and layout.code_bits + shift_up == 16:
        # The product is cut off, and has its highest bits where they belong, but for the last shift.
        scale = f"{read_scale}    product = (uint32_t)fine * (uint32_t)scale;\n"
        cut = "    if (product >> 31)\n        product = 0x7FFFFFFF;\n"
        code = f"(uint16_t)((uint16_t)(product >> 16) << 1 & {hex(0x10000 - (1 << shift_up))})"
        declared += "    uint32_t product;\n"
    add = "" if offset == "0" else f"    below += {offset};\n"
    last = f"""{add}    if (below > 0)
        return 0;
    fine = below < -{largest}L ? {largest} : (uint_fast16_t)-below;
{scale}{cut}    return {code};
"""
    formula = "ceil(x 2^power) - offset"
    formula = f"floor(({formula}) scale / 2^{31 - layout.code_bits})" if scale else formula
    return _Steps(shift, declared, last, formula, ", place at" if layout.step_bytes else "")
