"""Scores read from packed bytes bit by bit, and the codebook of leaf values, one leaf at a time.

For the codebook, `table` and `anchor` hold the values of the leaves, (leaves, classes), `leaves` the leaf of each row
in each tree, counted through all trees; y has numbers of classes.
"""

import math

import numpy as np

from naive.pruning import ordered
from naive.refinement import newton_of_row


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
        score = [layout.base + bits_at(data, 8 * at["base"] + width * c, width) for c in range(layout.n_columns)]
        split_before = leaf_before = 0
        for tree in range(layout.n_trees):
            n_inner = layout.least_inner + bits_at(data, 8 * at["trees"] + tree * tree_bits, layout.tree_bits)
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


def codes_with_projections(packed, row):
    """Return the codes of a row's features in use, and of the projections behind them, as whole numbers."""
    codes = []
    for feature, quantizer in zip(packed.used.tolist(), packed.quantizers, strict=True):
        x = float(row[feature])
        if math.isnan(x):
            x = math.copysign(math.inf, x)
        codes.append(int(quantizer.codes(np.array([x], np.float32))[0]))
    found, highest = list(codes), min(2**packed.layout.code_bits, 2**16 - 1) - 1
    projections = packed.projections
    for weights, turn, low in zip(projections.weights.tolist(), projections.turn, projections.low, strict=True):
        total = sum(weight * code for weight, code in zip(weights, codes, strict=True))
        found.append(min(max(math.floor(total / 2 ** int(turn)) - int(low), 0), highest))
    return found


def projected_scores(packed, rows):
    """Return the scores of rows of a model with projections, walking down its trees node by node."""
    coded, scores = packed.coded, []
    for row in rows:
        codes, score = codes_with_projections(packed, row), [int(base) for base in coded.base]
        for tree, first in enumerate(coded.offset[:-1].tolist()):
            node = first
            while coded.feature[node] >= 0:
                goes_left = codes[coded.feature[node]] <= coded.threshold[node]
                node = first + int((coded.left if goes_left else coded.right)[node])
            column = int(coded.tree_column[tree]) if coded.value.shape[1] < len(score) else 0
            for k, value in enumerate(coded.value[node].tolist()):
                score[column + k] += int(value)
        scores.append(score)
    return np.array(scores)


def projections_of_bytes(packed):
    """Return the weights of each projection, by how many bits its sum is shifted, and its lowest, bit by bit."""
    layout, begin = packed.layout, 8 * packed.layout.sections["projections"]
    n_used, bits = layout.n_used, layout.weight_bits
    n_weights = layout.n_projections * n_used
    weights = [bits_at(packed.data, begin + k * bits, bits) - 2 ** (bits - 1) for k in range(n_weights)]
    found, at = [], begin + n_weights * bits
    for k in range(layout.n_projections):
        low = layout.least_low + bits_at(packed.data, at, layout.low_bits)
        turn = layout.least_turn + bits_at(packed.data, at + layout.low_bits, layout.turn_bits)
        found.append((weights[k * n_used : (k + 1) * n_used], turn, low))
        at += layout.low_bits + layout.turn_bits
    return found


def goes_left(packed, codes):
    """Return whether each row goes left at each split, in the order of the bytes."""
    layout, data, at = packed.layout, packed.data, packed.layout.sections
    asked, end = tests_in_order(packed) if layout.ask_bits else (None, layout.ask_bits)
    assert end == layout.ask_bits
    tests = []
    for split in range(layout.n_inner):
        number = number_of(packed, split)
        if asked is not None:
            tests.append(asked[number])
            continue
        if layout.n_pairs:
            number = bits_at(data, 8 * at["pairs"] + number * layout.test_bits, layout.test_bits)
        code, rest = number % 2**layout.code_bits, number >> layout.code_bits
        feature, left = rest % 2**layout.feature_bits, rest >> layout.feature_bits
        tests.append((feature, code, left if layout.missing == "split" else layout.missing == "left"))
    return [
        [bool(left) if math.isnan(row[feature]) else row[feature] <= code for feature, code, left in tests]
        for row in codes.tolist()
    ]


def number_of(packed, split):
    """Return what a split asks as a number, or the number of its pair."""
    layout = packed.layout
    bits = max((layout.n_pairs or 2**layout.test_bits) - 1, 0).bit_length()
    begin = 8 * layout.sections["tests"]
    if not layout.group:
        return bits_at(packed.data, begin + split * bits, bits)
    group, which = divmod(split, layout.group)
    digit_bits = (layout.radix**layout.group - 1).bit_length()
    low_bits = bits - (layout.radix - 1).bit_length()
    begin += group * (digit_bits + layout.group * low_bits)
    digit = bits_at(packed.data, begin, digit_bits) // layout.radix**which % layout.radix
    return 2**low_bits * digit + bits_at(packed.data, begin + digit_bits + which * low_bits, low_bits)


def tests_in_order(packed):
    """Return feature, code and where missing values go of the tests in a table of gaps, and its bits."""
    layout, at = packed.layout, 8 * packed.layout.sections["pairs"]

    def number(low_bits):
        nonlocal at
        value = 0
        while bits_at(packed.data, at, 1):
            value, at = value + 1, at + 1
        at += 1
        for _ in range(low_bits):
            value, at = 2 * value + bits_at(packed.data, at, 1), at + 1
        return value

    tests = []
    for feature in range(layout.n_tested):
        n, key = number(layout.many_bits) + (layout.n_projections == 0), -1
        for _ in range(n):
            key += 1 + number(max(layout.gap_bits - len(f"{n:b}"), 0))
            is_split = layout.missing == "split"
            tests.append((feature, key // 2 if is_split else key, key % 2 if is_split else layout.missing == "left"))
    return tests, at - 8 * layout.sections["pairs"]


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
