"""The text that LightGBM's save_model writes."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.interop.lightgbm._model import (
    LINEAR,
    MOST_FEATURES,
    NO_TREES,
    ColumnRange,
    Written,
    check_version,
    checked_categories,
)
from billhook.interop.lightgbm._numbers import fill_with_decimals, fill_with_integers
from billhook.interop.lightgbm._trees import CATEGORICAL, FlatTrees, TreesRead, joined, trees_of

OF_OUTPUT = ("num_class", "num_tree_per_iteration", "objective", "average_output")
OF_INPUT = ("label_index", "max_feature_idx", "feature_names", "feature_infos", "monotone_constraints")
HEADER = frozenset(("version", *OF_OUTPUT, *OF_INPUT, "tree_sizes"))
OF_SPLITS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
# Of the rows that passed a split.
OF_ROWS = ("internal_weight", "internal_count")
OF_CATEGORIES = ("num_cat", "cat_boundaries", "cat_threshold")
# Said of a tree, and not needed.
NOT_READ = ("split_gain", "internal_value", "shrinkage")
OF_TREE = frozenset(("num_leaves", "is_linear", *OF_SPLITS, *OF_LEAVES, *OF_ROWS, *OF_CATEGORIES, *NOT_READ))
OF_LINEAR_TREE = frozenset(("leaf_const", "num_features", "leaf_features", "leaf_coeff"))
# So many leaves are read together: with fewer, small trees would take long; with more, much memory.
LEAVES_AT_ONCE = 4096
WORD = 32


def parse(lines: Iterator[bytes]) -> Written:
    """Return the model that the lines of a text, without their ends, say, or raise ValueError."""
    header = _header(lines)
    version = _text(header, "version") if "version" in header else None
    check_version(version)
    n_features = _whole(header, "max_feature_idx") + 1
    if not 1 <= n_features <= MOST_FEATURES:
        raise ValueError(f"max_feature_idx is {n_features - 1}")
    names = tuple(_text(header, "feature_names").split(" "))
    ranges = tuple(_range(text) for text in _text(header, "feature_infos").split(" "))
    if len(names) != n_features or len(ranges) != n_features:
        raise ValueError(f"there are {len(names)} feature_names and {len(ranges)} feature_infos for {n_features}")
    n_trees = len(_text(header, "tree_sizes").split())
    trees = _trees(lines, n_features)
    if trees.n_nodes.size != n_trees:
        raise ValueError(f"there are {trees.n_nodes.size:,} trees, and tree_sizes has {n_trees:,}")
    return Written(
        n_columns=_whole(header, "num_tree_per_iteration"),
        n_features=n_features,
        objective=_text(header, "objective") if "objective" in header else None,
        averages="average_output" in header,
        feature_names=names,
        ranges=ranges,
        trees=trees,
        # LightGBM 2.1 does not say where the parameters end.
        pandas_categories=_pandas_categories(lines, says_all=version != "v2"),
    )


def _header(lines: Iterator[bytes]) -> dict[str, bytes]:
    """Return what is said before the trees."""
    if next(lines, b"") != b"tree":
        raise ValueError("this text does not begin as LightGBM's models do")
    return _said(lines, HEADER)


def _said(lines: Iterator[bytes], known: frozenset[str]) -> dict[str, bytes]:
    """Return what the lines up to an empty one say, by its name."""
    said: dict[str, bytes] = {}
    for line in lines:
        if not line:
            return said
        before, _, text = line.partition(b"=")
        name = before.decode()
        if name in OF_LINEAR_TREE:
            continue  # is_linear says it
        if name not in known or name in said:
            what = "twice" if name in said else "which is not known"
            raise ValueError(f"there is {name[:40]!r}, {what}")
        said[name] = text
    raise ValueError("the text ends in the middle: it is cut off")


def _text(said: dict[str, bytes], name: str) -> str:
    return _line(said, name).decode()


def _line(said: dict[str, bytes], name: str) -> bytes:
    if name not in said:
        raise ValueError(f"{name} is missing")
    return said[name]


def _whole(said: dict[str, bytes], name: str) -> int:
    text = _text(said, name)
    if not text.removeprefix("-").isdecimal() or len(text) > 12:
        raise ValueError(f"{name} is {text[:40]!r}, not a number")
    return int(text)


def _range(text: str) -> ColumnRange:
    if text == "none":
        return ColumnRange(False, None, None)
    try:
        if text.startswith("["):
            low, high = map(float, text[1:-1].split(":"))
            return ColumnRange(False, low, high)
        categories = [int(category) for category in text.split(":")]
        return ColumnRange(True, min(categories), max(categories))
    except ValueError:
        raise ValueError(f"feature_infos holds {text[:40]!r}, which is not known") from None


def _trees(lines: Iterator[bytes], n_features: int) -> TreesRead:
    """Return the trees, and leave the lines behind what follows them."""
    parts: list[TreesRead] = []
    together: list[dict[str, bytes]] = []
    n_leaves = 0
    for line in lines:
        if line.startswith(b"Tree="):
            together.append(_said(lines, OF_TREE))
            n_leaves += _n_leaves(together[-1])
            if n_leaves >= LEAVES_AT_ONCE:
                parts.append(trees_of(_flat(together), n_features))
                together, n_leaves = [], 0
        elif line:
            if line not in (b"end of trees", b"feature importances:"):  # the second in LightGBM 2.1
                raise ValueError(f"there is {line[:40].decode(errors='replace')!r} instead of a tree")
            if together:
                parts.append(trees_of(_flat(together), n_features))
            if not parts:
                raise ValueError(NO_TREES)
            return joined(parts)
    raise ValueError("the text ends before the last tree: it is cut off")


def _n_leaves(tree: dict[str, bytes]) -> int:
    if tree.get("is_linear", b"0") != b"0":
        raise ValueError(LINEAR)
    n_leaves = _whole(tree, "num_leaves")
    if n_leaves < 1:
        raise ValueError(f"a tree has {n_leaves} leaves")
    return n_leaves


def _flat(trees: list[dict[str, bytes]]) -> FlatTrees:
    n_leaves = np.array([_n_leaves(tree) for tree in trees], np.int64)
    columns: dict[str, NDArray[Any]] = {
        name: _joined(trees, name, n_leaves - 1, is_decimal=name == "threshold") for name in OF_SPLITS
    }
    columns["leaf_value"] = _joined(trees, "leaf_value", n_leaves, is_decimal=True)
    for ours, name, n in (("leaf", "leaf", n_leaves), ("split", "internal", n_leaves - 1)):
        counts = _if_said(trees, f"{name}_count", n, np.zeros(n.sum(), np.int64))
        columns[f"{ours}_count"] = counts
        # LightGBM 2.1 and 2.2 say nothing of weights.
        columns[f"{ours}_weight"] = _if_said(trees, f"{name}_weight", n, counts.astype(np.float64))
    return FlatTrees(n_leaves=n_leaves, category_sets=_category_sets(trees, columns, n_leaves), **columns)


def _if_said(trees: list[dict[str, bytes]], name: str, n: NDArray[np.int64], default: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers that trees say, or those by default for trees that do not."""
    is_said = np.array([bool(tree.get(name)) for tree in trees])
    default[np.repeat(is_said, n)] = _joined(trees, name, n * is_said, is_decimal=default.dtype.kind == "f")
    return default


