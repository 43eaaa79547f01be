#include "model.h"

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#else
#define FLASH
#endif

static const uint8_t data[32] FLASH = {
    136,0,0,0,0,82,165,124,107,248,170,4,0,0,14,1,193,4,42,0,31,17,1,64,
    1,62,0,12,17,0,0,0
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

/* What has many variables stays apart, or they find no registers. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))
#else
#define APART
#define INLINE
#endif

typedef const uint8_t *spot; /* of a byte */
#define SPOT(at) (data + (at))
#if defined(__AVR__)
#define BYTE_AT(at) pgm_read_byte(at)
#define HALF_AT(at) pgm_read_word(at)
#else
#define BYTE_AT(at) *(at)
#define HALF_AT(at) (uint16_t)(BYTE_AT(at) | (uint16_t)BYTE_AT((at) + 1) << 8)
#endif
#define THREE_AT(at) ((uint32_t)BYTE_AT((at) + 2) << 16 | HALF_AT(at))
#define WORD_AT(at) ((uint32_t)HALF_AT((at) + 2) << 16 | HALF_AT(at))

static uint32_t bits_of(float x)
{
    union { float number; uint32_t bits; } both;
    both.number = x;
    return both.bits;
}

/* The bits of the float of a whole number. */
static uint32_t bits_of_whole(int16_t x)
{
    uint32_t size = x < 0 ? (uint32_t)-(int32_t)x : (uint32_t)x, high = x < 0 ? 406 : 150;
    if (!size)
        return 0;
    for (; size < 0x800000; size += size)
        high--;
    return high << 23 | (size & 0x7FFFFF);
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

/* Trees lie one after the other, each behind its length. A split is what it asks, and whether its left and
 * its right side are splits too; then comes the length of the left side if both are, or else the leaves. */
static APART void add_trees(const uint8_t *codes, int32_t *scores)
{
    place tree = 14u;
    uint_fast16_t sum = 0;
    while (tree != 29u) {
        spot at = SPOT(tree);
        uint_fast8_t length = (uint_fast8_t)(BYTE_AT(at));
        at = (spot)(at + 1u);
        tree = (place)(tree + 1u + length);
        for (;;) {
            uint_fast8_t first = (uint_fast8_t)(BYTE_AT(at));
            uint_fast8_t rest = (uint_fast8_t)(BYTE_AT((spot)(at + 1u)));
            uint8_t right = codes[rest & 0x1] > first, sides = (uint8_t)(rest) & 0xc0;
            if (sides == 0xc0) {
                if (right)
                    at = (spot)(at + BYTE_AT((spot)(at + 2u)));
                at = (spot)(at + 1u);
            } else if (sides == 0x80) {
                if (!right)
                    break;
                at = (spot)(at + 1u);
            } else if (sides) {
                if (right)
                    break;
                at = (spot)(at + 1u);
            } else {
                if (right) {
                    at = (spot)(at + 1u);
                }
                break;
            }
            at = (spot)(at + 2u);
        }
        at = (spot)(at + 2u);
        sum = (uint_fast16_t)(sum + (uint_fast16_t)(BYTE_AT(at)));
    }
    scores[0] = (int32_t)sum + (-16);
}

void model_scores(const float *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of(x[k]), (place)(0u + (place)k * 7u));
    }
    add_trees(codes, scores);
}

void model_scores_int16(const int16_t *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of_whole(x[k]), (place)(0u + (place)k * 7u));
    }
    add_trees(codes, scores);
}

void model_scores_uint8(const uint8_t *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of_whole(x[k]), (place)(0u + (place)k * 7u));
    }
    add_trees(codes, scores);
}

float model_value(const float *x)
{
    int32_t score;
    model_scores(x, &score);
    return MODEL_BASE + (float)score * MODEL_SCALE;
}

float model_value_int16(const int16_t *x)
{
    int32_t score;
    model_scores_int16(x, &score);
    return MODEL_BASE + (float)score * MODEL_SCALE;
}

float model_value_uint8(const uint8_t *x)
{
    int32_t score;
    model_scores_uint8(x, &score);
    return MODEL_BASE + (float)score * MODEL_SCALE;
}
