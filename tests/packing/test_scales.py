"""A scale for each class: the numbers of a column are times a factor of it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import billhook as bh
import naive.packing
from billhook._files import Contents, read_container, write_container
from billhook.packing._packed import codes_of
from made_up import random_forest, tricky_rows

X3, y3 = load_iris(return_X_y=True)


def uneven(seed, per_class, n_classes=4):
    """Return a forest whose classes have values of very different sizes."""
    forest = random_forest(
        np.random.default_rng(seed), sizes=(0, 3, 7, 15, 2), n_classes=n_classes, per_class=per_class, weights="sum"
    )
    size = 10.0 ** np.arange(n_classes)
    column = np.repeat(forest.tree_column, np.diff(forest.offset))
    return forest.with_values(forest.value * (size[column][:, None] if per_class else size))


@given(st.integers(0, 2**32), st.booleans(), st.integers(2, 16), st.booleans())
def test_scores_are_stored_numbers_times_the_factor_of_their_column(seed, per_class, bits, with_rows):
    forest = uneven(seed, per_class)
    rows = tricky_rows(np.random.default_rng(seed), 30, forest.n_features)
    labelled = {"X": rows, "y": forest.classes[np.arange(30) % 4]} if with_rows else {}
    packed = bh.pack(forest, scales="class", leaf_bits=bits, threshold_bits="exact", **labelled)
    factors = packed.data[packed.layout.sections["factors"] : packed.layout.sections["base"]]
    assert factors.size == packed.layout.n_columns == 4
    assert factors.min() > 0
    codes = codes_of(rows, packed.used, packed.quantizers, missing_values=True)
    np.testing.assert_array_equal(packed.scores(rows), naive.packing.packed_scores(packed, codes))


@pytest.mark.parametrize("per_class", [True, False])
def test_small_classes_are_not_lost(per_class):
    forest = uneven(1, per_class)
    rows = tricky_rows(np.random.default_rng(0), 40, forest.n_features)
    raw = forest.decision_function(rows)
    one, own = (bh.pack(forest, scales=s, leaf_bits=6, threshold_bits="exact") for s in ("one", "class"))
    off_one, off_own = (np.abs(packed.decision_function(rows) - raw).max(axis=0) for packed in (one, own))
    assert (off_own[:2] < off_one[:2]).all()
    if not per_class:  # with one scale for all, trees that add little to a small class may be gone altogether
        assert own.nbytes <= one.nbytes + 4 * (1 + 4) + one.layout.n_leaves * 6 * 4 // 8


def test_one_column_has_one_scale():
    X, y = load_breast_cancer(return_X_y=True)
    rf = RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, y)
    assert bh.pack(rf, scales="class") == bh.pack(rf)
    assert bh.pack(rf).layout.factor_bits == 0


@pytest.mark.parametrize("bits", [2, 3])
def test_scales_of_classes_cost_little_and_are_rounded_with_rows(bits):
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(12, max_leaf_nodes=24, random_state=0).fit(X[:900], y[:900])
    refined = bh.refine(rf, X[:900], y[:900], validation_fraction=None)
    options = {"threshold_bits": "exact", "leaf_bits": bits, "X": X[:900], "y": y[:900]}
    packed = bh.pack(refined, scales="class", **options)
    assert packed.layout.factor_bits == 8
    right = np.mean(refined.predict(X[900:]) == y[900:])
    assert np.mean(packed.predict(X[900:]) == y[900:]) > right - {2: 0.08, 3: 0.03}[bits]


def test_what_is_saved_comes_back_and_a_factor_of_zero_does_not(tmp_path):
    for model in (RandomForestClassifier(4, max_leaf_nodes=9), GradientBoostingClassifier(n_estimators=4)):
        packed = bh.pack(model.set_params(random_state=0).fit(X3, y3), scales="class", leaf_bits=5)
        packed.save(tmp_path / "model.bhk")
        assert bh.load(tmp_path / "model.bhk") == packed
        contents = read_container(tmp_path / "model.bhk")
        data = contents.arrays["data"].copy()
        data[packed.layout.sections["factors"] + 1] = 0
        write_container(tmp_path / "odd.bhk", Contents("packed", contents.meta, {"data": data}))
        with pytest.raises(bh.ModelFileError, match="the factor of a column is 0"):
            bh.load(tmp_path / "odd.bhk")


@pytest.mark.parametrize(
    ("bits", "size", "message"), [(9, 27, "has factor_bits 9"), (4, 2, "3 columns cannot have factors of 4 bits")]
)
def test_factors_of_other_widths_are_refused(bits, size, message, tmp_path):
    bh.pack(RandomForestClassifier(4, random_state=0).fit(X3, y3), scales="class").save(tmp_path / "model.bhk")
    contents = read_container(tmp_path / "model.bhk")
    meta = json.loads(json.dumps(contents.meta))
    meta["layout"]["factor_bits"] = bits
    data = contents.arrays["data"][: contents.arrays["data"].size - 3 + size]
    write_container(tmp_path / "odd.bhk", Contents("packed", meta, {"data": data}))
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(tmp_path / "odd.bhk")


def test_scores_stay_within_32_bits():
    forest = random_forest(np.random.default_rng(0), sizes=(3,) * 400, n_classes=3, weights="sum")
    packed = bh.pack(forest, scales="class", leaf_bits=16)
    factors = packed.data[packed.layout.sections["factors"] : packed.layout.sections["base"]]
    assert int(factors.max()) * 2**15 * 400 <= 2**30


def test_other_scales_are_refused():
    with pytest.raises(ValueError, match='scales must be "one" or "class", not \'tree\''):
        bh.pack(RandomForestClassifier(2, random_state=0).fit(X3, y3), scales="tree")
