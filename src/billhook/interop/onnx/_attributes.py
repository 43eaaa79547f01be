"""The attributes of an operator of ONNX, as numpy arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.interop._comparisons import EQ, GE, GT, LE, LT, NE
from billhook.interop._wire import gathered
from billhook.interop.onnx._model import Operator

MEMBER, LEAF = 6, 7
# The field of an attribute that has texts.
STRINGS = 9
MODES = {
    b"BRANCH_LEQ": LE,
    b"BRANCH_LT": LT,
    b"BRANCH_GTE": GE,
    b"BRANCH_GT": GT,
    b"BRANCH_EQ": EQ,
    b"BRANCH_NEQ": NE,
    b"BRANCH_MEMBER": MEMBER,
    b"LEAF": LEAF,
}


class Attributes:
    """The attributes of an operator by name; those that are not there are empty, and unknown ones are refused."""

    def __init__(self, node: Operator, known: tuple[str, ...]) -> None:
        self.operator = node.op_type
        self.found = {attribute.name: attribute for attribute in node.attribute}
        unknown = set(self.found) - set(known)
        if unknown:
            raise TypeError(
                f"{node.op_type} has attributes that as_forest does not know: {', '.join(sorted(unknown))}"
            )
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                raise TypeError(f"{node.op_type} has an attribute of a function, {attribute.name}")

    def integers(self, name: str) -> NDArray[np.int64]:
        """Return a list of integers."""
        return self.found[name].ints if name in self.found else np.zeros(0, np.int64)

    def numbers(self, name: str) -> NDArray[Any]:
        """Return a list of floats, or the tensor of them that is there in its place."""
        tensor = self.tensor(f"{name}_as_tensor")
        numbers = self.found[name].floats if name in self.found else np.zeros(0, np.float32)
        if tensor.size and numbers.size:
            raise ValueError(f"{self.operator} has both {name} and {name}_as_tensor")
        return tensor if tensor.size else numbers

    def tensor(self, name: str) -> NDArray[Any]:
        """Return a tensor of one dimension."""
        if name not in self.found:
            return np.zeros(0, np.float32)
        stored = self.found[name].t
        if stored.is_external:
            raise TypeError(f"{name} of {self.operator} is in another file; save the model as one file")
        array = stored.array()
        if array.dtype.kind not in "fiu":
            raise ValueError(f"{name} of {self.operator} holds {array.dtype} data")
        return array.ravel()

    def texts(self, name: str) -> list[str]:
        """Return a list of strings."""
        return self.found[name].strings if name in self.found else []

    def modes(self, name: str) -> NDArray[np.int8]:
        """Return the numbers of node modes that are there by name."""
        if name not in self.found:
            return np.zeros(0, np.int8)
        message = self.found[name].message
        numbers = np.full(message.count(STRINGS), -1, np.int8)
        data, first = np.frombuffer(message.data, np.uint8), 0
        for ends in message.bytes_in_blocks(STRINGS):
            block, length = numbers[first : first + len(ends)], ends[:, 1] - ends[:, 0]
            for mode, number in MODES.items():
                alike = np.flatnonzero(length == len(mode))
                words = gathered(data, ends[alike, 0], len(mode))
                block[alike[(words == np.frombuffer(mode, np.uint8)).all(axis=1)]] = number
            unknown = np.flatnonzero(block < 0)
            if unknown.size:
                start, end = ends[unknown[0]]
                word = bytes(message.data[start:end]).decode(errors="replace")
                raise TypeError(f"as_forest does not know the node mode {word[:40]}")
            first += len(ends)
        return numbers

    def text(self, name: str, default: str) -> str:
        """Return a string."""
        return self.found[name].s if name in self.found else default

    def integer(self, name: str, default: int) -> int:
        """Return an integer."""
        return self.found[name].i if name in self.found else default
