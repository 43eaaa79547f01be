#include "forest_rows.h"

INLINE void load_row_as(const Rows *rows, size_t row, const Tables *tables, int32_t *RESTRICT x,
                        const Rounding rounding)
{
    const size_t start = row * rows->n_features;
    for (size_t c = 0; c < tables->n_columns; c++)
        x[c] = read_ordered(rows->data, start + (size_t)tables->column_feature[c], rounding,
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

/* Turn n rows of one tile into columns; n is a constant where the tile is full. */
INLINE void load_tile(const Rows *rows, size_t first, const size_t n, const Tables *tables, int32_t *RESTRICT columns,
                      const Rounding rounding)
{
    const size_t n_features = rows->n_features;
    for (size_t c = 0; c < tables->n_columns; c++) {
        const size_t start = first * n_features + (size_t)tables->column_feature[c];
        const int32_t missing = missing_as(tables->column_missing_right[c]);
        for (size_t row = 0; row < n; row++)
            columns[c * BLOCK + row] = read_ordered(rows->data, start + row * n_features, rounding, missing);
        for (size_t row = n; row < TILE; row++)
            columns[c * BLOCK + row] = 0;
    }
}

INLINE void load_tiles(const Rows *rows, size_t first, size_t n, const Tables *tables, int32_t *columns,
                       const Rounding rounding)
{
    size_t tile = 0;
    for (; tile + TILE <= n; tile += TILE)
        load_tile(rows, first + tile, TILE, tables, columns + tile, rounding);
    if (tile < n)
        load_tile(rows, first + tile, n - tile, tables, columns + tile, rounding);
}

HOT static void load_float32(const Rows *rows, size_t first, size_t n, const Tables *tables, int32_t *columns)
{
    load_tiles(rows, first, n, tables, columns, ARE_FLOAT32);
}

HOT static void load_to_nearest(const Rows *rows, size_t first, size_t n, const Tables *tables, int32_t *columns)
{
    load_tiles(rows, first, n, tables, columns, TO_NEAREST);
}

HOT static void load_down(const Rows *rows, size_t first, size_t n, const Tables *tables, int32_t *columns)
{
    load_tiles(rows, first, n, tables, columns, DOWN);
}

void load_block(const Rows *rows, size_t first, const Tables *tables, int32_t *columns)
{
    const size_t n = rows->n_rows - first < BLOCK ? rows->n_rows - first : BLOCK;
    if (rows->rounding == ARE_FLOAT32)
        load_float32(rows, first, n, tables, columns);
    else if (rows->rounding == TO_NEAREST)
        load_to_nearest(rows, first, n, tables, columns);
    else
        load_down(rows, first, n, tables, columns);
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
