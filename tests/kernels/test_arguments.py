"""What the extension says to arguments that it cannot take; `average_upwards` stands for all."""

import numpy as np
import pytest

from billhook.kernels import average_upwards


def arguments(**changed):
    usual = {
        "left": np.array([1, -1, -1], np.int32),
        "right": np.array([2, -1, -1], np.int32),
        "weight": np.array([4.0, 1.0, 3.0]),
        "value": np.array([[0.0, 9.0], [1.0, 0.0], [3.0, 4.0]]),
    }
    return list((usual | changed).values())


def test_it_writes_to_the_array_it_is_given():
    given = arguments()
    assert average_upwards(*given) is None
    assert given[3].tolist() == [[2.5, 3.0], [1.0, 0.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"left": np.array([1, -1, -1])}, TypeError, "average_upwards: argument 1 .* of format [lq]; .* of int32"),
        ({"left": np.array([1, -1, -1], ">i4")}, TypeError, "argument 1 .* of format >i"),
        (
            {"weight": np.ones(3, np.float32)},
            TypeError,
            "argument 3 .* format f; it takes .* of float64",
        ),
        ({"value": np.ones(3)}, TypeError, "argument 4 is a 1-dimensional array .* takes a 2-dimensional"),
        ({"value": np.ones((4, 2))}, ValueError, "average_upwards: left, right, weight and value have different"),
        ({"value": np.ones((3, 4))[:, ::2]}, ValueError, "not C-contiguous"),
        ({"value": [[1.0, 2.0]]}, TypeError, "bytes-like object is required, not 'list'"),
        ({"more": 1}, TypeError, "average_upwards takes 4 arguments, not 5"),
    ],
)
def test_anything_else_is_refused_by_name(changed, error, message):
    with pytest.raises(error, match=message):
        average_upwards(*arguments(**changed))


def test_an_array_that_cannot_be_written_to_is_refused():
    value = np.ones((3, 2))
    value.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        average_upwards(*arguments(value=value))


def test_nothing_is_held_after_an_error():
    given = bytearray(24)  # which cannot grow while its buffer is held
    for kind, value in [
        ("B", np.ones((3, 2))),  # bytes, not float64
        ("d", np.ones(3)),  # the next argument is of another shape
        ("d", np.ones((4, 2))),  # arguments do not belong together
    ]:
        with memoryview(given).cast(kind) as weight, pytest.raises((TypeError, ValueError)):
            average_upwards(*arguments(weight=weight, value=value))
        given.append(0)
        del given[-1]