def _joined(trees: list[dict[str, bytes]], name: str, n: NDArray[np.int64], *, is_decimal: bool) -> NDArray[Any]:
    """Return the numbers that trees say of their splits or leaves, so many of each."""
    lines = [_line(tree, name) if n_of_tree > 0 else b"" for tree, n_of_tree in zip(trees, n.tolist(), strict=True)]
    # Each has one byte at least, and one before it: no short text can ask for much memory.
    if any(2 * n_of_tree - 1 > len(line) for n_of_tree, line in zip(n.tolist(), lines, strict=True)):
        raise ValueError(f"{name} of a tree has more or fewer numbers than there should be")
    numbers = np.empty(n.sum(), np.float64 if is_decimal else np.int64)
    fill: Any = fill_with_decimals if is_decimal else fill_with_integers
    end = np.cumsum(n).tolist()
    try:
        for line, first, behind in zip(lines, [0, *end], end, strict=False):
            if behind > first:
                fill(numbers[first:behind], line)
    except ValueError as error:
        raise ValueError(f"{name} of a tree {error}") from None
    return numbers


def _category_sets(
    trees: list[dict[str, bytes]], columns: dict[str, NDArray[Any]], n_leaves: NDArray[np.int64]
) -> dict[int, NDArray[np.int64]]:
    """Return the categories that go left at each categorical split, by its place among the splits."""
    sets: dict[int, NDArray[np.int64]] = {}
    first = 0
    for tree, n in zip(trees, n_leaves.tolist(), strict=True):
        splits = slice(first, first + n - 1)
        first += n - 1
        places = np.flatnonzero(columns["decision_type"][splits] & CATEGORICAL)
        if places.size:
            for place, categories in zip(places, _sets_of(tree, columns["threshold"][splits][places]), strict=True):
                sets[splits.start + int(place)] = categories
    return sets


def _sets_of(tree: dict[str, bytes], threshold: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
    """Yield the set that each of these categorical splits of a tree tests; its threshold is the number of the set."""
    n_sets = _whole(tree, "num_cat")
    if n_sets != threshold.size or not np.array_equal(np.sort(threshold), np.arange(n_sets)):
        raise ValueError(f"a tree has {threshold.size} categorical splits for {n_sets} sets of categories")
    n_words = _line(tree, "cat_threshold").count(b" ") + 1
    end, words = (
        _joined([tree], name, np.array([n]), is_decimal=False)
        for name, n in (("cat_boundaries", n_sets + 1), ("cat_threshold", n_words))
    )
    # Compared, not subtracted: differences of made-up numbers can overflow.
    if end[0] != 0 or (end[1:] <= end[:-1]).any() or end[-1] != words.size:
        raise ValueError("cat_boundaries of a tree do not fit cat_threshold")
    if ((words < 0) | (words >= 2**WORD)).any():
        raise ValueError("cat_threshold of a tree has a number that is not of 32 bits")
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    for number in threshold.astype(np.int64):
        yield np.flatnonzero(bits[end[number] * WORD : end[number + 1] * WORD])


def _pandas_categories(lines: Iterator[bytes], *, says_all: bool) -> Any:
    """Return the categories that stand in the last line but for empty ones, if they do."""
    last, is_in_parameters = b"", False
    for line in lines:
        if line in (b"parameters:", b"end of parameters"):
            is_in_parameters = line == b"parameters:"
        last = line or last
    if is_in_parameters and says_all:
        raise ValueError("the text ends in its parameters: it is cut off")
    name, _, text = last.partition(b":")
    if name != b"pandas_categorical":
        return None
    try:
        return checked_categories(json.loads(text))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"pandas_categorical is not JSON: {error}") from None
