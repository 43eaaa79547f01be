"""What happens in a leaf of the fast layout, and how that comes to scores."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from billhook._types import Int64Array
from billhook.codegen._keys import Sums
from billhook.codegen._reader import NEXT_BYTE, PART, count, mask
from billhook.packing import Packed

T = TypeVar("T")

# How AVR reads numbers of so many bits from flash.
WORDS = {8: "byte", 16: "word", 32: "dword"}


TOO_LARGE_TABLE = (
    "the table of leaves takes {:,} bytes, and AVR compilers take no array beyond {:,}: use the compact layout"
)


class LeafCode(Protocol):
    """How leaves are written in C.

    Attributes
    ----------
    declared : str
        What stands before the trees.
    returns, argument : str
        The type that the function of a tree returns, and what it takes besides the features.
    given : str
        What that is, as the function of a tree passes it on.
    sums : Sums or None
        What trees add to, of the type `sum_t`: then `scores` is about them.
    next : list of int or None
        For each tree the one that its leaves go on with, or None where they return: on a processor of 8 bits, going
        on takes a third of the time.
    are_joined : bool
        Whether several trees become one function.
    """

    declared: str
    returns: str
    argument: str
    given: str
    sums: Sums | None
    next: Sequence[int | None]
    are_joined: bool

    def leaf(self, node: int, sums: str, following: str) -> str:
        """Return the statement for a leaf, which adds to `sums`, and goes on with a function if one is named."""

    def go_on(self, function: str, arguments: str) -> str:
        """Return the statement that leaves the rest of a tree to another function."""

    def scores(self, functions: list[str], features: str, sums: str) -> tuple[str, str]:
        """Return declarations and statements that compute the scores with the functions of trees.

        These take `features` as they stand here: their names, and that of sums if there are any beside them.
        """


def leaves_of(packed: Packed, *, is_small: bool, has_reader: bool, has_room: bool) -> LeafCode:
    """Return how the leaves of a model are best written."""
    if packed.layout.n_values == 1:
        return SumLeaves(packed) if is_small and has_room else SingleValueLeaves(packed)
    few = SparseLeaves(packed, is_small=is_small)
    # An addition for each number that is not the usual one, or one for all numbers of a leaf.
    if few.mean <= max(2.0, packed.layout.n_values / 3):
        return few
    if is_small and packed.layout.leaf_bits <= 8 and packed.layout.n_values <= MOST_IN_LINE:
        rows = ByteLeaves(packed, has_reader=has_reader)
        if rows.largest < 2**8:
            return rows
    return TableLeaves(packed, is_small=is_small, has_reader=has_reader)


class SingleValueLeaves:
    """Leaves of one number, from 0 up, which the function of a tree returns."""

    sums: Sums | None = None
    are_joined = False
    declared = argument = given = ""

    def __init__(self, packed: Packed) -> None:
        self.next: Sequence[int | None] = [None] * packed.layout.n_trees
        coded = packed.coded
        is_leaf = coded.feature < 0
        self.lowest = int(coded.value[is_leaf].min())
        self.number = np.where(is_leaf, coded.value[:, 0].astype(np.int64) - self.lowest, 0)
        self.returns = count(int(self.number.max()))
        self.base = coded.base.astype(np.int64).tolist()
        self.column = coded.tree_column.tolist() if packed.layout.n_columns > 1 else [0] * coded.n_trees

    def leaf(self, node: int, sums: str, following: str) -> str:  # noqa: ARG002 - as in the others
        return f"return {self.number[node]};"

    def go_on(self, function: str, arguments: str) -> str:
        return f"return {function}({arguments});"

    def scores(self, functions: list[str], features: str, sums: str) -> tuple[str, str]:  # noqa: ARG002 - as in the others
        most = int(self.number.max()) * max(self.column.count(c) for c in range(len(self.base)))
        total = "uint_fast16_t" if most < 2**16 else "uint32_t"
        lines = []
        for c, base in enumerate(self.base):
            mine = [function for function, column in zip(functions, self.column, strict=True) if column == c]
            lines += ["sum = 0;", *(f"sum = ({total})(sum + {function}({features}));" for function in mine)]
            lines.append(f"scores[{c}] = (int32_t)sum + ({base + self.lowest * len(mine)});")
        return f"    {total} sum;\n", "".join(f"    {line}\n" for line in lines)


class SumLeaves(SingleValueLeaves):
    """The same, but trees take the sum of those before them, add to it, and pass it on to the next."""

    given = ", sum"

    def __init__(self, packed: Packed) -> None:
        super().__init__(packed)
        of_trees = np.maximum.reduceat(self.number, packed.coded.offset[:-1])
        most = int(np.bincount(self.column, of_trees).max())
        self.returns = "uint8_t" if most < 2**8 else "uint16_t" if most < 2**16 else "uint32_t"
        self.argument = f", {self.returns} sum"
        self.next = _in_chains(self.column)

    def leaf(self, node: int, sums: str, following: str) -> str:  # noqa: ARG002 - as in the others
        sum_ = f"({self.returns})(sum + {self.number[node]})" if self.number[node] else "sum"
        return f"return {following}(x, {sum_});" if following else f"return {sum_};"

    def scores(self, functions: list[str], features: str, sums: str) -> tuple[str, str]:  # noqa: ARG002 - as in the others
        is_first = set(range(len(functions))) - set(self.next)
        lines = []
        for c, base in enumerate(self.base):
            mine = [tree for tree, column in enumerate(self.column) if column == c]
            lines.append("sum = 0;")
            lines += [f"sum = {functions[tree]}({features}, sum);" for tree in mine if tree in is_first]
            lines.append(f"scores[{c}] = (int32_t)sum + ({base + self.lowest * len(mine)});")
        return f"    {self.returns} sum;\n", "".join(f"    {line}\n" for line in lines)


class SparseLeaves:
    """Leaves most of whose numbers are the usual ones of their columns: the others are added one by one."""

    returns = "void"
    argument = ", sum_t *sums"
    given = ", sums"

    def __init__(self, packed: Packed, *, is_small: bool) -> None:
        coded = packed.coded
        self.next: Sequence[int | None] = [None] * coded.n_trees
        is_leaf = coded.feature < 0
        values = coded.value.astype(np.int64)
        usual = np.array([_most_common(values[is_leaf, c]) for c in range(values.shape[1])])
        self.away = np.where(is_leaf[:, None], values - usual, 0)
        base = coded.base.astype(np.int64) + usual * coded.n_trees
        self.mean = float((self.away != 0).sum() / is_leaf.sum())
        self.are_joined = not is_small and self.mean >= MANY_ADDED
        # Sums are counted from the lowest that there can be.
        lowest = base + np.minimum(np.minimum.reduceat(self.away, coded.offset[:-1]), 0).sum(axis=0)
        highest = base + np.maximum(np.maximum.reduceat(self.away, coded.offset[:-1]), 0).sum(axis=0)
        self.lowest = int(lowest.min())
        most = int(highest.max()) - self.lowest
        small = "uint8_t" if most < 2**8 else "uint16_t" if most < 2**16 else "int32_t"
        self.lowest = 0 if small == "int32_t" else self.lowest
        self.base = base.tolist()
        self.sums: Sums | None = Sums(len(self.base), small)
        kind = f"""typedef {small} sum_t; /* counted from the lowest that a sum can be */
