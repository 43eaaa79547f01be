"""Labels, targets and weights, as callers give them."""

from dataclasses import replace

import numpy as np
import pytest

from billhook._files import ModelFileError
from billhook.forest import _load, as_targets, as_weights, labels_from_json
from made_up import random_forest


@pytest.fixture
def forest():
    return random_forest(np.random.default_rng(0), sizes=(3,))


@pytest.fixture
def regression():
    return random_forest(np.random.default_rng(0), sizes=(3,), n_classes=1)


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (np.array([20, 0, 10]), np.array([0, 20, 20, 10])),
        (np.array([20, 0, 10]), np.array([10.0, 20.0])),
        (np.array(["b", "a", "c"]), np.array(["a", "b", "c", "b"])),
        (np.array(["b", "a", "c"]), np.array(["c", "b"], object)),
        (np.array([0.5, 1.5, -1.0]), [1.5, -1.0, 0.5]),
        (np.array(["b", "a", "c"]), []),
    ],
)
def test_labels_become_the_numbers_of_their_classes(forest, classes, labels):
    numbers = as_targets(labels, replace(forest, classes=classes))
    assert numbers.dtype == np.int64
    assert classes[numbers].tolist() == list(labels)


def test_missing_labels_are_counted(forest):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"^y holds 4 missing labels$"):
        as_targets(np.array([0, None, 10, pandas.NA, np.nan, pandas.NaT], object), forest)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 7], "y holds labels that the forest does not know: 7; it knows 0, 10, 20"),
        (["0", "10"], "y holds labels that the forest does not know: '0', '10'; it knows 0, 10, 20"),
        ([1, 2, 3, 4, 5, 6, 1], "y holds labels that the forest does not know: 1, 2, 3, 4, 5; it knows 0, 10, 20"),
        ([[0], [10]], r"y must have one dimension, not shape \(2, 1\)"),
        (0, r"y must have one dimension, not shape \(\)"),
    ],
)
def test_labels_that_the_forest_does_not_know_are_refused(forest, labels, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        as_targets(labels, forest)


@pytest.mark.parametrize(("n_classes", "end"), [(10, ""), (11, r" \.\.\.")])
def test_ten_classes_are_named_at_most(n_classes, end):
    forest = random_forest(np.random.default_rng(0), sizes=(3,), n_classes=n_classes)
    with pytest.raises(ValueError, match=f"it knows 0, 10, 20, 30, 40, 50, 60, 70, 80, 90{end}$"):
        as_targets([5], forest)


def test_targets_are_numbers(regression):
    targets = as_targets([1, 2.5, True], regression)
    assert targets.dtype == np.float64
    assert targets.tolist() == [1.0, 2.5, 1.0]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["low", "high"], "y must be a list of numbers"),
        ([1, None, [2]], "y must be a list of numbers"),
        ([[1.0], [2.0]], r"y must be a list of numbers, not of shape \(2, 1\)"),
        ([1.0, np.nan, np.inf, -np.inf], "y holds 3 numbers that are missing or infinite"),
    ],
)
def test_targets_that_are_no_list_of_numbers_are_refused(regression, targets, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        as_targets(targets, regression)


def test_weights_are_a_new_array():
    given = np.array([0.0, 1.0, 2.5])
    weight = as_weights(given, 3)
    assert weight.tolist() == [0.0, 1.0, 2.5]
    assert not np.shares_memory(weight, given)
    assert as_weights([1, 0], 2).dtype == np.float64


@pytest.mark.parametrize(
    "weights", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, np.nan, 2.0], [1.0, np.inf, 2.0], [3, 2, -1], [0, 0, 0]]
)
def test_weights_that_mean_nothing_are_refused(weights):
    with pytest.raises(ValueError, match="sample_weight must be 3 finite numbers, none negative and not all zero"):
        as_weights(weights, 3)


@pytest.mark.parametrize(
    ("dtype", "labels"),
    [
        ("<i8", [3, -1]),
        ("|u1", [0, 255]),
        ("<f4", [0.5, 2.0]),
        ("|b1", [False, True]),
        ("|O", ["a", 1]),
        ("<U1", ["ab", "c"]),
    ],
)
def test_stored_labels_have_the_type_that_they_had(dtype, labels):
    read = labels_from_json({"dtype": dtype, "labels": labels})
    assert read.tolist() == labels
    assert read.dtype == (np.dtype("<U2") if dtype == "<U1" else np.dtype(dtype))


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"dtype": "<c8", "labels": [1]}, "classes have dtype '<c8'"),
        ({"dtype": "<i16", "labels": [1]}, "classes have dtype '<i16'"),
        ({"dtype": "<f", "labels": [1]}, "classes have dtype '<f'"),
        ({"dtype": ",i8", "labels": [1]}, "classes have dtype ',i8'"),
        ({"dtype": "<i,", "labels": [1]}, "classes have dtype '<i,'"),
        ({"dtype": "O", "labels": [1]}, "classes have dtype 'O'"),
        ({"dtype": 3, "labels": [1]}, "classes have dtype 3"),
        ({"dtype": "<i8", "labels": "ab"}, "classes must have dtype and labels"),
        ({"dtype": "<i8"}, "classes must have dtype and labels"),
        ([1, 2], "classes must have dtype and labels"),
        ({"dtype": "<i8", "labels": [None]}, "class labels must be strings, numbers or booleans"),
        ({"dtype": "<i1", "labels": [300]}, "class labels do not fit '<i1'"),
    ],
)
def test_stored_labels_of_other_kinds_are_refused(stored, message):
    with pytest.raises(ModelFileError, match=message):
        labels_from_json(stored)


def test_stored_labels_take_no_more_memory_than_they_may(monkeypatch):
    monkeypatch.setattr(_load, "MAX_LABEL_BYTES", 400)
    labels = ["x" * 10, *"abcdefghi"]
    assert labels_from_json({"dtype": "<U1", "labels": labels}).tolist() == labels
    with pytest.raises(ModelFileError, match="the longest class label is too long for so many classes"):
        labels_from_json({"dtype": "<U1", "labels": ["x" * 11, *labels[1:]]})
    with pytest.raises(ModelFileError, match="the longest class label is too long for so many classes"):
        labels_from_json({"dtype": "<U1", "labels": [*labels, "j"]})
