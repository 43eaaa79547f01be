"""The sums over rows that pruning is computed from, against numpy: wide leaf ids, many classes, odd shapes."""

import numpy as np
import pytest

from billhook import kernels

IDS = pytest.mark.parametrize("ids", [np.uint16, np.uint32])


def trees(n_trees, n_rows, n_classes, ids=np.uint16, seed=0):
    """Return leaf ids, offsets, values, classes and weights."""
    rng = np.random.default_rng(seed)
    n_nodes = rng.integers(1, 9, n_trees)
    offset = np.concatenate([[0], np.cumsum(n_nodes)])
    leaf = rng.integers(0, n_nodes[:, None], (n_trees, n_rows)).astype(ids)
    value = rng.integers(0, 4, (offset[-1], n_classes)) / 4  # many ties
    return leaf, offset, value, rng.integers(0, n_classes, n_rows), rng.integers(0, 5, n_rows)


def by_row(leaf, offset, value):
    """Return the cube (trees, rows, classes)."""
    return np.stack([value[offset[k] : offset[k + 1]][leaf[k]] for k in range(len(leaf))])


@IDS
@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 7, 18])
def test_a_tree_is_added(n_classes, ids):
    leaf, offset, value, _, _ = trees(1, 30, n_classes, ids)
    score = np.random.default_rng(1).normal(size=(30, n_classes))
    expected = score + by_row(leaf, offset, value)[0]
    kernels.add_tree(leaf[0], value, score)
    assert (score == expected).all()


@IDS
@pytest.mark.parametrize("n_classes", [2, 3, 5, 18])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_addition_has_the_smallest_error(n_classes, ids, seed):
    leaf, offset, value, y, weight = trees(9, 40, n_classes, ids, seed)
    score = np.random.default_rng(seed).integers(0, 12, (40, n_classes)) / 4
    candidates = np.array([7, 2, 3, 8, 0])
    error = [(weight * ((score + by_row(leaf, offset, value)[k]).argmax(axis=1) != y)).sum() for k in candidates]
    best = kernels.best_addition(score, y, weight, 0.76, candidates, leaf, offset, value)
    assert best == candidates[int(np.argmin(error))]


def area(score, positive, weight):
    a, b = score[positive, None], score[~positive]
    pairs = weight[positive, None] * weight[~positive]
    return (pairs * ((a > b) + 0.5 * (a == b))).sum() / pairs.sum() if pairs.sum() > 0 else None


@IDS
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("n_rows", [1, 40, 700])
def test_the_largest_area_is_that_of_all_pairs(n_classes, n_rows, ids):
    leaf, offset, value, y, weight = trees(9, n_rows, n_classes, ids, n_rows)
    score = np.random.default_rng(3).integers(0, 12, (n_rows, n_classes)) / 4
    means = []
    for p in by_row(leaf, offset, value):
        areas = [area((score + p)[:, c], y == c, weight) for c in range(n_classes)]
        areas = [a for a in areas if a is not None]
        means.append(np.mean(areas) if areas else 0.5)
    best = kernels.largest_area(score, y, weight, np.arange(9), leaf, offset, value)
    assert best == int(np.argmax(np.round(means, 12)))


@IDS
@pytest.mark.parametrize("votes_type", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 1000, 16_400])
def test_votes_are_found_and_compared(n_rows, votes_type, ids):
    leaf, offset, value, y, weight = trees(5, n_rows, 3, ids)
    of_node = value.argmax(axis=1).astype(votes_type)
    votes = np.empty((5, n_rows), votes_type)
    kernels.find_votes(leaf, offset, of_node, votes)
    assert (votes == by_row(leaf, offset, value).argmax(axis=2)).all()
    for unweighted, w in ((True, np.ones(n_rows, np.int64)), (False, weight)):
        matches, agreement = np.empty(3, np.int64), np.empty((5, 5), np.int64)
        kernels.weigh_matches(votes, y.astype(votes_type), w, unweighted, np.array([4, 0, 2]), matches)
        assert matches.tolist() == [(w * (votes[k] == y)).sum() for k in (4, 0, 2)]
        kernels.weigh_agreement(votes, w, unweighted, agreement)
        assert (agreement == (w * (votes[:, None] == votes)).sum(axis=2)).all()
    counts = np.zeros((n_rows, 3), np.int64)
    kernels.count_votes(votes, counts)
    assert (counts == (votes[:, :, None] == np.arange(3)).sum(axis=0)).all()
    worth, sums = np.random.default_rng(2).normal(size=(n_rows, 3)), np.empty(5)
    kernels.sum_by_vote(votes, worth, sums)
    expected = [worth[np.arange(n_rows), vote].sum() for vote in votes]
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)


@IDS
@pytest.mark.parametrize("n_classes", [1, 2, 5, 18, 300])
@pytest.mark.parametrize("n_trees", [1, 4, 13])
def test_products_of_trees_are_sums_over_rows(n_trees, n_classes, ids):
    leaf, offset, value, _, weight = trees(n_trees, 70, n_classes, ids)
    p = by_row(leaf, offset, value)
    expected = np.random.default_rng(4).normal(size=(70, n_classes))
    for w in (weight, np.ones(70, np.int64)):
        products = np.empty((n_trees, n_trees))
        kernels.residual_products(leaf, offset, value, expected, w, products)
        r = p - expected
        np.testing.assert_allclose(products, np.einsum("inc,jnc,n->ij", r, r, w), rtol=1e-12, atol=1e-10)
        assert (products == products.T).all()


