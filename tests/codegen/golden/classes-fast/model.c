#include "model.h"

static uint32_t bits_of(float x)
{
    union { float number; uint32_t bits; } both;
    both.number = x;
    return both.bits;
}

/* ceil(x 2^power) - offset, in whole numbers; the feature's shift is 150 - power. */
static uint8_t code_of(uint32_t bits)
{
    int32_t below = (int32_t)(bits & 0x7FFFFF); /* of minus the value */
    uint_fast8_t power = (uint8_t)((uint16_t)(bits >> 16) >> 7), shift = 149;
    uint_fast16_t fine;
    if (power == 0xFF && below)
        return 255;
    if (power)
        below |= 0x800000;
    if (!(bits >> 31))
        below = -below;
    if (power < shift) {
        shift = (uint_fast8_t)(shift - power);
        if (shift > 24)
            shift = 24;
#if defined(__AVR__)
        if (shift & 16)
            below >>= 16;
        if (shift & 8)
            below >>= 8;
        shift &= 7;
#endif
        below >>= shift;
    } else {
        shift = (uint_fast8_t)(power - shift);
        below = (int32_t)((uint32_t)below << (shift < 6 ? shift : 6));
    }
    below += -6;
    if (below > 0)
        return 0;
    fine = below < -31L ? 31 : (uint_fast16_t)-below;
    return (uint8_t)fine;
}

#if defined(__AVR__)
typedef int16_t sum_t;
#else
typedef int32_t sum_t;
#endif

static void tree0_codes(const uint8_t *x, sum_t *sums)
{
    if (x[0] > 1) goto n1;
    sums[0] = (sum_t)(sums[0] + -4); sums[2] = (sum_t)(sums[2] + 1); return;
n1:
    if (x[0] > 13) goto n2;
    sums[0] = (sum_t)(sums[0] + 2); sums[2] = (sum_t)(sums[2] + 3); return;
n2:
    sums[0] = (sum_t)(sums[0] + 1); sums[1] = (sum_t)(sums[1] + 2); return;
}

static void tree1_codes(const uint8_t *x, sum_t *sums)
{
    if (x[0] > 5) goto n1;
    sums[0] = (sum_t)(sums[0] + 4); sums[2] = (sum_t)(sums[2] + 3); return;
n1:
    if (x[1] > 17) goto n2;
    if (x[1] > 3) goto n3;
    sums[1] = (sum_t)(sums[1] + 5); return;
n3:
    sums[0] = (sum_t)(sums[0] + 4); sums[1] = (sum_t)(sums[1] + -2); return;
n2:
    sums[1] = (sum_t)(sums[1] + -5); sums[2] = (sum_t)(sums[2] + 2); return;
}

static void add_up(const float *x, sum_t *sums)
{
    uint8_t codes[2];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of(x[k]));
    }
    sums[0] = 5;
    sums[1] = -8;
    sums[2] = -13;
    tree0_codes(codes, sums);
    tree1_codes(codes, sums);
}

void model_scores(const float *x, int32_t *scores)
{
#if defined(__AVR__)
    sum_t sums[3];
    uint8_t c;
    add_up(x, sums);
    for (c = 0; c < 3; c++)
        scores[c] = sums[c];
#else
    add_up(x, scores);
#endif
}

int model_predict(const float *x)
{
    sum_t scores[3];
    int best = 0, c;
    add_up(x, scores);
    for (c = 1; c < 3; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

const char *model_class_name(int number)
{
    static const char *const names[] = {"0", "10", "20"};
    return number >= 0 && number < 3 ? names[number] : "";
}
