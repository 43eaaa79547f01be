"""What happens in a leaf of the balanced layout, and how that comes to scores, in C."""

from billhook.codegen._balanced_data import BalancedData
from billhook.codegen._balanced_reads import BalancedReads
from billhook.codegen._compact import base_of_column
from billhook.codegen._reader import AT_BIT, AT_BYTE, NEXT_BYTE, PART, add_values, count
from billhook.packing import Packed

# With fewer numbers in a leaf, adding two at a time gains nothing.
FEWEST_IN_PAIRS = 4
# Additions stand in a line, without a loop, if that takes no more than this share of the data.
MOST_OF_DATA, BYTES_OF_ADDITION = 0.02, 7
BYTES_ON_AVR = 14


class BalancedLeaves:
    """How the numbers of leaves are added.

    Attributes
    ----------
    declared : str
        What stands before the function.
    start, add, finish : str
        Statements before all trees, at a leaf, which is at `at`, and after all trees.
    """

    def __init__(self, packed: Packed, made: BalancedData, reads: BalancedReads) -> None:
        self.packed, self.made, self.reads = packed, made, reads
        layout = packed.layout
        # Whether 16 bits hold all sums.
        is_small = layout.n_trees << layout.leaf_bits < 2**16
        self.sum_type = "uint_fast16_t" if is_small else "uint32_t"
        self.sums = "sums" if is_small and layout.n_values > 1 else "scores"
        whole_bytes = reads.unit == 8 and made.form.value_bits == 8
        self.in_pairs = self.sums == "sums" and whole_bytes and layout.n_values >= FEWEST_IN_PAIRS
        self.declared = self._pairs() if self.in_pairs else ""
        self.start, self.finish = self._around()
        self.add = "".join(f"        {line}\n" for line in self._lines())

    def _pairs(self) -> str:
        n_columns = self.packed.layout.n_columns
        return f"""#if defined(__AVR__)
{NEXT_BYTE if self._is_unrolled_on_avr() else ""}typedef uint16_t sum_t;
#define N_SUMS {n_columns}
#define SUM(c) sums[c]
#else
typedef uint32_t sum_t; /* two sums of 16 bits */
#define N_SUMS {-(-n_columns // 2)}
#define SUM(c) (sums[(c) >> 1] >> ((c) & 1) * 16 & 0xFFFF)
#endif

"""

    def _is_unrolled_on_avr(self) -> bool:
        size = self.made.data.size
        return size <= PART and BYTES_ON_AVR * self.packed.layout.n_values <= MOST_OF_DATA * size

    def _around(self) -> tuple[str, str]:
        layout = self.packed.layout
        if layout.n_columns == 1:
            return f"    {self.sum_type} sum = 0;\n", f"    scores[0] = (int32_t)sum + ({layout.base});\n"
        n_sums, declared = str(layout.n_columns), f"    {count(layout.n_columns)} c;\n"
        if self.in_pairs:
            n_sums = "N_SUMS"
        if self.sums == "sums":
            declared += f"    {'sum_t' if self.in_pairs else self.sum_type} sums[{n_sums}];\n"
        where, base = base_of_column(self.packed, self.made.sections)
        sum_of = "SUM(c)" if self.in_pairs else f"{self.sums}[c]"
        value = f"(int32_t){sum_of} + {base}"
        if layout.factor_bits:
            value = f"(int32_t)((uint32_t){sum_of} * BYTE(factor) + (uint32_t)({base}))"
        start = f"{declared}    for (c = 0; c < {n_sums}; c++)\n        {self.sums}[c] = 0;\n"
        return (
            start,
            f"    for (c = 0; c < {layout.n_columns}; c++) {{\n{where}        scores[c] = {value};\n    }}\n",
        )

    def _lines(self) -> list[str]:
        """Return statements that add the numbers of the leaf at `at` to the sums."""
        layout, made, reads = self.packed.layout, self.made, self.reads
        lines = []
        if made.form.has_table:
            lines += reads.number("entry", made.entry, "").splitlines()
            lines.append(f"at = {reads.entry_of('table', 'entry', made.row_bits)};")
        if layout.n_values > 1:
            return [*lines, *self._add_values()]
        into = "sum" if layout.n_columns == 1 else f"scores[{'column' if layout.column_bits else '0'}]"
        kind = self.sum_type if layout.n_columns == 1 else "int32_t"
        value = reads.read(made.row_bits if reads.unit == 8 else made.form.value_bits, "at")
        return [*lines, f"{into} = ({kind})({into} + ({kind})({value}));"]

    def _add_values(self) -> list[str]:
        n_values, bits = self.packed.layout.n_values, self.made.form.value_bits
        kind = self.sum_type if self.sums == "sums" else "int32_t"
        into = f"{self.sums}[c]"
        if self.in_pairs:
            loop = "for (c = 0; c < N_SUMS; c++) {"
            pairs = [loop, "    sums[c] += BYTE_AT(at) | (uint32_t)BYTE_AT(at + 1) << 16;", "    at += 2;", "}"]
            if BYTES_OF_ADDITION * n_values <= MOST_OF_DATA * self.made.data.size:
                two = "sums[{0}] += BYTE_AT(at + {1}) | (uint32_t)BYTE_AT(at + {2}) << 16;"
                pairs = [two.format(c // 2, c, c + 1) for c in range(0, n_values, 2)]
            one = ["    sums[c] = (sum_t)(sums[c] + BYTE_AT(at));", "    at = (spot)(at + 1);", "}"]
            singly = [loop, *one]
            if self._is_unrolled_on_avr():
                singly = [f"sums[{c}] = (sum_t)(sums[{c}] + next_byte(&at));" for c in range(n_values)]
            return ["#if defined(__AVR__)", *singly, "#else", *pairs, "#endif"]
        loop = f"for (c = 0; c < {n_values}; c++) {{"
        if self.reads.unit == 8 and bits % 8 == 0:
            value = self.reads.read(bits, "at")
            return [
                loop,
                f"    {into} = ({kind})({into} + ({kind})({value}));",
                f"    at = {self.reads.past(bits)};",
                "}",
            ]
        if self.reads.unit == 1:
            return add_values(n_values, bits, self.sums, kind, AT_BIT, "BYTE(at)", "at++;")
        return add_values(n_values, bits, self.sums, kind, AT_BYTE, "BYTE_AT(at)", "at = (spot)(at + 1);")
