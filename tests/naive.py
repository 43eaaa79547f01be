"""Slow, obvious twins: each thing as its definition reads, to judge the fast one by."""

import heapq
import itertools
import math
from fractions import Fraction

import numpy as np


def leaf_of(forest, tree, row):
    """Walk one row down one tree."""
    first = int(forest.offset[tree])
    node = 0
    while forest.feature[first + node] >= 0:
        x = float(row[forest.feature[first + node]])
        if math.isnan(x):
            goes_left = bool(forest.missing_left[first + node])
        else:
            goes_left = x <= float(forest.threshold[first + node])
        node = int(forest.left[first + node] if goes_left else forest.right[first + node])
    return node


def apply(forest, X):
    return np.array([[leaf_of(forest, tree, row) for tree in range(forest.n_trees)] for row in X])


def raw_scores(forest, X):
    """Base plus weight times value, tree by tree."""
    scores = []
    for row in X:
        raw = [float(b) for b in forest.base]
        for tree in range(forest.n_trees):
            value = forest.value[forest.offset[tree] + leaf_of(forest, tree, row)]
            for c, v in enumerate(value):
                raw[forest.tree_column[tree] + c] += float(forest.tree_weight[tree]) * float(v)
        scores.append(raw)
    return np.array(scores).reshape(len(X), forest.base.size)


def best_first_order(left, right, gain):
    """Return the splits of one tree in the order of best-first growth; ties to the lower node."""
    frontier = [(-gain[0], 0)] if left[0] >= 0 else []
    order = []
    while frontier:
        _, node = heapq.heappop(frontier)
        order.append(node)
        for child in (int(left[node]), int(right[node])):
            if left[child] >= 0:
                heapq.heappush(frontier, (-gain[child], child))
    return order


def leaf_of_truncated(forest, tree, row, max_leaves):
    """Walk one row through the first `max_leaves` - 1 splits of one tree; return where it stops."""
    first = int(forest.offset[tree])
    node = 0
    while 0 <= forest.growth_rank[first + node] < max_leaves - 1:
        x = float(row[forest.feature[first + node]])
        goes_left = forest.missing_left[first + node] if math.isnan(x) else x <= float(forest.threshold[first + node])
        node = int(forest.left[first + node] if goes_left else forest.right[first + node])
    return node


# Pruning. P[m][n] is the list of tree m's class probabilities on row n, y[n] the number of the true class.
# Every method returns all trees in order, or for one number of trees the chosen ones.


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


def proximal_sgd(P, y, n_trees, batches, step_size):
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
        w = [w[m] if m in largest else 0.0 for m in range(M)]
    return w


def refinement_target(forest, label):
    """Return what the scores of a row should be: one for its class and zero for others, or the number."""
    if forest.classes is None:
        return [float(label)]
    return [1.0 if c == label else 0.0 for c in forest.classes.tolist()]


def row_slope(loss, score, target):
    """Return the derivative of a row's loss by each of its scores, as on paper."""
    if loss == "mse":
        return [2.0 * (s - t) for s, t in zip(score, target, strict=True)]
    if loss == "cross_entropy":
        exp = [math.exp(s - max(score)) for s in score]
        return [e / sum(exp) - t for e, t in zip(exp, target, strict=True)]
    if loss == "absolute":
        return [float(np.sign(score[0] - target[0]))]
    signs = [2.0 * t - 1.0 for t in target]
    return [-2.0 * sign * max(0.0, 1.0 - sign * s) for s, sign in zip(score, signs, strict=True)]


def refine_by_gradient(forest, leaves, y, batches, step, loss, mean=False, learn_weights=False, last=False):
    """Return (value, tree_weight) after Algorithm 2 of Buschjäger and Morik 2022 on these batches of row numbers."""
    value = [[list(map(float, v)) for v in forest.value[a:b]] for a, b in itertools.pairwise(forest.offset)]
    weight = [float(w) for w in forest.tree_weight]
    n_values = forest.value.shape[1]
    for batch in batches:
        slopes = []
        for n in batch:
            score = [float(b) for b in forest.base]
            for k in range(forest.n_trees):
                for v in range(n_values):
                    score[forest.tree_column[k] + v] += weight[k] * value[k][leaves[n][k]][v]
            slopes.append(row_slope(loss, score, refinement_target(forest, y[n])))
        change = {}
        of_weight = [0.0] * forest.n_trees
        for n, slope in zip(batch, slopes, strict=True):
            for k in range(forest.n_trees):
                for v in range(n_values):
                    s = slope[forest.tree_column[k] + v]
                    at = (k, leaves[n][k], v)
                    change[at] = s * weight[k] if last else change.get(at, 0.0) + s * weight[k]
                    of_weight[k] += s * value[k][leaves[n][k]][v]
        for (k, leaf, v), total in change.items():
            value[k][leaf][v] -= step * (total / len(batch) if mean else total)
        if learn_weights:
            weight = [w - step * g / len(batch) for w, g in zip(weight, of_weight, strict=True)]
    return np.concatenate([np.array(v) for v in value]), np.array(weight)


