"""What trees compare on a processor of 8 bits: a key of a byte or two for a feature, or halves of a float.

The bits of a float, read as a whole number, are in the order of the floats from 0 up, and below 0 in the opposite
order. Where all thresholds of a feature are multiples of 2^shift apart in this order, its key is how many of these a
value lies above the lowest, cut off at both ends: what a comparison with it says is exact, whatever the value. Around
0 there are too many floats for that; there thresholds may be multiples of a power of two, which the key counts. Where
that is not to be had, or does not pay, since a row asks for the feature too seldom, the upper half of a float is
compared, and the lower half where the upper ones are equal. Which is quickest is estimated, in cycles of what avr-gcc
makes of it.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._types import Int64Array
from billhook.codegen._codes import BITS_OF_FLOAT
from billhook.codegen._form import Input
from billhook.codegen._key_functions import (
    HALVE,
    HALVES,
    IS_MISSING,
    KEY_ABOVE,
    KEY_AROUND,
    KEY_BY_UPPER,
    KEY_IN_STEPS,
    KEY_OF_WHOLE,
)
from billhook.packing import Packed

INFINITY = 0x7F800000
# Of the key of a float; with more the least base would not be a number of 32 bits.
MOST_SHIFT = 23
# Cycles of a comparison of one byte, of two, of the upper half of a float, and then of the lower.
BYTE, WORD, HALF, TIE = 4.5, 8.5, 16.0, 14.0
# Of a key of two bytes that is compared again for the byte below, and of that byte.
AGAIN, LOW = 3, 4
# Cycles of a key of a float, of one that may be negative, with missing values; of both halves.
FLOAT, AROUND, MISSING, COPY = 24, 45, 5, 18
# The same in steps of a power of two.
IN_STEPS = 56
# The exponent of a float that is 2^15 of the steps it is counted in, if their power is 0; least and highest of all.
UNIT, UNITS = 142, (16, 238)
# Cycles of a key of a whole number, counted from 0 or from another.
WHOLE, FROM_ZERO, COPY_WHOLE = 15, 8, 8
# A register and this many bytes are an address; what is behind takes so many cycles more.
REACH, BEYOND = 62, 5
# A tree that is given sums too has an address for them, and none left for features: so many cycles each time.
NO_ADDRESS = 4
# Sums stand before the keys if they take no more bytes.
FEW_SUMS = 32
# More features are not made ready in straight lines.
MOST_PREPARED = 160


class Key(NamedTuple):
    """What a feature is turned into: `bits` of 8 or 16, of 24 (16 and the 8 below), or 0 for halves as they are.

    It counts from the base up, multiples of 2^shift in the order of floats, or of 2^-power if that is not None.
    """

    bits: int
    shift: int = 0
    base: int = 0
    power: int | None = None

    def above(self, number: int) -> int:
        """Return what a key is compared with, of a threshold in the order of floats."""
        if self.power is None:
            return (number - self.base) >> self.shift
        return int(_steps(np.array([number]), self.power)[0]) - self.base


@dataclass(frozen=True)
class Keys:
    """How the features of one kind are compared.

    Attributes
    ----------
    declared : str
        What stands before the functions of trees: the type of the keys, and functions.
    array : str
        The declaration of what a tree takes; empty if nothing could be said for it.
    prepared : str
        Statements that make `keys` from the features x; empty if trees compare the features themselves.
    right : list of str
        For each node, the condition for going right: "0" where none does, "" for leaves.
    """

    declared: str
    array: str
    prepared: str
    right: list[str]


class Sums(NamedTuple):
    """What trees add to: so many numbers of a type in C."""

    number: int
    type: str

    @property
    def n_bytes(self) -> int:
        """How many bytes they take."""
        return self.number * {"uint8_t": 1, "int8_t": 1, "int16_t": 2, "uint16_t": 2}.get(self.type, 4)


def keys_of_floats(packed: Packed, sums: Sums | None) -> Keys | None:
    """Return how floats are compared; None where there are too many to be made ready, and some may be missing.

    Sums that trees add to stand with the keys, if there are keys.
    """
    missing = packed.layout.missing
    number = _ordered(packed.bounds)
    most_less = 1 if missing in ("right", "split") else 0
    options = [
        _float_options(number[nodes], most_less, is_missing=missing != "none") for nodes in _nodes(packed, number)
    ]
    visits = _visits(packed)
    direct = [
        share * (cycles + (NO_ADDRESS if sums else BEYOND if 4 * feature > REACH else 0))
        for share, feature, (_, _, cycles) in zip(visits, packed.used.tolist(), (o[0] for o in options), strict=True)
    ]
    best = [_quickest(of_feature, v) for of_feature, v in zip(options, visits, strict=True)]
    together = sum(before + v * cycles for (_, before, cycles), v in zip(best, visits, strict=True))
    if missing == "none" and (sum(direct) <= together or len(best) > MOST_PREPARED):
        halves = [(f"UPPER({k})", f"LOWER({k})") for k in packed.used.tolist()]
        tests = _tests(packed, number, [Key(0)] * len(best), halves)
        is_used = any("UPPER" in test for test in tests)
        return Keys(HALVES if is_used else "", "const float *x", "", tests)
    if len(best) > MOST_PREPARED:
        return None
    keys = [key for key, _, _ in best]
    names = [(f"x->{'key' if key.bits else 'high'}{k}", f"x->low{k}") for k, key in enumerate(keys)]
    tests = _tests(packed, number, keys, names)
    lines = [_key_of_float(packed, k, key) for k, key in enumerate(keys)]
    const = "" if sums else "const "
    declared = _struct("float", keys, visits, sums) + _functions(packed, keys)
    return Keys(declared, f"{const}keys_of_float *x", "".join(lines), tests)


def keys_of_whole(packed: Packed, limit: NDArray[np.float64], low: int, high: int, sums: Sums | None) -> Keys | None:
    """Return how whole numbers of 16 bits are compared, as `keys_of_floats`; None if as they are is quicker."""
    kept = np.where((limit >= low) & (limit < high), limit, np.nan)
    options = []
    for nodes in _nodes(packed, kept):
        at = kept[nodes]
        at = at[~np.isnan(at)]
        key = (Key(16), COPY_WHOLE, WORD)
        if at.size and at.max() - at.min() < 0xFF:
            base = 0 if at.min() >= 0 and at.max() < 0xFF else int(at.min())
            key = min(key, (Key(8, 0, base), WHOLE if base else FROM_ZERO, BYTE), key=lambda option: option[2])
        options.append((key, at.size))
    visits = _visits(packed)
    used = packed.used.tolist()
    direct = sum(
        v * (WORD + (NO_ADDRESS if sums else BEYOND if 2 * k > REACH else 0))
        for v, k in zip(visits, used, strict=True)
    )
    together = sum(key[1] * (size > 0) + v * key[2] for (key, size), v in zip(options, visits, strict=True))
    if direct <= together or len(used) > MOST_PREPARED:
        return None
    keys = [key[0] for key, _ in options]
    tests = []
    for feature, bound in zip(packed.coded.feature.tolist(), limit.tolist(), strict=True):
        if feature < 0:
            tests.append("")
        elif not low <= bound < high:
            tests.append("0" if bound >= high else "1")
        else:
            tests.append(f"x->key{feature} > {int(bound) - keys[feature].base}")
    lines = [
        f"    keys.key{k} = key_of_whole(x[{used[k]}], {key.base}, 0xFF);\n"
        if key.bits == 8
        else f"    keys.key{k} = x[{used[k]}];\n"
        for k, key in enumerate(keys)
    ]
    const = "" if sums else "const "
    declared = _struct("int16", keys, visits, sums) + KEY_OF_WHOLE
    return Keys(declared, f"{const}keys_of_int16 *x", "".join(lines), tests)


def _ordered(x: NDArray[np.float32]) -> Int64Array:
    """Return whole numbers in the order of floats."""
    bits = x.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _nodes(packed: Packed, number: NDArray[np.generic]) -> list[Int64Array]:
    """Return the splits of each feature in use."""
    feature = packed.coded.feature
    order = np.argsort(feature, kind="stable")
    starts = np.searchsorted(feature[order], np.arange(packed.layout.n_used + 1))
    assert number.size == feature.size
    return [order[first:end] for first, end in pairwise(starts.tolist())]


def _visits(packed: Packed) -> list[float]:
    """Return about how often a row asks for each feature, taking all leaves of a tree for equally likely."""
    coded = packed.coded
    visits = np.zeros(packed.layout.n_used)
    for first, end in pairwise(coded.offset.tolist()):
        leaves = leaves_below(coded.left[first:end].tolist(), coded.right[first:end].tolist())
        is_split = coded.feature[first:end] >= 0
        np.add.at(visits, coded.feature[first:end][is_split], np.array(leaves)[is_split] / leaves[0])
    return [float(visit) for visit in visits]


def leaves_below(left: list[int], right: list[int]) -> list[int]:
    """Return how many leaves are below each node of a tree."""
    leaves = [1] * len(left)
    for node in reversed(range(len(left))):
        if left[node] >= 0:
            leaves[node] = leaves[left[node]] + leaves[right[node]]
    return leaves


def _float_options(number: Int64Array, most_less: int, *, is_missing: bool) -> list[tuple[Key, float, float]]:
    """Return ways to compare a feature, halves first, each with cycles for a row and for a comparison."""
    finite = number[number != INFINITY]
    missing = MISSING * is_missing
    options: list[tuple[Key, float, float]] = [(Key(0), COPY + missing, HALF + TIE * _ties(finite, 16))]
    if not finite.size:
        return options
    lowest, span = int(finite.min()), int(finite.max() - finite.min())
    apart = int(np.gcd.reduce(finite - lowest))
    most_shift = min((apart & -apart).bit_length() - 1, MOST_SHIFT) if apart else 16
    for bits, cycles in ((8, BYTE), (16, WORD)):
        least = next(shift for shift in range(33) if span >> shift < (1 << bits) - 1 - most_less)
        if least > most_shift:
            continue
        keys = [Key(bits, shift, lowest + 1 - (1 << shift)) for shift in range(least, most_shift + 1)]
        options += [(key, _cycles(key) + missing, cycles) for key in keys]
    options += [(key, IN_STEPS + missing, cycles) for key, cycles in _in_steps(finite, most_less)]
    key = Key(24, 8, lowest - 0xFF)
    if span >> 8 < (1 << 16) - 2 - most_less and _function(key) == "key_above":
        options.append((key, _cycles(key) + LOW + missing, WORD + AGAIN + TIE * _ties(finite - key.base, 8)))
    return options


def _floats(number: Int64Array) -> NDArray[np.float64]:
    """Return the floats of numbers in their order."""
    bits = np.where(number < 0, 0x80000000 - number, number).astype(np.uint32)
    return bits.view(np.float32).astype(np.float64)


def _steps(number: Int64Array, power: int) -> Int64Array:
    """Return how many times 2^-power floats are."""
    return np.ldexp(_floats(number), power).astype(np.int64)


def _in_steps(finite: Int64Array, most_less: int) -> list[tuple[Key, float]]:
    """Return the key that counts steps of a power of two, and the cycles of a comparison, if there is one."""
    if not finite.any() or int(finite.min()) == -INFINITY:
        return []
    part, exponent = np.frexp(_floats(finite[finite != 0]))
    digits = np.ldexp(part, 24).astype(np.int64)
    power = -int((exponent - 24 + np.log2(digits & -digits).astype(np.int64)).min())
    if not UNITS[0] <= UNIT - power <= UNITS[1] or int(exponent.max()) + power > 17:
        return []
    steps = _steps(finite, power)
    base = min(int(steps.min()), 0)
    span = max(int(steps.max()), 0) - base
    for bits, cycles in ((8, BYTE), (16, WORD)):
        if span < (1 << bits) - 1 - most_less:
            return [(Key(bits, 0, base, power), cycles)]
    return []


def _quickest(options: list[tuple[Key, float, float]], visits: float) -> tuple[Key, float, float]:
    return min(options, key=lambda option: option[1] + visits * option[2])


def _cycles(key: Key) -> float:
    """Return how long it takes to make a key of a float."""
    if _function(key) == "key_around":
        return AROUND + 7 * (key.shift % 8)
    return FLOAT + (3 if key.shift < 8 else 2) * (key.shift % 8)


def _ties(number: Int64Array, bits: int) -> float:
    """Return about how often all but the lowest bits of a number are those of a threshold, and the lowest matter."""
    counts = np.unique(number >> bits, return_counts=True)[1].astype(np.float64)
    all_ones = (1 << bits) - 1
    matter = ((number & all_ones) != 0).any() and ((number & all_ones) != all_ones).any()
    return float((counts**2).sum() / counts.sum() ** 2) if matter else 0.0


def _tests(packed: Packed, number: Int64Array, keys: list[Key], names: list[tuple[str, str]]) -> list[str]:
    """Return the conditions for going right, for all nodes."""
    missing = packed.layout.missing
    tests = []
    of_nodes = (packed.coded.feature.tolist(), number.tolist(), packed.coded.missing_left.tolist())
    for feature, bound, goes_left in zip(*of_nodes, strict=True):
        if feature < 0:
            tests.append("")
            continue
        key, (name, low) = keys[feature], names[feature]
        avoided = missing == "split" and goes_left
        if bound == INFINITY and (missing in ("none", "left") or avoided):
            tests.append("0")
        elif key.bits == 0:
            test = _of_halves(bound, name, low)
            tests.append(f"{name} != 0x7FFF && ({test})" if avoided else test)
        else:
            most = 0xFF if key.bits == 8 else 0xFFFF
            above, below = most - 1 if bound == INFINITY else key.above(bound), (bound - key.base) & 0xFF
            test = f"{name} > {above}"
            if key.bits == 24 and bound != INFINITY and below != 0xFF:
                test = f"{name} >= {above} && ({name} != {above} || {low} > {below})"
            tests.append(f"{name} != {hex(most)} && {test}" if avoided else test)
    return tests


def _of_halves(bound: int, high: str, low: str) -> str:
    """Return whether a float lies above one, whose number in the order of floats is given."""
    upper, lower = bound >> 16, bound & 0xFFFF
    if bound >= 0:
        if lower == 0xFFFF:
            return f"{high} > {upper}"
        return f"{high} >= {upper} && ({high} != {upper} || {low} > {lower}u)"
    bits = 0x80000000 - bound
    upper, lower = bits >> 16, bits & 0xFFFF
    unsigned = f"(uint16_t){high}"
    if lower == 0:
        return f"{unsigned} < {upper}u"
    return f"{unsigned} <= {upper}u && ({unsigned} != {upper}u || {low} < {lower}u)"


def _struct(kind: Input, keys: list[Key], visits: list[float], sums: Sums | None) -> str:
    """Return the type of keys; what is asked for most stands first, within reach.

    Keys are read anew for each comparison: to remember them, avr-gcc would save registers in every tree.
    """
    lines, last = [], []
    for k in sorted(range(len(keys)), key=lambda k: -visits[k]):
        if keys[k].bits == 0:
            lines.append(f"    volatile int16_t high{k};")
            last.append(f"    volatile uint16_t low{k};")
        else:
            size = "int16_t" if kind == "int16" and keys[k].bits == 16 else f"uint{min(keys[k].bits, 16)}_t"
            lines.append(f"    volatile {size} key{k};")
            last += [f"    volatile uint8_t low{k};"] if keys[k].bits == 24 else []
    lines += last  # seldom asked for
    if sums:
        lines.insert(0 if sums.n_bytes <= FEW_SUMS else len(lines), f"    {sums.type} sums[{sums.number}];")
    return "\n".join(["typedef struct {", *lines, f"}} keys_of_{kind};", ""])


def _key_of_float(packed: Packed, k: int, key: Key) -> str:
    """Return the statement that makes the key of a feature."""
    bits = f"bits_of(x[{packed.used[k]}])"
    if key.bits == 0:
        lines = [f"bits = {bits};"]
        if packed.layout.missing != "none":
            missing = "0xFFFFFFFF" if packed.layout.missing == "left" else "0x7FFFFFFF"
            lines.append(f"if (IS_MISSING(bits))\n        bits = {missing};")
        lines += [f"keys.high{k} = (int16_t)(bits >> 16);", f"keys.low{k} = (uint16_t)(bits & 0xFFFF);"]
        return "".join(f"    {line}\n" for line in lines)
    all_ones = 0xFF if key.bits == 8 else 0xFFFF
    most = all_ones - (packed.layout.missing in ("right", "split"))
    function = _function(key)
    base = f"{key.base}l" if function == "key_around" else f"{hex(key.base)}ul"
    steps = key.shift - 16 if function == "key_by_upper" else key.shift
    made = f"{function}(bits, {base}, {steps}, {hex(most)})"
    if key.power is not None:
        made = f"key_in_steps(bits, {UNIT - key.power}, {1 - key.base}u, {hex(most)})"
    if packed.layout.missing != "none":
        missing = "0" if packed.layout.missing == "left" else hex(all_ones)
        made = f"IS_MISSING(bits) ? {missing} : {made}"
        made = f"({made})" if key.bits == 8 else made
    made = f"(uint8_t){made}" if key.bits == 8 else made
    low = f"    keys.low{k} = (uint8_t)((bits & 0xFF) - {key.base & 0xFF}u);\n" if key.bits == 24 else ""
    return f"    bits = {bits};\n    keys.key{k} = {made};\n{low}"


def _function(key: Key) -> str:
    """Return the name of the function that makes a key."""
    if key.power is not None:
        return "key_in_steps"
    # Of a larger base, a negative float may seem to lie above it.
    if not 0 <= key.base < 0x7F000000 or 8 < key.shift < 16:
        return "key_around"
    return "key_above" if key.shift <= 8 else "key_by_upper"


def _functions(packed: Packed, keys: list[Key]) -> str:
    names = {_function(key) for key in keys if key.bits}
    functions = ["\n", BITS_OF_FLOAT, *([HALVE] if names - {"key_around", "key_in_steps"} else [])]
    known = {"key_above": KEY_ABOVE, "key_by_upper": KEY_BY_UPPER, "key_around": KEY_AROUND}
    known["key_in_steps"] = KEY_IN_STEPS
    functions += [text for name, text in known.items() if name in names]
    functions += [IS_MISSING] if packed.layout.missing != "none" else []
    return "".join(functions)
