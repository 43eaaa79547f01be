"""The nodes of a model of ydf, as they lie in its files: one message each, all trees depth first."""

import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop.ydf._spec import BOOLEAN, CATEGORICAL, DISCRETIZED, NUMERICAL, InputColumn
from billhook.interop.ydf._wire import (
    BYTES,
    CUT_OFF,
    EIGHT_BYTES,
    FOUR_BYTES,
    VARINT,
    Bytes,
    Found,
    fields_of,
    gathered,
    integers_in,
)

NODE = {1: BYTES, 2: BYTES, 3: BYTES, 4: VARINT}
CLASSIFIER = {1: VARINT, 2: BYTES}
CLASS_COUNTS = {1: BYTES, 2: EIGHT_BYTES}
REGRESSOR = {1: FOUR_BYTES, 2: BYTES, 3: EIGHT_BYTES, 4: EIGHT_BYTES, 5: EIGHT_BYTES}
MOMENTS = {1: EIGHT_BYTES, 2: EIGHT_BYTES, 3: EIGHT_BYTES}
CONDITION = {
    1: VARINT,
    2: VARINT,
    3: BYTES,
    4: VARINT,
    5: EIGHT_BYTES,
    6: FOUR_BYTES,
    7: VARINT,
    8: EIGHT_BYTES,
}
IS_MISSING, HIGHER, IS_TRUE, CONTAINS, IN_BITMAP, DISCRETIZED_HIGHER, OBLIQUE, VECTOR_SEQUENCE = range(1, 9)
TESTS = dict.fromkeys(range(1, 9), BYTES)
TYPE_OF_TEST = {
    HIGHER: NUMERICAL,
    IS_TRUE: BOOLEAN,
    CONTAINS: CATEGORICAL,
    IN_BITMAP: CATEGORICAL,
    DISCRETIZED_HIGHER: DISCRETIZED,
}
REFUSED = {
    OBLIQUE: "oblique splits, which test several features at once: train with split_axis='AXIS_ALIGNED'",
    VECTOR_SEQUENCE: "splits of vector sequences: train without such features",
}
# Decompressed. Larger ones are read uncompressed.
MOST_BYTES = 2**31


