/* Steps of equal length, or of equally many floats, as `billhook.packing` has them (UniformQuantizer): how many values
   go another way than thresholds when these become codes, and the codes of whole tables. */

#ifndef BILLHOOK_QUANTIZERS_H
#define BILLHOOK_QUANTIZERS_H

#include "kernels.h"

/* The numbers that a quantizer may have: what the arguments are checked for. */
enum {
    LOWEST_POWER = -105,
    HIGHEST_POWER = 145,
    HIGHEST_SCALE = 65535,
    HIGHEST_OFFSET = 1 << 30,
    HIGHEST_BITS = 16,
};

/* One quantizer for each of `n` candidates or features. */
typedef struct {
    size_t n;
    const int64_t *power;
    const int64_t *offset;
    const int64_t *scale;
} Quantizers;

/* Count, for each quantizer, how many values go another way at all thresholds together: the sum of what
   `UniformQuantizer.code_thresholds` finds.

   Values are ascending, fewer than 2^31; neither they nor the thresholds are NaN. */
void count_astray(size_t n_thresholds, const float *threshold, size_t n_values, const float *value, Quantizers by,
                  int bits, int64_t *n_astray);

/* Write the codes of a table (rows, features), each in one byte or two: `UniformQuantizer.codes`.

   A feature has codes of so many bits; those with 0 bits are 0 in all rows. NaN becomes `missing`, or if that is
   negative the code of the infinity of its sign. `scratch` is of CODE_NUMBERS numbers a feature. */
enum { CODE_NUMBERS = 4 };
void code_rows(size_t n_rows, const float *x, Quantizers by, const int64_t *bits, int missing, void *code, int is_wide,
               double *scratch);

#endif
