#include "growing.h"

#include <string.h>

/* A split must gain more. As in XGBoost. */
#define LEAST_GAIN 1e-6

/* Sums of gradients are taken times a power of two that makes them small enough to be squared; and the options are
   brought to the same units. What they gain then has a unit of its own, by which leaves of one tree are compared. */
typedef struct {
    float times;        /* whole sums to units */
    float l2, least;    /* of the curvature */
    float unit_of_gain;
    int needs_whole_leaf; /* whether a split with too little weight on one side is none, whatever the output */
} Units;

static Units units_of(const Gradients *gradients, const GrowthOptions *options)
{
    const float times = gradients->is_wide ? 0x1p-32f : 0x1p-16f;
    const double to_units = (double)times / (double)gradients->unit_h;
    Units units = {.times = times, .needs_whole_leaf = options->n_lanes == 1 || options->is_share};
    units.l2 = (float)clamp(options->l2 * to_units, 1e-12, 1e15);
    units.least = (float)clamp(options->min_weight * to_units, 0.0, 1e30);
    units.unit_of_gain = (float)((double)gradients->unit_g * gradients->unit_g / ((double)times * gradients->unit_h));
    return units;
}

/* What a split gains with these sums on its left and on its right; 0 where one side has too little weight. */
INLINE float gain_of_one(float gl, float hl, float gr, float hr, float l2, float least)
{
    const float is_allowed = ((hl >= least) & (hr >= least)) ? 1.0f : 0.0f;
    const float left = hl + l2, right = hr + l2;
    return is_allowed * ((gl * gl) * right + (gr * gr) * left) / (left * right);
}

/* ---- One output, narrow: prefix sums of packed numbers, then the gains of all bins. */

static void prefix_packed(const BinnedRows *rows, const int64_t *histogram, size_t f, int with_missing,
                          int64_t *prefix)
{
    const size_t begin = (size_t)rows->first[f], end = (size_t)rows->first[f + 1];
    int64_t sum = with_missing ? histogram[end - 1] : 0;
    for (size_t b = begin; b < end; b++) {
        sum += histogram[b];
        prefix[b] = sum;
    }
}

static HOT void gains_packed(const int64_t *RESTRICT prefix, size_t begin, size_t end, int64_t total, Units units,
                             float *RESTRICT gain)
{
    const int32_t all_g = (int32_t)(total >> 32), all_h = (int32_t)(uint32_t)total;
    for (size_t b = begin; b < end; b++) {
        const int32_t g = (int32_t)(prefix[b] >> 32), h = (int32_t)(uint32_t)prefix[b];
        gain[b] = gain_of_one((float)g * units.times, (float)h * units.times, (float)(all_g - g) * units.times,
                              (float)(all_h - h) * units.times, units.l2, units.least);
    }
}

/* ---- One output, wide. */

static void gains_pairs(const BinnedRows *rows, const int64_t *histogram, size_t f, int with_missing,
                        const int64_t *total, Units units, float *gain)
{
    const size_t begin = (size_t)rows->first[f], end = (size_t)rows->first[f + 1];
    int64_t g = with_missing ? histogram[2 * (end - 1)] : 0, h = with_missing ? histogram[2 * (end - 1) + 1] : 0;
    for (size_t b = begin; b < end; b++) {
        g += histogram[2 * b];
        h += histogram[2 * b + 1];
        gain[b] = gain_of_one((float)g * units.times, (float)h * units.times, (float)(total[0] - g) * units.times,
                              (float)(total[1] - h) * units.times, units.l2, units.least);
    }
}

/* ---- Several outputs: each has its curvature, and counts on a side where that is large enough. */

