/* Sums over rows that pruning methods are computed from; the words are those of pruning.h. */

#ifndef BILLHOOK_PRUNING_SUMS_H
#define BILLHOOK_PRUNING_SUMS_H

#include "pruning.h"

/* Classes, (trees, rows) or one a row, in the smallest type that holds them: of 1, 2 or 4 bytes. */
typedef struct {
    void *data;
    size_t item_size;
} Votes;

/* Write the class that each tree votes for on each row, of those of the nodes. */
void find_votes(const Trees *trees, Votes of_node, Votes votes);

/* Write, for each of these trees, the weight of the rows on which its vote is the expected one. */
void weigh_matches(size_t n_rows, Votes votes, Votes expected, const int64_t *weight, int is_unweighted,
                   size_t n_trees, const int64_t *trees, int64_t *matches);

/* Write the weight of the rows on which two trees vote the same: (trees, trees). */
void weigh_agreement(size_t n_trees, size_t n_rows, Votes votes, const int64_t *weight, int is_unweighted,
                     int64_t *agreement);

/* Add up how many trees vote for each class: (rows, classes). */
void count_votes(size_t n_trees, size_t n_rows, size_t n_classes, Votes votes, int64_t *counts);

/* Write, for each tree, the sum over the rows of what its vote is worth, of (rows, classes). */
void sum_by_vote(size_t n_trees, size_t n_rows, size_t n_classes, Votes votes, const double *worth, double *sums);

/* Return the weighted sum over the rows of a table's entry for their leaf and class. */
double sum_by_leaf_and_class(LeafIds leaf, size_t n_rows, size_t n_classes, Labels labels, const double *table);

/* Return the weighted sum, over rows and classes, of a tree's leaf values times other numbers (rows, classes). */
double sum_of_products(LeafIds leaf, size_t n_rows, size_t n_classes, const double *value, const double *other,
                       const int64_t *weight);

/* Add to the scores (chosen rows, classes) the leaf values of these rows, times the trees' weights. */
void add_weighted_trees(const Trees *trees, size_t n_chosen, const int64_t *rows, const double *tree_weight,
                        double *score);

/* Write, for each tree, the sum over these rows of its leaf values times the slopes (chosen rows, classes). */
void slopes_of_trees(const Trees *trees, size_t n_chosen, const int64_t *rows, const double *slope, double *sums);

/* How many trees lie side by side in the scratch of `residual_products`. */
enum { PRODUCT_TREES = 8 };

/* How many numbers of a tree are multiplied at once with another's: those of at least one row. */
INLINE size_t product_numbers(size_t n_classes) { return n_classes < 256 ? 256 : n_classes; }

/* Write the weighted sums over rows and classes of the products of two trees' residuals: (trees, trees).

   A residual is the tree's value minus the expected one, of (rows, classes). Scratch: `product_numbers` times the
   number of trees, rounded up to a multiple of PRODUCT_TREES; and `product_numbers`. */
void residual_products(const Trees *trees, const double *expected, const int64_t *weight, double *products,
                       double *residual, double *weight_of_number);

#endif
