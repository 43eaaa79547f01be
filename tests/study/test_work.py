"""What a study measures, against the same done the plain way."""

import sys
from collections import Counter
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import billhook as bh
from billhook.analysis import BOOSTING, SEARCH
from billhook.study import DataSource, Method, ResultsError, Study, _unit_process
from billhook.study._rows import rows_of, seed_of
from billhook.study._scores import scores_of
from billhook.study._study import Unit
from billhook.study._unit import _UnitRunner
from projected import projected_model

X, y = load_digits(return_X_y=True)
X = X.astype(np.float32)


def study_of(*methods, **options):
    given = {"folds": 3, "seed": 5, "n_base_trees": 24, "max_leaves": (8, 32), "n_trees": (4, 8), **options}
    return Study("small", (DataSource("digits"),), methods, **given)


def run(study, tmp_path, **options):
    found = bh.study.run(study, tmp_path / "results", **options)
    assert (found["status"] == "done").all(), found["reason"].unique()
    return found.set_index(["fold", "method", "options", "n_leaves", "n_trees"])


def fold(number):
    return list(StratifiedKFold(3, shuffle=True, random_state=5).split(X, y))[number]


BASES = {
    "random_forest": lambda leaves, seed: RandomForestClassifier(24, max_leaf_nodes=leaves, random_state=seed),
    "extra_trees": lambda leaves, seed: ExtraTreesClassifier(
        24, max_leaf_nodes=leaves, bootstrap=True, random_state=seed
    ),
    "bagging": lambda leaves, seed: BaggingClassifier(
        DecisionTreeClassifier(max_leaf_nodes=leaves), 24, random_state=seed
    ),
}


@pytest.mark.parametrize("base", BASES)
def test_runs_are_those_of_forests_grown_for_each_number_of_leaves(base, tmp_path):
    methods = (Method("RE", prune="reduced_error"), Method("LMD", prune="largest_mean_distance"), Method("first"))
    found = run(study_of(*methods, bases=(base,)), tmp_path)
    for number in (0, 2):
        train, test = fold(number)
        for leaves in (8, 32):
            # Not truncated, but grown anew.
            model = BASES[base](leaves, seed_of(5, "digits", number, base)).fit(X[train], y[train])
            for label, method in (("RE", "reduced_error"), ("LMD", "largest_mean_distance")):
                for n_trees in (4, 8):
                    small = bh.prune(model, X[train], y[train], method=method, n_trees=n_trees)
                    row = found.loc[(number, label, "{}", leaves, n_trees)]
                    assert row.n_nodes == small.n_nodes
                    assert row.size_paper == small.size("paper")
                    assert row.size_published == bh.study.published_size(small)
                    assert row.accuracy == pytest.approx(accuracy_score(y[test], small.predict(X[test])))
                    assert row.accuracy_train == pytest.approx(accuracy_score(y[train], small.predict(X[train])))
            first = bh.as_forest(model).select(range(8))
            row = found.loc[(number, "first", "{}", leaves, 8)]
            assert row.f1 == pytest.approx(f1_score(y[test], first.predict(X[test]), average="macro"))
            assert row.balanced_accuracy == pytest.approx(balanced_accuracy_score(y[test], first.predict(X[test])))


def test_refined_and_merged_forests(tmp_path):
    refined = Method("LR", refine=(("epochs", 5), ("solver", "sgd")))
    merged = Method("merged", merge=(("l2", 1.0), ("share", 0.5)))
    found = run(study_of(refined, merged, Method("RF"), n_trees=(4,), sizes=("paper", "packed")), tmp_path)
    train, test = fold(0)
    seed = seed_of(5, "digits", 0, "random_forest")
    model = BASES["random_forest"](32, seed).fit(X[train], y[train])
    small = bh.as_forest(model).select(range(4))
    better = bh.refine(
        small,
        X[train],
        y[train],
        solver="sgd",
        epochs=5,
        validation_fraction=None,
        random_state=seed_of(5, "digits", 0, "random_forest", 32, 4, "refine"),
    )
    row = found.loc[(0, "LR", "{}", 32, 4)]
    assert row.accuracy == pytest.approx(accuracy_score(y[test], better.predict(X[test])))
    assert row.size_packed == bh.pack(better).nbytes
    assert found.loc[(0, "merged", "{}", 32, 4)].size_paper <= small.size("paper") / 2
    assert np.isnan(found["size_published"].astype(float)).all()


