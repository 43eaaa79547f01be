import inspect
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_classification,
    make_friedman1,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss

import billhook as bh
from billhook.refinement import RefinementOptions
from ensembles import CLASSIFIERS, REGRESSORS
from made_up import random_forest, tricky_rows

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
ALL = {"validation_fraction": None}


@pytest.mark.parametrize("solver", ["bcd", "sgd"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_learns_its_rows_better_and_keeps_its_structure(name, classes, solver, tmp_path):
    X, y = (X2, np.array(["benign", "malign"])[y2]) if classes == 2 else (X3, np.array(["a", "b", "c"])[y3])
    X = X.copy()
    takes_missing = name.startswith(("random forest", "histogram", "one tree"))
    if takes_missing:
        X[::7, 0] = np.nan
    model = clone(CLASSIFIERS[name]).fit(X, y)
    forest = bh.as_forest(model)
    how = {"l2": 0.01} if solver == "bcd" else {"step_size": 0.02}
    refined = bh.refine(model, X, y, solver=solver, loss="cross_entropy", epochs=9, **how, **ALL)
    assert refined.refined
    assert refined.size() == forest.size()
    for field in ("feature", "threshold", "left", "right", "missing_left", "offset", "tree_weight", "base"):
        np.testing.assert_array_equal(getattr(refined, field), getattr(forest, field))
    before = log_loss(y, np.clip(forest.predict_proba(X), 1e-9, 1), labels=forest.classes)
    after = log_loss(y, refined.predict_proba(X), labels=forest.classes)
    if solver == "bcd":
        assert after < max(before, 0.05)
    np.testing.assert_allclose(refined.predict_proba(X).sum(axis=1), 1.0)
    refined.save(tmp_path / "m.bhk")
    assert bh.load(tmp_path / "m.bhk") == refined


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_learns_its_rows_better(name):
    forest = bh.as_forest(clone(REGRESSORS[name]).fit(X_n, y_n))
    refined, report = bh.refine(forest, X_n, y_n, l2=0.1, **ALL, return_report=True)
    assert report.objective[-1] <= report.objective[0]
    before, after = (np.mean((f.predict(X_n) - y_n) ** 2) for f in (forest, refined))
    # A single tree for squares has the means of its leaves, and nothing to gain.
    assert after < before if name not in ("one tree", "one extra tree") else after == pytest.approx(before)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "ada boost"])
@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_refined_values_survive_the_way_to_scikit_learn(name, loss):
    forest = bh.as_forest(clone(CLASSIFIERS[name]).fit(X3, y3))
    refined = bh.refine(forest, X3, y3, loss=loss, **ALL)
    estimator = bh.to_estimator(refined)
    np.testing.assert_array_equal(estimator.predict(X3), refined.predict(X3))
    is_boosted = "boosting" in name
    raw = estimator.decision_function(X3) if is_boosted else estimator.predict_proba(X3)
    np.testing.assert_allclose(raw, refined.decision_function(X3), rtol=1e-9, atol=1e-12)
    assert is_boosted or (raw < 0).any() or (raw.sum(axis=1) != 1).any()


def test_a_refined_forest_cannot_be_truncated():
    refined = bh.refine(RandomForestClassifier(5, random_state=0).fit(X3, y3), X3, y3, **ALL)
    with pytest.raises(ValueError, match="truncate first and refine after"):
        refined.truncate(max_leaves=3)
    with pytest.raises(ValueError, match="truncate first and refine after"):
        refined.select([1]).truncate(max_leaves=3)


def test_the_callers_forest_and_rows_are_not_changed():
    rf = RandomForestClassifier(5, random_state=0).fit(X3, y3)
    forest, X = bh.as_forest(rf), X3.copy()
    before, P = forest.value.copy(), rf.predict_proba(X3)
    bh.refine(rf, X, y3, **ALL)
    bh.refine(forest, X, y3)
    np.testing.assert_array_equal(forest.value, before)
    np.testing.assert_array_equal(rf.predict_proba(X3), P)
    np.testing.assert_array_equal(X, X3)


