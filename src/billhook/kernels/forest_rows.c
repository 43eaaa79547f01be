#include "forest_rows.h"

INLINE void load_row_as(const Rows *rows, size_t row, const Tables *tables, int32_t *RESTRICT x,
                        const Rounding rounding)
{
    const size_t start = row * rows->n_features;
    for (size_t c = 0; c < tables->n_columns; c++)
        x[c] = order_bits(read_bits(rows->data, start + (size_t)tables->column_feature[c], rounding),
                          missing_as(tables->column_missing_right[c]));
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
    const size_t n_features = rows->n_features;
    for (size_t tile = 0; tile < n; tile += TILE) {
        const size_t in_tile = n - tile < TILE ? n - tile : TILE;
        for (size_t c = 0; c < tables->n_columns; c++) {
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
    for (size_t c = 0; c < tables->n_columns; c++) {
        const int32_t missing = missing_as(tables->column_missing_right[c]);
        int32_t *x = columns + c * BLOCK;
        for (size_t row = 0; row < n; row++)
            x[row] = order_bits(x[row], missing);
    }
}

void load_block(const Rows *rows, size_t first, const Tables *tables, int32_t *columns)
{
    const size_t n = rows->n_rows - first < BLOCK ? rows->n_rows - first : BLOCK;
    if (rows->rounding == ARE_FLOAT32)
        gather_columns(rows, first, n, tables, columns, ARE_FLOAT32);
    else if (rows->rounding == TO_NEAREST)
        gather_columns(rows, first, n, tables, columns, TO_NEAREST);
    else
        gather_columns(rows, first, n, tables, columns, DOWN);
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