def descend_once(forest, leaves, y, loss, l2, width=1.0, row_weight=None):
    """Return the leaf contributions (weight times value) after one pass of block coordinate descent.

    A forest with a value for either of two classes has one number a leaf, second minus first, as has the logistic
    link; else one for each class. Classes are drawn to zero, numbers to where they were.
    """
    pair = forest.value.shape[1] == 2
    table = forest.value * np.repeat(forest.tree_weight, np.diff(forest.offset))[:, None]
    base = forest.base
    if pair:
        table, base = table[:, 1:] - table[:, :1], base[1:] - base[:1]
    original, table, n_values = table, table.copy(), table.shape[1]
    score = np.tile(base, (len(y), 1)).astype(float)
    for n, k in itertools.product(range(len(y)), range(forest.n_trees)):
        c = forest.tree_column[k]
        score[n, c : c + n_values] += table[forest.offset[k] + leaves[n][k]]
    row_weight = np.ones(len(y)) if row_weight is None else row_weight
    for k in range(forest.n_trees):
        c0 = forest.tree_column[k]
        for leaf in sorted({ids[k] for ids in leaves}):
            rows = [n for n in range(len(y)) if leaves[n][k] == leaf]
            at = forest.offset[k] + leaf
            steps = []
            for v in range(n_values):
                slope = curvature = 0.0
                for n in rows:
                    g, h = newton_of_row(forest, loss, score[n], y[n], c0 + v, width)
                    slope += row_weight[n] * g
                    curvature += row_weight[n] * h
                if loss == "cross_entropy" and n_values > 1:
                    curvature *= n_values / (n_values - 1)  # Friedman's factor: the classes move together
                pull = table[at, v] - (original[at, v] if forest.classes is None else 0.0)
                step = (slope - l2 * pull) / (curvature + l2)
                steps.append(min(max(step, -2.0), 2.0) if loss in ("cross_entropy", "poisson") else step)
            table[at] += steps
            for n in rows:
                score[n, c0 : c0 + n_values] += steps
    return table


def newton_of_row(forest, loss, score, label, column, width):
    """Return minus the slope and the curvature (or bound of it) of half the squares, and of the other losses."""
    s = score[column]
    if forest.classes is not None and score.size == 1:
        true = label == forest.classes[1]
        target = float(true) if loss == "cross_entropy" else 2.0 * true - 1.0
    elif forest.classes is not None:
        true = label == forest.classes[column]
        target = 2.0 * true - 1.0 if loss == "squared_hinge" else float(true)
    else:
        target = float(label)
    if loss == "cross_entropy":
        p = 1.0 / (1.0 + math.exp(-s)) if score.size == 1 else math.exp(s) / sum(math.exp(other) for other in score)
        return target - p, p * (1.0 - p)
    if loss == "poisson":
        return target - math.exp(s), math.exp(s)
    if loss == "mse":
        return target - s, 1.0
    if loss == "squared_hinge":
        gap = 1.0 - target * s
        return (target * gap, 1.0) if gap > 0.0 else (0.0, 0.0)
    error = target - s
    if loss == "huber" and abs(error) <= width:
        return error, 1.0
    curvature = width / max(abs(error), width * 1e-3)  # absolute errors count times the width
    return error * curvature, curvature


