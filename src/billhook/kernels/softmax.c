#include "softmax.h"

/* So many rows stay in the first-level cache from step to step. */
enum { LANES = 128 };

/* Take the largest score from all of a row: then no exponential is too large. */
static void subtract_largest(double *score, size_t n)
{
    double largest = score[0];
    for (size_t c = 1; c < n; c++)
        largest = larger(score[c], largest);
    for (size_t c = 0; c < n; c++)
        score[c] -= largest;
}

static void divide_by_sum(double *score, size_t n)
{
    double sum = score[0];
    for (size_t c = 1; c < n; c++)
        sum += score[c];
    for (size_t c = 0; c < n; c++)
        score[c] /= sum;
}

HOT static void replace_by_exp(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = exp_of(x[i]);
}

void softmax(double *scores, size_t n_rows, size_t n_scores)
{
    for (size_t first = 0; first < n_rows; first += LANES) {
        const size_t n = n_rows - first < LANES ? n_rows - first : LANES;
        double *block = scores + first * n_scores;
        for (size_t row = 0; row < n; row++)
            subtract_largest(block + row * n_scores, n_scores);
        replace_by_exp(block, n * n_scores);
        for (size_t row = 0; row < n; row++)
            divide_by_sum(block + row * n_scores, n_scores);
    }
}
