#ifndef MODEL_H
#define MODEL_H

/* A forest: 2 trees, 7 leaves, 3 classes.
 * 32 bytes of data, all constant; no memory but the stack.
 *
 * float x[2] = ...;   the features, in the order of training
 * int c = model_predict(x);   a class from 0 to 2
 */

#include <stdint.h>

/* Of the functions below: another where one of them has another meaning. */
#define MODEL_VERSION 1
#define MODEL_N_FEATURES 2
#define MODEL_N_CLASSES 3
#define MODEL_N_SCORES 3
#define MODEL_DATA_BYTES 32
/* What one unit of a score is worth. */
#define MODEL_SCALE 0.250922918f

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

/* Rows stand in x one after the other. */
void model_predict_rows(const float *x, unsigned int n_rows, int *classes);
void model_predict_rows_int16(const int16_t *x, unsigned int n_rows, int *classes);
void model_predict_rows_uint8(const uint8_t *x, unsigned int n_rows, int *classes);

/* The probabilities of all 3 classes, to 1e-5. As bytes they need no floats: 255 is 1,
 * and they are off by 0.6 of 255 at most. */
void model_predict_proba(const float *x, float *probabilities);
void model_predict_proba8(const float *x, uint8_t *probabilities);
void model_predict_proba_int16(const int16_t *x, float *probabilities);
void model_predict_proba8_int16(const int16_t *x, uint8_t *probabilities);
void model_predict_proba_uint8(const uint8_t *x, float *probabilities);
void model_predict_proba8_uint8(const uint8_t *x, uint8_t *probabilities);

const char *model_class_name(int number);

#ifdef __cplusplus
}
#endif

#endif
