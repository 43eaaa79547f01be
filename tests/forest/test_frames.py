"""Rows in data frames: by name, in order, and encoded where the forest knows how."""

from dataclasses import replace

import numpy as np
import pytest

from billhook.tables import EncodedColumn, Encoding
from made_up import random_forest

pandas = pytest.importorskip("pandas")

NAMES = tuple("abcdefg")


@pytest.fixture
def forest():
    return replace(random_forest(np.random.default_rng(0), sizes=(30, 5), n_features=7), feature_names=NAMES)


@pytest.fixture
def rows():
    return np.random.default_rng(1).normal(0.0, 10.0, (20, 7)).astype(np.float32)


def test_a_frame_with_the_names_in_order_is_read_as_the_array(forest, rows):
    frame = pandas.DataFrame(rows, columns=list(NAMES))
    np.testing.assert_array_equal(forest.apply(frame), forest.apply(rows))
    np.testing.assert_array_equal(forest.apply(pandas.DataFrame(rows)), forest.apply(rows))  # numbers are no names
    is_missing = np.arange(140).reshape(20, 7) % 11 == 0
    nullable = frame.astype("Float64").mask(is_missing, pandas.NA)
    np.testing.assert_array_equal(
        forest.apply(nullable), forest.apply(np.where(is_missing, np.float32(np.nan), rows))
    )


def test_columns_in_another_order_are_refused(forest, rows):
    frame = pandas.DataFrame(rows, columns=list(NAMES))
    with pytest.raises(ValueError, match=r"in another order .* use X\[list\(forest\.feature_names\)\]"):
        forest.predict(frame[list("gfedcba")])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("abcdefx", r"\(missing: 'g'; unknown: 'x'\)"),
        ("abcdef", r"\(missing: 'g'\)"),
        ("abcdefgh", r"\(unknown: 'h'\)"),
        ("abvwxyz", r"\(missing: 'c', 'd', 'e', 'f', 'g'; unknown: 'v', 'w', 'x', 'y', 'z'\)"),
        ("auvwxyz", r"'f' and 1 more; unknown: 'u', 'v', 'w', 'x', 'y' and 1 more\)"),
        ("tuvwxyz", r"'e' and 2 more; unknown: 't', 'u', 'v', 'w', 'x' and 2 more\)"),
    ],
)
def test_columns_of_other_names_are_refused_and_five_are_named(forest, columns, message):
    with pytest.raises(ValueError, match=f"not the features the forest was trained on .*{message}$"):
        forest.predict(pandas.DataFrame(np.zeros((1, len(columns))), columns=list(columns)))


def test_the_column_that_is_not_of_numbers_is_named(forest, rows):
    frame = pandas.DataFrame(rows, columns=list(NAMES)).astype({"c": object})
    frame.loc[3, "c"] = "low"
    with pytest.raises(ValueError, match="X holds something that is not a number in column 'c'"):
        forest.predict(frame)


class TestWithAnEncoding:
    @pytest.fixture
    def forest(self):
        encoding = Encoding((EncodedColumn("colour", "one_hot", ("blue", "green", "red")), EncodedColumn("age")))
        return random_forest(np.random.default_rng(3), sizes=(30, 5), n_features=4).with_encoding(encoding)

    @pytest.fixture
    def features(self):
        return np.array([[0, 1, 0, 30], [1, 0, 0, 2], [0, 0, 1, np.nan], [0, 1, 0, -7]], np.float32)

    def test_its_columns_are_encoded_in_any_order_and_others_ignored(self, forest, features):
        frame = pandas.DataFrame({"x": 0, "age": [30, 2, np.nan, -7], "colour": ["green", "blue", "red", "green"]})
        np.testing.assert_array_equal(forest.decision_function(frame), forest.decision_function(features))

    def test_an_array_or_a_frame_of_the_features_is_not_encoded(self, forest, features):
        frame = pandas.DataFrame(features, columns=list(forest.feature_names))
        np.testing.assert_array_equal(forest.decision_function(frame), forest.decision_function(features))
        np.testing.assert_array_equal(forest.decision_function(features.tolist()), forest.decision_function(features))

    def test_a_column_that_is_missing_is_named(self, forest):
        with pytest.raises(ValueError, match="age"):
            forest.predict(pandas.DataFrame({"colour": ["green"]}))

    def test_it_must_give_the_features_of_the_forest(self, forest):
        fields = {"n_features": 5, "feature_names": None}
        with pytest.raises(ValueError, match="the encoding gives 4 features; the model takes 5"):
            replace(forest, **fields)
        with pytest.raises(ValueError, match="feature_names must be those of the encoding"):
            replace(forest, feature_names=("a", "b", "c", "d"))


@pytest.mark.parametrize("categories", [("1", "2", "5"), ("blue", "green", "red")])
def test_a_frame_of_an_ordered_column_alone_holds_categories_only_where_they_may_be_meant(categories):
    # One feature of the same name as its column: a number is the place of a category, unless categories are numbers.
    encoding = Encoding((EncodedColumn("size", "ordered", categories),))
    forest = random_forest(np.random.default_rng(5), sizes=(6,), n_features=1).with_encoding(encoding)
    frame = pandas.DataFrame({"size": [1, 2]})
    place = [[0], [1]] if categories[0] == "1" else [[1], [2]]
    np.testing.assert_array_equal(forest.apply(frame), forest.apply(np.array(place, np.float32)))
    words = pandas.DataFrame({"size": list(categories[::-1])})
    np.testing.assert_array_equal(forest.apply(words), forest.apply(np.array([[2], [1], [0]], np.float32)))
