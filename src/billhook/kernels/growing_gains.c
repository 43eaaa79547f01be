#include "growing_gains.h"
#include "growing_lanes.h"

#include <float.h>

/* More than any sum of curvatures; it can still be taken times the square of a sum. */
#define MOST_L2 1e18f

Units units_of(const Gradients *gradients, const GrowthOptions *options)
{
    const float times = gradients->is_wide ? 0x1p-32f : 1.0f;
    const double to_units = (double)times / (double)gradients->unit_h;
    Units units = {.times = times, .needs_whole_leaf = options->n_outputs == 1 || options->is_share};
    /* At least what keeps a side without weight from being divided by nothing. */
    units.l2 = (float)clamp(options->l2 * to_units, gradients->is_wide ? 1e-12 : 0x1p16 * 1e-12, MOST_L2);
    /* A side whose weights are all rounded to nothing would be divided by nothing. */
    units.least = (float)clamp(options->min_weight * to_units, options->is_share ? times : 0.0, 1e30);
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
        gain[b] = gain_of_one((float)g, (float)h, (float)(all_g - g), (float)(all_h - h), units.l2, units.least);
    }
}

/* ---- One output, wide. */

static void gains_pairs(const LeafGains *leaf, size_t f, int with_missing, float *gain)
{
    const Units units = leaf->units;
    const int64_t *histogram = leaf->histogram, *total = leaf->sums;
    const size_t begin = (size_t)leaf->rows->first[f], end = (size_t)leaf->rows->first[f + 1];
    int64_t g = with_missing ? histogram[2 * (end - 1)] : 0, h = with_missing ? histogram[2 * (end - 1) + 1] : 0;
    for (size_t b = begin; b < end; b++) {
        g += histogram[2 * b];
        h += histogram[2 * b + 1];
        gain[b] = gain_of_one((float)g * units.times, (float)h * units.times, (float)(total[0] - g) * units.times,
                              (float)(total[1] - h) * units.times, units.l2, units.least);
    }
}

/* ---- Several outputs: each has its curvature, and counts on a side where that is large enough. */

