import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from billhook.forest import _check, _repr, hand_over
from made_up import random_forest


@pytest.fixture
def forest():
    return random_forest(np.random.default_rng(0), sizes=(3, 5, 70))


def test_counts(forest):
    assert (forest.n_trees, forest.n_leaves, forest.n_nodes) == (3, 4 + 6 + 71, 7 + 11 + 141)


def test_arrays_cannot_be_written_to(forest):
    for name in ("feature", "threshold", "value", "tree_weight", "classes"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(forest, name)[0] = 0


def test_a_forest_does_not_share_memory_with_what_it_was_made_of(forest):
    value = forest.value.copy()
    other = forest.with_values(value)
    value[:] = 0
    assert other == forest


def test_a_changed_value_makes_another_forest(forest):
    value = forest.value.copy()
    value[-1, -1] += 1e-9
    assert forest.with_values(value) != forest
    assert forest.with_values(forest.value) == forest
    assert forest != "a forest"


def test_weights_scale_trees(forest):
    X = np.zeros((4, 3), np.float32)
    only_first = forest.with_weights([1.0, 0.0, 0.0])
    np.testing.assert_allclose(
        only_first.decision_function(X) - forest.base,
        forest.select([0]).with_weights([1.0]).decision_function(X) - forest.base,
    )


@pytest.mark.parametrize(("n_classes", "bytes_a_node"), [(1, 21), (2, 25), (10, 57), (18, 89)])
def test_the_paper_counts_17_bytes_and_4_a_class(n_classes, bytes_a_node):
    forest = random_forest(np.random.default_rng(0), sizes=(3, 5), n_classes=n_classes)
    assert forest.size("paper") == forest.size() == (7 + 11) * bytes_a_node


def test_any_bytes_a_node_can_be_asked_for(forest):
    assert forest.size(bytes_per_node=3) == 3 * forest.n_nodes


def test_repr_says_what_it_is(forest):
    assert repr(forest) == "Forest(3 trees, 81 leaves, 3 features, 3 classes; 11 KB in memory)"
    one = random_forest(np.random.default_rng(0), sizes=(0,), n_features=1, n_classes=1)
    assert repr(one) == "Forest(1 tree, 1 leaf, 1 feature, regression; 101 bytes in memory)"
    assert _repr._bytes(1023) == "1,023 bytes"
    assert _repr._bytes(1024) == "1 KB"


def test_html_repr_is_a_table_and_escapes_names(forest):
    html = replace(forest, origin="<script>")._repr_html_()
    assert html.startswith("<table>")
    assert "<script>" not in html
    assert "81 (4 to 71 a tree)" in html
    assert "4.5 KB" in html
    alike = random_forest(np.random.default_rng(0), sizes=(5, 5))
    assert "12 (6 a tree)" in alike._repr_html_()


def test_a_pickled_forest_is_the_same_and_carries_no_tables(forest):
    before = len(pickle.dumps(forest))
    forest.predict(np.zeros((50, 3)))
    assert len(pickle.dumps(forest)) == before
    assert pickle.loads(pickle.dumps(forest)) == forest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": np.full(159, 3, np.int32)}, "a leaf must have feature, left and right -1"),
        ({"task": "ranking"}, "task must be"),
        ({"link": "exp"}, "link must be one of"),
        ({"classes": None}, "classes must be given"),
        ({"classes": np.array([1, 1, 2])}, "different labels"),
        ({"classes": np.array([1, 2])}, "do not fit 2 classes"),
        ({"classes": np.array([1.0, np.inf, 2.0])}, "finite"),
        ({"classes": np.array(["x" * 6_000_000, "y", "z"])}, "too long for so many"),
        ({"task": []}, "task must be a string, not a list"),
        ({"averages": 1}, "averages must be True or False"),
        ({"ties": "last"}, "'last' with a logistic or isolation link"),
        ({"rounding": "up"}, "'nearest' or 'down', not 'up'"),
        ({"offset": np.array([0, 2**63 - 1, -2, 159])}, "offset must rise"),
        ({"n_features": 0}, "n_features"),
        ({"n_features": 3.0}, "n_features must be a number between 1 and 2147483647, not 3.0"),
        ({"feature_names": ("a", "b")}, "feature_names must be 3 strings"),
        ({"tree_column": np.array([0, 0, 1], np.int32)}, "tree_column"),
        ({"tree_weight": np.array([0.0, np.nan, 1.0])}, "tree_weight holds numbers that are not finite"),
        ({"tree_weight": np.array([0.5, 0.5])}, "2 entries for 3 trees"),
        ({"base": np.array([0.0, np.inf, 1.0])}, "base holds numbers that are not finite"),
        ({"offset": np.array([0, 7, 7, 159])}, "offset must rise"),
        ({"offset": np.array([0, 7, 17, 159])}, "within the same tree|entries|children"),
        ({"threshold": np.zeros(159)}, "threshold must be a numpy array of float32, not an array of float64"),
        ({"value": [[1.0]]}, "value must be a numpy array of float64, not a list"),
    ],
)
def test_arrays_that_are_no_forest_are_refused(forest, change, message):
    with pytest.raises(ValueError, match=message):
        replace(forest, **change)


