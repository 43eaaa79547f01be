#include "pruning_sums.h"

#include "four.h"

/* Residuals are packed in panels: eight trees side by side, number after number. */

INLINE size_t n_panels(size_t n_trees) { return (n_trees + PRODUCT_TREES - 1) / PRODUCT_TREES; }

/* Write the residuals of some rows of all trees; 0 for the trees that fill up the last panel. */
INLINE void pack(const Trees *trees, const double *expected, size_t begin, size_t end, double *residual)
{
    const size_t n_classes = trees->n_classes, length = product_numbers(n_classes) * PRODUCT_TREES;
    for (size_t tree = 0; tree < n_panels(trees->n_trees) * PRODUCT_TREES; tree++) {
        double *to = residual + tree / PRODUCT_TREES * length + tree % PRODUCT_TREES;
        const int is_there = tree < trees->n_trees;
        const double *value = is_there ? trees->value + (size_t)trees->offset[tree] * n_classes : NULL;
        for (size_t n = begin; n < end; n++) {
            const size_t at = tree * trees->n_rows + n;
            const size_t leaf = !is_there             ? 0
                                : trees->leaf.is_wide ? leaf_at(trees->leaf.data, 1, at)
                                                      : leaf_at(trees->leaf.data, 0, at);
            for (size_t c = 0; c < n_classes; c++, to += PRODUCT_TREES)
                *to = is_there ? value[leaf * n_classes + c] - expected[n * n_classes + c] : 0.0;
        }
    }
}

/* Add the products of four trees with eight, over `n` numbers, to `sum`, which is four times eight. */
INLINE void multiply(const int is_weighted, size_t n, const double *RESTRICT four_trees,
                     const double *RESTRICT eight_trees, const double *RESTRICT weight, double *RESTRICT sum)
{
    Four low[4], high[4], x, y;
    for (size_t i = 0; i < 4; i++)
        low[i] = high[i] = EACH(0.0);
    for (size_t k = 0; k < n; k++) {
        LOAD(x, eight_trees + k * PRODUCT_TREES);
        LOAD(y, eight_trees + k * PRODUCT_TREES + 4);
        for (size_t i = 0; i < 4; i++) {
            const double a = four_trees[k * PRODUCT_TREES + i] * (is_weighted ? weight[k] : 1.0);
            low[i] = PLUS(low[i], TIMES(EACH(a), x));
            high[i] = PLUS(high[i], TIMES(EACH(a), y));
        }
    }
    for (size_t i = 0; i < 4; i++) {
        STORE(low[i], sum + 8 * i);
        STORE(high[i], sum + 8 * i + 4);
    }
}

/* Add the products of what is packed to the upper half of the matrix. */
INLINE void add_all_products(const int is_weighted, size_t n_trees, size_t n, size_t length, const double *residual,
                             const double *weight, double *products)
{
    double sum[32];
    for (size_t from = 0; from < n_trees; from += 4)
        for (size_t to = from / PRODUCT_TREES * PRODUCT_TREES; to < n_trees; to += PRODUCT_TREES) {
            multiply(is_weighted, n, residual + from / PRODUCT_TREES * length + from % PRODUCT_TREES,
                     residual + to / PRODUCT_TREES * length, weight, sum);
            for (size_t i = 0; i < 4 && from + i < n_trees; i++)
                for (size_t j = 0; j < PRODUCT_TREES && to + j < n_trees; j++)
                    products[(from + i) * n_trees + to + j] += sum[8 * i + j];
        }
}

HOT void residual_products(const Trees *trees, const double *expected, const int64_t *weight, double *products,
                           double *residual, double *weight_of_number)
{
    const size_t n_trees = trees->n_trees, n_rows = trees->n_rows, n_classes = trees->n_classes;
    const size_t step = product_numbers(n_classes) / n_classes;
    const size_t length = product_numbers(n_classes) * PRODUCT_TREES;
    for (size_t i = 0; i < n_trees * n_trees; i++)
        products[i] = 0.0;
    for (size_t begin = 0; begin < n_rows; begin += step) {
        const size_t end = begin + step < n_rows ? begin + step : n_rows, n = (end - begin) * n_classes;
        int is_weighted = 0;
        pack(trees, expected, begin, end, residual);
        for (size_t k = 0; k < n; k++) {
            weight_of_number[k] = (double)weight[begin + k / n_classes];
            is_weighted |= weight[begin + k / n_classes] != 1;
        }
        if (is_weighted)
            add_all_products(1, n_trees, n, length, residual, weight_of_number, products);
        else
            add_all_products(0, n_trees, n, length, residual, weight_of_number, products);
    }
    for (size_t i = 0; i < n_trees; i++)
        for (size_t j = 0; j < i; j++)
            products[i * n_trees + j] = products[j * n_trees + i];
}