def objective(start, forest, X, y, loss, l2, shrink_to=None, penalty=None, strength=0.0):
    """Return what block coordinate descent minimises: half the squares, or the other losses, and the penalties."""

    def table(of):
        values = of.value * np.repeat(of.tree_weight, np.diff(of.offset))[:, None]
        values = values[:, 1:] - values[:, :1] if values.shape[1] == 2 else values
        return np.where(of.feature[:, None] < 0, values, 0.0)

    raw = forest.decision_function(X).reshape(len(y), -1)
    raw = raw[:, 1:] - raw[:, :1] if raw.shape[1] == 2 else raw
    if start.classes is None:
        target = y[:, None].astype(float)
        error = np.abs(target - raw)
        first = np.abs(start.decision_function(X) - y)
        if loss == "huber":
            width = np.quantile(first, 0.9, method="inverted_cdf")
            losses = np.where(error <= width, error**2 / 2, width * (error - width / 2))
        elif loss == "absolute":
            losses = error * np.quantile(first, 0.5, method="inverted_cdf")
        elif loss == "poisson":
            losses = np.exp(raw) - target * raw
        else:
            losses = error**2 / 2
    else:
        one_hot = (y[:, None] == (start.classes[1:] if raw.shape[1] == 1 else start.classes)).astype(float)
        if loss == "cross_entropy" and raw.shape[1] == 1:
            losses = np.logaddexp(0.0, raw) - one_hot * raw
        elif loss == "cross_entropy":
            losses = np.logaddexp.reduce(raw, axis=1) - (one_hot * raw).sum(axis=1)
        elif loss == "squared_hinge":
            losses = np.maximum(1.0 - (2 * one_hot - 1) * raw, 0.0) ** 2 / 2
        else:
            losses = (raw - (2 * one_hot - 1 if raw.shape[1] == 1 else one_hot)) ** 2 / 2
    anchored = shrink_to == "original" or (shrink_to is None and start.classes is None and penalty is None)
    away = table(forest) - table(start) if anchored else table(forest)
    total = losses.sum() + l2 / 2 * (away**2).sum()
    if penalty is not None:
        of_tree = np.add.reduceat((table(forest) ** 2).sum(axis=1), forest.offset[:-1])
        total += strength * np.sqrt(of_tree).sum()
    return total


