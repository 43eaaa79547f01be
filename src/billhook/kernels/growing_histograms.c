#include "growing.h"
#include "growing_lanes.h"

#include <string.h>

/* How far ahead rows are asked for: they are anywhere in memory. */
enum { AHEAD = 8, LINE = 64 };

size_t ints_of_bin(const GrowthOptions *options)
{
    return options->n_outputs == 1 ? 2 : (2 * options->n_outputs + LANES - 1) / LANES * LANES;
}

size_t bytes_of_histogram(const BinnedRows *rows, const GrowthOptions *options, int is_wide)
{
    return rows->n_bins * ints_of_bin(options) * (is_wide ? sizeof(int64_t) : sizeof(int32_t));
}

INLINE size_t cell_at(const void *cells, const int are_wide, size_t i)
{
    return are_wide ? (size_t)((const uint32_t *)cells)[i] : (size_t)((const uint16_t *)cells)[i];
}

/* The cells of a row: from the first to before the last. */
INLINE void cells_of_row(const BinnedRows *rows, const int is_sparse, size_t row, size_t *begin, size_t *end)
{
    *begin = is_sparse ? (size_t)rows->row_start[row] : row * rows->n_features;
    *end = is_sparse ? (size_t)rows->row_start[row + 1] : *begin + rows->n_features;
}

INLINE void ask_for(const BinnedRows *rows, const int is_sparse, const int cells_are_wide, size_t row)
{
    const size_t begin = is_sparse ? (size_t)rows->row_start[row] : row * rows->n_features;
    PREFETCH((const char *)rows->cells + begin * (cells_are_wide ? 4 : 2));
}

/* One output and narrow sums: a bin is one 64-bit number. */
INLINE void add_packed(const BinnedRows *rows, const int is_sparse, const int cells_are_wide,
                       const int64_t *RESTRICT whole, const uint32_t *of, size_t n, int64_t *RESTRICT histogram)
{
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) {
            ask_for(rows, is_sparse, cells_are_wide, of[i + AHEAD]);
            PREFETCH(whole + of[i + AHEAD]);
        }
        size_t at, end;
        const int64_t by = whole[of[i]];
        cells_of_row(rows, is_sparse, of[i], &at, &end);
        for (; at < end; at++)
            histogram[cell_at(rows->cells, cells_are_wide, at)] += by;
    }
}

/* One output and wide sums: a bin is two. */
INLINE void add_pairs(const BinnedRows *rows, const int is_sparse, const int cells_are_wide,
                      const int64_t *RESTRICT whole, const uint32_t *of, size_t n, int64_t *RESTRICT histogram)
{
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) {
            ask_for(rows, is_sparse, cells_are_wide, of[i + AHEAD]);
            PREFETCH(whole + 2 * (size_t)of[i + AHEAD]);
        }
        size_t at, end;
        const int64_t by_g = whole[2 * (size_t)of[i]], by_h = whole[2 * (size_t)of[i] + 1];
        cells_of_row(rows, is_sparse, of[i], &at, &end);
        for (; at < end; at++) {
            int64_t *bin = histogram + 2 * cell_at(rows->cells, cells_are_wide, at);
            bin[0] += by_g;
            bin[1] += by_h;
        }
    }
}

INLINE void ask_for_vectors(const BinnedRows *rows, const int is_sparse, const int cells_are_wide, size_t n_ints,
                            const int16_t *whole, size_t row)
{
    ask_for(rows, is_sparse, cells_are_wide, row);
    for (size_t k = 0; k < n_ints; k += LINE / sizeof *whole)
        PREFETCH(whole + row * n_ints + k);
}

/* Several outputs, sums of 32 bits: eight times `n_eights` numbers a bin, of which a row's stay in registers: of
   sixteen numbers, unless some of these would reach over two lines of the cache. */
