"""From scores to probabilities in C: as floats, and as bytes without a float.

No function of a C library is called: exponentials are of numbers that are not positive, and these are short.
"""

from math import ceil, e, log2

from billhook.codegen._reader import count
from billhook.packing import Packed

# Without a subtraction, which is a function of its own where floats are computed by functions.
EXPONENTIAL = """/* e^x for x up to 0, off by a millionth at most. */
static float exponential(float x)
{
    union { uint32_t bits; float number; } halved;
    float series = 1.0f;
    int8_t k;
    if (x < -86.0f)
        return 0.0f;
    k = (int8_t)(x * -1.44269504f + 0.5f); /* halved so often, and at most by the root of 2 besides */
    halved.bits = (uint32_t)(127 - k) << 23;
    x += (float)k * 0.693147181f;
    for (k = 6; k; k--)
        series = 1.0f + x * series / (float)k;
    return series * halved.number;
}
"""
# How far a number of octaves can fall before nothing is left of 2^24.
OCTAVES = 24


def _power(bits: int) -> str:
    """Return the function that computes powers of 2, in units of 2^-16 or less, by the best cubic."""
    moved = f"rest << {bits - 16}" if bits > 16 else "rest"
    return f"""/* 2^-t in units of 2^-{bits}, t being in units of 2^-16; off by a thousandth of it at most. */
static uint32_t power_of_two(uint32_t t)
{{
    uint16_t f = (uint16_t)t, y = (uint16_t)((uint32_t)2565 * f >> 16);
    uint32_t rest;
    y = (uint16_t)((uint32_t)(uint16_t)(15110 - y) * f >> 16);
    rest = 65536 - ((uint32_t)(uint16_t)(45313 - y) * f >> 16);
    return {moved} >> (t >> 16);
}}
"""


def _octaves(rate: float) -> tuple[int, str]:
    """Return from which distance on nothing is left, and the octaves of less, in units of 2^-16, as C.

    The rate says how many octaves a unit of a score is.
    """
    units = rate * 2**16
    shift = max(0, ceil(log2(16 / units)))
    factor = round(units * 2**shift * 256)
    far = ceil(OCTAVES * 2**16 / units)
    moved = f"(distance >> {shift})" if shift else "distance"
    return far, f"{moved} * {factor}u >> 8"


def _weight(rate: float, bits: int) -> str:
    """Return the function from how far a score is below the best one to its weight."""
    far, octaves = _octaves(rate)
    return f"""{_power(bits)}
static uint32_t weight(uint32_t distance)
{{
    return distance < {far}u ? power_of_two({octaves}) : 0;
}}
"""


def as_floats(packed: Packed, prefix: str) -> str:
    """Return the function from scores to probabilities as floats, and what it calls."""
    scale = f"{prefix.upper()}_SCALE"
    begin = "static void as_floats(const int32_t *scores, float *probabilities)\n{\n"
    n = packed.n_classes
    if n == 1:
        return f"{begin}    (void)scores;\n    probabilities[0] = 1.0f;\n}}\n"
    if packed.layout.n_columns > 1:
        counter = f"    {count(n)} c;\n"
        if packed.link != "softmax":
            return f"""{begin}{counter}    for (c = 0; c < {n}; c++)
        probabilities[c] = (float)scores[c] * {scale};
}}
"""
        return f"""{EXPONENTIAL}
{begin}    int32_t best = scores[0];
    float sum = 0.0f;
{counter}    for (c = 1; c < {n}; c++)
        if (scores[c] > best)
            best = scores[c];
    for (c = 0; c < {n}; c++) {{
        probabilities[c] = exponential((float)((uint32_t)best - (uint32_t)scores[c]) * -{scale});
        sum += probabilities[c];
    }}
    for (c = 0; c < {n}; c++)
        probabilities[c] /= sum;
}}
"""
    if packed.link == "identity":
        return f"""{begin}    probabilities[0] = 0.5f + 0.5f * {scale} * (float)-scores[0];
    probabilities[1] = 0.5f + 0.5f * {scale} * (float)scores[0];
}}
"""
    if packed.link == "isolation":
        return f"""{EXPONENTIAL}
{begin}    float depth = 1.0f + (float)scores[0] * {scale};
    probabilities[0] = depth > 0.0f ? exponential(depth * -0.693147181f) : 1.0f;
    probabilities[1] = 1.0f - probabilities[0];
}}
"""
    return f"""{EXPONENTIAL}
{begin}    uint8_t is_second = scores[0] > 0;
    uint32_t size = is_second ? (uint32_t)scores[0] : 0u - (uint32_t)scores[0];
    float less = exponential((float)size * -{scale}), sum = 1.0f + less;
    probabilities[is_second] = 1.0f / sum;
    probabilities[!is_second] = less / sum;
}}
"""


