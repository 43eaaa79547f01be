#include "pruning.h"

#include "four.h"

#include <math.h>

INLINE size_t leaf_of(const Trees *trees, const int is_wide, size_t tree, size_t row)
{
    return leaf_at(trees->leaf.data, is_wide, tree * trees->n_rows + row);
}

/* Add n numbers to others. */
INLINE void add_numbers(const size_t n, const double *x, double *sum)
{
    size_t c = 0;
    for (; c + 4 <= n; c += 4) {
        Four a, b;
        LOAD(a, sum + c);
        LOAD(b, x + c);
        a = PLUS(a, b);
        STORE(a, sum + c);
    }
    for (; c < n; c++)
        sum[c] += x[c];
}

INLINE void add_leaves(const int is_wide, const size_t n_classes, const void *leaf, size_t n_rows,
                       const double *value, double *score)
{
    for (size_t n = 0; n < n_rows; n++)
        add_numbers(n_classes, value + leaf_at(leaf, is_wide, n) * n_classes, score + n * n_classes);
}

INLINE void add_leaves_of(const size_t n_classes, LeafIds leaf, size_t n_rows, const double *value, double *score)
{
    if (leaf.is_wide)
        add_leaves(1, n_classes, leaf.data, n_rows, value, score);
    else
        add_leaves(0, n_classes, leaf.data, n_rows, value, score);
}

HOT void add_tree(LeafIds leaf, size_t n_rows, size_t n_classes, const double *value, double *score)
{
    switch (n_classes) {
    case 1: add_leaves_of(1, leaf, n_rows, value, score); break;
    case 2: add_leaves_of(2, leaf, n_rows, value, score); break;
    default: add_leaves_of(n_classes, leaf, n_rows, value, score); break;
    }
}

/* How far the score of a class is above the highest of the others; below 0 if it is behind. */
INLINE double lead_of(size_t n_classes, const double *score, size_t y)
{
    double highest = -INFINITY;
    for (size_t c = 0; c < n_classes; c++)
        highest = c == y ? highest : larger(highest, score[c]);
    return score[y] - highest;
}

/* What is left of the rows when the settled ones are counted. */
typedef struct {
    size_t n_rows;
    const int64_t *row, *y, *weight;
    const double *score;
    int64_t settled_errors;
} OpenRows;

INLINE OpenRows open_rows(const Trees *trees, Labels labels, const double *score, double swing, int64_t *open,
                          double *open_score)
{
    const size_t n_rows = trees->n_rows, n_classes = trees->n_classes;
    int64_t *row = open, *y = open + n_rows, *weight = open + 2 * n_rows, errors = 0;
    size_t n_open = 0;
    for (size_t n = 0; n < n_rows; n++) {
        const double lead = lead_of(n_classes, score + n * n_classes, (size_t)labels.y[n]);
        if (lead < -swing)
            errors += labels.weight[n];
        else if (!(lead > swing)) {
            row[n_open] = (int64_t)n;
            y[n_open] = labels.y[n];
            weight[n_open] = labels.weight[n];
            memcpy(open_score + n_open * n_classes, score + n * n_classes, n_classes * sizeof *score);
            n_open++;
        }
    }
    return (OpenRows){.n_rows = n_open, .row = row, .y = y, .weight = weight, .score = open_score,
                      .settled_errors = errors};
}

/* Whether the class y is not the first of those with the largest sum of score and value. */
INLINE int64_t is_wrong(const size_t n_classes, const double *RESTRICT score, const double *RESTRICT value, int64_t y)
{
    if (n_classes == 2)
        return (score[1] + value[1] > score[0] + value[0]) != y;
    const double of_y = score[y] + value[y];
    int64_t wrong = 0;
    for (int64_t c = 0; c < (int64_t)n_classes; c++) {
        const double sum = score[c] + value[c];
        wrong |= (int64_t)(sum > of_y) | ((int64_t)(sum == of_y) & (int64_t)(c < y));
    }
    return wrong;
}

/* The errors with one more tree; any number from `limit` on if there are so many. */
INLINE int64_t errors_with(const int is_wide, const size_t n_classes, const Trees *trees, size_t tree,
                           const OpenRows *open, int64_t limit)
{
    const double *value = trees->value + (size_t)trees->offset[tree] * n_classes;
    int64_t errors = open->settled_errors;
    for (size_t begin = 0; begin < open->n_rows && errors < limit; begin += 256) {
        const size_t end = begin + 256 < open->n_rows ? begin + 256 : open->n_rows;
        for (size_t i = begin; i < end; i++) {
            const size_t leaf = leaf_of(trees, is_wide, tree, (size_t)open->row[i]);
            errors += open->weight[i]
                      & -is_wrong(n_classes, open->score + i * n_classes, value + leaf * n_classes, open->y[i]);
        }
    }
    return errors;
}

