"""Treelite's binary checkpoints, version 4 of their format, read and written without treelite.

https://treelite.readthedocs.io/en/latest/serialization/v4.html: scalars and arrays one after the other,
little-endian, an array as its length in 8 bytes and then its elements.
"""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError

MAJOR_VERSION = 4
VERSION = (MAJOR_VERSION, 0, 0)
# Version, types of thresholds and of leaves, number of trees, number of features, task, whether trees are averaged,
# number of targets.
HEADER = struct.Struct("<iiiBBQiBBi")
FLOATS: dict[int, np.dtype[Any]] = {2: np.dtype("<f4"), 3: np.dtype("<f8")}
TASKS = ("kBinaryClf", "kRegressor", "kMultiClf", "kLearningToRank", "kIsolationForest")
LEAF, NUMERICAL, CATEGORICAL = range(3)
# The arrays of a tree in their order; those of "float" are of the type of thresholds and leaves.
TREE_ARRAYS = {
    "node_type": "i1",
    "cleft": "<i4",
    "cright": "<i4",
    "split_index": "<i4",
    "default_left": "u1",
    "leaf_value": "float",
    "threshold": "float",
    "cmp": "i1",
    "category_list_right_child": "u1",
    "leaf_vector": "float",
    "leaf_vector_begin": "<u8",
    "leaf_vector_end": "<u8",
    "category_list": "<u4",
    "category_list_begin": "<u8",
    "category_list_end": "<u8",
    "data_count": "<u8",
    "data_count_present": "u1",
    "sum_hess": "<f8",
    "sum_hess_present": "u1",
    "gain": "<f8",
    "gain_present": "u1",
}
# Those that have an entry for each node; others may be empty, where nothing is known.
OF_EACH_NODE = tuple(TREE_ARRAYS)[:9]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a checkpoint holds, by treelite's names; `trees` has the arrays of each tree."""

    float_type: str
    num_feature: int
    task_type: str
    average_tree_output: bool
    num_class: NDArray[Any]
    leaf_vector_shape: NDArray[Any]
    target_id: NDArray[Any]
    class_id: NDArray[Any]
    postprocessor: str
    sigmoid_alpha: float
    ratio_c: float
    base_scores: NDArray[Any]
    attributes: str
    trees: list[dict[str, NDArray[Any]]]


def begins_checkpoint(start: bytes) -> bool:
    """Return whether a file begins as a checkpoint does: a version, and numbers that can be those of a model."""
    if len(start) < HEADER.size:
        return False
    major, minor, patch, thresholds, leaves, n_trees, n_features, task, averages, n_targets = HEADER.unpack_from(
        start
    )
    return bool(
        major in (3, MAJOR_VERSION)
        and 0 <= minor < 1000
        and 0 <= patch < 1000
        and thresholds in FLOATS
        and leaves in (1, *FLOATS)
        and n_trees < 2**32
        and n_features >= 0
        and (major == 3 or (task < len(TASKS) and averages < 2 and n_targets > 0))
    )


class CheckpointReader:
    """Reads scalars and arrays from the bytes of a checkpoint."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def scalars(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Return the scalars that come next."""
        if self.place + layout.size > len(self.data):
            raise ModelFileError("the checkpoint is cut off")
        found = layout.unpack_from(self.data, self.place)
        self.place += layout.size
        return found

    def array(self, dtype: Any) -> NDArray[Any]:
        """Return the array that comes next."""
        (length,) = self.scalars(struct.Struct("<Q"))
        dtype = np.dtype(dtype)
        if length > (len(self.data) - self.place) // dtype.itemsize:
            raise ModelFileError("the checkpoint is cut off, or the length of an array in it is wrong")
        found = np.frombuffer(self.data, dtype, length, self.place)
        self.place += length * dtype.itemsize
        return found

    def text(self) -> str:
        """Return the string that comes next."""
        try:
            return self.array("u1").tobytes().decode()
        except UnicodeDecodeError:
            raise ModelFileError("a string in the checkpoint is damaged") from None


