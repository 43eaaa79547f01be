#include "descent_rows.h"

#include "four.h"
#include "losses.h"

#include <string.h>

/* exp of a score beyond this is not told from exp of this. */
#define FAR 600.0

/* TREES are added to a row at once: its numbers are then read and written less often. */
enum { TREES = 4, LANES = 8 };

/* The leaves of a block of rows in some trees, and the values of these trees' leaves. */
typedef struct {
    uint32_t ids[TREES][DESCENT_BLOCK];
    const double *value[TREES];
} BlockLeaves;

/* Add the values of the rows' leaves in so many trees, tree after tree; a leaf has n_values. */
INLINE void add_trees(const size_t n_trees, size_t n, const BlockLeaves *leaves, const size_t n_values,
                      const size_t stride, double *RESTRICT score)
{
    for (size_t i = 0; i < n; i++) {
        double *RESTRICT row = score + i * stride;
        const double *value[TREES];
        for (size_t k = 0; k < n_trees; k++)
            value[k] = leaves->value[k] + leaves->ids[k][i] * n_values;
        size_t c = 0;
        for (; c + 4 <= n_values; c += 4) {
            Four sum, of_tree;
            LOAD(sum, row + c);
            for (size_t k = 0; k < n_trees; k++) {
                LOAD(of_tree, value[k] + c);
                sum = PLUS(sum, of_tree);
            }
            STORE(sum, row + c);
        }
        for (; c < n_values; c++) {
            double sum = row[c];
            for (size_t k = 0; k < n_trees; k++)
                sum += value[k][c];
            row[c] = sum;
        }
    }
}

INLINE void add_trees_of(const size_t n_trees, size_t n, const BlockLeaves *leaves, size_t n_values, size_t stride,
                         double *score)
{
    if (stride == 1)
        add_trees(n_trees, n, leaves, 1, 1, score);
    else if (n_values == 1)
        add_trees(n_trees, n, leaves, 1, stride, score);
    else
        add_trees(n_trees, n, leaves, n_values, stride, score);
}

/* Add the values of one tree to the rows that it does not skip. */
INLINE void add_tree_to_some(size_t n, const BlockLeaves *leaves, const uint8_t *skip, size_t n_values, size_t stride,
                             double *RESTRICT score)
{
    for (size_t i = 0; i < n; i++) {
        const double *RESTRICT value = leaves->value[0] + leaves->ids[0][i] * n_values;
        /* No branch: it would be mispredicted as often as rows are skipped. */
        const double share = 1.0 - (double)skip[i];
        for (size_t c = 0; c < n_values; c++)
            score[i * stride + c] += share * value[c];
    }
}

/* Turn scores into what is kept of them: exp, of several columns after the largest is taken off. */
INLINE void take_exp(size_t n_rows, size_t n_columns, double *RESTRICT state)
{
    for (size_t i = 0; n_columns > 1 && i < n_rows; i++) {
        double *row = state + i * n_columns;
        double most = row[0];
        for (size_t c = 1; c < n_columns; c++)
            most = larger(row[c], most);
        for (size_t c = 0; c < n_columns; c++)
            row[c] -= most;
    }
    for (size_t i = 0; i < n_rows * n_columns; i++)
        state[i] = exp_of(clamp(state[i], -FAR, FAR));
}

/* Return how many of the trees from k on are added at once: those that add to the same columns. */
static size_t n_at_once(const DescentRows *rows, const uint64_t *column, size_t k)
{
    if (rows->skip != NULL || k + TREES > rows->n_trees)
        return 1;
    for (size_t j = 1; j < TREES; j++)
        if (column[k + j] != column[k])
            return 1;
    return TREES;
}

HOT void find_states(const DescentRows *rows, const uint64_t *first, const uint64_t *column, size_t n_values,
                     const double *table, size_t n_columns, const double *base, int is_log, double *state)
{
    BlockLeaves leaves;
    for (size_t begin = 0; begin < rows->n_rows; begin += DESCENT_BLOCK) {
        const size_t n = rows->n_rows - begin < DESCENT_BLOCK ? rows->n_rows - begin : DESCENT_BLOCK;
        double *block = state + begin * n_columns;
        for (size_t i = 0; i < n * n_columns; i++)
            block[i] = base[i % n_columns];
        for (size_t k = 0, n_trees; k < rows->n_trees; k += n_trees) {
            double *score = block + column[k];
            n_trees = n_at_once(rows, column, k);
            for (size_t j = 0; j < n_trees; j++) {
                leaves_of_block(rows, k + j, begin, n, 0, leaves.ids[j]);
                leaves.value[j] = table + (size_t)first[k + j] * n_values;
            }
            if (rows->skip != NULL && n_values == 1)
                add_tree_to_some(n, &leaves, rows->skip + k * rows->n_rows + begin, 1, n_columns, score);
            else if (rows->skip != NULL)
                add_tree_to_some(n, &leaves, rows->skip + k * rows->n_rows + begin, n_values, n_columns, score);
            else if (n_trees == TREES)
                add_trees_of(TREES, n, &leaves, n_values, n_columns, score);
            else
                add_trees_of(1, n, &leaves, n_values, n_columns, score);
        }
        if (is_log)
            take_exp(n, n_columns, block);
    }
}

