"""What happens in a leaf of the fast layout, and how that comes to scores."""

from typing import Protocol

import numpy as np

from billhook._types import Int64Array
from billhook.codegen._reader import APART, PART, count
from billhook.packing import Packed

# How AVR reads numbers of so many bits from flash.
WORDS = {8: "byte", 16: "word", 32: "dword"}


class LeafCode(Protocol):
    """How leaves are written in C.

    Attributes
    ----------
    declared : str
        What stands before the trees.
    returns, argument : str
        The type that the function of a tree returns, and what it takes besides the features.
    adds_up : bool
        Whether the statements of `scores` are about `sums`, numbers of the type `sum_t`.
    """

    adds_up: bool
    declared: str
    returns: str
    argument: str

    def leaf(self, node: int) -> str:
        """Return the statement for a leaf."""

    def go_on(self, function: str) -> str:
        """Return the statement that leaves the rest of a tree to another function."""

    def scores(self, functions: list[str], features: str) -> tuple[str, str]:
        """Return declarations and statements that compute the scores with the functions of trees."""


def leaves_of(packed: Packed, *, is_small: bool, has_reader: bool) -> LeafCode:
    """Return how the leaves of a model are best written."""
    if packed.layout.n_values == 1:
        return SingleValueLeaves(packed)
    few = SparseLeaves(packed)
    # An addition for each number that is not the usual one, or one for all numbers of a leaf.
    if few.mean <= max(2.0, packed.layout.n_values / 3):
        return few
    return TableLeaves(packed, is_small=is_small, has_reader=has_reader)


class SingleValueLeaves:
    """Leaves of one number, from 0 up, which the function of a tree returns."""

    adds_up = False
    declared = argument = ""

    def __init__(self, packed: Packed) -> None:
        coded = packed.coded
        is_leaf = coded.feature < 0
        self.lowest = int(coded.value[is_leaf].min())
        self.number = np.where(is_leaf, coded.value[:, 0].astype(np.int64) - self.lowest, 0)
        self.returns = count(int(self.number.max()))
        self.base = coded.base.astype(np.int64).tolist()
        self.column = coded.tree_column.tolist() if packed.layout.n_columns > 1 else [0] * coded.n_trees

    def leaf(self, node: int) -> str:
        return f"return {self.number[node]};"

    def go_on(self, function: str) -> str:
        return f"return {function}(x);"

    def scores(self, functions: list[str], features: str) -> tuple[str, str]:
        most = int(self.number.max()) * max(self.column.count(c) for c in range(len(self.base)))
        total = "uint_fast16_t" if most < 2**16 else "uint32_t"
        lines = []
        for c, base in enumerate(self.base):
            mine = [function for function, column in zip(functions, self.column, strict=True) if column == c]
            lines += ["sum = 0;", *(f"sum = ({total})(sum + {function}({features}));" for function in mine)]
            lines.append(f"scores[{c}] = (int32_t)sum + ({base + self.lowest * len(mine)});")
        return f"    {total} sum;\n", "".join(f"    {line}\n" for line in lines)


class SparseLeaves:
    """Leaves most of whose numbers are the usual ones of their columns: the others are added one by one."""

    adds_up = True
    returns = "void"
    argument = ", sum_t *sums"

    def __init__(self, packed: Packed) -> None:
        coded = packed.coded
        is_leaf = coded.feature < 0
        values = coded.value.astype(np.int64)
        usual = np.array([_most_common(values[is_leaf, c]) for c in range(values.shape[1])])
        self.away = np.where(is_leaf[:, None], values - usual, 0)
        base = coded.base.astype(np.int64) + usual * coded.n_trees
        self.base = base.tolist()
        self.mean = float((self.away != 0).sum() / is_leaf.sum())
        most = int((np.abs(base) + np.maximum.reduceat(np.abs(self.away), coded.offset[:-1]).sum(axis=0)).max())
        small = "int16_t" if most < 2**15 else "int32_t"
        self.declared = f"""#if defined(__AVR__)
typedef {small} sum_t;
#else
typedef int32_t sum_t;
#endif
"""

    def leaf(self, node: int) -> str:
        columns = np.flatnonzero(self.away[node]).tolist()
        added = [f"sums[{c}] = (sum_t)(sums[{c}] + {self.away[node, c]});" for c in columns]
        return " ".join([*added, "return;"])

    def go_on(self, function: str) -> str:
        return f"{function}(x, sums); return;"

    def scores(self, functions: list[str], features: str) -> tuple[str, str]:
        lines = [f"sums[{c}] = {base};" for c, base in enumerate(self.base)]
        lines += [f"{function}({features}, sums);" for function in functions]
        return "", "".join(f"    {line}\n" for line in lines)


