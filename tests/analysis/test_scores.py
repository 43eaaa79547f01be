import numpy as np
import pandas as pd
import pytest

import billhook as bh


def scores(rows, methods="ABC"):
    return pd.DataFrame(rows, columns=list(methods), index=[f"set {k}" for k in range(len(rows))])


def test_ranks_worked_out_by_hand():
    ranks = bh.analysis.rank(scores([[0.9, 0.8, 0.7], [0.5, 0.7, 0.7], [0.6, 0.6, 0.6]]))
    assert ranks.to_numpy().tolist() == [[1, 2, 3], [3, 1.5, 1.5], [2, 2, 2]]


def test_scores_that_differ_in_the_last_bits_are_equal():
    assert (0.1 + 0.2, (0.1 + 0.2) * 100) != (0.3, 30.0)
    for unit in (1e-6, 1.0, 100.0, 1e6):
        table = scores([[(0.1 + 0.2) * unit, 0.3 * unit, 0.7 * unit]])
        assert bh.analysis.rank(table).to_numpy().tolist() == [[2.5, 2.5, 1]]
        assert bh.analysis.wins(table).loc["A", "B"] == "0/1/0"


def test_scores_that_differ_in_the_seventh_digit_are_not_equal():
    assert bh.analysis.rank(scores([[0.9000001, 0.9, 0.1]])).to_numpy().tolist() == [[1, 2, 3]]


def test_a_data_set_on_which_a_method_has_no_score_has_no_ranks():
    ranks = bh.analysis.rank(scores([[0.9, np.nan, 0.7], [0.5, 0.6, 0.7]]))
    assert ranks.index.tolist() == ["set 1"]
    assert ranks.to_numpy().tolist() == [[3, 2, 1]]


def test_one_method_is_always_first():
    assert bh.analysis.rank(scores([[0.9], [0.1]], "A")).to_numpy().tolist() == [[1], [1]]


def test_wins_worked_out_by_hand():
    table = scores([[3, 1, 2], [2, 2, 1], [1, 3, 2], [5, 1, np.nan]])
    wins = bh.analysis.wins(table)
    assert (wins.index.name, wins.columns.name) == ("method", "against")
    assert wins.to_numpy().tolist() == [["", "2/1/1", "2/0/1"], ["1/1/2", "", "2/0/1"], ["1/0/2", "1/0/2", ""]]


def test_scores_that_cannot_be_ranked_are_refused():
    with pytest.raises(ValueError, match=r"'B' has none on 2 of 2.*scores.drop\(columns='B'\)"):
        bh.analysis.rank(scores([[1, np.nan, 3], [np.nan, np.nan, 3]]))
    with pytest.raises(ValueError, match="the score of 'C' on 'set 0' is inf"):
        bh.analysis.rank(scores([[1, 2, np.inf]]))
    with pytest.raises(ValueError, match="it has 0 rows and 3 columns"):
        bh.analysis.rank(scores([]))
    with pytest.raises(ValueError, match="the method 'A' is in the table of scores more than once"):
        bh.analysis.rank(scores([[1, 2]], "AA"))
    with pytest.raises(TypeError, match="with a row per data set, not list"):
        bh.analysis.rank([[1, 2]])
