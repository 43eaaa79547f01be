/* From rows to leaves, one row and one tree at a time: for forests too large for the words of forest_layout.h. */

#ifndef BILLHOOK_FOREST_FALLBACK_H
#define BILLHOOK_FOREST_FALLBACK_H

#include "forest_sum.h"

/* The nodes of all trees, as a Forest has them. */
typedef struct {
    size_t n_trees;
    const int64_t *offset; /* one more than trees */
    const int32_t *feature;
    const float *threshold;
    const int32_t *left;
    const int32_t *right;
    const uint8_t *missing_left;
    size_t n_sets;
    const int32_t *category_set;
    Sets sets;
} PlainTrees;

/* Fill `scores` as `sum_values` does, for float32 rows; the values are in the order of the nodes. */
void sum_values_plainly(const PlainTrees *trees, const Sum *sum, const float *X, size_t n_rows, size_t n_features,
                        double *scores);

/* Write the node number of every row's leaf: row n to entry n of each tree's. */
void leaf_ids_plainly(const PlainTrees *trees, const float *X, size_t n_rows, size_t n_features,
                      const WrittenLeafIds *leaf);

#endif