def test_any_made_up_forest_goes_down():
    rng = np.random.default_rng(0)
    for n_classes in (1, 2, 3, 4):
        for per_class in (False, True):
            for weights in ("equal", "sum", "any"):
                forest = random_forest(rng, (3, 0, 8), 3, n_classes, per_class and n_classes > 1, weights)
                X = tricky_rows(rng, 60, 3)
                y = rng.normal(size=60) if n_classes == 1 else rng.integers(n_classes, size=60) * 10
                _, report = bh.refine(forest, X, y, **ALL, return_report=True)
                assert report.objective[-1] < report.objective[0]


def test_trees_of_weight_zero_stay_as_they_are():
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=5, random_state=0).fit(X3, y3))
    forest = forest.with_weights([0.5, 0.0, 0.25, 0.25])
    for solver in ("bcd", "sgd"):
        refined = bh.refine(forest, X3, y3, solver=solver, **ALL)
        leaf = forest.select([1]).feature < 0
        np.testing.assert_array_equal(refined.select([1]).value[leaf], forest.select([1]).value[leaf])
        assert np.isfinite(refined.value).all()


def test_noise_is_not_refined():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 6)), rng.integers(2, size=600)
    rf = RandomForestClassifier(16, max_leaf_nodes=30, random_state=0).fit(X, y)
    for model in (rf, bh.as_forest(rf)):
        refined, report = bh.refine(model, X, y, random_state=0, return_report=True)
        assert report.n_passes == 0
        assert refined == bh.as_forest(rf)


@pytest.mark.parametrize("fresh", [True, False])
def test_on_real_digits_it_gains_on_rows_nobody_has_seen(fresh):
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(16, max_leaf_nodes=16, random_state=0).fit(X[:650], y[:650])
    rows = slice(650, 1300) if fresh else slice(650)
    refined, report = bh.refine(rf, X[rows], y[rows], random_state=0, return_report=True)
    assert report.n_passes > 0
    assert min(report.validation) < report.validation[0]
    gain = np.mean(refined.predict(X[1300:]) == y[1300:]) - np.mean(rf.predict(X[1300:]) == y[1300:])
    assert gain > 0.02


def test_the_best_pass_on_the_given_validation_rows_is_kept():
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(16, max_leaf_nodes=16, random_state=0).fit(X[:600], y[:600])
    refined, report = bh.refine(rf, X[:600], y[:600], validation=(X[600:900], y[600:900]), l2=1.0, return_report=True)
    error = np.mean(refined.predict(X[600:900]) != y[600:900])
    assert error == pytest.approx(min(report.validation))
    assert report.validation[0] == pytest.approx(np.mean(rf.predict(X[600:900]) != y[600:900]))
    assert report.validation[report.n_passes] == min(report.validation)


def test_several_losses_are_tried_and_the_best_told():
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(16, max_leaf_nodes=16, random_state=0).fit(X[:600], y[:600])
    given = {"validation": (X[600:1200], y[600:1200]), "random_state": 0, "l2": 1.0}
    single = {
        loss: bh.refine(rf, X[:600], y[:600], loss=loss, return_report=True, **given)
        for loss in ("mse", "cross_entropy")
    }
    both, report = bh.refine(rf, X[:600], y[:600], loss=["mse", "cross_entropy"], return_report=True, **given)
    best, of_best = min(single.values(), key=lambda pair: min(pair[1].validation))
    assert report.loss == of_best.loss
    assert both == best


def test_out_of_bag_each_row_is_known_only_to_trees_that_did_not_see_it():
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(64, max_leaf_nodes=8, oob_score=True, random_state=0).fit(X[:1200], y[:1200])
    refined, report = bh.refine(rf, X[:1200], y[:1200], validation="oob", random_state=0, return_report=True)
    oob_error = np.mean(rf.oob_decision_function_.argmax(axis=1) != y[:1200])
    assert report.validation[0] == pytest.approx(oob_error, abs=3 * np.sqrt(oob_error / 180))  # of 180 held out
    assert report.n_passes > 0
    assert np.mean(refined.predict(X[1200:]) == y[1200:]) > np.mean(rf.predict(X[1200:]) == y[1200:])


