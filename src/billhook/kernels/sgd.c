#include "sgd.h"

#include "sgd_block.h"
#include "sgd_gradients.h"

enum { AHEAD = 8 };

/* The places of a row's leaves in the table: their numbers, tree by tree. */
INLINE void find_leaves(const SgdEpoch *epoch, size_t row, uint32_t *RESTRICT at)
{
    const size_t n_trees = epoch->n_trees;
    const uint32_t *RESTRICT first = epoch->first;
    const void *ids = epoch->leaf.data;
    if (epoch->leaf.is_wide)
        for (size_t k = 0; k < n_trees; k++)
            at[k] = first[k] + (uint32_t)leaf_at(ids, 1, row * n_trees + k);
    else
        for (size_t k = 0; k < n_trees; k++)
            at[k] = first[k] + (uint32_t)leaf_at(ids, 0, row * n_trees + k);
}

/* Fetch the leaf ids of a row that comes up soon: rows come in random order. */
INLINE void prefetch_leaves(const SgdEpoch *epoch, size_t row)
{
    const size_t size = epoch->n_trees * (epoch->leaf.is_wide ? 4 : 2);
    const char *ids = (const char *)epoch->leaf.data + row * size;
    for (size_t byte = 0; byte < size; byte += 64)
        PREFETCH(ids + byte);
}

INLINE void find_leaves_of_block(const SgdEpoch *epoch, size_t n, const uint32_t *rows)
{
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            prefetch_leaves(epoch, rows[i + AHEAD]);
        find_leaves(epoch, rows[i], epoch->at + i * epoch->n_trees);
    }
}

/* The sum of the weighted values of a row's leaves, which have one each; `row` is where its leaf ids begin. */
INLINE double sum_of_trees(const int is_wide, const SgdEpoch *epoch, size_t row)
{
    const size_t n_trees = epoch->n_trees;
    const void *ids = epoch->leaf.data;
    const uint32_t *RESTRICT first = epoch->first;
    const double *RESTRICT weight = epoch->tree_weight, *RESTRICT table = epoch->table;
    /* Four sums abreast: one alone waits for each addition. */
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    size_t k = 0;
    for (; k + 4 <= n_trees; k += 4) {
        a += weight[k] * table[first[k] + leaf_at(ids, is_wide, row + k)];
        b += weight[k + 1] * table[first[k + 1] + leaf_at(ids, is_wide, row + k + 1)];
        c += weight[k + 2] * table[first[k + 2] + leaf_at(ids, is_wide, row + k + 2)];
        d += weight[k + 3] * table[first[k + 3] + leaf_at(ids, is_wide, row + k + 3)];
    }
    for (; k < n_trees; k++)
        a += weight[k] * table[first[k] + leaf_at(ids, is_wide, row + k)];
    return (a + b) + (c + d);
}

