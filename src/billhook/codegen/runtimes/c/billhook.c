#include "billhook.h"

#include <string.h>

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#define FLASH_BYTE(at) pgm_read_byte(at)
#else
#define FLASH
#define FLASH_BYTE(at) (*(at))
#endif
#ifndef BH_BYTE
#if defined(__AVR__) && !defined(BH_RAM)
#define BH_BYTE(at) pgm_read_byte(at)
#else
#define BH_BYTE(at) (*(at))
#endif
#endif
/* Inlined, they would be many times in the program, which is small else. */
#if defined(__GNUC__) && (defined(__OPTIMIZE_SIZE__) || defined(__AVR__))
#define APART static __attribute__((noinline))
#else
#define APART static
#endif

/* No more of anything, so that nothing overflows: a number of up to 56 bits each are less than 2^32 bits. */
#define MOST (sizeof(bh_count) == 2 ? 0xFFFFu : 0x3FFFFFFul)
#define N_BEFORE 17
#define N_WRITTEN 32

/* The fields as a blob has them, and then what follows from them. */
enum {
    FLAGS, N_FEATURES, N_CLASSES, N_TREES, N_LEAVES, N_USED, CODE_BITS, TREE_BITS, LEAST_INNER, LEAF_BITS, BASE,
    BASE_BYTES, N_PAIRS, N_ENTRIES, SHIFT, OFFSET, SCALE, SHIFT_BYTES, OFFSET_BYTES, SCALE_BYTES, N_GRIDS, GROUP,
    ASK_BITS, GAP_BITS, MANY_BITS, COUNT_BITS, N_THRESHOLDS, N_CATEGORICAL, N_CATEGORIES, CATEGORY_BITS, SIZE_BITS,
    N_LEVELS,
    N_COLUMNS, N_VALUES, N_INNER, N_ORDERED, FEATURE_BITS, N_IDS, N_STEPS, N_SHAPES, N_ASKED, N_NUMBERS, N_FIELDS
};

/* What each is at most, where it is a width or the like; 0 for any number. */
static const uint8_t most_of[N_WRITTEN] FLASH = {0,  0, 0, 0, 0, 0, 16, 25, 0, 16, 0,  4,  0, 0, 255, 0,
                                                 0,  1, 4, 2, 0, 3, 0,  18, 12, 17, 0, 0, 0, 8, 16,  0};

enum { MISSING_RIGHT = 1, MISSING_LEFT, MISSING_SPLIT };
#define MISSING(model) (F(FLAGS) >> 3 & 3)
#define LAST_WINS (1u << 6)
#define HAS_RANKS (1u << 8)
#define HAS_MAP (1u << 9)
#define IS_SYMMETRIC (1u << 10)
#define HAS_FACTORS (1u << 11)
#define HAS_ONE_SCORE (1u << 12)
#define HAS_ONE_VALUE (1u << 13)

/* Sections of the data, in their order; each has numbers of one width. */
enum {
    FEATURES, COUNTS, GRIDS, STEPS, SIZES, CATEGORIES, TREES, SHAPES, TESTS, PAIRS, LEAVES, VALUES, FACTORS, BASES,
    N_SECTIONS
};

static const uint8_t count_of[N_SECTIONS] FLASH = {
    N_IDS, N_ORDERED, N_STEPS, N_ORDERED, N_CATEGORICAL, N_CATEGORIES, N_TREES, N_SHAPES, N_INNER, N_ASKED, N_LEAVES,
    N_NUMBERS, N_COLUMNS, N_COLUMNS};

#define F(name) (model->field[name])

/* Return the lowest bits of a number. */
static uint32_t lowest(uint32_t bits, uint8_t width)
{
    return width < 32 ? bits & (((uint32_t)1 << width) - 1) : bits;
}

/* Return how many bits tell numbers below n apart. */
APART uint8_t bits_for(bh_count n)
{
    uint8_t bits = 0;
    if (n)
        for (n--; n; n >>= 1)
            bits++;
    return bits;
}