def test_large_boosted_models_of_noisy_rows_lose_nothing():
    X, y = make_classification(3000, 12, n_informative=5, flip_y=0.3, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=150, early_stopping=False, random_state=0).fit(X[:2000], y[:2000])
    before = np.mean(model.predict(X[2000:]) == y[2000:])
    for given in (model, bh.as_forest(model)):
        refined = bh.refine(given, X[:2000], y[:2000], random_state=0)
        assert np.mean(refined.predict(X[2000:]) == y[2000:]) >= before - 0.002


def test_rows_may_come_in_batches(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=9, random_state=0).fit(X2, y2))
    expected = bh.refine(forest, X2, y2, random_state=0)
    table = pyarrow.table({f"c{k}": X2[:, k] for k in range(X2.shape[1])})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    on_disk = np.memmap(tmp_path / "rows.bin", np.float64, "w+", shape=X2.shape)
    on_disk[:] = X2
    file = parquet.ParquetFile(tmp_path / "rows.parquet")
    for X in (
        file.iter_batches(batch_size=77),
        (X2[start : start + 100] for start in range(0, len(y2), 100)),
        [X2[:300], X2[300:]],
        on_disk,
    ):
        assert bh.refine(forest, X, y2, random_state=0) == expected


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_find_the_same_leaves(n_jobs):
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=9, random_state=0).fit(X2, y2))
    np.testing.assert_array_equal(forest.apply(X2, n_jobs=n_jobs), forest.apply(X2))
    assert bh.refine(forest, X2, y2, n_jobs=n_jobs, random_state=0) == bh.refine(forest, X2, y2, random_state=0)


