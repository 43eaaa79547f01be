/* What choosing and moving entries share: states of rows in whole registers, and the losses of classes. */

#ifndef BILLHOOK_CODEBOOK_ROWS_H
#define BILLHOOK_CODEBOOK_ROWS_H

#include "codebook.h"
#include "functions.h"

#include <math.h>

/* Sums are kept in so many parts, so that every instruction set adds in the same order. */
enum { LANES = 8 };

static const double TINY = 1e-290, FLOOR = 1e-10, FAR_AWAY = 600.0;

/* Numbers of a row, or a leaf, with those that fill up the last register. */
INLINE size_t width_of(size_t n_classes) { return (n_classes + LANES - 1) / LANES * LANES; }

/* Call with the width last: as a constant, for cross-entropy of up to 32 classes. */
#define WITH_WIDTH(width, function, ...)       \
    switch (width) {                           \
    case 8:                                    \
        function(__VA_ARGS__, 8);              \
        break;                                 \
    case 16:                                   \
        function(__VA_ARGS__, 16);             \
        break;                                 \
    case 24:                                   \
        function(__VA_ARGS__, 24);             \
        break;                                 \
    case 32:                                   \
        function(__VA_ARGS__, 32);             \
        break;                                 \
    default:                                   \
        function(__VA_ARGS__, width);          \
    }

/* Take memory from the address at `*at` on, beginning with a cache line. */
INLINE void *carve(uintptr_t *at, size_t n_bytes)
{
    const uintptr_t begin = (*at + 63) & ~(uintptr_t)63;
    *at = begin + n_bytes;
    return (void *)begin;
}

INLINE double *carve_doubles(uintptr_t *at, size_t n) { return carve(at, n * sizeof(double)); }

/* What classes that do not exist have for a score: with it they add nothing to the loss. */
INLINE double absent_score(int loss) { return loss == SQUARED_HINGE ? -1.0 : 0.0; }

INLINE void widen(const Codebook *book, size_t width, double *wide)
{
    for (size_t n = 0; n < book->n_rows; n++)
        for (size_t c = 0; c < width; c++)
            wide[n * width + c] =
                c < book->n_classes ? book->state[n * book->n_classes + c] : absent_score(book->loss);
}

INLINE void narrow(const Codebook *book, size_t width, const double *wide)
{
    for (size_t n = 0; n < book->n_rows; n++)
        memcpy(book->state + n * book->n_classes, wide + n * width, book->n_classes * sizeof *wide);
}

/* Minus the slope of a row's loss by its score for a class that is not its label, and the curvature; and what is to
   be added for the label. */
INLINE double slope_of(const int loss, double s) { return loss == SQUARED_HINGE ? -larger(1.0 + s, 0.0) : -s; }

INLINE double curvature_of(const int loss, double s)
{
    /* Not s - s * s: the square of the least state is no number that processors are fast with. */
    return loss == LOGISTIC ? s * (1.0 - s) : loss == SQUARED ? 1.0 : 1.0 + s > 0.0 ? 1.0 : 0.0;
}

INLINE double slope_for_label(const int loss, double s)
{
    return loss == SQUARED_HINGE ? larger(1.0 - s, 0.0) + larger(1.0 + s, 0.0) : 1.0;
}

/* Of the squared hinge: of the others it is nothing. */
INLINE double curvature_for_label(double s) { return (1.0 - s > 0.0 ? 1.0 : 0.0) - (1.0 + s > 0.0 ? 1.0 : 0.0); }

/* What a class that is not the label adds to a row's loss, other than cross-entropy; and what is to be added for the
   label. */
INLINE double loss_of(const int loss, double s)
{
    const double gap = loss == SQUARED ? s : larger(1.0 + s, 0.0);
    return 0.5 * gap * gap;
}

INLINE double loss_for_label(const int loss, double s)
{
    const double gap = loss == SQUARED ? s - 1.0 : larger(1.0 - s, 0.0);
    return 0.5 * gap * gap - loss_of(loss, s);
}

/* What a step multiplies the state by, or adds to it. */
INLINE double move_of(const int loss, double step)
{
    return loss == LOGISTIC ? exp_of(clamp(step, -FAR_AWAY, FAR_AWAY)) : step;
}

INLINE double sum_of_lanes(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Products whose logarithm is taken at last: numbers from 1 to 2, and how often they were halved. */
typedef struct {
    double rest[LANES];
    int64_t halved[LANES];
} Products;

INLINE void clear_products(Products *product)
{
    AT_ONCE
    for (size_t j = 0; j < LANES; j++) {
        product->rest[j] = 1.0;
        product->halved[j] = 0;
    }
}

/* Multiply by positive normal numbers. */
INLINE void multiply(Products *RESTRICT product, const double *RESTRICT by)
{
    AT_ONCE
    for (size_t j = 0; j < LANES; j++) {
        const uint64_t bits = bits_of(product->rest[j] * by[j]);
        product->halved[j] += (int64_t)(bits >> 52) - 1023;
        product->rest[j] = from_bits((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
    }
}

INLINE double log_of_product(const Products *product, size_t j)
{
    return log_of(product->rest[j]) + (double)product->halved[j] * 0x1.62e42fefa39efp-1;
}

/* Whether there are rows, and all count the same. */
INLINE int is_even(const Codebook *book)
{
    for (size_t n = 1; n < book->n_rows; n++)
        if (book->weight[n] != book->weight[0])
            return 0;
    return book->n_rows > 0;
}

#endif
