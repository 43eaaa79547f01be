import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import billhook as bh
from billhook.interop.ydf import _nodes
from made_up import IS_THOROUGH, N_ROWS

ydf = pytest.importorskip("ydf", reason="ydf is not installed: pip install 'billhook[ydf]'")
ydf.verbose(0)

RANDOM_FOREST, CART = ydf.RandomForestLearner, ydf.CartLearner
BOOSTED = ydf.GradientBoostedTreesLearner


def table(seed=0, n_rows=300):
    """Return a data frame with features of all kinds, some missing, and rare categories that no dictionary has."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n_rows).astype(np.float32),
            "colour": rng.choice(["red", "green", "blue", "rare"], n_rows, p=[0.4, 0.3, 0.29, 0.01]),
            "flag": rng.random(n_rows) < 0.5,
            "number": rng.integers(0, 20, n_rows),
            "bins": rng.normal(size=n_rows).astype(np.float32),
        }
    )
    signal = frame.x + (frame.colour == "red") + 0.7 * frame.flag + 0.5 * (frame.number > 10) + 0.4 * frame.bins
    frame.loc[rng.random(n_rows) < 0.1, ["x", "bins"]] = np.nan
    frame["colour"] = frame.colour.astype(object).where(rng.random(n_rows) > 0.1, None)
    return frame, signal.to_numpy()


FEATURES = ["x", "colour", "flag", "number", ydf.Feature("bins", ydf.Semantic.DISCRETIZED_NUMERICAL)]
TASKS = {
    "two classes": (ydf.Task.CLASSIFICATION, lambda signal: np.where(signal > 1.2, "yes", "no")),
    "three classes": (ydf.Task.CLASSIFICATION, lambda signal: np.digitize(signal, [0.5, 1.5])),
    "regression": (ydf.Task.REGRESSION, lambda signal: signal),
}


def trained(learner, task="two classes", features=FEATURES, seed=0, **options):
    frame, signal = table(seed)
    kind, labels = TASKS[task]
    return learner(label="y", task=kind, features=features, **options).train(frame.assign(y=labels(signal)))


def coded(frame, model):
    """Return the features as numbers, with the numbers of the categories in the model's dictionary."""
    spec = next(column for column in model.data_spec().columns if column.name == "colour")
    number = {name: item.index for name, item in spec.categorical.items.items()}
    colour = [np.nan if pd.isna(name) else number.get(name, 0) for name in frame.colour]
    return frame.assign(colour=colour)[model.input_feature_names()].to_numpy(np.float32)


def assert_same(forest, model, rows, frame):
    """Check that the forest predicts for rows what the model does for the frame, and by the same leaves."""
    expected = model.predict(frame, use_slow_engine=True)
    labels = np.resize(table()[1], len(frame)) if forest.classes is None else "no"  # any will do
    leaves = model.predict_leaves(frame.assign(y=labels))
    is_leaf, numbers = forest.feature < 0, forest.apply(rows)
    for tree in range(forest.n_trees):
        own = np.flatnonzero(is_leaf[forest.offset[tree] : forest.offset[tree + 1]])
        np.testing.assert_array_equal(np.searchsorted(own, numbers[:, tree]), leaves[:, tree])
    # It adds in float32.
    if forest.classes is None:
        np.testing.assert_allclose(forest.predict(rows), expected, rtol=1e-5, atol=1e-5)
        return
    ours = forest.predict_proba(rows)
    np.testing.assert_allclose(ours[:, 1] if expected.ndim == 1 else ours, expected, atol=1e-6)
    first, second = np.sort(ours, axis=1)[:, [-1, -2]].T
    clear = first - second > 1e-6
    classes = model.predict_class(frame, use_slow_engine=True)
    assert (forest.predict(rows) == classes)[clear].all()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (RANDOM_FOREST, {"num_trees": 7}),
        (RANDOM_FOREST, {"num_trees": 7, "winner_take_all": False}),
        (RANDOM_FOREST, {"num_trees": 4, "pure_serving_model": True}),
        (CART, {}),
        (BOOSTED, {"num_trees": 7}),
        (BOOSTED, {"num_trees": 7, "growing_strategy": "BEST_FIRST_GLOBAL"}),
        (BOOSTED, {"num_trees": 7, "forest_extraction": "DART", "dart_dropout": 0.5}),
    ],
)
def test_models_are_read_and_take_data_frames(learner, options, task):
    if task == "regression":
        options = {name: value for name, value in options.items() if name != "winner_take_all"}
    model = trained(learner, task, **options)
    forest = bh.as_forest(model)
    frame = table()[0]
    assert_same(forest, model, frame, frame)
    assert_same(forest, model, coded(frame, model), frame)
    assert forest.classes is None or forest.classes.tolist() == model.label_classes()
    assert (forest.n_rows[forest.offset[:-1]] > 0).all()
    assert forest.origin == f"ydf.{type(model).__name__}"


