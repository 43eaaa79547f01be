#include "sgd_block.h"

#include "four.h"

/* Add the weighted values of the leaves of a block of rows to `n_fours` times four of their scores. Of many rows, a
   few trees at a time: their leaves stay in the fastest memory. */
INLINE void add_fours(const size_t n_fours, const SgdEpoch *epoch, size_t n, const double *table, double *score)
{
    const size_t n_trees = epoch->n_trees, n_values = epoch->n_values, step = n < 16 ? n_trees : 4;
    const double *weight = epoch->tree_weight;
    for (size_t begin = 0; begin < n_trees; begin += step) {
        const size_t end = begin + step < n_trees ? begin + step : n_trees;
        for (size_t row = 0; row < n; row++) {
            const uint32_t *at = epoch->at + row * n_trees;
            size_t k = begin;
            Four sum[8], x, y;
            for (size_t i = 0; i < n_fours; i++)
                LOAD(sum[i], score + row * n_values + 4 * i);
            for (; k + 2 <= end; k += 2) { /* two at once, which halves the chain of additions */
                const double *value = table + at[k] * n_values, *other = table + at[k + 1] * n_values;
                for (size_t i = 0; i < n_fours; i++) {
                    LOAD(x, value + 4 * i);
                    LOAD(y, other + 4 * i);
                    sum[i] = PLUS(sum[i], PLUS(TIMES(EACH(weight[k]), x), TIMES(EACH(weight[k + 1]), y)));
                }
            }
            for (size_t i = 0; k < end && i < n_fours; i++) {
                LOAD(x, table + at[k] * n_values + 4 * i);
                sum[i] = PLUS(sum[i], TIMES(EACH(weight[k]), x));
            }
            for (size_t i = 0; i < n_fours; i++)
                STORE(sum[i], score + row * n_values + 4 * i);
        }
    }
}

/* Add w times so many fours to numbers. */
INLINE void add_products(const size_t n_fours, double w, const double *x, double *to)
{
    for (size_t i = 0; i < n_fours; i++) {
        Four sum, four;
        LOAD(sum, to + 4 * i);
        LOAD(four, x + 4 * i);
        sum = PLUS(sum, TIMES(EACH(w), four));
        STORE(sum, to + 4 * i);
    }
}

/* Add the gradients of a block of rows, times the tree's weight, to `n_fours` times four of the values of their
   leaves, two trees at a time. */
INLINE void scatter_fours(const size_t n_fours, const SgdEpoch *epoch, size_t n, const double *gradient,
                          double *table)
{
    const size_t n_trees = epoch->n_trees, n_values = epoch->n_values;
    for (size_t k = 0; k < n_trees; k += 2) {
        const size_t other = k + 1 < n_trees ? k + 1 : k;
        const double w = epoch->tree_weight[k], other_w = epoch->tree_weight[other];
        const uint32_t *at = epoch->at;
        const double *g = gradient;
        for (size_t row = 0; row < n; row++, at += n_trees, g += n_values) {
            add_products(n_fours, w, g, table + at[k] * n_values);
            if (other > k)
                add_products(n_fours, other_w, g, table + at[other] * n_values);
        }
    }
}

HOT void scores_of_block(const SgdEpoch *epoch, size_t n, double *score)
{
    const size_t n_trees = epoch->n_trees, n_columns = epoch->n_columns;
    for (size_t row = 0; row < n; row++)
        for (size_t c = 0; c < n_columns; c++)
            score[row * n_columns + c] = epoch->base[c];
    if (epoch->n_values == 1)
        for (size_t row = 0; row < n; row++)
            for (size_t k = 0; k < n_trees; k++)
                score[row * n_columns + epoch->column[k]] +=
                    epoch->tree_weight[k] * epoch->table[epoch->at[row * n_trees + k]];
    for (size_t c = 0; c + 4 <= epoch->n_values; c += 32) {
        const double *table = epoch->table + c;
        switch ((epoch->n_values - c) / 4) {
        case 1: add_fours(1, epoch, n, table, score + c); break;
        case 2: add_fours(2, epoch, n, table, score + c); break;
        case 3: add_fours(3, epoch, n, table, score + c); break;
        case 4: add_fours(4, epoch, n, table, score + c); break;
        case 5: add_fours(5, epoch, n, table, score + c); break;
        case 6: add_fours(6, epoch, n, table, score + c); break;
        case 7: add_fours(7, epoch, n, table, score + c); break;
        default: add_fours(8, epoch, n, table, score + c); break;
        }
    }
}

HOT void scatter_block(const SgdEpoch *epoch, size_t n, const double *g, double *table)
{
    const size_t n_trees = epoch->n_trees;
    if (epoch->n_values == 1)
        for (size_t row = 0; row < n; row++)
            for (size_t k = 0; k < n_trees; k++)
                table[epoch->at[row * n_trees + k]] +=
                    epoch->tree_weight[k] * g[row * epoch->n_columns + epoch->column[k]];
    for (size_t c = 0; c + 4 <= epoch->n_values; c += 32)
        switch ((epoch->n_values - c) / 4) {
        case 1: scatter_fours(1, epoch, n, g + c, table + c); break;
        case 2: scatter_fours(2, epoch, n, g + c, table + c); break;
        case 3: scatter_fours(3, epoch, n, g + c, table + c); break;
        case 4: scatter_fours(4, epoch, n, g + c, table + c); break;
        case 5: scatter_fours(5, epoch, n, g + c, table + c); break;
        case 6: scatter_fours(6, epoch, n, g + c, table + c); break;
        case 7: scatter_fours(7, epoch, n, g + c, table + c); break;
        default: scatter_fours(8, epoch, n, g + c, table + c); break;
        }
}