def test_progress_is_told_to_its_end():
    told = []
    rf = RandomForestClassifier(6, max_leaf_nodes=9, random_state=0).fit(X2, y2)
    bh.refine(bh.as_forest(rf), X2, y2, random_state=0, progress=lambda *step: told.append(step))
    done = [step[0] for step in told]
    assert done == sorted(done)
    assert done[-1] == told[-1][1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "newton"}, "solver must be one of 'bcd', 'sgd', not 'newton'"),
        ({"loss": "hinge"}, "loss must be 'auto' or one of cross_entropy, mse, squared_hinge .*not 'hinge'"),
        ({"loss": "poisson"}, "loss must be 'auto' or one of"),
        ({"loss": []}, "an empty list"),
        ({"loss": "auto", "validation_fraction": None}, "to choose among losses, validation rows are needed"),
        ({"l2": -1}, "l2 must be a finite number not below 0, not -1"),
        ({"l2": float("nan")}, "l2 must be a finite number"),
        ({"step_size": -0.1}, "step_size must be a finite number not below 0, not -0.1"),
        ({"step_size": 0.0}, "step_size must be above 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"epochs": -1}, "epochs must be at least 0, not -1"),
        (
            {"batch_gradient": "last", "solver": "sgd", "optimizer": "adam"},
            "'last' is for optimizer='sgd'",
        ),
        ({"batch_gradient": "max"}, "batch_gradient must be one of 'sum', 'mean', 'last'"),
        ({"penalty": "l2"}, "penalty must be one of"),
        ({"strength": 1.0}, "needs a penalty"),
        ({"penalty": "l1"}, "needs solver='sgd' and refine_weights=True"),
        ({"penalty": "group_l1", "solver": "sgd"}, "'group_l1' is for solver='bcd'"),
        ({"penalty": "group_l1", "shrink_to": "original"}, "shrink_to must be 'zero' too"),
        ({"refine_weights": True}, "for solver='sgd'"),
        ({"validation_fraction": 1.0}, "from 0 to below 1, or None, not 1.0"),
        ({"validation_fraction": -0.1}, "from 0 to below 1"),
        ({"validation": X3}, r"validation must be \(X, y\), \(X, y, sample_weight\) or 'oob', not ndarray"),
        ({"validation": (X3, np.full(150, 7))}, "of the validation rows: y holds labels .* not know: 7"),
        ({"validation": (X3, y3, np.zeros(150))}, "of the validation rows: sample_weight must be"),
        ({"validation": "oob", "validation_fraction": None}, "needs a validation_fraction above 0"),
        ({"validation": (X3, y3), "penalty": "group_l1"}, "takes no validation rows"),
        ({"solver": "sgd", "l2": 1.0}, "l2 and shrink_to are for solver='bcd'"),
        ({"validation": (X3[:3], y3)}, "X has 3 rows and y 150 labels"),
        ({"validation": "oob"}, "those of a Forest are not known: pass the fitted estimator"),
        ({"validation": "oob", "solver": "sgd"}, "validation='oob' is for solver='bcd'"),
        ({"sample_weight": np.full(150, -1.0)}, "sample_weight must be 150 finite numbers, none negative"),
        ({"sample_weight": np.zeros(150)}, "not all zero"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options, message):
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(X3, y3))
    with pytest.raises(ValueError, match=message):
        bh.refine(forest, X3, y3, **options)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X3, np.where(np.arange(150) == 3, 9, y3), "labels that the forest does not know: 9; it knows 0, 1, 2"),
        (X3, np.where(np.arange(150) == 3, np.nan, y3), "y holds 1 missing labels"),
        (X3[:100], y3, "X has 100 rows and y 150 labels"),
        (X3, y3[:100], "X has 150 rows and y 100 labels"),
        (iter([X3]), y3[:100], "X has 150 rows and y 100 labels"),
        (X3[:, :2], y3, "X has 2 features, but the forest was trained on 4"),
        (X3[:0], y3[:0], "at least one row"),
        (X3, np.stack([y3, y3]), "one dimension"),
    ],
)
def test_rows_that_do_not_fit_are_refused(X, y, message):
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(X3, y3))
    with pytest.raises(ValueError, match=message):
        bh.refine(forest, X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 0.1}, "unexpected keyword argument 'step'"),
        ({"l2": "1"}, "l2 must be a number, not '1'"),
        ({"epochs": 2.5}, "epochs must be a whole number, not 2.5"),
        ({"batch_size": True}, "batch_size must be a whole number, not True"),
        ({"loss": 5}, "loss must be a name, a list of names or 'auto', not 5"),
    ],
)
def test_options_of_another_kind_are_refused(options, message):
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(X3, y3))
    with pytest.raises(TypeError, match=message):
        bh.refine(forest, X3, y3, **options)


def test_numbers_that_are_missing_or_negative_counts_are_refused():
    forest = bh.as_forest(RandomForestRegressor(3, max_leaf_nodes=4, random_state=0).fit(X_n, y_n))
    with pytest.raises(ValueError, match="y holds 1 numbers that are missing or infinite"):
        bh.refine(forest, X_n, np.where(np.arange(y_n.size) == 5, np.nan, y_n))
    counts = bh.as_forest(clone(REGRESSORS["histogram boosting, poisson"]).fit(X_n, y_n))
    with pytest.raises(ValueError, match=r"negative numbers \(-3\)"):
        bh.refine(counts, X_n, np.where(np.arange(y_n.size) == 5, -3.0, y_n))


def test_oob_needs_trees_that_saw_only_some_rows():
    with pytest.raises(ValueError, match="trained on all; fit it with bootstrap=True"):
        bh.refine(ExtraTreesClassifier(3).fit(X3, y3), X3, y3, validation="oob")


def test_no_pass_is_no_change():
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(X3, y3))
    assert bh.refine(forest, X3, y3, epochs=0, **ALL) == forest
    assert bh.refine(forest, X3, y3, epochs=0) == forest


def test_a_class_may_have_all_its_rows_held_out():
    X, y = load_digits(return_X_y=True)
    y = np.where(np.arange(len(y)) == 7, 99, y)  # one row of its own
    rf = RandomForestClassifier(8, max_leaf_nodes=12, random_state=0).fit(X, y)
    for seed in range(8):  # it is held out in some of these
        refined = bh.refine(rf, X, y, random_state=seed)
        assert 99 in refined.classes


