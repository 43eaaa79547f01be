/* What every split of a leaf gains: a number for each bin, which is the highest that goes left. */

#ifndef BILLHOOK_GROWING_GAINS_H
#define BILLHOOK_GROWING_GAINS_H

#include "growing.h"

/* Wide sums of gradients are taken times a power of two that makes them small enough to be squared; and the options
   are brought to the same units. What they gain then has a unit of its own, by which leaves of one tree are
   compared. */
typedef struct {
    float times;        /* wide sums to units; narrow ones are in units as they are */
    float l2, least;    /* of the curvature */
    float unit_of_gain;
    int needs_whole_leaf; /* whether a split with too little weight on one side is none, whatever the output */
} Units;

/* A leaf, and where its gains are written. */
typedef struct {
    const BinnedRows *rows;
    size_t n_outputs, n_ints;
    int is_wide;
    int every;             /* whether splits at bins without rows count; they split as those at the bins before */
    Units units;
    const void *histogram, *sums;
    int64_t *prefix;       /* scratch: 2 n_bins, and n_ints */
    float *gain;           /* n_bins; n_bins further, with missing values to the left */
} LeafGains;

Units units_of(const Gradients *gradients, const GrowthOptions *options);

/* Return what a leaf is worth that is not split. */
float gain_unsplit(const LeafGains *leaf);

/* Write the gains of the features from the first to before the end: 0 where there is no split. */
void gains_of_features(const LeafGains *leaf, size_t first, size_t end);

#endif