APART void is_invalid(bh_model *model) { model->error = BH_INVALID; }

/* Return a number that must be below another; bh_open fails if one is not. */
APART bh_count below(bh_model *model, bh_count number, bh_count limit)
{
    if (number < limit)
        return number;
    is_invalid(model);
    return 0;
}

/* Return the number of so many bits that begins at this one of a section. Nothing outside of the blob is ever read. */
APART uint32_t bits_at(bh_model *model, uint8_t section, uint32_t bit, uint8_t width)
{
    uint32_t at = model->start[section] + (bit >> 3), bits;
    const uint8_t *from = model->blob + at;
    uint8_t low = bit & 7;
    if (at > model->size - 4) {
        is_invalid(model);
        return 0;
    }
    bits = (uint32_t)BH_BYTE(from + 3) << 24 | (uint32_t)BH_BYTE(from + 2) << 16 | (uint32_t)BH_BYTE(from + 1) << 8;
    bits = (bits | BH_BYTE(from)) >> low;
    if (low + width > 32 && at < model->size - 4)
        bits |= (uint32_t)BH_BYTE(from + 4) << (32 - low);
    return lowest(bits, width);
}

/* Return a number of a section. */
APART uint32_t number(bh_model *model, uint8_t section, bh_count which)
{
    uint8_t width = model->width[section];
    return bits_at(model, section, (uint32_t)which * width, width);
}

/* Bits one after the other. */
typedef struct {
    bh_count at;
    uint8_t bits, left;
} cursor;

APART uint8_t next(bh_model *model, cursor *from)
{
    uint8_t bit;
    if (!from->left) {
        if (from->at >= model->size) {
            is_invalid(model);
            return 0;
        }
        from->bits = BH_BYTE(model->blob + from->at);
        from->at++;
        from->left = 8;
    }
    from->left--;
    bit = from->bits & 1;
    from->bits >>= 1;
    return bit;
}

/* Return -x 2^(150 - shift), rounded down, of a float with these bits. */
APART int32_t fixed_point(uint32_t bits, uint8_t shift)
{
    uint8_t power = (uint8_t)(bits >> 23);
    int32_t below = (int32_t)(bits & 0x7FFFFF);
    if (power)
        below |= 0x800000;
    if (!(bits >> 31))
        below = -below;
    if (power < shift) {
        shift = (uint8_t)(shift - power);
        return below >> (shift < 31 ? shift : 31);
    }
    shift = (uint8_t)(power - shift);
    return (int32_t)((uint32_t)below << (shift < 6 ? shift : 6));
}

/* Return a whole number in the order of the floats. */
static uint32_t key_of(uint32_t bits) { return bits >> 31 ? ~bits : bits | 0x80000000; }

/* Return the code of a value by steps of equal length, or of as many floats each. */
static uint16_t step_code(bh_model *model, uint32_t bits, bh_count grid)
{
    uint32_t at = (uint32_t)grid * model->width[GRIDS], offset = model->offset;
    uint8_t wide = (uint8_t)(8 * F(SHIFT_BYTES));
    uint8_t shift = (uint8_t)(F(SHIFT) + bits_at(model, GRIDS, at, wide));
    uint16_t fine, scale;
    int32_t below = fixed_point(bits, shift);
    if (shift <= 33)
        below = (int32_t)(0 - (key_of(bits) >> (shift & 31)));
    at += wide;
    wide = (uint8_t)(8 * F(OFFSET_BYTES));
    offset += bits_at(model, GRIDS, at, wide);
    scale = (uint16_t)(F(SCALE) + bits_at(model, GRIDS, at + wide, (uint8_t)(8 * F(SCALE_BYTES))));
    below = (int32_t)((uint32_t)below + offset);
    if (below > 0)
        return 0;
    fine = below < -65535 ? 0xFFFF : (uint16_t)-below;
    if (scale)
        fine = (uint16_t)((uint32_t)fine * scale >> (31 - F(CODE_BITS)));
    scale = (uint16_t)(((uint32_t)1 << F(CODE_BITS)) - 1);
    if (scale == 0xFFFF)
        scale--;
    return fine < scale ? fine : scale;
}

