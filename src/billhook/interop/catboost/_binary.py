"""CatBoost's binary model files, .cbm.

A word, the length of a message of FlatBuffers, and the message, which has the trees; counters follow.
The fields of the message are those that CatBoost 1.2 knows, in the order of its catboost/libs/model/flatbuffers; how
it walks trees stands in its catboost/libs/model/cpu/evaluator_impl.cpp.
"""

import struct
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop._json_parts import decode
from billhook.interop.catboost._features import NAN_TREATMENTS, NumberedTests, name_of
from billhook.interop.catboost._flatbuffers import BinaryTable, root
from billhook.interop.catboost._trees import AllTrees, OneTree, all_trees, check_depth, tree_of_levels

WORD = b"CBM1"
FORMAT = "FlabuffersModel_v1"
COUNTERS = "static_provider_v1"
# What is JSON of what stands beside a model; users may add notes of their own.
OBJECTS = ("params", "class_params", "multiclass_params")
SHORT, LONG = struct.Struct("<4sI"), struct.Struct("<4sIQ")


class Core(IntEnum):
    """The fields of a message."""

    VERSION, TREES, INFO, PARTS = range(4)


class Of(IntEnum):
    """The fields of all trees together."""

    N_VALUES, SPLITS, SIZES, STARTS, CATEGORICAL, FLOATS, CATEGORIES, COUNTERS = range(8)
    VALUES, WEIGHTS, STEPS, LEAF_IDS, TEXTS, ESTIMATED, SCALE, BIAS, BIASES, REPACKED, EMBEDDINGS = range(8, 19)


class Feature(NamedTuple):
    """The tables of a kind of features: how many fields they have, and which of them all kinds have."""

    n_fields: int
    number: int
    flat_number: int
    name: int


FEATURES = {
    Of.FLOATS: Feature(6, 1, 2, 4),
    Of.CATEGORICAL: Feature(4, 0, 1, 2),
    Of.TEXTS: Feature(4, 0, 1, 2),
    Of.EMBEDDINGS: Feature(5, 0, 1, 2),
}
HAS_NANS, BORDERS, NAN_TREATMENT = 0, 3, 5


class BinaryModel:
    """A message: what JSON says too, in the same form, and the trees."""

    def __init__(self, data: bytes) -> None:
        core = root(_message(data), len(Core), "parts")
        if core.text(Core.VERSION) != FORMAT:
            raise ModelFileError(f"this CatBoost model is of the format {core.text(Core.VERSION)!r}, not {FORMAT!r}")
        self._trees = core.table(Core.TREES, len(Of), "trees")
        self._n_values = self._trees.number(Of.N_VALUES, "i", 0)
        self.fields = {
            "features_info": _features_info(self._trees),
            "model_info": _model_info(core),
            "scale_and_bias": _scale_and_bias(self._trees),
        }
        unknown = set(core.texts(Core.PARTS)) - {COUNTERS}
        if unknown:
            raise ModelFileError(f"this CatBoost model has a part {min(unknown)!r}, which Billhook does not know")

    def trees(self, tests: NumberedTests) -> AllTrees:
        """Return the trees."""
        found = self._trees
        test, size, first = (found.array(field, "<i4") for field in (Of.SPLITS, Of.SIZES, Of.STARTS))
        value, weight = (found.array(field, "<f8") for field in (Of.VALUES, Of.WEIGHTS))
        if not size.size:
            raise ValueError("the model has no trees: train it for one iteration at least")
        if (size < 0).any() or size.sum(dtype=np.int64) != test.size:
            raise ModelFileError(f"the sizes of trees are not those of their {test.size:,} nodes or splits")
        starts = np.cumsum(size, dtype=np.int64) - size
        if first.size and not np.array_equal(first, starts):
            raise ModelFileError("the trees do not stand one after the other")
        if self._n_values < 1 or value.size % self._n_values or not np.isfinite(value).all():
            raise ModelFileError(f"the values of leaves are not finite numbers, {self._n_values} for each")
        values = value.reshape(-1, self._n_values)
        if weight.size not in (0, len(values)) or not np.isfinite(weight).all():
            raise ModelFileError(f"there are {weight.size:,} weights for {len(values):,} leaves")
        step, leaf_id = found.array(Of.STEPS, "<u4").view("<u2"), found.array(Of.LEAF_IDS, "<u4")
        weights = weight if weight.size else None
        if not step.size and not leaf_id.size:
            return _symmetric(test, size, values, weights, tests)
        if leaf_id.size != test.size or step.size != 2 * test.size:
            raise ModelFileError(f"there are {leaf_id.size:,} leaves and steps for {test.size:,} nodes")
        return _of_any_shape(test, starts, step.reshape(-1, 2), leaf_id, values, weights, tests)


