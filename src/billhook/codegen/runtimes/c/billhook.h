#ifndef BILLHOOK_H
#define BILLHOOK_H

/* Reads any tree ensemble that Billhook packed into a blob (`packed.to_bytes()`, `billhook emit --blob`): no
 * allocation, no library, no state but what the caller gives.
 *
 *     bh_model model;
 *     int32_t scratch[64];                                 as many as model.n_scratch says
 *     if (bh_open(&model, blob, size, scratch, 64) == BH_OK)
 *         c = bh_predict(&model, x);                       float x[BH_N_FEATURES(&model)]
 *
 * bh_open reads all of the blob once: one that is cut off, damaged or made up is an error, and nothing outside of it
 * is ever read. The blob stays where it is: in flash, in memory, in a mapped file.
 *
 * To define for the compiler, or in a file billhook_config.h beside this one:
 *     BH_BYTE(at)       how the byte at an address is read; by default from flash on AVR, from memory elsewhere
 *     BH_RAM            on AVR, from memory
 *     BH_COUNT          the type that counts trees, leaves and bytes: uint16_t on AVR, uint32_t elsewhere
 *
 * For less code, what a firmware does without is defined as 1. A model that needs it is then BH_LEFT_OUT:
 *     BH_NO_MULTICLASS  more than one score, as for three classes or more
 *     BH_NO_RANKS       thresholds that are compared exactly (threshold_bits="exact")
 *     BH_NO_STEPS       thresholds of a few bits (threshold_bits=8)
 *     BH_NO_KEYS        those of them whose steps grow with the numbers, for thresholds of very different sizes
 *     BH_NO_CATEGORIES  splits by sets of categories
 *     BH_NO_MISSING     missing values; such a model is packed with missing_values=False
 *     BH_NO_SYMMETRIC   symmetric trees, such as those of CatBoost
 *     BH_NO_FACTORS     a scale for each class (scales="class")
 *     BH_NO_PROJECTIONS splits by weighted sums of features
 * Of any model these leave out
 *     BH_NO_FLOATS      all functions that take or return floats: rows are int16_t or uint8_t
 *     BH_NO_VALUES      bh_value
 *     BH_NO_PROBABILITIES   bh_proba
 *     BH_NO_CHECKSUM    the checksum: damage is then an error or another model, but nothing outside is read
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include("billhook_config.h")
#include "billhook_config.h"
#endif
#endif

#ifndef BH_COUNT
#if defined(__AVR__)
#define BH_COUNT uint16_t
#else
#define BH_COUNT uint32_t
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef BH_COUNT bh_count;
#if defined(__GNUC__)
typedef uint16_t __attribute__((may_alias)) bh_code;
#else
typedef uint16_t bh_code;
#endif

enum {
    BH_OK,
    BH_NOT_A_BLOB,    /* it does not begin as one */
    BH_WRONG_VERSION, /* a newer Billhook wrote it */
    BH_CUT_OFF,       /* it is shorter than it says */
    BH_DAMAGED,       /* its checksum is wrong */
    BH_INVALID,       /* its checksum is right, but it is no model */
    BH_TOO_LARGE,     /* for BH_COUNT */
    BH_SMALL_SCRATCH, /* model.n_scratch says how much it needs */
    BH_LEFT_OUT       /* this reader was compiled without what it needs */
};

/* An open model. Of use to callers are n_scratch, and what the macros below tell. */
enum { BH_SECTIONS = 20 };
typedef struct {
    const uint8_t *blob;
    int32_t *scores;
    bh_code *codes;
    uint32_t n_scratch;
    uint8_t error, flags, kind;
    bh_count end, left, n_values, n_features, n_scores, count[BH_SECTIONS], begin[BH_SECTIONS];
    uint8_t width[BH_SECTIONS];
    bh_count n_tested;
} bh_model;

#define BH_N_FEATURES(model) ((model)->n_features)
/* 1 for regression; one score is the second class's, less the first's, where there are two. */
#define BH_N_CLASSES(model) ((model)->n_scores + ((model)->flags >> 4))
#define BH_N_SCORES(model) ((model)->n_scores)
#define BH_IS_REGRESSION(model) ((model)->kind > 3)

/* Open the blob at an address, and return BH_OK or an error. The scratch is the model's from then on. With none,
 * the error is BH_SMALL_SCRATCH, and model->n_scratch says how many numbers it must have. */
int bh_open(bh_model *model, const void *blob, size_t size, int32_t *scratch, size_t n_scratch);

/* Return the scores of a row, whole numbers that are the same on every machine; they stand in the scratch. NAN is a
 * missing value. */
const int32_t *bh_scores(bh_model *model, const float *x);

/* Return the number of the class of a row. */
int bh_predict(bh_model *model, const float *x);

/* The same of whole numbers, such as readings of a converter, or pixels: no float is computed with. */
const int32_t *bh_scores_int16(bh_model *model, const int16_t *x);
const int32_t *bh_scores_uint8(bh_model *model, const uint8_t *x);
int bh_predict_int16(bh_model *model, const int16_t *x);
int bh_predict_uint8(bh_model *model, const uint8_t *x);

/* Return what a regression predicts for a row, in the unit of its target. Only for regression. */
float bh_value(bh_model *model, const float *x);

/* Find the probability of each class, BH_N_CLASSES of them. Only for classes: of a regression it is a number without
 * a meaning. */
void bh_proba(bh_model *model, const float *x, float *probabilities);

/* Return what an error means. */
const char *bh_error_text(int error);

#ifdef __cplusplus
}
#endif

#endif