@pytest.mark.parametrize("engine", ["xgboost", "histogram", "exact"])
def test_rounds_of_boosting_are_those_of_a_shorter_run(engine, tmp_path):
    method = Method("GB", base=BOOSTING, options=(("engine", engine), ("max_depth", 3)), max_leaves=(8,))
    found = run(study_of(method, n_trees=(2, 6), folds=2), tmp_path)
    train, test = list(StratifiedKFold(2, shuffle=True, random_state=5).split(X, y))[1]
    seed = seed_of(5, "digits", 1, BOOSTING)
    common = {"learning_rate": 0.1, "max_depth": 3, "random_state": seed}
    if engine == "xgboost":
        xgboost = pytest.importorskip("xgboost")
        model = xgboost.XGBClassifier(
            n_estimators=2, max_leaves=8, grow_policy="lossguide", reg_lambda=0, min_child_weight=0, **common
        )
    elif engine == "histogram":
        model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=8, min_samples_leaf=1, **common)
    else:
        model = GradientBoostingClassifier(n_estimators=2, max_leaf_nodes=8, **common)
    model.fit(X[train], y[train])
    row = found.loc[(1, "GB", "{}", 8, 2)]
    assert row.accuracy == pytest.approx(accuracy_score(y[test], model.predict(X[test])))
    assert row.n_nodes == bh.as_forest(model).n_nodes
    assert found.loc[(1, "GB", "{}", 8, 6)].n_nodes > row.n_nodes


def test_a_dedicated_third_prunes(tmp_path):
    method = Method("IE", prune="individual_error")
    dedicated = run(study_of(method, pruning_data="dedicated"), tmp_path / "a")
    whole = run(study_of(method), tmp_path / "b")
    assert (dedicated["accuracy"] > 0.5).all()
    assert not dedicated["accuracy"].equals(whole["accuracy"])
    data = bh.study.load_source(DataSource("digits"))
    study = study_of(method, pruning_data="dedicated")
    rows = rows_of(study, Unit("digits", 0, "random_forest"), data)
    n_train = len(rows.train.y)
    assert len(rows.judged.y) == pytest.approx(n_train / 3, abs=1)
    assert len(rows.grown.y) + len(rows.judged.y) == n_train
    both = np.concatenate([rows.grown.X, rows.judged.X])
    assert sorted(map(bytes, both)) == sorted(map(bytes, rows.train.X))
    # What was found is what the method finds with that third.
    test = fold(0)[1]
    model = BASES["random_forest"](32, seed_of(5, "digits", 0, "random_forest")).fit(rows.grown.X, rows.grown.y)
    small = bh.prune(model, rows.judged.X, rows.judged.y, method="individual_error", n_trees=8)
    expected = accuracy_score(y[test], small.predict(X[test]))
    assert dedicated.loc[(0, "IE", "{}", 32, 8)].accuracy == pytest.approx(expected)


def test_the_search_for_budgets_is_one_of_the_methods(tmp_path):
    # A trial for each budget; what more trials find is for the tests of the search.
    options = (("budget", ("1KB", 2048)), ("trials", 2))
    method = Method("search", base=SEARCH, options=options)
    found = bh.study.run(study_of(method, folds=2, sizes=("paper", "packed")), tmp_path / "results")
    assert list(found["status"]) == ["done"] * 4
    assert found["n_leaves"].isna().all()
    sizes = found.set_index(["fold", "options"])["size_packed"]
    for number in (0, 1):
        # With so few trials the best may be the smaller one.
        assert sizes[number, '{"budget": "1KB"}'] <= 1024
        assert sizes[number, '{"budget": 2048}'] <= 2048
    assert (found["accuracy"] > 0.6).all()


def test_what_one_method_cannot_do_does_not_stop_the_others(tmp_path):
    methods = (
        Method("wrong", refine=(("solver", "sgd"), ("step_size", 1e9))),
        Method("many", n_trees=(4, 99)),
        Method("RE", prune="reduced_error"),
    )
    found = bh.study.run(study_of(*methods, folds=2, max_leaves=(8,), n_trees=(4,)), tmp_path / "results")
    by_method = found.groupby("method")
    assert set(by_method.get_group("wrong")["status"]) == {"failed"}
    assert by_method.get_group("wrong")["reason"].str.startswith("ValueError: the loss diverges").all()
    many = by_method.get_group("many").set_index("n_trees")
    assert set(many.loc[4, "status"]) == {"done"}
    assert set(many.loc[99, "reason"]) == {"the base ensemble has 24 trees"}
    assert set(by_method.get_group("RE")["status"]) == {"done"}


SLOW = Method("slow", refine=(("epochs", 100_000_000), ("solver", "sgd"), ("step_size", 1e-6)))


def test_what_takes_too_long_is_ended(tmp_path):
    # Compiled code that would run for days: however fast the machine is, and however short the limit.
    found = bh.study.run(study_of(SLOW, folds=2, max_leaves=(8,), n_trees=(4,)), tmp_path / "results", time_limit=0.1)
    assert list(found["status"]) == ["timed_out"] * 2
    assert set(found["reason"]) == {"took longer than 0.1 s"}


