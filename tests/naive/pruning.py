"""The pruning methods as their papers read.

P[m][n] is the list of tree m's class probabilities on row n, y[n] the number of the true class. Every method returns
all trees in order, or for one number of trees the chosen ones.
"""

import itertools
import math
from fractions import Fraction

from naive.forest import leaf_of


def probability_lists(forest, X):
    """Return P of a forest whose trees have equal weights: what each would say alone, base included."""
    base = [float(b) for b in forest.base]
    return [
        [
            [
                float(v) + b
                for v, b in zip(forest.value[forest.offset[m] + leaf_of(forest, m, row)], base, strict=True)
            ]
            for row in X
        ]
        for m in range(forest.n_trees)
    ]


def first_largest(numbers):
    return max(range(len(numbers)), key=lambda c: (numbers[c], -c))


def ordered(scores):
    """Return indices from the smallest score on; those equal up to rounding by index."""
    largest = max([abs(s) for s in scores] + [1e-300])
    return sorted(range(len(scores)), key=lambda m: (round(float(s / largest), 12) if (s := scores[m]) else 0.0, m))


def votes_of(P):
    return [[first_largest(p) for p in tree] for tree in P]


def vote_counts(h, n, n_classes):
    return [sum(1 for tree in h if tree[n] == c) for c in range(n_classes)]


def individual_error(P, y):
    h = votes_of(P)
    return ordered([sum(tree[n] != y[n] for n in range(len(y))) for tree in h])


def individual_contribution(P, y):
    h, n_classes = votes_of(P), len(P[0][0])
    scores = []
    for tree in h:
        total = 0
        for n in range(len(y)):
            v = vote_counts(h, n, n_classes)
            top, second = sorted(v, reverse=True)[:2]
            if tree[n] == y[n] and tree[n] != first_largest(v):
                total += 2 * top - v[tree[n]]
            elif tree[n] == y[n]:
                total += second
            else:
                total += v[y[n]] - v[tree[n]] - top
        scores.append(-total)
    return ordered(scores)


def cohens_kappa(a, b, n_classes):
    n = len(a)
    agree = Fraction(sum(x == z for x, z in zip(a, b, strict=True)), n)
    chance = sum(Fraction(a.count(c), n) * Fraction(b.count(c), n) for c in range(n_classes))
    return Fraction(1) if chance == 1 else (agree - chance) / (1 - chance)


def kappa(P, _y, pairing="pairs"):
    h, n_classes = votes_of(P), len(P[0][0])
    M = len(h)
    if pairing == "min":
        smallest = [
            min(float(cohens_kappa(h[i], h[j], n_classes)) for j in range(M) if j != i) if M > 1 else 0.0
            for i in range(M)
        ]
        return ordered(smallest)
    pairs = [(i, j) for i in range(M) for j in range(i + 1, M)]
    order = ordered([float(cohens_kappa(h[i], h[j], n_classes)) for i, j in pairs])
    trees = []
    for k in order:
        trees += [m for m in pairs[k] if m not in trees]
    return trees if M > 1 else [0]


def signatures(P, y):
    return [[1 if tree[n] == y[n] else -1 for n in range(len(y))] for tree in votes_of(P)]


def reference_vector(P, y):
    c = signatures(P, y)
    N, M = len(y), len(c)
    mean = [Fraction(sum(tree[n] for tree in c), M) for n in range(N)]
    length = sum(s * s for s in mean)
    along = sum(mean) / length if length else 0
    reference = [1 - along * s for s in mean]
    # All signatures are of one length, so the angle is smallest where the product is largest.
    return ordered([-sum(a * r for a, r in zip(tree, reference, strict=True)) for tree in c])


def error_ambiguity(P, y):
    M, N, C = len(P), len(y), len(P[0][0])
    scores = []
    for tree in P:
        total = 0.0
        for n in range(N):
            for c in range(C):
                p, mean = tree[n][c], sum(other[n][c] for other in P) / M
                if c == y[n]:
                    total += math.exp(-p / C) / C**2
                else:
                    total += math.exp(p / (C * (C - 1))) / (C**2 * (C - 1) ** 2)
                total -= (p - mean) ** 2
        scores.append(total)
    return ordered(scores)


def margin_diversity(P, y, alpha=0.2):
    h, C, M = votes_of(P), len(P[0][0]), len(P)
    scores = []
    for tree in h:
        total = 0.0
        for n in range(len(y)):
            if tree[n] == y[n]:
                v = vote_counts(h, n, C)
                margin = (v[y[n]] - max(v[c] for c in range(C) if c != y[n])) / M
                total += alpha * math.log(max(abs(margin), 1 / M)) + (1 - alpha) * math.log(v[y[n]] / M)
        scores.append(total)
    return ordered(scores)


def area_under_curve(score, positive):
    """Return the share of (positive, negative) pairs in the right order, equal ones counting half."""
    wins = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, p in zip(score, positive, strict=True)
        if p
        for b, q in zip(score, positive, strict=True)
        if not q
    ]
    return sum(wins) / len(wins)


def mean_area(p, y):
    C = len(p[0])
    areas = [area_under_curve([q[c] for q in p], [t == c for t in y]) for c in range(C) if 0 < y.count(c) < len(y)]
    return sum(areas) / len(areas) if areas else 0.5


def individual_auc(P, y):
    return ordered([-mean_area(tree, y) for tree in P])


def summed(P, trees, n):
    """Return the sums of the probabilities of these trees, added in this order."""
    total = [0.0] * len(P[0][0])
    for m in trees:
        total = [t + p for t, p in zip(total, P[m][n], strict=True)]
    return total


