"""What others make of the same bytes."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import billhook as bh
from billhook.budget import RegressionLoss, _other_models
from billhook.interop import as_forest
from pages import Reader


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_diabetes])
def test_others_fit_the_budget_and_are_scored_on_held_out_rows(load, monkeypatch):
    monkeypatch.setattr(_other_models, "LEAVES", (8,))
    frame = load(as_frame=True).frame
    report = bh.fit_table(frame, "target", budget=600, n_trials=2, n_jobs=1, compare=True).report
    names = {"random forest"}
    for module, name in _other_models.LIBRARIES.items():
        is_there = _other_models.find_spec(module) is not None
        names |= {name} if is_there else set()
        assert any(f"{name} is not installed" in note for note in report.notes) != is_there
    assert {other.name for other in report.others} == names
    for other in report.others:
        assert other.nbytes <= 600
        assert len(other.scores) >= 1
        assert 0.2 < other.score <= 1.0


def test_the_report_shows_them_and_says_what_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(_other_models, "LEAVES", (8,))
    monkeypatch.setattr(_other_models, "find_spec", lambda _: None)
    frame = load_wine(as_frame=True).frame
    report = bh.fit_table(frame, "target", budget=300, n_trials=2, n_jobs=1, compare=True).report
    assert [other.name for other in report.others] == ["random forest"]
    assert "XGBoost is not installed, and so not compared with: pip install xgboost." in report.notes
    report.save(tmp_path / "report.html")
    section = Reader((tmp_path / "report.html").read_text()).section("others")
    assert "this model" in section
    assert "at most 8 leaves a tree" in section


def test_a_budget_that_nothing_else_fits_is_no_error(monkeypatch):
    monkeypatch.setattr(_other_models, "LEAVES", (64,))
    frame = load_wine(as_frame=True).frame
    report = bh.fit_table(frame, "target", budget=60, n_trials=2, n_jobs=1, compare=True).report
    assert report.others == ()
    missed = {note for note in report.notes if note.endswith("no model of at most 60 bytes.")}
    there = {name for module, name in _other_models.LIBRARIES.items() if _other_models.find_spec(module) is not None}
    assert missed == {f"{name}: no model of at most 60 bytes." for name in {"random forest"} | there}


def test_it_is_said_for_how_many_splits_a_model_fits(monkeypatch):
    monkeypatch.setattr(_other_models, "LEAVES", (8,))
    monkeypatch.setattr(_other_models, "find_spec", lambda _: None)
    fitted, first = _other_models._fitted, []

    def only_the_first(recipe, X, rows, split, budget):
        first.append(split.number)
        return fitted(recipe, X, rows, split, budget) if split.number == first[0] else None

    monkeypatch.setattr(_other_models, "_fitted", only_the_first)
    frame = load_diabetes(as_frame=True).frame
    report = bh.fit_table(frame, "target", budget=600, n_trials=3, n_jobs=1, compare=True).report
    n_splits = len(set(first))
    assert n_splits > 1
    assert len(report.others[0].scores) == 1
    said = f"random forest: models for 1 of {n_splits} splits only fit, and are compared."
    assert said in report.notes


def test_a_rare_class_is_among_the_rows_that_others_learn_from(monkeypatch):
    monkeypatch.setattr(_other_models, "LEAVES", (8,))
    monkeypatch.setattr(_other_models, "MOST_ROWS", 40)
    random = np.random.default_rng(0)
    frame = load_wine(as_frame=True).frame.drop(columns="target")
    # The rare class has the number in the middle, so that numbers without it have a gap.
    frame["kind"] = random.permutation(np.repeat([0, 1, 2], [88, 2, 88]))
    report = bh.fit_table(frame, "kind", budget=600, n_trials=1, n_jobs=1, compare=True).report
    assert not any("failed" in note for note in report.notes)
    assert "random forest" in {other.name for other in report.others}


def test_a_library_that_fails_is_a_note_and_the_fit_is_kept(monkeypatch):
    monkeypatch.setattr(_other_models, "LEAVES", (8,))

    def broken(*_):
        def grow(*_):
            raise RuntimeError("no such thing")

        return grow

    monkeypatch.setattr(_other_models, "_random_forest", broken)
    frame = load_wine(as_frame=True).frame
    result = bh.fit_table(frame, "target", budget=300, n_trials=1, n_jobs=1, compare=True)
    assert "random forest failed, and so is not compared with: RuntimeError: no such thing" in result.report.notes
    assert result.packed.nbytes <= 300


@pytest.mark.parametrize("grow", ["_xgboost", "_lightgbm"])
@pytest.mark.parametrize("loss", ["quantile", "absolute_error", "huber", "poisson"])
def test_libraries_learn_the_loss_that_they_are_judged_by(grow, loss):
    pytest.importorskip(grow.strip("_"))
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2)).astype(np.float32)
    y = random.exponential(np.exp(X[:, 0]))  # skewed, so that means, medians and quantiles differ
    weight = np.ones(400)
    learned = RegressionLoss(loss, 0.9)
    asked, squares = (
        getattr(_other_models, grow)(3 if grow == "_xgboost" else 8, 0, 0, each)(X, y, weight, 15)
        for each in (learned, RegressionLoss())
    )
    if loss == "poisson":
        assert as_forest(asked).link == "exp"
        return
    quantile = 0.9 if loss == "quantile" else 0.5
    of_asked, of_squares = (np.mean(y <= as_forest(model).predict(X)) for model in (asked, squares))
    assert abs(of_asked - quantile) < 0.04 < abs(of_squares - quantile)


def test_the_forest_is_said_to_have_learned_squares(monkeypatch):
    monkeypatch.setattr(_other_models, "LEAVES", (8,))
    monkeypatch.setattr(_other_models, "find_spec", lambda _: None)
    frame = load_diabetes(as_frame=True).frame
    options = {"budget": 300, "n_trials": 1, "n_jobs": 1, "compare": True}
    said = "The random forest has learned squared errors: it cannot learn loss='absolute_error' here."
    assert said in bh.fit_table(frame, "target", loss="absolute_error", **options).report.notes
    assert not any("squared errors" in note for note in bh.fit_table(frame, "target", **options).report.notes)
