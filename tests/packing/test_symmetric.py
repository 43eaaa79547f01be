"""Trees that ask the same on all of a level: one test a level, where that takes fewer bytes."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import billhook as bh
from billhook._files import read_container, write_container
from billhook.codegen import Form
from compiled import compiled
from made_up import symmetric_forest, tricky_rows, with_sets

KINDS = ("float", "int16", "uint8")


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(["exact", 8]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_packed_bytes_answer_as_the_forest_does(depths, n_classes, threshold_bits, missing_values, has_sets, seed):
    rng = np.random.default_rng(seed)
    forest = symmetric_forest(rng, depths, n_classes=n_classes)
    if has_sets:  # with some splits that are not alike any more
        forest = with_sets(rng, forest, share=0.1, categories=np.arange(5))
    packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=12, missing_values=missing_values)
    X = tricky_rows(rng, 100, forest.n_features, 0.2 if missing_values else 0.0)
    # Thresholds are few, and whole numbers of halves: rounding them to 8 bits is exact.
    expected = forest.decision_function(X)
    if n_classes == 2:
        expected = expected[:, 1] - expected[:, 0]
    np.testing.assert_allclose(packed.decision_function(X), expected, rtol=0, atol=packed.scale * (len(depths) + 1))


def test_symmetric_trees_take_a_test_a_level(tmp_path):
    rng = np.random.default_rng(0)
    forest = symmetric_forest(rng, [6] * 20, thresholds=rng.normal(size=60))
    packed = bh.pack(forest, leaf_bits=4)
    assert packed.layout.is_symmetric
    assert (packed.layout.n_inner, packed.layout.n_leaves, packed.layout.n_splits) == (120, 1280, 1260)
    # The same trees, but for one split of one tree.
    other = forest.feature.copy()
    other[5] = (other[5] + 1) % 4
    plain = bh.pack(replace(forest, feature=other), leaf_bits=4)
    assert not plain.layout.is_symmetric
    assert packed.nbytes < 0.6 * plain.nbytes
    packed.save(tmp_path / "model.bhk")
    assert bh.load(tmp_path / "model.bhk") == packed


@pytest.mark.parametrize(("depths", "bits"), [((5, 5), 0), ((3, 4), 1), ((3, 6), 2)])
def test_how_many_levels_a_tree_has_takes_no_more_bits_than_it_needs(depths, bits):
    rng = np.random.default_rng(0)
    packed = bh.pack(symmetric_forest(rng, depths, thresholds=rng.normal(size=60)))
    assert packed.layout.is_symmetric
    assert packed.layout.tree_bits == bits


def test_where_most_splits_are_idle_symmetric_trees_are_cut_back_instead():
    rng = np.random.default_rng(0)
    forest = symmetric_forest(rng, [8])
    value = np.zeros_like(forest.value)
    value[-1] = 1.0
    packed = bh.pack(forest.with_values(value), leaf_bits=2)
    assert not packed.layout.is_symmetric
    assert packed.layout.n_leaves <= 9


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.sampled_from([1, 3]),
    st.sampled_from(["compact", "fast"]),
    st.sampled_from(KINDS),
    st.booleans(),
    st.integers(0, 2**32),
)
@settings(max_examples=settings.default.max_examples // 3)
def test_they_score_the_same_in_c(tmp_path_factory, depths, n_classes, layout, kind, missing_values, seed):
    rng = np.random.default_rng(seed)
    packed = bh.pack(symmetric_forest(rng, depths, n_classes=n_classes), leaf_bits=5, missing_values=missing_values)
    rows = tricky_rows(rng, 60, 4)
    if kind != "float":
        rows = np.clip(np.rint(np.nan_to_num(rows, nan=7.0)), 0, 255).astype(np.float32)
    found = compiled(packed, tmp_path_factory.mktemp("c"), form=Form(layout, KINDS), kind=kind)(rows)
    np.testing.assert_array_equal(found, packed.scores(rows))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("is_symmetric", 1, "the layout has is_symmetric 1"),
        ("is_symmetric", False, "bytes; the data have"),
        ("n_leaves", 1281, "do not have 1281 leaves"),
        ("n_leaves", 2**30, "cannot have 1073741824 leaves"),
        ("least_inner", 7, "levels do not have"),
        ("least_inner", 20, "levels do not have"),
        ("n_inner", 1_000_000, "cannot have 1280 leaves"),
        ("least_inner", 2**30, "levels do not have"),
    ],
)
def test_a_file_whose_levels_cannot_be_is_refused(name, value, message, tmp_path):
    rng = np.random.default_rng(0)
    # One test and one leaf value take no bits: whatever their number, the data are as long.
    forest = symmetric_forest(rng, [6] * 20, n_features=1, thresholds=(1.0,))
    packed = bh.pack(replace(forest, missing_left=np.zeros(forest.n_nodes, bool)), leaf_bits=4)
    packed.save(tmp_path / "model.bhk")
    contents = read_container(tmp_path / "model.bhk")
    contents.meta["layout"][name] = value
    if name == "n_leaves":
        contents.meta["layout"]["n_entries"] = 1
        layout = replace(packed.layout, **{name: value, "n_entries": 1})
        data = np.zeros(layout.sections["end"], np.uint8)
        contents = contents._replace(arrays={"data": data})
    write_container(tmp_path / "model.bhk", contents)
    tracemalloc.start()
    try:
        with pytest.raises(bh.ModelFileError, match=message):
            bh.load(tmp_path / "model.bhk")
        # The file is refused before memory is taken for what it claims.
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
