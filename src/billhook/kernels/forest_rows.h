/* From rows of float32 or float64 numbers to columns of ordered integers, as forest_layout.h describes them. */

#ifndef BILLHOOK_FOREST_ROWS_H
#define BILLHOOK_FOREST_ROWS_H

#include <string.h>

#include "forest_layout.h"

/* Rows go through a tree in blocks, of which each column is contiguous; a block is read in tiles, so that the rows of
   one stay in the first-level cache for all columns. */
enum { BLOCK = 256, BLOCK_BITS = 8, TILE = 16 };

INLINE size_t whole_tiles(size_t n_rows) { return (n_rows + TILE - 1) / TILE * TILE; }

/* How numbers become float32: they are, or float64 is rounded to the nearest, or down. */
typedef enum { ARE_FLOAT32, TO_NEAREST, DOWN } Rounding;

typedef struct {
    const void *data; /* (n_rows, n_features) */
    size_t n_rows;
    size_t n_features;
    Rounding rounding;
} Rows;

/* What a missing value is read as: larger, or not larger, than every threshold. */
INLINE int32_t missing_as(uint8_t missing_right) { return missing_right ? NEVER_RIGHT : -NEVER_RIGHT - 1; }

/* Return the bits of a float32, turned into an integer that compares as it does; NaN becomes `missing`. */
INLINE int32_t order_bits(int32_t bits, int32_t missing)
{
    bits ^= bits < 0 ? 0x7FFFFFFF : 0;
    /* Beyond the infinities on either side there are only NaNs. */
    return ((bits > 0x7F800000) | (bits < -0x7F800001)) ? missing : bits;
}

/* Return the bits of number i as a float32; the rounding is a constant. */
INLINE int32_t read_bits(const void *data, size_t i, const Rounding rounding)
{
    int32_t bits;
    if (rounding == ARE_FLOAT32) {
        memcpy(&bits, (const float *)data + i, sizeof bits);
        return bits;
    }
    const double x = ((const double *)data)[i];
    const float nearest = (float)x;
    memcpy(&bits, &nearest, sizeof bits);
    /* The next float below: away from zero where the number is negative. */
    if (rounding == DOWN && (double)nearest > x)
        bits += bits < 0 ? 1 : -1;
    return bits;
}

/* Turn one row into columns. */
void load_row(const Rows *rows, size_t row, const Tables *tables, int32_t *x);

/* Turn rows from `first` on, as many as there are up to BLOCK, into columns, BLOCK apart. The last tile is filled
   up. */
void load_block(const Rows *rows, size_t first, const Tables *tables, int32_t *columns);

/* Return whether any number is NaN. */
int has_missing(const Rows *rows);

#endif
