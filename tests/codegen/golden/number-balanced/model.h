#ifndef MODEL_H
#define MODEL_H

/* A forest: one tree, 5 leaves, a number.
 * Bytes in the order in which they are read, for less time; no memory but the stack.
 *
 * float x[2] = ...;   the features, in the order of training
 * float y = model_value(x);
 */

#include <stdint.h>

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
/* For features that are whole numbers from -32768 to 32767. */
void model_scores_int16(const int16_t *x, int32_t *scores);
float model_value_int16(const int16_t *x);
/* For features that are whole numbers from 0 to 255. */
void model_scores_uint8(const uint8_t *x, int32_t *scores);
float model_value_uint8(const uint8_t *x);

#ifdef __cplusplus
}
#endif

#endif