def bits_at(data, first, width):
    """Return the whole number in so many bits from this one on, lowest first."""
    return sum((int(data[i // 8]) >> i % 8 & 1) << (i - first) for i in range(first, first + width))


def packed_scores(packed, codes):
    """Return the scores of rows, given the codes of their features in use, from the bytes, bit by bit."""
    layout, data, at = packed.layout, packed.data, packed.layout.sections
    table_bits = max(layout.n_entries - 1, 0).bit_length()
    tree_bits = layout.tree_bits + layout.column_bits
    left = goes_left(packed, codes)
    scores = []
    for n in range(len(codes)):
        width = 8 * layout.base_bytes
        base = [bits_at(data, 8 * at["base"] + width * c, width) or layout.base for c in range(layout.n_columns)]
        score = [b - 2**width if width and b >= 2 ** (width - 1) else b for b in base]
        split_before = leaf_before = 0
        for tree in range(layout.n_trees):
            n_inner = bits_at(data, 8 * at["trees"] + tree * tree_bits, layout.tree_bits)
            column = bits_at(data, 8 * at["trees"] + tree * tree_bits + layout.tree_bits, layout.column_bits)
            split, is_split = 0, n_inner > 0
            leaf = 0
            while is_split:
                side = 2 * split + (not left[n][split_before + split])
                first = 8 * at["shapes"] + 2 * split_before
                ones = sum(bits_at(data, first + i, 1) for i in range(side))
                is_split = bool(bits_at(data, first + side, 1))
                split, leaf = ones + 1, side - ones
            for v in range(layout.n_values):
                number = leaf_before + leaf
                if layout.n_entries:
                    entry = bits_at(data, 8 * at["leaves"] + number * table_bits, table_bits)
                    where = 8 * at["table"] + (entry * layout.n_values + v) * layout.leaf_bits
                else:
                    where = 8 * at["leaves"] + (number * layout.n_values + v) * layout.leaf_bits
                stored = bits_at(data, where, layout.leaf_bits)
                factor = bits_at(data, 8 * (at["factors"] + column + v), 8) if layout.factor_bits else 1
                score[column + v] += factor * stored
            split_before += n_inner
            leaf_before += n_inner + 1
        scores.append(score)
    return np.array(scores)


def goes_left(packed, codes):
    """Return whether each row goes left at each split, in the order of the bytes."""
    layout, data, at = packed.layout, packed.data, packed.layout.sections
    pair_bits = max(layout.n_pairs - 1, 0).bit_length()
    tests = []
    for split in range(layout.n_inner):
        where = 8 * at["tests"] + split * (pair_bits if layout.n_pairs else layout.test_bits)
        if layout.n_pairs:
            where = 8 * at["pairs"] + bits_at(data, where, pair_bits) * layout.test_bits
        code = bits_at(data, where, layout.code_bits)
        feature = bits_at(data, where + layout.code_bits, layout.feature_bits)
        left = bits_at(data, where + layout.feature_bits + layout.code_bits, 1) if layout.missing == "split" else 0
        tests.append((feature, code, left if layout.missing == "split" else layout.missing == "left"))
    return [
        [bool(left) if math.isnan(row[feature]) else row[feature] <= code for feature, code, left in tests]
        for row in codes.tolist()
    ]


# A codebook. `table` and `anchor` hold the values of the leaves, (leaves, classes), `leaves` the leaf of each row in
# each tree, counted through all trees; y has numbers of classes.


def loss_of_row(loss, score, label):
    """Return the loss of one row: half of it for the squares."""
    if loss == "cross_entropy":
        return math.log(sum(math.exp(s) for s in score)) - score[label]
    if loss == "mse":
        return sum((s - (c == label)) ** 2 for c, s in enumerate(score)) / 2
    return sum(max(0.0, 1.0 - (s if c == label else -s)) ** 2 for c, s in enumerate(score)) / 2


def newton_step(forest, loss, scores, y, times, pull, n_pulls, l2, row_weight):
    """Return the step for vectors that each row's score has so many times, and their curvature, penalty included."""
    n_classes = len(pull)
    steps, curvatures = [], []
    for c in range(n_classes):
        slope, curvature = l2 * pull[c], 0.0
        for n, m in times.items():
            g, h = newton_of_row(forest, loss, scores[n], forest.classes[y[n]], c, 1.0)
            slope += row_weight[n] * m * g
            curvature += row_weight[n] * m * m * h
        if loss == "cross_entropy":
            curvature *= n_classes / (n_classes - 1)
        curvatures.append(curvature + l2 * n_pulls)
        most = 2.0 if loss == "cross_entropy" else math.inf
        steps.append(min(max(slope / curvatures[-1], -most), most))
    return np.array(steps), np.array(curvatures)


def choose_entries(forest, leaves, y, table, anchor, entries, chosen, loss, l2, n_tried, row_weight):
    """Return (table, chosen) after each leaf, tree by tree, took the best entry near its Newton step."""
    table, chosen = table.copy(), list(chosen)
    for leaf in sorted({leaf for row in leaves for leaf in row}):
        scores = np.array([forest.base + sum(table[i] for i in row) for row in leaves])
        rows = [n for n in range(len(y)) if leaf in leaves[n]]
        pull = anchor[leaf] - table[leaf]
        step, weigh = newton_step(forest, loss, scores, y, dict.fromkeys(rows, 1), pull, 1, l2, row_weight)
        far = [float(weigh @ (table[leaf] + step - entry) ** 2) for entry in entries]
        tried = ordered(far)[:n_tried] + ([chosen[leaf]] if chosen[leaf] >= 0 else [])

        def costs(e, leaf=leaf, rows=rows, scores=scores):
            new = scores - table[leaf] + entries[e]
            return sum(row_weight[n] * loss_of_row(loss, new[n], y[n]) for n in rows) + l2 / 2 * float(
                ((entries[e] - anchor[leaf]) ** 2).sum()
            )

        chosen[leaf] = min(tried, key=costs)
        table[leaf] = entries[chosen[leaf]]
    return table, chosen


def move_entries(forest, leaves, y, anchor, chosen, entries, loss, l2, row_weight, unit=None, low=0, high=0):
    """Return the entries after each in its turn took a Newton step for all leaves that chose it.

    A step that raises the objective is tried three times more, each half as long; in whole units, only once, and
    taken in any case where the entry was not one of them.
    """
    entries = entries.copy()

    def objective():
        of_rows = sum(
            row_weight[n] * loss_of_row(loss, forest.base + sum(entries[chosen[i]] for i in row), y[n])
            for n, row in enumerate(leaves)
        )
        seen = {leaf for row in leaves for leaf in row}
        return of_rows + l2 / 2 * sum(float(((entries[chosen[i]] - anchor[i]) ** 2).sum()) for i in seen)

    def rounded(entry):
        return np.clip(np.rint(entry / unit), low, high) * unit

    for e in range(len(entries)):
        scores = np.array([forest.base + sum(entries[chosen[i]] for i in row) for row in leaves])
        times = {n: sum(chosen[i] == e for i in row) for n, row in enumerate(leaves)}
        own = [i for i in sorted({leaf for row in leaves for leaf in row}) if chosen[i] == e]
        pull = sum((anchor[i] - entries[e] for i in own), np.zeros(entries.shape[1]))
        if not own:
            continue
        step = newton_step(forest, loss, scores, y, times, pull, len(own), l2, row_weight)[0]
        before, old = objective(), entries[e].copy()
        if unit is not None:
            entries[e] = rounded(old + step)
            if np.allclose(rounded(old), old) and objective() > before:
                entries[e] = old
            continue
        for half in range(4):
            entries[e] = old + step / 2**half
            if objective() <= before:
                break
        else:
            entries[e] = old
    return entries
