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
    uint8_t power = (uint8_t)((uint16_t)(bits >> 16) >> 7), shift = 149;
    uint16_t fine;
    if (power == 0xFF && below)
        return 255;
    if (power)
        below |= 0x800000;
    if (!(bits >> 31))
        below = -below;
    if (power < shift) {
        shift = (uint8_t)(shift - power);
        below >>= shift < 31 ? shift : 31;
    } else {
        shift = (uint8_t)(power - shift);
        below = (int32_t)((uint32_t)below << (shift < 6 ? shift : 6));
    }
    below += -6;
    if (below > 0)
        return 0;
    fine = below < -65535L ? 0xFFFF : (uint16_t)-below;
    if (fine > 31)
        fine = 31;
    return (uint8_t)fine;
}

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define TABLE PROGMEM
#define LEAF(at, c) (int8_t)pgm_read_byte(&leaves[at][c])
#else
#define TABLE
#define LEAF(at, c) leaves[at][c]
#endif

static const int8_t leaves[7][3] TABLE = {
    {-2,-1,0},
    {3,-7,1},
    {3,4,-1},
    {4,1,-2},
    {5,-2,2},
    {7,-4,-2},
    {7,-1,2}
};

static uint8_t tree0_codes(const uint8_t *x)
{
    if (x[0] > 1) goto n1;
    return 0;
n1:
    if (x[0] > 13) goto n2;
    return 4;
n2:
    return 3;
}

static uint8_t tree1_codes(const uint8_t *x)
{
    if (x[0] > 5) goto n1;
    return 6;
n1:
    if (x[1] > 17) goto n2;
    if (x[1] > 3) goto n3;
    return 2;
n3:
    return 5;
n2:
    return 1;
}

void model_scores(const float *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    uint8_t at;
    uint8_t c;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of(x[k]));
    }
    scores[0] = 0;
    scores[1] = -5;
    scores[2] = -11;
    at = tree0_codes(codes);
    for (c = 0; c < 3; c++)
        scores[c] += LEAF(at, c);
    at = tree1_codes(codes);
    for (c = 0; c < 3; c++)
        scores[c] += LEAF(at, c);
}

int model_predict(const float *x)
{
    int32_t scores[3];
    int best = 0, c;
    model_scores(x, scores);
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
