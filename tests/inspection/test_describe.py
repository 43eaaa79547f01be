"""`describe`: what a model is, counted again in other ways."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestClassifier
from sklearn.metrics import accuracy_score

import billhook as bh
from billhook.inspection import byte_parts
from billhook.inspection._gain import feature_gains
from billhook.tables import EncodedColumn, Encoding
from made_up import random_forest, symmetric_forest
from pages import HOSTILE, Reader, check_loads_nothing


def gain_of(model, n_features):
    """Return the gain of each feature by its number."""
    return feature_gains(bh.as_forest(model))[0][:n_features]


@pytest.mark.parametrize(
    ("load", "estimator"),
    [
        (load_iris, RandomForestClassifier(6, random_state=0)),
        (load_breast_cancer, RandomForestClassifier(6, max_depth=4, class_weight="balanced", random_state=0)),
        (load_diabetes, ExtraTreesRegressor(6, max_depth=5, random_state=0)),
        (load_diabetes, GradientBoostingRegressor(n_estimators=8, random_state=0)),
    ],
    ids=["random forest", "weighted", "extra trees", "boosting"],
)
def test_gains_are_the_importances_of_scikit_learn(load, estimator):
    X, y = load(return_X_y=True)
    estimator.fit(X, y)
    np.testing.assert_allclose(gain_of(estimator, X.shape[1]), estimator.feature_importances_, atol=1e-6)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_gains_on_rows_are_those_of_a_naive_walk(n_classes):
    rng = np.random.default_rng(n_classes)
    forest = random_forest(rng, (1, 4, 9), n_classes=n_classes)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    expected = np.zeros(3)
    leaves = forest.apply(X)
    for tree in range(forest.n_trees):
        nodes = range(forest.offset[tree], forest.offset[tree + 1])
        first, gains = forest.offset[tree], np.zeros(3)
        below = {node: {int(node - first)} for node in nodes}
        for node in reversed(nodes):  # the leaves below each node
            if forest.feature[node] >= 0:
                below[node] = below[first + forest.left[node]] | below[first + forest.right[node]]
        for node in nodes:
            if forest.feature[node] < 0:
                continue
            sides = []
            for child in (forest.left[node], forest.right[node]):
                there = np.isin(leaves[:, tree], list(below[first + child]))
                sides.append(forest.value[first + leaves[there, tree].astype(int)])
            both = np.concatenate(sides)
            within = sum(np.square(side - side.mean(axis=0)).sum() for side in sides if len(side))
            total = np.square(both - both.mean(axis=0)).sum() if len(both) else 0.0
            gains[forest.feature[node]] += total - within
        expected += gains / gains.sum() if gains.sum() > 0 else 0
    np.testing.assert_allclose(feature_gains(forest, X)[0], expected / expected.sum(), atol=1e-9)


def test_without_rows_each_side_of_a_split_has_half():
    forest = bh.pack(random_forest(np.random.default_rng(0), (5, 9))).to_forest()
    gains, basis = feature_gains(forest)
    assert basis == "halves"
    assert gains.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(6))
def test_the_parts_are_all_the_bytes(seed):
    rng = np.random.default_rng(seed)
    forests = [random_forest(rng, (3, 8, 20), 5, 1 + seed % 3), symmetric_forest(rng, (1, 3, 2))]
    for forest in forests:
        for options in ({}, {"threshold_bits": "exact"}, {"leaf_bits": 4}):
            packed = bh.pack(forest, **options)
            assert sum(part.nbytes for part in byte_parts(packed)) == packed.nbytes


def test_a_column_that_alone_decides_loses_what_chance_does_not_guess():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 3)).astype(np.float32)
    y = (X[:, 1] > 0).astype(int)
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=2, max_features=None, random_state=0).fit(X, y))
    description = bh.describe(forest, X, y, n_repeats=3)
    assert [use.name for use in description.columns] == ["feature 1"]
    assert description.columns[0].permutation == pytest.approx(0.5, abs=0.03)
    assert description.measures["accuracy"] == accuracy_score(y, forest.predict(X))
    assert (description.n_columns, description.columns[0].gain) == (3, pytest.approx(1.0))


def test_features_of_a_categorical_column_count_together():
    rng = np.random.default_rng(0)
    X = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 300)]
    y = X.argmax(axis=1)
    encoding = Encoding((EncodedColumn("colour", "one_hot", ("blue", "green", "red")),))
    forest = bh.as_forest(RandomForestClassifier(4, random_state=0).fit(X, y)).with_encoding(encoding)
    description = bh.describe(forest, X, y, trees=(0,))
    [use] = description.columns
    assert (use.name, use.gain) == ("colour", pytest.approx(1.0))
    assert use.n_splits == np.count_nonzero(forest.feature >= 0)
    # A third of the cells stays what it was by chance.
    assert use.permutation == pytest.approx(2 / 3, abs=0.05)
    assert description.trees[0].startswith("colour is ")


def drawn_answer(text, row):
    """Return the leaf that a drawn tree leads a row to, a dict of numbers by column."""
    lines = text.splitlines()
    at, depth = 0, 0
    while "?" in lines[at]:
        question = lines[at][4 * depth :].removeprefix("yes: ").removeprefix("no: ").rstrip("?")
        name, threshold = question.split(" <= ")
        or_missing = threshold.endswith(" (or missing)")
        value = row[name]
        is_yes = or_missing if np.isnan(value) else value <= float(threshold.removesuffix(" (or missing)"))
        depth += 1
        mark = ("|-- yes: " if is_yes else "`-- no: ").rjust(4 * depth)
        at = next(k for k in range(at + 1, len(lines)) if lines[k][4 * (depth - 1) :].startswith(mark.strip(" ")))
    return lines[at][4 * depth :].removeprefix("yes: ").removeprefix("no: ")


@pytest.mark.parametrize("seed", range(4))
def test_a_drawn_tree_answers_as_the_tree_does(seed):
    rng = np.random.default_rng(seed)
    thresholds = np.array([0.0, 1.0, 0.25, -0.5], np.float32)
    forest = random_forest(rng, (12,), n_classes=1, thresholds=thresholds)
    text = bh.describe(forest, trees=(0,)).trees[0]
    X = rng.choice([-1.0, 0.0, 0.5, 2.0, np.nan], (50, 3)).astype(np.float32)
    leaves = forest.apply(X)[:, 0]
    for row, leaf in zip(X, leaves, strict=True):
        named = {f"feature {k}": value for k, value in enumerate(row)}
        assert drawn_answer(text, named) == f"{forest.value[leaf, 0]:.4g}"


def test_a_large_tree_is_cut_and_says_how_much_is_below():
    forest = random_forest(np.random.default_rng(0), (200,), n_classes=1)
    text = bh.describe(forest, trees=(-1,), max_depth=2).trees[-1]
    cut = [int(line.split("... ")[1].split(" ")[0]) for line in text.splitlines() if "... " in line]
    whole = [line for line in text.splitlines() if "?" not in line and "..." not in line]
    assert sum(cut) + len(whole) == 201
    assert "... " in bh.describe(forest, trees=(0,)).trees[0]


def test_ordered_categories_are_named():
    encoding = Encoding((EncodedColumn("size", "ordered", ("s", "m", "l", "xl")), EncodedColumn("w")))
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 200), rng.normal(size=200)]).astype(np.float32)
    for y, question in (
        (X[:, 0] > 0, "size is s?"),
        (X[:, 0] > 1, "size in {s, m}?"),
        (X[:, 0] > 2, "size is xl?"),
    ):
        rf = RandomForestClassifier(1, max_leaf_nodes=2, max_features=None, bootstrap=False).fit(X, y)
        forest = bh.as_forest(rf).with_encoding(encoding)
        assert bh.describe(forest, trees=(0,)).trees[0].splitlines()[0].replace(" (or missing)", "") == question


@pytest.fixture(scope="module")
def iris():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    return bh.pack(RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(frame, y)), frame, y


def test_a_page_says_what_the_description_does_and_loads_nothing(iris, tmp_path):
    packed, frame, y = iris
    description = bh.describe(packed, frame, y, trees=(0,))
    description.save(tmp_path / "model.html", title=HOSTILE)
    html = (tmp_path / "model.html").read_text()
    read = Reader(html)
    check_loads_nothing(read)
    assert read.all("h1")[0]["text"] == HOSTILE
    for part in description.parts:
        assert f"{part.name}{part.nbytes:,}" in read.section("parts")
    for use in description.columns:
        assert use.name in read.section("columns")
    assert description.trees[0] in read.section("tree-0")


def test_a_notebook_shows_the_parts_the_columns_and_the_targets(iris):
    packed, _, _ = iris
    html = packed._repr_html_()
    read = Reader(html)
    assert html == bh.describe(packed)._repr_html_()
    text = "".join(table["text"] for table in read.all("table"))
    for words in ("Bytes by part", "leaves", "petal width (cm)", "all 23 targets", f"{packed.nbytes} (without"):
        assert words in text


def test_a_forest_is_described_as_it_would_be_packed():
    forest = random_forest(np.random.default_rng(0))
    description = bh.describe(forest)
    assert description.nbytes == bh.pack(forest).nbytes
    assert "as pack and emit do by default" in description.notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trees": (3,)}, "there is no tree 3: the model has 3 trees, numbers 0 to 2"),
        ({"trees": (0,), "max_depth": 0}, "max_depth must be at least 1, not 0"),
        ({"y": [1]}, "y holds labels of rows: give X too"),
        ({"X": np.zeros((2, 4)), "y": [0]}, "X has 2 rows, and y is of shape"),
        ({"X": np.zeros((2, 4)), "y": [0, 7]}, "labels that the forest does not know: 7"),
        ({"X": np.zeros((2, 3))}, "X has 3 features, but the forest was trained on 4"),
        ({"X": np.zeros((1, 4)), "y": [0], "n_repeats": 0}, "n_repeats must be at least 1"),
    ],
)
def test_what_cannot_be_described_is_refused(iris, options, message):
    with pytest.raises(ValueError, match=message):
        bh.describe(iris[0], **options)