/* Return how many of n thresholds lie below a value. */
static uint16_t rank_code(bh_model *model, uint32_t bits, bh_count first, bh_count n)
{
    bh_count low = 0;
    bits = key_of(bits);
    while (low < n) {
        bh_count middle = (bh_count)(low + (n - low) / 2);
        if (number(model, GRIDS, (bh_count)(first + middle)) < bits)
            low = (bh_count)(middle + 1);
        else
            n = middle;
    }
    return (uint16_t)low;
}

/* Return the code of the category that a number is, cut off towards zero, of n; the highest if it is no other. */
static uint16_t category_code(bh_model *model, uint32_t bits, bh_count first, bh_count n)
{
    uint32_t category = (uint32_t)fixed_point(bits | 0x80000000, 150);
    if (category >= n || (category && bits >> 31))
        return (uint16_t)((1u << F(CATEGORY_BITS)) - 1);
    return (uint16_t)number(model, CATEGORIES, (bh_count)(first + category));
}

/* Turn the features into codes; without any, zeros, while all numbers on the way are checked. */
static void find_codes(bh_model *model, const float *x)
{
    bh_count k, feature = 0, first = 0;
    for (k = 0;; k++, feature++) {
        uint32_t bits = 0;
        uint16_t code = MISSING(model) == MISSING_LEFT ? 0 : 0xFFFF;
        bh_count n = 0, n_ordered = F(N_ORDERED);
        if (k == n_ordered) {
            if (first != F(N_THRESHOLDS))
                is_invalid(model);
            first = 0;
        }
        if (k == F(N_USED))
            break;
        if (F(FLAGS) & HAS_MAP) {
            while (feature < F(N_FEATURES) && !number(model, FEATURES, feature))
                feature++;
        } else if (model->width[FEATURES])
            feature = (bh_count)number(model, FEATURES, k);
        feature = below(model, feature, F(N_FEATURES));
        if (x)
            memcpy(&bits, x + feature, 4);
        if (k >= n_ordered)
            n = below(model, (bh_count)number(model, SIZES, (bh_count)(k - n_ordered)), (bh_count)(F(N_CATEGORIES) - first + 1));
        else if (F(FLAGS) & HAS_RANKS)
            n = below(model, (bh_count)number(model, COUNTS, k), (bh_count)(F(N_THRESHOLDS) - first + 1));
        if ((bits & 0x7FFFFFFF) > 0x7F800000) {
            if (MISSING(model))
                goto found;
            bits &= 0xFF800000; /* an infinity of its sign */
        }
        if (bits == 0x80000000)
            bits = 0;
        if (k >= n_ordered)
            code = category_code(model, bits, first, n);
        else if (F(FLAGS) & HAS_RANKS)
            code = rank_code(model, bits, first, n);
        else
            code = step_code(model, bits, F(N_GRIDS) ? below(model, (bh_count)number(model, STEPS, k), F(N_GRIDS)) : k);
    found:
        model->codes[k] = code;
        first = (bh_count)(first + n);
    }
    if (first != F(N_CATEGORIES))
        is_invalid(model);
}

/* Return whether a value with a code goes to the right. */
static uint8_t is_right(bh_model *model, uint16_t code, uint32_t threshold, uint8_t left)
{
    return code == 0xFFFF && MISSING(model) == MISSING_SPLIT ? !left : code > threshold;
}

