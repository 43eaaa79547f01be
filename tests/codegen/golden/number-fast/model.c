#include "model.h"

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#else
#define FLASH
#endif

static const uint8_t data[17] FLASH = {
    136,0,0,0,0,82,165,124,107,248,170,4,0,0,19,65,85
};

#if defined(__AVR__)
#define BYTE(at) pgm_read_byte(data + (at))
#define HALF(at) pgm_read_word(data + (at))
#define WORD(at) pgm_read_dword(data + (at))
#else
#define BYTE(at) data[at]
#define HALF(at) (uint16_t)(BYTE(at) | (uint16_t)BYTE((at) + 1u) << 8)
#define WORD(at) ((uint32_t)BYTE((at) + 3u) << 24 | (uint32_t)BYTE((at) + 2u) << 16 | HALF(at))
#endif

typedef uint_fast16_t place; /* in bits or bytes */

static uint32_t bits_of(float x)
{
    union { float number; uint32_t bits; } both;
    both.number = x;
    return both.bits;
}

/* floor((ceil(x 2^power) - offset) scale / 2^25), in whole numbers; the feature's shift is 150 - power. */
static uint8_t code_of(uint32_t bits, place at)
{
    int32_t below = (int32_t)(bits & 0x7FFFFF); /* of minus the value */
    uint_fast8_t power = (uint8_t)((uint16_t)(bits >> 16) >> 7), shift = BYTE(at);
    uint_fast16_t fine, scale;
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
    below += (int32_t)(WORD(at + 1u)) + (-19908);
    if (below > 0)
        return 0;
    fine = below < -65535L ? 65535 : (uint_fast16_t)-below;
    scale = HALF(at + 5u);
    if (scale)
        fine = (uint_fast16_t)((uint16_t)((uint32_t)fine * scale >> 16) >> 9);
    if (fine > 63)
        fine = 63;
    return (uint8_t)fine;
}

static uint8_t tree0_codes(const uint8_t *x)
{
    if (x[1] > 1) goto n1;
    if (x[0] > 42) goto n2;
    return 30;
n2:
    return 16;
n1:
    if (x[0] > 1) goto n3;
    if (x[0] > 62) goto n4;
    return 11;
n4:
    return 16;
n3:
    return 0;
}

void model_scores(const float *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    uint_fast16_t sum;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of(x[k]), (place)(0u + (place)k * 7u));
    }
    sum = 0;
    sum = (uint_fast16_t)(sum + tree0_codes(codes));
    scores[0] = (int32_t)sum + (-15);
}

float model_value(const float *x)
{
    int32_t score;
    model_scores(x, &score);
    return MODEL_BASE + (float)score * MODEL_SCALE;
}
