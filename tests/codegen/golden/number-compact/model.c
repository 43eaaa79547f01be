#include "model.h"

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#else
#if defined(ESP8266) && defined(ARDUINO)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#define BYTE(at) pgm_read_byte(data + (at))
#else
#define FLASH
#define BYTE(at) data[at]
#endif
#endif

static const uint8_t data[26] FLASH = {
    136,0,0,0,0,82,165,124,107,248,170,4,0,0,19,65,85,192,7,63,6,22,1,0,
    0,0
};

#if defined(__AVR__)
#define BYTE(at) pgm_read_byte(data + (at))
#define HALF(at) pgm_read_word(data + (at))
#define WORD(at) pgm_read_dword(data + (at))
#else
#define HALF(at) (uint16_t)(BYTE(at) | (uint16_t)BYTE((at) + 1u) << 8)
#define WORD(at) ((uint32_t)BYTE((at) + 3u) << 24 | (uint32_t)BYTE((at) + 2u) << 16 | HALF(at))
#endif

typedef uint16_t place; /* in bits or bytes */

#if defined(__AVR__)
/* Inlined, there would be too many variables for the registers. */
#define APART __attribute__((noinline))
typedef uint16_t number;
#else
#define APART
typedef uint32_t number;
#define WINDOW 24
#endif

/* Return the number that begins at this bit, and what comes after it. */
static number take(place at)
{
    return (number)(WORD(at >> 3) >> (at & 7));
}

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
    uint8_t power = (uint8_t)((uint16_t)(bits >> 16) >> 7), shift = BYTE(at);
    uint16_t fine, scale;
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
    below += (int32_t)(WORD(at + 1u)) + (-19908);
    if (below > 0)
        return 0;
    fine = below < -65535L ? 0xFFFF : (uint16_t)-below;
    scale = HALF(at + 5u);
    if (scale)
        fine = (uint16_t)((uint16_t)((uint32_t)fine * scale >> 16) >> 9);
    if (fine > 63)
        fine = 63;
    return (uint8_t)fine;
}

/* Trees lie one after the other, level by level. The k-th 1 among the shapes of a tree's splits leads
 * to its split k + 1, the k-th 0 to its leaf k. */
static void add_trees(const uint8_t *codes, int32_t *scores)
{
    uint16_t first = 0, leaf = 0; /* of the tree */
    place tree;
    scores[0] = -16;
    for (tree = 112u; tree < 113u; tree = (place)(tree + 1u)) {
        number size = take(tree);
        uint8_t split = 0, shape = 0, found = 0; /* bits of the tree read, ones among them */
        number bits;
        uint8_t bit;
#if defined(__AVR__)
        place at = (place)(14u + (first >> 2));
        uint8_t byte = (uint8_t)(BYTE(at) >> (2 * (first & 3))), left = (uint8_t)(8 - 2 * (first & 3));
#endif
        do {
            uint8_t to;
            bits = take((place)(120u + (place)(first + split) * 7u));
            to = (uint8_t)(2 * split + (codes[bits >> 6 & 0x1] > (bits & 0x3f)));
#if defined(__AVR__)
            do {
                if (!left) {
                    at++;
                    byte = BYTE(at);
                    left = 8;
                }
                left--;
                bit = byte & 1;
                byte >>= 1;
                found = (uint8_t)(found + bit);
                shape++;
            } while (shape <= to);
#else
            do {
                uint8_t n = (uint8_t)(to - shape);
                number ones;
                if (n > WINDOW)
                    n = WINDOW;
                bits = take((place)(112u + 2 * (place)first + shape));
                shape = (uint8_t)(shape + n);
                ones = bits & (((number)1 << n) - 1);
                for (; ones; ones &= ones - 1)
                    found++;
                bits >>= n;
            } while (shape != to);
            bit = bits & 1;
            found = (uint8_t)(found + bit);
            shape++;
#endif
            split = found;
        } while (bit);
        split = (uint8_t)(shape - 1 - found);
        scores[0] += (int32_t)(take((place)(152u + (place)(leaf + split) * 5u)) & 0x1f);
        split = (uint8_t)(4u + (size & 0x0));
        first = (uint16_t)(first + split);
        leaf = (uint16_t)(leaf + split + 1u);
    }
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

void model_value_rows(const float *x, unsigned int n_rows, float *values)
{
    for (; n_rows; n_rows--, x += 2)
        *values++ = model_value(x);
}

void model_value_rows_int16(const int16_t *x, unsigned int n_rows, float *values)
{
    for (; n_rows; n_rows--, x += 2)
        *values++ = model_value_int16(x);
}

void model_value_rows_uint8(const uint8_t *x, unsigned int n_rows, float *values)
{
    for (; n_rows; n_rows--, x += 2)
        *values++ = model_value_uint8(x);
}