/* Return the next number of a table of gaps: as many ones as its high bits say, a zero, and its low bits. */
static bh_count next_number(bh_model *model, cursor *from, uint8_t low)
{
    bh_count number = 0;
    while (next(model, from))
        number++;
    for (; low; low--)
        number = (bh_count)(2 * number + next(model, from));
    return number;
}

/* Answer all tests of a table of gaps. */
static void answer_all(bh_model *model)
{
    cursor from = {0, 0, 0};
    bh_count k, pair = 0;
    from.at = model->start[PAIRS];
    for (k = 0; k < F(N_USED); k++) {
        bh_count n = (bh_count)(next_number(model, &from, (uint8_t)F(MANY_BITS)) + 1), key = 0;
        uint8_t length = bits_for((bh_count)(n + 1)), gap = (uint8_t)F(GAP_BITS);
        gap = (uint8_t)(gap > length ? gap - length : 0);
        for (; n && !model->error; n--) {
            uint8_t left = 0, one, *byte;
            bh_count threshold;
            key = (bh_count)(key + next_number(model, &from, gap));
            threshold = key;
            if (MISSING(model) == MISSING_SPLIT) {
                left = key & 1;
                threshold = key >> 1;
            }
            pair = below(model, pair, F(N_PAIRS));
            byte = model->answers + (pair >> 3);
            one = (uint8_t)(1 << (pair & 7));
            *byte = (uint8_t)(*byte & ~one);
            if (is_right(model, model->codes[k], threshold, left))
                *byte = (uint8_t)(*byte | one);
            key++;
            pair++;
        }
    }
    if (pair != F(N_PAIRS) || from.at != model->start[PAIRS + 1])
        is_invalid(model);
}

/* Return the group that a test is in, of two or three. */
static bh_count group_of(bh_model *model, bh_count test)
{
    bh_count third;
    if (F(GROUP) == 2)
        return test >> 1;
    if (sizeof(bh_count) == 2)
        return (bh_count)((uint32_t)test * 43691u >> 17);
    third = (bh_count)((test >> 2) + (test >> 4));
    third = (bh_count)(third + (third >> 4));
    third = (bh_count)(third + (third >> 8));
    third = (bh_count)(third + ((uint32_t)third >> 16));
    return (bh_count)(third + ((test - 3 * third) * 11 >> 5));
}

/* Return the number of a test: a digit, of which a group is one number, and low bits. */
static uint32_t test_number(bh_model *model, bh_count test)
{
    uint8_t group = (uint8_t)F(GROUP), size, radix, digits, digit, of, k, low = model->width[TESTS];
    bh_count which;
    uint32_t at;
    if (!group)
        return number(model, TESTS, test);
    size = group == 2 ? 2 : 3;
    radix = group == 1 ? 5 : group == 2 ? 11 : 6;
    which = group_of(model, test);
    of = (uint8_t)(test - size * which);
    group = group == 3 ? 8 : 7;
    at = (uint32_t)which * (uint8_t)(group + size * low);
    digit = (uint8_t)bits_at(model, TESTS, at, group);
    for (k = 0;; k++) {
        for (digits = 0; digit >= radix; digits++)
            digit = (uint8_t)(digit - radix);
        if (k == of)
            break;
        digit = digits;
    }
    return (uint32_t)digit << low | bits_at(model, TESTS, at + group + (uint8_t)(of * low), low);
}

/* Return whether a test sends the row to the right. */
APART uint8_t goes_right(bh_model *model, bh_count test)
{
    uint32_t bits = test_number(model, test);
    bh_count feature;
    if (F(N_PAIRS)) {
        bh_count pair = below(model, (bh_count)bits, F(N_PAIRS));
        if (F(ASK_BITS))
            return model->answers[pair >> 3] >> (pair & 7) & 1;
        bits = number(model, PAIRS, pair);
    }
    feature = below(model, (bh_count)lowest(bits >> F(CODE_BITS), (uint8_t)F(FEATURE_BITS)), F(N_USED));
    return is_right(model, model->codes[feature], lowest(bits, (uint8_t)F(CODE_BITS)), (uint8_t)(bits >> F(CODE_BITS) >> F(FEATURE_BITS)));
}

