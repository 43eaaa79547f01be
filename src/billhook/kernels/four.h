/* Four numbers as one: a loop over a few of these stays in vector registers, whatever a compiler makes of loops. */

#ifndef BILLHOOK_FOUR_H
#define BILLHOOK_FOUR_H

#include "kernels.h"

#if defined(__GNUC__) || defined(__clang__)

typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

INLINE void add_two_products(Four *sum, double a, const double *x, double b, const double *y)
{
    *sum += a * *(const Four *)x + b * *(const Four *)y;
}

INLINE void add_product(Four *sum, double a, const Four *x) { *sum += a * *x; }

#else

typedef struct {
    double number[4];
} Four;

INLINE void add_two_products(Four *sum, double a, const double *x, double b, const double *y)
{
    for (int i = 0; i < 4; i++)
        sum->number[i] += a * x[i] + b * y[i];
}

INLINE void add_product(Four *sum, double a, const Four *x)
{
    for (int i = 0; i < 4; i++)
        sum->number[i] += a * x->number[i];
}

#endif

/* Add a times n fours to numbers. */
INLINE void add_products(const size_t n, double a, const Four *x, double *to)
{
    Four *sum = (Four *)(void *)to;
    for (size_t i = 0; i < n; i++)
        add_product(&sum[i], a, &x[i]);
}

/* One after the other, so that they may be registers. */
INLINE void copy_fours(const size_t n, const Four *x, Four *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = x[i];
}

INLINE const Four *fours_at(const double *x) { return (const Four *)(const void *)x; }

#endif