INLINE float gain_of_many(const size_t n_lanes, const int is_wide, const void *left, const void *total, Units units)
{
    float lanes[LANES] = {0};
    for (size_t v = 0; v < n_lanes; v += LANES)
        for (size_t i = 0; i < LANES; i++) {
            const size_t k = v + i;
            float gl, hl, gr, hr;
            if (is_wide) {
                const int64_t *l = left, *t = total;
                gl = (float)l[k], hl = (float)l[n_lanes + k];
                gr = (float)(t[k] - l[k]), hr = (float)(t[n_lanes + k] - l[n_lanes + k]);
            } else {
                const int32_t *l = left, *t = total;
                gl = (float)l[k], hl = (float)l[n_lanes + k];
                gr = (float)(t[k] - l[k]), hr = (float)(t[n_lanes + k] - l[n_lanes + k]);
            }
            gl *= units.times, hl *= units.times, gr *= units.times, hr *= units.times;
            const float of_left = hl >= units.least ? gl * gl : 0.0f, of_right = hr >= units.least ? gr * gr : 0.0f;
            hl += units.l2, hr += units.l2;
            lanes[i] += (of_left * hr + of_right * hl) / (hl * hr);
        }
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

INLINE int has_whole_leaves(const size_t n_lanes, const int is_wide, const void *left, const void *total,
                            Units units)
{
    const float hl = is_wide ? (float)((const int64_t *)left)[n_lanes] : (float)((const int32_t *)left)[n_lanes];
    const float all =
        is_wide ? (float)((const int64_t *)total)[n_lanes] : (float)((const int32_t *)total)[n_lanes];
    return hl > 0.0f && all - hl > 0.0f && hl * units.times >= units.least && (all - hl) * units.times >= units.least;
}

/* A bin without rows of the leaf splits as the one before it does, and is left out unless `every` is set. */
INLINE void gains_vectors(const BinnedRows *rows, const size_t n_lanes, const int is_wide, const void *histogram,
                          size_t f, int with_missing, int every, const void *total, Units units, void *running,
                          float *gain)
{
    const size_t begin = (size_t)rows->first[f], end = (size_t)rows->first[f + 1], n_ints = 2 * n_lanes;
    const size_t n_bytes = n_ints * (is_wide ? sizeof(int64_t) : sizeof(int32_t));
    if (with_missing)
        memcpy(running, (const char *)histogram + (end - 1) * n_bytes, n_bytes);
    else
        memset(running, 0, n_bytes);
    for (size_t b = begin; b < end; b++) {
        int is_filled = every;
        if (is_wide) {
            const int64_t *bin = (const int64_t *)histogram + b * n_ints;
            int64_t *sum = running, any = 0;
            for (size_t k = 0; k < n_ints; k++) {
                sum[k] += bin[k];
                any |= bin[k];
            }
            is_filled |= any != 0;
        } else {
            const int32_t *bin = (const int32_t *)histogram + b * n_ints;
            int32_t *sum = running, any = 0;
            for (size_t k = 0; k < n_ints; k++) {
                sum[k] += bin[k];
                any |= bin[k];
            }
            is_filled |= any != 0;
        }
        gain[b] = 0.0f;
        if (is_filled && b + 1 < end
            && (!units.needs_whole_leaf || has_whole_leaves(n_lanes, is_wide, running, total, units)))
            gain[b] = gain_of_many(n_lanes, is_wide, running, total, units);
    }
}

/* The same in registers of eight, with the same bits: compilers make no vectors of the loops above. */
#if defined(__GNUC__) || defined(__clang__)
typedef int32_t Ints __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));
enum { MOST_EIGHTS = 4 };