def _message(data: bytes) -> memoryview:
    """Return the message, of which the file says how long it is."""
    start = SHORT.size
    word, length = SHORT.unpack(data[:start].ljust(start, b"\0"))
    if length == 2**32 - 1:
        start = LONG.size
        *_, length = LONG.unpack(data[:start].ljust(start, b"\0"))
    if word != WORD or not 0 < length <= len(data) - start:
        raise ModelFileError("this CatBoost model is cut off")
    return memoryview(data)[start : start + length]


def _features_info(trees: BinaryTable) -> dict[str, Any]:
    """Return the features as JSON has them, or refuse those that are neither numbers nor categories."""
    for field, kind in ((Of.TEXTS, "text"), (Of.EMBEDDINGS, "embedding")):
        names = [one["feature_id"] or str(one["flat_feature_index"]) for _, one in _features(trees, field, kind)]
        if names:
            raise TypeError(
                f"as_forest reads features that are numbers or categories, and no {kind} features: turn "
                f"{', '.join(map(name_of, names))} into columns of numbers before training, or drop it"
            )
    if trees.fields[Of.ESTIMATED] and len(trees.array(Of.ESTIMATED, "<u4")):
        raise TypeError("as_forest reads features that are numbers or categories, and this model estimates others")
    floats = []
    for table, one in _features(trees, Of.FLOATS, "float features"):
        treatment = table.number(NAN_TREATMENT, "b", 0)
        if not 0 <= treatment < len(NAN_TREATMENTS):
            raise ModelFileError(f"a feature's treatment of NaN is {treatment}, which is not known")
        one["has_nans"] = bool(table.number(HAS_NANS, "B", 0))
        one["nan_value_treatment"] = NAN_TREATMENTS[treatment]
        one["borders"] = table.array(BORDERS, "<f4").tolist()
        floats.append(one)
    hashes: dict[int, list[int]] = {}
    for table in trees.tables(Of.CATEGORIES, 3, "categories"):
        number = table.number(0, "i", -1)
        if number in hashes:
            raise ModelFileError(f"the categories of feature {number} are there twice")
        hashes[number] = table.array(1, "<i4").tolist()
    texts = {one["feature_index"]: one for _, one in _features(trees, Of.CATEGORICAL, "categorical features")}
    if not hashes.keys() <= texts.keys():
        raise ModelFileError("there are categories of a feature that is not there")
    # Splits are numbered in the order of the categories' tables.
    order = [*hashes, *(number for number in texts if number not in hashes)]
    return {
        "float_features": floats,
        "categorical_features": [texts[number] | {"values": hashes.get(number, [])} for number in order],
        "ctrs": [_counter(table) for table in trees.tables(Of.COUNTERS, 2, "counters")],
    }


def _features(trees: BinaryTable, field: Of, name: str) -> list[tuple[BinaryTable, dict[str, Any]]]:
    """Return the tables of the features of a kind, and what all kinds have."""
    kind = FEATURES[field]
    return [
        (
            table,
            {
                "feature_index": table.number(kind.number, "i", -1),
                "flat_feature_index": table.number(kind.flat_number, "i", -1),
                "feature_id": table.text(kind.name),
            },
        )
        for table in trees.tables(field, kind.n_fields, name)
    ]


def _counter(table: BinaryTable) -> dict[str, Any]:
    """Return of which categorical features a counter is, as JSON says it."""
    combination = table.table(0, 6, "counters").table(0, 3, "counters").table(0, 3, "features of counters")
    return {"elements": [{"cat_feature_index": number} for number in combination.array(0, "<i4").tolist()]}


def _model_info(core: BinaryTable) -> dict[str, Any]:
    pairs = [(table.text(0), table.text(1)) for table in core.tables(Core.INFO, 2, "pairs of words")]
    return {name: _decoded(name, text) if name in OBJECTS and text else text for name, text in pairs}