#define LOWEST ({self.lowest})
#define LOWER_SUMS 1
"""
        elsewhere = "typedef int32_t sum_t;\n#define LOWEST 0\n#define LOWER_SUMS 0\n"
        self.declared = kind if is_small else f"#if defined(__AVR__)\n{kind}#else\n{elsewhere}#endif\n"

    def leaf(self, node: int, sums: str, following: str) -> str:
        columns = np.flatnonzero(self.away[node]).tolist()
        numbers = [(c, int(self.away[node, c])) for c in columns]
        added = [f"{sums}[{c}] = (sum_t)({sums}[{c}] {'-' if n < 0 else '+'} {abs(n)});" for c, n in numbers]
        if following:
            added.append(f"{following}(x{'' if '->' in sums else self.given});")
        return " ".join([*added, "return;"])

    def go_on(self, function: str, arguments: str) -> str:
        return f"{function}({arguments}); return;"

    def scores(self, functions: list[str], features: str, sums: str) -> tuple[str, str]:
        # The difference of two numbers of 16 bits may take 17.
        lines = [f"{sums}[{c}] = (sum_t)((int32_t){base} - LOWEST);" for c, base in enumerate(self.base)]
        lines += [f"{function}({features});" for tree, function in enumerate(functions) if tree not in self.next]
        return "", "".join(f"    {line}\n" for line in lines)


class TableLeaves:
    """Leaves as rows of a table, which are added as a whole; with words of 32 bits, two to four numbers at a time."""

    sums: Sums | None = None
    are_joined = False
    argument = given = ""

    def __init__(self, packed: Packed, *, is_small: bool, has_reader: bool) -> None:
        coded = packed.coded
        self.next: Sequence[int | None] = [None] * coded.n_trees
        is_leaf = coded.feature < 0
        rows, number = np.unique(coded.value[is_leaf].astype(np.int64), axis=0, return_inverse=True)
        self.number = np.zeros(coded.n_nodes, np.int64)
        self.number[is_leaf] = number.ravel()
        self.returns = count(len(rows) - 1)
        self.base = coded.base.astype(np.int64)
        lowest = rows.min(axis=0)
        above = np.where(is_leaf[:, None], coded.value.astype(np.int64) - lowest, 0)
        most = int(np.maximum.reduceat(above, coded.offset[:-1]).sum(axis=0).max())
        # How many sums there are in a word; none if they take more than half of it.
        self.lanes = 0 if is_small else next((n for n in (4, 3, 2) if most < 1 << 32 // n), 0)
        if self.lanes:
            self.base = self.base + lowest * coded.n_trees
            rows = np.pad(rows - lowest, ((0, 0), (0, -rows.shape[1] % self.lanes)))
            rows = np.sum([rows[:, k :: self.lanes] << 32 // self.lanes * k for k in range(self.lanes)], axis=0)
        self.width = rows.shape[1]
        self.declared = self._table(rows, is_small=is_small, has_reader=has_reader)

    def _table(self, rows: Int64Array, *, is_small: bool, has_reader: bool) -> str:
        largest = max(-int(rows.min()) - 1, int(rows.max()))
        bits = 32 if self.lanes else next(n for n in WORDS if largest < 1 << (n - 1))
        kind = "uint32_t" if self.lanes else f"int{bits}_t"
        n_bytes = rows.size * bits // 8
        if is_small and n_bytes > PART:
            raise ValueError(TOO_LARGE_TABLE.format(n_bytes, PART))
        end = "u" if self.lanes else ""
        text = ",\n".join("    {" + ",".join(f"{number}{end}" for number in row) + "}" for row in rows.tolist())
        include = "" if has_reader else "#include <avr/pgmspace.h>\n"
        return f"""#if defined(__AVR__) || defined(ESP8266) && defined(ARDUINO)
{include}#define TABLE PROGMEM
#define LEAF(row, c) ({kind})pgm_read_{WORDS[bits]}(&(row)[c])
#else
#define TABLE
#define LEAF(row, c) (row)[c]
#endif