def errors_of(P, y, trees):
    return sum(first_largest(summed(P, trees, n)) != y[n] for n in range(len(y)))


def grown(P, badness, first=None):
    """Add the tree with the smallest badness(chosen, tree), the lower index of equal ones."""
    order = [] if first is None else [first]
    while len(order) < len(P):
        left = [m for m in range(len(P)) if m not in order]
        scores = [badness(order, m) for m in left]
        order.append(left[ordered(scores)[0]])
    return order


def reduced_error(P, y):
    return grown(P, lambda chosen, m: errors_of(P, y, [*chosen, m]))


def complementariness(P, y):
    h = votes_of(P)

    def badness(chosen, m):
        wrong = [n for n in range(len(y)) if first_largest(summed(P, chosen, n)) != y[n]]
        return -sum(h[m][n] == y[n] for n in wrong)

    return grown(P, badness, first=individual_error(P, y)[0])


def drep(P, y, rho=0.4):
    h = votes_of(P)
    order = [individual_error(P, y)[0]]
    while len(order) < len(P):
        left = [m for m in range(len(P)) if m not in order]
        predicted = [first_largest(summed(P, order, n)) for n in range(len(y))]
        agree = [sum(h[m][n] == predicted[n] for n in range(len(y))) for m in left]
        diverse = sorted(left[k] for k in ordered(agree)[: math.ceil(rho * len(left))])
        order.append(min(diverse, key=lambda m: (errors_of(P, y, [*order, m]), m)))
    return order


def margin_distance(P, y, p=0.075):
    c = signatures(P, y)

    def badness(chosen, m):
        trees = [*chosen, m]
        # The squared distance, without what is the same for every tree, as exact as p is.
        centre = Fraction(p) * len(trees)
        return sum(
            (sum(c[k][n] for k in trees) - centre) ** 2 - (sum(c[k][n] for k in chosen) - centre) ** 2 - 1
            for n in range(len(y))
        )

    return grown(P, badness)


def quadratic_choice(single, pair, n_trees):
    """Return the smallest objective over every choice of so many trees."""
    return min(
        sum(single[i] for i in chosen) + sum(pair[i][j] for i in chosen for j in chosen)
        for chosen in itertools.combinations(range(len(single)), n_trees)
    )


def pairwise_error_matrix(P, y):
    wrong = [{n for n in range(len(y)) if tree[n] != y[n]} for tree in votes_of(P)]

    def entry(i, j):
        if i == j:
            return len(wrong[i]) / len(y)
        both = len(wrong[i] & wrong[j])
        return sum(both / len(w) if w else 0.0 for w in (wrong[i], wrong[j])) / 2

    return [[entry(i, j) for j in range(len(P))] for i in range(len(P))]


def combined_diversity_matrix(P, y):
    h, N, C = votes_of(P), len(y), len(P[0][0])

    def entry(i, j):
        if i == j:
            return 0.0
        right_i, right_j = ([h[m][n] == y[n] for n in range(N)] for m in (i, j))
        a, b, c, d = (
            sum(r == x and s == z for r, s in zip(right_i, right_j, strict=True)) / N
            for x, z in ((True, True), (True, False), (False, True), (False, False))
        )
        q = (a * d - b * c) / (a * d + b * c) if a * d + b * c else 0.0
        spread = math.sqrt((a + b) * (c + d) * (a + c) * (b + d))
        correlation = (a * d - b * c) / spread if spread else 0.0
        return (-(b + c) + q + correlation + float(cohens_kappa(h[i], h[j], C)) + d) / 5

    return [[entry(i, j) for j in range(len(P))] for i in range(len(P))]


def ensemble_auc(P, y):
    def badness(chosen, m):
        # What differs by rounding only is equal.
        return -mean_area([[round(s, 9) for s in summed(P, [*chosen, m], n)] for n in range(len(y))], y)

    return grown(P, badness)


def squared_error(predictions, y, trees):
    """Return the squared error of the mean of these trees, exactly."""
    return sum(
        (sum(Fraction(predictions[m][n]) for m in trees) / len(trees) - Fraction(y[n])) ** 2 for n in range(len(y))
    )


def reduced_squared_error(predictions, y):
    return grown(predictions, lambda chosen, m: float(squared_error(predictions, y, [*chosen, m])))


def nearest_on_simplex(weight):
    """Return the nearest weights of sum one, none negative: move all alike, drop who is below 0, and again."""
    free = list(range(len(weight)))
    while True:
        move = (1 - sum(weight[m] for m in free)) / len(free)
        if all(weight[m] + move >= 0 for m in free):
            return [weight[m] + move if m in free else 0.0 for m in range(len(weight))]
        free = [m for m in free if weight[m] + move > 0]


def proximal_sgd(P, y, n_trees, batches, step_size, simplex=False):
    """Descend on the squared error of the weighted sum, keeping the largest weights, row by row."""
    M, C = len(P), len(P[0][0])
    w = [1 / M] * M
    for batch in batches:
        slope = [0.0] * M
        for n in batch:
            for c in range(C):
                f = sum(w[m] * P[m][n][c] for m in range(M))
                for m in range(M):
                    slope[m] += 2 * (f - (y[n] == c)) * P[m][n][c] / len(batch)
        w = [a - step_size * s for a, s in zip(w, slope, strict=True)]
        largest = sorted(range(M), key=lambda m: (-abs(w[m]), m))[:n_trees]
        kept = nearest_on_simplex([w[m] for m in largest]) if simplex else [w[m] for m in largest]
        w = [kept[largest.index(m)] if m in largest else 0.0 for m in range(M)]
    return w
