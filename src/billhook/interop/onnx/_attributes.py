"""The attributes of an operator of ONNX, as numpy arrays."""

from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.interop._comparisons import EQ, GE, GT, LE, LT, NE

MEMBER, LEAF = 6, 7
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

    def __init__(self, node: Any, known: tuple[str, ...]) -> None:
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
        numbers = self.found[name].ints if name in self.found else ()
        return np.array(numbers, np.int64)

    def numbers(self, name: str) -> NDArray[Any]:
        """Return a list of floats, or the tensor of them that is there in its place."""
        tensor = self.tensor(f"{name}_as_tensor")
        numbers = self.found[name].floats if name in self.found else ()
        if tensor.size and len(numbers):
            raise ValueError(f"{self.operator} has both {name} and {name}_as_tensor")
        return tensor if tensor.size else np.array(numbers, np.float32)

    def tensor(self, name: str) -> NDArray[Any]:
        """Return a tensor of one dimension."""
        if name not in self.found:
            return np.zeros(0, np.float32)
        from onnx import TensorProto, numpy_helper

        stored = self.found[name].t
        if stored.data_location == TensorProto.EXTERNAL:
            raise TypeError(f"{name} of {self.operator} is in another file; save the model as one file")
        array = np.asarray(numpy_helper.to_array(stored))
        if array.dtype.kind not in "fiu":
            raise ValueError(f"{name} of {self.operator} holds {array.dtype} data")
        return array.ravel()

    def texts(self, name: str) -> list[str]:
        """Return a list of strings."""
        return [text.decode() for text in self.found[name].strings] if name in self.found else []

    def modes(self, name: str) -> NDArray[np.int8]:
        """Return the numbers of node modes that are there by name."""
        names = self.found[name].strings if name in self.found else ()
        numbers = np.fromiter(map(MODES.get, names, repeat(-1)), np.int8, len(names))
        if (numbers < 0).any():
            unknown = names[int(np.flatnonzero(numbers < 0)[0])]
            raise TypeError(f"as_forest does not know the node mode {unknown.decode(errors='replace')}")
        return numbers

    def text(self, name: str, default: str) -> str:
        """Return a string."""
        found: str = self.found[name].s.decode() if name in self.found else default
        return found

    def integer(self, name: str, default: int) -> int:
        """Return an integer."""
        return int(self.found[name].i) if name in self.found else default
