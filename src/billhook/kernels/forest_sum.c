#include "forest_sum.h"

/* So many trees add their values at once: the scores of a row are loaded and stored once for all of them. */
enum { TOGETHER = 4 };

/* Where the scratch for many rows is divided: the scores of all rows of a batch, the positions of their leaves in
   TOGETHER trees, and their columns, block by block. With one value a tree, the scores are by column, else by row. */
typedef struct {
    size_t n_rows; /* of a batch, a multiple of BLOCK */
    double *scores;
    uint32_t *at;
    int32_t *columns;
} Batch;

static size_t bytes_a_row(const Tables *tables, const Sum *sum)
{
    return sum->n_scores * sizeof(double) + TOGETHER * sizeof(uint32_t) + tables->n_columns * sizeof(int32_t);
}

size_t sum_scratch(const Tables *tables, const Sum *sum, size_t n_rows)
{
    const size_t bytes = bytes_a_row(tables, sum);
    return n_rows < FEW_ROWS ? bytes : blocks_at_once(n_rows, bytes) * BLOCK * bytes;
}

/* The values of some trees and the positions of the rows' leaves in them. */
typedef struct {
    const double *value[TOGETHER];
    const uint32_t *at[TOGETHER];
} Leaves;

/* Add `run` values of each tree, from number c on; run and n_trees are constants. */
INLINE void add_run(double *RESTRICT score, const double *const *from, const size_t n_trees, size_t c,
                    const size_t run)
{
    double s[8];
    for (size_t k = 0; k < run; k++)
        s[k] = score[c + k];
    for (size_t i = 0; i < n_trees; i++)
        for (size_t k = 0; k < run; k++)
            s[k] += from[i][c + k];
    for (size_t k = 0; k < run; k++)
        score[c + k] = s[k];
}

/* Add the values of n_trees trees to the scores of n rows, which are by row; n_trees is a constant.

   They are added in runs of 8, 4, 2 and 1: the processor adds several at once, whatever their number. */
INLINE void add_by_row(const Leaves *leaves, const size_t n_trees, size_t n, size_t n_values, double *RESTRICT scores)
{
    for (size_t row = 0; row < n; row++) {
        const double *from[TOGETHER];
        double *score = scores + row * n_values;
        size_t c = 0;
        for (size_t i = 0; i < n_trees; i++)
            from[i] = leaves->value[i] + leaves->at[i][row] * n_values;
        for (; c + 8 <= n_values; c += 8)
            add_run(score, from, n_trees, c, 8);
        if (n_values & 4) {
            add_run(score, from, n_trees, c, 4);
            c += 4;
        }
        if (n_values & 2) {
            add_run(score, from, n_trees, c, 2);
            c += 2;
        }
        if (n_values & 1)
            add_run(score, from, n_trees, c, 1);
    }
}

HOT static void add_together(const Leaves *leaves, size_t n, size_t n_values, double *scores)
{
    if (n_values == 1)
        add_by_row(leaves, TOGETHER, n, 1, scores);
    else if (n_values == 2)
        add_by_row(leaves, TOGETHER, n, 2, scores);
    else
        add_by_row(leaves, TOGETHER, n, n_values, scores);
}

HOT static void add_one(const Leaves *leaves, size_t n, size_t n_values, double *scores)
{
    if (n_values == 1)
        add_by_row(leaves, 1, n, 1, scores);
    else
        add_by_row(leaves, 1, n, n_values, scores);
}

/* Add the values of n_trees trees from `first` on; they are added together if they go to the same scores. */
static void add_trees(const Tables *tables, const Sum *sum, const Batch *batch, size_t n, size_t first,
                      size_t n_trees)
{
    Leaves leaves;
    int is_same = n_trees == TOGETHER;
    for (size_t i = 0; i < n_trees; i++) {
        leaves.value[i] = sum->value + (size_t)tables->offset[first + i] * sum->n_values;
        leaves.at[i] = batch->at + i * batch->n_rows;
        is_same &= sum->tree_column[first + i] == sum->tree_column[first];
    }
    if (is_same) {
        add_together(&leaves, n, sum->n_values, batch->scores + (size_t)sum->tree_column[first] * batch->n_rows);
        return;
    }
    for (size_t i = 0; i < n_trees; i++) {
        const Leaves one = {{leaves.value[i]}, {leaves.at[i]}};
        add_one(&one, n, sum->n_values, batch->scores + (size_t)sum->tree_column[first + i] * batch->n_rows);
    }
}

/* Return the number of the largest of n scores, `stride` apart; the first of equal ones, and of NaNs, as in numpy. */
INLINE int64_t largest(const double *score, size_t n, const size_t stride)
{
    double best = score[0];
    int64_t number = 0;
    for (size_t c = 1; c < n; c++) {
        const double x = score[c * stride];
        const int is_better = (x > best) | ((x != x) & (best == best));
        best = is_better ? x : best;
        number = is_better ? (int64_t)c : number;
    }
    return number;
}

INLINE int64_t winner_of(const double *score, size_t n_scores, const size_t stride, Winner winner)
{
    switch (winner) {
    case ABOVE_ZERO:
        return score[0] > 0.0;
    case FROM_ZERO:
        return score[0] >= 0.0;
    default:
        return largest(score, n_scores, stride);
    }
}

