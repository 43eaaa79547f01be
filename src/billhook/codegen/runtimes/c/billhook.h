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
 *     BH_NO_GAPS, BH_NO_GROUPS, BH_NO_CATEGORIES, BH_NO_SYMMETRIC, BH_NO_RANKS
 *                       leave out what reads such models, for a smaller program; they are BH_LEFT_OUT then
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
    BH_LEFT_OUT,      /* it needs what a BH_NO_... left out */
    BH_SMALL_SCRATCH  /* model.n_scratch says how much it needs */
};

/* An open model. Of use to callers are n_scratch, and what the macros below tell. */
typedef struct {
    uint32_t bit;
    const uint8_t *blob;
    bh_count size;
    uint8_t error;
    bh_count field[54], start[14];
    int32_t *scores;
    bh_code *codes;
    uint8_t *answers;
    uint32_t base, offset, n_scratch;
} bh_model;

#define BH_N_FEATURES(model) ((model)->field[1])
#define BH_N_CLASSES(model) ((model)->field[2]) /* 1 for regression */
#define BH_N_SCORES(model) ((model)->field[32])
#define BH_IS_REGRESSION(model) ((model)->field[0] >> 5 & 1)

/* Open the blob at an address, and return BH_OK or an error. The scratch is the model's from then on. With none,
 * the error is BH_SMALL_SCRATCH, and model->n_scratch says how many numbers it must have. */
int bh_open(bh_model *model, const void *blob, size_t size, int32_t *scratch, size_t n_scratch);

/* Return the scores of a row, whole numbers that are the same on every machine; they stand in the scratch. NAN is a
 * missing value. */
const int32_t *bh_scores(bh_model *model, const float *x);

/* Return the number of the class of a row. */
int bh_predict(bh_model *model, const float *x);

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
