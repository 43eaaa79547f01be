import numpy as np
import pandas as pd
import pytest

import billhook as bh


def test_a_table_worked_out_by_hand():
    table = pd.DataFrame({"RF": [0.5, 0.25], "RF_LR": [0.75, np.nan]}, index=pd.Index(["eeg", "a&b"], name="data"))
    assert bh.analysis.to_latex(table, caption="Accuracy.", label="tab:x", digits=2) == (
        "\\begin{table}\n\\centering\n\\caption{Accuracy.}\\label{tab:x}\n\\begin{tabular}{lrr}\n\\toprule\n"
        "data & RF & RF\\_LR \\\\\n\\midrule\n"
        "eeg & 0.50 & \\textbf{0.75} \\\\\n"
        "a\\&b & \\textbf{0.25} & -- \\\\\n"
        "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    )


def rows_of(table, **about):
    latex = bh.analysis.to_latex(table, caption="", label="", **about)
    return latex.split("\\midrule\n")[1].split("\\bottomrule")[0].splitlines()


def test_all_that_look_best_are_bold():
    row = pd.DataFrame([[0.95261, 0.95258, 0.9525]], index=["mozilla"])
    assert rows_of(row) == [r"mozilla & \textbf{0.9526} & \textbf{0.9526} & 0.9525 \\"]
    assert rows_of(row, digits=5) == [r"mozilla & \textbf{0.95261} & 0.95258 & 0.95250 \\"]


def test_the_smallest_or_nothing_may_be_bold():
    row = pd.DataFrame([[1.5, 2.0]], index=["eeg"])
    assert rows_of(row, digits=1, best="smallest") == [r"eeg & \textbf{1.5} & 2.0 \\"]
    assert rows_of(row, digits=1, best=None) == [r"eeg & 1.5 & 2.0 \\"]
    with pytest.raises(ValueError, match="best cannot be 'larges'; did you mean 'largest'"):
        rows_of(row, best="larges")
    with pytest.raises(ValueError, match="digits must be 0 or more, not -1"):
        rows_of(row, digits=-1)


def test_the_paper_bolds_the_same_numbers():
    table = bh.analysis.published("area_under_pareto_front").loc[["mozilla", "satimage"]]
    mozilla, satimage = rows_of(table)
    assert mozilla.count("textbf") == 2
    assert r"\textbf{0.9150}" in satimage


def test_rows_under_the_same_name_stand_together():
    index = pd.MultiIndex.from_tuples([(64, 8), (64, 32), (128, 8)], names=["n_leaves", "n_trees"])
    table = pd.DataFrame({"RF": [0.1, 0.2, 0.3]}, index=index)
    assert rows_of(table, digits=1) == [
        r"64 & 8 & \textbf{0.1} \\",
        r" & 32 & \textbf{0.2} \\",
        r"\addlinespace",
        r"128 & 8 & \textbf{0.3} \\",
    ]


def test_words_whole_numbers_and_truths_are_printed_as_they_are():
    table = pd.DataFrame({"options": ['{"rho": 0.3}'], "n": [8], "k": pd.array([None], "Int64"), "differs": [True]})
    assert rows_of(table) == [r'0 & \{"rho": 0.3\} & 8 & -- & yes \\']


def test_a_long_table_goes_over_several_pages():
    latex = bh.analysis.to_latex(pd.DataFrame({"x": np.arange(61.0)}), caption="Long.", label="l")
    assert latex.startswith("\\begin{longtable}{lr}\n\\caption{Long.}\\label{l}\\\\\n\\toprule")
    assert latex.count(r"\textbf") == 61