@pytest.mark.parametrize(
    ("name", "node", "new", "message"),
    [
        ("left", 0, 0, "come after their parent"),
        ("left", 0, 100, "within the same tree"),
        ("right", 0, -1, "a leaf must have"),
        ("left", 0, "right", "child of 2 nodes|child of 0 nodes"),
        ("growth_rank", 0, 1, "growth_rank"),
        ("growth_rank", 0, 50, "growth_rank"),
        ("feature", 0, 3, "feature must lie between 0 and 2"),
        ("threshold", 0, np.nan, "threshold holds NaN"),
        ("n_rows", 0, -1, "n_rows must not be negative"),
    ],
)
def test_children_that_form_no_trees_are_refused(forest, name, node, new, message):
    array = getattr(forest, name).copy()
    array[node] = forest.right[node] if new == "right" else new
    with pytest.raises(ValueError, match=message):
        replace(forest, **{name: array})


@pytest.mark.parametrize("remade", [lambda forest: pickle.loads(pickle.dumps(forest)), copy.deepcopy, copy.copy])
def test_a_copy_is_as_frozen_as_the_original(forest, remade):
    other = remade(forest)
    assert other == forest
    assert not any(a.flags.writeable for a in vars(other).values() if isinstance(a, np.ndarray))


def test_whoever_made_the_arrays_cannot_change_the_forest(forest):
    value = forest.value.copy()
    value.flags.writeable = False
    other = forest.with_values(value)
    value.flags.writeable = True
    value[:] = 99
    assert other == forest


def test_arrays_that_are_handed_over_are_kept_without_a_copy(forest):
    value, threshold = forest.value.copy(), np.repeat(forest.threshold, 2)[::2]
    other = replace(forest, value=hand_over(value), threshold=hand_over(threshold))
    assert other == forest
    assert type(other.value) is type(other.threshold) is np.ndarray
    assert np.shares_memory(other.value, value)
    assert not other.value.flags.writeable
    assert other.threshold.flags.c_contiguous  # which had to be copied for it


@pytest.mark.parametrize("nodes_at_once", [1, 8, 20, 10**6])
def test_trees_are_checked_however_many_go_together(forest, nodes_at_once, monkeypatch):
    monkeypatch.setattr(_check, "NODES_AT_ONCE", nodes_at_once)
    assert replace(forest) == forest
    for tree in range(forest.n_trees):
        left, root = forest.left.copy(), forest.offset[tree]
        left[root] = forest.right[root]
        with pytest.raises(
            ValueError, match=f"node {root + min(forest.left[root], forest.right[root])} is the child of"
        ):
            replace(forest, left=left)
        rank = forest.growth_rank.copy()
        rank[root] = 2
        with pytest.raises(ValueError, match="growth_rank"):
            replace(forest, growth_rank=rank)


def test_there_may_be_as_many_features_as_32_bits_number(forest):
    assert replace(forest, n_features=2**31 - 1).n_features == 2**31 - 1
    for n_features in (2**31, 0, -1):
        with pytest.raises(
            ValueError, match=f"n_features must be a number between 1 and 2147483647, not {n_features}"
        ):
            replace(forest, n_features=n_features)


def test_fields_are_kept_in_one_form(forest):
    same = replace(forest, n_features=np.int64(3), classes=[0, 10, 20], feature_names=["a", "b", "c"])
    assert same.feature_names == ("a", "b", "c")
    assert type(same.n_features) is int
    assert replace(same, feature_names=None) == forest