@st.composite
def models(draw):
    """A small model with any options that matter to its splits."""
    task = draw(st.sampled_from(list(TASKS)))
    options = {
        "max_depth": draw(st.integers(1, 7)),
        "min_examples": draw(st.sampled_from([1, 5])),
        "missing_value_policy": draw(st.sampled_from(["GLOBAL_IMPUTATION", "LOCAL_IMPUTATION"])),
        "allow_na_conditions": draw(st.booleans()),
    }
    if task == "two classes":
        options["categorical_algorithm"] = draw(st.sampled_from(["CART", "RANDOM"]))
    learner = draw(st.sampled_from([RANDOM_FOREST, BOOSTED, CART]))
    if learner is not CART:
        options["num_trees"] = draw(st.integers(1, 3))
    return trained(learner, task, seed=draw(st.integers(0, 2**32)), **options)


# Fewer than the profile has, as each trains a model.
@settings(
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=settings.default.max_examples * (3 if IS_THOROUGH else 2) // 6,
)
@given(models(), st.integers(0, 2**32))
def test_every_row_falls_into_the_leaf_it_falls_into_in_ydf(model, seed):
    forest = bh.as_forest(model)
    rng = np.random.default_rng(seed)
    frame = {}
    n_rows = max(100, 3 * N_ROWS)  # there are fewer models
    for column, name in enumerate(["x", "colour", "flag", "number", "bins"]):
        own = forest.threshold[(forest.feature == column) & (forest.category_set < 0)]
        beside = [np.nextafter(own, np.float32(np.inf)), np.nextafter(own, np.float32(-np.inf))]
        odd = np.array([0, -0.0, 1e-45, -1e-45, 3e38, np.inf, -np.inf, np.nan], np.float32)
        frame[name] = rng.choice(np.concatenate([own, *beside, odd]).astype(np.float32), n_rows)
    frame["flag"] = rng.random(n_rows) < 0.5
    frame["number"] = rng.integers(-5, 25, n_rows)
    frame["colour"] = rng.choice(np.array(["red", "green", "blue", "rare", "unseen", None], object), n_rows)
    frame = pd.DataFrame(frame)
    assert_same(forest, model, coded(frame, model), frame)
    if forest.encoding is not None:
        assert_same(forest, model, frame, frame)


def test_a_model_that_tells_unknown_from_missing_takes_no_frame():
    frame, _ = table()
    labels = np.where(frame.colour.isna(), "yes", "no")
    model = CART(label="y", features=["colour"], allow_na_conditions=True).train(frame.assign(y=labels))
    forest = bh.as_forest(model)
    assert_same(forest, model, coded(frame, model), frame)
    assert (forest.predict(coded(frame, model)) == labels).all()
    with pytest.raises(ValueError, match=r"missing: 'colour \(number\)'; unknown: "):
        forest.predict(frame)


