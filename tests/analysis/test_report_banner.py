"""A page whose runs are not all there says so before any number."""

import numpy as np
import pandas as pd
import pytest

from billhook.analysis import write_report
from made_up_studies import run, study
from pages import HOSTILE, Reader

RESULTS = study(("eeg", "chess", "magic"), ("RF", "RE"), folds=3, trees=(8,))
SETS = [f"set {k}" for k in range(8)]


@pytest.fixture
def page(tmp_path):
    def page(results, **about):
        return Reader(write_report(results, tmp_path / "report.html", about=about).read_text("utf-8"))

    return page


def said(read):
    """Return what is said of missing runs, and of missing folds."""
    return [[one["text"] for one in read.all("p", class_=kind)] for kind in ("banner", "banner uneven")]


def facts(read):
    return dict(zip((t["text"] for t in read.all("dt")), (d["text"] for d in read.all("dd")), strict=True))


def test_an_unfinished_study_says_so_below_its_title(page):
    read = page(RESULTS, runs=2840)
    [words] = read.all("p", role="status")
    assert words["text"] == ("Unfinished: 54 of 2,840 runs have finished; all comparisons use these runs only.")
    tags = [element["tag"] for element in read.elements]
    assert read.elements.index(words) == tags.index("h1") + 1
    assert facts(read)["Runs"] == "54: 54 done"


@pytest.mark.parametrize("runs", [54, 53, 0, -1, None, True, 99.5, "100"])
def test_a_study_of_no_known_number_of_runs_or_of_all_is_not_unfinished(runs, page):
    assert not page(RESULTS, runs=runs).all("p", role="status")


def test_runs_that_are_not_done_are_there_and_the_overview_counts_them_by_status(page):
    table = RESULTS.copy()
    table.loc[table.index[:3], ["status", "accuracy"]] = ["failed", np.nan]
    assert not page(table, runs=54).all("p", role="status")
    assert facts(page(table, runs=np.int64(54)))["Runs"] == "54: 51 done, 3 failed"


def test_a_number_of_runs_in_words_is_told_as_it_is(page):
    assert facts(page(RESULTS, runs="about a hundred"))["Runs"] == "about a hundred"


def test_one_run_has_finished(page):
    [words] = page(RESULTS[:1], runs=2).all("p", role="status")
    assert words["text"].startswith("Unfinished: 1 of 2 runs has finished; ")


def test_runs_that_are_counted_elsewhere_are_there(page):
    part = RESULTS[RESULTS["method"] == "RE"]
    assert not page(part, runs=54, counts={"done": 50, "failed": 4}).all("p", role="status")
    [words] = page(part, runs=54, counts={"done": 50}).all("p", role="status")
    assert words["text"].startswith("Unfinished: 50 of 54 runs ")


def test_where_all_configurations_have_the_same_folds_nothing_is_said_of_them(page):
    assert said(page(RESULTS)) == [[], []]
    # Another data set has fewer, and each is complete in itself.
    assert said(page(RESULTS[(RESULTS["data"] != "eeg") | (RESULTS["fold"] == 0)])) == [[], []]


def test_configurations_without_folds_that_others_have_are_counted_and_their_data_sets_named(page):
    lost = (RESULTS["method"] == "RE") & (RESULTS["fold"] == 2) & (RESULTS["data"] != "magic")
    words = [
        "6 configurations lack folds that others on the same data set have; their means are over fewer folds. "
        "Affected data sets: chess and eeg."
    ]
    assert said(page(RESULTS[~lost])) == [[], words]
    failed = RESULTS.copy()
    failed.loc[lost, "status"] = "failed"
    assert said(page(failed))[1] == words
    unsized = RESULTS.astype({"size_paper": float})
    unsized.loc[lost, "size_paper"] = np.nan
    assert said(page(unsized))[1] == words


def test_one_configuration_without_a_fold_is_told(page):
    assert said(page(RESULTS.drop(RESULTS.index[0])))[1] == [
        "1 configuration lacks folds that others on the same data set have; its mean is over fewer folds. "
        "Affected data sets: eeg."
    ]


def test_as_many_folds_are_not_the_same_folds(page):
    rows = [run(method=name, fold=fold) for name, folds in (("A", (0, 1)), ("B", (1, 2))) for fold in folds]
    assert said(page(pd.DataFrame(rows)))[1][0].startswith("2 configurations lack folds")


@pytest.mark.parametrize(
    ("n", "names"),
    [
        (5, "set 0, set 1, set 2, set 3 and set 4"),
        (6, "set 0, set 1, set 2, set 3, set 4 and 1 more"),
        (8, "set 0, set 1, set 2, set 3, set 4 and 3 more"),
    ],
)
def test_of_many_data_sets_a_few_are_named(n, names, page):
    rows = [run(data, "A", fold=fold) for data in SETS for fold in range(2)]
    rows += [run(data, "B", fold=fold) for k, data in enumerate(SETS) for fold in range(1 if k < n else 2)]
    assert said(page(pd.DataFrame(rows)))[1][0].endswith(f"Affected data sets: {names}.")


def test_names_are_text_whatever_they_are(page):
    hostile = RESULTS.replace({"data": {"eeg": HOSTILE}})
    assert f"Affected data sets: {HOSTILE}." in said(page(hostile.drop(hostile.index[0])))[1][0]


def test_data_sets_in_a_categorical_column_are_named_too(page):
    table = RESULTS.drop(RESULTS.index[0]).astype({"data": "category"})
    assert said(page(table))[1][0].endswith("Affected data sets: eeg.")