/* Note which leaves of one tree these rows reach. */
INLINE void note_reached(const DescentRows *rows, size_t tree, size_t begin, size_t n, uint8_t *RESTRICT reached)
{
    uint32_t ids[DESCENT_BLOCK];
    double weights[DESCENT_BLOCK];
    leaves_of_block(rows, tree, begin, n, 0, ids);
    const double *weight = weights_of_block(rows, tree, begin, n, weights);
    for (size_t i = 0; i < n; i++)
        reached[ids[i]] |= weight[i] > 0.0;
}

static int are_all_set(size_t n, const uint8_t *flag)
{
    for (size_t i = 0; i < n; i++)
        if (!flag[i])
            return 0;
    return 1;
}

void find_reached(const DescentRows *rows, const uint64_t *first, uint8_t *reached)
{
    for (size_t k = 0; k < rows->n_trees; k++) {
        const size_t n_leaves = (size_t)(first[k + 1] - first[k]);
        uint8_t *of_tree = reached + first[k];
        /* Once all leaves are reached, the other rows need not be looked at: seen to when the rows have doubled. */
        size_t look_at = 2 * DESCENT_BLOCK;
        memset(of_tree, 0, n_leaves);
        for (size_t begin = 0; begin < rows->n_rows; begin += DESCENT_BLOCK) {
            const size_t n = rows->n_rows - begin < DESCENT_BLOCK ? rows->n_rows - begin : DESCENT_BLOCK;
            note_reached(rows, k, begin, n, of_tree);
            if (begin + n >= look_at) {
                look_at *= 2;
                if (are_all_set(n_leaves, of_tree))
                    break;
            }
        }
    }
}

void renumber_leaves(size_t n_trees, size_t n_rows, const uint64_t *first, const void *number, int is_wide,
                     void *leaf)
{
    for (size_t k = 0; k < n_trees; k++) {
        if (is_wide) {
            uint32_t *RESTRICT ids = (uint32_t *)leaf + k * n_rows;
            const uint32_t *RESTRICT of_tree = (const uint32_t *)number + first[k];
            for (size_t i = 0; i < n_rows; i++)
                ids[i] = of_tree[ids[i]];
        } else {
            uint16_t *RESTRICT ids = (uint16_t *)leaf + k * n_rows;
            const uint16_t *RESTRICT of_tree = (const uint16_t *)number + first[k];
            for (size_t i = 0; i < n_rows; i++)
                ids[i] = of_tree[ids[i]];
        }
    }
}

/* A sum as if its parts were added exactly, but for the last digits: passes near the minimum differ by no more than
   the rounding of a plain sum. Every eighth number has its own sum, and what that lost (Knuth's two-sum). */
typedef struct {
    double sum[LANES], lost[LANES];
} ExactSum;

INLINE void add_to_lane(ExactSum *to, size_t lane, double x)
{
    const double sum = to->sum[lane] + x, added = sum - to->sum[lane];
    to->lost[lane] += (to->sum[lane] - (sum - added)) + (x - added);
    to->sum[lane] = sum;
}

INLINE void add_products(size_t n, const double *RESTRICT weight, const double *RESTRICT x, ExactSum *RESTRICT to)
{
    ExactSum sum = *to;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            add_to_lane(&sum, j, weight[i + j] * x[i + j]);
    for (; i < n; i++)
        add_to_lane(&sum, i % LANES, weight[i] * x[i]);
    *to = sum;
}

INLINE double total_of(ExactSum *of)
{
    for (size_t j = 1; j < LANES; j++) {
        add_to_lane(of, 0, of->sum[j]);
        of->lost[0] += of->lost[j];
    }
    return of->sum[0] + of->lost[0];
}

HOT double find_losses(size_t n_rows, size_t n_columns, const double *state, const double *target,
                       const uint64_t *label, const double *weight, int loss, double width, double *loss_of_row)
{
    double of_block[DESCENT_BLOCK];
    ExactSum sum = {{0.0}, {0.0}};
    for (size_t begin = 0; begin < n_rows; begin += DESCENT_BLOCK) {
        const size_t n = n_rows - begin < DESCENT_BLOCK ? n_rows - begin : DESCENT_BLOCK;
        double *losses = loss_of_row != NULL ? loss_of_row + begin : of_block;
        losses_of_block(loss, n, n_columns, state + begin * n_columns, n_columns > 1 ? NULL : target + begin,
                        n_columns > 1 ? label + begin : NULL, width, losses);
        if (weight != NULL)
            add_products(n, weight + begin, losses, &sum);
    }
    return total_of(&sum);
}
