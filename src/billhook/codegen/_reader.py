"""C that reads a model's bytes."""

from collections.abc import Sequence
from itertools import pairwise

from billhook._types import Bytes
from billhook.packing import Packed

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
    # Each with the first bytes of the next, so that no number is in two of them.
    more = ["".join(f", {number}" for number in numbers[end : end + 3]) for end in ends]
    arrays = "\n".join(
        f"static const uint8_t data_{k}[{len(part) + after.count(',')}] PROGMEM = {{ PART_{k}{after} }};"
        for k, (part, after) in enumerate(zip(parts, more, strict=True))
    )
    steps = "\n".join(
        f"    if (at < {len(part)}u)\n        return ADDRESS(data_{k}) + at;\n    at -= {len(part)}u;"
        for k, part in enumerate(parts[:-1])
    )
    return f"""{chr(10).join(macros)}

#if defined(__AVR__)
/* In parts, since the compiler takes no larger arrays; some may lie beyond what 16 bits can address. */
#include <avr/pgmspace.h>
{FAR_READ}
{arrays}

static uint32_t address_of(uint32_t at)
{{
{steps}
    return ADDRESS(data_{len(parts) - 1}) + at;
}}
#else
{ELSEWHERE}
static const uint8_t data[{len(numbers)}] FLASH = {{ {", ".join(f"PART_{k}" for k in range(len(parts)))} }};
{BYTE_BY_BYTE}#endif
"""


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


# An ESP8266 would copy constant data to memory; flash is read by functions of its Arduino core.
ELSEWHERE = """#if defined(ESP8266) && defined(ARDUINO)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#define BYTE(at) pgm_read_byte(data + (at))
#else
#define FLASH
#define BYTE(at) data[at]
#endif"""
NEAR = f"""#if defined(__AVR__)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#else
{ELSEWHERE}
#endif
"""
BYTE_BY_BYTE = """#define HALF(at) (uint16_t)(BYTE(at) | (uint16_t)BYTE((at) + 1u) << 8)
#define WORD(at) ((uint32_t)BYTE((at) + 3u) << 24 | (uint32_t)BYTE((at) + 2u) << 16 | HALF(at))
"""
FAR_READ = """#if defined(__AVR_HAVE_ELPM__)
#define ADDRESS(part) pgm_get_far_address(part)
#define BYTE(at) pgm_read_byte_far(address_of(at))
#define HALF(at) pgm_read_word_far(address_of(at))
#define WORD(at) pgm_read_dword_far(address_of(at))
#else
#define ADDRESS(part) (uint32_t)(uint16_t)(part)
#define BYTE(at) pgm_read_byte(address_of(at))
#define HALF(at) pgm_read_word(address_of(at))
#define WORD(at) pgm_read_dword(address_of(at))
#endif"""
NEAR_READ = f"""#if defined(__AVR__)
#define BYTE(at) pgm_read_byte(data + (at))
#define HALF(at) pgm_read_word(data + (at))
#define WORD(at) pgm_read_dword(data + (at))
#else
{BYTE_BY_BYTE}#endif
"""


# The processor reads flash into any register, and moves on to the next byte as it does.
HAS_LPM = "defined(__AVR__) && defined(__AVR_HAVE_LPMX__)"


def place(n_bytes: int) -> str:
    """Return the definition of the type of a place in so many bytes."""
    return f"typedef {'uint_fast16_t' if n_bytes * 8 < 2**16 else 'uint32_t'} place; /* in bits or bytes */\n"


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


def entry_of(packed: Packed, section: str, number: str, width: int, bits: str = "") -> str:
    """Return an expression for one of the numbers of the same width in a section, from some bits on."""
    if is_near(packed):
        call = f"{packed.layout.sections[section]}u, {number}, {width}u"
        return f"ENTRY_FROM({call}, {bits})" if bits else f"ENTRY({call})"
    more = f" + {bits}" if bits else ""
    return f"take((place)({bit_of(packed, section)} + (place)({number}) * {width}u{more}))"


