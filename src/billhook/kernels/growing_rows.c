#include "growing.h"

/* Rows that are transposed at once: so that both sides stay in the cache. */
enum { BLOCK = 64 };

INLINE void columns_as(const int is_wide, size_t n_rows, size_t n_features, const void *RESTRICT codes,
                       const int32_t *first, void *RESTRICT columns, int64_t *RESTRICT count)
{
    for (size_t block = 0; block < n_rows; block += BLOCK) {
        const size_t end = block + BLOCK < n_rows ? block + BLOCK : n_rows;
        for (size_t f = 0; f < n_features; f++)
            for (size_t n = block; n < end; n++) {
                const size_t code = is_wide ? ((const uint16_t *)codes)[n * n_features + f]
                                            : ((const uint8_t *)codes)[n * n_features + f];
                if (is_wide)
                    ((uint16_t *)columns)[f * n_rows + n] = (uint16_t)code;
                else
                    ((uint8_t *)columns)[f * n_rows + n] = (uint8_t)code;
                count[(size_t)first[f] + code]++;
            }
    }
}

void columns_of_codes(size_t n_rows, size_t n_features, const void *codes, int is_wide, const int32_t *first,
                      void *columns, int64_t *count)
{
    if (is_wide)
        columns_as(1, n_rows, n_features, codes, first, columns, count);
    else
        columns_as(0, n_rows, n_features, codes, first, columns, count);
}

INLINE size_t cells_as(const int is_wide, const int cells_are_wide, size_t n_rows, size_t n_features,
                       const void *RESTRICT codes, const int32_t *first, const int32_t *commonest,
                       int64_t *RESTRICT row_start, void *RESTRICT cells)
{
    size_t at = 0;
    for (size_t n = 0; n < n_rows; n++) {
        if (row_start != NULL)
            row_start[n] = (int64_t)at;
        for (size_t f = 0; f < n_features; f++) {
            const size_t code = is_wide ? ((const uint16_t *)codes)[n * n_features + f]
                                        : ((const uint8_t *)codes)[n * n_features + f];
            const size_t bin = (size_t)first[f] + code;
            if (cells_are_wide)
                ((uint32_t *)cells)[at] = (uint32_t)bin;
            else
                ((uint16_t *)cells)[at] = (uint16_t)bin;
            at += row_start == NULL || bin != (size_t)commonest[f];
        }
    }
    if (row_start != NULL)
        row_start[n_rows] = (int64_t)at;
    return at;
}

void cells_of_codes(size_t n_rows, size_t n_features, const void *codes, int is_wide, const int32_t *first,
                    const int32_t *commonest, int64_t *row_start, void *cells, int cells_are_wide)
{
    if (is_wide && cells_are_wide)
        cells_as(1, 1, n_rows, n_features, codes, first, commonest, row_start, cells);
    else if (is_wide)
        cells_as(1, 0, n_rows, n_features, codes, first, commonest, row_start, cells);
    else if (cells_are_wide)
        cells_as(0, 1, n_rows, n_features, codes, first, commonest, row_start, cells);
    else
        cells_as(0, 0, n_rows, n_features, codes, first, commonest, row_start, cells);
}
