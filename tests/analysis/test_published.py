"""The paper's tables, by what its text says of them."""

import pytest

import billhook as bh


def firsts(name):
    """Return on how many data sets each method is best, alone or not."""
    table = bh.analysis.published(name)
    best = table.eq(table.max(axis="columns"), axis="index").sum()
    return best[best > 0].to_dict()


def test_the_tables_have_all_data_sets_and_methods():
    for name in ("accuracy_below_64KB", "accuracy_below_256KB", "area_under_pareto_front"):
        table = bh.analysis.published(name)
        assert table.shape == (16, 10)
        assert (table.index.name, table.columns.name) == ("data", "method")
        assert ((table > 0.3) & (table < 1)).all(axis=None)


def test_the_methods_that_the_paper_calls_best_are_best():
    assert firsts("accuracy_below_64KB") == {"RF-LR": 9, "RE": 4, "GB": 3, "IE": 1}
    assert firsts("accuracy_below_256KB") == {"RF-LR": 10, "RE": 1, "GB": 2, "IC": 3, "IE": 1}
    assert firsts("area_under_pareto_front") == {"RF-LR": 12, "GB": 1, "IC": 1, "COMP": 1, "RE": 1, "IE": 1}


def test_numbers_are_those_in_print():
    assert bh.analysis.published("accuracy_below_64KB").loc["chess", "RF-LR"] == 0.57382
    assert bh.analysis.published("area_under_pareto_front").loc["postures", "GB"] == 0.9105
    assert bh.analysis.published("eeg_accuracy_by_n_l_and_K").loc[(1024, 128), "IC"] == 0.9317


def test_an_unknown_table_is_refused():
    with pytest.raises(ValueError, match="no table 'accuracy_below_65KB'; did you mean 'accuracy_below_64KB'"):
        bh.analysis.published("accuracy_below_65KB")
    with pytest.raises(ValueError, match="no table 'x'; there are accuracy_below_64KB, "):
        bh.analysis.published("x")


def test_a_table_that_is_changed_does_not_change_the_next():
    table = bh.analysis.published("area_under_pareto_front")
    table.loc[:, :] = 0
    assert bh.analysis.published("area_under_pareto_front").loc["eeg", "RF-LR"] == 0.9319
