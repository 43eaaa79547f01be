import numpy as np
import pytest
import scipy.sparse

from made_up import random_forest


@pytest.fixture
def forest():
    return random_forest(np.random.default_rng(0), sizes=(3, 5, 70))


@pytest.mark.parametrize("call", ["predict", "predict_proba", "decision_function", "apply"])
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros(3), ValueError, r"two dimensions.*shape \(3,\).*reshape\(1, -1\)"),
        (np.zeros((2, 3, 1)), ValueError, "two dimensions"),
        (np.zeros((2, 4)), ValueError, "X has 4 features, but the forest was trained on 3"),
        (np.zeros((2, 0)), ValueError, "X has 0 features"),
        ([["a", "b", "c"]], ValueError, "encode other columns"),
        (np.array([["low", None, 2]], dtype=object), ValueError, "not a number.*low.*encode text"),
        ([[1, 2, 3], [4, 5]], ValueError, "not a table of numbers"),
        (np.array([[1j, 2, 3]]), ValueError, "complex128"),
        (scipy.sparse.csr_array(np.zeros((2, 3))), TypeError, r"X\.toarray\(\)"),
        (None, ValueError, r"two dimensions.*shape \(\)$"),
        (7.0, ValueError, "two dimensions"),
        (np.array([["2020-01-01"] * 3], dtype="datetime64[D]"), ValueError, "datetime64"),
    ],
)
def test_rows_that_cannot_be_read_are_refused(forest, call, X, error, message):
    with pytest.raises(error, match=message):
        getattr(forest, call)(X)


@pytest.mark.parametrize("n", [0, -1])
def test_no_tree_has_fewer_leaves_than_one(forest, n):
    with pytest.raises(ValueError, match=f"at least 1, not {n}"):
        forest.truncate(max_leaves=n)


@pytest.mark.parametrize("n", [2.5, "8", None, True])
def test_max_leaves_is_a_whole_number(forest, n):
    with pytest.raises(TypeError, match="max_leaves must be a whole number"):
        forest.truncate(max_leaves=n)


@pytest.mark.parametrize(
    ("trees", "error", "message"),
    [
        ([3], ValueError, "tree index 3 is out of range for 3 trees"),
        ([0, -4], ValueError, "tree index -4 is out of range"),
        ([], ValueError, "one or more tree indices"),
        (1, ValueError, "one or more tree indices"),
        ([0.0, 1.0], TypeError, "whole numbers, not float64"),
        ([True, False, True], TypeError, "flatnonzero"),
        (["first"], TypeError, "whole numbers"),
    ],
)
def test_only_trees_that_are_there_can_be_selected(forest, trees, error, message):
    with pytest.raises(error, match=message):
        forest.select(trees)


def test_values_and_weights_must_fit(forest):
    with pytest.raises(ValueError, match=r"shape \(3,\); this forest needs \(159, 3\)"):
        forest.with_values([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"this forest has 3 trees"):
        forest.with_weights([1.0, 2.0])
    with pytest.raises(ValueError, match="value holds numbers that are not finite"):
        forest.with_values(np.full(forest.value.shape, np.nan))


def test_sizes_that_mean_nothing_are_refused(forest):
    with pytest.raises(ValueError, match="the accounting 'paper', not 'flash'"):
        forest.size("flash")
    with pytest.raises(ValueError, match="at least 1, not 0"):
        forest.size(bytes_per_node=0)
    with pytest.raises(TypeError, match=r"whole number, not 2\.5"):
        forest.size(bytes_per_node=2.5)


def test_regression_has_no_probabilities():
    forest = random_forest(np.random.default_rng(0), sizes=(3,), n_classes=1)
    with pytest.raises(TypeError, match="for regression: use predict"):
        forest.predict_proba(np.zeros((1, 3)))
