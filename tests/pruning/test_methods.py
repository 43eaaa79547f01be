"""Every fast method against its twin in naive/pruning.py, on forests with ties, perfect trees and constant trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import cohen_kappa_score, roc_auc_score

import billhook as bh
import naive.pruning
from billhook.pruning import _evaluation, _programming, _ranking
from made_up import random_forest, tricky_rows

TWINS = {
    "individual_error": {},
    "individual_contribution": {},
    "kappa": {},
    "reference_vector": {},
    "error_ambiguity": {},
    "margin_diversity": {"alpha": 0.3},
    "individual_auc": {},
    "reduced_error": {},
    "complementariness": {},
    "drep": {"rho": 0.3},
    "margin_distance": {"p": 0.1},
    "ensemble_auc": {},
}
NESTED = [method.name for method in bh.pruning_methods() if method.nested and "score" not in method.options]
NAMED = [method.name for method in bh.pruning_methods() if not {"score", "pair"} & set(method.options)]


# The steps of a stochastic descent depend on the order of the rows.
OF_ROWS_IN_ANY_ORDER = [name for name in NAMED if name != "proximal"]


def fractions(rng, forest):
    """Give every node the class shares of a few made-up rows: many ties, many pure leaves."""
    counts = rng.multinomial(rng.integers(1, 4), np.ones(forest.n_classes) / forest.n_classes, forest.n_nodes)
    return forest.with_values(counts / counts.sum(axis=1, keepdims=True))


@st.composite
def judged(draw, max_trees=12, max_rows=30):
    """Return a forest, rows, and labels: random ones, or what one of the trees says, which is then perfect."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_trees = draw(st.integers(1, max_trees))
    n_classes = draw(st.integers(2, 5))
    sizes = rng.choice([0, 1, 3, 8], n_trees)
    forest = fractions(rng, random_forest(rng, sizes=sizes, n_classes=n_classes))
    base = rng.choice([0.0, 0.0, 0.25], n_classes)  # mostly none
    forest = bh.Forest(**{**forest.__getstate__(), "base": base})
    X = tricky_rows(rng, draw(st.integers(1, max_rows)), 3)
    if draw(st.booleans()):
        y = forest.select([int(rng.integers(n_trees))]).predict(X)
    else:
        y = rng.choice(forest.classes, len(X))
    return forest, X, y


def as_codes(forest, y):
    return [forest.classes.tolist().index(label) for label in y.tolist()]


@pytest.mark.parametrize("method", TWINS)
@given(judged())
def test_the_order_is_that_of_the_formula(method, case):
    forest, X, y = case
    options = TWINS[method]
    expected = getattr(naive.pruning, method)(
        naive.pruning.probability_lists(forest, X), as_codes(forest, y), **options
    )
    assert bh.pruning_order(forest, X, y, method=method, **options).tolist() == expected


@settings(max_examples=8)
@pytest.mark.parametrize("method", [name for name in TWINS if name != "ensemble_auc"])  # whose twin takes minutes
@given(judged(max_trees=40, max_rows=20))
def test_the_order_of_forty_trees_is_that_of_the_formula(method, case):
    forest, X, y = case
    expected = getattr(naive.pruning, method)(naive.pruning.probability_lists(forest, X), as_codes(forest, y))
    assert bh.pruning_order(forest, X, y, method=method).tolist() == expected


@given(judged())
def test_kappa_by_the_smallest_is_that_of_the_formula(case):
    forest, X, y = case
    expected = naive.pruning.kappa(naive.pruning.probability_lists(forest, X), as_codes(forest, y), pairing="min")
    assert bh.pruning_order(forest, X, y, method="kappa", pairing="min").tolist() == expected


@given(judged(), st.integers(1, 12), st.sampled_from(["pairwise_error", "combined_diversity"]))
def test_programming_finds_the_best_choice_there_is(case, n_trees, method):
    forest, X, y = case
    n_trees = min(n_trees, forest.n_trees)
    P = naive.pruning.probability_lists(forest, X)
    pair = getattr(naive.pruning, f"{method}_matrix")(P, as_codes(forest, y))
    _, report = bh.prune(forest, X, y, method=method, n_trees=n_trees, random_state=0, return_report=True)
    chosen = report.trees.tolist()
    found = sum(pair[i][j] for i in chosen for j in chosen)
    best = naive.pruning.quadratic_choice([0.0] * len(P), pair, n_trees)
    assert len(set(chosen)) == n_trees
    assert found == pytest.approx(best, abs=1e-9)
    assert report.objective == pytest.approx(best, abs=1e-9)
    assert report.gap is None


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
@given(judged(), st.integers(1, 12))
def test_alpha_weighs_pairs_against_single_errors(alpha, case, n_trees):
    forest, X, y = case
    n_trees = min(n_trees, forest.n_trees)
    P = naive.pruning.probability_lists(forest, X)
    codes = as_codes(forest, y)
    errors = [naive.pruning.errors_of([tree], codes, [0]) / len(y) for tree in P]
    pair = naive.pruning.combined_diversity_matrix(P, codes)
    best = naive.pruning.quadratic_choice(
        [(1 - alpha) * error for error in errors], [[alpha * entry for entry in row] for row in pair], n_trees
    )
    about = {"method": "combined_diversity", "n_trees": n_trees, "alpha": alpha, "random_state": 0}
    _, report = bh.prune(forest, X, y, **about, return_report=True)
    assert report.objective == pytest.approx(best, abs=1e-9)


