#include "descent.h"
#include "four.h"

#include <string.h>

/* Rows whose numbers for all classes add up to something beyond these limits are divided by it. */
#define SMALL_TOTAL 1e-30
#define LARGE_TOTAL 1e30

/* A block of rows: their state (rows, padded classes), labels, weights, and leaves in the last and the next tree. */
typedef struct {
    size_t n_rows;
    double *state;
    const uint64_t *label;
    const double *weight;
    uint32_t last[DESCENT_BLOCK], next[DESCENT_BLOCK];
} Block;

/* So many numbers of a row are kept in registers between two loops. */
enum { MOST_KEPT = 32, FEW = 32 };

/* Return the sum of n numbers, n a multiple of 4: every fourth on its own, then those four. */
INLINE double sum_of(const size_t n, const double *x)
{
    Four total = EACH(0.0), some;
    for (size_t c = 0; c < n; c += 4) {
        LOAD(some, x + c);
        total = PLUS(total, some);
    }
    return TOTAL(total);
}

/* Multiply the numbers of a row, and divide by their sum. TINY is added to a probability, not its lower limit: that
   is the same but for probabilities next to it. */
INLINE void move_probabilities(const size_t n, const double *RESTRICT by, double *RESTRICT state)
{
    Four kept[MOST_KEPT / 4], total = EACH(0.0), p, factor;
    for (size_t c = 0; c < n; c += 4) {
        LOAD(p, state + c);
        LOAD(factor, by + c);
        p = TIMES(p, factor);
        if (n <= MOST_KEPT)
            kept[c / 4] = p;
        else
            STORE(p, state + c);
        total = PLUS(total, p);
    }
    const double all = TOTAL(total), share = 1.0 / all;
    const Four shares = EACH(share), tiny = EACH(TINY);
    for (size_t c = 0; c < n; c += 4) {
        if (n <= MOST_KEPT)
            p = kept[c / 4];
        else
            LOAD(p, state + c);
        p = PLUS(TIMES(p, shares), tiny);
        STORE(p, state + c);
    }
}

/* Add a row's probabilities to the sums of its leaf. */
INLINE void add_probabilities(const size_t n, const double *RESTRICT state, double weight, double *RESTRICT slope)
{
    const Four one = EACH(1.0), w = EACH(weight);
    Four p, sum;
    for (size_t c = 0; c < n; c += 4) {
        LOAD(p, state + c);
        const Four wp = TIMES(w, p);
        LOAD(sum, slope + c);
        sum = MINUS(sum, wp);
        STORE(sum, slope + c);
        LOAD(sum, slope + n + c);
        sum = PLUS(sum, TIMES(wp, MINUS(one, p)));
        STORE(sum, slope + n + c);
    }
}

/* Move a row's scores, and add them to the sums of its leaf; for squares, the first curvature is that of all. */
INLINE void add_squares(const size_t n, const double *RESTRICT by, double *RESTRICT state, double weight,
                        double *RESTRICT slope)
{
    const Four w = EACH(weight);
    Four score, step, sum;
    for (size_t c = 0; c < n; c += 4) {
        LOAD(score, state + c);
        LOAD(step, by + c);
        score = PLUS(score, step);
        STORE(score, state + c);
        LOAD(sum, slope + c);
        sum = MINUS(sum, TIMES(w, score));
        STORE(sum, slope + c);
    }
    slope[n] += weight;
}

/* Do the same for the hinges, as if the row were of none of the classes. */
INLINE void add_hinges(const size_t n, const int is_bounded, const double *RESTRICT by, double *RESTRICT state,
                       double weight, double *RESTRICT slope, double *RESTRICT bend)
{
    for (size_t c = 0; c < n; c++) {
        const double score = state[c] + by[c];
        state[c] = score;
        slope[c] -= weight * larger(1.0 + score, 0.0);
        bend[c] += is_bounded || score > -1.0 ? weight : 0.0;
    }
}

/* Add what a row's own class makes different. */
INLINE void add_label(const int loss, const size_t n, double score, double weight, double *slope)
{
    if (loss == LOGISTIC || loss == SQUARED) {
        slope[0] += weight;
        return;
    }
    slope[0] += weight * (larger(1.0 + score, 0.0) + larger(1.0 - score, 0.0));
    if (loss == SQUARED_HINGE)
        slope[n] += weight * ((double)(score < 1.0) - (double)(score > -1.0));
}

/* Leaves with a value for each class; n is their number, padded. There is a loop for each step: the rows' divisions
   then do not wait for sums, nor the sums, read as a whole, for a single number that was just written there. */