INLINE void add_eights(const BinnedRows *rows, const int is_sparse, const int cells_are_wide, const size_t n_eights,
                       const int16_t *RESTRICT whole, const uint32_t *of, size_t n, int32_t *RESTRICT histogram)
{
    const size_t n_ints = 8 * n_eights;
    const int are_pairs = n_eights % 2 == 0;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            ask_for_vectors(rows, is_sparse, cells_are_wide, n_ints, whole, of[i + AHEAD]);
        const int16_t *of_row = whole + (size_t)of[i] * n_ints;
        Sixteen by_pair[MOST_EIGHTS / 2];
        Eight by[MOST_EIGHTS], sum;
        for (size_t k = 0; are_pairs && k < n_eights / 2; k++)
            widen_sixteen(of_row + 16 * k, &by_pair[k]);
        for (size_t k = 0; !are_pairs && k < n_eights; k++)
            widen_eight(of_row + 8 * k, &by[k]);
        size_t at, end;
        cells_of_row(rows, is_sparse, of[i], &at, &end);
        for (; at < end; at++) {
            int32_t *bin = histogram + cell_at(rows->cells, cells_are_wide, at) * n_ints;
            for (size_t k = 0; are_pairs && k < n_eights / 2; k++)
                add_to_sixteen(&by_pair[k], bin + 16 * k);
            for (size_t k = 0; !are_pairs && k < n_eights; k++) {
                load_eight(bin + 8 * k, &sum);
                add_eight(&sum, &by[k]);
                store_eight(&sum, bin + 8 * k);
            }
        }
    }
}

/* The same, sums of 64 bits. */
INLINE void add_wide_eights(const BinnedRows *rows, const int is_sparse, const int cells_are_wide,
                            const size_t n_eights, const int16_t *RESTRICT whole, const uint32_t *of, size_t n,
                            int64_t *RESTRICT histogram)
{
    const size_t n_ints = 8 * n_eights;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            ask_for_vectors(rows, is_sparse, cells_are_wide, n_ints, whole, of[i + AHEAD]);
        Eight by[MOST_EIGHTS];
        for (size_t k = 0; k < n_eights; k++)
            widen_eight(whole + (size_t)of[i] * n_ints + 8 * k, &by[k]);
        size_t at, end;
        cells_of_row(rows, is_sparse, of[i], &at, &end);
        for (; at < end; at++) {
            int64_t *bin = histogram + cell_at(rows->cells, cells_are_wide, at) * n_ints;
            for (size_t k = 0; k < n_eights; k++)
                add_to_eight_wide(&by[k], bin + 8 * k);
        }
    }
}

/* Any number of outputs. */
INLINE void add_vectors(const BinnedRows *rows, const int is_sparse, const int cells_are_wide, size_t n_ints,
                        const int is_wide, const int16_t *RESTRICT whole, const uint32_t *of, size_t n,
                        void *RESTRICT histogram)
{
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            ask_for_vectors(rows, is_sparse, cells_are_wide, n_ints, whole, of[i + AHEAD]);
        const int16_t *by = whole + (size_t)of[i] * n_ints;
        size_t at, end;
        cells_of_row(rows, is_sparse, of[i], &at, &end);
        for (; at < end; at++) {
            const size_t bin = cell_at(rows->cells, cells_are_wide, at) * n_ints;
            if (is_wide)
                for (size_t k = 0; k < n_ints; k++)
                    ((int64_t *)histogram)[bin + k] += by[k];
            else
                for (size_t k = 0; k < n_ints; k++)
                    ((int32_t *)histogram)[bin + k] += by[k];
        }
    }
}

/* Add the rows to the histogram, with all that is constant in the loop a constant. */
INLINE void add_rows_as(const BinnedRows *rows, const int is_sparse, const int cells_are_wide,
                        const Gradients *gradients, size_t n_ints, const uint32_t *of, size_t n, void *histogram)
{
#define ADD_EIGHTS(n_eights) \
    add_eights(rows, is_sparse, cells_are_wide, n_eights, gradients->whole, of, n, histogram)
#define ADD_WIDE_EIGHTS(n_eights) \
    add_wide_eights(rows, is_sparse, cells_are_wide, n_eights, gradients->whole, of, n, histogram)
    if (n_ints == 2 && gradients->is_wide)
        add_pairs(rows, is_sparse, cells_are_wide, gradients->whole_one, of, n, histogram);
    else if (n_ints == 2)
        add_packed(rows, is_sparse, cells_are_wide, gradients->whole_one, of, n, histogram);
    else if (gradients->is_wide && n_ints <= 8 * MOST_EIGHTS)
        WITH_EIGHTS(n_ints / 8, ADD_WIDE_EIGHTS)
    else if (n_ints <= 8 * MOST_EIGHTS)
        WITH_EIGHTS(n_ints / 8, ADD_EIGHTS)
    else if (gradients->is_wide)
        add_vectors(rows, is_sparse, cells_are_wide, n_ints, 1, gradients->whole, of, n, histogram);
    else
        add_vectors(rows, is_sparse, cells_are_wide, n_ints, 0, gradients->whole, of, n, histogram);
#undef ADD_EIGHTS
#undef ADD_WIDE_EIGHTS
}