static const {kind} leaves[{len(rows)}][{self.width}] TABLE = {{
{text}
}};
{self._add_leaves() if self.lanes and self.width > MOST_ADDS else ""}"""

    def _add_leaves(self) -> str:
        """Return functions that add all numbers of leaves, for all trees: in a line, since a loop takes longer.

        Of several leaves together, sums are read and written but once.
        """
        functions = []
        for n in dict.fromkeys(map(len, _together(self.next))):
            arguments = "".join(f"const uint32_t *{name}, " for name in LEAVES[:n])
            adds = "\n".join(
                f"    sums[{c}] += {' + '.join(f'LEAF({name}, {c})' for name in LEAVES[:n])};"
                for c in range(self.width)
            )
            functions.append(f"\nstatic APART void add_{n}({arguments}uint32_t *sums)\n{{\n{adds}\n}}\n")
        return "".join(functions)

    def leaf(self, node: int, sums: str, following: str) -> str:  # noqa: ARG002 - as in the others
        return f"return {self.number[node]};"

    def go_on(self, function: str, arguments: str) -> str:
        return f"return {function}({arguments});"

    def scores(self, functions: list[str], features: str, sums: str) -> tuple[str, str]:  # noqa: ARG002 - as in the others
        base = self.base.tolist()
        if not self.lanes:
            declared = f"    {self.returns} at;\n    {count(self.width)} c;\n"
            lines = [f"scores[{c}] = {number};" for c, number in enumerate(base)]
            for function in functions:
                lines += [f"at = {function}({features});", f"for (c = 0; c < {self.width}; c++)"]
                lines += ["    scores[c] += LEAF(leaves[at], c);"]
            return declared, "".join(f"    {line}\n" for line in lines)
        declared = f"    uint32_t sums[{self.width}] = {{{', '.join(['0'] * self.width)}}};\n"
        lines = []
        if self.width > MOST_ADDS:
            declared += f"    {self.returns} {', '.join(LEAVES[: min(len(functions), len(LEAVES))])};\n"
            for together in _together(functions):
                names = LEAVES[: len(together)]
                lines += [f"{name} = {function}({features});" for name, function in zip(names, together, strict=True)]
                lines.append(f"add_{len(names)}({''.join(f'leaves[{name}], ' for name in names)}sums);")
        else:
            declared += f"    {self.returns} at;\n"
            for function in functions:
                lines += [
                    f"at = {function}({features});",
                    *(f"sums[{c}] += LEAF(leaves[at], {c});" for c in range(self.width)),
                ]
        bits = 32 // self.lanes
        for c, number in enumerate(base):
            word, lane = divmod(c, self.lanes)
            one = f"sums[{word}] >> {bits * lane}" if lane else f"sums[{word}]"
            one = one if lane == self.lanes - 1 else f"{one} & {mask(bits)}"
            lines.append(f"scores[{c}] = (int32_t)({one}) + ({number});")
        return declared, "".join(f"    {line}\n" for line in lines)


class ByteLeaves(TableLeaves):
    """The same for a processor of 8 bits, where numbers from 0 to 255 are added in a straight line."""

    def __init__(self, packed: Packed, *, has_reader: bool) -> None:
        coded = packed.coded
        self.next = [None] * coded.n_trees
        is_leaf = coded.feature < 0
        lowest = coded.value[is_leaf].astype(np.int64).min(axis=0)
        above = np.where(is_leaf[:, None], coded.value.astype(np.int64) - lowest, 0)
        rows, number = np.unique(above[is_leaf], axis=0, return_inverse=True)
        self.number = np.zeros(coded.n_nodes, np.int64)
        self.number[is_leaf] = number.ravel()
        self.returns = count(len(rows) - 1)
        self.base = coded.base.astype(np.int64) + lowest * coded.n_trees
        self.largest = int(rows.max())
        most = int(np.maximum.reduceat(above, coded.offset[:-1]).sum(axis=0).max())
        self.total = "uint8_t" if most < 2**8 else "uint16_t" if most < 2**16 else "uint32_t"
        self.width = rows.shape[1]
        if rows.size > PART:
            raise ValueError(TOO_LARGE_TABLE.format(rows.size, PART))
        text = ",\n".join("    {" + ",".join(map(str, row)) + "}" for row in rows.tolist())
        include = "" if has_reader else "#include <avr/pgmspace.h>\n"
        adds = "\n".join(f"    sums[{c}] = ({self.total})(sums[{c}] + next_byte(&leaf));" for c in range(self.width))
        self.declared = f"""#if defined(__AVR__)
{include}#define TABLE PROGMEM
{NEXT_BYTE}#else
#define TABLE
static INLINE uint8_t next_byte(const uint8_t **at) {{ return *(*at)++; }}
#endif

