/* Splits that are chosen again when the whole ensemble is known, of the tests that are in use. */

#ifndef BILLHOOK_CHOOSE_SPLITS_H
#define BILLHOOK_CHOOSE_SPLITS_H

#include "descent.h"

/* The tests to choose from, in groups that look at the same feature in the same way: of rising thresholds, or a set
   of categories alone. A row is in the first bucket of a group whose test it passes (goes left), or in the last one.
   A test has the number of its bucket among those of all groups. */
typedef struct {
    size_t n_rows, n_groups, n_buckets;
    const uint16_t *bucket; /* (rows, groups), counted within the group */
    const uint32_t *first;  /* the first bucket of each group, and the number of all */
    const uint32_t *group;  /* of each bucket */
} TestBuckets;

/* A tree: `test` of its inner nodes is the number of a bucket, `leaf` of its leaves their number, else negative;
   children come after their parents. Its values (leaves, values) begin with a column of the scores. */
typedef struct {
    size_t n_nodes, n_leaves, n_values, column;
    int32_t *test, *left, *right;
    const int32_t *leaf;
    const double *value;
    int64_t *n_rows;
    double *row_weight;
} SplitTree;

/* The rows' states (rows, columns), and what they are compared with: `label` where there are several columns. */
typedef struct {
    size_t n_columns;
    double *state;
    const double *target;
    const uint64_t *label;
    const double *weight;
    int loss;
    double width;
} SplitRows;

/* How many numbers, and ids, `choose_splits` needs of scratch. */
size_t numbers_to_choose(const TestBuckets *tests, const SplitTree *tree, size_t n_columns);
size_t ids_to_choose(const TestBuckets *tests, const SplitTree *tree);

/* Choose each split of a tree again, children before parents: the test with which the rows that reach it lose least,
   and which subtree its rows go to, while both subtrees and all other trees stay as they are. Change the tree, the
   states, and how many rows and how much weight reach each node; return how many splits have changed. */
size_t choose_splits(const TestBuckets *tests, const SplitTree *tree, const SplitRows *rows, double *numbers,
                     uint32_t *ids);

#endif
