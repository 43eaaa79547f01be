"""The nodes of a model of ydf, as they lie in its files: one message each, all trees depth first."""

import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook._types import Bytes
from billhook.interop._wire import (
    BYTES,
    CUT_OFF,
    EIGHT_BYTES,
    FOUR_BYTES,
    VARINT,
    MessageField,
    fields_of,
    gathered,
    integers_in,
)
from billhook.interop.ydf._spec import BOOLEAN, CATEGORICAL, DISCRETIZED, NUMERICAL, InputColumn

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
# How many nodes are decoded together: few enough that the processor's caches hold them.
AT_ONCE = 2**15
# Decompressed. Larger ones are read uncompressed.
MOST_BYTES = 2**31


NOTHING = np.zeros(0, np.int64)
# Sets by the kind of test, the number of the feature, and the bytes that stand for them.
KnownSets = dict[tuple[int, int, bytes], NDArray[np.int64]]


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
    row_weight, n_rows, gain : arrays
    feature, threshold, missing_positive : arrays
        Of a split, which is positive where x > threshold; where x is missing if `missing_positive`.
    sets : dict
        The categories for which a categorical split is positive, by node.
    tells_unknown : bool
        Whether a split sends a category that is not in the dictionary elsewhere than a missing one.
    """

    is_split: NDArray[np.bool_]
    values: NDArray[np.float64]
    has_value: NDArray[np.bool_]
    top_class: NDArray[np.int64]
    row_weight: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    gain: NDArray[np.float64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    missing_positive: NDArray[np.bool_]
    sets: dict[int, NDArray[np.int64]]
    tells_unknown: bool


ARRAYS = NodeTable._fields[:-2]


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
    chunks = [slice(first, first + AT_ONCE) for first in range(0, start.size, AT_ONCE)]
    known: KnownSets = {}
    tables = [_nodes(data, start[chunk], end[chunk], features, n_classes, known) for chunk in chunks]
    if not tables:
        raise ModelFileError("the model has no nodes")
    sets = {
        chunk.start + node: categories
        for chunk, table in zip(chunks, tables, strict=True)
        for node, categories in table.sets.items()
    }
    arrays = {name: np.concatenate([getattr(table, name) for table in tables]) for name in ARRAYS}
    return NodeTable(**arrays, sets=sets, tells_unknown=any(table.tells_unknown for table in tables))


def _nodes(
    data: Bytes,
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    features: dict[int, InputColumn],
    n_classes: int,
    known: KnownSets,
) -> NodeTable:
    """Return the nodes between each start and end; sets that come again are taken from `known`."""
    n_nodes = start.size
    node = fields_of(data, start, end, NODE)
    outputs = _class_values(data, node[1], n_nodes, n_classes) if n_classes else _numbers(data, node[2], n_nodes)
    splits = node[3].message
    is_split = np.zeros(n_nodes, np.bool_)
    is_split[splits] = True
    conditions = _conditions(data, node[3], features, known)

    def of_nodes(values: NDArray[Any], of_leaf: Any) -> NDArray[Any]:
        array = np.full(n_nodes, of_leaf, values.dtype)
        array[splits] = values
        return array

    return NodeTable(
        is_split,
        *outputs,
        n_rows=node[4].numbers(n_nodes),
        gain=of_nodes(conditions.gain, 0.0),
        feature=of_nodes(conditions.feature, -1),
        threshold=of_nodes(conditions.threshold, 0.0),
        missing_positive=of_nodes(conditions.missing_positive, False),
        sets={int(splits[k]): categories for k, categories in conditions.sets.items()},
        tells_unknown=conditions.tells_unknown,
    )


class Conditions(NamedTuple):
    """The splits alone; the fields mean what NodeTable's of the same names mean, and `sets` are by split."""

    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    missing_positive: NDArray[np.bool_]
    gain: NDArray[np.float64]
    sets: dict[int, NDArray[np.int64]]
    tells_unknown: bool