def test_one_class_one_row_and_constant_targets_are_no_trouble():
    one_class = bh.as_forest(RandomForestClassifier(3, random_state=0).fit(X3, y3))
    rows = y3 == 1
    refined = bh.refine(one_class, X3[rows], y3[rows])
    assert set(refined.predict(X3[rows])) == {1}
    assert np.isfinite(bh.refine(one_class, X3[:1], y3[:1]).value).all()
    numbers = bh.as_forest(RandomForestRegressor(3, random_state=0).fit(X_n, y_n))
    for loss in ("mse", "huber", "absolute"):
        constant = bh.refine(numbers, X_n, np.full(y_n.size, 5.0), loss=loss, epochs=100, l2=0.0, tol=0.0, **ALL)
        assert np.median(np.abs(constant.predict(X_n) - 5.0)) < 0.1


def test_data_frames_with_names_are_checked_and_used():
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    rf = RandomForestClassifier(5, max_leaf_nodes=4, random_state=0).fit(frame, labels)
    assert bh.refine(rf, frame, labels, random_state=0).feature_names == tuple(frame.columns)
    with pytest.raises(ValueError, match="in another order"):
        bh.refine(rf, frame[frame.columns[::-1]], labels)


@pytest.mark.parametrize("unit", [0.01, 1.0, 1000.0])
def test_losses_for_numbers_are_compared_by_one_yardstick(unit):
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    forest = bh.as_forest(RandomForestRegressor(12, max_leaf_nodes=12, random_state=0).fit(X[:500], unit * y[:500]))
    rows = X[500:1000], unit * y[500:1000]
    given = {"validation": (X[1000:], unit * y[1000:]), "l2": 5.0}
    squares = {
        loss: np.mean((bh.refine(forest, *rows, loss=loss, **given).predict(X[1000:]) - unit * y[1000:]) ** 2)
        for loss in ("mse", "huber", "absolute")
    }
    assert bh.refine(forest, *rows, loss="auto", **given, return_report=True)[1].loss == min(squares, key=squares.get)


def test_rows_of_weight_zero_do_not_judge():
    X, y = load_digits(return_X_y=True)
    y = y.copy()
    y[900:] = np.random.default_rng(0).integers(10, size=len(y) - 900)
    weight = (np.arange(len(y)) < 900).astype(float)
    rf = RandomForestClassifier(12, max_leaf_nodes=16, random_state=0).fit(X, y, sample_weight=weight)
    for model in (rf, bh.as_forest(rf)):
        _, report = bh.refine(model, X, y, sample_weight=weight, random_state=0, return_report=True)
        assert report.validation[0] < 0.3  # of the rows that count; of all it would be about 0.5


def test_many_other_rows_are_not_taken_for_training_rows():
    X, y = make_classification(4000, 8, n_informative=5, random_state=0)
    rf = RandomForestClassifier(8, max_leaf_nodes=8, random_state=0).fit(X[:300], y[:300])
    assert bh.refine(rf, X[300:], y[300:], random_state=0, return_report=True)[1].validated_on == "held-out rows"
    assert bh.refine(rf, X[:300], y[:300], random_state=0, return_report=True)[1].validated_on == "refitted estimator"
    forest = bh.as_forest(rf)
    assert bh.refine(forest, X[:300], y[:300], random_state=0, return_report=True)[1].validated_on == "training rows"
    assert (
        bh.refine(rf, X[:300], y[:300], validation="oob", random_state=0, return_report=True)[1].validated_on
        == "out-of-bag rows"
    )


def test_an_estimator_without_a_seed_is_judged_the_same_each_time():
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(8, max_leaf_nodes=12).fit(X, y)
    once, again = (bh.refine(rf, X, y, random_state=0, return_report=True) for _ in range(2))
    assert once[1].validation == again[1].validation
    assert once[0] == again[0]


