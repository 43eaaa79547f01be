"""Where the parts of a test stand in the balanced layout.

The code is alone in its bytes where that takes no more of them. Else it is on top of the number that is read first,
above other parts: a row's code is shifted up as far when it is made, and then compared with that number as a whole.
"""

from typing import NamedTuple

from billhook._types import Int64Array

# Bits that a reader finds in four bytes wherever a number begins.
LARGEST_READ = 25


def up_to(bits: int, unit: int) -> int:
    """Return the multiple of the unit that holds so many bits."""
    return -(-bits // unit) * unit


class TestFields(NamedTuple):
    """Bits and places of the parts of a test, in the number that is read first and in that which is read then.

    Attributes
    ----------
    code_bits, code_at : int
        Of the code, in the first number.
    feature_bits, feature_at : int
        Of the feature, in the last number.
    missing_bits, missing_at : int
        Of where missing values go, in the last number, or the first if `is_marked_first`.
    left_at, right_at : int
        Of the flags, there too; -1 where there are none.
    first_bits, rest_bits : int
        Of the first number, and of the last if it is another, else 0.
    shift : int
        By how many bits codes are shifted up to be compared; -1 if the code has to be taken out.
    is_marked_first : bool
    """

    code_bits: int
    code_at: int
    feature_bits: int
    feature_at: int
    missing_bits: int
    missing_at: int
    left_at: int
    right_at: int
    first_bits: int
    rest_bits: int
    shift: int
    is_marked_first: bool

    @property
    def bits(self) -> int:
        """Bits of all."""
        return self.first_bits + self.rest_bits

    @property
    def has_flags(self) -> bool:
        """Whether there are flags."""
        return self.right_at >= 0

    def number(self, code: Int64Array, feature: Int64Array, missing: Int64Array) -> Int64Array:
        """Return tests, but for their flags, as whole numbers."""
        last, marks = self._offsets()
        return code << self.code_at | feature << (self.feature_at + last) | missing << (self.missing_at + marks)

    def flags(self, left: bool, right: bool) -> int:
        """Return what flags add to the number of a test."""
        _, marks = self._offsets()
        return left << (self.left_at + marks) | right << (self.right_at + marks)

    def _offsets(self) -> tuple[int, int]:
        """Return where the last number begins, and the one with the flags."""
        last = self.first_bits if self.rest_bits else 0
        return last, 0 if self.is_marked_first else last


def fields_in_bytes(
    code: int, feature: int, missing: int, flags: int, *, can_shift: bool, in_halves: bool
) -> TestFields:
    """Return where parts of so many bits stand in the fewest bytes.

    `can_shift` says that codes can be shifted up, and `in_halves` that they are numbers of 16 bits in memory: twice
    the number of a feature is then the place of its code, which stands in the test as it is.
    """
    marks = missing + flags
    beside = feature + marks
    first = up_to(code, 8)
    spare = first - code
    at = 1 if flags and in_halves else 0
    forms = []
    if can_shift and beside <= spare:
        after = at + feature
        left, right = (0, after) if at else (after, after + 1)
        marked = (after + flags - at, left, right) if flags else (after, -1, -1)
        forms.append(TestFields(code, spare, feature, at, missing, *marked, first, 0, spare, False))
    rest = up_to(beside, 8)
    at = at if rest == 8 else 0
    marked = (at + feature, 0 if at else rest - 2, rest - 1) if flags else (feature, -1, -1)
    forms.append(TestFields(code, 0, feature, at, missing, *marked, first, rest, 0, False))
    if can_shift and marks <= spare and marks:
        marked = (flags, 0, 1) if flags else (0, -1, -1)
        forms.append(
            TestFields(
                code, spare, feature, 0, missing, *marked, first, up_to(feature, 8), spare, is_marked_first=True
            )
        )
    forms = [form for form in forms if form.rest_bits or not beside or form.shift]
    all_bits = up_to(code + beside, 8)
    if all_bits <= 32:
        forms.append(_joined(code, feature, missing, flags, all_bits))
    return min(forms, key=lambda form: form.bits)


def fields_in_bits(code: int, feature: int, missing: int, flags: int) -> TestFields:
    """Return where parts of so many bits stand, without a gap; in two numbers if one cannot be read at once."""
    beside = feature + missing + flags
    if code + beside <= LARGEST_READ:
        return _joined(code, feature, missing, flags, code + beside)
    marked = (feature, feature + missing, feature + missing + 1) if flags else (feature, -1, -1)
    return TestFields(code, 0, feature, 0, missing, *marked, code, beside, 0, False)


def _joined(code: int, feature: int, missing: int, flags: int, bits: int) -> TestFields:
    marked = (code + feature, bits - 2, bits - 1) if flags else (code + feature, -1, -1)
    return TestFields(code, 0, feature, code, missing, *marked, bits, 0, 0 if bits == code else -1, False)