INLINE void sum_all(const size_t n, const int loss, const Block *block, const double *RESTRICT move,
                    double *RESTRICT sums)
{
    for (size_t begin = 0; begin < block->n_rows; begin += FEW) {
        const size_t end = begin + FEW < block->n_rows ? begin + FEW : block->n_rows;
        for (size_t i = begin; loss == LOGISTIC && i < end; i++)
            move_probabilities(n, move + block->last[i] * n, block->state + i * n);
        for (size_t i = begin; i < end; i++) {
            const double *by = move + block->last[i] * n;
            double *state = block->state + i * n, *slope = sums + (size_t)block->next[i] * 2 * n;
            if (loss == LOGISTIC)
                add_probabilities(n, state, block->weight[i], slope);
            else if (loss == SQUARED)
                add_squares(n, by, state, block->weight[i], slope);
            else
                add_hinges(n, loss == BOUNDED_HINGE, by, state, block->weight[i], slope, slope + n);
        }
        for (size_t i = begin; i < end; i++) {
            const size_t label = (size_t)block->label[i];
            add_label(loss, n, block->state[i * n + label], block->weight[i],
                      sums + (size_t)block->next[i] * 2 * n + label);
        }
    }
}

/* Move the columns of the last tree, where leaves have values for some classes only. A loop of its own: numbers that
   are written one by one would be waited for when the row is read as a whole. */
INLINE void move_some(const size_t n, const Block *block, const int is_log, size_t moved, const size_t n_values,
                      const double *RESTRICT move)
{
    for (size_t i = 0; i < block->n_rows; i++) {
        const double *RESTRICT by = move + block->last[i] * n_values;
        double *RESTRICT state = block->state + i * n + moved;
        for (size_t c = 0; c < n_values; c++)
            state[c] = is_log ? larger(state[c] * by[c], TINY) : state[c] + by[c];
    }
}

/* Write what each row's numbers are to be multiplied by to be probabilities; n is the number of classes, padded. The
   state keeps their proportions only: a step then changes one number and not all. */
INLINE void find_shares(const size_t n, const Block *block, double *RESTRICT share)
{
    for (size_t i = 0; i < block->n_rows; i++) {
        double *RESTRICT state = block->state + i * n;
        const double total = sum_of(n, state);
        share[i] = 1.0 / total;
        if (total < SMALL_TOTAL || total > LARGE_TOTAL) {
            for (size_t c = 0; c < n; c++)
                state[c] = state[c] == 0.0 ? 0.0 : larger(state[c] / total, TINY);
            share[i] = 1.0;
        }
    }
}

/* What is known of a block of rows in one column: their shares (see there), their numbers, whether the column is that
   of their class, and slopes and curvatures times weights. */
typedef struct {
    double share[DESCENT_BLOCK], state[DESCENT_BLOCK], is_own[DESCENT_BLOCK];
    double slope[DESCENT_BLOCK], bend[DESCENT_BLOCK];
} Column;

INLINE void find_slopes(const int loss, const Block *block, Column *of)
{
    const double *RESTRICT state = of->state, *RESTRICT is_own = of->is_own, *RESTRICT share = of->share;
    double *RESTRICT slope = of->slope, *RESTRICT bend = of->bend;
    const double *RESTRICT weight = block->weight;
    for (size_t i = 0; i < block->n_rows; i++) {
        const double w = weight[i], sign = 2.0 * is_own[i] - 1.0, gap = larger(1.0 - sign * state[i], 0.0);
        if (loss == LOGISTIC) {
            const double p = state[i] * share[i];
            slope[i] = w * (is_own[i] - p);
            bend[i] = w * p * (1.0 - p);
        } else if (loss == SQUARED) {
            slope[i] = w * (is_own[i] - state[i]);
            bend[i] = w;
        } else {
            slope[i] = w * sign * gap;
            bend[i] = loss == BOUNDED_HINGE || gap > 0.0 ? w : 0.0;
        }
    }
}

/* Add up one column, where leaves have values for some classes only: n_values, and `sums` begins with that of the
   column. */