def is_near(packed: Packed) -> bool:
    """Return whether 16 bits are enough for addresses on AVR, and for the number of a split or a leaf."""
    return packed.nbytes <= PART and packed.layout.n_leaves < 2**16


def take(widths: tuple[int, ...], n_bytes: int = PART + 1, *, has_entries: bool = False) -> str:
    """Return the function that reads numbers of any width, up to 25 bits, of these widths, from so many bytes.

    Where others read entries, it is asked for so seldom on AVR that it had better be short.
    """
    bits = max(widths)
    # Reduced cores have no lpm that takes a register.
    quick = f"{HAS_LPM} && !defined(__AVR_HAVE_MUL__)" if has_entries else HAS_LPM
    # Three bytes hold up to 17 bits, wherever they begin.
    window = "WORD(at >> 3)" if bits > 17 else "((uint32_t)BYTE((at >> 3) + 2u) << 16 | HALF(at >> 3))"
    avr = "uint16_t" if bits <= 16 else "uint32_t"
    comment = "/* Return the number that begins at this bit, and what comes after it. */"
    if n_bytes > PART:
        return f"""#if defined(__AVR__)
typedef {avr} number;
#define WINDOW(at) WORD(at >> 3)
#else
typedef uint32_t number;
#define WINDOW(at) {window}
#endif

{comment}
static number take(place at)
{{
    return (number)(WINDOW(at) >> (at & 7));
}}
"""
    lasts = "C" if bits <= 16 else "CD"
    read = "".join(f"lpm %{byte}0, Z{'+' if byte != lasts[-1] else ''}\\n\\t" for byte in "AB" + lasts)
    shift = "".join(f"{'ror' if k else 'lsr'} %{byte}0\\n\\t" for k, byte in enumerate(reversed("AB" + lasts)))
    return f"""#if defined(__AVR__)
typedef {avr} number;
#define WINDOW(at) WORD(at >> 3)
/* Read some bytes, and shift them by the lowest bits of a number: by 4, 2 and 1. */
#define READ_AND_SHIFT(by) "{read}" \\
    "sbrs " by ", 2\\n\\trjmp 1f\\n\\t.rept 4\\n\\t{shift}.endr\\n" \\
    "1:\\n\\tsbrs " by ", 1\\n\\trjmp 1f\\n\\t.rept 2\\n\\t{shift}.endr\\n" \\
    "1:\\n\\tsbrs " by ", 0\\n\\trjmp 1f\\n\\t{shift}\\n1:"
#else
typedef uint32_t number;
#define WINDOW(at) {window}
#endif

{comment}
static number take(place at)
{{
#if {quick}
    const uint8_t *byte = data + (uint16_t)(at >> 3);
    uint32_t window;
    __asm__(READ_AND_SHIFT("%2") : "=&r"(window), "+&z"(byte) : "r"((uint8_t)at));
    return (number)window;
#else
    return (number)(WINDOW(at) >> (at & 7));
#endif
}}
"""


