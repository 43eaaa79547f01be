/* What a forest read from another library needs: the order its splits were made in, and values of inner nodes. */

#ifndef BILLHOOK_INTEROP_H
#define BILLHOOK_INTEROP_H

#include "kernels.h"

/* Give the splits of one tree their numbers in the order in which best-first growth makes them.

   Of all splits whose parent has been made, the one with the largest gain is next; of equal ones the one with the
   lower node number. The rank of a leaf becomes -1. `heap` is scratch, one a node. */
void rank_best_first(size_t n_nodes, const int32_t *left, const int32_t *right, const double *gain, int32_t *rank,
                     int32_t *heap);

/* Replace every inner node's value by the weighted mean of its children's, from the leaves to the root.

   Children come after their parents. Children without weight count the same. */
void average_upwards(size_t n_nodes, size_t n_values, const int32_t *left, const int32_t *right,
                     const double *weight, double *value);

#endif