static HOT void add_rows(const BinnedRows *rows, const Gradients *gradients, size_t n_ints, const uint32_t *of,
                         size_t n, void *histogram)
{
    if (rows->row_start != NULL && rows->cells_are_wide)
        add_rows_as(rows, 1, 1, gradients, n_ints, of, n, histogram);
    else if (rows->row_start != NULL)
        add_rows_as(rows, 1, 0, gradients, n_ints, of, n, histogram);
    else if (rows->cells_are_wide)
        add_rows_as(rows, 0, 1, gradients, n_ints, of, n, histogram);
    else
        add_rows_as(rows, 0, 0, gradients, n_ints, of, n, histogram);
}

/* Give the commonest bin of each feature, which was not added to, what is left of the sums. */
INLINE void complete_as(const BinnedRows *rows, const size_t n_ints, const int is_wide, const void *sums,
                        void *histogram)
{
    for (size_t f = 0; f < rows->n_features; f++) {
        const size_t commonest = (size_t)rows->commonest[f] * n_ints;
        if (is_wide) {
            int64_t *bins = histogram, *left = bins + commonest;
            memcpy(left, sums, n_ints * sizeof *left);
            for (int32_t b = rows->first[f]; b < rows->first[f + 1]; b++)
                if (b != rows->commonest[f])
                    for (size_t k = 0; k < n_ints; k++)
                        left[k] -= bins[(size_t)b * n_ints + k];
        } else {
            int32_t *bins = histogram, *left = bins + commonest;
            memcpy(left, sums, n_ints * sizeof *left);
            for (int32_t b = rows->first[f]; b < rows->first[f + 1]; b++)
                if (b != rows->commonest[f])
                    for (size_t k = 0; k < n_ints; k++)
                        left[k] -= bins[(size_t)b * n_ints + k];
        }
    }
}

/* In registers; of the commonest bin itself there is nothing to take. */
INLINE void complete_eights(const BinnedRows *rows, const size_t n_eights, const int32_t *sums, int32_t *histogram)
{
    const size_t n_ints = 8 * n_eights;
    for (size_t f = 0; f < rows->n_features; f++) {
        Eight left[MOST_EIGHTS], bin;
        for (size_t k = 0; k < n_eights; k++)
            load_eight(sums + 8 * k, &left[k]);
        for (size_t b = (size_t)rows->first[f]; b < (size_t)rows->first[f + 1]; b++)
            for (size_t k = 0; k < n_eights; k++) {
                load_eight(histogram + b * n_ints + 8 * k, &bin);
                subtract_eight(&left[k], &bin);
            }
        for (size_t k = 0; k < n_eights; k++)
            store_eight(&left[k], histogram + (size_t)rows->commonest[f] * n_ints + 8 * k);
    }
}

static HOT void complete(const BinnedRows *rows, size_t n_ints, int is_wide, const void *sums, void *histogram)
{
#define COMPLETE_EIGHTS(n_eights) complete_eights(rows, n_eights, sums, histogram)
    if (n_ints == 2 && !is_wide)
        complete_as(rows, 1, 1, sums, histogram); /* both halves at once */
    else if (is_wide)
        complete_as(rows, n_ints, 1, sums, histogram);
    else if (n_ints <= 8 * MOST_EIGHTS)
        WITH_EIGHTS(n_ints / 8, COMPLETE_EIGHTS)
    else
        complete_as(rows, n_ints, 0, sums, histogram);
#undef COMPLETE_EIGHTS
}

