/* Stochastic gradient descent on leaf values and tree weights (Buschjäger and Morik 2022, Algorithm 2). */

#ifndef BILLHOOK_SGD_H
#define BILLHOOK_SGD_H

#include "kernels.h"

/* Rows whose leaves are looked up at once. */
enum { SGD_BLOCK = 256 };

/* What an epoch reads and changes. `n_columns` is the number of a row's scores, 1 or a multiple of 4: those from
   `n_classes` on are padding. A leaf has a value for each column, or one, for the tree's column. */
typedef struct {
    LeafIds leaf; /* (rows, trees), numbers within a tree */
    size_t n_trees, n_leaves, n_values, n_columns, n_classes;
    const uint32_t *first;  /* the first leaf of each tree */
    const uint64_t *column; /* of each tree; 0 where leaves have a value for each column */
    const double *base;     /* scores before any tree */
    const double *target;   /* of each row, for one column */
    const uint64_t *label;  /* of each row, for several */
    const double *weight;   /* of each row */
    double *tree_weight;    /* changed if `weight_step` is above 0 */
    double *table;          /* (leaves, values), changed */
    double *mean, *square;  /* Adam's moments, shaped as the table; NULL for plain steps */
    int64_t *step_of;       /* the step that has changed each leaf last; NULL unless only the last row counts */
    int loss;
    double width;     /* where Huber's loss turns straight */
    double gain;      /* turns the gradients by the score into those by a leaf's value */
    double step_size;
    size_t batch_size;
    int takes_mean; /* of a batch's gradients, instead of their sum */
    double weight_step, weight_shrink;
    uint32_t *at;     /* scratch: SGD_BLOCK times trees */
    double *gradient; /* scratch: batch size times columns */
    double *of_row;   /* scratch: batch size */
    double *slope;    /* scratch: as the table, for Adam only */
    double *by_tree;  /* scratch: trees */
} SgdEpoch;

/* Go once through the rows in this order, a step for each batch.

   With moments, the steps are Adam's. With `step_of`, only the last row of a batch that falls into a leaf counts.
   Returns the loss, each row's before it is learned from; `n_steps` is how many steps there were before. */
double sgd_epoch(const SgdEpoch *epoch, size_t n_rows, const uint32_t *order, int64_t n_steps);

/* Put the numbers into a random order: Fisher and Yates with the generator splitmix64. */
void shuffle(size_t n, uint32_t *order, uint64_t seed);

#endif
