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

static const uint8_t data[32] FLASH = {
    0,0,185,120,228,31,154,151,211,223,176,1,138,0,180,26,74,40,137,89,86,183,123,107,
    159,25,139,39,11,12,13,0
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

#if defined(__AVR__)
typedef uint16_t number;
#define WINDOW(at) WORD(at >> 3)
/* Read some bytes, and shift them by the lowest bits of a number: by 4, 2 and 1. */
#define READ_AND_SHIFT(by) "lpm %A0, Z+\n\tlpm %B0, Z+\n\tlpm %C0, Z\n\t" \
    "sbrs " by ", 2\n\trjmp 1f\n\t.rept 4\n\tlsr %C0\n\tror %B0\n\tror %A0\n\t.endr\n" \
    "1:\n\tsbrs " by ", 1\n\trjmp 1f\n\t.rept 2\n\tlsr %C0\n\tror %B0\n\tror %A0\n\t.endr\n" \
    "1:\n\tsbrs " by ", 0\n\trjmp 1f\n\tlsr %C0\n\tror %B0\n\tror %A0\n\t\n1:"
#else
typedef uint32_t number;
#define WINDOW(at) ((uint32_t)BYTE((at >> 3) + 2u) << 16 | HALF(at >> 3))
#endif

/* Return the number that begins at this bit, and what comes after it. */
static number take(place at)
{
#if defined(__AVR__) && defined(__AVR_HAVE_LPMX__) && !defined(__AVR_HAVE_MUL__)
    const uint8_t *byte = data + (uint16_t)(at >> 3);
    uint32_t window;
    __asm__(READ_AND_SHIFT("%2") : "=&r"(window), "+&z"(byte) : "r"((uint8_t)at));
    return (number)window;
#else
    return (number)(WINDOW(at) >> (at & 7));
#endif
}

/* What has many variables stays apart, or they find no registers. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))
#else
#define APART
#define INLINE
#endif

/* The same of one of many numbers of the same width, from a byte on. */
#if defined(__AVR_HAVE_MUL__)
#define READ_ENTRY "mov __tmp_reg__, %A0\n\t.rept 3\n\tlsr %C0\n\tror %B0\n\tror %A0\n\t.endr\n\t" \
    "add %A1, %A0\n\tadc %B1, %B0\n\t" READ_AND_SHIFT("__tmp_reg__")
#endif
#if defined(__AVR_HAVE_MUL__)
#define ENTRY(begin, index, width) entry(data + (begin), (uint16_t)(index), width)
static number entry(const uint8_t *begin, uint16_t index, uint8_t width)
{
    uint32_t window;
    __asm__("mul %A2, %3\n\tmovw %A0, r0\n\tmul %B2, %3\n\tmov %C0, r1\n\tclr __zero_reg__\n\tadd %B0, r0\n\tadc %C0, __zero_reg__\n\t" READ_ENTRY : "=&r"(window), "+z"(begin) : "r"(index), "r"(width));
    return (number)window;
}
#else
#define ENTRY(begin, index, width) take((place)(8 * (place)(begin) + (place)(index) * (width)))
#endif

#if defined(__AVR__)
#define ADD_TREES
#else
#define ADD_TREES APART
#endif

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

/* floor((ceil(x 2^power) - offset) scale / 2^27), in whole numbers; the feature's shift is 150 - power. */
static uint8_t code_of(uint32_t bits, place at)
{
    int32_t below = (int32_t)(bits & 0x7FFFFF); /* of minus the value */
    uint_fast8_t power = (uint8_t)((uint16_t)(bits >> 16) >> 7), shift = 136;
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
    below += (int32_t)(WORD(at + 0u) & 0xffffu) + (-39746);
    if (below > 0)
        return 0;
    fine = below < -65535L ? 65535 : (uint_fast16_t)-below;
    scale = HALF(at + 2u);
    fine = (uint_fast16_t)((uint16_t)((uint32_t)fine * scale >> 16) >> 11);
    if (fine > 15)
        fine = 15;
    return (uint8_t)fine;
}

/* Projections: sums of codes times weights, shifted down, from the lowest up, cut off at both ends. */
static void project(uint8_t *codes)
{
    place at = 8u;
    place head = 80u;
    uint8_t k, of;
    uint_fast8_t window = 0;
    uint_fast8_t have = 0;
    for (k = 2; k < 4; k++) {
        int_fast16_t sum = 0;
        int32_t code;
        for (of = 0; of < 2; of++) {
            int_fast8_t weight;
            if (!have) {
                window = (uint_fast8_t)(BYTE(at));
                at++;
                have = (uint_fast8_t)(have + 2);
            }
            weight = (int_fast8_t)((int_fast8_t)(window & 0xf) - 8);
            sum = (int_fast16_t)(sum + (int_fast16_t)((int_fast16_t)codes[of] * weight));
            window = (uint_fast8_t)(window >> 4);
            have = (uint_fast8_t)(have - 1);
        }
        code = (int32_t)(sum >> 3) - ((int32_t)(take(head) & 0xf) + (-8));
        codes[k] = (uint8_t)(code < 0 ? 0u : code > 15 ? 15u : (uint_fast16_t)code);
        head = (place)(head + 4u);
    }
}

/* Shapes are read so many bits at a time. */
#if defined(__AVR__)
typedef uint8_t shapes_t;
#define SHAPES(at) BYTE(at)
#define N_SHAPES 8
/* 2 to the power of n: this processor shifts bit by bit. */
static INLINE uint8_t power(uint8_t n)
{
    uint8_t result;
    __asm__("ldi %0, 1\n\tsbrc %1, 1\n\tldi %0, 4\n\tsbrc %1, 0\n\tlsl %0\n\tsbrc %1, 2\n\tswap %0"
            : "=&d"(result)
            : "r"(n));
    return result;
}
static INLINE uint8_t ones_of(uint8_t bits)
{
    bits = (uint8_t)(bits - (bits >> 1 & 0x55));
    bits = (uint8_t)((bits & 0x33) + (bits >> 2 & 0x33));
    return (uint8_t)((bits + (bits >> 4)) & 15);
}
#if defined(__AVR__) && defined(__AVR_HAVE_LPMX__)
/* Count the ones of shapes and of those in the next n - 1 bytes, and read the byte after. */
static INLINE uint8_t pass_bytes(const uint8_t *next, uint8_t n, uint8_t *some)
{
    uint8_t part, bits = *some;
    uint8_t ones = 0;
    __asm__("1:\n\tmov %3, %4\n\tlsr %3\n\tandi %3, 0x55\n\tsub %4, %3\n\t"
            "mov %3, %4\n\tandi %3, 0x33\n\tlsr %4\n\tlsr %4\n\tandi %4, 0x33\n\tadd %4, %3\n\t"
            "mov %3, %4\n\tswap %3\n\tadd %4, %3\n\tandi %4, 0x0F\n\t"
            "add %1, %4\n\tlpm %4, Z+\n\tdec %2\n\tbrne 1b"
            : "+z"(next), "+r"(ones), "+r"(n), "=&d"(part), "+d"(bits));
    *some = bits;
    return ones;
}
#endif
#else
typedef uint32_t shapes_t;
#define SHAPES(at) WORD(at)
#define N_SHAPES 32
static INLINE uint32_t power(uint_fast8_t n) { return (uint32_t)1 << n; }
static INLINE uint32_t ones_of(uint32_t bits)
{
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
}
#endif

/* Trees lie one after the other, level by level. The k-th 1 among the shapes of a tree's splits leads
 * to its split k + 1, the k-th 0 to its leaf k. */
static ADD_TREES void add_trees(const uint8_t *codes, int32_t *scores)
{
    uint_fast16_t first = 0, leaf = 0; /* of the tree */
    place tree;
    uint8_t c;
    for (c = 0; c < 3; c++) {
        place at = (place)(29u + 1u * c);
        scores[c] = (int32_t)BYTE(at) + (-24);
    }
    for (tree = 88u; tree < 90u; tree = (place)(tree + 1u)) {
        number size = take(tree);
        uint_fast8_t split = 0, ones = 0, to; /* ones among the shapes that the walk has left behind */
        uint_fast8_t before = (uint_fast8_t)(2 * (first & 3)); /* bits in the same byte, of another tree */
        uint_fast8_t passed = (uint_fast8_t)(0 - before);
        place shapes = (place)(12u + (first >> 2));
        shapes_t some = (shapes_t)(SHAPES(shapes) & ~(power(before) - 1)), bit;
#if defined(__AVR__) && defined(__AVR_HAVE_LPMX__)
        uint_fast8_t ahead;
#endif
        do {
            number bits;
            bits = ENTRY(14u, first + split, 6u);
            to = (uint_fast8_t)(2 * split + (codes[bits >> 4 & 0x3] > (bits & 0xf)));
#if defined(__AVR__) && defined(__AVR_HAVE_LPMX__)
            ahead = (uint_fast8_t)(to - passed);
            if (ahead >= N_SHAPES) {
                uint_fast8_t n = (uint_fast8_t)(ahead / N_SHAPES);
                ones = (uint_fast8_t)(ones + pass_bytes(data + shapes + 1, n, &some));
                shapes = (place)(shapes + n);
                passed = (uint_fast8_t)(to - (ahead & 7));
            }
            bit = power((uint8_t)ahead);
#else
            while ((uint_fast8_t)(to - passed) >= N_SHAPES) {
                ones = (uint_fast8_t)(ones + ones_of(some));
                shapes = (place)(shapes + N_SHAPES / 8u);
                some = SHAPES(shapes);
                passed = (uint_fast8_t)(passed + N_SHAPES);
            }
            bit = power((uint8_t)(to - passed));
#endif
            split = (uint_fast8_t)(ones + ones_of(some & (shapes_t)(bit - 1)) + 1);
        } while (some & bit);
        split = (uint_fast8_t)(to + 1 - split);
        number row = ENTRY(18u, leaf + split, 12u);
        for (c = 0; c < 3; c++) {
            scores[c] += (int32_t)(row & 0xf);
            row = (number)(row >> 4);
        }
        split = (uint_fast8_t)(2u + (size & 0x1));
        first = (uint_fast16_t)(first + split);
        leaf = (uint_fast16_t)(leaf + split + 1u);
    }
}

void model_scores(const float *x, int32_t *scores)
{
    uint8_t codes[4];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of(x[k]), (place)(0u + (place)k * 4u));
    }
    project(codes);
    add_trees(codes, scores);
}

void model_scores_int16(const int16_t *x, int32_t *scores)
{
    uint8_t codes[4];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of_whole(x[k]), (place)(0u + (place)k * 4u));
    }
    project(codes);
    add_trees(codes, scores);
}

void model_scores_uint8(const uint8_t *x, int32_t *scores)
{
    uint8_t codes[4];
    uint8_t k;
    for (k = 0; k < 2; k++) {
        codes[k] = code_of(bits_of_whole(x[k]), (place)(0u + (place)k * 4u));
    }
    project(codes);
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
        probabilities[c] = size < 4u ? (uint8_t)((size * 1073495940u + 0x800000) >> 24) : 255;
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
