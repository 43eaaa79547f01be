"""A file of ONNX: its graph, of which large attributes are decoded when they are asked for.

Fields are numbered as in ONNX's onnx.proto; the names here are those that it gives them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._message import Message

FLOAT, INT32, INT64, STRING, BOOL, DOUBLE = 1, 6, 7, 8, 9, 11
EXTERNAL = 1
# An ensemble and what comes before and behind it are some hundred at most.
MOST_OPERATORS = 10_000
# The types of tensors: what is in `raw_data`, and the field of the numbers where they are not raw.
RAW = {
    FLOAT: "<f4",
    2: "u1",
    3: "i1",
    4: "<u2",
    5: "<i2",
    INT32: "<i4",
    INT64: "<i8",
    BOOL: "?",
    DOUBLE: "<f8",
    12: "<u4",
    13: "<u8",
}
TYPES = {np.dtype(dtype).name: type_ for type_, dtype in RAW.items()}
INT32_DATA, STRING_DATA, INT64_DATA, RAW_DATA, UINT64_DATA = 5, 6, 7, 9, 11
FLOAT_DATA, DOUBLE_DATA = 4, 10
IN_INTEGERS = {INT64: INT64_DATA, 12: UINT64_DATA, 13: UINT64_DATA}


class Tensor(NamedTuple):
    """An array."""

    message: Message

    @property
    def name(self) -> str:
        """What operators call it."""
        return self.message.text(8)

    @property
    def is_external(self) -> bool:
        """Whether it is in another file."""
        return self.message.integer(14) == EXTERNAL or 13 in self.message.fields

    def array(self) -> NDArray[Any]:
        """Return what is in it."""
        type_ = self.message.integer(2)
        shape = self.message.integers(1).tolist()
        if self.is_external:
            raise TypeError(f"the tensor {self.name!r} is in another file; save the model as one file")
        if type_ == STRING:
            array = np.array(self.message.texts(STRING_DATA) or np.zeros(0, "U1"))
        elif type_ not in RAW:
            raise ValueError(f"the tensor {self.name!r} is of type {type_}, which Billhook does not know")
        elif RAW_DATA in self.message.fields:
            data = self.message.all_bytes(RAW_DATA)[-1]
            if len(data) % np.dtype(RAW[type_]).itemsize:
                raise ValueError(f"the tensor {self.name!r} is cut off")
            array = np.frombuffer(data, RAW[type_])
        elif type_ in (FLOAT, DOUBLE):
            array = self.message.numbers(FLOAT_DATA if type_ == FLOAT else DOUBLE_DATA, RAW[type_])
        else:
            array = self.message.integers(IN_INTEGERS.get(type_, INT32_DATA)).astype(RAW[type_])
        if any(size < 0 for size in shape) or np.prod(shape, dtype=np.float64) != array.size:
            raise ValueError(f"the tensor {self.name!r} has {array.size} numbers, and is of the shape {shape}")
        return array.reshape(shape)


def type_of(array: NDArray[Any]) -> int:
    """Return the type of a tensor that holds an array."""
    return STRING if array.dtype.kind in "OU" else TYPES[array.dtype.name]


class OnnxAttribute(NamedTuple):
    """An attribute of an operator; which of its fields has the value, whoever asks for it has to know."""

    message: Message

    @property
    def name(self) -> str:
        """What the operator calls it."""
        return self.message.text(1)

    @property
    def ref_attr_name(self) -> str:
        """The attribute of a function that it stands for."""
        return self.message.text(21)

    @property
    def i(self) -> int:
        """An integer."""
        return self.message.integer(3)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer, and nothing else."""
        return self.message.fields == {1, 3, 20}

    @property
    def s(self) -> str:
        """A text."""
        return self.message.text(4)

    @property
    def t(self) -> Tensor:
        """A tensor."""
        return Tensor(self.message.message(5))

    @property
    def floats(self) -> NDArray[np.float32]:
        """Float32 numbers."""
        return self.message.numbers(7, "<f4")

    @property
    def ints(self) -> NDArray[np.int64]:
        """Integers."""
        return self.message.integers(8)

    @property
    def strings(self) -> list[str]:
        """Texts."""
        return self.message.texts(9)


class Operator(NamedTuple):
    """An operator of a graph."""

    op_type: str
    domain: str
    input: list[str]
    output: list[str]
    attribute: list[OnnxAttribute]


class Value(NamedTuple):
    """An input or output of a graph: its name, the type of its numbers, its sizes; 0 for what is open."""

    name: str
    elem_type: int
    shape: list[int]


class Graph(NamedTuple):
    """A graph: its operators, what goes in and comes out, and its constants."""

    node: list[Operator]
    input: list[Value]
    output: list[Value]
    initializer: list[Tensor]


class OnnxModel(NamedTuple):
    """A model."""

    producer_name: str
    graph: Graph
    functions: list[str]
    versions: list[tuple[str, int]]
    metadata: dict[str, str]


def model_in(data: bytes) -> OnnxModel:
    """Return the model in the bytes of a file."""
    whole = Message(memoryview(data))
    graph = whole.message(7)
    n_operators = graph.count(1)
    if n_operators > MOST_OPERATORS:
        raise ModelFileError(
            f"this ONNX model has {n_operators:,} operators, and at most {MOST_OPERATORS:,} are read"
        )
    return OnnxModel(
        whole.text(2),
        Graph(
            [_operator(node) for node in graph.messages(1)],
            [_value(value) for value in graph.messages(11)],
            [_value(value) for value in graph.messages(12)],
            [Tensor(message) for message in graph.messages(5)],
        ),
        [function.text(1) for function in whole.messages(25)],
        [(one.text(1), one.integer(2)) for one in whole.messages(8)],
        {one.text(1): one.text(2) for one in whole.messages(14)},
    )


def _operator(node: Message) -> Operator:
    return Operator(
        node.text(4), node.text(7), node.texts(1), node.texts(2), [OnnxAttribute(one) for one in node.messages(5)]
    )


def _value(value: Message) -> Value:
    tensor = value.message(2).message(1)
    return Value(value.text(1), tensor.integer(1), [one.integer(1) for one in tensor.message(2).messages(1)])
