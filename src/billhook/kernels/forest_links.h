/* From raw scores to class probabilities. */

#ifndef BILLHOOK_FOREST_LINKS_H
#define BILLHOOK_FOREST_LINKS_H

#include "functions.h"

/* Replace the scores of each row by exp(score) / sum of exp(scores). */
void softmax(double *scores, size_t n_rows, size_t n_scores);

/* Write for each score 1 - p and p with p = 1 / (1 + exp(-score)). */
void logistic(const double *scores, size_t n_rows, double *RESTRICT probabilities);

#endif
