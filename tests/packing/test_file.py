import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook._files import Contents, read_container, write_container

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("threshold_bits", ["exact", 8])
def test_what_is_saved_comes_back(threshold_bits, tmp_path):
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    models = [
        RandomForestClassifier(5, max_leaf_nodes=9, random_state=0).fit(frame, np.array(["a", "b", "ç"])[labels]),
        RandomForestClassifier(5, max_leaf_nodes=9, random_state=0).fit(X2, y2.astype(bool)),
        RandomForestRegressor(5, max_leaf_nodes=9, random_state=0).fit(X_n, y_n),
    ]
    for model, X in zip(models, (frame, X2, X_n), strict=True):
        packed = bh.pack(model, threshold_bits=threshold_bits)
        packed.save(tmp_path / "model.bhk")
        again = bh.load(tmp_path / "model.bhk")
        assert again == packed
        np.testing.assert_array_equal(again.predict(X), packed.predict(X))


def test_the_folder_of_a_fit_is_loaded_and_any_other_is_not(tmp_path):
    packed = bh.pack(RandomForestClassifier(5, max_leaf_nodes=9, random_state=0).fit(X3, y3))
    with pytest.raises(bh.ModelFileError, match="this is a folder"):
        bh.load(tmp_path)
    packed.save(tmp_path / "model.bhk")
    assert bh.load(tmp_path) == packed


def test_a_forest_is_loaded_as_before(tmp_path):
    forest = bh.as_forest(RandomForestClassifier(3, random_state=0).fit(X3, y3))
    forest.save(tmp_path / "forest.bhk")
    assert bh.load(tmp_path / "forest.bhk") == forest


@pytest.fixture
def contents(tmp_path):
    rf = RandomForestClassifier(4, max_leaf_nodes=9, random_state=0).fit(X3, y3)
    bh.pack(rf, threshold_bits="exact").save(tmp_path / "model.bhk")
    return read_container(tmp_path / "model.bhk")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": {}}, "a layout must have n_trees"),
        ({"layout.n_trees": -1}, "the layout has n_trees -1"),
        ({"layout.n_trees": 2**40}, "the layout has n_trees"),
        ({"layout.n_inner": 11}, "bytes; the data have"),
        ({"layout.code_bits": 40}, "the layout has code_bits 40"),
        ({"layout.grid": "table"}, "the layout has grid 'table'"),
        ({"layout.missing": "up"}, "the layout has missing 'up'"),
        ({"layout.n_features": 3}, "a feature in use is not one of"),
        ({"scale": 0.0}, "scale must be a number above 0"),
        ({"scale": "x"}, "not hold a valid packed model"),
        ({"feature_names": ["a"]}, "feature_names must be 4 strings"),
        ({"classes": None}, "task must be one of regression"),
        ({"classes": None, "task": "regression"}, "do not fit 1 classes"),
        ({"link": None, "colour": 3}, "the header of a packed model must describe"),
    ],
)
def test_a_made_up_header_is_refused(contents, change, message, tmp_path):
    meta = json.loads(json.dumps(contents.meta))
    for name, value in change.items():
        outer, _, inner = name.partition(".")
        if inner:
            meta[outer][inner] = value
        else:
            meta[outer] = value
    write_container(tmp_path / "odd.bhk", Contents("packed", meta, contents.arrays))
    with pytest.raises(bh.ModelFileError, match=message):
        bh.load(tmp_path / "odd.bhk")


def test_any_byte_may_be_wrong_and_nothing_worse_than_an_error_follows(contents, tmp_path):
    """With a checksum that fits: what a person could make up."""
    rng = np.random.default_rng(0)
    loaded = refused = 0
    for _ in range(300):
        data = contents.arrays["data"].copy()
        data[rng.integers(data.size, size=3)] = rng.integers(256, size=3)
        write_container(tmp_path / "odd.bhk", Contents("packed", contents.meta, {"data": data}))
        try:
            bh.load(tmp_path / "odd.bhk").predict(X3)
            loaded += 1
        except bh.ModelFileError:
            refused += 1
    assert loaded > 0
    assert refused > 0