@IDS
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 18])
def test_weighted_sums_are_those_of_the_cube(n_classes, ids):
    leaf, offset, value, y, weight = trees(6, 50, n_classes, ids)
    p, rng = by_row(leaf, offset, value), np.random.default_rng(5)
    rows, tree_weight = rng.permutation(50)[:20], np.array([0.5, 0.0, -1.0, 2.0, 0.25, 1.0])
    score, slope, sums = np.zeros((20, n_classes)), rng.normal(size=(20, n_classes)), np.empty(6)
    kernels.add_weighted_trees(leaf, offset, value, rows, tree_weight, score)
    np.testing.assert_allclose(score, np.tensordot(tree_weight, p[:, rows], 1), rtol=1e-12, atol=1e-12)
    kernels.slopes_of_trees(leaf, offset, value, rows, slope, sums)
    np.testing.assert_allclose(sums, (p[:, rows] * slope).sum(axis=(1, 2)), rtol=1e-12, atol=1e-12)
    other, of_first = rng.normal(size=(50, n_classes)), value[: offset[1]]
    found = kernels.sum_of_products(leaf[0], of_first, other, weight)
    assert found == pytest.approx((weight[:, None] * p[0] * other).sum(), rel=1e-12)
    found = kernels.sum_by_leaf_and_class(leaf[0], y, weight, of_first)
    assert found == pytest.approx((weight * p[0][np.arange(50), y]).sum(), rel=1e-12)


def test_no_swap_is_left_that_lowers_the_objective():
    rng = np.random.default_rng(6)
    single, pair = rng.normal(size=20), rng.normal(size=(20, 20))
    pair = pair + pair.T
    chosen = np.arange(20) < 7
    objective = kernels.improve_by_swaps(single, pair, chosen)
    assert objective == pytest.approx(single[chosen].sum() + pair[np.ix_(chosen, chosen)].sum())
    for out in np.flatnonzero(chosen):
        for new in np.flatnonzero(~chosen):
            other = chosen.copy()
            other[[out, new]] = False, True
            assert single[other].sum() + pair[np.ix_(other, other)].sum() >= objective - 1e-9


def test_shapes_and_types_are_checked():
    leaf, offset, value, y, weight = trees(4, 10, 3)
    score, every = np.zeros((10, 3)), np.arange(4)
    votes, products = np.zeros((4, 10), np.uint8), np.zeros((4, 4))
    refused = [
        ("add_tree", (leaf[0], value, score[:9])),
        ("best_addition", (score, y, weight, 1.0, every[:0], leaf, offset, value)),
        ("best_addition", (score, y[:9], weight, 1.0, every, leaf, offset, value)),
        ("largest_area", (score, y, weight, every, leaf, offset[:4], value)),
        ("largest_area", (score[:, :2].copy(), y, weight, every, leaf, offset, value)),
        ("improve_by_swaps", (np.zeros(3), products, np.zeros(3, np.bool_))),
        ("find_votes", (leaf, offset, np.zeros(len(value), np.uint16), votes)),
        ("find_votes", (leaf, offset, np.zeros(len(value), np.uint8), votes[:3])),
        ("weigh_matches", (votes, np.zeros(10, np.uint16), weight, True, every, np.zeros(4, np.int64))),
        ("weigh_matches", (votes, votes[0], weight, True, every, np.zeros(3, np.int64))),
        ("weigh_agreement", (votes, weight, True, np.zeros((4, 3), np.int64))),
        ("count_votes", (votes, np.zeros((9, 3), np.int64))),
        ("sum_by_vote", (votes, score, np.zeros(3))),
        ("sum_by_leaf_and_class", (leaf[0], y[:9], weight, value)),
        ("sum_of_products", (leaf[0], value, score[:, :2].copy(), weight)),
        ("residual_products", (leaf, offset, value, score, weight, products[:3])),
        ("residual_products", (leaf, offset, value, score[:9], weight, products)),
        ("add_weighted_trees", (leaf, offset, value, every, np.zeros(3), np.zeros((4, 3)))),
        ("slopes_of_trees", (leaf, offset, value, every, np.zeros((3, 3)), np.zeros(4))),
    ]
    for name, arguments in refused:
        with pytest.raises(ValueError, match=f"^{name}: "):
            getattr(kernels, name)(*arguments)
    with pytest.raises(TypeError, match=r"weigh_agreement: argument 1 .* uint8, uint16 or uint32"):
        kernels.weigh_agreement(votes.astype(np.uint64), weight, True, np.zeros((4, 4), np.int64))
    with pytest.raises(TypeError, match=r"add_tree: argument 1 .* uint16 or uint32"):
        kernels.add_tree(leaf[0].astype(np.uint8), value, score)


@pytest.mark.parametrize("largest", [1e308, 5e-324])
def test_scores_whose_range_no_bins_can_divide_count_for_nothing(largest):
    leaf, offset, value, y, weight = trees(3, 40, 2)
    value = np.where(value > 0.4, largest, -largest)
    score = np.where(np.arange(80).reshape(40, 2) % 3 == 0, largest, -largest)
    assert kernels.largest_area(score, y, weight, np.array([2, 0, 1]), leaf, offset, value) == 2
