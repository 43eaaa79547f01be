import numpy as np
import pandas as pd
import pytest

import billhook as bh
from made_up_studies import run, study

COLUMNS = ["data", "method", "base", "options", "n_leaves", "n_trees", "accuracy", "spread", "nbytes", "n_folds"]


def test_a_configuration_has_the_mean_over_its_folds():
    rows = [run(accuracy=a, nbytes=b, fold=f) for f, (a, b) in enumerate([(0.8, 100), (0.9, 300), (0.85, 200)])]
    (row,) = bh.analysis.configurations(pd.DataFrame(rows)).to_dict("records")
    assert list(row) == COLUMNS
    assert row["accuracy"] == pytest.approx(0.85)
    assert row["spread"] == pytest.approx(0.05)  # sqrt((0.05**2 + 0.05**2 + 0) / 2)
    assert row["nbytes"] == 200
    assert row["n_folds"] == 3


def test_configurations_differ_in_options_and_shape():
    rows = [
        run(method="DREP", options='{"rho": 0.3}'),
        run(method="DREP", options='{"rho": 0.5}'),
        run(n_trees=16),
        run(),
    ]
    assert len(bh.analysis.configurations(pd.DataFrame(rows))) == 4


def test_only_runs_that_are_done_and_have_numbers_count():
    rows = [
        run(accuracy=0.5, fold=0),
        run(accuracy=np.nan, fold=1, status="failed", reason="no memory"),
        run(accuracy=0.1, fold=2, status="timed_out"),
        run(accuracy=np.nan, fold=3),
        run(accuracy=0.2, fold=4, size_paper=np.nan),
    ]
    (row,) = bh.analysis.configurations(pd.DataFrame(rows)).to_dict("records")
    assert (row["accuracy"], row["n_folds"]) == (0.5, 1)
    assert np.isnan(row["spread"])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_methods_without_leaves_and_trees_have_configurations_too(missing):
    rows = [
        run(method="budget search", n_leaves=missing, n_trees=missing, options=f'{{"budget": {b}}}', fold=f)
        for b in (1, 2)
        for f in (0, 1)
    ]
    table = bh.analysis.configurations(pd.DataFrame([*rows, run()]))
    assert len(table) == 3
    assert table["n_leaves"].isna().sum() == 2
    assert table["n_leaves"].dropna().tolist() == [64]


def test_the_size_is_that_which_is_asked_for():
    results = pd.DataFrame([run(size_paper=10, size_published=20, size_packed=3)])
    assert [
        bh.analysis.configurations(results, size=s)["nbytes"][0] for s in ("paper", "as_published", "packed")
    ] == [
        10,
        20,
        3,
    ]
    with pytest.raises(ValueError, match="there is no size 'packd'; did you mean 'packed'"):
        bh.analysis.configurations(results, size="packd")


def test_methods_are_named_after_the_forest_where_there_are_several_kinds():
    rows = [run(method=m, base=b) for m in ("RF", "RE") for b in ("random_forest", "extra_trees")] + [
        run(method="GB")
    ]
    assert set(bh.analysis.configurations(pd.DataFrame(rows))["method"]) == {
        "GB", "extra_trees RE", "extra_trees RF", "random_forest RE", "random_forest RF",
    }  # fmt: skip
    alone = [row for row in rows if row["base"] != "extra_trees"]
    assert set(bh.analysis.configurations(pd.DataFrame(alone))["method"]) == {"GB", "RE", "RF"}


def test_the_order_of_the_rows_does_not_matter():
    results = study()
    shuffled = results.sample(frac=1, random_state=0)
    left, right = bh.analysis.configurations(results), bh.analysis.configurations(shuffled)
    pd.testing.assert_frame_equal(left, right)


def test_the_results_are_not_changed():
    results = study(data=["eeg"])
    before = results.copy(deep=True)
    bh.analysis.configurations(results)
    pd.testing.assert_frame_equal(results, before)


def test_results_that_cannot_be_analysed_are_refused():
    good = run()
    with pytest.raises(ValueError, match=r"none of the 2 runs is done \(1 failed, 1 skipped\)"):
        bh.analysis.configurations(pd.DataFrame([run(status="failed"), run(status="skipped")]))
    with pytest.raises(ValueError, match="no run that is done has both an accuracy and a size_packed"):
        bh.analysis.configurations(pd.DataFrame([good]), size="packed")
    with pytest.raises(ValueError, match=r"1 runs are in the results more than once.*drop_duplicates"):
        bh.analysis.configurations(pd.DataFrame([good, good]))
    with pytest.raises(ValueError, match="the results lack the column 'status'"):
        bh.analysis.configurations(pd.DataFrame([good]).drop(columns="status"))
    with pytest.raises(TypeError, match="results must be a pandas DataFrame, not list"):
        bh.analysis.configurations([good])


def test_the_second_run_of_a_fold_that_failed_first_is_no_duplicate():
    rows = [run(status="failed", accuracy=np.nan), run(accuracy=0.7)]
    assert bh.analysis.configurations(pd.DataFrame(rows))["accuracy"].tolist() == [0.7]
