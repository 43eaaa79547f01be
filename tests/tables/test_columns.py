import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook._files import Contents, read_container, write_container
from billhook.tables import Categorical, EncodedColumn, Encoding

X, y = load_iris(return_X_y=True)
NUMBER = EncodedColumn("size")
HOT = EncodedColumn("colour", "one_hot", ("blue", "red"))
ORDERED = EncodedColumn("grade", "ordered", ("low", "mid", "hïgh"))
ENCODING = Encoding((HOT, NUMBER, ORDERED))
COLUMNS = {
    "size": np.array([1.5, np.nan, 3, 4], np.float32),
    "colour": Categorical(np.array([0, 1, 2, -1], np.int32), ("red", "green", "blue")),
    "grade": Categorical(np.array([-1, 0, 1, 2], np.int32), ("mid", "new", "low")),
    "other": Categorical(np.zeros(4, np.int32), ("x",)),
}
NAN = np.nan


@pytest.fixture
def packed():
    return bh.pack(RandomForestClassifier(3, max_leaf_nodes=6, random_state=0).fit(X, y))


def test_missing_and_unknown_categories_are_zeros_or_nan():
    expected = [[0, 1, 1.5, NAN], [0, 0, NAN, 1], [1, 0, 3, NAN], [0, 0, 4, 0]]
    np.testing.assert_array_equal(ENCODING.apply(COLUMNS), np.array(expected, np.float32))
    assert ENCODING.feature_names == ("colour=blue", "colour=red", "size", "grade")
    assert ENCODING.categorical == {"colour", "grade"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": COLUMNS["other"]}, "'size' holds text, and the model was trained on numbers"),
        ({"grade": COLUMNS["size"]}, "'grade' holds numbers, and the model was trained on categories"),
        ({"size": np.zeros(3, np.float32)}, "'size' has 3 rows; others have 4"),
    ],
)
def test_columns_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        ENCODING.apply(COLUMNS | change)
    with pytest.raises(ValueError, match="lacks the column 'grade'"):
        ENCODING.apply({name: COLUMNS[name] for name in ("size", "colour")})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), "must have columns"),
        ((NUMBER, NUMBER), "more than one column 'size'"),
        ((EncodedColumn(3),), "must have a name"),
        ((EncodedColumn("a", "text", ("x",)),), "'a' has kind 'text'; known are number, one_hot, ordered"),
        ((EncodedColumn("a", "number", ("x",)),), "'a', kind number, has 1 categories, not 0 to 0"),
        ((EncodedColumn("a", "ordered"),), "kind ordered, has 0 categories, not 1 to 4096"),
        ((EncodedColumn("a", "one_hot", tuple(map(str, range(4097)))),), "has 4097 categories"),
        ((EncodedColumn("a", "one_hot", ("x", "x")),), "'a' has a category twice"),
        ((EncodedColumn("a", "one_hot", ("x", 3)),), "categories of column 'a' must be strings"),
    ],
)
def test_an_encoding_is_checked(packed, columns, message):
    with pytest.raises(ValueError, match=message):
        packed.with_encoding(Encoding(columns))


def test_an_encoding_is_saved_with_the_model(packed, tmp_path):
    encoded = packed.with_encoding(ENCODING)
    assert encoded.feature_names == ENCODING.feature_names
    assert (packed.encoding, packed.feature_names) == (None, None)
    encoded.save(tmp_path / "model.bhk")
    again = bh.load(tmp_path / "model.bhk")
    assert again == encoded
    assert again != packed
    np.testing.assert_array_equal(again.predict(ENCODING.apply(COLUMNS)), packed.predict(ENCODING.apply(COLUMNS)))
    with pytest.raises(ValueError, match="the encoding gives 1 features; the model takes 4"):
        packed.with_encoding(Encoding((NUMBER,)))


def test_a_file_without_an_encoding_has_no_word_of_it(packed, tmp_path):
    packed.save(tmp_path / "model.bhk")
    assert "encoding" not in read_container(tmp_path / "model.bhk").meta


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (3, "a name, a kind and categories for each column"),
        ([["size", "number"]], "a name, a kind and categories for each column"),
        ([["size", "number", None]], "categories of an encoded column must be a list"),
        ([["size", "number", []]], "the encoding gives 1 features; the model takes 4"),
        ([["size", ["number"], []]], "has kind"),
        ([["size", "one_hot", [["a"], ["b"]]]], "must be strings"),
        ([["c", "one_hot", ["a", "b", "c", "d"]]], "feature_names must be those of the encoding"),
        ([[None, "number", []]], "must have a name"),
    ],
)
def test_a_made_up_encoding_in_a_file_is_refused(packed, encoding, message, tmp_path):
    packed.with_encoding(ENCODING).save(tmp_path / "model.bhk")
    contents = read_container(tmp_path / "model.bhk")
    meta = json.loads(json.dumps(contents.meta)) | {"encoding": encoding}
    write_container(tmp_path / "odd.bhk", Contents("packed", meta, contents.arrays))
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(tmp_path / "odd.bhk")