INLINE float sum_of_eight(const float *x)
{
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

INLINE float gain_of_many(size_t n_outputs, const int is_wide, const void *left, const void *total, Units units)
{
    float lanes[LANES] = {0};
    for (size_t k = 0; k < n_outputs; k++) {
        float gl, hl, gr, hr;
        if (is_wide) {
            const int64_t *l = left, *t = total;
            gl = (float)l[k] * units.times, hl = (float)l[n_outputs + k] * units.times;
            gr = (float)(t[k] - l[k]) * units.times;
            hr = (float)(t[n_outputs + k] - l[n_outputs + k]) * units.times;
        } else {
            const int32_t *l = left, *t = total;
            gl = (float)l[k], hl = (float)l[n_outputs + k];
            gr = (float)(t[k] - l[k]), hr = (float)(t[n_outputs + k] - l[n_outputs + k]);
        }
        const float of_left = hl >= units.least ? gl * gl : 0.0f, of_right = hr >= units.least ? gr * gr : 0.0f;
        hl += units.l2, hr += units.l2;
        lanes[k % LANES] += (of_left * hr + of_right * hl) / (hl * hr);
    }
    return sum_of_eight(lanes);
}

/* Whether both sides have weight enough, by the first output's: where it is each output's. */
INLINE int has_whole_leaves(float left, float all, Units units)
{
    return left > 0.0f && all - left > 0.0f && left * units.times >= units.least
           && (all - left) * units.times >= units.least;
}

INLINE void gains_vectors(const LeafGains *leaf, const int is_wide, size_t f, int with_missing, float *gain)
{
    const size_t begin = (size_t)leaf->rows->first[f], end = (size_t)leaf->rows->first[f + 1];
    const size_t n_ints = leaf->n_ints, n_outputs = leaf->n_outputs;
    const size_t n_bytes = n_ints * (is_wide ? sizeof(int64_t) : sizeof(int32_t));
    void *running = leaf->prefix;
    if (with_missing)
        memcpy(running, (const char *)leaf->histogram + (end - 1) * n_bytes, n_bytes);
    else
        memset(running, 0, n_bytes);
    for (size_t b = begin; b < end; b++) {
        int is_filled = leaf->every;
        float of_left, of_all;
        if (is_wide) {
            const int64_t *bin = (const int64_t *)leaf->histogram + b * n_ints;
            int64_t *sum = running, any = 0;
            for (size_t k = 0; k < n_ints; k++) {
                sum[k] += bin[k];
                any |= bin[k];
            }
            is_filled |= any != 0;
            of_left = (float)sum[n_outputs], of_all = (float)((const int64_t *)leaf->sums)[n_outputs];
        } else {
            const int32_t *bin = (const int32_t *)leaf->histogram + b * n_ints;
            int32_t *sum = running, any = 0;
            for (size_t k = 0; k < n_ints; k++) {
                sum[k] += bin[k];
                any |= bin[k];
            }
            is_filled |= any != 0;
            of_left = (float)sum[n_outputs], of_all = (float)((const int32_t *)leaf->sums)[n_outputs];
        }
        gain[b] = 0.0f;
        if (is_filled && b + 1 < end
            && (!leaf->units.needs_whole_leaf || has_whole_leaves(of_left, of_all, leaf->units)))
            gain[b] = gain_of_many(n_outputs, is_wide, running, leaf->sums, leaf->units);
    }
}

static HOT void gains_of_vectors(const LeafGains *leaf, size_t f, int with_missing, float *gain)
{
    if (leaf->is_wide)
        gains_vectors(leaf, 1, f, with_missing, gain);
    else
        gains_vectors(leaf, 0, f, with_missing, gain);
}

/* The same in registers, with the same bits: slopes of eight outputs and their curvatures. What is in lanes behind
   the last output belongs to others. */
#if HAS_EIGHTS
typedef struct {
    Eight g[MOST_EIGHTS / 2], h[MOST_EIGHTS / 2];
} Sums;

INLINE void load_sums(const size_t n_eights, const int32_t *bin, size_t n_outputs, Sums *to)
{
    for (size_t v = 0; v < n_eights; v++) {
        load_eight(bin + 8 * v, &to->g[v]);
        load_eight(bin + n_outputs + 8 * v, &to->h[v]);
    }
}

/* The last register's lanes behind the last output weigh too little for any split to gain by them. */
typedef struct {
    EightFloats l2, least;
} Limits;

INLINE void limits_of(const size_t n_eights, size_t n_outputs, Units units, Limits *last)
{
    for (size_t i = 0; i < 8; i++) {
        const int is_output = 8 * (n_eights - 1) + i < n_outputs;
        last->l2[i] = is_output ? units.l2 : MOST_L2;
        last->least[i] = is_output ? units.least : FLT_MAX;
    }
}

/* Write what a split gains, as four numbers that are yet to be added. */
INLINE void gain_of_eights(const size_t n_eights, const Sums *left, const Sums *total, Units units,
                           const Limits *last, float *quarters)
{
    EightFloats sum = {0};
    for (size_t v = 0; v < n_eights; v++) {
        const EightFloats none = {0}, l2 = v + 1 < n_eights ? none + units.l2 : last->l2;
        const EightFloats least = v + 1 < n_eights ? none + units.least : last->least;
        const Eight right_g = total->g[v] - left->g[v], right_h = total->h[v] - left->h[v];
        const EightFloats gl = __builtin_convertvector(left->g[v], EightFloats);
        const EightFloats gr = __builtin_convertvector(right_g, EightFloats);
        const EightFloats hl = __builtin_convertvector(left->h[v], EightFloats);
        const EightFloats hr = __builtin_convertvector(right_h, EightFloats);
        const EightFloats of_left = (EightFloats)((Eight)(gl * gl) & (hl >= least));
        const EightFloats of_right = (EightFloats)((Eight)(gr * gr) & (hr >= least));
        const EightFloats by_left = hl + l2, by_right = hr + l2;
        const EightFloats gain = (of_left * by_right + of_right * by_left) / (by_left * by_right);
        sum = v == 0 ? gain : sum + gain;
    }
    typedef float FourFloats __attribute__((vector_size(16)));
    FourFloats half[2];
    memcpy(half, &sum, sizeof half);
    half[0] += half[1];
    memcpy(quarters, half, sizeof half[0]);
}

/* Add them, those of many bins at once, in the order of `sum_of_eight`. */
INLINE void add_quarters(const float *RESTRICT quarters, size_t begin, size_t end, float *RESTRICT gain)
{
    for (size_t b = begin; b < end; b++)
        gain[b] = (quarters[4 * b] + quarters[4 * b + 2]) + (quarters[4 * b + 1] + quarters[4 * b + 3]);
}

INLINE void gains_eights(const LeafGains *leaf, const size_t n_eights, size_t f, int with_missing,
                         const Limits *last, const Sums *total, float *quarters)
{
    const size_t begin = (size_t)leaf->rows->first[f], end = (size_t)leaf->rows->first[f + 1];
    const size_t n_ints = leaf->n_ints, n_outputs = leaf->n_outputs;
    const Units units = leaf->units;
    const int32_t *histogram = leaf->histogram;
    Sums running = {{{0}}, {{0}}}, bin;
    if (with_missing)
        load_sums(n_eights, histogram + (end - 1) * n_ints, n_outputs, &running);
    for (size_t b = begin; b + 1 < end; b++) {
        load_sums(n_eights, histogram + b * n_ints, n_outputs, &bin);
        for (size_t v = 0; v < n_eights; v++) {
            add_eight(&running.g[v], &bin.g[v]);
            add_eight(&running.h[v], &bin.h[v]);
        }
        if (!units.needs_whole_leaf || has_whole_leaves((float)running.h[0][0], (float)total->h[0][0], units))
            gain_of_eights(n_eights, &running, total, units, last, quarters + 4 * b);
        else
            memset(quarters + 4 * b, 0, 4 * sizeof *quarters);
    }
    memset(quarters + 4 * (end - 1), 0, 4 * sizeof *quarters);
}

INLINE void gains_in_eights(const LeafGains *leaf, const size_t n_eights, size_t first, size_t end)
{
    Sums total;
    Limits last;
    limits_of(n_eights, leaf->n_outputs, leaf->units, &last);
    load_sums(n_eights, leaf->sums, leaf->n_outputs, &total);
    const int32_t *bins = leaf->rows->first;
    float *quarters = (float *)leaf->prefix;
    for (size_t f = first; f < end; f++)
        gains_eights(leaf, n_eights, f, 0, &last, &total, quarters);
    add_quarters(quarters, (size_t)bins[first], (size_t)bins[end], leaf->gain);
    for (size_t f = first; f < end; f++)
        if (leaf->rows->has_missing[f]) {
            gains_eights(leaf, n_eights, f, 1, &last, &total, quarters);
            add_quarters(quarters, (size_t)bins[f], (size_t)bins[f + 1], leaf->gain + leaf->rows->n_bins);
        }
}

static HOT void gains_in_registers(const LeafGains *leaf, size_t first, size_t end)
{
    if (leaf->n_outputs <= 8)
        gains_in_eights(leaf, 1, first, end);
    else if (leaf->n_outputs <= 16)
        gains_in_eights(leaf, 2, first, end);
    else if (leaf->n_outputs <= 24)
        gains_in_eights(leaf, 3, first, end);
    else
        gains_in_eights(leaf, 4, first, end);
}

static int fits_registers(const LeafGains *leaf)
{
    return !leaf->is_wide && leaf->n_outputs > 1 && leaf->n_outputs <= 4 * MOST_EIGHTS;
}

#else
static int fits_registers(const LeafGains *leaf) { return (void)leaf, 0; }
static void gains_in_registers(const LeafGains *leaf, size_t first, size_t end)
{
    (void)leaf, (void)first, (void)end;
}
#endif

/* ---- All of these. */

float gain_unsplit(const LeafGains *leaf)
{
    const Units units = leaf->units;
    if (leaf->n_outputs > 1) {
        memset(leaf->prefix, 0, leaf->n_ints * sizeof(int64_t));
        return leaf->is_wide ? gain_of_many(leaf->n_outputs, 1, leaf->prefix, leaf->sums, units)
                             : gain_of_many(leaf->n_outputs, 0, leaf->prefix, leaf->sums, units);
    }
    const int64_t *total = leaf->sums;
    if (leaf->is_wide)
        return gain_of_one(0.0f, 0.0f, (float)total[0] * units.times, (float)total[1] * units.times, units.l2, 0.0f);
    return gain_of_one(0.0f, 0.0f, (float)(int32_t)(*total >> 32), (float)(int32_t)(uint32_t)*total, units.l2, 0.0f);
}

static void gains_of_half(const LeafGains *leaf, size_t first, size_t end, int with_missing)
{
    const BinnedRows *rows = leaf->rows;
    float *gain = leaf->gain + (with_missing ? rows->n_bins : 0);
    const int is_packed = leaf->n_outputs == 1 && !leaf->is_wide;
    for (size_t f = first; f < end; f++)
        if (is_packed)
            prefix_packed(rows, leaf->histogram, f, with_missing, leaf->prefix);
        else if (leaf->n_outputs == 1)
            gains_pairs(leaf, f, with_missing, gain);
        else
            gains_of_vectors(leaf, f, with_missing, gain);
    if (is_packed)
        gains_packed(leaf->prefix, (size_t)rows->first[first], (size_t)rows->first[end],
                     *(const int64_t *)leaf->sums, leaf->units, gain);
}

void gains_of_features(const LeafGains *leaf, size_t first, size_t end)
{
    const BinnedRows *rows = leaf->rows;
    if (fits_registers(leaf))
        gains_in_registers(leaf, first, end);
    else {
        gains_of_half(leaf, first, end, 0);
        for (size_t f = first; f < end; f++)
            if (rows->has_missing[f])
                gains_of_half(leaf, f, f + 1, 1);
    }
    /* With all rows on one side there is no split. */
    for (size_t f = first; f < end; f++) {
        const size_t last = (size_t)rows->first[f + 1] - 1;
        leaf->gain[last] = 0.0f;
        if (rows->has_missing[f])
            leaf->gain[rows->n_bins + last] = leaf->gain[rows->n_bins + last - 1] = 0.0f;
    }
}
