"""What makes bytes, a layout and words no packed model: each said in its own words."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from made_up import random_forest, symmetric_forest, with_sets
from naive import packing as naive_packing

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def packed():
    return bh.pack(RandomForestClassifier(3, max_leaf_nodes=6, random_state=0).fit(X, y))


@pytest.fixture(scope="module")
def regression():
    Xd, yd = load_diabetes(return_X_y=True)
    return bh.pack(RandomForestRegressor(3, max_leaf_nodes=6, random_state=0).fit(Xd, yd), leaf_bits=8)


@pytest.fixture(scope="module")
def one_score():
    return bh.pack(RandomForestClassifier(3, max_leaf_nodes=6, random_state=0).fit(X, y == 1))


@pytest.mark.parametrize("name", ["packed", "regression", "one_score"])
def test_what_pack_makes_is_a_model(name, request):
    request.getfixturevalue(name).check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "regression"}, "task must be one of classification, not 'regression'"),
        ({"link": "exp"}, "link must be one of identity, logistic, isolation, softmax, not 'exp'"),
        ({"ties": "both"}, "ties must be one of first, last, not 'both'"),
        ({"rounding": "up"}, "rounding must be one of nearest, down, not 'up'"),
        ({"origin": None}, "origin must be a string, not None"),
        ({"n_features": 4.0}, r"n_features must be a whole number of 1 or more, not 4\.0"),
        ({"feature_names": ["a", "b", "c", "d"]}, "feature_names must be strings"),
        ({"feature_names": ("a", "b", "c", 4)}, "feature_names must be strings"),
        ({"feature_names": ("a", "b", "c")}, "feature_names must be 4 strings"),
        ({"scale": 1}, "scale must be a number above 0, not 1"),
        ({"scale": 0.0}, r"scale must be a number above 0, not 0\.0"),
        ({"scale": -0.5}, r"scale must be a number above 0, not -0\.5"),
        ({"scale": np.inf}, "scale must be a number above 0, not inf"),
        ({"scale": np.nan}, "scale must be a number above 0, not nan"),
        ({"base": 0}, "base must be a number, and 0 for classes, not 0"),
        ({"base": np.nan}, "base must be a number, and 0 for classes, not nan"),
        ({"base": 0.5}, r"base must be a number, and 0 for classes, not 0\.5"),
        ({"classes": np.arange(4)}, "3 of 3 columns do not fit 4 classes"),
        ({"classes": np.arange(2)}, "3 of 3 columns do not fit 2 classes"),
        ({"n_features": 5}, "a feature in use is not one of the 5"),
    ],
)
def test_what_is_said_about_a_model_is_checked(packed, changes, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        replace(packed, **changes).check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "classification"}, "task must be one of regression, not 'classification'"),
        ({"link": "softmax"}, "link must be one of identity, exp, not 'softmax'"),
        ({"base": np.inf}, "base must be a number, and 0 for classes, not inf"),
    ],
)
def test_what_is_said_about_numbers_is_checked(regression, changes, message):
    replace(regression, base=-0.5, link="exp").check()
    with pytest.raises(ValueError, match=f"^{message}$"):
        replace(regression, **changes).check()


def test_two_classes_may_have_one_score(one_score):
    assert one_score.layout.n_columns == 1
    with pytest.raises(ValueError, match=r"^1 of 1 columns do not fit 3 classes$"):
        replace(one_score, classes=np.arange(3)).check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_trees": 0}, "15 splits are not 0 trees"),
        ({"n_trees": 16}, "15 splits are not 16 trees"),
        ({"n_used": 16}, "15 splits are not 3 trees that test 16 features"),
        ({"n_leaves": 19}, "3 trees of 15 splits cannot have 19 leaves"),
        ({"n_inner": 14}, "3 trees of 14 splits cannot have 18 leaves"),
        ({"leaf_bits": 0}, "3 trees of 15 splits cannot have 18 leaves"),
        ({"n_pairs": 1, "n_used": 2}, "1 different tests cannot be of 2 features"),
        ({"n_used": 0}, "15 splits test no feature"),
        ({"n_categorical": 1}, r"1 of \d features cannot have 0 bits"),
        ({"category_bits": 3}, r"0 of \d features cannot have 3 bits"),
        ({"n_categorical": 9, "category_bits": 3}, r"9 of \d features cannot have 3 bits"),
        ({"n_categorical": 1, "category_bits": 3, "has_map": True}, "a bit for each feature cannot say"),
        ({"n_values": 2}, "2 of 3 columns do not fit 3 classes"),
        ({"n_columns": 1, "n_values": 1}, "1 of 1 columns do not fit 3 classes"),
        ({"factor_bits": 7}, "3 columns cannot have factors of 7 bits"),
        ({"base": 2**31 - 1}, "the scores do not fit 32 bits"),
    ],
)
def test_counts_that_fit_no_forest_are_refused(packed, changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        replace(packed, layout=replace(packed.layout, **changes)).check()


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_may_be_as_large_as_32_bits_hold(regression, sign):
    room = 2**31 - 1 - int(np.abs(regression.coded.value).max()) * regression.layout.n_trees
    own = int(regression.coded.base[0]) - regression.layout.base
    replace(regression, layout=replace(regression.layout, base=sign * room - own)).check()
    with pytest.raises(ValueError, match="the scores do not fit 32 bits"):
        replace(regression, layout=replace(regression.layout, base=sign * (room + 1) - own)).check()


def test_one_column_has_no_factors(regression):
    with pytest.raises(ValueError, match="1 columns cannot have factors of 8 bits"):
        replace(regression, layout=replace(regression.layout, factor_bits=8)).check()


@pytest.mark.parametrize(
    ("changes", "is_possible"),
    [
        ({}, True),
        ({"n_leaves": 3}, False),
        ({"n_inner": 2 * 16 + 1}, False),
        ({"n_leaves": 1 << 40}, False),
    ],
)
def test_levels_of_symmetric_trees_are_counted_apart(changes, is_possible):
    model = bh.pack(symmetric_forest(np.random.default_rng(0), (3, 4)))
    assert model.layout.is_symmetric
    if is_possible:
        model.check()
    else:
        with pytest.raises(ValueError, match=r"2 trees of .* splits cannot have .* leaves"):
            replace(model, layout=replace(model.layout, **changes)).check()


def test_splits_by_categories_test_codes_that_there_are():
    rng = np.random.default_rng(0)
    model = bh.pack(with_sets(rng, random_forest(rng, sizes=(20, 30), weights="sum"), share=0.5))
    model.check()
    assert model.layout.n_categorical
    with pytest.raises(ValueError, match="features cannot have 0 bits"):
        replace(model, layout=replace(model.layout, category_bits=0)).check()


def naive_reasons(model):
    """Yield what is wrong with a model whose bytes can be read, in the order of the layout."""
    layout, coded = model.layout, model.coded
    tested = [int(feature) for feature in coded.feature if feature >= 0]
    if any(feature >= layout.n_used for feature in tested):
        yield "not in use"
    if set(range(layout.n_used)) - set(tested):
        yield "no split tests it"
    if layout.ask_bits:
        asked, _ = naive_packing.tests_in_order(model)
        if len(asked) != layout.n_pairs or any(code >= 2**layout.code_bits for _, code, _ in asked):
            yield "codes that are too large"
    for k, quantizer in enumerate(model.quantizers):
        if hasattr(quantizer, "thresholds"):
            thresholds = quantizer.thresholds.tolist()
            if any(not low < high for low, high in pairwise(thresholds)):
                yield "do not ascend"
        if k >= layout.n_ordered:
            codes = [int(code) for code, feature in zip(coded.threshold, coded.feature, strict=True) if feature == k]
            if any(code > 2**layout.category_bits - 2 for code in codes):
                yield "codes"
    if any(feature >= model.n_features for feature in model.used.tolist()):
        yield "not one of"


@pytest.mark.parametrize("kind", ["ranks", "steps", "categories", "gaps"])
def test_whatever_bit_is_wrong_a_model_that_passes_tests_what_is_there(kind):
    rng = np.random.default_rng(2)
    forest = random_forest(
        rng, sizes=(3, 4, 2), n_features=3, n_classes=1, thresholds=np.array([-1.0, 0.5, 2.0, 7.0])
    )
    if kind == "categories":
        forest = with_sets(rng, forest, share=0.6, n_sets=3, categories=np.arange(5))
    model = bh.pack(forest, leaf_bits=4, threshold_bits="exact" if kind == "ranks" else 6)
    if kind == "gaps":
        sizes, thresholds = (15,) * 16, np.arange(20.0) * 37
        forest = random_forest(rng, sizes=sizes, n_features=3, n_classes=1, thresholds=thresholds)
        model = bh.pack(forest, leaf_bits=4, threshold_bits="exact", missing_values=False)
        assert model.layout.ask_bits
    n_passed = n_refused = 0
    for bit in range(8 * model.nbytes):
        data = model.data.copy()
        data[bit // 8] ^= np.uint8(1 << bit % 8)
        damaged = replace(model, data=data)
        try:
            damaged.check()
        except (ValueError, IndexError):  # as who reads files expects
            n_refused += 1
        else:
            n_passed += 1
            assert not list(naive_reasons(damaged))
    assert n_passed
    assert n_refused