def test_one_row_right_by_chance_is_no_gain():
    rf = RandomForestClassifier(3, max_leaf_nodes=2, random_state=0).fit(X3, y3)
    wrong = np.flatnonzero(rf.predict(X3) != y3)[:1]
    _, report = bh.refine(rf, X3, y3, validation=(X3[wrong], y3[wrong]), l2=1.0, return_report=True)
    assert report.validation[0] == 1.0
    assert report.n_passes == 0


def test_a_forest_of_one_class_is_returned_as_it_is():
    forest = bh.as_forest(RandomForestClassifier(3, random_state=0).fit(X3, np.ones(150, int)))
    for options in ({}, {"solver": "sgd"}, {"loss": "mse", **ALL}):
        assert bh.refine(forest, X3, np.ones(150, int), **options) == forest


def test_where_no_second_forest_can_be_grown_the_first_is_judged_with_caution():
    X, y = np.arange(16.0).reshape(8, 2), np.array([0, 0, 0, 0, 1, 1, 1, 2])
    rf = RandomForestClassifier(3, random_state=0).fit(X, y)
    for seed in range(12):
        bh.refine(rf, X, y, random_state=seed, validation_fraction=0.3)
    y = np.where(np.arange(300) < 2, 2, np.arange(300) % 2)
    X = np.random.default_rng(0).random((300, 3))
    boosted = HistGradientBoostingClassifier(early_stopping=True, max_iter=5, random_state=0).fit(X, y)
    judged = {bh.refine(boosted, X, y, random_state=seed, return_report=True)[1].validated_on for seed in range(12)}
    assert "training rows" in judged  # where one of the two rows was held out


def test_frames_stay_frames_when_another_forest_is_grown():
    frame, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = frame.iloc[:, :4].set_axis(["a", "b", "c", "d"], axis=1).assign(e=frame.iloc[:, 5] > 0.1)
    model = HistGradientBoostingClassifier(monotonic_cst={"a": -1}, max_iter=5, random_state=0).fit(frame, labels)
    assert bh.refine(model, frame, labels, random_state=0, return_report=True)[1].validated_on == "refitted estimator"


def test_without_refit_the_rows_held_out_are_not_learned_from():
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(12, max_leaf_nodes=12, random_state=0).fit(X, y)
    for model in (rf, bh.as_forest(rf)):
        assert bh.refine(model, X, y, random_state=0, refit=False) != bh.refine(model, X, y, random_state=0)


def test_a_batch_larger_than_the_rows_is_all_rows():
    forest = bh.as_forest(RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(X3, y3))
    given = {"solver": "sgd", "epochs": 3, "random_state": 0, **ALL}
    assert bh.refine(forest, X3, y3, batch_size=10**12, **given) == bh.refine(forest, X3, y3, batch_size=150, **given)


def test_an_estimator_that_is_not_refitted_is_refined_like_its_forest():
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(12, max_leaf_nodes=12, random_state=0).fit(X, y)
    refined, report = bh.refine(rf, X, y, refit_estimator=False, random_state=0, return_report=True)
    assert report.validated_on == "training rows"
    assert refined == bh.refine(bh.as_forest(rf), X, y, random_state=0)


def test_a_function_may_grow_the_second_forest():
    X, y = load_digits(return_X_y=True)
    rf = RandomForestClassifier(12, max_leaf_nodes=12, random_state=0).fit(X, y)
    grown_on = []

    def grow(rows):
        grown_on.append(len(rows))
        return bh.as_forest(clone(rf).fit(X[rows], y[rows]))

    refined, report = bh.refine(bh.as_forest(rf), X, y, refit_estimator=grow, random_state=0, return_report=True)
    assert grown_on == [len(y) - round(0.15 * len(y))]
    assert (refined, report) == bh.refine(rf, X, y, random_state=0, return_report=True)


def test_every_option_is_a_parameter_with_the_same_default():
    parameters = inspect.signature(bh.refine).parameters
    for field in fields(RefinementOptions):
        assert parameters[field.name].default == field.default
    for function in (bh.refine, bh.merge):
        kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
        assert kinds == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 3 + [inspect.Parameter.KEYWORD_ONLY] * (
            len(kinds) - 3
        )
