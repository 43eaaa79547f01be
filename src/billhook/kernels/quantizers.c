#include "quantizers.h"

#include <math.h>
#include <string.h>

/* Whole numbers are doubles all the way: every one here is below 2^53, and every product and quotient by a power of
   two is exact. A quotient by a scale is rounded, but cannot reach a whole number that it is not: it is below 2^32,
   and at least 2^-16 away from one. */

enum { NO_SHIFT = 150, HIGHEST_EQUAL = 116, LAST_FINE = 65535, MOST_AT_ONCE = 128 };

/* Candidates that are tried together, of one kind. */
typedef struct {
    double up[MOST_AT_ONCE];
    double offset[MOST_AT_ONCE];
    double factor[MOST_AT_ONCE];
    double length[MOST_AT_ONCE];
    double divisor[MOST_AT_ONCE];
    double highest[MOST_AT_ONCE];
    double limit[MOST_AT_ONCE];
    double below[MOST_AT_ONCE];
    double above[MOST_AT_ONCE];
    int32_t n_below[MOST_AT_ONCE];
    int32_t n_above[MOST_AT_ONCE];
} Candidates;

INLINE int is_by_keys(int64_t power) { return power > HIGHEST_EQUAL; }

/* What a number, or its key, is multiplied by. */
INLINE double unit_of(int64_t power) { return ldexp(1.0, (int)(is_by_keys(power) ? power - NO_SHIFT : power)); }

INLINE double last_code(int64_t bits) { return bits < HIGHEST_BITS ? (double)((1 << bits) - 1) : LAST_FINE - 1.0; }

INLINE double factor_of(int64_t scale, int64_t bits) { return scale ? ldexp((double)scale, (int)bits - 31) : 1.0; }

/* The place of a float in the order of all; -0.0 counts as 0.0. */
INLINE double key_of(float x)
{
    uint32_t bits;
    x += 0.0f;
    memcpy(&bits, &x, sizeof bits);
    return (double)(bits >> 31 ? ~bits : bits | 0x80000000u);
}

/* The float at a place, or an infinity beyond the last. */
INLINE double float_of(double key)
{
    uint32_t bits = (uint32_t)clamp(key, 0x007FFFFF, 0xFF800000);
    float x;
    bits -= bits == 0x7FFFFFFF; /* -0.0 is no other number than 0.0 */
    bits = bits >> 31 ? bits & 0x7FFFFFFFu : ~bits;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

INLINE double fixed_of(float x, double up, const int by_keys)
{
    return by_keys ? floor(key_of(x) * up) : clamp(ceil((double)x * up), -2147483648.0, 2147483647.0);
}

INLINE double code_of(double fixed, double offset, double factor, double last)
{
    return smaller(floor(clamp(fixed - offset, 0.0, LAST_FINE) * factor), last);
}

/* The largest number with a code of a candidate, if codes went on for ever. */
INLINE double largest_of(const Candidates *c, size_t i, double code, const int by_keys)
{
    const double end = ceil((code + 1.0) * c->length[i] / c->divisor[i]) + c->offset[i];
    return by_keys ? float_of(end / c->up[i] - 1.0) : (end - 1.0) / c->up[i];
}

static void set_up(Candidates *c, size_t n, const int64_t *power, const int64_t *offset, const int64_t *scale, int bits)
{
    const double last = last_code(bits);
    for (size_t i = 0; i < n; i++) {
        const int by_keys = is_by_keys(power[i]);
        c->up[i] = unit_of(power[i]);
        c->offset[i] = (double)offset[i];
        c->factor[i] = factor_of(scale[i], bits);
        c->length[i] = scale[i] ? ldexp(1.0, 31 - bits) : 1.0;
        c->divisor[i] = scale[i] ? (double)scale[i] : 1.0;
        c->highest[i] = code_of(fixed_of(INFINITY, c->up[i], by_keys), c->offset[i], c->factor[i], last);
        c->limit[i] = largest_of(c, i, last, by_keys);
    }
}

/* Find the ends of the codes on either side of a threshold; infinity beyond the highest code. */
INLINE void find_ends(Candidates *c, size_t n, float threshold, double last, const int by_keys)
{
    for (size_t i = 0; i < n; i++) {
        const double code = code_of(fixed_of(threshold, c->up[i], by_keys), c->offset[i], c->factor[i], last);
        const double down = clamp(code - 1.0, 0.0, last - 1.0), up = smaller(code, last - 1.0);
        const double below = largest_of(c, i, down, by_keys), above = largest_of(c, i, up, by_keys);
        c->below[i] = down < c->highest[i] ? below : INFINITY;
        c->above[i] = up < c->highest[i] ? above : INFINITY;
    }
}

INLINE size_t n_up_to(size_t n_values, const float *value, double end)
{
    size_t at = 0;
    for (size_t left = n_values; left > 0; left /= 2) {
        const size_t half = (left + 1) / 2;
        at += (double)value[at + half - 1] <= end ? half : 0;
    }
    return at;
}

/* Count the values up to each end: those up to the lowest and the highest end first, then all ends step by step. */
INLINE void count_up_to(size_t n_values, const float *value, size_t n, const double *end, int32_t *count)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        low = smaller(end[i], low);
        high = larger(end[i] < INFINITY ? end[i] : -INFINITY, high);
    }
    const size_t first = low < INFINITY ? n_up_to(n_values, value, low) : n_values;
    const size_t n_between = low < INFINITY ? n_up_to(n_values - first, value + first, high) : 0;
    for (size_t i = 0; i < n; i++)
        count[i] = (int32_t)first;
    for (int32_t left = (int32_t)n_between; left > 0; left /= 2) {
        const int32_t half = (left + 1) / 2;
        for (size_t i = 0; i < n; i++)
            count[i] += (double)value[count[i] + half - 1] <= end[i] ? half : 0;
    }
    for (size_t i = 0; i < n; i++)
        count[i] = end[i] < INFINITY ? count[i] : (int32_t)n_values;
}

