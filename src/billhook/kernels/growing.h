/* Trees grown best-first on binned rows: in turn the leaf whose best split gains most is split.

   Gradients are rounded to whole numbers, so that sums are exact and do not depend on the order of rows. Where there
   are at most 65,535 rows these and their sums are of 32 bits; else sums are of 64, so that the numbers themselves
   need not be coarser. Values of leaves are made of the gradients as they were. */

#ifndef BILLHOOK_GROWING_H
#define BILLHOOK_GROWING_H

#include "kernels.h"

/* Outputs are padded to a multiple of this: what a wide register holds. */
enum { LANES = 8, MOST_NARROW_ROWS = 65535 };

/* The losses of growing, which Python has by their names from `GROWTH_LOSSES`: ABSOLUTE and QUANTILE take medians and
   other quantiles for leaves, SOFTMAX has an output for each class. SHARES grows a tree of a random forest: each
   output is the share of one class. */
enum {
    GROW_SQUARED, GROW_LOGISTIC, GROW_SOFTMAX, GROW_ABSOLUTE, GROW_POISSON, GROW_SHARES, GROW_HUBER, GROW_QUANTILE
};

/* Rows as bins. Bins are counted over all features: those of feature f are first[f] to first[f + 1] - 1, of which
   the last is that of missing values if has_missing[f]. */
typedef struct {
    size_t n_rows, n_features, n_bins;
    const int32_t *first;
    const uint8_t *has_missing;
    const void *columns; /* (features, rows): bins within the feature, 8 or 16 bits */
    int columns_are_wide;
    const void *cells; /* (rows, features): bins, 16 or 32 bits; or, of all rows, those other than the commonest */
    int cells_are_wide;
    const int64_t *row_start; /* where the cells of each row begin; NULL if a row has one for each feature */
    const int32_t *commonest; /* of each feature the bin that has no cells; used if row_start is not NULL */
} BinnedRows;

/* What a tree is grown by. */
typedef struct {
    size_t n_outputs;       /* 1, or several */
    size_t n_lanes;         /* 1, or n_outputs rounded up */
    size_t max_leaves;
    double learning_rate, l2, min_weight;
    double largest_step;    /* of a leaf's value, before the learning rate; 0: any */
    double reuse_factor;    /* what a test that is not in use must gain, times the best one in use; 1: no more */
    size_t max_tests;       /* distinct tests at most; 0: any number */
    size_t n_tried_features; /* features drawn anew for every split; 0: all */
    int is_random_threshold; /* one threshold of each feature is tried, drawn between its extremes in the leaf */
    double leaf_quantile;   /* leaves are this quantile of what is left of the targets; 0: a Newton step */
    int is_share;           /* values are those of minus the gradient's mean: the learning rate is 1, and no l2 */
    uint64_t seed;
} GrowthOptions;

/* Gradients of all rows: (rows, lanes), zero in the padding. */
typedef struct {
    const float *g, *h;   /* slopes and curvatures */
    int16_t *whole;       /* several outputs: (rows, `ints_of_bin`), first g, then h */
    int64_t *whole_one;   /* one output: g and h of a row; narrow: both in one number, wide: side by side */
    float unit_g, unit_h; /* what 1 stands for */
    int is_wide;          /* whether sums are of 64 bits */
} Gradients;

typedef struct {
    int32_t node, bin;       /* its node, and where it is best split: -1 if nowhere */
    int32_t histogram;       /* its number in the pool; -1: none */
    uint8_t missing_left;
    float gain;
    size_t begin, end;       /* its rows, in the order of rows */
} OpenLeaf;

/* Scratch of one tree. */
typedef struct {
    uint32_t *rows, *spare;  /* one a row, and two */
    OpenLeaf *leaf;          /* max_leaves */
    void *histograms;        /* `size_of_pool` of n_bins x `ints_of_bin`, and LANES numbers */
    void *sums;              /* max_leaves of `ints_of_bin`, and LANES numbers */
    int64_t *prefix;         /* 2 n_bins, and `ints_of_bin` */
    float *gain;             /* 2 n_bins */
    uint8_t *is_used;        /* by bin; n_bins further, with missing values to the left; kept between trees */
    int64_t *n_used;
    uint32_t *feature_order; /* one a feature */
} GrowthScratch;

