"""Numbers in text against Python's own `float`, which rounds correctly, and `int`."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from billhook.kernels import read_decimals, read_integers

DIGITS = st.integers(0, 10**19 - 1)
WITHIN = st.integers(-27, 27)


@st.composite
def halves(draw):
    """Whole numbers as far from one float64 number as from the next, or one beside such a number."""
    odd = 2 * draw(st.integers(2**52, 2**53 - 1)) + 1
    return (odd << draw(st.integers(0, 8))) + draw(st.integers(-1, 1))


@st.composite
def decimals(draw):
    """Numbers as they are read without help: of 19 digits at most, and not far from them."""
    digits = draw(DIGITS | halves().filter(lambda number: number < 10**19))
    exponent = draw(WITHIN)
    text, n_fraction = str(digits), draw(st.integers(0, 18))
    if n_fraction:
        text = text.rjust(n_fraction + 1, "0")
        text = f"{text[:-n_fraction]}.{text[-n_fraction:]}"
    written = exponent + n_fraction
    letter = draw(st.sampled_from(["e", "E", "e+"] if written >= 0 else ["e", "E"]))
    return draw(st.sampled_from(["", "-", "-0", "00"])) + text + (f"{letter}{written}" if written else "")


def read(text, room):
    numbers = np.full(room, 7.0)
    return read_decimals(text.encode(), numbers), numbers


@given(st.lists(decimals(), min_size=1, max_size=30))
@example(["0.5", "-0", "1e27", "9999999999999999999e27", "1e-27", ".5", "5.", "0e99"])
def test_decimals_are_rounded_as_python_rounds_them(words):
    n, numbers = read(" ".join(words), len(words))
    assert n == len(words)
    assert numbers.tobytes() == np.array([float(word) for word in words]).tobytes()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30), st.integers(1, 17))
def test_any_float_is_read_right_or_left_to_the_caller(values, n_digits):
    words = [f"{value:.{n_digits}g}" for value in values]
    n, numbers = read(" ".join(words), len(words))
    assert n == len(words)
    expected = np.array([float(word) for word in words])
    is_read = ~np.isnan(numbers)
    assert numbers[is_read].tobytes() == expected[is_read].tobytes()
    is_common = (np.abs(expected) > 1e-10) & (np.abs(expected) < 1e10)
    assert is_read[is_common].all()


@pytest.mark.parametrize(
    "word",
    [
        "",
        "-",
        ".",
        "e5",
        "1e",
        "1e+",
        "1.2.3",
        "1x",
        "+1",
        "inf",
        "nan",
        "0x10",
        "1_0",
        "1,5",
        "\t1",
        "12345678901234567890",
    ],
)
def test_what_is_no_number_is_left_to_the_caller(word):
    n, numbers = read(f"1 {word} 2", 3)
    assert n == 3
    assert np.isnan(numbers[1])
    assert numbers[[0, 2]].tolist() == [1.0, 2.0]


def test_more_numbers_than_there_is_room_for_are_counted_and_not_written():
    numbers = np.full(4, 7.0)
    assert read_decimals(b"1 2 3", numbers[:2]) == 3
    assert numbers.tolist() == [1.0, 2.0, 7.0, 7.0]
    assert read_decimals(b"1 2 3", numbers[:0]) == 1
    assert read_decimals(b"4 5", numbers) == 2
    assert numbers.tolist() == [4.0, 5.0, 7.0, 7.0]


@given(st.lists(st.integers(-(10**25), 10**25) | st.integers(-(2**64), 2**64), min_size=1, max_size=30))
@example([2**63 - 1, 2**63, -(2**63), 0])
def test_integers_are_read_and_those_beyond_64_bits_become_the_last(values):
    numbers = np.empty(len(values), np.int64)
    assert read_integers(" ".join(map(str, values)).encode(), numbers) == len(values)
    last = 2**63 - 1
    assert numbers.tolist() == [min(max(value, -last), last) for value in values]


@pytest.mark.parametrize("text", ["", "1 ", " 1", "1  2", "1 - 2", "1 2.0", "1 2e3", "+1", "one", "1\n2"])
def test_what_is_no_integer_is_refused(text):
    assert read_integers(text.encode(), np.empty(5, np.int64)) == -1


def test_more_integers_than_there_is_room_for_are_counted_and_not_written():
    numbers = np.full(3, 7)
    assert read_integers(b"1 2 3", numbers[:2]) == 3
    assert numbers.tolist() == [1, 2, 7]