INLINE double sum_up(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Write the gradients of a batch whose rows have one score each; return the loss. */
INLINE double gradients_of_one(const int is_wide, const SgdEpoch *epoch, size_t n, const uint32_t *rows, double rate)
{
    const double *target = epoch->target, *weight = epoch->weight, width = epoch->width;
    double *gradient = epoch->gradient, *of_row = epoch->of_row;
    for (size_t i = 0; i < n; i++) {
        const size_t row = rows[i] * epoch->n_trees;
        if (i + AHEAD < n)
            prefetch_leaves(epoch, rows[i + AHEAD]);
        gradient[i] = epoch->base[0] + sum_of_trees(is_wide, epoch, row);
    }
    switch (epoch->loss) {
    case LOGISTIC: row_gradients(LOGISTIC, width, n, rows, target, weight, rate, gradient, of_row); break;
    case SQUARED_HINGE: row_gradients(SQUARED_HINGE, width, n, rows, target, weight, rate, gradient, of_row); break;
    case POISSON: row_gradients(POISSON, width, n, rows, target, weight, rate, gradient, of_row); break;
    case ABSOLUTE: row_gradients(ABSOLUTE, width, n, rows, target, weight, rate, gradient, of_row); break;
    case HUBER: row_gradients(HUBER, width, n, rows, target, weight, rate, gradient, of_row); break;
    default: row_gradients(SQUARED, width, n, rows, target, weight, rate, gradient, of_row); break;
    }
    return sum_up(n, of_row);
}

/* Turn scores into the gradients of the cross-entropy; return the loss. */
INLINE double log_gradients(const SgdEpoch *epoch, size_t n, const uint32_t *rows, double rate)
{
    const size_t n_columns = epoch->n_columns;
    double *RESTRICT g = epoch->gradient, *RESTRICT of_row = epoch->of_row;
    double whole = 0.0;
    for (size_t i = 0; i < n; i++)
        whole += epoch->weight[rows[i]]
                 * lower_to_zero(epoch->n_classes, n_columns, epoch->label[rows[i]], g + i * n_columns);
    for (size_t i = 0; i < n * n_columns; i++)
        g[i] = exp_of(g[i]);
    for (size_t i = 0; i < n; i++)
        of_row[i] = softmax_gradient(epoch->n_classes, n_columns, epoch->label[rows[i]],
                                     rate * epoch->weight[rows[i]], g + i * n_columns);
    for (size_t i = 0; i < n; i++)
        of_row[i] = epoch->weight[rows[i]] * log_of(of_row[i]);
    return whole + sum_up(n, of_row);
}

/* Write the gradients of a batch whose rows have several scores each; return the loss. */
INLINE double gradients_of_classes(const SgdEpoch *epoch, size_t n, const uint32_t *rows, double rate)
{
    const size_t n_classes = epoch->n_classes, n_columns = epoch->n_columns;
    double whole = 0.0;
    for (size_t begin = 0; begin < n; begin += SGD_BLOCK) {
        const size_t size = n - begin < SGD_BLOCK ? n - begin : SGD_BLOCK;
        find_leaves_of_block(epoch, size, rows + begin);
        scores_of_block(epoch, size, epoch->gradient + begin * n_columns);
    }
    if (epoch->loss == LOGISTIC)
        return log_gradients(epoch, n, rows, rate);
    for (size_t i = 0; i < n; i++) {
        const size_t label = epoch->label[rows[i]];
        const double w = epoch->weight[rows[i]];
        double *g = epoch->gradient + i * n_columns;
        whole += w * (epoch->loss == SQUARED ? squared_gradient(n_classes, label, rate * w, g)
                                             : hinge_gradient(n_classes, label, rate * w, g));
    }
    return whole;
}

/* Add the gradients of a batch to the values of the leaves that its rows fall into, one each. */
INLINE void scatter_one(const int is_wide, const SgdEpoch *epoch, size_t n, const uint32_t *rows,
                        double *RESTRICT table)
{
    const size_t n_trees = epoch->n_trees;
    const uint32_t *RESTRICT first = epoch->first;
    const double *RESTRICT weight = epoch->tree_weight, *RESTRICT gradient = epoch->gradient;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_trees; k++)
            table[first[k] + leaf_at(epoch->leaf.data, is_wide, rows[i] * n_trees + k)] += weight[k] * gradient[i];
}

/* Add the gradients of a batch to the values of the leaves that its rows fall into. */
INLINE void scatter(const int is_wide, const SgdEpoch *epoch, size_t n, const uint32_t *rows, double *table)
{
    if (epoch->n_columns == 1) {
        scatter_one(is_wide, epoch, n, rows, table);
        return;
    }
    for (size_t begin = 0; begin < n; begin += SGD_BLOCK) {
        const size_t size = n - begin < SGD_BLOCK ? n - begin : SGD_BLOCK;
        find_leaves_of_block(epoch, size, rows + begin);
        scatter_block(epoch, size, epoch->gradient + begin * epoch->n_columns, table);
    }
}

/* Do as `scatter`, but of the rows that fall into a leaf only the last one counts. */
INLINE void scatter_last(const SgdEpoch *epoch, size_t n, const uint32_t *rows, int64_t step)
{
    for (size_t i = n; i-- > 0;) {
        find_leaves(epoch, rows[i], epoch->at);
        for (size_t k = 0; k < epoch->n_trees; k++) {
            const size_t at = epoch->at[k];
            if (epoch->step_of[at] == step)
                continue;
            epoch->step_of[at] = step;
            const double *RESTRICT g = epoch->gradient + i * epoch->n_columns + epoch->column[k];
            double *RESTRICT value = epoch->table + at * epoch->n_values;
            for (size_t v = 0; v < epoch->n_values; v++)
                value[v] += epoch->tree_weight[k] * g[v];
        }
    }
}

