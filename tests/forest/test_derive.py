"""Forests that are made of a checked one and not checked themselves must be forests all the same."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import billhook as bh
from billhook.forest import cut_back, derive, without_constants
from billhook.forest._check import check_forest
from billhook.packing._as_sum import as_sum, centred, without_idle_splits
from billhook.packing._coding import coding_of, with_codes, without_unused

X, y = load_digits(return_X_y=True)


@pytest.fixture(
    scope="module",
    params=[
        RandomForestClassifier(5, max_leaf_nodes=20, random_state=0),
        GradientBoostingClassifier(n_estimators=3, max_depth=3, random_state=0),
    ],
    ids=["averaged", "summed"],
)
def forest(request):
    return bh.as_forest(request.param.fit(X, y))


def test_it_is_what_replace_gives(forest):
    changes = {"value": 2.0 * forest.value, "base": forest.base + 1.0, "origin": "elsewhere", "feature_names": None}
    derived = derive(forest, **changes)
    assert derived == replace(forest, **changes)
    np.testing.assert_array_equal(derived.predict(X), replace(forest, **changes).predict(X))


def test_arrays_have_the_kind_they_must_and_cannot_be_written(forest):
    derived = derive(forest, value=np.asfortranarray(forest.value.astype(np.float32)))
    assert derived.value.dtype == np.float64
    assert derived.value.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        derived.value[0] = 0.0


def test_the_forest_it_came_from_stays(forest):
    before = forest.value.copy()
    derive(forest, value=np.zeros_like(forest.value))
    np.testing.assert_array_equal(forest.value, before)


@pytest.mark.parametrize("name", ["value", "base", "tree_weight"])
def test_numbers_that_are_not_finite_are_found(forest, name):
    numbers = getattr(forest, name).copy()
    numbers.flat[-1] = np.inf
    with pytest.raises(ValueError, match=f"{name} holds numbers that are not finite"):
        derive(forest, **{name: numbers})


def test_unknown_fields_are_refused(forest):
    with pytest.raises(TypeError, match="a forest has no values"):
        derive(forest, values=forest.value)


def test_all_that_is_derived_would_pass_the_checks(forest):
    summed = as_sum(forest)
    coding = coding_of(summed, 4, X.astype(np.float32))
    is_split = (forest.growth_rank >= 0) & (forest.growth_rank < 3)
    made = [
        forest.select([2, 0, -1]),
        forest.truncate(max_leaves=4),
        cut_back(forest, is_split),
        without_constants(cut_back(forest, np.zeros_like(is_split))),
        summed,
        centred(summed, 4, by_class=True),
        without_idle_splits(derive(summed, value=np.rint(2.0 * summed.value))),
        with_codes(summed, coding),
        without_unused(with_codes(summed, coding).truncate(max_leaves=2), coding)[0],
        bh.refine(forest, X, y, epochs=1, validation_fraction=None, random_state=0),
        bh.merge(forest, X, y, max_leaves=30),
        bh.pack(forest, X=X, y=y, leaf_bits=3)._on_features,
    ]
    for one in made:
        check_forest(one)
