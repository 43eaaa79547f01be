"""JSON whose trees are decoded one by one, against Python's `json`, which decodes all at once."""

import json
import tracemalloc
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import billhook as bh
from billhook.interop import _json_parts
from billhook.interop._json_parts import FileBytes, OneByOne, decode_trees
from billhook.kernels import find_elements

TEXTS = st.text(st.sampled_from('[]{},:"\\ \n\u20acatrees'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
TREES = st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), min_size=1, max_size=6)


def plain(value):
    """Return what was decoded, with all trees in a list."""
    if isinstance(value, OneByOne):
        assert len(value) == len(list(value))
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


@given(
    TREES,
    VALUES,
    st.sampled_from(["trees", "oblivious_trees", "tree_info"]),
    st.sampled_from([None, 1]),
    TEXTS,
    st.sampled_from([1, 7, 64, _json_parts.WINDOW]),
)
def test_it_says_what_json_says(trees, other, name, indent, odd, window):
    """However little of it is looked at at once."""
    model = {odd: other, "model": {"before": other, name: trees, "after": other}}
    with mock.patch.multiple(_json_parts, WINDOW=window, SHORT=min(window, 16)):
        for ascii_only in (True, False):
            data = json.dumps(model, indent=indent, ensure_ascii=ascii_only).encode()
            assert plain(decode_trees(data)) == json.loads(data)


def test_a_file_is_read_part_by_part(tmp_path):
    """A tree of eight bytes after the other: more than there is room for at once, and trees longer than a part."""
    trees = [{"a": 1}] * 270_000 + [{"b": list(range(900_000))}, {"c": "]"}]
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"version": 3, "trees": trees, "after": [1]}))
    with FileBytes(path) as data:
        assert len(data) == path.stat().st_size > 2 * _json_parts.WINDOW
        assert data[3:11] == path.read_bytes()[3:11]
        assert data[5:2] == b""
        model = decode_trees(data)
        assert (model["version"], model["after"]) == (3, [1])
        assert len(model["trees"]) == len(trees)
        assert list(model["trees"]) == trees


def test_trees_are_decoded_when_they_are_asked_for():
    model = decode_trees(b'{"version": 3, "trees": [{"a": 1}, {"b": [2, "]"]} ], "trees of others": [{}]}')
    assert isinstance(model["trees"], OneByOne)
    assert list(model["trees"]) == [{"a": 1}, {"b": [2, "]"]}]
    assert model["trees of others"] == [{}]


@pytest.mark.parametrize(
    "data",
    [
        b'{"trees": [{"a": 1}, {]}',
        b'{"trees": [{"a": 1}',
        b'{"trees": [{"a": "1}]}',
        b'{"trees": [{}]',
        b'{"trees": [{}]}}',
    ],
)
def test_what_is_not_json_is_refused(data):
    with pytest.raises(bh.ModelFileError, match="this is not JSON: "):
        plain(decode_trees(data))


def test_many_trees_take_little_memory(tmp_path):
    trees = [{"left_children": list(range(k, k + 5000)), "values": [k / 7] * 5000} for k in range(300)]
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"model": {"trees": trees}}))
    del trees
    tracemalloc.start()
    try:
        with FileBytes(path) as data:
            n_nodes = sum(len(tree["values"]) for tree in decode_trees(data)["model"]["trees"])
        assert n_nodes == 1_500_000
        assert tracemalloc.get_traced_memory()[1] < 0.4 * path.stat().st_size
    finally:
        tracemalloc.stop()


def test_elements_are_counted_however_few_there_is_room_for():
    end = np.full(2, -7)
    assert find_elements(b'[1, [2, 3], "," ]', 1, end) == 3
    assert end.tolist() == [2, 10]
    assert find_elements(b'[1, [2, 3], "," ', 1, end[:0]) == -1
    assert find_elements(b'["\\"]", 1]', 1, end) == 2
    assert end.tolist() == [6, 9]
    with pytest.raises(ValueError, match="start is not in the text"):
        find_elements(b"[]", 3, end)