/* The sum of products of n numbers, 1 or a multiple of 4. */
INLINE double sum_of_products(size_t n, const double *RESTRICT x, const double *RESTRICT y)
{
    double sum[LANES] = {0.0, 0.0, 0.0, 0.0};
    if (n == 1)
        return x[0] * y[0];
    for (size_t i = 0; i < n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            sum[l] += x[i + l] * y[i + l];
    return sum_of_lanes(sum);
}

/* Write the sums, for each tree, of the gradients of a batch times the values of the leaves of its rows. */
INLINE void weight_gradient(const SgdEpoch *epoch, size_t n, const uint32_t *rows, double *RESTRICT by_tree)
{
    const size_t n_trees = epoch->n_trees, n_values = epoch->n_values;
    const uint32_t *at = epoch->at; /* not RESTRICT: find_leaves writes there */
    const double *RESTRICT table = epoch->table;
    for (size_t k = 0; k < n_trees; k++)
        by_tree[k] = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double *RESTRICT g = epoch->gradient + i * epoch->n_columns;
        find_leaves(epoch, rows[i], epoch->at);
        if (epoch->n_columns == 1)
            for (size_t k = 0; k < n_trees; k++)
                by_tree[k] += g[0] * table[at[k]];
        else
            for (size_t k = 0; k < n_trees; k++)
                by_tree[k] += sum_of_products(n_values, g + epoch->column[k], table + at[k] * n_values);
    }
}

/* Shift the tree weights along their gradient, and towards 0. */
INLINE void step_weights(size_t n_trees, double share, double shrink, const double *by_tree, double *tree_weight)
{
    for (size_t k = 0; k < n_trees; k++) {
        const double moved = tree_weight[k] + share * by_tree[k];
        tree_weight[k] = sign_of(moved) * larger(fabs(moved) - shrink, 0.0);
    }
}

INLINE double power(double x, int64_t n)
{
    double result = 1.0;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1)
            result *= x;
    return result;
}

/* Take one of Adam's steps (Kingma and Ba 2015, with their constants) up the slope. */
INLINE void adam(size_t n, const double *RESTRICT slope, double *RESTRICT mean, double *RESTRICT square,
                 int64_t count, double step_size, double *RESTRICT table)
{
    const double of_mean = 1.0 - power(0.9, count), of_square = 1.0 - power(0.999, count);
    for (size_t i = 0; i < n; i++) {
        mean[i] = 0.9 * mean[i] + 0.1 * slope[i];
        square[i] = 0.999 * square[i] + 0.001 * slope[i] * slope[i];
        table[i] += step_size * (mean[i] / of_mean) / (sqrt(square[i] / of_square) + 1e-8);
    }
}

/* Change the leaf values by the gradients of a batch. */
INLINE void step_leaves(const int is_wide, const SgdEpoch *epoch, size_t n, const uint32_t *rows, int64_t step)
{
    const size_t size = epoch->n_leaves * epoch->n_values;
    if (epoch->mean != NULL) {
        memset(epoch->slope, 0, size * sizeof *epoch->slope);
        scatter(is_wide, epoch, n, rows, epoch->slope);
        adam(size, epoch->slope, epoch->mean, epoch->square, step, epoch->step_size, epoch->table);
        return;
    }
    for (size_t i = 0; i < n * epoch->n_columns; i++)
        epoch->gradient[i] *= epoch->step_size;
    if (epoch->step_of != NULL)
        scatter_last(epoch, n, rows, step);
    else
        scatter(is_wide, epoch, n, rows, epoch->table);
}

INLINE double run_epoch(const int is_wide, const SgdEpoch *epoch, size_t n_rows, const uint32_t *order,
                         int64_t n_steps)
{
    double whole = 0.0;
    for (size_t begin = 0; begin < n_rows; begin += epoch->batch_size) {
        const uint32_t *rows = order + begin;
        const size_t n = n_rows - begin < epoch->batch_size ? n_rows - begin : epoch->batch_size;
        const double rate = epoch->takes_mean ? epoch->gain / (double)n : epoch->gain;
        whole += epoch->n_columns == 1 ? gradients_of_one(is_wide, epoch, n, rows, rate)
                                       : gradients_of_classes(epoch, n, rows, rate);
        if (epoch->weight_step > 0.0)
            weight_gradient(epoch, n, rows, epoch->by_tree);
        step_leaves(is_wide, epoch, n, rows, ++n_steps);
        /* The mean over the batch, whatever the leaves take: a sum of so many rows leaps over the minimum. */
        if (epoch->weight_step > 0.0)
            step_weights(epoch->n_trees, epoch->takes_mean ? epoch->weight_step : epoch->weight_step / (double)n,
                         epoch->weight_shrink, epoch->by_tree, epoch->tree_weight);
    }
    return whole;
}

HOT double sgd_epoch(const SgdEpoch *epoch, size_t n_rows, const uint32_t *order, int64_t n_steps)
{
    return epoch->leaf.is_wide ? run_epoch(1, epoch, n_rows, order, n_steps)
                               : run_epoch(0, epoch, n_rows, order, n_steps);
}

void shuffle(size_t n, uint32_t *order, uint64_t state)
{
    for (size_t i = n; i-- > 1;) {
        const size_t j = (size_t)(((next_random(&state) >> 32) * (uint64_t)(i + 1)) >> 32);
        const uint32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}
