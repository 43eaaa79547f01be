"""Against scipy and statsmodels, which compute the same tests in other ways."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

import billhook as bh
from billhook.analysis._comparison import cliques, holm, signed_rank_p


def scores(values, methods=None):
    values = np.asarray(values, float)
    names = methods or [f"m{k}" for k in range(values.shape[1])]
    return pd.DataFrame(values, columns=list(names), index=[f"set {k}" for k in range(len(values))])


def drawn(n_data, n_methods, seed=0, levels=None, apart=1.0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_data, n_methods)) + apart * np.arange(n_methods)
    return np.round(values * levels) if levels else values


@pytest.mark.parametrize("levels", [None, 1, 3])
@pytest.mark.parametrize(("n_data", "n_methods"), [(4, 3), (16, 10), (30, 5)])
def test_friedman_is_that_of_scipy(n_data, n_methods, levels):
    values = drawn(n_data, n_methods, levels=levels)
    compared = bh.analysis.compare(scores(values))
    expected = stats.friedmanchisquare(*values.T)
    assert compared.friedman_statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert compared.friedman_p == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 16, 50])
def test_wilcoxon_without_ties_is_the_exact_one_of_scipy(n):
    for seed in range(10):
        d = np.random.default_rng(seed).normal(0.3, 1, n)
        assert signed_rank_p(d) == pytest.approx(stats.wilcoxon(d, method="exact").pvalue, rel=1e-9)


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9).filter(any))
def test_wilcoxon_with_ties_and_zeros_is_that_of_all_permutations(differences):
    every = stats.PermutationMethod(n_resamples=10_000)  # of at most 2**9: all of them
    expected = stats.wilcoxon(differences, zero_method="pratt", method=every).pvalue
    assert signed_rank_p(differences) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("levels", [None, 2])
def test_wilcoxon_on_many_data_sets_is_the_approximation_of_scipy(levels):
    d = np.random.default_rng(0).normal(0.1, 1, 150)
    d = np.round(d * levels) if levels else d
    expected = stats.wilcoxon(d, zero_method="pratt", correction=False, method="approx").pvalue
    assert signed_rank_p(d) == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_worked_out_by_hand():
    # Ranks 1 to 4, the 1 negative: sums of at most 1 are 0 and 1, two of the 16 choices of signs, on both sides.
    assert signed_rank_p([-1, 2, 3, 4]) == 4 / 16
    # A zero takes the rank 1: ranks 2, 3 and 4, all positive, one of the 8 choices of signs, on both sides.
    assert signed_rank_p([0, 2, 3, 4]) == 2 / 8
    assert signed_rank_p([0, 0]) == 1.0


@settings(max_examples=25)
@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.04, 0.5, 1.0]), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p):
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], rel=1e-12)


def test_holm_worked_out_by_hand():
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] < pair[1])))
def test_cliques_are_the_longest_runs_without_a_difference(different):
    order = list("abcdef")
    pairs = {frozenset((order[i], order[j])) for i, j in different}
    runs = [order[i:j] for i, j in itertools.combinations(range(7), 2) if j - i > 1]
    alike = [run for run in runs if not any(frozenset(p) in pairs for p in itertools.combinations(run, 2))]
    longest = [tuple(run) for run in alike if not any(set(run) < set(other) for other in alike)]
    assert cliques(order, pairs) == longest


def test_the_pairs_are_those_of_scipy_and_statsmodels():
    values = drawn(16, 4, apart=0.5)
    compared = bh.analysis.compare(scores(values, "abcd"))
    table = scores(values, "abcd")
    expected = [
        stats.wilcoxon(table[a], table[b]).pvalue
        for a, b in zip(compared.pairs["first"], compared.pairs["second"], strict=True)
    ]
    assert compared.pairs["p"].tolist() == pytest.approx(expected, rel=1e-9)
    assert compared.pairs["p_holm"].tolist() == pytest.approx(multipletests(expected, method="holm")[1], rel=1e-9)
    assert compared.pairs["differs"].tolist() == [p <= 0.05 for p in compared.pairs["p_holm"]]
    assert 0 < compared.pairs["differs"].sum() < 6
    assert compared.mean_ranks.is_monotonic_increasing
    places = {name: k for k, name in enumerate(compared.mean_ranks.index)}
    assert all(places[a] < places[b] for a, b in zip(compared.pairs["first"], compared.pairs["second"], strict=True))


def test_the_papers_areas_give_the_papers_ranks():
    compared = bh.analysis.compare(bh.analysis.published("area_under_pareto_front"))
    assert list(compared.mean_ranks.index[:3]) == ["RF-LR", "IC", "RE"]
    assert compared.mean_ranks.index[-1] == "CA"
    assert compared.mean_ranks["RF-LR"] == pytest.approx(1.5, abs=0.05)
    assert compared.mean_ranks["IC"] == pytest.approx(2.5, abs=0.25)
    assert compared.mean_ranks["RE"] == pytest.approx(4, abs=0.25)
    assert compared.friedman_p < 1e-10
    better = compared.pairs[(compared.pairs["first"] == "RF-LR") & compared.pairs["differs"]]["second"]
    assert {"RE", "IE", "COMP", "LMD", "DREP", "RF", "GB", "CA"} <= set(better)
    assert (compared.n_data, compared.left_out) == (16, ())


def test_the_cliques_of_the_papers_areas():
    compared = bh.analysis.compare(bh.analysis.published("area_under_pareto_front"))
    assert compared.cliques == [("IC", "RE"), ("RE", "IE", "COMP"), ("LMD", "GB", "DREP", "RF")]


def test_numbers_with_few_digits_keep_their_ties():
    # As printed, the two differ by 0.1 in every row, up and down; in binary by slightly different numbers.
    first, second = [0.3, 0.4, 0.7, 0.9], [0.2, 0.5, 0.8, 0.8]
    assert len(set(np.abs(np.subtract(first, second)))) > 1
    compared = bh.analysis.compare(scores(np.transpose([first, second])))
    assert compared.pairs["p"].tolist() == [1.0]


def test_nothing_differs_unless_friedmans_test_finds_a_difference():
    rng = np.random.default_rng(3)
    alike = bh.analysis.compare(scores(rng.normal(size=(9, 4))))
    assert alike.friedman_p > 0.05
    assert not alike.pairs["differs"].any()
    assert alike.cliques == [tuple(alike.mean_ranks.index)]


def test_friedmans_test_can_veto_wilcoxons():
    # The first beats the second by a little, on all sets; the third is far above or below both in turn.
    n = 12
    second = np.arange(n, dtype=float)
    values = np.column_stack([second + 0.01 * (1 + second), second, second + np.where(np.arange(n) % 2, 50, -50)])
    alpha = 0.01
    compared = bh.analysis.compare(scores(values), alpha=alpha)
    assert compared.pairs["p_holm"].min() <= alpha < compared.friedman_p
    assert not compared.pairs["differs"].any()


def test_two_methods_are_compared_by_wilcoxons_test_alone():
    compared = bh.analysis.compare(scores([[k + 1.0, k + 0.5 - 0.01 * k] for k in range(6)], "ab"))
    assert np.isnan(compared.friedman_statistic)
    assert np.isnan(compared.friedman_p)
    assert compared.pairs["p"].tolist() == [2 * 0.5**6]
    assert compared.pairs["differs"].tolist() == [True]
    assert compared.cliques == []


@pytest.mark.parametrize(("n_methods", "n_data"), [(2, 6), (10, 11)])
def test_fewer_data_sets_than_documented_cannot_show_a_difference(n_methods, n_data):
    def compared(n):
        return bh.analysis.compare(
            scores(np.arange(n)[:, None] + np.arange(n_methods) * (1 + 0.01 * np.arange(n)[:, None]))
        )

    assert compared(n_data).pairs["differs"].any()
    assert not compared(n_data - 1).pairs["differs"].any()


def test_methods_that_are_equal_everywhere_do_not_differ():
    compared = bh.analysis.compare(scores(np.full((8, 4), 0.5)))
    assert (compared.friedman_statistic, compared.friedman_p) == (0.0, 1.0)
    assert compared.pairs["p_holm"].tolist() == [1.0] * 6
    assert compared.cliques == [("m0", "m1", "m2", "m3")]


def test_data_sets_on_which_a_method_has_no_score_are_left_out():
    values = drawn(10, 3)
    values[4, 1] = np.nan
    compared = bh.analysis.compare(scores(values))
    without = bh.analysis.compare(scores(values).drop(index="set 4"))
    assert (compared.n_data, compared.left_out) == (9, ("set 4",))
    assert compared.friedman_p == without.friedman_p
    pd.testing.assert_frame_equal(compared.pairs, without.pairs)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="needs at least two methods; there is only 'm0'"):
        bh.analysis.compare(scores([[1], [2]]))
    with pytest.raises(
        ValueError, match="needs at least two data sets on which every method has a score; there is only 'set 1'"
    ):
        bh.analysis.compare(scores([[1, np.nan, 2], [1, 2, 3]]))
    with pytest.raises(ValueError, match="alpha must be between 0 and 1, not 5"):
        bh.analysis.compare(scores([[1, 2], [3, 4]]), alpha=5)
