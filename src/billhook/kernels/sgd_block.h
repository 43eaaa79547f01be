/* From leaf values to the scores of a block of rows, and from their gradients back; several scores a row. */

#ifndef BILLHOOK_SGD_BLOCK_H
#define BILLHOOK_SGD_BLOCK_H

#include "sgd.h"

/* Write the scores (rows, columns) of at most SGD_BLOCK rows, whose leaves are in `epoch->at`. */
void scores_of_block(const SgdEpoch *epoch, size_t n, double *score);

/* Add the gradients (rows, columns) of such rows, times the trees' weights, to the values of their leaves. */
void scatter_block(const SgdEpoch *epoch, size_t n, const double *g, double *table);

#endif
