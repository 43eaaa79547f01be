"""Categorical splits in few bytes: exact, saved, checked."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import billhook as bh
from billhook._files import read_container, write_container
from billhook.budget._splits import training_rows
from billhook.budget._user_ensemble import with_all_codes
from billhook.codegen import Form
from billhook.forest import pool_sets
from billhook.packing import CategoryQuantizer, coding_of, pack_on_codes
from compiled import compiled
from made_up import categorical_forests, random_forest, rows_of_categories, with_sets


def forest_of_sets(sets, n_features=1):
    """Return a forest with a tree of one split for each set, by the features in turn."""
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(1,) * len(sets), n_features=n_features, n_classes=1)
    number, pooled = pool_sets([np.array(categories, np.int64) for categories in sets])
    is_split = forest.feature >= 0
    category_set, feature = np.full(forest.n_nodes, -1, np.int32), forest.feature.copy()
    category_set[is_split], feature[is_split] = number, np.arange(len(sets)) % n_features
    threshold = np.zeros(forest.n_nodes, np.float32)
    return replace(forest, category_set=category_set, feature=feature, threshold=threshold, **pooled._asdict())


@given(categorical_forests(), st.booleans(), st.integers(0, 2**32))
def test_every_row_goes_the_same_way(forest, missing_values, seed):
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=16, missing_values=missing_values)
    assume(packed.layout.n_inner > 0)  # of a constant nothing tells how large a unit is
    X = rows_of_categories(np.random.default_rng(seed), 80, forest.n_features, 0.2 if missing_values else 0.0)
    expected = forest.decision_function(X)
    if packed.layout.n_columns < forest.base.size:  # the packed one has the difference of the two
        expected = expected[:, 1] - expected[:, 0]
    # Each leaf is rounded, and so is the base: half a unit each, and all values lie thousands of units apart.
    np.testing.assert_allclose(
        packed.decision_function(X), expected, rtol=0, atol=packed.scale * (forest.n_trees + 1)
    )


@pytest.mark.parametrize("threshold_bits", ["exact", 8])
def test_a_packed_model_is_the_forest_it_says_it_is(threshold_bits, tmp_path):
    rng = np.random.default_rng(1)
    forest = with_sets(rng, random_forest(rng, sizes=(20, 40, 9), n_features=4))
    packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=12)
    X = rows_of_categories(rng, 500, 4)
    np.testing.assert_allclose(packed.to_forest().decision_function(X), packed.decision_function(X), atol=1e-9)
    packed.save(tmp_path / "model.bhk")
    again = bh.load(tmp_path / "model.bhk")
    assert again == packed
    np.testing.assert_array_equal(again.scores(X), packed.scores(X))


@pytest.mark.parametrize("layout", ["compact", "fast"])
@pytest.mark.parametrize("missing_values", [False, True])
def test_empty_sets_send_all_but_missing_cells_right(layout, missing_values, tmp_path):
    forest = forest_of_sets([[], [3], [], [0, 1, 2]], n_features=2)
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=12, missing_values=missing_values)
    X = rows_of_categories(np.random.default_rng(0), 80, 2, 0.2 if missing_values else 0.0)
    expected = forest.decision_function(X)
    np.testing.assert_allclose(packed.decision_function(X), expected, rtol=0, atol=packed.scale * 5)
    found = compiled(packed, tmp_path, form=Form(layout))(X)
    np.testing.assert_array_equal(found, packed.scores(X))


def test_nested_sets_share_a_table_and_others_do_not():
    nested = [list(range(n)) for n in (1, 5, 9, 20)]
    packed = bh.pack(forest_of_sets(nested))
    assert (packed.layout.n_categorical, packed.layout.category_bits, packed.layout.n_categories) == (1, 3, 20)
    assert bh.pack(forest_of_sets([[0, 1], [1, 2], [2, 3]])).layout.n_categorical == 3
    # Of two features, each has its own.
    assert bh.pack(forest_of_sets([[0], [0, 1]], n_features=2)).layout.n_categorical == 2


def test_a_table_takes_the_bits_that_its_sets_need():
    alone = bh.pack(forest_of_sets([[3, 99], [5, 98]]))
    assert (alone.layout.category_bits, alone.layout.n_categories) == (1, 199)
    assert alone.nbytes <= 199 / 8 + 30


def test_codes_of_categories_are_those_of_values_cut_off():
    quantizer = CategoryQuantizer(np.array([2, 0, 1]), 4)
    x = np.array([0.0, 0.9, -0.9, 1.0, 2.99, 3.0, -1.0, np.inf, -np.inf, np.nan, 1e30], np.float32)
    assert quantizer.codes(x).tolist() == [2, 2, 2, 0, 1, 3, 3, 3, 3, -1, 3]


def test_refined_and_merged_forests_are_packed_with_rows():
    rng = np.random.default_rng(0)
    X = rows_of_categories(rng, 600, 3, 0.1)
    y = (np.nan_to_num(X[:, 0]) % 3 > 1).astype(int)
    forest = with_sets(rng, random_forest(rng, sizes=(30, 30, 30), n_classes=2, n_features=3))
    forest = bh.refine(replace(forest, classes=np.array([0, 1])), X, y, epochs=5, random_state=5)
    packed = bh.pack(forest, leaf_bits=8, X=X, y=y)
    assert np.mean(packed.predict(X) == forest.predict(X)) > 0.95
    merged = bh.merge(forest, X, y, max_leaves=40)
    smaller = bh.pack(merged, leaf_bits=8, X=X, y=y)
    assert smaller.nbytes < packed.nbytes
    assert np.mean(smaller.predict(X) == merged.predict(X)) > 0.95


def test_categories_that_a_reader_cannot_count_are_refused():
    with pytest.raises(
        ValueError, match="a split tests category 70,000, and packed models have categories up to 65,5"
    ):
        bh.pack(forest_of_sets([[0, 70_000]]))
    assert bh.pack(forest_of_sets([[0, 65_534]])).layout.size_bits == 16


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_categorical", 5, "bytes; the data have"),
        ("n_categorical", 0, "bytes; the data have"),
        ("category_bits", 9, "the layout has category_bits 9"),
        ("size_bits", 17, "the layout has size_bits 17"),
        ("n_categories", 2**30, "the layout has n_categories"),
        ("n_categories", -1, "the layout has n_categories -1"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(name, value, message, tmp_path):
    rng = np.random.default_rng(1)
    bh.pack(with_sets(rng, random_forest(rng, sizes=(20, 40)))).save(tmp_path / "model.bhk")
    contents = read_container(tmp_path / "model.bhk")
    contents.meta["layout"][name] = value
    write_container(tmp_path / "model.bhk", contents)
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(tmp_path / "model.bhk")


def test_no_table_is_longer_than_the_data_say(tmp_path):
    """Whatever the bytes of sizes and categories are, a file is refused or answers."""
    rng = np.random.default_rng(2)
    packed = bh.pack(with_sets(rng, random_forest(rng, sizes=(20, 40))))
    packed.save(tmp_path / "model.bhk")
    contents = read_container(tmp_path / "model.bhk")
    first, end = packed.layout.sections["sizes"], packed.layout.sections["trees"]
    X = rows_of_categories(rng, 20, 3)
    for place in range(first, end):
        data = packed.data.copy()
        data[place] ^= 0xFF
        write_container(tmp_path / "changed.bhk", contents._replace(arrays={"data": data}))
        try:
            bh.load(tmp_path / "changed.bhk").predict(X)
        except bh.ModelFileError as error:
            assert "categories" in str(error)  # noqa: PT017 - most changes make another model


def test_one_feature_with_several_chains_and_thresholds(tmp_path):
    """A feature is there several times, and the only one there is."""
    rng = np.random.default_rng(0)
    forest = with_sets(
        rng, random_forest(rng, (30, 40), 1, 1, thresholds=rng.normal(size=30)), categories=np.arange(40)
    )
    for threshold_bits in ("exact", 8):
        packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=16)
        packed.check()
        assert set(packed.used.tolist()) == {0}
        assert "1 of 1 feature" in repr(packed)
        packed.save(tmp_path / "model.bhk")
        assert bh.load(tmp_path / "model.bhk") == packed
    X = rows_of_categories(rng, 300, 1, categories=np.arange(40))
    exact = bh.pack(forest, threshold_bits="exact", leaf_bits=16)
    np.testing.assert_allclose(exact.decision_function(X), forest.decision_function(X), atol=3 * exact.scale)


def test_leaves_of_a_users_ensemble_are_rounded_on_the_rows_that_reach_them():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (400, 3)).astype(np.float32)
    forest = with_sets(rng, random_forest(rng, (20, 20), 3, 1, thresholds=np.arange(12)), categories=np.arange(12))
    rows = training_rows(X, forest.predict(X), is_classification=False)
    coding = coding_of(forest, 8, X)
    coded, whole, codes = with_all_codes(forest, coding, rows)
    all_rows = np.arange(len(X))
    np.testing.assert_array_equal(coded.decision_function(codes[all_rows]), forest.decision_function(X))
    packed = pack_on_codes(coded, whole, leaf_bits=10, codes=codes[all_rows])
    np.testing.assert_allclose(packed.decision_function(X), forest.decision_function(X), atol=3 * packed.scale)
    assert packed.n_features == 3


def test_a_split_by_a_code_of_no_set_is_refused():
    packed = bh.pack(forest_of_sets([[0, 1], [0, 1, 2], [0, 1, 2, 3]]))
    assert (packed.layout.category_bits, packed.layout.code_bits) == (2, 2)
    odd = np.full_like(packed.data, 0xFF)
    kept = packed.layout.sections["tests"], packed.layout.sections["leaves"]
    data = packed.data.copy()
    data[slice(*kept)] = odd[slice(*kept)]
    with pytest.raises(ValueError, match="a split tests"):
        replace(packed, data=data).check()