INLINE void try_all(Candidates *c, size_t n, size_t n_thresholds, const float *threshold, size_t n_values,
                    const float *value, int bits, int64_t *n_astray, const int by_keys)
{
    const double last = last_code(bits);
    for (size_t k = 0; k < n_thresholds; k++) {
        const double t = (double)threshold[k];
        const int32_t n_left = (int32_t)n_up_to(n_values, value, t);
        find_ends(c, n, threshold[k], last, by_keys);
        count_up_to(n_values, value, n, c->below, c->n_below);
        count_up_to(n_values, value, n, c->above, c->n_above);
        for (size_t i = 0; i < n; i++) {
            const int32_t off_down = c->n_below[i] < n_left ? n_left - c->n_below[i] : c->n_below[i] - n_left;
            const int32_t off_up = c->n_above[i] < n_left ? n_left - c->n_above[i] : c->n_above[i] - n_left;
            const int32_t nearer = off_down < off_up ? off_down : off_up;
            n_astray[i] += t > c->limit[i] || t == INFINITY ? (int32_t)n_values - n_left : nearer;
        }
    }
}

HOT static void try_equal(Candidates *c, size_t n, size_t n_thresholds, const float *threshold, size_t n_values,
                          const float *value, int bits, int64_t *n_astray)
{
    try_all(c, n, n_thresholds, threshold, n_values, value, bits, n_astray, 0);
}

HOT static void try_keys(Candidates *c, size_t n, size_t n_thresholds, const float *threshold, size_t n_values,
                         const float *value, int bits, int64_t *n_astray)
{
    try_all(c, n, n_thresholds, threshold, n_values, value, bits, n_astray, 1);
}

void count_astray(size_t n_thresholds, const float *threshold, size_t n_values, const float *value, Quantizers by,
                  int bits, int64_t *n_astray)
{
    Candidates candidates;
    for (size_t start = 0, n; start < by.n; start += n) {
        const int by_keys = is_by_keys(by.power[start]);
        for (n = 0; n < MOST_AT_ONCE && start + n < by.n && is_by_keys(by.power[start + n]) == by_keys; n++)
            n_astray[start + n] = 0;
        set_up(&candidates, n, by.power + start, by.offset + start, by.scale + start, bits);
        (by_keys ? try_keys : try_equal)(&candidates, n, n_thresholds, threshold, n_values, value, bits,
                                         n_astray + start);
    }
}

INLINE void write_code(void *code, const int is_wide, size_t at, int32_t number)
{
    if (is_wide)
        ((uint16_t *)code)[at] = (uint16_t)number;
    else
        ((uint8_t *)code)[at] = (uint8_t)number;
}

/* NaN has the code of an infinity already, if not one of its own. */
INLINE float without_nan(float x) { return x == x ? x : copysignf(INFINITY, x); }

INLINE int32_t code_or_missing(float x, double code, int missing)
{
    return x != x && missing >= 0 ? missing : (int32_t)code;
}

INLINE void code_all(size_t n_rows, const float *RESTRICT x, size_t n, const int64_t *power, const int64_t *bits,
                     int missing, void *RESTRICT code, const int is_wide, const double *RESTRICT numbers)
{
    const double *up = numbers, *offset = up + n, *factor = offset + n, *last = factor + n;
    for (size_t row = 0; row < n_rows; row++)
        for (size_t k = 0; k < n; k++) {
            const float number = x[row * n + k];
            const double of = code_of(fixed_of(without_nan(number), up[k], 0), offset[k], factor[k], last[k]);
            write_code(code, is_wide, row * n + k, code_or_missing(number, of, missing));
        }
    for (size_t k = 0; k < n; k++) {
        if (bits[k] != 0 && !is_by_keys(power[k]))
            continue;
        for (size_t row = 0; row < n_rows; row++) {
            const float number = x[row * n + k];
            const double of = code_of(fixed_of(without_nan(number), up[k], 1), offset[k], factor[k], last[k]);
            write_code(code, is_wide, row * n + k, bits[k] == 0 ? 0 : code_or_missing(number, of, missing));
        }
    }
}

HOT static void code_bytes(size_t n_rows, const float *x, size_t n, const int64_t *power, const int64_t *bits,
                           int missing, void *code, const double *numbers)
{
    code_all(n_rows, x, n, power, bits, missing, code, 0, numbers);
}

HOT static void code_pairs(size_t n_rows, const float *x, size_t n, const int64_t *power, const int64_t *bits,
                           int missing, void *code, const double *numbers)
{
    code_all(n_rows, x, n, power, bits, missing, code, 1, numbers);
}

void code_rows(size_t n_rows, const float *x, Quantizers by, const int64_t *bits, int missing, void *code, int is_wide,
               double *scratch)
{
    for (size_t k = 0; k < by.n; k++) {
        scratch[k] = unit_of(by.power[k]);
        scratch[by.n + k] = (double)by.offset[k];
        scratch[2 * by.n + k] = factor_of(by.scale[k], bits[k]);
        scratch[3 * by.n + k] = last_code(bits[k]);
    }
    (is_wide ? code_pairs : code_bytes)(n_rows, x, by.n, by.power, bits, missing, code, scratch);
}