/* Return which row of the table of values a leaf has. */
static bh_count row_of(bh_model *model, bh_count leaf)
{
    return F(N_ENTRIES) ? below(model, (bh_count)number(model, LEAVES, leaf), F(N_ENTRIES)) : leaf;
}

/* Walk down all trees and add up their leaves; or, without scores, check them. */
static void add_trees(bh_model *model, int32_t *scores)
{
    bh_count first = 0, leaf = 0, tree;
    for (tree = 0; tree < F(N_TREES); tree++) {
        uint32_t size = number(model, TREES, tree);
        bh_count column = below(model, (bh_count)(size >> F(TREE_BITS)), F(N_COLUMNS));
        bh_count n = (bh_count)(F(LEAST_INNER) + lowest(size, (uint8_t)F(TREE_BITS))), k, at = 0, n_here = 1;
        n = below(model, n, (bh_count)(F(N_INNER) - first + 1));
        if (F(FLAGS) & IS_SYMMETRIC) {
            for (k = 0; k < n; k++) {
                at = (bh_count)(2 * at + goes_right(model, (bh_count)(first + k)));
                n_here = (bh_count)(2 * n_here);
            }
        } else {
            cursor from;
            bh_count ones = 0, to = (bh_count)-1;
            uint32_t bit = 2 * (uint32_t)first;
            n_here = (bh_count)(n + 1);
            from.at = (bh_count)(model->start[SHAPES] + (bit >> 3));
            from.left = 0;
            for (k = bit & 7; k; k--)
                next(model, &from);
            if (n)
                to = goes_right(model, first);
            if (!scores)
                to = (bh_count)-1;
            for (k = 0; k < 2 * n; k++) {
                uint8_t goes_on = next(model, &from);
                if (ones < k >> 1)
                    is_invalid(model);
                ones = (bh_count)(ones + goes_on);
                if (k == to || !scores) {
                    if (goes_on)
                        to = (bh_count)(2 * ones + goes_right(model, (bh_count)(first + ones)));
                    else if (scores) {
                        at = (bh_count)(k - ones);
                        break;
                    }
                }
            }
            if (!scores && n && ones != n - 1)
                is_invalid(model);
        }
        at = row_of(model, (bh_count)(leaf + at));
        if (scores)
            for (k = 0; k < F(N_VALUES); k++)
                scores[column + k] = (int32_t)((uint32_t)scores[column + k] + number(model, VALUES, (bh_count)(at * F(N_VALUES) + k)));
        first = (bh_count)(first + n);
        leaf = (bh_count)(leaf + n_here);
    }
    if (first != F(N_INNER) || leaf != F(N_LEAVES))
        is_invalid(model);
}

const int32_t *bh_scores(bh_model *model, const float *x)
{
    int32_t *scores = model->scores;
    bh_count k;
    find_codes(model, x);
    if (F(ASK_BITS))
        answer_all(model);
    for (k = 0; k < F(N_COLUMNS); k++)
        scores[k] = 0;
    add_trees(model, scores);
    for (k = 0; k < F(N_COLUMNS); k++) {
        uint32_t sum = (uint32_t)scores[k];
        if (F(FLAGS) & HAS_FACTORS)
            sum *= number(model, FACTORS, k);
        scores[k] = (int32_t)(sum + model->base + number(model, BASES, k));
    }
    return scores;
}