class NodeTable(NamedTuple):
    """The nodes of all trees.

    Attributes
    ----------
    is_split : bool array
    values : float64 array (nodes, values)
        What each predicts: class probabilities, or a number; 0 where a node does not say.
    has_value : bool array
        Whether it says.
    top_class : int64 array
        The number of the most frequent class, from 1; 0 where a node does not say.
    n_rows, row_weight, gain : arrays
    feature, threshold, missing_positive : arrays
        Of a split, which is positive where x > threshold; where x is missing if `missing_positive`.
    sets : dict
        The categories for which a categorical split is positive, by node.
    """

    is_split: NDArray[np.bool_]
    values: NDArray[np.float64]
    has_value: NDArray[np.bool_]
    top_class: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    row_weight: NDArray[np.float64]
    gain: NDArray[np.float64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    missing_positive: NDArray[np.bool_]
    sets: dict[int, NDArray[np.int64]]


def nodes_in(folder: Path, n_shards: int, features: dict[int, InputColumn], n_classes: int) -> NodeTable:
    """Return the nodes in the files of a folder.

    Parameters
    ----------
    folder : Path
    n_shards : int
        How many files they are in.
    features : dict
        The input columns by their places, in the order of the features.
    n_classes : int
        Of a classifier that keeps the frequencies of classes, else 0.
    """
    data, start, end = _messages(folder, n_shards)
    n_nodes = start.size
    node = fields_of(data, start, end, NODE)
    condition = node[3]
    is_split = np.zeros(n_nodes, np.bool_)
    is_split[condition.message] = True
    outputs = _class_values(data, node[1], n_nodes, n_classes) if n_classes else _numbers(data, node[2], n_nodes)
    split = fields_of(data, condition.start, condition.end, CONDITION)
    n_splits = condition.message.size
    if split[2].message.size != n_splits or split[3].message.size != n_splits:
        raise ModelFileError("a split lacks its attribute or its test")
    place_of = {place: number for number, place in enumerate(features)}
    attribute = split[2].numbers(n_splits)
    known, inverse = np.unique(attribute, return_inverse=True)
    if not set(known.tolist()) <= set(place_of):
        raise ModelFileError("a split tests a column that is no feature of the model")
    number = np.array([place_of[place] for place in known.tolist()], np.int64)[inverse] if n_splits else attribute
    test_of = fields_of(data, *_spans(split[3], n_splits), TESTS)
    threshold, is_checked, sets = np.zeros(n_splits, np.float32), np.zeros(n_splits, np.bool_), {}
    columns = list(features.values())
    types = np.array([column.type for column in columns])
    for test, found in test_of.items():
        if not found.message.size:
            continue
        if test in REFUSED:
            raise TypeError(f"as_forest does not read {REFUSED[test]}")
        if test in TYPE_OF_TEST and (types[number[found.message]] != TYPE_OF_TEST[test]).any():
            raise ModelFileError("a split tests a feature of another type")
        if is_checked[found.message].any():
            raise ModelFileError("a split has two tests")
        is_checked[found.message] = True
        if test in (CONTAINS, IN_BITMAP):
            sets |= _sets(data, found, test, number, columns)
        else:
            threshold[found.message] = _thresholds(data, found, test, number, columns)
    if not is_checked.all():
        raise ModelFileError("a split lacks its test")
    feature, thresholds = np.full(n_nodes, -1), np.zeros(n_nodes, np.float32)
    feature[condition.message], thresholds[condition.message] = number, threshold
    missing_positive = np.zeros(n_nodes, np.bool_)
    # Whether a value is missing is known of every value.
    missing_positive[condition.message] = split[1].numbers(n_splits) != 0
    missing_positive[condition.message[test_of[IS_MISSING].message]] = True
    gain = np.zeros(n_nodes)
    gain[condition.message] = split[6].floats(data, n_splits, "<f4")
    return NodeTable(
        is_split,
        *outputs[:3],
        n_rows=node[4].numbers(n_nodes),
        row_weight=outputs[3],
        gain=np.nan_to_num(gain),
        feature=feature,
        threshold=thresholds,
        missing_positive=missing_positive,
        sets={int(condition.message[k]): categories for k, categories in sets.items()},
    )


def _messages(folder: Path, n_shards: int) -> tuple[Bytes, NDArray[np.int64], NDArray[np.int64]]:
    """Return the bytes of all files, and where each message begins and ends."""
    if not 1 <= n_shards <= 10_000:
        raise ModelFileError(f"the model has {n_shards} files of nodes")
    parts = [_shard(folder / f"nodes-{shard:05d}-of-{n_shards:05d}") for shard in range(n_shards)]
    data = b"".join(parts)
    starts, ends = [], []
    place, unpack = 0, struct.Struct("<I").unpack_from
    try:
        while place < len(data):
            start = place + 4
            place = start + unpack(data, place)[0]
            starts.append(start)
            ends.append(place)
    except struct.error:
        raise ModelFileError(CUT_OFF) from None
    if place != len(data):
        raise ModelFileError(CUT_OFF)
    return np.frombuffer(data, np.uint8), np.array(starts, np.int64), np.array(ends, np.int64)


def _shard(path: Path) -> bytes:
    """Return the messages of one file, without its head: BS, the version, and how it is compressed."""
    if not path.is_file():
        raise ModelFileError(f"the file {path.name} is missing")
    data = path.read_bytes()
    head, data = data[:8], data[8:]
    if len(head) < 8 or head[:2] != b"BS" or head[2:4] not in (b"\0\0", b"\1\0"):
        raise ModelFileError(
            f"{path.name} is no blob sequence: load the model with ydf, and save it again after "
            "model.set_node_format(ydf.NodeFormat.BLOB_SEQUENCE)"
        )
    if head[4] == 0 or head[2:4] == b"\0\0":
        return data
    inflate = zlib.decompressobj(wbits=31)
    try:
        unpacked = inflate.decompress(data, MOST_BYTES)
    except zlib.error:
        raise ModelFileError(CUT_OFF) from None
    if not inflate.eof:
        raise ModelFileError(CUT_OFF)
    return unpacked


def _spans(found: Found, n_messages: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where a field of each message is; all have it."""
    start, end = np.empty(n_messages, np.int64), np.empty(n_messages, np.int64)
    start[found.message], end[found.message] = found.start, found.end
    return start, end


Outputs = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64]]


def _class_values(data: Bytes, found: Found, n_nodes: int, n_classes: int) -> Outputs:
    """Return class probabilities, which nodes have them, their most frequent class, and their weight."""
    output = fields_of(data, found.start, found.end, CLASSIFIER)
    counts = fields_of(data, output[2].start, output[2].end, CLASS_COUNTS)
    # The first is for what is no class.
    size = 8 * (n_classes + 1)
    if (counts[1].end - counts[1].start != size).any():
        raise ModelFileError(f"a node has not the frequencies of {n_classes} classes")
    owner = found.message[output[2].message[counts[1].message]]
    frequency = gathered(data, counts[1].start, size).view("<f8")[:, 1:].astype(np.float64)
    weight = np.zeros(n_nodes)
    weight[found.message[output[2].message]] = counts[2].floats(data, output[2].message.size, "<f8")
    values, has_value = np.zeros((n_nodes, n_classes)), np.zeros(n_nodes, np.bool_)
    with np.errstate(divide="ignore", invalid="ignore"):
        values[owner] = frequency / weight[owner][:, None]
    has_value[owner] = True
    top_class = np.zeros(n_nodes, np.int64)
    top_class[found.message] = output[1].numbers(found.message.size)
    return values, has_value, top_class, weight


def _numbers(data: Bytes, found: Found, n_nodes: int) -> Outputs:
    """Return the number that each node predicts, which nodes have one, nothing, and their weight."""
    output = fields_of(data, found.start, found.end, REGRESSOR)
    moments = fields_of(data, output[2].start, output[2].end, MOMENTS)
    values, has_value = np.zeros((n_nodes, 1)), np.zeros(n_nodes, np.bool_)
    values[found.message, 0] = output[1].floats(data, found.message.size, "<f4")
    has_value[found.message] = True
    weight = np.zeros(n_nodes)
    weight[found.message[output[2].message]] = moments[3].floats(data, output[2].message.size, "<f8")
    return values, has_value, np.zeros(n_nodes, np.int64), weight


def _thresholds(
    data: Bytes, found: Found, test: int, number: NDArray[np.int64], columns: list[InputColumn]
) -> NDArray[np.float32]:
    """Return the largest values for which splits are negative."""
    n_splits = found.message.size
    if test == IS_MISSING:
        return np.full(n_splits, np.inf, np.float32)
    if test == IS_TRUE:
        return np.full(n_splits, 0.5, np.float32)
    if test == HIGHER:
        lowest = fields_of(data, found.start, found.end, {1: FOUR_BYTES})[1].floats(data, n_splits, "<f4")
    else:
        boundary = fields_of(data, found.start, found.end, {1: VARINT})[1].numbers(n_splits) - 1
        lowest = np.empty(n_splits, np.float32)
        for feature in np.unique(number[found.message]):
            own = np.flatnonzero(number[found.message] == feature)
            boundaries = columns[feature].boundaries
            if (boundary[own] < 0).any() or (boundary[own] >= boundaries.size).any():
                raise ModelFileError(f"a split of {columns[feature].name!r} tests a boundary that is not there")
            lowest[own] = boundaries[boundary[own]]
    # It asks for larger or equal.
    return np.nextafter(lowest.astype(np.float32), np.float32(-np.inf))


def _sets(
    data: Bytes, found: Found, test: int, number: NDArray[np.int64], columns: list[InputColumn]
) -> dict[int, NDArray[np.int64]]:
    """Return the categories that splits contain, by split; equal ones share their memory."""
    fields = fields_of(data, found.start, found.end, {1: BYTES})[1]
    text = data.tobytes()
    nothing = np.zeros(0, np.int64)
    sets = dict.fromkeys(found.message.tolist(), nothing)
    known: dict[tuple[int, bytes], NDArray[np.int64]] = {}
    for split, start, end in zip(
        found.message[fields.message].tolist(), fields.start.tolist(), fields.end.tolist(), strict=True
    ):
        key = int(number[split]), text[start:end]
        if key not in known:
            known[key] = _categories(key[1], test, len(columns[key[0]].categories))
        sets[split] = known[key]
    return sets


def _categories(content: bytes, test: int, n_categories: int) -> NDArray[np.int64]:
    if test == IN_BITMAP:
        categories = np.flatnonzero(np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little"))
        return categories[categories < n_categories]
    categories = np.unique(np.array(integers_in(content), np.int64))
    if categories.size and not 0 <= categories[0] <= categories[-1] < n_categories:
        raise ModelFileError("a split tests a category that is not in the dictionary")
    return categories
