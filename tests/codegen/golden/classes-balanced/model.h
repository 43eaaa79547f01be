#ifndef MODEL_H
#define MODEL_H

/* A forest: 2 trees, 7 leaves, 3 classes.
 * Bytes in the order in which they are read, for less time; no memory but the stack.
 *
 * float x[2] = ...;   the features, in the order of training; NAN where one is missing
 * int c = model_predict(x);   a class from 0 to 2
 */

#include <stdint.h>

#define MODEL_N_FEATURES 2
#define MODEL_N_CLASSES 3
#define MODEL_N_SCORES 3
/* What one unit of a score is worth. */
#define MODEL_SCALE 0.151834279f

#ifdef __cplusplus
extern "C" {
#endif

void model_scores(const float *x, int32_t *scores);
int model_predict(const float *x);
/* For features that are whole numbers from -32768 to 32767. */
void model_scores_int16(const int16_t *x, int32_t *scores);
int model_predict_int16(const int16_t *x);
/* For features that are whole numbers from 0 to 255. */
void model_scores_uint8(const uint8_t *x, int32_t *scores);
int model_predict_uint8(const uint8_t *x);

const char *model_class_name(int number);

#ifdef __cplusplus
}
#endif

#endif
