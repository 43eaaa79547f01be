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

static const uint8_t data[24] FLASH = {
    8,129,119,8,13,125,10,156,7,11,133,127,10,113,43,9,35,203,7,95,7,10,5,0
};

#if defined(__AVR__)
#define BYTE(at) pgm_read_byte(data + (at))
#define HALF(at) pgm_read_word(data + (at))
#define WORD(at) pgm_read_dword(data + (at))
#else
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

/* The same of a whole number. */
static uint8_t code_of_whole(int16_t x)
{
    int32_t below = -(int32_t)x;
    uint_fast16_t fine;
    below = (int32_t)((uint32_t)below << 1);
    below += -6;
    if (below > 0)
        return 0;
    fine = below < -31L ? 31 : (uint_fast16_t)-below;
    return (uint8_t)fine;
}

/* Trees lie one after the other, each behind its length. A split is what it asks, and whether its left and
 * its right side are splits too; then comes the length of the left side if both are, or else the leaves. */
static APART void add_trees(const uint8_t *codes, int32_t *scores)
{
    place tree = 0u;
    uint8_t c;
    uint_fast16_t sums[3];
    for (c = 0; c < 3; c++)
        sums[c] = 0;
    while (tree != 21u) {
        spot at = SPOT(tree);
        uint_fast8_t length = (uint_fast8_t)(BYTE_AT(at));
        at = (spot)(at + 1u);
        tree = (place)(tree + 1u + length);
        for (;;) {
            uint_fast8_t first = (uint_fast8_t)(BYTE_AT(at));
            uint8_t right = codes[first >> 5 & 0x1] > (first & 0x1f), sides = (uint8_t)(first) & 0xc0;
            if (sides == 0xc0) {
                if (right)
                    at = (spot)(at + BYTE_AT((spot)(at + 1u)));
                at = (spot)(at + 1u);
            } else if (sides == 0x80) {
                if (!right)
                    break;
                at = (spot)(at + 2u);
            } else if (sides) {
                if (right)
                    break;
                at = (spot)(at + 2u);
            } else {
                if (right) {
                    at = (spot)(at + 2u);
                }
                break;
            }
            at = (spot)(at + 1u);
        }
        at = (spot)(at + 1u);
        uint_fast16_t window = 0;
        uint_fast8_t have = 0;
        for (c = 0; c < 3; c++) {
            while (have < 4) {
                window = (uint_fast16_t)(window | (uint_fast16_t)BYTE_AT(at) << have);
                at = (spot)(at + 1);
                have = (uint_fast8_t)(have + 8);
            }
            sums[c] = (uint_fast16_t)(sums[c] + (uint_fast16_t)(window & 0xf));
            window = (uint_fast16_t)(window >> 4);
            have = (uint_fast8_t)(have - 4);
        }
    }
    for (c = 0; c < 3; c++) {
        place at = (place)(21u + 1u * c);
        scores[c] = (int32_t)sums[c] + (int32_t)BYTE(at) + (-27);
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
        codes[k] = code_of_whole(x[k]);
    }
    add_trees(codes, scores);
}

void model_scores_uint8(const uint8_t *x, int32_t *scores)
{
    uint8_t codes[2];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of_whole(x[k]);
    }
    add_trees(codes, scores);
}

int model_predict(const float *x)
{
    int32_t scores[3];
    int32_t most;
    int best = 0, c;
    model_scores(x, scores);
    most = scores[0];
    for (c = 1; c < 3; c++)
        if (scores[c] > most) {
            most = scores[c];
            best = c;
        }
    return best;
}

int model_predict_int16(const int16_t *x)
{
    int32_t scores[3];
    int32_t most;
    int best = 0, c;
    model_scores_int16(x, scores);
    most = scores[0];
    for (c = 1; c < 3; c++)
        if (scores[c] > most) {
            most = scores[c];
            best = c;
        }
    return best;
}

int model_predict_uint8(const uint8_t *x)
{
    int32_t scores[3];
    int32_t most;
    int best = 0, c;
    model_scores_uint8(x, scores);
    most = scores[0];
    for (c = 1; c < 3; c++)
        if (scores[c] > most) {
            most = scores[c];
            best = c;
        }
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
