/* What one more tree in a sub-ensemble, or one for another, would change.

   Of a forest, `leaf` has the leaf ids (trees, rows), `offset` the first node of each tree and, at its end, how many
   nodes there are, `value` the values of the nodes (nodes, classes). Row weights are whole numbers, so that sums of
   them are exact, and may be added in any order. */

#ifndef BILLHOOK_PRUNING_H
#define BILLHOOK_PRUNING_H

#include "kernels.h"

typedef struct {
    LeafIds leaf;
    size_t n_trees, n_rows, n_classes;
    const int64_t *offset;
    const double *value;
} Trees;

/* Rows, the class of each, and its weight. */
typedef struct {
    const int64_t *y, *weight;
} Labels;

/* Scores are counted in so many bins; it takes one number for each of two classes, in and not in. */
enum { AREA_BINS = 8192, AREA_SCRATCH = 2 * AREA_BINS };

/* Add one tree's leaf values to the scores (rows, classes) of all rows. */
void add_tree(LeafIds leaf, size_t n_rows, size_t n_classes, const double *value, double *score);

/* Return the candidate that, added to the scores, leaves the smallest error; the first of equal ones.

   `swing` is how much a tree can change the difference of two classes: a row whose class leads by more, or is behind
   by more, is settled. Scratch: `open` has three numbers a row, `open_score` is as large as the scores. */
int64_t best_addition(const Trees *trees, Labels labels, const double *score, double swing, size_t n_candidates,
                      const int64_t *candidates, int64_t *open, double *open_score);

/* Return the candidate that, added to the scores, gives the largest mean area under the ROC curves.

   Scores are counted in equal bins, and those of one bin count as equal. Areas that differ by rounding only are the
   same, and the first of those is returned. Scratch: `by_class` has two more numbers a class than the scores,
   `of_leaf` one for each node of a tree, `bins` AREA_SCRATCH. */
int64_t largest_area(const Trees *trees, Labels labels, const double *score, size_t n_candidates,
                     const int64_t *candidates, double *by_class, double *of_leaf, double *bins);

/* Swap a chosen tree for another, the best such swap each time, until none lowers the objective; return it.

   The objective is the sum of `single` over the chosen trees plus that of the symmetric `pair` over their pairs, each
   pair both ways and each tree with itself. `scratch` has three numbers a tree. */
double improve_by_swaps(size_t n_trees, const double *single, const double *pair, uint8_t *chosen, double *scratch);

#endif
