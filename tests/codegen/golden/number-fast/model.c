#include "model.h"

/* The bits of a float: its upper half, and its lower. */
#if defined(__AVR__)
typedef int16_t half_t __attribute__((__may_alias__));
#define UPPER(k) ((const half_t *)(const void *)x)[2 * (k) + 1]
#define LOWER(k) (uint16_t)((const half_t *)(const void *)x)[2 * (k)]
#else
static uint32_t bits_of(float x)
{
    union { float number; uint32_t bits; } both;
    both.number = x;
    return both.bits;
}

#define UPPER(k) (int16_t)(bits_of(x[k]) >> 16)
#define LOWER(k) (uint16_t)(bits_of(x[k]) & 0xFFFF)
#endif

static uint8_t tree0_float(const float *x, uint8_t sum)
{
    if (UPPER(1) >= 16277 && (UPPER(1) != 16277 || LOWER(1) > 21845u)) goto n1;
    if (UPPER(0) >= 16221 && (UPPER(0) != 16221 || LOWER(0) > 39936u)) goto n2;
    return (uint8_t)(sum + 30);
n2:
    return (uint8_t)(sum + 16);
n1:
    if (!((uint16_t)UPPER(0) <= 49039u && ((uint16_t)UPPER(0) != 49039u || LOWER(0) < 9728u))) goto n3;
    return sum;
n3:
    if (UPPER(0) >= 16362 && (UPPER(0) != 16362 || LOWER(0) > 45056u)) goto n4;
    return (uint8_t)(sum + 11);
n4:
    return (uint8_t)(sum + 16);
}

void model_scores(const float *x, int32_t *scores)
{
    uint8_t sum;
    sum = 0;
    sum = tree0_float(x, sum);
    scores[0] = (int32_t)sum + (-15);
}

float model_value(const float *x)
{
    int32_t score;
    model_scores(x, &score);
    return MODEL_BASE + (float)score * MODEL_SCALE;
}

void model_value_rows(const float *x, unsigned int n_rows, float *values)
{
    for (; n_rows; n_rows--, x += 2)
        *values++ = model_value(x);
}