@pytest.fixture
def hanging(tmp_path, monkeypatch):
    """Have the time of a run be over when its process says that it hangs: what is slow does not depend on speed.

    Where the process says in which run, the time of another is not over, however late its record is read.

    Returns a function that takes what the process does.
    """
    marks = tmp_path / "hanging"
    marks.mkdir()
    n_runs = Counter()

    class DeadlineOfHanging(_unit_process.Deadline):
        def __init__(self, process, seconds):
            n_runs[process.pid] += 1
            self.marks = [marks / f"{process.pid}.any", marks / f"{process.pid}.{n_runs[process.pid]}"]
            super().__init__(process, seconds)

        def wait(self):
            while not any(mark.exists() for mark in self.marks) and not self.stopped.wait(0.01):
                pass

    monkeypatch.setenv("BILLHOOK_HANGING", str(marks))
    monkeypatch.setattr(_unit_process, "Deadline", DeadlineOfHanging)
    return lambda call: monkeypatch.setattr(_unit_process, "COMMAND", f"import on_workers; on_workers.{call}")


def test_what_takes_too_long_is_left(tmp_path, hanging):
    hanging('serve_and_hang("billhook.study._unit", "refine")')
    study = study_of(SLOW, Method("quick"), folds=2, max_leaves=(8,), n_trees=(4,))
    found = bh.study.run(study, tmp_path / "results", time_limit=3.0)
    assert found.groupby("method")["status"].unique().map(list).to_dict() == {
        "slow": ["timed_out"],
        "quick": ["done"],
    }
    assert set(found["reason"].dropna()) == {"took longer than 3 s"}


def test_runs_that_wait_for_the_same_step_time_out_with_it(tmp_path, hanging):
    # One search serves both budgets.
    hanging('serve_and_hang("billhook.budget", "search_budgets")')
    search = Method("search", base=SEARCH, options={"budget": ["1KB", "2KB"], "trials": 100_000})
    quick = Method("quick", base=BOOSTING, options={"engine": "histogram"}, max_leaves=(4,))
    study = study_of(search, quick, folds=2, n_trees=(2, 4))
    found = bh.study.run(study, tmp_path / "results", n_jobs=2, time_limit=5.0)
    status = found.groupby("method")["status"].agg(list).to_dict()
    assert status == {"search": ["timed_out"] * 4, "quick": ["done"] * 4}
    late = found[found["status"] == "timed_out"]
    assert sorted(late["seconds"]) == [0.0, 0.0, 5.0, 5.0]


def test_numbers_are_the_same_with_a_time_limit(tmp_path):
    methods = (Method("RE", prune="reduced_error"), Method("CA", prune="cluster_accuracy"))
    study = study_of(*methods, folds=2)
    expected, found = run(study, tmp_path / "a"), run(study, tmp_path / "b", time_limit=600.0)
    pd.testing.assert_frame_equal(found.drop(columns="seconds"), expected.drop(columns="seconds"), check_exact=True)


def test_a_process_that_is_killed_by_others_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(_unit_process, "COMMAND", "import os; os._exit(7)")
    with pytest.raises(
        ResultsError, match=r"the process of digits, fold 0, .* was killed.*exit status 7.*run it again"
    ):
        bh.study.run(study_of(Method("RF"), folds=2), tmp_path / "results", time_limit=60.0)


@pytest.mark.parametrize(
    ("error", "type_", "message"),
    [
        ("ValueError('as it is')", ValueError, "^as it is"),
        ("on_workers.LockedError('the disk is full')", RuntimeError, "^LockedError: the disk is full"),
        ("on_workers.PickyError('the disk', ' is full')", RuntimeError, "^PickyError: the disk is full"),
    ],
)
def test_an_error_that_cannot_be_pickled_is_said_too(error, type_, message, tmp_path, monkeypatch):
    monkeypatch.setattr(_unit_process, "COMMAND", f"import on_workers; on_workers.serve_and_fail({error})")
    with pytest.raises(type_, match=message):
        bh.study.run(study_of(Method("RF"), folds=2), tmp_path / "results", n_jobs=1, time_limit=60.0)


def nothing_of_the_sort():
    """Be a function that the process cannot import."""