def _conditions(
    data: Bytes, condition: MessageField, features: dict[int, InputColumn], known: KnownSets
) -> Conditions:
    fields = fields_of(data, condition.start, condition.end, CONDITION)
    n_splits = condition.message.size
    if fields[2].message.size != n_splits or fields[3].message.size != n_splits:
        raise ModelFileError("a split lacks its attribute or its test")
    columns = list(features.values())
    feature = _places(fields[2].numbers(n_splits), list(features))
    types = np.array([column.type for column in columns])[feature]
    missing_positive = fields[1].numbers(n_splits) != 0
    threshold, n_tests = np.zeros(n_splits, np.float32), np.zeros(n_splits, np.int64)
    sets: dict[int, NDArray[np.int64]] = {}
    tells_unknown = False
    for test, found in fields_of(data, *_spans(fields[3], n_splits), TESTS).items():
        own = found.message
        if not own.size:
            continue
        if test in REFUSED:
            raise TypeError(f"as_forest does not read {REFUSED[test]}")
        if test in TYPE_OF_TEST and (types[own] != TYPE_OF_TEST[test]).any():
            raise ModelFileError("a split tests a feature of another type")
        n_tests[own] += 1
        if test in (CONTAINS, IN_BITMAP):
            of_test = _sets(data, found, test, feature, columns, known)
            has_unknown = [categories.size > 0 and categories[0] == 0 for categories in of_test.values()]
            tells_unknown |= bool((missing_positive[list(of_test)] != has_unknown).any())
            sets |= of_test
        else:
            threshold[own] = _thresholds(data, found, test, feature, columns)
        if test == IS_MISSING:
            missing_positive[own] = True
            tells_unknown |= bool((types[own] == CATEGORICAL).any())
    if (n_tests != 1).any():
        raise ModelFileError("a split must have one test")
    gain = np.nan_to_num(fields[6].floats(data, n_splits, "<f4")).astype(np.float64)
    return Conditions(feature, threshold, missing_positive, gain, sets, tells_unknown)


def _places(attribute: NDArray[np.int64], features: list[int]) -> NDArray[np.int64]:
    """Return the number of the feature for each of these columns of the data."""
    order = np.argsort(features)
    ordered = np.array(features, np.int64)[order]
    place = np.searchsorted(ordered, attribute).clip(max=ordered.size - 1)
    if (ordered[place] != attribute).any():
        raise ModelFileError("a split tests a column that is no feature of the model")
    places: NDArray[np.int64] = order[place]
    return places


def _messages(folder: Path, n_shards: int) -> tuple[Bytes, NDArray[np.int64], NDArray[np.int64]]:
    """Return the bytes of all files, and where each message begins and ends."""
    if not 1 <= n_shards <= 10_000:
        raise ModelFileError(f"the model has {n_shards} files of nodes")
    parts = [_shard(folder / f"nodes-{shard:05d}-of-{n_shards:05d}") for shard in range(n_shards)]
    data = b"".join(parts)
    place, end, places = 0, len(data), [0]
    length_at, add = struct.Struct("<I").unpack_from, places.append
    try:
        while place < end:
            place += 4 + length_at(data, place)[0]
            add(place)
    except struct.error:
        raise ModelFileError(CUT_OFF) from None
    if place != end:
        raise ModelFileError(CUT_OFF)
    limits = np.array(places, np.int64)
    return np.frombuffer(data, np.uint8), limits[:-1] + 4, limits[1:]


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


def _spans(found: MessageField, n_messages: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where a field of each message is; all have it."""
    start, end = np.empty(n_messages, np.int64), np.empty(n_messages, np.int64)
    start[found.message], end[found.message] = found.start, found.end
    return start, end


Outputs = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64]]


def _class_values(data: Bytes, found: MessageField, n_nodes: int, n_classes: int) -> Outputs:
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


def _numbers(data: Bytes, found: MessageField, n_nodes: int) -> Outputs:
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
    data: Bytes, found: MessageField, test: int, feature: NDArray[np.int64], columns: list[InputColumn]
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
        for place in np.unique(feature[found.message]):
            own = np.flatnonzero(feature[found.message] == place)
            boundaries = columns[place].boundaries
            if (boundary[own] < 0).any() or (boundary[own] >= boundaries.size).any():
                raise ModelFileError(f"a split of {columns[place].name!r} tests a boundary that is not there")
            lowest[own] = boundaries[boundary[own]]
    # It asks for larger or equal.
    return np.nextafter(lowest.astype(np.float32), np.float32(-np.inf))


def _sets(
    data: Bytes,
    found: MessageField,
    test: int,
    feature: NDArray[np.int64],
    columns: list[InputColumn],
    known: KnownSets,
) -> dict[int, NDArray[np.int64]]:
    """Return the categories that splits contain, by split; equal ones share their memory."""
    fields = fields_of(data, found.start, found.end, {1: BYTES})[1]
    content = data.data
    sets = dict.fromkeys(found.message.tolist(), NOTHING)
    splits = found.message[fields.message]
    places = zip(splits.tolist(), feature[splits].tolist(), fields.start.tolist(), fields.end.tolist(), strict=True)
    for split, column, start, end in places:
        key = test, column, content[start:end].tobytes()
        if key not in known:
            known[key] = _categories(key[2], test, len(columns[column].categories))
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