int bh_open(bh_model *model, const void *blob, size_t size, int32_t *scratch, size_t n_scratch)
{
    uint32_t length, at, crc = 0xFFFFFFFF, bits = 0;
    uint8_t n_bytes, shift = 0, k = 0, has_split;
    bh_count n, n_used;
    memset(model, 0, sizeof *model);
    if (size < N_BEFORE + 4)
        return BH_CUT_OFF;
    model->blob = (const uint8_t *)blob;
    model->size = size;
    bits = bits_at(model, 0, 0, 32);
    if (lowest(bits, 24) != 0x4D4842) /* "BHM" */
        return BH_NOT_A_BLOB;
    if (bits >> 24 != 1)
        return BH_WRONG_VERSION;
    length = bits_at(model, 0, 32, 32);
    if (length > size)
        return BH_CUT_OFF;
    for (at = 0; at < length; at++) {
        crc ^= BH_BYTE(model->blob + at);
        for (k = 8; k; k--)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    }
    if (crc != 0xDEBB20E3) /* what is left of a checksum behind what it is of */
        return BH_DAMAGED;
    n_bytes = BH_BYTE(model->blob + 16);
    if (length >> 29 || length < (uint32_t)N_BEFORE + 4 + n_bytes)
        return BH_INVALID;
    model->size = (size_t)length;
    bits = 0;
    for (at = N_BEFORE; n_bytes; n_bytes--, at++) {
        uint8_t byte = BH_BYTE(model->blob + at), most;
        if (k == N_WRITTEN || shift > 28)
            return BH_INVALID;
        bits |= (uint32_t)(byte & 0x7F) << shift;
        shift = (uint8_t)(shift + 7);
        if (byte & 0x80)
            continue;
        most = FLASH_BYTE(most_of + k);
        if (k == BASE || k == OFFSET) {
            bits = bits & 1 ? ~(bits >> 1) : bits >> 1;
            if (k == BASE)
                model->base = bits;
            else
                model->offset = bits;
        } else if (bits > (most ? most : MOST))
            return BH_INVALID;
        else
            model->field[k] = (bh_count)bits;
        bits = 0;
        shift = 0;
        k++;
    }
    if (shift || F(FLAGS) >> 14)
        return BH_INVALID;

    n = F(FLAGS) & HAS_ONE_SCORE ? 1 : F(N_CLASSES);
    F(N_COLUMNS) = n;
    if (F(FLAGS) & HAS_ONE_VALUE) {
        model->width[TREES] = bits_for(n);
        n = 1;
    }
    F(N_VALUES) = n;
    model->width[TREES] = (uint8_t)(model->width[TREES] + F(TREE_BITS));
    n_used = F(N_USED);
    F(N_ORDERED) = (bh_count)(n_used - F(N_CATEGORICAL));
    F(N_INNER) = (bh_count)(F(FLAGS) & IS_SYMMETRIC ? F(N_LEVELS) : F(N_LEAVES) - F(N_TREES));
    F(N_SHAPES) = (bh_count)(F(FLAGS) & IS_SYMMETRIC ? 0 : 2 * F(N_INNER));
    F(FEATURE_BITS) = bits_for(n_used);
    has_split = MISSING(model) == MISSING_SPLIT;
    shift = (uint8_t)(F(FEATURE_BITS) + F(CODE_BITS) + has_split);
    if (shift > 32 || model->width[TREES] > 32 || !F(N_CLASSES) || n_used < F(N_CATEGORICAL) || F(N_INNER) > MOST / 2
        || F(N_TREES) > F(N_INNER) + 1 || F(N_INNER) > F(N_LEAVES) || ((F(N_LEAVES) >> 10 >> 10) && !F(N_SHAPES)))
        return BH_INVALID;
    model->width[PAIRS] = shift;
    F(N_ASKED) = F(N_PAIRS);
    if (F(N_PAIRS))
        shift = bits_for(F(N_PAIRS));
    if (F(ASK_BITS)) {
        model->width[PAIRS] = 1;
        F(N_ASKED) = F(ASK_BITS);
    }
    if (F(GROUP)) {
        if (shift < 4)
            return BH_INVALID;
        shift = (uint8_t)(shift - (F(GROUP) == 2 ? 4 : 3));
    }
    model->width[TESTS] = shift;
    F(N_IDS) = n_used;
    if (F(N_CATEGORICAL) || n_used < F(N_FEATURES)) {
        model->width[FEATURES] = bits_for(F(N_FEATURES));
        if (F(N_CATEGORICAL) && F(N_FEATURES) == 1)
            model->width[FEATURES] = 1;
    }
    if (F(FLAGS) & HAS_MAP) {
        F(N_IDS) = F(N_FEATURES);
        model->width[FEATURES] = 1;
    }
    if (F(FLAGS) & HAS_RANKS) {
        model->width[COUNTS] = (uint8_t)F(COUNT_BITS);
        model->width[GRIDS] = 32;
        F(N_STEPS) = F(N_THRESHOLDS);
    } else {
        F(N_THRESHOLDS) = 0;
        model->width[GRIDS] = (uint8_t)(8 * (F(SHIFT_BYTES) + F(OFFSET_BYTES) + F(SCALE_BYTES)));
        F(N_STEPS) = F(N_GRIDS) ? F(N_GRIDS) : F(N_ORDERED);
    }
    model->width[STEPS] = bits_for(F(N_GRIDS));
    model->width[SIZES] = (uint8_t)F(SIZE_BITS);
    model->width[CATEGORIES] = (uint8_t)F(CATEGORY_BITS);
    model->width[SHAPES] = 1;
    model->width[LEAVES] = bits_for(F(N_ENTRIES));
    model->width[VALUES] = (uint8_t)F(LEAF_BITS);
    model->width[FACTORS] = F(FLAGS) & HAS_FACTORS ? 8 : 0;
    model->width[BASES] = (uint8_t)(8 * F(BASE_BYTES));
    n = F(N_ENTRIES) ? F(N_ENTRIES) : F(N_LEAVES);
    if ((uint32_t)((n >> 8 >> 8) + 1) * F(N_VALUES) > 0xFFFF || (bits = (uint32_t)n * F(N_VALUES)) > MOST)
        return BH_TOO_LARGE;
    F(N_NUMBERS) = (bh_count)bits;

    for (k = 0; k < N_SECTIONS; k++) {
        model->start[k] = (bh_count)at;
        bits = (uint32_t)F(FLASH_BYTE(count_of + k)) * model->width[k];
        if (k == TESTS && F(GROUP))
            bits += (uint32_t)group_of(model, (bh_count)(F(N_INNER) + (F(GROUP) == 2 ? 1 : 2))) * (F(GROUP) == 3 ? 8 : 7);
        at += (bits >> 3) + ((bits & 7) != 0);
        if (at > length)
            return BH_INVALID;
    }
    length -= 4;
    if (at != length && (at > length || length != model->start[BASES] + 3u))
        return BH_INVALID;

    at = F(N_COLUMNS) + ((uint32_t)n_used + 1) / 2;
    model->scores = scratch;
    model->codes = (bh_code *)(scratch + F(N_COLUMNS));
    model->answers = (uint8_t *)(scratch + at);
    if (F(ASK_BITS))
        at += F(N_PAIRS) / 32 + 1;
    model->n_scratch = at;
    if (at > n_scratch)
        return BH_SMALL_SCRATCH;
    find_codes(model, NULL);
    if (F(ASK_BITS))
        answer_all(model);
    add_trees(model, NULL);
    for (n = F(N_LEAVES); n; n--)
        row_of(model, (bh_count)(n - 1));
    return model->error;
}

int bh_predict(bh_model *model, const float *x)
{
    const int32_t *scores = bh_scores(model, x);
    bh_count k, best = 0;
    if (F(N_COLUMNS) == 1)
        return F(N_CLASSES) > 1 && scores[0] > (F(FLAGS) & LAST_WINS ? -1 : 0);
    for (k = 1; k < F(N_COLUMNS); k++)
        if (scores[k] > scores[best])
            best = k;
    return (int)best;
}