void build_histogram(const BinnedRows *rows, const Gradients *gradients, const GrowthOptions *options,
                     const uint32_t *of, size_t n, const void *sums, void *histogram)
{
    const size_t n_ints = ints_of_bin(options);
    memset(histogram, 0, bytes_of_histogram(rows, options, gradients->is_wide));
    add_rows(rows, gradients, n_ints, of, n, histogram);
    if (rows->row_start != NULL)
        complete(rows, n_ints, gradients->is_wide, sums, histogram);
}

static HOT void sum_vectors(const int16_t *RESTRICT whole, size_t n_ints, int is_wide, const uint32_t *of, size_t n,
                            void *RESTRICT sums)
{
    for (size_t i = 0; i < n; i++) {
        const int16_t *by = whole + (size_t)of[i] * n_ints;
        for (size_t k = 0; k < n_ints; k++)
            if (is_wide)
                ((int64_t *)sums)[k] += by[k];
            else
                ((int32_t *)sums)[k] += by[k];
    }
}

void sum_gradients(const Gradients *gradients, const GrowthOptions *options, const uint32_t *of, size_t n,
                   void *sums)
{
    const size_t n_ints = ints_of_bin(options);
    int64_t *wide = sums;
    memset(sums, 0, n_ints * (gradients->is_wide ? sizeof(int64_t) : sizeof(int32_t)));
    if (options->n_lanes > 1)
        sum_vectors(gradients->whole, n_ints, gradients->is_wide, of, n, sums);
    else if (gradients->is_wide)
        for (size_t i = 0; i < n; i++) {
            wide[0] += gradients->whole_one[2 * (size_t)of[i]];
            wide[1] += gradients->whole_one[2 * (size_t)of[i] + 1];
        }
    else
        for (size_t i = 0; i < n; i++)
            wide[0] += gradients->whole_one[of[i]];
}

INLINE void sum_bins_as(const size_t n_ints, const int is_wide, const void *histogram, size_t begin, size_t end,
                        void *sums)
{
    for (size_t b = begin; b < end; b++)
        for (size_t k = 0; k < n_ints; k++)
            if (is_wide)
                ((int64_t *)sums)[k] += ((const int64_t *)histogram)[b * n_ints + k];
            else
                ((int32_t *)sums)[k] += ((const int32_t *)histogram)[b * n_ints + k];
}

void sum_left(const BinnedRows *rows, const GrowthOptions *options, int is_wide, const void *histogram, int32_t bin,
              int missing_left, void *sums)
{
    const size_t f = feature_of_bin(rows, bin), n_ints = ints_of_bin(options);
    const size_t begin = (size_t)rows->first[f], end = (size_t)bin + 1, missing = (size_t)rows->first[f + 1] - 1;
    memset(sums, 0, n_ints * (is_wide ? sizeof(int64_t) : sizeof(int32_t)));
    for (int is_missing = 0; is_missing <= missing_left; is_missing++) {
        const size_t from = is_missing ? missing : begin, to = is_missing ? missing + 1 : end;
        if (options->n_lanes == 1 && !is_wide)
            sum_bins_as(1, 1, histogram, from, to, sums);
        else if (is_wide)
            sum_bins_as(n_ints, 1, histogram, from, to, sums);
        else
            sum_bins_as(n_ints, 0, histogram, from, to, sums);
    }
}

static HOT void subtract_wide(int64_t *RESTRICT from, const int64_t *RESTRICT what, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] -= what[i];
}

static HOT void subtract_narrow(int32_t *RESTRICT from, const int32_t *RESTRICT what, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] -= what[i];
}

void subtract_histogram(const BinnedRows *rows, const GrowthOptions *options, int is_wide, size_t first_feature,
                        size_t end_feature, void *parent, const void *child)
{
    /* One output and narrow: a number of 64 bits. */
    const int is_one = options->n_outputs == 1 && !is_wide;
    const size_t n_ints = is_one ? 1 : ints_of_bin(options);
    const size_t at = (size_t)rows->first[first_feature] * n_ints;
    const size_t n = (size_t)rows->first[end_feature] * n_ints - at;
    if (is_one || is_wide)
        subtract_wide((int64_t *)parent + at, (const int64_t *)child + at, n);
    else
        subtract_narrow((int32_t *)parent + at, (const int32_t *)child + at, n);
}