def test_counts_and_ranking_are_read():
    frame, signal = table()
    rng = np.random.default_rng(0)
    counts = frame.assign(y=rng.poisson(np.exp(signal / 3)).astype(float))
    model = BOOSTED(label="y", task=ydf.Task.REGRESSION, loss="POISSON", num_trees=4, features=FEATURES).train(counts)
    assert bh.as_forest(model).link == "exp"
    np.testing.assert_allclose(bh.as_forest(model).predict(frame), model.predict(frame), rtol=1e-5)
    ranked = frame.assign(y=np.digitize(signal, [0.5, 1.5]).astype(float), group=np.arange(len(frame)) // 30)
    model = BOOSTED(label="y", task=ydf.Task.RANKING, ranking_group="group", num_trees=4, features=FEATURES).train(
        ranked
    )
    expected = model.predict(ranked.drop(columns="y"))
    np.testing.assert_allclose(bh.as_forest(model).predict(frame), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("node_format", ["BLOB_SEQUENCE", "BLOB_SEQUENCE_GZIP"])
def test_a_saved_folder_is_read(tmp_path, node_format):
    model = trained(BOOSTED, num_trees=3)
    model.set_node_format(ydf.NodeFormat[node_format])
    model.save(str(tmp_path / "model"))
    assert bh.load(tmp_path / "model") == bh.as_forest(model)


def test_pruned_refined_merged_and_packed():
    frame, signal = table()
    y = np.where(signal > 1.2, "yes", "no")
    numeric = ["x", "flag", "number", "bins"]
    model = trained(RANDOM_FOREST, features=numeric, num_trees=8, max_depth=5)
    rows = frame[numeric].to_numpy(np.float32)
    forest = bh.prune(bh.as_forest(model), rows, y, n_trees=5).truncate(max_leaves=8)
    merged = bh.merge(bh.refine(forest, rows, y, epochs=1), rows, y, max_leaves=32)
    assert (merged.predict(rows) == y).mean() > 0.75
    packed = bh.pack(forest, X=rows)
    assert (packed.predict(rows) == forest.predict(rows)).mean() > 0.99


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: trained(BOOSTED, num_trees=2, split_axis="SPARSE_OBLIQUE", features=["x", "number"]),
            "does not read oblique splits, .*: train with split_axis='AXIS_ALIGNED'",
        ),
        (
            lambda: ydf.IsolationForestLearner(features=["x"], num_trees=2).train(table()[0]),
            "does not read ydf's ISOLATION_FOREST: it reads RANDOM_FOREST, GRADIENT_BOOSTED_TREES",
        ),
        (lambda: BOOSTED(label="y"), "cannot read ydf's GradientBoostedTreesLearner; pass a model"),
        (
            lambda: CART(label="y", features=[ydf.Feature("words", ydf.Semantic.CATEGORICAL_SET)]).train(
                {"words": [["a", "b"], ["a"], ["b"]] * 20, "y": ["u", "v", "v"] * 20}
            ),
            "the feature 'words' has the semantic CATEGORICAL_SET; .*: train without it",
        ),
        (
            lambda: CART(
                label="y",
                features=[ydf.Feature("many", ydf.Semantic.CATEGORICAL, min_vocab_frequency=1, max_vocab_count=-1)],
            ).train(
                {"many": np.array([f"c{number}" for number in range(6000)]), "y": np.array(["u", "v", "v"] * 2000)}
            ),
            "'many' has 6,001 categories, .* are encoded with up to 4,096: train with max_vocab_count=4095",
        ),
    ],
)
def test_what_is_not_known_is_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        bh.as_forest(make())


@pytest.mark.parametrize("column", [0, 4, 9])
def test_splits_test_the_features_of_their_columns_and_no_other_column(column):
    assert _nodes._places(np.array([3, 5, 1, 3]), [5, 1, 3]).tolist() == [2, 0, 1, 2]
    with pytest.raises(bh.ModelFileError, match="a split tests a column that is no feature of the model"):
        _nodes._places(np.array([3, column]), [5, 1, 3])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return the folder of a model, and another for damaged copies of it."""
    folder = tmp_path_factory.mktemp("ydf")
    trained(RANDOM_FOREST, num_trees=2, max_depth=4).save(str(folder / "whole"))
    shutil.copytree(folder / "whole", folder / "damaged")
    return folder / "whole", folder / "damaged"


def test_a_folder_that_lacks_a_file_or_is_no_model_is_refused(tmp_path, folders):
    with pytest.raises(bh.ModelFileError, match="a folder, and none that ydf saved a model to"):
        bh.load(tmp_path)
    for name in ("header.pb", "random_forest_header.pb", "nodes-00000-of-00001"):
        copied = tmp_path / name
        shutil.copytree(folders[0], copied)
        (copied / name).unlink()
        with pytest.raises(bh.ModelFileError, match=f"the file {name} is missing"):
            bh.load(copied)
    shutil.copytree(folders[0], tmp_path / "other")
    (tmp_path / "other" / "nodes-00000-of-00001").write_bytes(b"RIO\0\0\0\0\0\0\0")
    with pytest.raises(bh.ModelFileError, match="is no blob sequence: load the model with ydf, and save it again"):
        bh.load(tmp_path / "other")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_folder_is_a_model_or_refused(folders, data):
    whole, damaged = folders
    names = ["header.pb", "data_spec.pb", "random_forest_header.pb", "nodes-00000-of-00001"]
    name = data.draw(st.sampled_from(names))
    content = (whole / name).read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    changed = content[:place] + bytes([data.draw(st.integers(0, 255))]) + content[place + 1 :]
    (damaged / name).write_bytes(content[:place] if data.draw(st.booleans()) else changed)
    try:
        forest = bh.load(damaged)
        forest.predict(np.zeros((2, forest.n_features), np.float32))
    except bh.ModelFileError:
        pass
    finally:
        (damaged / name).write_bytes(content)