static const uint8_t leaves[{len(rows)}][{self.width}] TABLE = {{
{text}
}};

static APART void add_leaf(const uint8_t *leaf, {self.total} *sums)
{{
{adds}
}}
"""

    def scores(self, functions: list[str], features: str, sums: str) -> tuple[str, str]:  # noqa: ARG002 - as in the others
        lines = [f"add_leaf(leaves[{function}({features})], sums);" for function in functions]
        lines += [f"scores[{c}] = (int32_t)sums[{c}] + ({base});" for c, base in enumerate(self.base.tolist())]
        declared = f"    {self.total} sums[{self.width}] = {{{', '.join(['0'] * self.width)}}};\n"
        return declared, "".join(f"    {line}\n" for line in lines)


# Numbers that a leaf adds: with more, the function of a tree has registers to save.
MANY_ADDED = 3.0
# What one function adds on a processor of 8 bits, 14 bytes each.
MOST_IN_LINE = 64
# In a straight line for each tree; more than these go in a function.
MOST_ADDS = 6
# So many leaves are added together: their addresses and that of sums are in registers, on a Cortex-M0 too.
LEAVES = ("a", "b", "c", "d")


# Where a compiler makes calls of them after all, chains of trees may not be too long for the stack.
LONGEST_CHAIN = 32


def _in_chains(column: list[int]) -> list[int | None]:
    """Return for each tree the next one that adds to the same column, or None at the end of a chain."""
    following: list[int | None] = [None] * len(column)
    last: dict[int, tuple[int, int]] = {}
    for tree, c in enumerate(column):
        before, length = last.get(c, (-1, LONGEST_CHAIN))
        if length < LONGEST_CHAIN:
            following[before] = tree
        last[c] = (tree, length + 1 if length < LONGEST_CHAIN else 1)
    return following


def _together(functions: Sequence[T]) -> list[Sequence[T]]:
    """Return functions in groups whose leaves are added together."""
    return [functions[k : k + len(LEAVES)] for k in range(0, len(functions), len(LEAVES))]


def _most_common(values: Int64Array) -> int:
    different, counts = np.unique(values, return_counts=True)
    return int(different[counts.argmax()])