INLINE int64_t best_of(const int is_wide, const size_t n_classes, const Trees *trees, size_t n_candidates,
                       const int64_t *candidates, const OpenRows *open)
{
    int64_t best = candidates[0], fewest = INT64_MAX;
    for (size_t i = 0; i < n_candidates; i++) {
        const int64_t errors = errors_with(is_wide, n_classes, trees, (size_t)candidates[i], open, fewest);
        if (errors < fewest) {
            best = candidates[i];
            fewest = errors;
        }
    }
    return best;
}

HOT int64_t best_addition(const Trees *trees, Labels labels, const double *score, double swing, size_t n_candidates,
                          const int64_t *candidates, int64_t *open_memory, double *open_score)
{
    const OpenRows open = open_rows(trees, labels, score, swing, open_memory, open_score);
    const size_t n_classes = trees->n_classes;
    if (n_classes == 2)
        return trees->leaf.is_wide ? best_of(1, 2, trees, n_candidates, candidates, &open)
                                   : best_of(0, 2, trees, n_candidates, candidates, &open);
    return trees->leaf.is_wide ? best_of(1, n_classes, trees, n_candidates, candidates, &open)
                               : best_of(0, n_classes, trees, n_candidates, candidates, &open);
}

enum { AREA_LANES = 8, BINS_OF_LANE = AREA_BINS / AREA_LANES, CHUNK = 512 };

/* Where a bin is counted: eight runs of bins lie side by side, and are gone through at once. */
INLINE uint32_t place_of(uint32_t bin, uint32_t is_elsewhere)
{
    return (bin % BINS_OF_LANE) * (2 * AREA_LANES) + is_elsewhere * AREA_LANES + bin / BINS_OF_LANE;
}

/* Count the weights of the rows in the bins of their scores, apart by whether they are of the class. */
INLINE void fill_bins(const int is_wide, const Trees *trees, size_t tree, Labels labels, size_t c,
                      const double *RESTRICT score, const double *RESTRICT of_leaf, double low, double scale,
                      double *RESTRICT bins)
{
    uint32_t place[CHUNK];
    for (size_t begin = 0; begin < trees->n_rows; begin += CHUNK) {
        const size_t size = trees->n_rows - begin < CHUNK ? trees->n_rows - begin : CHUNK;
        const int64_t *RESTRICT y = labels.y + begin, *RESTRICT weight = labels.weight + begin;
        for (size_t i = 0; i < size; i++) {
            const double sum = score[begin + i] + of_leaf[leaf_of(trees, is_wide, tree, begin + i)];
            place[i] = place_of((uint32_t)(int32_t)((sum - low) * scale + 0.5), y[i] != (int64_t)c);
        }
        for (size_t i = 0; i < size; i++)
            bins[place[i]] += (double)weight[i];
    }
}

/* Go through four of the runs of bins; write the sums of each, and empty the bins. */
INLINE void add_up_runs(double *bins, double *in_class, double *elsewhere, double *won)
{
    const Four none = EACH(0.0), half = EACH(0.5);
    Four all_in = none, below = none, all_won = none;
    for (size_t b = 0; b < BINS_OF_LANE; b++, bins += 2 * AREA_LANES) {
        Four in, out;
        LOAD(in, bins);
        LOAD(out, bins + AREA_LANES);
        all_won = PLUS(all_won, TIMES(in, PLUS(below, TIMES(half, out))));
        below = PLUS(below, out);
        all_in = PLUS(all_in, in);
        STORE(none, bins);
        STORE(none, bins + AREA_LANES);
    }
    STORE(all_in, in_class);
    STORE(below, elsewhere);
    STORE(all_won, won);
}

/* Return the area under the curve of what is counted, -1 if there is none; the bins are empty after it. */
INLINE double area_of_bins(double *bins)
{
    double in_class[AREA_LANES], elsewhere[AREA_LANES], won[AREA_LANES];
    for (size_t l = 0; l < AREA_LANES; l += 4)
        add_up_runs(bins + l, in_class + l, elsewhere + l, won + l);
    double all_in = 0.0, below = 0.0, all_won = 0.0;
    for (size_t l = 0; l < AREA_LANES; l++) {
        all_won += won[l] + in_class[l] * below;
        below += elsewhere[l];
        all_in += in_class[l];
    }
    return all_in * below > 0.0 ? all_won / (all_in * below) : -1.0;
}

