"""How the bytes of the balanced layout are read in C: byte by byte, or bit by bit."""

from billhook.codegen._balanced_data import BalancedData
from billhook.codegen._bit_stream import Numbers
from billhook.codegen._codes import widths_of_codes
from billhook.codegen._reader import PART, mask, parts_of, whole
from billhook.packing import Packed

READS = {8: "BYTE_AT", 16: "HALF_AT", 24: "THREE_AT", 32: "WORD_AT"}


def fast_type(bits: int) -> str:
    """Return the type of a number of so many bits that a processor computes with."""
    return "uint_fast8_t" if bits <= 8 else "uint_fast16_t" if bits <= 16 else "uint32_t"


class BalancedReads:
    """Expressions and statements that read at a place, `at`: the address of a byte, or the number of a bit."""

    def __init__(self, packed: Packed, made: BalancedData) -> None:
        self.packed, self.made, self.unit = packed, made, made.form.unit
        self.spot_type = "spot" if self.unit == 8 else "place"

    @property
    def n_places(self) -> int:
        """Of how many bytes places are counted: in bits among the codes, and among the trees in their unit."""
        return max(self.made.sections["table"], -(-self.made.data.size // self.unit))

    @property
    def widths(self) -> tuple[int, ...]:
        """The bits of all numbers that are read bit by bit."""
        made, widths = self.made, widths_of_codes(self.packed)
        if self.unit == 8:
            return widths
        tests = (made.head.first_bits, made.head.rest_bits, made.test.first_bits, made.test.rest_bits)
        entry = made.entry.bits if made.form.has_table else 0
        return (*widths, *tests, made.length.bits, made.skip.bits, made.skip.more, entry, made.form.value_bits)

    def spot(self) -> str:
        """Return the definition of the address of a byte, and how it is read."""
        if self.made.data.size <= PART:
            return NEAR_SPOT
        return FAR_SPOT if parts_of(self.made.data.size, self.made.cuts) else FAR_SPOT.replace(*BYTE_BY_BYTE)

    def read(self, bits: int, at: str) -> str:
        """Return an expression for the number of so many bits at a place."""
        if bits == 0:
            return "0"
        return f"(take({at}) & {mask(bits)})" if self.unit == 1 else f"{READS[bits]}({at})"

    def steps(self, bits: int) -> str:
        """Return by how much the place behind so many bits is larger."""
        return whole(bits // self.unit)

    def past(self, bits: int, at: str = "at") -> str:
        """Return an expression for the place so many bits behind one."""
        return f"({self.spot_type})({at} + {self.steps(bits)})" if bits else at

    def begin(self, section: str) -> str:
        """Return where a section begins, as a number."""
        return whole(self.made.sections[section] * 8 // self.unit)

    def spot_of(self, number: str) -> str:
        """Return the place with a number."""
        return f"SPOT({number})" if self.unit == 8 else number

    def entry_of(self, section: str, number: str, bits: int) -> str:
        """Return the place of an entry of a table of so many bits each."""
        return self.spot_of(f"(place)({self.begin(section)} + (place)({number}) * {self.steps(bits)})")

    def number(self, name: str, numbers: Numbers, indent: str) -> str:
        """Return statements that read a number at `at`, and move behind it."""
        kind, few = fast_type(numbers.largest.bit_length()), fast_type(numbers.bits)
        if not numbers.n_long:
            lines = [
                f"{kind} {name} = ({kind})({self.read(numbers.bits, 'at')});",
                f"at = {self.past(numbers.bits)};",
            ]
        else:
            beyond = f"({kind})(({kind})(low - {numbers.limit}u) << {numbers.more})"
            lines = [
                f"{few} low = ({few})({self.read(numbers.bits, 'at')});",
                f"{kind} {name} = low;",
                f"at = {self.past(numbers.bits)};",
                f"if (low >= {numbers.limit}u) {{",
                f"    {name} = ({kind})(({beyond} | {self.read(numbers.more, 'at')}) + {numbers.limit}u);",
                f"    at = {self.past(numbers.more)};",
                "}",
            ]
        return "".join(f"{indent}{line}\n" for line in lines)

    def past_number(self, numbers: Numbers, behind: str) -> list[str]:
        """Return statements that move `at` by the length of the number that is at another place."""
        lines = [f"at = {self.past(numbers.bits)};"]
        if numbers.n_long:
            is_long = f"{self.read(numbers.bits, behind)} >= {numbers.limit}u"
            lines = [f"if ({is_long})", f"    at = {self.past(numbers.more)};", *lines]
        return lines

    def skip(self, condition: str, numbers: Numbers, behind: str) -> list[str]:
        """Return statements that move `at` by the length of the number at another place, and by the number if so."""
        few, move = fast_type(numbers.bits), f"({self.spot_type})(at + {{}})"
        if not numbers.n_long:
            moved = move.format(self.read(numbers.bits, behind))
            return [f"if ({condition})", f"    at = {moved};", f"at = {self.past(numbers.bits)};"]
        beyond = self.read(numbers.more, self.past(numbers.bits, behind))
        if numbers.n_long > 1:
            kind = fast_type(numbers.largest.bit_length())
            beyond = f"(({kind})(({kind})(skipped - {numbers.limit}u) << {numbers.more}) | {beyond})"
        # Of a long one, the limit; the first part is that or more.
        return [
            f"{few} skipped = ({few})({self.read(numbers.bits, behind)});",
            f"if (skipped >= {numbers.limit}u) {{",
            f"    if ({condition})",
            f"        at = {move.format(beyond)};",
            *([f"    skipped = {numbers.limit};"] if numbers.n_long > 1 else []),
            f"    at = {self.past(numbers.more)};",
            "}",
            f"if ({condition})",
            f"    at = {move.format('skipped')};",
            f"at = {self.past(numbers.bits)};",
        ]


OF_BYTES = """#define HALF_AT(at) (uint16_t)(BYTE_AT(at) | (uint16_t)BYTE_AT((at) + 1) << 8)
"""
LARGER = """#define THREE_AT(at) ((uint32_t)BYTE_AT((at) + 2) << 16 | HALF_AT(at))
#define WORD_AT(at) ((uint32_t)HALF_AT((at) + 2) << 16 | HALF_AT(at))
"""
NEAR_SPOT = f"""typedef const uint8_t *spot; /* of a byte */
#define SPOT(at) (data + (at))
#if defined(__AVR__)
#define BYTE_AT(at) pgm_read_byte(at)
#define HALF_AT(at) pgm_read_word(at)
#else
#define BYTE_AT(at) *(at)
{OF_BYTES}#endif
{LARGER}"""
FAR_SPOT = f"""#if defined(__AVR__)
typedef uint32_t spot; /* of a byte */
#define SPOT(at) address_of(at)
#define BYTE_AT(at) pgm_read_byte_far(at)
#else
typedef const uint8_t *spot;
#define SPOT(at) (data + (at))
#define BYTE_AT(at) *(at)
#endif
{OF_BYTES}{LARGER}"""
# Where a tree or a table is longer than a part.
BYTE_BY_BYTE = (
    "#define SPOT(at) address_of(at)\n#define BYTE_AT(at) pgm_read_byte_far(at)",
    "#define SPOT(at) at\n#define BYTE_AT(at) BYTE(at)",
)