@given(judged())
def test_kappa_and_areas_are_scikit_learns(case):
    forest, X, y = case
    rows = _evaluation.evaluate_trees(forest, X, y, None)
    agreement = _ranking.kappa_matrix(rows)
    for i in range(forest.n_trees):
        for j in range(forest.n_trees):
            if len(set(rows.votes[i]) | set(rows.votes[j])) > 1:  # scikit-learn has none for two constant trees
                assert agreement[i, j] == pytest.approx(cohen_kappa_score(rows.votes[i], rows.votes[j]), abs=1e-12)
    if len(set(y)) == forest.n_classes:
        for tree, area in enumerate(-_ranking.individual_auc(rows)):
            p = rows.leaf_value(tree)[rows.leaf[tree]]
            each = [roc_auc_score(rows.y == c, p[:, c]) for c in range(forest.n_classes)]
            assert area == pytest.approx(np.mean(each))


@pytest.mark.parametrize("method", NESTED)
@given(judged())
def test_the_choice_of_few_is_the_start_of_the_choice_of_many(method, case):
    forest, X, y = case
    order = bh.pruning_order(forest, X, y, method=method, random_state=0)
    assert sorted(order.tolist()) == list(range(forest.n_trees))
    for k in {1, forest.n_trees // 2 + 1, forest.n_trees}:
        few = bh.pruning_order(forest, X, y, method=method, n_trees=k, random_state=0)
        assert few.tolist() == order[:k].tolist()
        assert bh.prune(forest, X, y, method=method, n_trees=k, random_state=0) == forest.select(order[:k])


@pytest.mark.parametrize("method", OF_ROWS_IN_ANY_ORDER)
@given(judged(), st.integers(0, 2**32))
def test_neither_the_order_of_rows_nor_repeating_them_matters(method, case, seed):
    forest, X, y = case
    n_trees = forest.n_trees // 2 + 1
    expected = bh.prune(forest, X, y, method=method, n_trees=n_trees, random_state=0)
    shuffled = np.random.default_rng(seed).permutation(len(y))
    assert bh.prune(forest, X[shuffled], y[shuffled], method=method, n_trees=n_trees, random_state=0) == expected
    twice = np.repeat(np.arange(len(y)), 2)
    assert bh.prune(forest, X[twice], y[twice], method=method, n_trees=n_trees, random_state=0) == expected


@pytest.mark.parametrize("method", OF_ROWS_IN_ANY_ORDER)
@given(judged(), st.integers(0, 2**32))
def test_weights_of_whole_numbers_are_repetitions(method, case, seed):
    forest, X, y = case
    weight = np.random.default_rng(seed).integers(0, 3, len(y))
    weight[0] = 1
    n_trees = forest.n_trees // 2 + 1
    repeated = np.repeat(np.arange(len(y)), weight)
    expected = bh.prune(forest, X[repeated], y[repeated], method=method, n_trees=n_trees, random_state=0)
    assert bh.prune(forest, X, y, method=method, n_trees=n_trees, sample_weight=weight, random_state=0) == expected


@pytest.mark.parametrize("method", NAMED)
@given(judged())
def test_other_names_for_the_classes_change_nothing(method, case):
    forest, X, y = case
    names = np.array([f"class {label:04d}" for label in forest.classes])
    renamed = bh.Forest(**{**forest.__getstate__(), "classes": names})
    labels = names[as_codes(forest, y)]
    n_trees = forest.n_trees // 2 + 1
    expected = bh.prune(forest, X, y, method=method, n_trees=n_trees, random_state=0)
    pruned = bh.prune(renamed, X, labels, method=method, n_trees=n_trees, random_state=0)
    assert bh.Forest(**{**pruned.__getstate__(), "classes": forest.classes}) == expected


def test_swaps_find_what_every_choice_would_on_larger_problems():
    rng = np.random.default_rng(0)
    for _ in range(5):
        pair = rng.normal(size=(16, 16))
        pair += pair.T
        single = rng.normal(size=16)
        chosen = _programming.minimise(single, pair, 5, _programming.QuadraticSearch("swaps", 20, 1.0, 0)).trees
        found = single[chosen].sum() + pair[np.ix_(chosen, chosen)].sum()
        assert found == pytest.approx(naive.pruning.quadratic_choice(single, pair, 5))


def test_scip_proves_what_swaps_find():
    pytest.importorskip("pyscipopt", reason="PySCIPOpt, the extra scip, is not installed")
    rng = np.random.default_rng(0)
    for n, k in ((8, 3), (14, 5)):
        pair = rng.normal(size=(n, n))
        pair += pair.T
        single = rng.normal(size=n)
        proven = _programming.minimise(single, pair, k, _programming.QuadraticSearch("scip", 0, 60.0, 0))
        assert proven.gap == 0.0
        assert proven.objective == pytest.approx(naive.pruning.quadratic_choice(single, pair, k))
        found = single[proven.trees].sum() + pair[np.ix_(proven.trees, proven.trees)].sum()
        assert found == pytest.approx(proven.objective)


def test_scip_says_how_far_it_came_in_its_time():
    pytest.importorskip("pyscipopt", reason="PySCIPOpt, the extra scip, is not installed")
    rng = np.random.default_rng(0)
    pair = rng.normal(size=(60, 60))
    pair += pair.T
    search = _programming.QuadraticSearch("scip", 3, 1.0, 0)
    stopped = _programming.minimise(np.zeros(60), pair, 20, search)
    by_swaps = _programming.minimise(np.zeros(60), pair, 20, search._replace(solver="swaps"))
    assert stopped.gap > 0.0
    assert stopped.objective <= by_swaps.objective + 1e-9
    assert len(set(stopped.trees.tolist())) == 20


@pytest.mark.parametrize("method", ["reduced_error", "complementariness", "drep", "ensemble_auc", "proximal"])
def test_long_methods_tell_how_far_they_are(method):
    rng = np.random.default_rng(0)
    forest = fractions(rng, random_forest(rng, sizes=[3] * 6))
    X = tricky_rows(rng, 20, 3)
    told = []
    bh.prune(
        forest, X, rng.choice(forest.classes, 20), method=method, n_trees=4, progress=lambda *step: told.append(step)
    )
    steps = told[-1][1]
    assert told == [(k, steps) for k in range(1, steps + 1)]


@pytest.mark.parametrize("method", OF_ROWS_IN_ANY_ORDER)
@given(judged(), st.integers(0, 2**32))
def test_fractions_as_weights_have_no_rounding(method, case, seed):
    forest, X, y = case
    rng = np.random.default_rng(seed)
    weight = rng.choice([0, 1, 2, 4], len(y))
    weight[0] = 4
    about = {"method": method, "n_trees": forest.n_trees // 2 + 1, "random_state": 0}
    expected = bh.prune(forest, X, y, sample_weight=weight, **about)
    shuffled = rng.permutation(len(y))
    assert bh.prune(forest, X[shuffled], y[shuffled], sample_weight=(weight / 40)[shuffled], **about) == expected


@pytest.mark.parametrize(("method", "seed"), [("cluster_accuracy", 0), ("cluster_centroid", 1)])
def test_clusters_are_those_of_the_whole_vectors_of_probabilities(method, seed):
    X, y = load_wine(return_X_y=True)
    rf = RandomForestClassifier(24, max_depth=2, random_state=seed).fit(X, y)
    points = np.stack([tree.predict_proba(X).ravel() for tree in rf.estimators_])
    found = KMeans(5, n_init=10, random_state=seed).fit(points)
    errors = [(tree.predict(X) != y).sum() for tree in rf.estimators_]
    far = np.linalg.norm(points - found.cluster_centers_[found.labels_], axis=1)
    badness = errors if method == "cluster_accuracy" else far
    expected = sorted(min(np.flatnonzero(found.labels_ == k), key=lambda m: badness[m]) for k in range(5))
    _, report = bh.prune(rf, X, y, method=method, n_trees=5, random_state=seed, return_report=True)
    assert report.trees.tolist() == expected


def test_the_farthest_tree_of_each_cluster_is_taken():
    X, y = load_wine(return_X_y=True)
    rf = RandomForestClassifier(24, max_depth=2, random_state=0).fit(X[::2], y[::2])
    right = np.stack([tree.predict(X) == y for tree in rf.estimators_]).astype(float)
    label = AgglomerativeClustering(5).fit_predict(right)
    chosen = []
    for k in range(5):
        others = right[label != k]
        members = np.flatnonzero(label == k)
        far = [np.mean([np.linalg.norm(right[m] - other) for other in others]) for m in members]
        chosen.append(members[int(np.argmax(np.round(far, 9)))])
    _, report = bh.prune(rf, X, y, method="largest_mean_distance", n_trees=5, return_report=True)
    assert report.trees.tolist() == sorted(chosen)


def test_the_report_says_which_trees_are_kept():
    X, y = load_wine(return_X_y=True)
    rf = RandomForestClassifier(24, max_depth=2, random_state=0).fit(X[::2], y[::2])
    small, report = bh.prune(rf, X[1::2], y[1::2], method="drep", n_trees=5, return_report=True)
    assert small == bh.as_forest(rf).select(report.trees)
    assert (report.method, report.objective, report.gap) == ("drep", None, None)