def as_bytes(packed: Packed) -> str:
    """Return the function from scores to probabilities as bytes, and what it calls; it may change the scores."""
    if packed.n_classes == 1:
        return """static void as_bytes(int32_t *scores, uint8_t *probabilities)
{
    (void)scores;
    probabilities[0] = 255;
}
"""
    if packed.layout.n_columns > 1:
        return _softmax_bytes(packed) if packed.link == "softmax" else _plain_bytes(packed)
    if packed.link == "identity":
        return _vote_bytes(packed)
    return _isolation_bytes(packed) if packed.link == "isolation" else _logistic_bytes(packed)


BEGIN = "static void as_bytes(int32_t *scores, uint8_t *probabilities)\n{\n"


def _softmax_bytes(packed: Packed) -> str:
    n = packed.n_classes
    # The sum of all weights must not take more than 32 bits.
    weight = _weight(packed.scale * log2(e), min(24, int(log2((2**32 - 1) / n))))
    return f"""{weight}
{BEGIN}    int32_t best = scores[0];
    uint32_t sum = 0;
    {count(n)} c;
    for (c = 1; c < {n}; c++)
        if (scores[c] > best)
            best = scores[c];
    for (c = 0; c < {n}; c++) {{
        scores[c] = (int32_t)weight((uint32_t)best - (uint32_t)scores[c]);
        sum += (uint32_t)scores[c];
    }}
    sum /= 255; /* what a unit of a byte is */
    for (c = 0; c < {n}; c++)
        probabilities[c] = (uint8_t)(((uint32_t)scores[c] + (sum >> 1)) / sum);
}}
"""


def _logistic_bytes(packed: Packed) -> str:
    return f"""{_weight(packed.scale * log2(e), 24)}
{BEGIN}    uint8_t is_second = scores[0] > 0;
    uint32_t less = weight(is_second ? (uint32_t)scores[0] : 0u - (uint32_t)scores[0]);
    uint32_t unit = (0x1000000 + less) / 255;
    uint8_t byte = (uint8_t)((less + (unit >> 1)) / unit);
    probabilities[is_second] = (uint8_t)(255 - byte);
    probabilities[!is_second] = byte;
}}
"""


def _isolation_bytes(packed: Packed) -> str:
    far, octaves = _octaves(packed.scale)
    return f"""{_power(24)}
{BEGIN}    uint8_t is_deep = scores[0] >= 0, byte;
    uint32_t distance = is_deep ? (uint32_t)scores[0] : 0u - (uint32_t)scores[0], t = 0;
    if (distance > {far}u)
        distance = {far}u;
    distance = {octaves};
    if (is_deep)
        t = 0x10000 + distance;
    else if (distance < 0x10000)
        t = 0x10000 - distance;
    byte = t < {OCTAVES << 16}u ? (uint8_t)((power_of_two(t) * 255 + 0x800000) >> 24) : 0;
    probabilities[0] = byte;
    probabilities[1] = (uint8_t)(255 - byte);
}}
"""


def _bytes_of(scale: float, most: float, size: str) -> tuple[int, str]:
    """Return from which size of a score on it is 1, and the bytes of less, times 2^24, as C; `most` bytes are 1."""
    shift = max(0, ceil(log2(2**-14 / scale)))
    moved = f"({size} >> {shift})" if shift else size
    return ceil(1 / scale), f"{moved} * {round(most * scale * 2 ** (24 + shift))}u"


def _vote_bytes(packed: Packed) -> str:
    full, parts = _bytes_of(packed.scale, 127.5, "size")
    return f"""{BEGIN}    uint8_t is_second = scores[0] > 0, byte = 255;
    uint32_t size = is_second ? (uint32_t)scores[0] : 0u - (uint32_t)scores[0];
    if (size < {full}u)
        byte = (uint8_t)(128 + ({parts} >> 24));
    probabilities[is_second] = byte;
    probabilities[!is_second] = (uint8_t)(255 - byte);
}}
"""


def _plain_bytes(packed: Packed) -> str:
    full, parts = _bytes_of(packed.scale, 255.0, "size")
    return f"""{BEGIN}    {count(packed.n_classes)} c;
    for (c = 0; c < {packed.n_classes}; c++) {{
        uint32_t size = scores[c] > 0 ? (uint32_t)scores[c] : 0;
        probabilities[c] = size < {full}u ? (uint8_t)(({parts} + 0x800000) >> 24) : 255;
    }}
}}
"""
