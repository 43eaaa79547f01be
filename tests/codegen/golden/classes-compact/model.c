#include "model.h"

#if defined(MODEL_THRESHOLD)
#error "MODEL_THRESHOLD is for two classes"
#endif

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

static const uint8_t data[21] FLASH = {
    2,98,0,65,83,196,35,119,216,167,156,247,167,43,185,124,95,7,10,5,0
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

/* Trees lie one after the other, level by level. The k-th 1 among the shapes of a tree's splits leads
 * to its split k + 1, the k-th 0 to its leaf k. */
static void add_trees(const uint8_t *codes, int32_t *scores)
{
    uint16_t first = 0, leaf = 0; /* of the tree */
    place tree;
    uint8_t c;
    place value;
    for (c = 0; c < 3; c++) {
        place at = (place)(18u + 1u * c);
        scores[c] = (int32_t)BYTE(at) + -27;
    }
    for (tree = 0u; tree < 2u; tree = (place)(tree + 1u)) {
        number size = take(tree);
        uint8_t split = 0, shape = 0, found = 0; /* bits of the tree read, ones among them */
        number bits;
        uint8_t bit;
#if defined(__AVR__)
        place at = (place)(1u + (first >> 2));
        uint8_t byte = (uint8_t)(BYTE(at) >> (2 * (first & 3))), left = (uint8_t)(8 - 2 * (first & 3));
#endif
        do {
            uint8_t to;
            bits = take((place)(24u + (place)(first + split) * 6u));
            to = (uint8_t)(2 * split + (codes[bits >> 5 & 0x1] > (bits & 0x1f)));
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
                bits = take((place)(8u + 2 * (place)first + shape));
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
        value = (place)(56u + (place)(leaf + split) * 12u);
        for (c = 0; c < 3; c++) {
            scores[c] += (int32_t)(take(value) & 0xf);
            value = (place)(value + 4);
        }
        split = (uint8_t)(2u + (size & 0x1));
        first = (uint16_t)(first + split);
        leaf = (uint16_t)(leaf + split + 1u);
    }
}

void model_scores(const float *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of(x[k]));
    }
    add_trees(codes, scores);
}

void model_scores_int16(const int16_t *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of_whole(x[k]));
    }
    add_trees(codes, scores);
}

void model_scores_uint8(const uint8_t *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of_whole(x[k]));
    }
    add_trees(codes, scores);
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

int model_predict_int16(const int16_t *x)
{
    int32_t scores[3];
    int best = 0, c;
    model_scores_int16(x, scores);
    for (c = 1; c < 3; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

int model_predict_uint8(const uint8_t *x)
{
    int32_t scores[3];
    int best = 0, c;
    model_scores_uint8(x, scores);
    for (c = 1; c < 3; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

void model_predict_rows(const float *x, unsigned int n_rows, int *classes)
{
    for (; n_rows; n_rows--, x += 2)
        *classes++ = model_predict(x);
}

void model_predict_rows_int16(const int16_t *x, unsigned int n_rows, int *classes)
{
    for (; n_rows; n_rows--, x += 2)
        *classes++ = model_predict_int16(x);
}

void model_predict_rows_uint8(const uint8_t *x, unsigned int n_rows, int *classes)
{
    for (; n_rows; n_rows--, x += 2)
        *classes++ = model_predict_uint8(x);
}

static void as_floats(const int32_t *scores, float *probabilities)
{
    uint8_t c;
    for (c = 0; c < 3; c++)
        probabilities[c] = (float)scores[c] * MODEL_SCALE;
}

static void as_bytes(int32_t *scores, uint8_t *probabilities)
{
    uint8_t c;
    for (c = 0; c < 3; c++) {
        uint32_t size = scores[c] > 0 ? (uint32_t)scores[c] : 0;
        probabilities[c] = size < 7u ? (uint8_t)((size * 649575908u + 0x800000) >> 24) : 255;
    }
}

void model_predict_proba(const float *x, float *probabilities)
{
    int32_t scores[3];
    model_scores(x, scores);
    as_floats(scores, probabilities);
}

void model_predict_proba8(const float *x, uint8_t *probabilities)
{
    int32_t scores[3];
    model_scores(x, scores);
    as_bytes(scores, probabilities);
}

void model_predict_proba_int16(const int16_t *x, float *probabilities)
{
    int32_t scores[3];
    model_scores_int16(x, scores);
    as_floats(scores, probabilities);
}

void model_predict_proba8_int16(const int16_t *x, uint8_t *probabilities)
{
    int32_t scores[3];
    model_scores_int16(x, scores);
    as_bytes(scores, probabilities);
}

void model_predict_proba_uint8(const uint8_t *x, float *probabilities)
{
    int32_t scores[3];
    model_scores_uint8(x, scores);
    as_floats(scores, probabilities);
}

void model_predict_proba8_uint8(const uint8_t *x, uint8_t *probabilities)
{
    int32_t scores[3];
    model_scores_uint8(x, scores);
    as_bytes(scores, probabilities);
}

const char *model_class_name(int number)
{
    static const char *const names[] = {"0", "10", "20"};
    return number >= 0 && number < 3 ? names[number] : "";
}