INLINE void find_range(size_t n, const double *x, double *low, double *high)
{
    *low = *high = x[0];
    for (size_t i = 1; i < n; i++) {
        *low = smaller(*low, x[i]);
        *high = larger(*high, x[i]);
    }
}

/* The mean area under the curves of the classes, each against the others, with one more tree. */
INLINE double area_with(const Trees *trees, size_t tree, Labels labels, const double *by_class, double *of_leaf,
                        double *bins)
{
    const size_t n_rows = trees->n_rows, n_classes = trees->n_classes, first = (size_t)trees->offset[tree];
    const size_t n_nodes = (size_t)trees->offset[tree + 1] - first;
    double total = 0.0, n_areas = 0.0;
    for (size_t c = 0; c < n_classes; c++) {
        const double *score = by_class + c * (n_rows + 2); /* and its range */
        for (size_t node = 0; node < n_nodes; node++)
            of_leaf[node] = trees->value[(first + node) * n_classes + c];
        double low, high;
        find_range(n_nodes, of_leaf, &low, &high);
        low += score[n_rows];
        high += score[n_rows + 1];
        /* Bins must have numbers: a range beyond all numbers has none, and one of nearly nothing has a single one. */
        if (!(high - low < INFINITY))
            continue;
        const double scale = high - low > 1e-300 ? (AREA_BINS - 1) / (high - low) : 0.0;
        if (trees->leaf.is_wide)
            fill_bins(1, trees, tree, labels, c, score, of_leaf, low, scale, bins);
        else
            fill_bins(0, trees, tree, labels, c, score, of_leaf, low, scale, bins);
        const double area = area_of_bins(bins);
        total += larger(area, 0.0);
        n_areas += area >= 0.0;
    }
    return n_areas > 0.0 ? total / n_areas : 0.5;
}

HOT int64_t largest_area(const Trees *trees, Labels labels, const double *score, size_t n_candidates,
                         const int64_t *candidates, double *by_class, double *of_leaf, double *bins)
{
    const size_t n_rows = trees->n_rows, n_classes = trees->n_classes;
    for (size_t c = 0; c < n_classes; c++) {
        double *column = by_class + c * (n_rows + 2);
        for (size_t n = 0; n < n_rows; n++)
            column[n] = score[n * n_classes + c];
        find_range(n_rows, column, &column[n_rows], &column[n_rows + 1]);
    }
    memset(bins, 0, AREA_SCRATCH * sizeof *bins);
    int64_t best = candidates[0];
    double largest = -1.0;
    for (size_t i = 0; i < n_candidates; i++) {
        const double area = area_with(trees, (size_t)candidates[i], labels, by_class, of_leaf, bins);
        if (area > largest + 1e-12) {
            best = candidates[i];
            largest = area;
        }
    }
    return best;
}

/* Write what the objective changes by when tree i is swapped for each other one, which counts if it is not chosen. */
INLINE void changes_without(size_t n, size_t i, const double *RESTRICT single, const double *RESTRICT of_i,
                            const double *RESTRICT with_itself, const double *RESTRICT load, double *RESTRICT change)
{
    const double without = -single[i] - 2.0 * load[i] + of_i[i];
    for (size_t j = 0; j < n; j++)
        change[j] = without + single[j] + 2.0 * (load[j] - of_i[j]) + with_itself[j];
}

HOT double improve_by_swaps(size_t n, const double *single, const double *pair, uint8_t *chosen, double *scratch)
{
    double *load = scratch, *change = scratch + n, *with_itself = scratch + 2 * n, objective = 0.0;
    for (size_t i = 0; i < n; i++) {
        with_itself[i] = pair[i * n + i];
        load[i] = 0.0;
        for (size_t j = 0; j < n; j++)
            load[i] += chosen[j] ? pair[i * n + j] : 0.0;
    }
    for (size_t i = 0; i < n; i++)
        objective += chosen[i] ? single[i] + load[i] : 0.0;
    for (;;) {
        double best = -1e-12 * (1.0 + fabs(objective));
        size_t out = n, new = n;
        for (size_t i = 0; i < n; i++) {
            if (!chosen[i])
                continue;
            changes_without(n, i, single, pair + i * n, with_itself, load, change);
            for (size_t j = 0; j < n; j++)
                if (change[j] < best && !chosen[j]) {
                    best = change[j];
                    out = i;
                    new = j;
                }
        }
        if (out == n)
            return objective;
        chosen[out] = 0;
        chosen[new] = 1;
        for (size_t i = 0; i < n; i++)
            load[i] += pair[i * n + new] - pair[i * n + out];
        objective += best;
    }
}