def _decoded(name: str, text: str) -> Any:
    try:
        return decode(text.encode())
    except ModelFileError as error:
        raise ModelFileError(f"{name} of this CatBoost model: {error}") from None


def _scale_and_bias(trees: BinaryTable) -> list[Any]:
    biases = trees.array(Of.BIASES, "<f8").tolist()
    return [trees.number(Of.SCALE, "d", 1.0), biases or trees.number(Of.BIAS, "d", 0.0)]


def _symmetric(
    test: NDArray[np.int32],
    depth: NDArray[np.int32],
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    tests: NumberedTests,
) -> AllTrees:
    _check_tests(test, tests)
    trees: list[OneTree] = []
    split = leaf = 0
    for levels in depth.tolist():
        check_depth(levels)
        own = slice(leaf, leaf + 2**levels)
        if own.stop > len(values):
            raise ModelFileError(f"there are {len(values):,} leaves, fewer than the trees have")
        own_weights = None if weights is None else weights[own]
        trees.append(tree_of_levels(test[split : split + levels], values[own], own_weights, tests))
        split, leaf = split + levels, own.stop
    if leaf != len(values):
        raise ModelFileError(f"there are {len(values):,} leaves, more than the trees have")
    return all_trees(trees)


def _of_any_shape(
    test: NDArray[np.int32],
    starts: NDArray[np.int64],
    step: NDArray[np.uint16],
    leaf_id: NDArray[np.uint32],
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    tests: NumberedTests,
) -> AllTrees:
    """Return trees whose nodes say how far behind them their children are.

    A child that is no step away is a leaf, whose number the node has itself.
    """
    n_nodes = test.size
    stops = step == 0
    is_split, is_leaf_too = ~stops.all(axis=1), stops.any(axis=1)
    _check_tests(test[is_split], tests)
    # A split with a leaf is two nodes here.
    is_both = is_split & is_leaf_too
    before = np.cumsum(is_both, dtype=np.int32) - is_both
    place = np.arange(n_nodes, dtype=np.int32) + before
    ends = np.append(starts[1:], n_nodes)
    size = ends - starts
    if (size == 0).any():
        raise ModelFileError("a tree has no nodes")
    end, total = np.repeat(ends, size), n_nodes + int(is_both.sum())
    root = np.repeat(place[starts], size)
    children = []
    is_first = np.zeros(total, np.bool_)
    is_first[place[starts]] = True
    n_parents = is_first.astype(np.int64)
    splits = np.flatnonzero(is_split)
    for side in range(2):
        to = splits + step[splits, side]
        if (to >= end[splits]).any():
            raise ModelFileError("a split has a child that is not there")
        found = np.where(stops[splits, side], place[splits] + 1, place[to])
        n_parents += np.bincount(found, minlength=total)
        children.append(found - root[splits])
    if (n_parents != 1).any():
        raise ModelFileError("a node is the child of two nodes, or of none: the nodes do not form trees")
    left, right = np.full((2, total), -1, np.int32)
    is_turned = tests.asks_category[test[splits]]  # as in `tree_of_levels`
    left[place[splits]] = np.where(is_turned, children[1], children[0])
    right[place[splits]] = np.where(is_turned, children[0], children[1])
    leaf, which = np.where(is_both, place + 1, place)[is_leaf_too], leaf_id[is_leaf_too]
    n_values = values.shape[1]
    if (which % n_values).any() or (which >= values.size).any():
        raise ModelFileError("a leaf has values that are not there")
    number = which // np.uint32(n_values)
    value, weight = np.zeros((total, n_values)), np.zeros(total)
    value[leaf] = values[number]
    weight[leaf] = 1.0 if weights is None else weights[number]
    in_order = np.full(total, -1, np.int32)
    in_order[place[splits]] = test[splits]
    sizes = np.diff(np.append(place[starts], total))
    return AllTrees(sizes, in_order, left, right, value, weight, np.full(sizes.size, weights is not None))


def _check_tests(test: NDArray[np.int32], tests: NumberedTests) -> None:
    n_tests = tests.feature.size - 1
    odd = test[(test < 0) | (test >= n_tests)]
    if odd.size:
        raise ModelFileError(f"a split asks for border or category number {odd[0]}, and the features have {n_tests}")
