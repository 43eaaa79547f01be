"""Messages of protocol buffers, against Google's own library."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import billhook as bh
from billhook.interop._message import BLOCK, Message
from billhook.kernels import read_fields
from made_up import random_forest

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'billhook[onnx]'")
from onnx import AttributeProto, TensorProto, TypeProto, helper  # noqa: E402 - where it is installed

INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 127, 128, 2**31, -1])
WORDS = st.text(max_size=200)
NO_ROOM = np.zeros(0, np.int64)


@given(WORDS, st.lists(INTEGERS), st.lists(st.floats(width=32)), st.lists(st.binary(max_size=300)), INTEGERS, WORDS)
def test_it_says_what_was_written(name, ints, floats, strings, number, reference):
    written = AttributeProto(name=name, ints=ints, floats=floats, strings=strings, i=number, ref_attr_name=reference)
    message = Message(memoryview(written.SerializeToString()))
    assert message.integers(8).tolist() == ints
    np.testing.assert_array_equal(message.numbers(7, "<f4"), np.array(floats, np.float32))
    assert [bytes(part) for part in message.all_bytes(9)] == strings
    assert message.count(9) == len(strings)
    assert (message.text(1), message.integer(3), message.text(21)) == (name, number, reference)
    assert message.integers(99).size == 0
    assert message.integer(99, 5) == 5


@given(st.lists(INTEGERS, min_size=1), st.lists(st.floats(width=32), min_size=1), st.lists(st.floats(), min_size=1))
def test_packed_numbers_are_read(integers, floats, doubles):
    written = TensorProto(int64_data=integers, float_data=floats, double_data=doubles)
    message = Message(memoryview(written.SerializeToString()))
    assert message.integers(7).tolist() == integers
    np.testing.assert_array_equal(message.numbers(4, "<f4"), np.array(floats, np.float32))
    np.testing.assert_array_equal(message.numbers(10, "<f8"), np.array(doubles))


def test_parts_of_what_comes_twice_are_one():
    """Whoever writes messages one after the other merges them."""
    first, second = AttributeProto(ints=[1, 2], i=3), AttributeProto(ints=[4], i=5)
    both = Message(memoryview(first.SerializeToString() + second.SerializeToString()))
    assert both.integers(8).tolist() == [1, 2, 4]
    assert both.integer(3) == 5
    shapes = [TypeProto(tensor_type=TypeProto.Tensor(**one)) for one in ({"elem_type": 7}, {"shape": {"dim": [{}]}})]
    merged = Message(memoryview(b"".join(shape.SerializeToString() for shape in shapes))).message(1)
    assert merged.integer(1) == 7
    assert len(merged.message(2).messages(1)) == 1


def test_millions_of_texts_come_some_at_a_time():
    strings = [b"LEAF", b"BRANCH_LEQ"] * BLOCK
    message = Message(memoryview(AttributeProto(strings=strings).SerializeToString()))
    blocks = list(message.bytes_in_blocks(9))
    assert [len(block) for block in blocks] == [BLOCK, BLOCK]
    assert [bytes(message.data[start:end]) for block in blocks for start, end in block] == strings


@pytest.mark.parametrize(
    "data",
    [
        b"\x40",  # no number
        b"\x40\x80",  # half a number
        b"\x40" + b"\x80" * 10 + b"\x01",  # a number of more than 64 bits
        b"\x4a\x05abc",  # fewer bytes than it says
        b"\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # as many as there are numbers
        b"\x3d\x00\x00",  # half a float
        b"\x39\x00\x00\x00\x00",  # half a double
        b"\x00\x01",  # field 0
        b"\x43\x44",  # a group
        b"\xff\xff\xff\xff\x0f\x01",  # a field whose number no format has
        b"\xc0\x00\x01",  # a tag that is longer than it needs to be
    ],
    ids=bytes.hex,
)
def test_damaged_messages_are_refused(data):
    with pytest.raises(bh.ModelFileError, match="cut off, or damaged"):
        Message(memoryview(data))


def test_a_field_of_another_type_is_refused():
    message = Message(memoryview(AttributeProto(ints=[1], floats=[1.0], strings=[b"\xff"]).SerializeToString()))
    for ask in (
        lambda: message.numbers(8, "<f4"),
        lambda: message.integers(7),
        lambda: message.all_bytes(8),
        lambda: message.numbers(9, "<f4"),  # a packed one of one byte
        lambda: message.integers(9),
        lambda: message.text(9),
    ):
        with pytest.raises(bh.ModelFileError, match="cut off, or damaged"):
            ask()


def test_the_kernel_stops_where_the_fields_end():
    numbers = np.full(3, -5)
    assert read_fields(b"\x40\x01\x40\x80\x01\x40\xff", 0, 0x40, numbers) == (2, 5)
    assert numbers.tolist() == [1, 128, -5]
    assert read_fields(b"\x40\x01\x40\x80\x01\x48\x01", 0, 0x40, NO_ROOM) == (2, 5)
    assert read_fields(b"\x4a\x02ab\x4a\x00\x4a\x00", 0, 0x4A, numbers) == (1, 4)  # room for one and a half
    assert numbers.tolist() == [2, 4, -5]
    assert read_fields(b"\xa0\x01\x07\xa0", 0, 160, numbers) == (1, 3)
    assert read_fields(b"\x05\x06", 1, 0, numbers) == (1, 2)
    assert read_fields(b"", 0, 8, numbers) == (0, 0)
    with pytest.raises(ValueError, match="start is not in the data"):
        read_fields(b"ab", 3, 8, numbers)
    with pytest.raises(ValueError, match="tag is longer than two bytes"):
        read_fields(b"ab", 0, 2**14, numbers)


def test_files_of_onnx_are_read_without_the_library(tmp_path, monkeypatch):
    forest = random_forest(np.random.default_rng(0), n_classes=3, weights="sum")
    path = tmp_path / "model.onnx"
    path.write_bytes(bh.to_onnx(forest).SerializeToString())
    monkeypatch.setitem(sys.modules, "onnx", None)
    X = np.random.default_rng(1).normal(size=(50, forest.n_features)).astype(np.float32)
    # Leaves are float32 numbers there.
    np.testing.assert_allclose(bh.load(path).decision_function(X), forest.decision_function(X), atol=1e-5)


def test_tensors_of_all_types_are_read():
    from billhook.interop.onnx._model import Tensor

    rng = np.random.default_rng(0)
    for dtype in ("f4", "f8", "u1", "i1", "u2", "i2", "i4", "i8", "u4", "u8", "?"):
        array = (rng.normal(size=(2, 3)) * 100).astype(np.int64).astype(dtype)
        raw = onnx.numpy_helper.from_array(array, "one")
        listed = helper.make_tensor("one", raw.data_type, array.shape, array.ravel().tolist())
        for made in (raw, listed):
            tensor = Tensor(Message(memoryview(made.SerializeToString())))
            found = tensor.array()
            assert (tensor.name, found.dtype) == ("one", array.dtype)
            np.testing.assert_array_equal(found, array)
    for damage, message in (
        ({"dims": [7]}, r"has 6 numbers, and is of the shape \[7\]"),
        ({"dims": [-2, -3]}, r"is of the shape \[-2, -3\]"),
        ({"data_type": 10}, "is of type 10, which Billhook does not know"),
        ({"raw_data": b"abc", "data_type": 1}, "is cut off"),
        ({"data_location": 1}, "is in another file; save the model as one file"),
    ):
        made = onnx.numpy_helper.from_array(np.zeros((2, 3), "u1"), "one")
        for field, value in damage.items():
            made.ClearField(field)
            if field == "dims":
                made.dims.extend(value)
            else:
                setattr(made, field, value)
        with pytest.raises((ValueError, TypeError), match=message):
            Tensor(Message(memoryview(made.SerializeToString()))).array()