HOT void choose_winners(const double *scores, size_t n_rows, size_t n_scores, Winner winner, int64_t *winners)
{
    for (size_t row = 0; row < n_rows; row++)
        winners[row] = winner_of(scores + row * n_scores, n_scores, 1, winner);
}

/* Divide the sums of n rows, which are by row, and add the end. */
HOT static void finish_by_row(const Sum *sum, size_t n, const double *total, double *scores)
{
    for (size_t row = 0; row < n; row++)
        for (size_t c = 0; c < sum->n_scores; c++)
            scores[row * sum->n_scores + c] = total[row * sum->n_scores + c] / sum->divisor + sum->end[c];
}

/* The same for sums by column, `stride` apart. */
static void finish_by_column(const Sum *sum, size_t n, size_t stride, double *total)
{
    for (size_t c = 0; c < sum->n_scores; c++)
        for (size_t row = 0; row < n; row++)
            total[c * stride + row] = total[c * stride + row] / sum->divisor + sum->end[c];
}

/* Answer n rows from `first` on. */
static void finish(const Sum *sum, const Batch *batch, size_t n, size_t first, const Answer *answer)
{
    const size_t n_scores = sum->n_scores;
    if (sum->n_values == n_scores) {
        finish_by_row(sum, n, batch->scores, answer->scores ? answer->scores + first * n_scores : batch->scores);
        if (answer->winners)
            choose_winners(batch->scores, n, n_scores, answer->winner, answer->winners + first);
        return;
    }
    finish_by_column(sum, n, batch->n_rows, batch->scores);
    for (size_t row = 0; row < n; row++) {
        if (answer->winners)
            answer->winners[first + row] = winner_of(batch->scores + row, n_scores, batch->n_rows, answer->winner);
        else
            for (size_t c = 0; c < n_scores; c++)
                answer->scores[(first + row) * n_scores + c] = batch->scores[c * batch->n_rows + row];
    }
}

static void begin(const Sum *sum, const Batch *batch)
{
    const int is_by_row = sum->n_values == sum->n_scores;
    for (size_t row = 0; row < batch->n_rows; row++)
        for (size_t c = 0; c < sum->n_scores; c++)
            batch->scores[is_by_row ? row * sum->n_scores + c : c * batch->n_rows + row] = sum->start[c];
}

/* Answer `n` rows from `first` on, at most as many as a batch has. */
static void sum_batch(const Tables *tables, const Sum *sum, const Rows *rows, const Batch *batch, size_t first,
                      size_t n, const Answer *answer)
{
    begin(sum, batch);
    for (size_t row = 0; row < n; row += BLOCK)
        load_block(rows, first + row, tables, batch->columns + row * tables->n_columns);
    for (size_t tree = 0; tree < tables->n_trees; tree += TOGETHER) {
        const size_t n_trees = tables->n_trees - tree < TOGETHER ? tables->n_trees - tree : TOGETHER;
        for (size_t i = 0; i < n_trees; i++)
            for (size_t row = 0; row < n; row += BLOCK)
                find_leaves(tables, tree + i, batch->columns + row * tables->n_columns,
                            whole_tiles(n - row < BLOCK ? n - row : BLOCK), batch->at + i * batch->n_rows + row);
        add_trees(tables, sum, batch, n, tree, n_trees);
    }
    finish(sum, batch, n, first, answer);
}

static void sum_few(const Tables *tables, const Sum *sum, const Rows *rows, const Answer *answer, double *total,
                    int32_t *x)
{
    const size_t n_scores = sum->n_scores, n_values = sum->n_values;
    for (size_t row = 0; row < rows->n_rows; row++) {
        load_row(rows, row, tables, x);
        for (size_t c = 0; c < n_scores; c++)
            total[c] = sum->start[c];
        for (size_t first = 0; first < tables->n_trees; first += ABREAST) {
            uint32_t at[ABREAST];
            find_eight_leaves(tables, first, x, at);
            for (size_t i = 0; i < ABREAST && first + i < tables->n_trees; i++) {
                const double *value = sum->value + ((size_t)tables->offset[first + i] + at[i]) * n_values;
                double *to = total + sum->tree_column[first + i];
                for (size_t c = 0; c < n_values; c++)
                    to[c] += value[c];
            }
        }
        for (size_t c = 0; c < n_scores; c++)
            total[c] = total[c] / sum->divisor + sum->end[c];
        if (answer->winners)
            answer->winners[row] = winner_of(total, n_scores, 1, answer->winner);
        else
            memcpy(answer->scores + row * n_scores, total, n_scores * sizeof *total);
    }
}

void sum_values(const Tables *tables, const Sum *sum, const Rows *rows, const Answer *answer, void *scratch)
{
    if (rows->n_rows < FEW_ROWS) {
        double *total = scratch;
        sum_few(tables, sum, rows, answer, total, (int32_t *)(total + sum->n_scores));
        return;
    }
    Batch batch = {.n_rows = blocks_at_once(rows->n_rows, bytes_a_row(tables, sum)) * BLOCK, .scores = scratch};
    batch.at = (uint32_t *)(batch.scores + batch.n_rows * sum->n_scores);
    batch.columns = (int32_t *)(batch.at + batch.n_rows * TOGETHER);
    for (size_t first = 0; first < rows->n_rows; first += batch.n_rows) {
        const size_t left = rows->n_rows - first;
        sum_batch(tables, sum, rows, &batch, first, left < batch.n_rows ? left : batch.n_rows, answer);
    }
}
