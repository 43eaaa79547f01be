/* From raw scores to class probabilities. */

#ifndef BILLHOOK_SOFTMAX_H
#define BILLHOOK_SOFTMAX_H

#include "functions.h"

/* Replace the scores of each row by exp(score) / sum of exp(scores). */
void softmax(double *scores, size_t n_rows, size_t n_scores);

#endif
