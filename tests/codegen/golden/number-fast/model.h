#ifndef MODEL_H
#define MODEL_H

/* A forest: one tree, 5 leaves, a number.
 * Comparisons in straight lines, made for speed; no memory but the stack.
 *
 * float x[2] = ...;   the features, in the order of training
 * float y = model_value(x);
 */

#include <stdint.h>

/* Of the functions below: another where one of them has another meaning. */
#define MODEL_VERSION 1
#define MODEL_N_FEATURES 2
#define MODEL_N_CLASSES 1
#define MODEL_N_SCORES 1
/* What one unit of a score is worth. */
#define MODEL_SCALE 0.134929523f
/* What is added to that. */
#define MODEL_BASE 1.01409014f

#ifdef __cplusplus
extern "C" {
#endif

void model_scores(const float *x, int32_t *scores);
float model_value(const float *x);

/* Rows stand in x one after the other. */
void model_value_rows(const float *x, unsigned int n_rows, float *values);

#ifdef __cplusplus
}
#endif

#endif