def read_checkpoint(data: bytes) -> Checkpoint:
    """Return what the bytes of a checkpoint hold."""
    reader = CheckpointReader(data)
    major, minor, patch, thresholds, leaves, n_trees, n_features, task, averages, n_targets = reader.scalars(HEADER)
    if major != MAJOR_VERSION:
        raise ModelFileError(
            f"the checkpoint was written by treelite {major}.{minor}.{patch}; Billhook reads those of treelite 4: "
            "load it with treelite.Model.deserialize of treelite 4 and pass the model to as_forest"
        )
    if thresholds not in FLOATS or thresholds != leaves:
        raise ModelFileError(f"the checkpoint has thresholds of type {thresholds} and leaves of type {leaves}")
    if task >= len(TASKS):
        raise ModelFileError(f"the checkpoint has a task of type {task}, which treelite 4 does not know")
    counts = {name: reader.array("<i4") for name in ("num_class", "leaf_vector_shape", "target_id", "class_id")}
    postprocessor = reader.text()
    sigmoid_alpha, ratio_c = reader.scalars(struct.Struct("<ff"))
    base_scores = reader.array("<f8")
    attributes = reader.text()
    _check_no_extension(reader)
    trees = [_read_tree(reader, FLOATS[thresholds]) for _ in range(n_trees)]  # ends with the data, if made up
    if reader.place != len(data):
        raise ModelFileError(f"{len(data) - reader.place} bytes are left over after the last tree")
    if counts["num_class"].size != n_targets:
        raise ModelFileError(f"num_class has {counts['num_class'].size} entries for {n_targets} targets")
    return Checkpoint(
        float_type=FLOATS[thresholds].name,
        num_feature=n_features,
        task_type=TASKS[task],
        average_tree_output=bool(averages),
        postprocessor=postprocessor,
        sigmoid_alpha=sigmoid_alpha,
        ratio_c=ratio_c,
        base_scores=base_scores,
        attributes=attributes,
        trees=trees,
        **counts,
    )


def _read_tree(reader: CheckpointReader, float_type: np.dtype[Any]) -> dict[str, NDArray[Any]]:
    n_nodes, _ = reader.scalars(struct.Struct("<iB"))
    arrays = {name: reader.array(float_type if dtype == "float" else dtype) for name, dtype in TREE_ARRAYS.items()}
    _check_no_extension(reader)
    _check_no_extension(reader)
    for name in OF_EACH_NODE:
        if arrays[name].size != n_nodes:
            raise ModelFileError(f"{name} has {arrays[name].size} entries for {n_nodes} nodes of a tree")
    return arrays


def _check_no_extension(reader: CheckpointReader) -> None:
    (n_fields,) = reader.scalars(struct.Struct("<i"))
    if n_fields:
        raise ModelFileError("the checkpoint has fields of a newer treelite, which may change what it predicts")


def write_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Return the bytes of a checkpoint, which treelite reads."""
    float_code = {dtype.name: code for code, dtype in FLOATS.items()}[checkpoint.float_type]
    parts = [
        HEADER.pack(
            *VERSION,
            float_code,
            float_code,
            len(checkpoint.trees),
            checkpoint.num_feature,
            TASKS.index(checkpoint.task_type),
            checkpoint.average_tree_output,
            checkpoint.num_class.size,
        )
    ]
    for name in ("num_class", "leaf_vector_shape", "target_id", "class_id"):
        parts += _array(getattr(checkpoint, name), "<i4")
    parts += _array(np.frombuffer(checkpoint.postprocessor.encode(), "u1"), "u1")
    parts.append(struct.pack("<ff", checkpoint.sigmoid_alpha, checkpoint.ratio_c))
    parts += _array(checkpoint.base_scores, "<f8")
    parts += _array(np.frombuffer(checkpoint.attributes.encode(), "u1"), "u1")
    parts.append(struct.pack("<i", 0))
    for tree in checkpoint.trees:
        has_categories = bool((tree["node_type"] == CATEGORICAL).any())
        parts.append(struct.pack("<i?", tree["node_type"].size, has_categories))
        for name, dtype in TREE_ARRAYS.items():
            parts += _array(tree[name], FLOATS[float_code] if dtype == "float" else dtype)
        parts.append(struct.pack("<ii", 0, 0))
    return b"".join(parts)


def _array(array: NDArray[Any], dtype: Any) -> list[bytes]:
    return [struct.pack("<Q", array.size), array.astype(dtype).tobytes()]
