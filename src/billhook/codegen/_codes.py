"""C that turns the values of features into codes."""

import numpy as np

from billhook.codegen._form import Form, Input
from billhook.codegen._reader import bit_of, count, mask, taken, whole
from billhook.codegen._steps import code_type, is_quick_whole, missing_code, shifted, steps, steps_of_whole
from billhook.packing import Packed, RankQuantizer

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
    return {shifted(packed, "low", shift)};
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
    return {shifted(packed, f"({taken(at, layout.category_bits)})", shift)};
}}
"""


def needs_codes(packed: Packed) -> bool:
    """Return whether splits test what has no order of its own: categories, or projections."""
    return packed.layout.n_categorical > 0 or packed.layout.n_projections > 0


def widths_of_codes(packed: Packed) -> tuple[int, ...]:
    """Return the bits of the numbers that say how features become codes."""
    layout = packed.layout
    return (
        layout.count_bits,
        layout.id_bits,
        layout.grid_bits,
        layout.size_bits,
        layout.category_bits,
        layout.low_bits,
        layout.turn_bits,
    )


def reads_bits(packed: Packed) -> bool:
    """Return whether what turns features into codes has numbers that are not whole bytes."""
    layout = packed.layout
    has_ids = layout.id_bits > 0 and not layout.has_map
    return (
        has_ids
        or (layout.grid == "ranks" and layout.n_ordered > 0)
        or layout.n_grids > 0
        or layout.n_categorical > 0
        or layout.low_bits + layout.turn_bits > 0
    )


def find_codes(packed: Packed, kind: str, features: int | None = None) -> str:
    """Return statements that turn the features x into codes; their numbers may be the bytes from a place on."""
    layout = packed.layout
    where, declared, found = "k", "", ""
    if features is not None:
        where = f"BYTE({features}u + k)"
    elif layout.has_map:
        begin = layout.sections["features"]
        declared = f"    place map = {begin}u;\n    uint_fast8_t byte = 0, left = 0, is_used;\n"
        found = """        do {
            if (!left) {
                byte = BYTE(map);
                map++;
                left = 8;
            }
            left--;
            is_used = byte & 1;
            byte = (uint_fast8_t)(byte >> 1);
            x++;
        } while (!is_used);
"""
        where = "-1"
    elif layout.id_bits:
        at = f"(place)({bit_of(packed, 'features')} + (place)k * {layout.id_bits}u)"
        where = taken(at, layout.id_bits)
    bits = f"bits_of(x[{where}])" if kind == "float" else f"bits_of_whole(x[{where}])"
    code, value = (
        ("code_of_whole", f"x[{where}]") if kind != "float" and is_quick_whole(packed) else ("code_of", bits)
    )
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
{found}        codes[k] = {code}({value}{at});
    }}
{categories}{"    project(codes);" + chr(10) if layout.n_projections else ""}"""


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


def functions_of_codes(packed: Packed, form: Form, shift: int = 0) -> list[str]:
    """Return the functions that `find_codes` calls for the inputs of a form; codes are shifted up by so many bits."""
    layout = packed.layout
    kinds: tuple[Input, ...] = form.inputs
    if not layout.n_used:
        return []
    is_whole = any(kind != "float" for kind in kinds)
    is_quick = is_quick_whole(packed)
    functions = [BITS_OF_FLOAT] if "float" in kinds else []
    functions += [BITS_OF_WHOLE] if is_whole and (layout.n_categorical or not is_quick) else []
    if layout.n_ordered and layout.grid == "ranks":
        functions.append(_ranks(packed, shift))
    elif layout.n_ordered:
        functions += [steps(packed, shift)] if "float" in kinds or not is_quick else []
        functions += [steps_of_whole(packed, shift)] if is_whole and is_quick else []
    functions += [code_of_category(packed, shift)] if layout.n_categorical else []
    return [*functions, *([_project(packed, shift)] if layout.n_projections else [])]


def _project(packed: Packed, shift: int) -> str:
    """Return the function from the codes of features to those of projections, all shifted up by so many bits."""
    layout = packed.layout
    kind, most = code_type(packed), min(1 << layout.code_bits, 65535) - 1
    code = f"(uint16_t)(codes[of] >> {shift})" if shift else "codes[of]"
    # Types that a processor of 8 bits multiplies quickly: a byte and a weight of 8 bits make a number of 16.
    weight, add = "int_fast16_t", f"({_sum_type(packed)})((int32_t){code} * (int32_t)weight)"
    if most < 2**8 and not shift:
        weight, add = "int_fast8_t", f"(int_fast16_t)((int_fast16_t){code} * weight)"
    begin, head = layout.sections["projections"], layout.low_bits + layout.turn_bits
    bits, first = layout.weight_bits, 8 * begin + layout.n_projections * layout.n_used * layout.weight_bits
    turn, low = f"{layout.least_turn}", f"({layout.least_low})"
    if layout.turn_bits:
        turn = f"({turn}u + ({taken(f'(place)(head + {layout.low_bits}u)', layout.turn_bits)}))"
    if layout.low_bits:
        low = f"((int32_t)({taken('head', layout.low_bits)}) + {low})"
    window, read, used_up = "uint_fast16_t", "window | (uint_fast16_t)BYTE(at) << have", 8
    if 8 % bits == 0:  # a byte has whole weights
        window, read, used_up = "uint_fast8_t", "BYTE(at)", 8 // bits
    return f"""/* Projections: sums of codes times weights, shifted down, from the lowest up, cut off at both ends. */
static void project({kind} *codes)
{{
    place at = {whole(begin)};
{f"    place head = {whole(first)};{chr(10)}" if head else ""}    {count(layout.n_tested)} k, of;
    {window} window = 0;
    uint_fast8_t have = 0;
    for (k = {layout.n_used}; k < {layout.n_tested}; k++) {{
        {_sum_type(packed)} sum = 0;
        int32_t code;
        for (of = 0; of < {layout.n_used}; of++) {{
            {weight} weight;
            if ({f"have < {bits}" if used_up == 8 else "!have"}) {{
                window = ({window})({read});
                at++;
                have = (uint_fast8_t)(have + {used_up});
            }}
            weight = ({weight})(({weight})(window & {mask(bits)}) - {1 << (bits - 1)});
            sum = ({_sum_type(packed)})(sum + {add});
            window = ({window})(window >> {bits});
            have = (uint_fast8_t)(have - {bits if used_up == 8 else 1});
        }}
        code = (int32_t)(sum >> {turn}) - {low};
        codes[k] = {shifted(packed, f"(code < 0 ? 0u : code > {most} ? {most}u : (uint_fast16_t)code)", shift)};
{f"        head = (place)(head + {head}u);{chr(10)}" if head else ""}    }}
}}
"""


def _sum_type(packed: Packed) -> str:
    """Return the smallest type that the sums of projections fit, whatever the codes of a row are."""
    projections = packed.projections
    assert projections is not None
    largest = int(np.abs(projections.weights).sum(axis=1).max()) * (projections.n_codes - 1)
    return "int_fast16_t" if largest < 2**15 and int(projections.turn.max()) < 16 else "int32_t"
