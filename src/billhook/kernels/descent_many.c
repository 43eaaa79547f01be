#include "descent.h"

#include <string.h>

/* Rows whose numbers for all classes add up to something beyond these limits are divided by it. */
#define SMALL_TOTAL 1e-30
#define LARGE_TOTAL 1e30

/* A block of rows: their state (rows, padded classes), labels, weights, and leaves in the last and in the next tree. */
typedef struct {
    size_t n_rows;
    double *state;
    const uint64_t *label;
    const double *weight;
    uint32_t last[DESCENT_BLOCK], next[DESCENT_BLOCK];
} Block;

/* Return the sum of n numbers, n a multiple of 4: every fourth on its own, then those four. */
INLINE double sum_of(const size_t n, const double *x)
{
    double lane[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t c = 0; c < n; c += 4)
        for (size_t j = 0; j < 4; j++)
            lane[j] += x[c + j];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* Leaves with a value for each class; n is their number, padded. The labels are added up apart, in `hits`: a single
   number that is written to a row of sums would be waited for when the row is read as a whole. */
INLINE void sum_probabilities(const size_t n, const Block *block, const double *RESTRICT move, double *RESTRICT sums,
                              double *RESTRICT hits)
{
    for (size_t i = 0; i < block->n_rows; i++) {
        const double *RESTRICT by = move + block->last[i] * n;
        double *RESTRICT state = block->state + i * n;
        double *RESTRICT slope = sums + (size_t)block->next[i] * 2 * n;
        double *RESTRICT bend = slope + n;
        const double w = block->weight[i];
        for (size_t c = 0; c < n; c++)
            state[c] *= by[c];
        const double share = 1.0 / sum_of(n, state);
        for (size_t c = 0; c < n; c++) {
            const double p = larger(state[c] * share, TINY), wp = w * p;
            state[c] = p;
            slope[c] -= wp;
            bend[c] += wp * (1.0 - p);
        }
        hits[block->next[i] * n + block->label[i]] += w;
    }
}

INLINE void sum_squares(const size_t n, const Block *block, const double *RESTRICT move, double *RESTRICT sums,
                        double *RESTRICT hits)
{
    for (size_t i = 0; i < block->n_rows; i++) {
        const double *RESTRICT by = move + block->last[i] * n;
        double *RESTRICT state = block->state + i * n;
        double *RESTRICT slope = sums + (size_t)block->next[i] * 2 * n;
        const double w = block->weight[i];
        for (size_t c = 0; c < n; c++) {
            const double score = state[c] + by[c];
            state[c] = score;
            slope[c] -= w * score;
        }
        slope[n] += w;
        hits[block->next[i] * n + block->label[i]] += w;
    }
}

/* For the hinges. `hits` is what the true class, here taken for one of the others, adds to the slope. */
INLINE void sum_hinges(const size_t n, const Block *block, const int is_bounded, const double *RESTRICT move,
                       double *RESTRICT sums, double *RESTRICT hits)
{
    for (size_t i = 0; i < block->n_rows; i++) {
        const double *RESTRICT by = move + block->last[i] * n;
        double *RESTRICT state = block->state + i * n;
        double *RESTRICT slope = sums + (size_t)block->next[i] * 2 * n;
        double *RESTRICT bend = slope + n;
        const double w = block->weight[i];
        for (size_t c = 0; c < n; c++) {
            const double score = state[c] + by[c], gap = larger(1.0 + score, 0.0);
            state[c] = score;
            slope[c] -= w * gap;
            bend[c] += gap > 0.0 || is_bounded ? w : 0.0;
        }
        const size_t label = (size_t)block->label[i];
        const double score = state[label];
        hits[block->next[i] * n + label] += w * (larger(1.0 + score, 0.0) + larger(1.0 - score, 0.0));
        if (!is_bounded)
            bend[label] += w * ((score < 1.0 ? 1.0 : 0.0) - (score > -1.0 ? 1.0 : 0.0));
    }
}

/* Leaves with values for some classes; n is the number of all, padded. The state keeps the proportions of the
   probabilities only, which the other classes then need not be written for. */
INLINE void sum_some_probabilities(const size_t n, const Block *block, size_t moved, size_t here,
                                   const size_t n_values, const double *RESTRICT move, double *RESTRICT sums)
{
    for (size_t i = 0; i < block->n_rows; i++) {
        const double *RESTRICT by = move + block->last[i] * n_values;
        double *RESTRICT state = block->state + i * n;
        double *RESTRICT slope = sums + (size_t)block->next[i] * 2 * n_values;
        const double w = block->weight[i];
        for (size_t c = 0; c < n_values; c++)
            state[moved + c] = larger(state[moved + c] * by[c], TINY);
        const double total = sum_of(n, state);
        double share = 1.0 / total;
        if (total < SMALL_TOTAL || total > LARGE_TOTAL) {
            for (size_t c = 0; c < n; c++)
                state[c] = state[c] == 0.0 ? 0.0 : larger(state[c] * share, TINY);
            share = 1.0;
        }
        for (size_t c = 0; c < n_values; c++) {
            const double p = state[here + c] * share, wp = w * p;
            slope[c] += (block->label[i] == here + c ? w : 0.0) - wp;
            slope[n_values + c] += wp * (1.0 - p);
        }
    }
}

/* The same for squares and hinges: what they need of a row is in the columns of the trees alone. */
INLINE void sum_some(const int loss, const size_t n, const Block *block, size_t moved, size_t here,
                     const size_t n_values, const double *RESTRICT move, double *RESTRICT sums)
{
    for (size_t i = 0; i < block->n_rows; i++) {
        const double *RESTRICT by = move + block->last[i] * n_values;
        double *RESTRICT state = block->state + i * n;
        double *RESTRICT slope = sums + (size_t)block->next[i] * 2 * n_values;
        const double w = block->weight[i];
        for (size_t c = 0; c < n_values; c++)
            state[moved + c] += by[c];
        for (size_t c = 0; c < n_values; c++) {
            const double score = state[here + c];
            const int is_true = block->label[i] == here + c;
            if (loss == SQUARED) {
                slope[c] += w * ((is_true ? 1.0 : 0.0) - score);
                slope[n_values + c] += w;
            } else {
                const double sign = is_true ? 1.0 : -1.0, gap = larger(1.0 - sign * score, 0.0);
                slope[c] += w * sign * gap;
                slope[n_values + c] += gap > 0.0 || loss == BOUNDED_HINGE ? w : 0.0;
            }
        }
    }
}

/* Call a loop with the number of classes, padded, as a constant where it is small. */
#define WITH_CONSTANT(n, loop, ...) \
    switch (n) { \
    case 4: loop(4, __VA_ARGS__); break; \
    case 8: loop(8, __VA_ARGS__); break; \
    case 12: loop(12, __VA_ARGS__); break; \
    case 16: loop(16, __VA_ARGS__); break; \
    case 20: loop(20, __VA_ARGS__); break; \
    case 24: loop(24, __VA_ARGS__); break; \
    case 28: loop(28, __VA_ARGS__); break; \
    case 32: loop(32, __VA_ARGS__); break; \
    default: loop(n, __VA_ARGS__); \
    }

HOT static void sum_all_classes(size_t n, const Block *block, int loss, const double *move, double *sums, double *hits)
{
    if (loss == LOGISTIC) {
        WITH_CONSTANT(n, sum_probabilities, block, move, sums, hits)
    } else if (loss == SQUARED) {
        WITH_CONSTANT(n, sum_squares, block, move, sums, hits)
    } else if (loss == BOUNDED_HINGE) {
        sum_hinges(n, block, 1, move, sums, hits);
    } else {
        sum_hinges(n, block, 0, move, sums, hits);
    }
}

HOT static void sum_some_classes(size_t n, const Block *block, int loss, size_t moved, size_t here, size_t n_values,
                                 const double *move, double *sums)
{
    if (loss == LOGISTIC && n_values == 1) {
        WITH_CONSTANT(n, sum_some_probabilities, block, moved, here, 1, move, sums)
    } else if (loss == LOGISTIC) {
        sum_some_probabilities(n, block, moved, here, n_values, move, sums);
    } else if (loss == SQUARED && n_values == 1) {
        sum_some(SQUARED, n, block, moved, here, 1, move, sums);
    } else if (loss == SQUARED) {
        sum_some(SQUARED, n, block, moved, here, n_values, move, sums);
    } else if (n_values == 1) {
        sum_some(loss, n, block, moved, here, 1, move, sums);
    } else {
        sum_some(loss, n, block, moved, here, n_values, move, sums);
    }
}

void sweep_many(const DescentRows *rows, size_t before, size_t now, size_t n_leaves, size_t moved, size_t here,
                size_t n_values, size_t n_classes, double *state, const uint64_t *target, int loss,
                const double *move, uint32_t still, double *sums, double *scratch)
{
    const size_t n = padded(n_classes), width = n_values == n_classes ? n : n_values;
    double weights[DESCENT_BLOCK];
    Block block;
    memset(sums, 0, n_leaves * 2 * width * sizeof *sums);
    if (n_values == n_classes)
        memset(scratch, 0, n_leaves * n * sizeof *scratch);
    for (size_t begin = 0; begin < rows->n_rows; begin += DESCENT_BLOCK) {
        block.n_rows = rows->n_rows - begin < DESCENT_BLOCK ? rows->n_rows - begin : DESCENT_BLOCK;
        block.state = state + begin * n;
        block.label = target + begin;
        leaves_of_block(rows, before, begin, block.n_rows, still, block.last);
        leaves_of_block(rows, now, begin, block.n_rows, 0, block.next);
        block.weight = weights_of_block(rows, now, begin, block.n_rows, weights);
        if (n_values == n_classes)
            sum_all_classes(n, &block, loss, move, sums, scratch);
        else
            sum_some_classes(n, &block, loss, moved, here, n_values, move, sums);
    }
    if (n_values == n_classes)
        for (size_t i = 0; i < n_leaves; i++)
            for (size_t c = 0; c < n_classes; c++)
                sums[2 * i * n + c] += scratch[i * n + c];
}

/* Move the rows by the step of the last tree, and write them without padding; `to` may be `from`. */
HOT static void move_many(const DescentRows *rows, size_t tree, size_t moved, size_t n_values, size_t n_classes,
                          const double *from, int loss, const TreeStep *step, uint32_t still, double *to)
{
    uint32_t ids[DESCENT_BLOCK];
    for (size_t begin = 0; begin < rows->n_rows; begin += DESCENT_BLOCK) {
        const size_t n = rows->n_rows - begin < DESCENT_BLOCK ? rows->n_rows - begin : DESCENT_BLOCK;
        leaves_of_block(rows, tree, begin, n, still, ids);
        for (size_t i = 0; i < n; i++) {
            const double *by = step->move + ids[i] * step->width;
            const double *row = from + (begin + i) * padded(n_classes);
            double *state = to + (begin + i) * n_classes;
            for (size_t c = 0; c < n_classes; c++)
                state[c] = row[c];
            for (size_t c = 0; c < n_values; c++)
                state[moved + c] = loss == LOGISTIC ? larger(state[moved + c] * by[c], TINY) : state[moved + c] + by[c];
        }
    }
}

void resize_rows(size_t n_rows, size_t n_from, const double *from, size_t n_to, double *to)
{
    for (size_t i = 0; i < n_rows; i++)
        for (size_t c = 0; c < n_to; c++)
            to[i * n_to + c] = c < n_from ? from[i * n_from + c] : 0.0;
}

void descend_many(const DescentRows *rows, const DescentLeaves *leaves, const DescentRules *rules, size_t n_classes,
                  double *state, const uint64_t *target, const TreeStep *step, double *wide_state, double *scratch)
{
    const uint32_t still = (uint32_t)most_leaves(leaves->first, rows->n_trees);
    const size_t n_values = leaves->n_values;
    size_t before = 0, moved = 0;
    if (rows->n_trees == 0)
        return;
    if (wide_state != state)
        resize_rows(rows->n_rows, n_classes, state, padded(n_classes), wide_state);
    for (size_t i = 0; i <= still; i++)
        for (size_t c = 0; c < step->width; c++)
            step->move[i * step->width + c] = rules->loss == LOGISTIC && c < n_values ? 1.0 : 0.0;
    for (size_t k = 0; k < rows->n_trees; k++) {
        const size_t here = (size_t)leaves->column[k], n_leaves = (size_t)(leaves->first[k + 1] - leaves->first[k]);
        sweep_many(rows, before, k, n_leaves, moved, here, n_values, n_classes, wide_state, target, rules->loss,
                   step->move, still, step->sums, scratch);
        step_tree(leaves, k, rules, n_classes, step, scratch);
        before = k;
        moved = here;
    }
    move_many(rows, before, moved, n_values, n_classes, wide_state, rules->loss, step, still, state);
}
