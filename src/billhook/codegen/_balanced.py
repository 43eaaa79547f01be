"""The balanced layout in C: bytes in the order in which a row reads them, and a small program that does."""

from billhook.codegen._balanced_data import BalancedData, balanced_data
from billhook.codegen._bit_stream import Numbers
from billhook.codegen._compact import SYMMETRIC, base_of_column
from billhook.codegen._form import Form, Input, Program, c_type, suffix
from billhook.codegen._reader import (
    BITS_OF_FLOAT,
    BITS_OF_WHOLE,
    PART,
    code_type,
    count,
    counters,
    data,
    find_codes,
    functions_of_codes,
    mask,
    missing_code,
    place,
    reads_bits,
    take,
    whole,
    widths_of_codes,
)
from billhook.packing import Packed

TREES = """/* Trees lie one after the other, each behind its length. A split is what it asks, and whether its left and
 * its right side are splits too; then comes the length of the left side if both are, or else the leaves. */"""


def balanced(packed: Packed, form: Form, prefix: str) -> Program:
    """Return the data and the functions that compute scores from features."""
    made = balanced_data(packed)
    n_used = packed.layout.n_used
    writer = _Walk(packed, made)
    # Places among the codes are in bits, others in the unit of the trees.
    most = max(8 * made.sections["table"], made.data.size * 8 // made.form.unit)
    needs_take = made.form.unit == 1 or reads_bits(packed)
    text = "\n".join(
        [
            data(made.data),
            place(-(-most // 8)),
            *([take(writer.widths)] if needs_take else []),
            *([writer.spot()] if made.form.unit == 8 else []),
            *([BITS_OF_FLOAT] if n_used and "float" in form.inputs else []),
            *([BITS_OF_WHOLE] if n_used and form.inputs != ("float",) else []),
            *functions_of_codes(packed),
            writer.add_trees(),
            *(_scores(packed, kind, prefix) for kind in form.inputs),
        ]
    )
    return Program(text)


def _scores(packed: Packed, kind: Input, prefix: str) -> str:
    begin = f"void {prefix}_scores{suffix(kind)}(const {c_type(kind)} *x, int32_t *scores)\n{{\n"
    return f"""{begin}    {code_type(packed)} codes[{packed.layout.n_used}];
{counters(packed)}{find_codes(packed, kind)}    add_trees(codes, scores);
}}
"""


class _Walk:
    """Writes the function that walks down all trees."""

    def __init__(self, packed: Packed, made: BalancedData) -> None:
        self.packed, self.made, self.unit = packed, made, made.form.unit
        self.spot_type = "spot" if self.unit == 8 else "place"

    @property
    def widths(self) -> tuple[int, ...]:
        """The bits of all numbers that `take` reads."""
        made = self.made
        if self.unit == 8:
            return widths_of_codes(self.packed)
        of_trees = (made.head.first_bits, made.head.rest_bits, made.test.first_bits, made.test.rest_bits)
        numbers = (made.length.bits, made.skip.bits, made.skip.more, made.entry.bits if made.form.has_table else 0)
        return (*widths_of_codes(self.packed), *of_trees, *numbers)

    def spot(self) -> str:
        """Return how bytes are read from one on."""
        if self.made.data.size <= PART:
            return NEAR_SPOT
        return FAR_SPOT

    def _read(self, bits: int, at: str) -> str:
        """Return an expression for the number of so many bits at a place."""
        if bits == 0:
            return "0"
        if self.unit == 1:
            return f"take({at}) & {mask(bits)}"
        return f"{ {8: 'BYTE_AT', 16: 'HALF_AT', 24: 'THREE_AT', 32: 'WORD_AT'}[bits] }({at})"

    def _steps(self, bits: int) -> str:
        return whole(bits // self.unit)

    def _past(self, bits: int, at: str = "at") -> str:
        """Return an expression for the place so many bits behind one."""
        return f"({self.spot_type})({at} + {self._steps(bits)})" if bits else at

    def _past_number(self, numbers: Numbers) -> str:
        """Return an expression for the place behind a number at `at`."""
        if not numbers.n_long:
            return self._past(numbers.bits)
        is_short = f"{self._read(numbers.bits, 'at')} < {numbers.limit}u"
        short, long = self._steps(numbers.bits), self._steps(numbers.bits + numbers.more)
        return f"({self.spot_type})(at + ({is_short} ? {short} : {long}))"

    def _place_of(self, section: str) -> str:
        begin = self.made.sections[section]
        return f"SPOT({whole(begin)})" if self.unit == 8 else whole(8 * begin)

    def _number(self, name: str, numbers: Numbers, indent: str) -> str:
        """Return statements that read a number at `at`, and move behind it."""
        kind = _type(numbers.largest.bit_length())
        lines = [
            f"{kind} {name} = ({kind})({self._read(numbers.bits, 'at')});",
            f"at = {self._past(numbers.bits)};",
        ]
        if numbers.n_long:
            beyond = f"({kind})({name} - {numbers.limit}u) << {numbers.more}"
            lines += [
                f"if ({name} >= {numbers.limit}u) {{",
                f"    {name} = ({kind})(({beyond} | ({self._read(numbers.more, 'at')})) + {numbers.limit}u);",
                f"    at = {self._past(numbers.more)};",
                "}",
            ]
        return "".join(f"{indent}{line}\n" for line in lines)

    def add_trees(self) -> str:
        """Return the function."""
        packed, made, layout = self.packed, self.made, self.packed.layout
        symmetric = layout.is_symmetric
        length_type = _type(made.length.bits)
        next_tree = "" if symmetric else f"        next = ({self.spot_type})(at + length);\n"
        columns = "        if (!length) {\n            column++;\n            continue;\n        }\n"
        is_wide = layout.n_columns > 1
        declared = f"    {count(layout.n_columns)} c;\n" if is_wide else ""
        declared += f"    {count(layout.n_columns)} column = 0;\n" if layout.column_bits else ""
        declared += "" if symmetric else f"    {self.spot_type} next;\n"
        start, finish = self._sums()
        body = self._walk_levels() if symmetric else self._walk()
        return f"""{SYMMETRIC if symmetric else TREES}
static void add_trees(const {code_type(packed)} *codes, int32_t *scores)
{{
    {self.spot_type} at = {self._place_of("trees")};
{declared}{start}    while (at != {self._place_of("factors")}) {{
        {length_type} length = ({length_type})({self._read(made.length.bits, "at")});
        at = {self._past(made.length.bits)};
{columns if layout.column_bits else ""}{next_tree}{body}{self._add_leaf()}{"" if symmetric else "        at = next;" + chr(10)}    }}
{finish}}}
"""

    def _sums(self) -> tuple[str, str]:
        """Return declarations and statements before the trees and after them."""
        layout, made = self.packed.layout, self.made
        if layout.n_columns == 1:
            return f"    {self._sum_type()} sum = 0;\n", f"    scores[0] = (int32_t)sum + ({layout.base});\n"
        sums, declared = self._sums_name(), ""
        if sums == "sums":
            declared = f"    {self._sum_type()} sums[{layout.n_columns}];\n"
        loop = f"    for (c = 0; c < {layout.n_columns}; c++)"
        where, base = base_of_column(self.packed, made.sections)
        value = f"(int32_t){sums}[c] + {base}"
        if layout.factor_bits:
            value = f"(int32_t)((uint32_t){sums}[c] * BYTE(factor) + (uint32_t)({base}))"
        start = f"{declared}{loop}\n        {sums}[c] = 0;\n"
        return start, f"{loop} {{\n{where}        scores[c] = {value};\n    }}\n"

    def _sum_type(self) -> str:
        layout = self.packed.layout
        return "uint_fast16_t" if layout.n_trees << layout.leaf_bits < 2**16 else "uint32_t"

    def _sums_name(self) -> str:
        """Return where numbers are added: in few bits apart, or to the scores."""
        is_small = self._sum_type() != "uint32_t" and self.packed.layout.n_values > 1
        return "sums" if is_small else "scores"

    def _test(self, indent: str) -> str:
        """Return statements that read what is asked at `at`, move behind it, and find whether the row goes right."""
        made, layout = self.made, self.packed.layout
        head, test = made.head, made.test
        lines = []
        read_from = "at"
        if made.form.has_pairs:
            kind = _type(head.first_bits)
            lines += [
                f"{kind} first = ({kind})({self._read(head.first_bits, 'at')});",
            ]
            if head.rest_bits:
                kind = _type(head.rest_bits)
                rest = self._read(head.rest_bits, self._past(head.first_bits))
                lines.append(f"{kind} rest = ({kind})({rest});")
            number = f"first & {mask(head.code_bits)}" if head.first_bits > head.code_bits else "first"
            size = self._steps(test.bits)
            where = f"({self.spot_type})({self._place_of('pairs')} + (place)({number}) * {size})"
            lines += [f"at = {self._past(head.bits)};", "{"] if False else [f"at = {self._past(head.bits)};"]
            lines.append(f"{self.spot_type} pair = {where};")
            read_from = "pair"
        names = ("asked", "of") if made.form.has_pairs else ("first", "rest")
        kind = _type(test.first_bits)
        lines.append(f"{kind} {names[0]} = ({kind})({self._read(test.first_bits, read_from)});")
        holder = names[0]
        if test.rest_bits:
            kind, holder = _type(test.rest_bits), names[1]
            rest = self._read(test.rest_bits, self._past(test.first_bits, read_from))
            lines.append(f"{kind} {holder} = ({kind})({rest});")
        if not made.form.has_pairs:
            lines.append(f"at = {self._past(test.bits)};")
        feature = "0"
        if test.feature_bits:
            feature = f"{holder} >> {test.feature_at}" if test.feature_at else holder
            feature = f"{feature} & {mask(test.feature_bits)}"
        code = names[0] if test.rest_bits else f"({names[0]} & {mask(test.code_bits)})"
        right = f"codes[{feature}] > {code}"
        if test.missing_bits:
            left = f"{holder} >> {test.missing_at} & 1"
            right = f"codes[{feature}] == {missing_code(self.packed)} ? !({left}) : {right}"
        lines.append(f"uint8_t right = {right};")
        return "".join(f"{indent}{line}\n" for line in lines)

    def _walk(self) -> str:
        """Return statements that go from the first split of a tree to a leaf, which is then at `at`."""
        made, indent = self.made, " " * 16
        past_leaf = self._past_number(made.entry) if made.form.has_table else self._past(made.row_bits)
        past_leaf, past_skip = (f"{indent}at = {past};\n" for past in (past_leaf, self._past_number(made.skip)))
        holder = "rest" if made.head.rest_bits else "first"
        left, right = (hex(1 << made.head.flags_at + k) for k in (0, 1))
        return f"""        for (;;) {{
{self._test(" " * 12)}            if (right) {{
                if (!({holder} & {left})) {{
{past_leaf}                }} else if ({holder} & {right}) {{
{self._number("skipped", made.skip, indent)}                    at = ({self.spot_type})(at + skipped);
                }}
                if (!({holder} & {right}))
                    break;
            }} else {{
                if (!({holder} & {left}))
                    break;
                if ({holder} & {right}) {{
{past_skip}                }} else {{
{past_leaf}                }}
            }}
        }}
"""

    def _walk_levels(self) -> str:
        """Return statements that walk down a symmetric tree to a leaf, and put the next tree at `next`."""
        size = self._steps(self.made.leaf_bits)
        return f"""        uint16_t leaf = 0;
        uint16_t last = (uint16_t)((uint16_t)(1u << length) - 1u);
        {self.spot_type} next;
        do {{
{self._test(" " * 12)}            leaf = (uint16_t)(leaf << 1 | right);
        }} while (--length);
        next = ({self.spot_type})(at + ((place)last + 1u) * {size});
        at = ({self.spot_type})(at + (place)leaf * {size});
"""

    def _add_leaf(self) -> str:
        """Return statements that add the numbers of the leaf at `at` to the sums."""
        layout, made = self.packed.layout, self.made
        lines = []
        if made.form.has_table:
            lines.append(self._number("entry", made.entry, " " * 8).rstrip("\n").lstrip())
            size = self._steps(made.row_bits)
            lines.append(f"at = ({self.spot_type})({self._place_of('table')} + (place)entry * {size});")
        if layout.n_values == 1:
            into = "sum" if layout.n_columns == 1 else f"scores[{'column' if layout.column_bits else '0'}]"
            kind = self._sum_type() if layout.n_columns == 1 else "int32_t"
            value = self._read(made.row_bits if self.unit == 8 else made.form.value_bits, "at")
            lines.append(f"{into} = ({kind})({into} + ({kind})({value}));")
        else:
            lines += self._add_values()
        at = "at = next;" if layout.is_symmetric else ""
        return "".join(f"        {line}\n" for line in [*lines, at] if line)

    def _add_values(self) -> list[str]:
        layout, bits = self.packed.layout, self.made.form.value_bits
        sums = self._sums_name()
        kind = self._sum_type() if sums == "sums" else "int32_t"
        loop = f"for (c = 0; c < {layout.n_values}; c++) {{"
        if self.unit == 8 and bits % 8 == 0:
            add = f"    {sums}[c] = ({kind})({sums}[c] + ({kind})({self._read(bits, 'at')}));"
            return [loop, add, f"    at = {self._past(bits)};", "}"]
        window = "uint_fast16_t" if bits <= 9 else "uint32_t"
        begin, byte, more = f"{window} window = 0;", "BYTE_AT(at)", "at = (spot)(at + 1);"
        have = "uint8_t have = 0;"
        if self.unit == 1:
            begin, byte = f"{window} window = ({window})(BYTE(at >> 3) >> (at & 7));", "BYTE(from)"
            have, more = "uint8_t have = (uint8_t)(8 - (at & 7));", "from++;"
        return [
            begin,
            have,
            *(["place from = (place)((at >> 3) + 1u);"] if self.unit == 1 else []),
            loop,
            f"    while (have < {bits}) {{",
            f"        window = ({window})(window | ({window})(({window}){byte} << have));",
            f"        {more}",
            "        have = (uint8_t)(have + 8);",
            "    }",
            f"    {sums}[c] = ({kind})({sums}[c] + ({kind})(window & {mask(bits)}));",
            f"    window = ({window})(window >> {bits});",
            f"    have = (uint8_t)(have - {bits});",
            "}",
        ]


def _type(bits: int) -> str:
    return "uint_fast8_t" if bits <= 8 else "uint_fast16_t" if bits <= 16 else "uint32_t"


OF_BYTES = """#define HALF_AT(at) (uint16_t)(BYTE_AT(at) | (uint16_t)BYTE_AT((at) + 1) << 8)
"""
NEAR_SPOT = f"""typedef const uint8_t *spot; /* of a byte */
#define SPOT(at) (data + (at))
#if defined(__AVR__)
#define BYTE_AT(at) pgm_read_byte(at)
#define HALF_AT(at) pgm_read_word(at)
#else
#define BYTE_AT(at) *(at)
{OF_BYTES}#endif
#define THREE_AT(at) ((uint32_t)BYTE_AT((at) + 2) << 16 | HALF_AT(at))
#define WORD_AT(at) ((uint32_t)HALF_AT((at) + 2) << 16 | HALF_AT(at))
"""
FAR_SPOT = f"""#if defined(__AVR__)
typedef uint32_t spot; /* of a byte */
#define SPOT(at) at
#define BYTE_AT(at) byte_at(at)
#else
typedef const uint8_t *spot;
#define SPOT(at) (data + (at))
#define BYTE_AT(at) *(at)
#endif
{OF_BYTES}#define THREE_AT(at) ((uint32_t)BYTE_AT((at) + 2) << 16 | HALF_AT(at))
#define WORD_AT(at) ((uint32_t)HALF_AT((at) + 2) << 16 | HALF_AT(at))
"""