INLINE void sum_column(const int loss, const size_t n, const Block *block, size_t column, Column *RESTRICT of,
                       size_t n_values, double *RESTRICT sums)
{
    for (size_t i = 0; i < block->n_rows; i++)
        of->state[i] = block->state[i * n + column];
    for (size_t i = 0; i < block->n_rows; i++)
        of->is_own[i] = block->label[i] == column ? 1.0 : 0.0;
    find_slopes(loss, block, of);
    for (size_t i = 0; i < block->n_rows; i++) {
        double *at = sums + (size_t)block->next[i] * 2 * n_values;
        at[0] += of->slope[i];
        at[n_values] += of->bend[i];
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

HOT static void sum_all_classes(size_t n, const Block *block, int loss, const double *move, double *sums)
{
    if (loss == LOGISTIC) {
        WITH_CONSTANT(n, sum_all, LOGISTIC, block, move, sums)
    } else if (loss == SQUARED) {
        WITH_CONSTANT(n, sum_all, SQUARED, block, move, sums)
    } else if (loss == SQUARED_HINGE) {
        sum_all(n, SQUARED_HINGE, block, move, sums);
    } else {
        sum_all(n, BOUNDED_HINGE, block, move, sums);
    }
}

INLINE void sum_columns(const int loss, size_t n, const Block *block, size_t moved, size_t here,
                        const size_t n_values, const double *move, Column *of, double *sums)
{
    move_some(n, block, loss == LOGISTIC, moved, n_values, move);
    if (loss == LOGISTIC) {
        WITH_CONSTANT(n, find_shares, block, of->share)
    }
    for (size_t c = 0; c < n_values; c++)
        sum_column(loss, n, block, here + c, of, n_values, sums + c);
}

HOT static void sum_some_classes(size_t n, const Block *block, int loss, size_t moved, size_t here, size_t n_values,
                                 const double *move, double *sums)
{
    Column column;
    if (n_values > 1)
        sum_columns(loss, n, block, moved, here, n_values, move, &column, sums);
    else if (loss == LOGISTIC)
        sum_columns(LOGISTIC, n, block, moved, here, 1, move, &column, sums);
    else if (loss == SQUARED)
        sum_columns(SQUARED, n, block, moved, here, 1, move, &column, sums);
    else
        sum_columns(loss, n, block, moved, here, 1, move, &column, sums);
}

void sweep_many(const DescentRows *rows, size_t before, size_t now, size_t n_leaves, size_t moved, size_t here,
                size_t n_values, size_t n_classes, double *state, const uint64_t *target, int loss,
                const double *move, uint32_t still, double *sums)
{
    const size_t n = padded(n_classes), width = n_values == n_classes ? n : n_values;
    double weights[DESCENT_BLOCK];
    Block block;
    memset(sums, 0, n_leaves * 2 * width * sizeof *sums);
    for (size_t begin = 0; begin < rows->n_rows; begin += DESCENT_BLOCK) {
        block.n_rows = rows->n_rows - begin < DESCENT_BLOCK ? rows->n_rows - begin : DESCENT_BLOCK;
        block.state = state + begin * n;
        block.label = target + begin;
        leaves_of_block(rows, before, begin, block.n_rows, still, block.last);
        leaves_of_block(rows, now, begin, block.n_rows, 0, block.next);
        block.weight = weights_of_block(rows, now, begin, block.n_rows, weights);
        if (n_values == n_classes)
            sum_all_classes(n, &block, loss, move, sums);
        else
            sum_some_classes(n, &block, loss, moved, here, n_values, move, sums);
    }
}

/* Move the rows by the step of the last tree, and write them without padding. */
HOT static void move_many(const DescentRows *rows, size_t tree, size_t moved, size_t n_values, size_t n_classes,
                          const double *from, int loss, const TreeStep *step, uint32_t still, double *to)
{
    uint32_t ids[DESCENT_BLOCK];
    for (size_t begin = 0; begin < rows->n_rows; begin += DESCENT_BLOCK) {
        const size_t n = rows->n_rows - begin < DESCENT_BLOCK ? rows->n_rows - begin : DESCENT_BLOCK;
        leaves_of_block(rows, tree, begin, n, still, ids);
        for (size_t i = 0; i < n; i++) {
            const double *RESTRICT by = step->move + ids[i] * step->width;
            const double *RESTRICT row = from + (begin + i) * padded(n_classes);
            double *RESTRICT state = to + (begin + i) * n_classes;
            for (size_t c = 0; c < n_classes; c++)
                state[c] = row[c];
            for (size_t c = 0; c < n_values; c++) {
                const double s = state[moved + c];
                state[moved + c] = loss == LOGISTIC ? larger(s * by[c], TINY) : s + by[c];
            }
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
    resize_rows(rows->n_rows, n_classes, state, padded(n_classes), wide_state);
    for (size_t i = 0; i <= still; i++)
        for (size_t c = 0; c < step->width; c++)
            step->move[i * step->width + c] = rules->loss == LOGISTIC && c < n_values ? 1.0 : 0.0;
    for (size_t k = 0; k < rows->n_trees; k++) {
        const size_t here = (size_t)leaves->column[k], n_leaves = (size_t)(leaves->first[k + 1] - leaves->first[k]);
        sweep_many(rows, before, k, n_leaves, moved, here, n_values, n_classes, wide_state, target, rules->loss,
                   step->move, still, step->sums);
        step_tree(leaves, k, rules, n_classes, step, scratch);
        before = k;
        moved = here;
    }
    move_many(rows, before, moved, n_values, n_classes, wide_state, rules->loss, step, still, state);
}