/* The nodes of a tree, at most 2 max_leaves - 1; a parent comes before its children. */
typedef struct {
    int32_t *feature, *bin; /* of a leaf: -1; the bin is within the feature, and the highest that goes left */
    uint8_t *missing_left;
    int32_t *left, *right;
    double *value;          /* (nodes, outputs); of a split, the mean of the leaves below it */
    double *gain;           /* of splits */
    int64_t *n_rows;
    double *weight;         /* of the rows */
} GrownNodes;

/* Write codes (rows, features), bins within the feature, as columns (features, rows), and add to `count` how many
   rows each bin has. */
void columns_of_codes(size_t n_rows, size_t n_features, const void *codes, int is_wide, const int32_t *first,
                      void *columns, int64_t *count);

/* Write the bins of each row, all; or, if row_start is not NULL, those other than the commonest of their feature, and
   where each row's begin. There is room for one cell more. */
void cells_of_codes(size_t n_rows, size_t n_features, const void *codes, int is_wide, const int32_t *first,
                    const int32_t *commonest, int64_t *row_start, void *cells, int cells_are_wide);

/* How many int32 (narrow) or int64 (wide) numbers a bin of a histogram has: the slopes of all outputs, then the
   curvatures, up to a multiple of LANES; one output: two, which if narrow are one of 64 bits. Whole registers are
   read from where the curvatures begin: up to LANES numbers more than there are. */
size_t ints_of_bin(const GrowthOptions *options);
size_t bytes_of_histogram(const BinnedRows *rows, const GrowthOptions *options, int is_wide);

/* How many histograms a tree needs: half of the leaves are known to stay leaves before the others are split. Not so
   where the number of tests is bounded: what a leaf gains then changes when the last test is taken. */
size_t size_of_pool(const GrowthOptions *options);

/* Write slopes and curvatures of a loss at these scores (rows, lanes). `target` is a number, or a class. `shape` is
   the quantile of QUANTILE, or the error at which HUBER turns straight. */
void loss_gradients(int loss, double shape, size_t n_rows, size_t n_outputs, size_t n_lanes, const float *score,
                    const float *target, const float *weight, float *g, float *h);

/* Round the gradients to whole numbers, as fine as sums allow; writes whole or whole_one, and the units. */
void round_gradients(Gradients *gradients, const GrowthOptions *options, size_t n_rows);

/* Fill the histogram of these rows: for each bin the sums of the gradients. */
void build_histogram(const BinnedRows *rows, const Gradients *gradients, const GrowthOptions *options,
                     const uint32_t *of, size_t n, const void *sums, void *histogram);

/* Write the sums over these rows. */
void sum_gradients(const Gradients *gradients, const GrowthOptions *options, const uint32_t *of, size_t n,
                   void *sums);

/* Write the sums over the rows that a split sends left, from the histogram of its leaf. */
void sum_left(const BinnedRows *rows, const GrowthOptions *options, int is_wide, const void *histogram, int32_t bin,
              int missing_left, void *sums);

/* Take the histogram of a child from that of its parent, for some features: what is left is the other child's. */
void subtract_histogram(const BinnedRows *rows, const GrowthOptions *options, int is_wide, size_t first_feature,
                        size_t end_feature, void *parent, const void *child);

/* Find the best split of a leaf. `features` are those that are tried. Where these are all, `taken` may be a histogram
   that is yet to be taken from that of the leaf: each feature's bins just before they are looked at. */
void find_split(const BinnedRows *rows, const Gradients *gradients, const GrowthOptions *options,
                GrowthScratch *scratch, void *histogram, const void *taken, const void *sums,
                const uint32_t *features, size_t n_features, uint64_t random, OpenLeaf *leaf);

/* Grow one tree, write its nodes, and add its values to the scores; return the number of nodes. The rows are
   `n_sampled` numbers in scratch->rows, which are put in the order of the leaves. */
size_t grow_tree(const BinnedRows *rows, const Gradients *gradients, const GrowthOptions *options,
                 GrowthScratch *scratch, size_t n_sampled, const float *target, const float *weight, float *score,
                 GrownNodes *nodes);

INLINE size_t feature_of_bin(const BinnedRows *rows, int32_t bin)
{
    size_t low = 0, high = rows->n_features;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (rows->first[middle] <= bin)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
