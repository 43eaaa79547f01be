#include "forest_rows.h"

/* Return the category that number i is. */
INLINE uint32_t read_category(const void *data, size_t i, const Rounding rounding)
{
    const int32_t bits = read_bits(data, i, rounding);
    float x;
    memcpy(&x, &bits, sizeof x);
    return category_of(x);
}

/* Return what the column of a set has for a category: 0 if the row goes left. */
INLINE int32_t is_outside(const Set *set, uint32_t category, uint8_t missing_right)
{
    const uint32_t is_in = is_among(set->words, set->n_words, category);
    return category == MISSING_CATEGORY ? missing_right : (int32_t)(is_in ^ 1);
}

INLINE void load_row_as(const Rows *rows, size_t row, const Tables *tables, int32_t *RESTRICT x,
                        const Rounding rounding)
{
    const size_t start = row * rows->n_features, n_ordered = tables->n_columns - tables->n_set_columns;
    for (size_t c = 0; c < n_ordered; c++)
        x[c] = order_bits(read_bits(rows->data, start + (size_t)tables->column_feature[c], rounding),
                          missing_as(tables->column_missing_right[c]));
    for (size_t k = 0; k < tables->n_set_columns; k++) {
        const size_t c = n_ordered + k;
        const Set set = set_at(&tables->sets, tables->column_set[k]);
        x[c] = is_outside(&set, read_category(rows->data, start + (size_t)tables->column_feature[c], rounding),
                          tables->column_missing_right[c]);
    }
}

void load_row(const Rows *rows, size_t row, const Tables *tables, int32_t *x)
{
    if (rows->rounding == ARE_FLOAT32)
        load_row_as(rows, row, tables, x, ARE_FLOAT32);
    else if (rows->rounding == TO_NEAREST)
        load_row_as(rows, row, tables, x, TO_NEAREST);
    else
        load_row_as(rows, row, tables, x, DOWN);
}

/* Gather the columns of n rows, tile by tile: the rows of a tile stay in the first-level cache for all columns. */
INLINE void gather_columns(const Rows *rows, size_t first, size_t n, const Tables *tables, int32_t *RESTRICT columns,
                           const Rounding rounding)
{
    const size_t n_features = rows->n_features, n_ordered = tables->n_columns - tables->n_set_columns;
    for (size_t tile = 0; tile < n; tile += TILE) {
        const size_t in_tile = n - tile < TILE ? n - tile : TILE;
        for (size_t c = 0; c < n_ordered; c++) {
            const size_t start = (first + tile) * n_features + (size_t)tables->column_feature[c];
            int32_t *to = columns + c * BLOCK + tile;
            for (size_t row = 0; row < in_tile; row++)
                to[row] = read_bits(rows->data, start + row * n_features, rounding);
            for (size_t row = in_tile; row < TILE; row++)
                to[row] = 0;
        }
    }
}

/* Of numbers that stand together, the processor turns several at once. */
HOT static void order_columns(size_t n, const Tables *tables, int32_t *columns)
{
    for (size_t c = 0; c < tables->n_columns - tables->n_set_columns; c++) {
        const int32_t missing = missing_as(tables->column_missing_right[c]);
        int32_t *x = columns + c * BLOCK;
        for (size_t row = 0; row < n; row++)
            x[row] = order_bits(x[row], missing);
    }
}

/* Write whether each of n rows, a multiple of TILE, is outside of a set: several rows at once. */
HOT static void test_set(const Set *set, uint8_t missing_right, const uint32_t *category, size_t n,
                         int32_t *RESTRICT to)
{
    const Set one = *set;
    for (size_t row = 0; row < n; row++)
        to[row] = is_outside(&one, category[row], missing_right);
}

/* Fill the columns of sets. Those of one feature stand together: its categories are read once for all of them. */
INLINE void gather_sets(const Rows *rows, size_t first, size_t n, const Tables *tables, int32_t *RESTRICT columns,
                        const Rounding rounding)
{
    uint32_t category[BLOCK];
    int32_t feature = -1;
    for (size_t k = 0; k < tables->n_set_columns; k++) {
        const size_t c = tables->n_columns - tables->n_set_columns + k;
        const Set set = set_at(&tables->sets, tables->column_set[k]);
        if (tables->column_feature[c] != feature) {
            feature = tables->column_feature[c];
            const size_t start = first * rows->n_features + (size_t)feature;
            for (size_t row = 0; row < n; row++)
                category[row] = read_category(rows->data, start + row * rows->n_features, rounding);
            for (size_t row = n; row < whole_tiles(n); row++)
                category[row] = NO_CATEGORY;
        }
        test_set(&set, tables->column_missing_right[c], category, whole_tiles(n), columns + c * BLOCK);
    }
}

INLINE void load_block_as(const Rows *rows, size_t first, size_t n, const Tables *tables, int32_t *columns,
                          const Rounding rounding)
{
    gather_columns(rows, first, n, tables, columns, rounding);
    gather_sets(rows, first, n, tables, columns, rounding);
}

void load_block(const Rows *rows, size_t first, const Tables *tables, int32_t *columns)
{
    const size_t n = rows->n_rows - first < BLOCK ? rows->n_rows - first : BLOCK;
    if (rows->rounding == ARE_FLOAT32)
        load_block_as(rows, first, n, tables, columns, ARE_FLOAT32);
    else if (rows->rounding == TO_NEAREST)
        load_block_as(rows, first, n, tables, columns, TO_NEAREST);
    else
        load_block_as(rows, first, n, tables, columns, DOWN);
    order_columns(whole_tiles(n), tables, columns);
}

HOT static int float32_has_missing(const float *x, size_t n)
{
    int is_missing = 0;
    for (size_t i = 0; i < n; i++)
        is_missing |= x[i] != x[i];
    return is_missing;
}

HOT static int float64_has_missing(const double *x, size_t n)
{
    int is_missing = 0;
    for (size_t i = 0; i < n; i++)
        is_missing |= x[i] != x[i];
    return is_missing;
}

int has_missing(const Rows *rows)
{
    const size_t size = rows->n_rows * rows->n_features, at_once = 4096;
    for (size_t i = 0; i < size; i += at_once) {
        const size_t n = size - i < at_once ? size - i : at_once;
        if (rows->rounding == ARE_FLOAT32 ? float32_has_missing((const float *)rows->data + i, n)
                                          : float64_has_missing((const double *)rows->data + i, n))
            return 1;
    }
    return 0;
}
