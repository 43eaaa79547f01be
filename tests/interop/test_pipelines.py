"""A Forest read from a pipeline answers, on raw rows, as the pipeline does."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import billhook as bh
from billhook.forest import as_rows
from billhook.tables import features_of, read_features
from compiled import compiled
from made_up import IS_THOROUGH, N_ROWS

SCALERS = {
    "standard": StandardScaler(),
    "without mean": StandardScaler(with_mean=False),
    "min-max": MinMaxScaler(),
    "min-max, clipped": MinMaxScaler((-2, 3), clip=True),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "power": PowerTransformer(),
    "quantile": QuantileTransformer(n_quantiles=30, random_state=0),
    "quantile, normal": QuantileTransformer(n_quantiles=30, output_distribution="normal", random_state=0),
    "bins": KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    "one-hot bins": KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform"),
    "sparse bins": KBinsDiscretizer(4, encode="onehot", strategy="uniform"),
    "imputer": SimpleImputer(),
    "imputer with indicator": SimpleImputer(strategy="median", add_indicator=True),
    "none": FunctionTransformer(),
}
MODELS = {
    "random forest": RandomForestClassifier(4, max_leaf_nodes=20, random_state=0),
    "extra trees": ExtraTreesClassifier(4, max_leaf_nodes=20, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=8, min_samples_leaf=5),
}


def numbers(rng, n_rows=200):
    """Return columns of very different scales."""
    X = rng.normal(size=(n_rows, 4)).astype(np.float32)
    X[:, 1] = np.exp(2 * X[:, 1]) * 1000
    X[:, 2] = rng.integers(0, 6, n_rows)
    X[:, 3] += 1e5
    return X


def rows_near(rng, forest, X, n_rows=300, missing=0.0):
    """Return rows of the data, on the thresholds of the forest, and one float beside them."""
    rows = np.empty((n_rows, X.shape[1]), np.float32)
    for column in range(X.shape[1]):
        on = forest.threshold[(forest.feature == column) & (forest.category_set < 0)]
        on = on[np.isfinite(on)]
        beside = [np.nextafter(on, np.float32(end)) for end in (-np.inf, np.inf)]
        ends = np.array([0.0, -0.0, 1e-45, -1e-45, 3e37, -3e37], np.float32)
        rows[:, column] = rng.choice(np.concatenate([X[:, column], on, *beside, ends]), n_rows)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def assert_same_answers(pipeline, forest, rows):
    given_ = rows.astype(np.float64) if isinstance(rows, np.ndarray) else rows
    if is_classifier(pipeline):
        np.testing.assert_allclose(forest.predict_proba(rows), pipeline.predict_proba(given_), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(forest.predict(rows), pipeline.predict(given_))


def read_and_compare(pipeline, X, y, rng, missing=0.0):
    pipeline.fit(X.astype(np.float64), y)
    forest = bh.as_forest(pipeline)
    assert forest.n_features == X.shape[1]
    rows = rows_near(rng, forest, X, missing=missing)
    try:
        pipeline.predict(rows.astype(np.float64))
    except (ValueError, RuntimeWarning):  # beyond what a power of it can be
        rows = np.clip(rows, -1e9, 1e9)
    assert_same_answers(pipeline, forest, rows)
    return forest


@pytest.mark.filterwarnings("ignore:.*Bins whose width are too small")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_steps_before_a_model_fold_into_its_thresholds(scaler, model):
    if scaler == "sparse bins" and model == "histogram boosting":
        return  # which takes no sparse matrix
    rng = np.random.default_rng(0)
    X = numbers(rng)
    y = (X[:, 0] + np.log(X[:, 1]) > 7) ^ (rng.random(200) < 0.1)
    missing = 0.1 if "imputer" in scaler else 0.0
    X[rng.random(X.shape) < missing] = np.nan
    pipeline = make_pipeline(clone(SCALERS[scaler]), clone(MODELS[model]))
    forest = read_and_compare(pipeline, X, y, rng, missing=missing)
    if "bins" not in scaler:  # one for each bin may take several splits
        assert forest.n_nodes == bh.as_forest(pipeline[-1]).n_nodes


@settings(max_examples=settings.default.max_examples * (5 if IS_THOROUGH else 1) // 6)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(sorted(set(SCALERS) - {"sparse bins"})), min_size=1, max_size=3),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from([0.0, 0.15]),
)
def test_any_chain_of_steps(seed, names, model, missing):
    rng = np.random.default_rng(seed)
    X = (numbers(rng, 80) * rng.choice([1.0, 1e-20, 1e15])).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    y = rng.integers(2, size=80)
    first = [SimpleImputer()] if missing and any("bins" in name for name in names) else []
    pipeline = make_pipeline(*first, *(clone(SCALERS[name]) for name in names), clone(MODELS[model]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pipeline.fit(X.astype(np.float64), y)
        except (ValueError, RuntimeError):
            return  # a step makes numbers that the next one refuses
        try:
            forest = bh.as_forest(pipeline)
        except ValueError as refusal:
            if not re.search("times as large|beyond float32", str(refusal)):
                raise
            return
        rows = rows_near(rng, forest, X, max(100, 2 * N_ROWS), missing)
        try:
            expected = pipeline.predict_proba(rows.astype(np.float64))
        except ValueError:  # far from what it was fitted on
            rows = X
            expected = pipeline.predict_proba(rows.astype(np.float64))
    np.testing.assert_allclose(forest.predict_proba(rows), expected, rtol=0, atol=1e-14)
    event("rows near thresholds compared" if len(rows) > len(X) else "training rows compared")


def test_box_cox_takes_what_is_above_zero():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(200, 3))).astype(np.float32)
    pipeline = make_pipeline(PowerTransformer(method="box-cox"), RandomForestRegressor(4, random_state=0))
    pipeline.fit(X.astype(np.float64), X[:, 0] * X[:, 1])
    forest = bh.as_forest(pipeline)
    rows = rows_near(rng, forest, X)
    rows = rows[(rows > 0).all(axis=1)]
    assert len(rows) > 30
    assert_same_answers(pipeline, forest, rows)


def test_columns_may_take_different_ways():
    rng = np.random.default_rng(0)
    X = np.concatenate([numbers(rng), numbers(rng)], axis=1)
    X[rng.random(X.shape) < 0.05] = np.nan
    front = ColumnTransformer(
        [
            ("scaled", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [5, 0]),
            ("twice", make_pipeline(SimpleImputer(), MinMaxScaler()), [0]),
            ("as they are", "passthrough", [6]),
            ("no more", "drop", [1, 7]),
        ],
        remainder=RobustScaler(),
    )
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 6]) + rng.normal(size=200)
    for model in (RandomForestRegressor(4, random_state=0), HistGradientBoostingRegressor(max_iter=5)):
        pipeline = Pipeline([("front", clone(front)), ("rear", make_pipeline(SelectKBest(k=5), model))])
        pipeline.set_params(rear__selectkbest="passthrough")
        forest = read_and_compare(pipeline, X, y, rng, missing=0.1)
        assert 1 not in forest.feature
        assert 7 not in forest.feature


def test_selected_columns_keep_their_places():
    rng = np.random.default_rng(0)
    X = numbers(rng)
    y = X[:, 2] > 2
    pipeline = make_pipeline(StandardScaler(), SelectKBest(k=2), RandomForestClassifier(3, random_state=0))
    assert 2 in read_and_compare(pipeline, X, y, rng).feature


def test_a_step_that_falls_swaps_the_sides():
    rng = np.random.default_rng(0)
    X = numbers(rng)
    X[rng.random(X.shape) < 0.1] = np.nan
    pipeline = make_pipeline(StandardScaler(), clone(MODELS["histogram boosting"]))
    pipeline.fit(X.astype(np.float64), np.nan_to_num(X[:, 0]) > 0)
    pipeline[0].scale_ = -pipeline[0].scale_
    forest = bh.as_forest(pipeline)
    assert_same_answers(pipeline, forest, rows_near(rng, forest, X, missing=0.1))


def test_searches_and_pipelines_within_pipelines_are_opened():
    rng = np.random.default_rng(0)
    X = numbers(rng)
    y = X[:, 0] > 0
    search = GridSearchCV(RandomForestClassifier(3, random_state=0), {"max_depth": [2, 3]}, cv=2)
    pipeline = make_pipeline(make_pipeline(StandardScaler(), MinMaxScaler()), make_pipeline(RobustScaler(), search))
    read_and_compare(pipeline, X, y, rng)
    outer = GridSearchCV(make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)), {}, cv=2)
    forest = bh.as_forest(outer.fit(X.astype(np.float64), y))
    assert_same_answers(outer, forest, X)
    assert bh.as_forest(make_pipeline("passthrough", outer.best_estimator_[-1])).n_features == 4


def test_the_second_output_of_a_pipeline():
    rng = np.random.default_rng(0)
    X = numbers(rng).astype(np.float64)
    pipeline = make_pipeline(StandardScaler(), RandomForestRegressor(3, random_state=0)).fit(X, X[:, :2])
    np.testing.assert_array_equal(bh.as_forest(pipeline, output=1).predict(X), pipeline.predict(X)[:, 1])


def people(rng, n_rows=300, missing=0.0):
    frame = pd.DataFrame(
        {
            "name": [f"person {k}" for k in range(n_rows)],
            "age": rng.normal(40, 10, n_rows).astype(np.float32).astype(np.float64),
            "town": rng.choice(["Aachen", "Bonn", "Celle", "Dortmund", "Essen"], n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
            "size": rng.choice(["small", "middle", "large"], n_rows),
            "rooms": rng.integers(1, 7, n_rows),
        }
    )
    frame.loc[rng.random(n_rows) < missing, "town"] = np.nan
    frame.loc[rng.random(n_rows) < missing, "age"] = np.nan
    y = frame["town"].isin(["Bonn", "Essen"]) ^ (frame["age"].fillna(0) > 40) ^ frame["rooms"].isin([2, 5])
    return frame, np.where(y ^ (rng.random(n_rows) < 0.05), "yes", "no")


def encoders(**options):
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        (OneHotEncoder(**options), ["town", "sex"]),
        (OrdinalEncoder(categories=[["small", "middle", "large"]]), ["size"]),
        (OneHotEncoder(), ["rooms"]),
        sparse_threshold=0,
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"drop": "first"},
        {"drop": "if_binary", "handle_unknown": "ignore"},
        {"handle_unknown": "ignore"},
        {"handle_unknown": "infrequent_if_exist", "min_frequency": 65},
        {"max_categories": 3},
    ],
    ids=str,
)
def test_tables_with_categories(options, model):
    rng = np.random.default_rng(0)
    frame, y = people(rng)
    pipeline = make_pipeline(encoders(**options), clone(MODELS[model])).fit(frame, y)
    forest = bh.as_forest(pipeline)
    assert [column.name for column in forest.encoding.columns] == ["age", "town", "sex", "size", "rooms"]
    rows, _ = people(rng, 500)
    rows.loc[::3, "age"] = np.nan
    assert_same_answers(pipeline, forest, rows.drop(columns="name").assign(name=0.0))
    if options.get("handle_unknown", "error") != "error":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that it does not know Zwickau
            assert_same_answers(pipeline, forest, rows.assign(town="Zwickau"))
    packed = bh.pack(forest)
    assert (packed.predict(rows) == forest.predict(rows)).mean() > 0.9
    if forest.averages:
        assert bh.prune(forest, rows, pipeline.predict(rows), method="reduced_error", n_trees=2).encoding is not None


def test_a_pipeline_with_categories_is_compiled(tmp_path):
    rng = np.random.default_rng(0)
    frame, y = people(rng)
    pipeline = make_pipeline(encoders(), RandomForestClassifier(5, max_leaf_nodes=16, random_state=0)).fit(frame, y)
    packed = bh.pack(bh.as_forest(pipeline))
    rows, _ = people(rng, 300)
    np.testing.assert_array_equal(compiled(packed, tmp_path)(as_rows(rows, packed)), packed.scores(rows))


def test_missing_cells_go_where_the_category_goes_that_stands_for_them():
    rng = np.random.default_rng(0)
    frame, y = people(rng, missing=0.2)
    for imputer in (SimpleImputer(strategy="most_frequent"), SimpleImputer(strategy="constant", fill_value="?")):
        front = make_column_transformer(
            (make_pipeline(imputer, OneHotEncoder()), ["town"]),
            (OrdinalEncoder(), ["sex"]),
            ("passthrough", ["age"]),
            sparse_threshold=0,
        )
        pipeline = make_pipeline(front, RandomForestClassifier(5, random_state=0)).fit(frame, y)
        assert_same_answers(pipeline, bh.as_forest(pipeline), frame)
    own = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), ("passthrough", ["age"]), sparse_threshold=0),
        RandomForestClassifier(5),
    ).fit(frame, y)
    assert_same_answers(own, bh.as_forest(own), frame)
    boosted = make_pipeline(
        make_column_transformer(
            (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), ["town"]),
            ("passthrough", ["age"]),
        ),
        HistGradientBoostingClassifier(max_iter=5),
    ).fit(frame, y)
    assert_same_answers(boosted, bh.as_forest(boosted), frame)
    assert_same_answers(boosted, bh.as_forest(boosted), frame.assign(town="Zwickau"))


@pytest.mark.parametrize("strategy", ["most_frequent", "constant"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_cells_count_as_what_an_imputer_makes_of_them_and_unknown_ones_do_not(strategy, ending, tmp_path):
    rng = np.random.default_rng(0)
    frame, y = people(rng, missing=0.2)
    encoder = make_pipeline(SimpleImputer(strategy=strategy), OneHotEncoder(handle_unknown="ignore"))
    front = make_column_transformer((encoder, ["town", "sex"]), ("passthrough", ["rooms"]), sparse_threshold=0)
    pipeline = make_pipeline(front, RandomForestClassifier(9, random_state=0)).fit(frame, y)
    forest = bh.as_forest(pipeline)
    town = frame["town"].value_counts().idxmax() if strategy == "most_frequent" else "missing_value"
    assert [column.missing for column in forest.encoding.columns if column.name == "town"] == [town]
    rows, _ = people(rng, missing=0.3)
    rows.loc[::7, "town"] = "Zwickau"
    assert_same_answers(pipeline, forest, rows)
    assert (
        pipeline.predict_proba(rows.assign(town="Zwickau")) != pipeline.predict_proba(rows.assign(town=town))
    ).any()
    forest.save(tmp_path / "model.bhk")
    again = bh.load(tmp_path / "model.bhk")
    assert again == forest
    path = tmp_path / f"rows.{ending}"
    getattr(rows, f"to_{ending}")(path, index=False)
    table = read_features(path, categorical=again.encoding.categorical)
    assert (again.predict(features_of(table, again)) == pipeline.predict(rows)).all()
    assert (bh.pack(again).predict(rows) == again.predict(rows)).mean() > 0.98  # leaves are rounded


def test_missing_and_unknown_categories_that_part_are_refused():
    frame, y = people(np.random.default_rng(0), missing=0.2)
    towns = make_column_transformer(
        *(
            (
                make_pipeline(
                    SimpleImputer(strategy="constant", fill_value=fill), OneHotEncoder(handle_unknown="ignore")
                ),
                ["town"],
            )
            for fill in ("Bonn", "Essen")
        )
    )
    pipeline = make_pipeline(towns, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    with pytest.raises(TypeError, match=r"missing cells of the column 'town' and .* handle_unknown='error'"):
        bh.as_forest(pipeline)


def test_numbers_that_are_categories_stay_numbers():
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice([0, 3, 7, 40], 300), rng.integers(0, 3, 300)], axis=1)
    y = np.isin(X[:, 0], [3, 40]) ^ (X[:, 1] == 1)
    for options in ({}, {"handle_unknown": "ignore"}):
        pipeline = make_pipeline(OneHotEncoder(**options), RandomForestClassifier(5, random_state=0)).fit(X, y)
        forest = bh.as_forest(pipeline)
        assert forest.encoding is None
        rows = X if not options else np.concatenate([X, rng.integers(-2, 50, (300, 2))])
        np.testing.assert_array_equal(forest.predict_proba(rows), pipeline.predict_proba(rows))
    fractions = OneHotEncoder(handle_unknown="ignore")
    pipeline = make_pipeline(fractions, RandomForestClassifier(5, random_state=0)).fit(X + 0.5, y)
    with pytest.raises(TypeError, match=r"encodes the numbers of the column 0, such as 0.5.*make text of them"):
        bh.as_forest(pipeline)


def test_models_of_xgboost_may_end_a_pipeline():
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = numbers(rng)
    y = (X[:, 0] > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), xgboost.XGBClassifier(n_estimators=5, max_depth=3))
    pipeline.fit(X.astype(np.float64), y)
    forest = bh.as_forest(pipeline)
    rows = rows_near(rng, forest, X)
    expected = pipeline[-1].predict(pipeline[:-1].transform(rows.astype(np.float64)), output_margin=True)
    # It adds up in float32.
    np.testing.assert_allclose(forest.decision_function(rows), expected, rtol=0, atol=1e-6)
    sparse = make_pipeline(OneHotEncoder(), xgboost.XGBClassifier(n_estimators=2)).fit(X[:, 2:3], y)
    with pytest.raises(TypeError, match=r"gives a XGBClassifier a sparse matrix.*sparse_output=False"):
        bh.as_forest(sparse)


def test_a_pipeline_is_packed_pruned_and_refined_on_raw_rows():
    rng = np.random.default_rng(0)
    X = numbers(rng, 400)
    y = (X[:, 0] + np.log(X[:, 1]) > 7).astype(int)
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(8, max_leaf_nodes=16, random_state=0))
    forest = bh.as_forest(pipeline.fit(X.astype(np.float64), y))
    refined = bh.refine(bh.prune(forest, X, y, method="reduced_error", n_trees=4), X, y)
    assert (bh.pack(refined).predict(X) == y).mean() > 0.9
    estimator = bh.to_estimator(forest)
    np.testing.assert_array_equal(estimator.predict(X), pipeline.predict(X.astype(np.float64)))


X, Y = numbers(np.random.default_rng(0)), np.arange(200) % 2


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            [PCA(2)],
            "with a PCA; steps before the model may be KBinsDiscretizer, .*transform the rows yourself",
        ),
        ([Normalizer()], "with a Normalizer"),
        ([FunctionTransformer(np.cbrt)], "FunctionTransformer; as_forest cannot see what the function does"),
        ([SimpleImputer(missing_values=3)], "missing_values=3, a number like others"),
        ([StandardScaler(), OneHotEncoder(handle_unknown="ignore")], "what StandardScaler, OneHotEncoder make of"),
        ([ColumnTransformer([("a", StandardScaler(), [0])], transformer_weights={"a": 2})], "transformer_weights"),
    ],
)
def test_steps_that_are_refused(steps, message):
    pipeline = make_pipeline(*steps, RandomForestClassifier(2)).fit(X, Y)
    with pytest.raises(TypeError, match=message):
        bh.as_forest(pipeline)


def test_other_refusals():
    class OwnScaler(StandardScaler):
        def transform(self, X, copy=None):
            return np.sin(super().transform(X, copy))

    with pytest.raises(TypeError, match="OwnScaler: it is a StandardScaler with a transform of its own"):
        bh.as_forest(make_pipeline(OwnScaler(), RandomForestClassifier(2)).fit(X, Y))
    with pytest.raises(TypeError, match="cannot read a LogisticRegression"):
        bh.as_forest(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y))
    inner = make_pipeline(MinMaxScaler(), RandomForestClassifier(2))
    with pytest.raises(TypeError, match=r"cannot read an? "):
        bh.as_forest(make_pipeline(StandardScaler(), VotingClassifier([("a", inner)], voting="soft")).fit(X, Y))
    pipeline = make_pipeline(QuantileTransformer(n_quantiles=10), RandomForestClassifier(2)).fit(X, Y)
    pipeline[0].quantiles_ = np.sin(pipeline[0].quantiles_ * 5)
    with pytest.raises(TypeError, match="neither only rise nor only fall"):
        bh.as_forest(pipeline)
