#include "growing_gains.h"

#include <string.h>

/* A split must gain more. As in XGBoost. */
#define LEAST_GAIN 1e-6

/* Features are looked at in groups of at least so many bins, which stay in the cache. */
enum { BINS_OF_GROUP = 64 };

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
    const size_t at = bin * ints_of_bin(options) + options->n_outputs;
    if (options->n_outputs == 1 && !is_wide)
        return (uint32_t)((const int64_t *)histogram)[bin] != 0;
    return is_wide ? ((const int64_t *)histogram)[at] != 0 : ((const int32_t *)histogram)[at] != 0;
}

/* Leave one bin of a feature, drawn between its extremes in the leaf. */
static void leave_one_threshold(const BinnedRows *rows, const GrowthOptions *options, int is_wide,
                                const void *histogram, size_t f, uint64_t random, int has_missing, float *gain)
{
    size_t low = (size_t)rows->first[f], high = (size_t)rows->first[f + 1] - 1 - rows->has_missing[f];
    const size_t begin = low, end = (size_t)rows->first[f + 1];
    while (low < high && !is_occupied(options, is_wide, histogram, low))
        low++;
    while (high > low && !is_occupied(options, is_wide, histogram, high))
        high--;
    const size_t kept = high > low ? low + (size_t)(((mixed(random + f) >> 32) * (high - low)) >> 32) : end;
    for (int half = 0; half <= has_missing; half++)
        for (size_t b = begin; b < end; b++)
            if (b != kept)
                gain[half * rows->n_bins + b] = 0.0f;
}

/* Let only tests in use be chosen, or those that gain enough more. Returns the place of the best, or -1. */
static int64_t best_with_reuse(const GrowthOptions *options, const GrowthScratch *scratch, size_t end, float own)
{
    int64_t any = -1, used = -1;
    for (size_t b = 0; b < end; b++) {
        if (any < 0 || scratch->gain[b] > scratch->gain[any])
            any = (int64_t)b;
        if (scratch->is_used[b] && (used < 0 || scratch->gain[b] > scratch->gain[used]))
            used = (int64_t)b;
    }
    if (options->max_tests > 0 && *scratch->n_used >= (int64_t)options->max_tests)
        return used;
    if (used < 0 || any < 0)
        return any;
    return (scratch->gain[used] - own) * (float)options->reuse_factor >= scratch->gain[any] - own ? used : any;
}

void find_split(const BinnedRows *rows, const Gradients *gradients, const GrowthOptions *options,
                GrowthScratch *scratch, void *histogram, const void *taken, const void *sums,
                const uint32_t *features, size_t n_features, uint64_t random, OpenLeaf *leaf)
{
    const size_t n_bins = rows->n_bins;
    const int is_wide = gradients->is_wide, reuses = options->max_tests > 0 || options->reuse_factor > 1.0;
    const LeafGains gains = {
        .rows = rows,
        .n_outputs = options->n_outputs,
        .n_ints = ints_of_bin(options),
        .is_wide = is_wide,
        .every = reuses || options->is_random_threshold,
        .units = units_of(gradients, options),
        .histogram = histogram,
        .sums = sums,
        .prefix = scratch->prefix,
        .gain = scratch->gain,
    };
    const float own = gain_unsplit(&gains);
    int has_missing = 0;
    for (size_t f = 0; f < rows->n_features; f++)
        has_missing |= rows->has_missing[f];
    const size_t end = has_missing ? 2 * n_bins : n_bins;
    if (n_features < rows->n_features || has_missing)
        memset(scratch->gain, 0, end * sizeof *scratch->gain);
    if (n_features == rows->n_features)
        for (size_t first = 0, after; first < n_features; first = after) {
            for (after = first + 1; after < n_features; after++)
                if (rows->first[after] - rows->first[first] >= BINS_OF_GROUP)
                    break;
            if (taken != NULL)
                subtract_histogram(rows, options, is_wide, first, after, histogram, taken);
            gains_of_features(&gains, first, after);
        }
    else
        for (size_t i = 0; i < n_features; i++)
            gains_of_features(&gains, features[i], features[i] + 1);
    for (size_t i = 0; options->is_random_threshold && i < n_features; i++)
        leave_one_threshold(rows, options, is_wide, histogram, features[i], random, has_missing, scratch->gain);
    const int64_t best =
        reuses ? best_with_reuse(options, scratch, end, own) : first_of_largest(scratch->gain, 0, end);
    leaf->bin = -1;
    leaf->gain = 0.0f;
    if (best >= 0 && (double)(scratch->gain[best] - own) * gains.units.unit_of_gain > LEAST_GAIN) {
        leaf->missing_left = (size_t)best >= n_bins;
        leaf->bin = (int32_t)((size_t)best - (leaf->missing_left ? n_bins : 0));
        leaf->gain = (scratch->gain[best] - own) * gains.units.unit_of_gain;
    }
}