PRODUCT = (
    "mul %A2, %3\\n\\tmovw %A0, r0\\n\\tmul %B2, %3\\n\\tmov %C0, r1\\n\\tclr __zero_reg__\\n\\t"
    "add %B0, r0\\n\\tadc %C0, __zero_reg__\\n\\t"
)
MORE = "add %A0, %4\\n\\tadc %B0, __zero_reg__\\n\\tadc %C0, __zero_reg__\\n\\t"
ENTRY = """/* The same of one of many numbers of the same width, from a byte on. */
#if defined(__AVR_HAVE_MUL__)
#define READ_ENTRY "mov __tmp_reg__, %A0\\n\\t.rept 3\\n\\tlsr %C0\\n\\tror %B0\\n\\tror %A0\\n\\t.endr\\n\\t" \\
    "add %A1, %A0\\n\\tadc %B1, %B0\\n\\t" READ_AND_SHIFT("__tmp_reg__")
#endif
"""
ONE_ENTRY = f"""#if defined(__AVR_HAVE_MUL__)
#define ENTRY(begin, index, width) entry(data + (begin), (uint16_t)(index), width)
static number entry(const uint8_t *begin, uint16_t index, uint8_t width)
{{
    uint32_t window;
    __asm__("{PRODUCT}" READ_ENTRY : "=&r"(window), "+z"(begin) : "r"(index), "r"(width));
    return (number)window;
}}
#else
#define ENTRY(begin, index, width) take((place)(8 * (place)(begin) + (place)(index) * (width)))
#endif
"""
ENTRY_FROM = f"""/* Or from some bits more on. */
#define ENTRY(begin, index, width) ENTRY_FROM(begin, index, width, 0u)
#if defined(__AVR_HAVE_MUL__)
#define ENTRY_FROM(begin, index, width, bits) entry_from(data + (begin), (uint16_t)(index), width, (uint8_t)(bits))
static number entry_from(const uint8_t *begin, uint16_t index, uint8_t width, uint8_t bits)
{{
    uint32_t window;
    __asm__("{PRODUCT}"
            "{MORE}" READ_ENTRY
            : "=&r"(window), "+z"(begin)
            : "r"(index), "r"(width), "r"(bits));
    return (number)window;
}}
#else
#define ENTRY_FROM(begin, index, width, bits) take((place)(8 * (place)(begin) + (place)(index) * (width) + (bits)))
#endif
"""


def entries(texts: Sequence[str]) -> list[str]:
    """Return the function that reads entries, if these texts call one."""
    if any("ENTRY_FROM(" in text for text in texts):
        return [f"{ENTRY}{ENTRY_FROM}"]
    return [f"{ENTRY}{ONE_ENTRY}"] if any("ENTRY(" in text for text in texts) else []


# What a window of bits is before any is read: at a byte, or at a bit of one.
AT_BYTE = ("window = 0", "have = 0")
AT_BIT = ("window = (window_t)(BYTE(at >> 3) >> (at & 7))", "have = (uint_fast8_t)(8 - (at & 7))")


def add_values(
    n_values: int, bits: int, into: str, kind: str, start: tuple[str, str], byte: str, move_on: str
) -> list[str]:
    """Return statements that add numbers of a few bits, from a place on, to those of an array, at c."""
    window = "uint_fast16_t" if bits <= 9 else "uint32_t"
    lines = [
        f"window_t {start[0]};",
        f"uint_fast8_t {start[1]};",
        *(["at = (place)((at >> 3) + 1u);"] if start == AT_BIT else []),
        f"for (c = 0; c < {n_values}; c++) {{",
        f"    while (have < {bits}) {{",
        f"        window = (window_t)(window | (window_t){byte} << have);",
        f"        {move_on}",
        "        have = (uint_fast8_t)(have + 8);",
        "    }",
        f"    {into}[c] = ({kind})({into}[c] + ({kind})(window & {mask(bits)}));",
        f"    window = (window_t)(window >> {bits});",
        f"    have = (uint_fast8_t)(have - {bits});",
        "}",
    ]
    return [line.replace("window_t", window) for line in lines]


# For AVR, where INLINE is defined.
NEXT_BYTE = f"""/* Read a byte of flash and move on, in one instruction. */
static INLINE uint8_t next_byte(const uint8_t **at)
{{
#if {HAS_LPM}
    uint8_t byte;
    __asm__("lpm %0, Z+" : "=r"(byte), "+z"(*at));
    return byte;
#else
    return pgm_read_byte((*at)++);
#endif
}}
"""
# A macro for functions that are not to become part of others.
APART = """/* What has many variables stays apart, or they find no registers. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))
#else
#define APART
#define INLINE
#endif
"""


def taken(at: str, bits: int) -> str:
    """Return an expression for the number of so many bits at a place."""
    return f"take({at}) & {mask(bits)}"