def test_a_request_that_the_process_cannot_read_is_an_error_and_not_waited_for(monkeypatch):
    monkeypatch.setattr(nothing_of_the_sort, "__module__", "not_there")
    monkeypatch.setitem(sys.modules, "not_there", SimpleNamespace(nothing_of_the_sort=nothing_of_the_sort))
    unit = Unit("digits", 0, "random_forest")
    with closing(_unit_process.UnitProcess()) as process, pytest.raises(ModuleNotFoundError, match="not_there"):
        process.run_unit(study_of(Method("RF")), unit, nothing_of_the_sort, set(), lambda _: None, None)


@pytest.mark.parametrize("seed", range(20))
def test_scores_are_scikit_learns(seed):
    random = np.random.default_rng(seed)
    n_classes = int(random.integers(2, 7))
    true, predicted = random.integers(0, n_classes, (2, int(random.integers(1, 30))))
    found = scores_of(true, predicted, n_classes)
    assert found.accuracy == pytest.approx(accuracy_score(true, predicted))
    recalls = [np.mean(predicted[true == c] == c) for c in np.unique(true)]
    assert found.balanced_accuracy == pytest.approx(np.mean(recalls))
    assert found.f1 == pytest.approx(f1_score(true, predicted, average="macro", zero_division=0.0))


def test_a_run_that_is_broken_off_does_not_spoil_the_next(tmp_path, hanging):
    study = study_of(Method("RF"), folds=2, max_leaves=(8,), n_trees=(4, 8, 16))
    expected = run(study, tmp_path / "a")["accuracy"]
    hanging("serve_and_hang_once()")  # in the midst of the second number of trees
    found = bh.study.run(study, tmp_path / "b", time_limit=3.0)
    found = found.set_index(["fold", "method", "options", "n_leaves", "n_trees"])
    assert list(found["status"]).count("timed_out") == 1
    done = found[found["status"] == "done"]["accuracy"]
    assert len(done) == 5
    np.testing.assert_array_equal(done, expected[done.index])


def test_one_boosting_that_fails_does_not_fail_the_others(tmp_path):
    methods = (
        Method("wrong", base=BOOSTING, options={"engine": "exact", "learning_rate": 1e300}, max_leaves=(4,)),
        Method("right", base=BOOSTING, options={"engine": "histogram"}, max_leaves=(4,)),
    )
    found = bh.study.run(study_of(*methods, folds=2, n_trees=(2,)), tmp_path / "results")
    assert set(found.loc[found["method"] == "right", "status"]) == {"done"}


def test_searches_go_with_other_methods(tmp_path):
    # How many trials there are matters only in that they differ: methods with other numbers do not share a search.
    methods = (
        Method("RF"),
        Method("one", base=SEARCH, options={"budget": "1KB", "trials": 1}),
        Method("small", base=SEARCH, options={"budget": [10, "1KB"], "trials": 2}),
    )
    found = bh.study.run(study_of(*methods, folds=2, max_leaves=(8,), n_trees=(4,)), tmp_path / "results")
    status = found.groupby(["method", "options"])["status"].unique().map(list).to_dict()
    assert status[("RF", "{}")] == status[("one", "{}")] == status[("small", '{"budget": "1KB"}')] == ["done"]
    assert status[("small", '{"budget": 10}')] == ["failed"]
    assert found["reason"].dropna().str.contains("no model of 10 bytes was found").all()


@pytest.mark.parametrize("engine", ["xgboost", "histogram"])
def test_a_class_that_is_only_tested_does_no_harm(engine, tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(90, 2)), columns=["a", "b"])
    table["kind"] = np.where(table["a"] > 0, "up", "down")
    table["part"] = np.where(np.arange(90) < 60, "train", "test")
    table.loc[89, "kind"] = "middle"
    table.to_csv(tmp_path / "mine.csv", index=False)
    source = DataSource("mine", str(tmp_path / "mine.csv"), "kind", split="part")
    methods = (Method("GB", base=BOOSTING, options={"engine": engine}), Method("RF"))
    study = Study("mine", (source,), methods, n_base_trees=4, max_leaves=(4,), n_trees=(2,))
    found = bh.study.run(study, tmp_path / "results")
    assert list(found["status"]) == ["done"] * 2
    assert (found["accuracy"] > 0.7).all()


def test_nodes_of_a_model_with_projections_are_counted():
    packed, rows = projected_model(np.random.default_rng(0), (9, 9), 10, 3, 6, 11)
    assert packed.projections is not None
    part = SimpleNamespace(X=rows)
    made = _UnitRunner.of_model(SimpleNamespace(rows=SimpleNamespace(train=part, test=part)), packed)
    assert made.n_nodes == packed.coded.n_nodes
    assert made.predicted_test.tolist() == packed.predict(rows).tolist()
    # The paper's tables count such nodes, of 10 features and 11 classes, at 25 bytes: projections are no features.
    assert made.node_bytes["as_published"] == 25
    assert made.node_bytes["paper"] > 25