INLINE float gain_of_eights(const size_t n_eights, const Ints *left, const Ints *total, Units units)
{
    Floats sum = {0};
    for (size_t v = 0; v < n_eights; v++) {
        const Ints right_g = total[v] - left[v], right_h = total[n_eights + v] - left[n_eights + v];
        const Floats gl = __builtin_convertvector(left[v], Floats) * units.times;
        const Floats gr = __builtin_convertvector(right_g, Floats) * units.times;
        Floats hl = __builtin_convertvector(left[n_eights + v], Floats) * units.times;
        Floats hr = __builtin_convertvector(right_h, Floats) * units.times;
        const Floats of_left = (Floats)((Ints)(gl * gl) & (hl >= units.least));
        const Floats of_right = (Floats)((Ints)(gr * gr) & (hr >= units.least));
        hl += units.l2;
        hr += units.l2;
        sum += (of_left * hr + of_right * hl) / (hl * hr);
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

INLINE int is_any(const Ints *x)
{
    uint64_t quarter[4];
    memcpy(quarter, x, sizeof quarter);
    return ((quarter[0] | quarter[1]) | (quarter[2] | quarter[3])) != 0;
}

INLINE void gains_eights(const BinnedRows *rows, const size_t n_eights, const int32_t *histogram, size_t f,
                         int with_missing, int every, const int32_t *sums, Units units, float *gain)
{
    const size_t begin = (size_t)rows->first[f], end = (size_t)rows->first[f + 1], n_ints = 16 * n_eights;
    Ints running[2 * MOST_EIGHTS] = {{0}}, total[2 * MOST_EIGHTS];
    memcpy(total, sums, n_ints * sizeof *sums);
    if (with_missing)
        memcpy(running, histogram + (end - 1) * n_ints, n_ints * sizeof *sums);
    for (size_t b = begin; b < end; b++) {
        Ints any = {0};
        for (size_t v = 0; v < 2 * n_eights; v++) {
            Ints bin;
            memcpy(&bin, histogram + b * n_ints + 8 * v, sizeof bin);
            running[v] += bin;
            any |= bin;
        }
        gain[b] = 0.0f;
        if ((every || is_any(&any)) && b + 1 < end
            && (!units.needs_whole_leaf || has_whole_leaves(8 * n_eights, 0, running, total, units)))
            gain[b] = gain_of_eights(n_eights, running, total, units);
    }
}

static HOT void gains_in_registers(const BinnedRows *rows, size_t n_lanes, const int32_t *histogram, size_t f,
                                   int with_missing, int every, const int32_t *total, Units units, float *gain)
{
    if (n_lanes == 8)
        gains_eights(rows, 1, histogram, f, with_missing, every, total, units, gain);
    else if (n_lanes == 16)
        gains_eights(rows, 2, histogram, f, with_missing, every, total, units, gain);
    else if (n_lanes == 24)
        gains_eights(rows, 3, histogram, f, with_missing, every, total, units, gain);
    else
        gains_eights(rows, 4, histogram, f, with_missing, every, total, units, gain);
}
#else
enum { MOST_EIGHTS = 0 };

static void gains_in_registers(const BinnedRows *rows, size_t n_lanes, const int32_t *histogram, size_t f,
                               int with_missing, int every, const int32_t *total, Units units, float *gain)
{
    (void)rows, (void)n_lanes, (void)histogram, (void)f, (void)with_missing;
    (void)every, (void)total, (void)units, (void)gain;
}
#endif

static void gains_of_vectors(const BinnedRows *rows, size_t n_lanes, int is_wide, const void *histogram, size_t f,
                             int with_missing, int every, const void *total, Units units, void *running, float *gain)
{
    if (is_wide)
        gains_vectors(rows, n_lanes, 1, histogram, f, with_missing, every, total, units, running, gain);
    else if (n_lanes <= LANES * MOST_EIGHTS)
        gains_in_registers(rows, n_lanes, histogram, f, with_missing, every, total, units, gain);
    else
        gains_vectors(rows, n_lanes, 0, histogram, f, with_missing, every, total, units, running, gain);
}

/* ---- Which split. */

/* Return the first of the largest, or -1 if none is above 0. Floats that are not negative have the order of their
   bits. */
static HOT int64_t first_of_largest(const float *gain, size_t begin, size_t end)
{
    int32_t largest = 0;
    for (size_t b = begin; b < end; b++) {
        int32_t bits;
        memcpy(&bits, gain + b, sizeof bits);
        largest = bits > largest ? bits : largest;
    }
    if (largest == 0)
        return -1;
    for (size_t b = begin; b < end; b++) {
        int32_t bits;
        memcpy(&bits, gain + b, sizeof bits);
        if (bits == largest)
            return (int64_t)b;
    }
    return -1;
}

/* Whether a leaf has rows in a bin, by their curvature. */
static int is_occupied(const GrowthOptions *options, int is_wide, const void *histogram, size_t bin)
{
    const size_t n = options->n_lanes;
    if (n == 1 && !is_wide)
        return (uint32_t)((const int64_t *)histogram)[bin] != 0;
    return is_wide ? ((const int64_t *)histogram)[bin * 2 * n + n] != 0
                   : ((const int32_t *)histogram)[bin * 2 * n + n] != 0;
}

/* Leave one bin of a feature, drawn between its extremes in the leaf. */
static void leave_one_threshold(const BinnedRows *rows, const GrowthOptions *options, int is_wide,
                                const void *histogram, size_t f, uint64_t random, float *gain)
{
    size_t low = (size_t)rows->first[f], high = (size_t)rows->first[f + 1] - 1 - rows->has_missing[f];
    const size_t begin = low, end = (size_t)rows->first[f + 1];
    while (low < high && !is_occupied(options, is_wide, histogram, low))
        low++;
    while (high > low && !is_occupied(options, is_wide, histogram, high))
        high--;
    const size_t kept = high > low ? low + (size_t)(((mixed(random + f) >> 32) * (high - low)) >> 32) : end;
    for (int half = 0; half < 2; half++)
        for (size_t b = begin; b < end; b++)
            if (b != kept)
                gain[half * rows->n_bins + b] = 0.0f;
}

static void gains_of_feature(const BinnedRows *rows, const GrowthOptions *options, int is_wide,
                             GrowthScratch *scratch, const void *histogram, const void *sums, Units units, size_t f,
                             int with_missing)
{
    float *gain = scratch->gain + (with_missing ? rows->n_bins : 0);
    const size_t end = (size_t)rows->first[f + 1];
    const int every = options->max_tests > 0 || options->reuse_factor > 1.0 || options->is_random_threshold;
    if (options->n_lanes > 1)
        gains_of_vectors(rows, options->n_lanes, is_wide, histogram, f, with_missing, every, sums, units,
                         scratch->prefix, gain);
    else if (is_wide)
        gains_pairs(rows, histogram, f, with_missing, sums, units, gain);
    else {
        prefix_packed(rows, histogram, f, with_missing, scratch->prefix);
        gains_packed(scratch->prefix, (size_t)rows->first[f], end, *(const int64_t *)sums, units, gain);
    }
    /* With all rows on one side there is no split. */
    gain[end - 1] = 0.0f;
    if (with_missing)
        gain[end - 2] = 0.0f;
}

/* Let only tests in use be chosen, or those that gain enough more. Returns the place of the best, or -1. */
static int64_t best_with_reuse(const BinnedRows *rows, const GrowthOptions *options, const GrowthScratch *scratch,
                               size_t end, float own)
{
    int64_t any = -1, used = -1;
    for (size_t b = 0; b < end; b++) {
        if (any < 0 || scratch->gain[b] > scratch->gain[any])
            any = (int64_t)b;
        if (scratch->is_used[b] && (used < 0 || scratch->gain[b] > scratch->gain[used]))
            used = (int64_t)b;
    }
    (void)rows;
    if (options->max_tests > 0 && *scratch->n_used >= (int64_t)options->max_tests)
        return used;
    if (used < 0 || any < 0)
        return any;
    return (scratch->gain[used] - own) * (float)options->reuse_factor >= scratch->gain[any] - own ? used : any;
}

void find_split(const BinnedRows *rows, const Gradients *gradients, const GrowthOptions *options,
                GrowthScratch *scratch, const void *histogram, const void *sums, const uint32_t *features,
                size_t n_features, uint64_t random, OpenLeaf *leaf)
{
    const Units units = units_of(gradients, options);
    const int is_wide = gradients->is_wide, is_one = options->n_lanes == 1;
    int has_missing = 0;
    float own;
    if (is_one && !is_wide) {
        const int64_t total = *(const int64_t *)sums;
        own = gain_of_one(0.0f, 0.0f, (float)(int32_t)(total >> 32) * units.times,
                          (float)(int32_t)(uint32_t)total * units.times, units.l2, 0.0f);
    } else if (is_one) {
        const int64_t *total = sums;
        own = gain_of_one(0.0f, 0.0f, (float)total[0] * units.times, (float)total[1] * units.times, units.l2, 0.0f);
    } else {
        memset(scratch->prefix, 0, 2 * options->n_lanes * sizeof(int64_t));
        own = gain_of_many(options->n_lanes, is_wide, scratch->prefix, sums, units);
    }
    if (n_features < rows->n_features)
        memset(scratch->gain, 0, 2 * rows->n_bins * sizeof *scratch->gain);
    for (size_t i = 0; i < n_features; i++) {
        const size_t f = features[i];
        gains_of_feature(rows, options, is_wide, scratch, histogram, sums, units, f, 0);
        if (rows->has_missing[f]) {
            if (!has_missing && n_features == rows->n_features)
                memset(scratch->gain + rows->n_bins, 0, rows->n_bins * sizeof *scratch->gain);
            has_missing = 1;
            gains_of_feature(rows, options, is_wide, scratch, histogram, sums, units, f, 1);
        }
        if (options->is_random_threshold) {
            if (!has_missing)
                memset(scratch->gain + rows->n_bins, 0, rows->n_bins * sizeof *scratch->gain);
            has_missing = 1;
            leave_one_threshold(rows, options, is_wide, histogram, f, random, scratch->gain);
        }
    }
    const size_t end = has_missing ? 2 * rows->n_bins : rows->n_bins;
    const int reuses = options->max_tests > 0 || options->reuse_factor > 1.0;
    const int64_t best =
        reuses ? best_with_reuse(rows, options, scratch, end, own) : first_of_largest(scratch->gain, 0, end);
    leaf->bin = -1;
    leaf->gain = 0.0f;
    if (best >= 0 && (double)(scratch->gain[best] - own) * units.unit_of_gain > LEAST_GAIN) {
        leaf->missing_left = (size_t)best >= rows->n_bins;
        leaf->bin = (int32_t)((size_t)best - (leaf->missing_left ? rows->n_bins : 0));
        leaf->gain = (scratch->gain[best] - own) * units.unit_of_gain;
    }
}