class TableLeaves:
    """Leaves as rows of a table, which are added as a whole; in pairs of 16 bits where words have 32."""

    adds_up = False
    argument = ""

    def __init__(self, packed: Packed, *, is_small: bool, has_reader: bool) -> None:
        coded = packed.coded
        is_leaf = coded.feature < 0
        rows, number = np.unique(coded.value[is_leaf].astype(np.int64), axis=0, return_inverse=True)
        self.number = np.zeros(coded.n_nodes, np.int64)
        self.number[is_leaf] = number.ravel()
        self.returns = count(len(rows) - 1)
        self.base = coded.base.astype(np.int64)
        lowest = rows.min(axis=0)
        self.in_pairs = not is_small and int((rows - lowest).max()) * coded.n_trees < 2**16
        if self.in_pairs:
            self.base = self.base + lowest * coded.n_trees
            rows = np.pad(rows - lowest, ((0, 0), (0, rows.shape[1] % 2)))
            rows = rows[:, ::2] | rows[:, 1::2] << 16
        self.width = rows.shape[1]
        self.declared = self._table(rows, is_small=is_small, has_reader=has_reader)

    def _table(self, rows: Int64Array, *, is_small: bool, has_reader: bool) -> str:
        largest = max(-int(rows.min()) - 1, int(rows.max()))
        bits = 32 if self.in_pairs else next(n for n in WORDS if largest < 1 << (n - 1))
        kind = "uint32_t" if self.in_pairs else f"int{bits}_t"
        n_bytes = rows.size * bits // 8
        if is_small and n_bytes > PART:
            raise ValueError(
                f"the table of leaves takes {n_bytes:,} bytes, and AVR compilers take no array beyond {PART:,}: "
                "use the compact layout"
            )
        text = ",\n".join("    {" + ",".join(map(str, row)) + "}" for row in rows.tolist())
        include = "" if has_reader else "#include <avr/pgmspace.h>\n"
        return f"""#if defined(__AVR__)
{include}#define TABLE PROGMEM
#define LEAF(at, c) ({kind})pgm_read_{WORDS[bits]}(&leaves[at][c])
#else
#define TABLE
#define LEAF(at, c) leaves[at][c]
#endif

static const {kind} leaves[{len(rows)}][{self.width}] TABLE = {{
{text}
}};
{self._add_leaf() if self.in_pairs and self.width > MOST_ADDS else ""}"""

    def _add_leaf(self) -> str:
        """Return a function that adds all numbers of a leaf, for all trees: in a line, since a loop takes longer."""
        adds = "\n".join(f"    sums[{c}] += leaf[{c}];" for c in range(self.width))
        return f"""
{APART}
static APART void add_leaf(const uint32_t *leaf, uint32_t *sums)
{{
{adds}
}}
"""

    def leaf(self, node: int) -> str:
        return f"return {self.number[node]};"

    def go_on(self, function: str) -> str:
        return f"return {function}(x);"

    def scores(self, functions: list[str], features: str) -> tuple[str, str]:
        declared = f"    {self.returns} at;\n"
        base = self.base.tolist()
        if self.in_pairs:
            declared += f"    uint32_t sums[{self.width}] = {{{', '.join(['0'] * self.width)}}};\n"
            adds = [f"sums[{c}] += LEAF(at, {c});" for c in range(self.width)]
            ends = [
                f"scores[{c}] = (int32_t)(sums[{c // 2}] {'>> 16' if c % 2 else '& 0xFFFF'}) + ({number});"
                for c, number in enumerate(base)
            ]
            starts = []
        else:
            adds = [f"scores[{c}] += LEAF(at, {c});" for c in range(self.width)]
            starts, ends = [f"scores[{c}] = {number};" for c, number in enumerate(base)], []
        if self.in_pairs and self.width > MOST_ADDS:
            adds = ["add_leaf(leaves[at], sums);"]
        elif not self.in_pairs:
            declared += f"    {count(self.width)} c;\n"
            adds = [f"for (c = 0; c < {self.width}; c++)", "    scores[c] += LEAF(at, c);"]
        for function in functions:
            starts += [f"at = {function}({features});", *adds]
        return declared, "".join(f"    {line}\n" for line in [*starts, *ends])


# In a straight line for each tree; more than these go in a function.
MOST_ADDS = 6


def _most_common(values: Int64Array) -> int:
    different, counts = np.unique(values, return_counts=True)
    return int(different[counts.argmax()])
