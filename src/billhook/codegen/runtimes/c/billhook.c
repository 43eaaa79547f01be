#include "billhook.h"

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

/* Functions that would otherwise be copied to where they are called from, at the cost of a larger program. */
#if defined(__OPTIMIZE_SIZE__) || defined(__AVR__)
#define APART static __attribute__((noinline))
#else
#define APART static
#endif
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static
#endif

/* So many of anything at most: then the bits of a section are fewer than 2^32, and no sum overflows. */
#define MOST (sizeof(bh_count) == 2 ? 0xFFFFu : 0x3FFFFFFul)

/* The fields of a blob, in their order, and what follows from them. */
enum {
    FLAGS, N_FEATURES, N_CLASSES, N_TREES, N_LEAVES, N_USED, CODE_BITS, TREE_BITS, LEAST_INNER, LEAF_BITS, BASE,
    BASE_BITS, N_PAIRS, N_ENTRIES, SHIFT, OFFSET, SCALE, SHIFT_BITS, OFFSET_BITS, SCALE_BITS, N_GRIDS, GROUP,
    ASK_BITS, GAP_BITS, MANY_BITS, COUNT_BITS, N_THRESHOLDS, N_CATEGORICAL, N_CATEGORIES, CATEGORY_BITS, SIZE_BITS,
    N_LEVELS, N_WRITTEN,
    N_COLUMNS = N_WRITTEN, N_VALUES, N_INNER, N_ORDERED, FEATURE_BITS, GRID_BITS, ENTRY_BITS, PAIR_BITS, ID_BITS,
    COLUMN_BITS, SPLIT_BITS, STEP_BITS, TREE_AND_COLUMN, SHAPE_BITS, TEST_BITS, LOW_BITS, ASKED_BITS, FACTOR_BITS,
    N_IDS, N_STEPS, N_ASKED, N_NUMBERS, N_FIELDS
};

/* What a field is at most, if it is a width or the like; 0 for a count. Those up to 4 are bytes, and become bits. */
static const uint8_t most_of[N_WRITTEN] FLASH = {0, 0, 0, 0, 0, 0, 16, 25, 0, 16, 0, 4, 0, 0, 255, 0,
                                                 0, 1, 4, 2, 0, 5, 0, 18, 12, 17, 0, 0, 0, 8, 16, 0};

/* Sections of the data, in their order: how many numbers each has, and of how many bits. */
enum {
    FEATURES, COUNTS, GRIDS, STEPS, SIZES, CATEGORIES, TREES, SHAPES, TESTS, PAIRS, LEAVES, VALUES, FACTORS, BASES,
    N_SECTIONS
};
static const uint8_t count_of[N_SECTIONS] FLASH = {
    N_IDS, N_ORDERED, N_STEPS, N_ORDERED, N_CATEGORICAL, N_CATEGORIES, N_TREES, N_INNER, N_INNER, N_ASKED, N_LEAVES,
    N_NUMBERS, N_COLUMNS, N_COLUMNS};
static const uint8_t width_of[N_SECTIONS] FLASH = {
    ID_BITS, COUNT_BITS, STEP_BITS, GRID_BITS, SIZE_BITS, CATEGORY_BITS, TREE_AND_COLUMN, SHAPE_BITS, TEST_BITS,
    ASKED_BITS, ENTRY_BITS, LEAF_BITS, FACTOR_BITS, BASE_BITS};

#define F(name) (model->field[name])
#define HAS(flag) ((F(FLAGS) & (flag)) != 0)
enum { LINK = 7, IDENTITY = 0, LOGISTIC, SOFTMAX, EXP, ISOLATION };
enum { MISSING_LEFT = 2 << 3, MISSING_SPLIT = 3 << 3 };
enum {
    REGRESSION = 1 << 5, LAST_WINS = 1 << 6, RANKS = 1 << 8, MAP = 1 << 9, SYMMETRIC = 1 << 10, SCALED = 1 << 11,
    ONE_SCORE = 1 << 12, ONE_VALUE = 1 << 13
};
#define WHERE_MISSING (F(FLAGS) & MISSING_SPLIT)
#ifdef BH_NO_GAPS
#define HAS_GAPS 0
#else
#define HAS_GAPS F(ASK_BITS)
#endif
#ifdef BH_NO_GROUPS
#define HAS_GROUPS 0
#else
#define HAS_GROUPS F(GROUP)
#endif
#ifdef BH_NO_CATEGORIES
#define HAS_CATEGORIES 0
#else
#define HAS_CATEGORIES F(N_CATEGORICAL)
#endif
#ifdef BH_NO_SYMMETRIC
#define IS_SYMMETRIC 0
#else
#define IS_SYMMETRIC HAS(SYMMETRIC)
#endif
#ifdef BH_NO_RANKS
#define HAS_RANKS 0
#else
#define HAS_RANKS HAS(RANKS)
#endif

APART void is_invalid(bh_model *model) { model->error = BH_INVALID; }

/* Return a number that must be below another; bh_open fails if it is not. */
APART bh_count below(bh_model *model, bh_count number, bh_count limit)
{
    if (number < limit)
        return number;
    is_invalid(model);
    return 0;
}

/* Return the lowest bits of a number. */
static uint32_t lowest(uint32_t bits, uint8_t width)
{
    return width < 32 ? bits & (((uint32_t)1 << width) - 1) : bits;
}

/* Return the next number, of so many bits. Nothing outside of the blob is read, here and in next_bit. */
APART uint32_t take(bh_model *model, uint8_t width)
{
    bh_count at = (bh_count)(model->bit >> 3);
    const uint8_t *from = model->blob + at;
    uint8_t low = model->bit & 7;
    uint32_t bits = 0;
    if (!width)
        return 0;
    model->bit += width;
    if (at > model->size - 4) { /* of which the last four are a checksum */
        is_invalid(model);
        return 0;
    }
    bits = (uint32_t)BH_BYTE(from + 3) << 24 | (uint32_t)BH_BYTE(from + 2) << 16 | (uint32_t)BH_BYTE(from + 1) << 8;
    bits = (bits | BH_BYTE(from)) >> low;
    if (low + width > 32 && at < model->size - 4)
        bits |= (uint32_t)BH_BYTE(from + 4) << (32 - low);
    return lowest(bits, width);
}

/* Return the next number, of as many bits as a field says. */
APART bh_count take_field(bh_model *model, uint8_t name) { return (bh_count)take(model, (uint8_t)F(name)); }

/* Go to a number of a section, and return its width. */
APART uint8_t seek(bh_model *model, uint8_t section, bh_count which)
{
    uint8_t width = (uint8_t)F(FLASH_BYTE(width_of + section));
    model->bit = 8 * (uint32_t)model->start[section] + (uint32_t)which * width;
    return width;
}

/* Return a number of a section. */
APART uint32_t number(bh_model *model, uint8_t section, bh_count which)
{
    return take(model, seek(model, section, which));
}

/* Bits one after the other, faster than by numbers. */
typedef struct {
    bh_count at;
    uint8_t bits, left;
} cursor;

/* Return a cursor at a number of a section. */
APART void place(bh_model *model, cursor *from, uint8_t section, bh_count which)
{
    seek(model, section, which);
    from->at = (bh_count)(model->bit >> 3);
    from->left = (uint8_t)(8 - (model->bit & 7));
    from->bits = (uint8_t)take(model, from->left);
    from->at++;
}

INLINE uint8_t next_bit(bh_model *model, cursor *from)
{
    uint8_t bit;
    if (!from->left) {
        from->left = 8;
        if (from->at < model->size)
            from->bits = BH_BYTE(model->blob + from->at);
        else
            is_invalid(model);
        from->at++;
    }
    bit = from->bits & 1;
    from->bits >>= 1;
    from->left--;
    return bit;
}

/* Return -x 2^(150 - shift), rounded down, of the float that these bits are. */
APART int32_t fixed_point(uint32_t bits, uint8_t shift)
{
    uint8_t power = (uint8_t)(bits >> 23);
    int32_t fixed = (int32_t)(bits & 0x7FFFFF);
    if (power)
        fixed |= 0x800000;
    if (!(bits >> 31))
        fixed = -fixed;
    if (power < shift) {
        shift = (uint8_t)(shift - power);
        return fixed >> (shift < 24 ? shift : 24);
    }
    shift = (uint8_t)(power - shift);
    return (int32_t)((uint32_t)fixed << (shift < 6 ? shift : 6));
}

/* Return a whole number in the order of the floats. */
APART uint32_t key_of(uint32_t bits)
{
    return bits >> 31 && bits != 0x80000000 ? ~bits : bits | 0x80000000;
}

/* Return the code of a value by steps: floor((ceil(x 2^(150 - shift)) - offset) scale / 2^(31 - bits)). */
APART uint16_t step_code(bh_model *model, uint32_t bits, bh_count grid)
{
    uint8_t shift, code_bits = (uint8_t)F(CODE_BITS);
    uint16_t fine, scale;
    int32_t under;
    seek(model, GRIDS, grid);
    shift = (uint8_t)(F(SHIFT) + take_field(model, SHIFT_BITS));
    if (shift < 34) /* steps by the order of floats */
        under = (int32_t)(0 - (key_of(bits) >> (shift & 31)));
    else
        under = fixed_point(bits, shift);
    under = (int32_t)((uint32_t)under + model->offset + take(model, (uint8_t)F(OFFSET_BITS)));
    scale = (uint16_t)(F(SCALE) + take_field(model, SCALE_BITS));
    if (under > 0)
        return 0;
    fine = under < -65535 ? 0xFFFF : (uint16_t)-under;
    if (scale)
        fine = (uint16_t)((uint32_t)fine * scale >> (31 - code_bits));
    scale = (uint16_t)(((uint32_t)1 << code_bits) - 1);
    if (scale == 0xFFFF) /* that of missing values */
        scale--;
    return fine < scale ? fine : scale;
}

/* Return how many of n thresholds lie below a value. */
APART uint16_t rank_code(bh_model *model, uint32_t bits, bh_count first, bh_count n)
{
    bh_count end = first;
    bits = key_of(bits);
    while (n) {
        bh_count half = n >> 1;
        seek(model, GRIDS, (bh_count)(end + half));
        if (take(model, 32) < bits) {
            end = (bh_count)(end + half + 1);
            half = (bh_count)(n - half - 1);
        }
        n = half;
    }
    return (uint16_t)(end - first);
}

/* Return the code of the category that a number is, cut off towards zero, of n; the highest if it is none. */
APART uint16_t category_code(bh_model *model, uint32_t bits, bh_count first, bh_count n)
{
    uint32_t category = (uint32_t)fixed_point(bits | 0x80000000, 150);
    if (category >= n || (category && bits >> 31))
        return (uint16_t)((1u << F(CATEGORY_BITS)) - 1);
    return (uint16_t)number(model, CATEGORIES, (bh_count)(first + category));
}

/* Turn the features into codes; without any, zeros. Numbers on the way that cannot be are an error. */
APART void find_codes(bh_model *model, const float *x)
{
    bh_count k, feature = (bh_count)-1, first = 0, begin = 0, total = F(N_THRESHOLDS);
    uint8_t counts = COUNTS;
    for (k = 0;; k++) {
        union { float value; uint32_t bits; } both;
        uint16_t code = WHERE_MISSING == MISSING_LEFT ? 0 : 0xFFFF;
        uint8_t is_nan;
        bh_count n;
        if (k == F(N_ORDERED)) { /* the categorical ones begin */
            below(model, (bh_count)(total - first), 1);
            begin = k;
            first = 0;
            total = F(N_CATEGORIES);
            counts = SIZES;
        }
        if (k == F(N_USED))
            break;
        if (HAS(MAP))
            do
                feature++;
            while (feature < F(N_FEATURES) && !number(model, FEATURES, feature));
        else
            feature = F(ID_BITS) ? (bh_count)number(model, FEATURES, k) : k;
        feature = below(model, feature, F(N_FEATURES));
        both.bits = 0;
        if (x)
            both.value = x[feature];
        n = below(model, (bh_count)number(model, counts, (bh_count)(k - begin)), (bh_count)(total - first + 1));
        is_nan = (both.bits & 0x7FFFFFFF) > 0x7F800000;
        if (is_nan)
            both.bits &= 0xFF800000; /* an infinity of its sign, where there are no missing values */
        if (!is_nan || !WHERE_MISSING) {
            if (HAS_CATEGORIES && counts == SIZES)
                code = category_code(model, both.bits, first, n);
            else if (HAS_RANKS)
                code = rank_code(model, both.bits, first, n);
            else
                code = step_code(model, both.bits,
                                 F(N_GRIDS) ? below(model, (bh_count)number(model, STEPS, k), F(N_GRIDS)) : k);
        }
        model->codes[k] = code;
        first = (bh_count)(first + n);
    }
    below(model, (bh_count)(total - first), 1);
}

/* Return whether a value with a code goes to the right. */
APART uint8_t is_right(bh_model *model, uint16_t code, bh_count threshold, uint8_t left)
{
    return code == 0xFFFF && WHERE_MISSING == MISSING_SPLIT ? !left : code > threshold;
}

/* Return the next number of a table of gaps: as many ones as its high bits say, a zero, and its low bits. */
APART bh_count next_gap(bh_model *model, cursor *from, uint8_t low)
{
    bh_count gap = 0;
    cursor at = *from;
    uint8_t bit;
    for (;;) {
        bit = next_bit(model, &at);
        if (low & 0x80) { /* after the zero */
            gap = (bh_count)(2 * gap + bit);
            low--;
        } else if (bit)
            gap++;
        else
            low |= 0x80;
        if (low == 0x80)
            break;
    }
    *from = at;
    return gap;
}

/* Answer all tests of a table of gaps, a bit for each. */
APART void answer_all(bh_model *model)
{
    bh_count k, pair = 0, n, m, key;
    cursor from;
    place(model, &from, PAIRS, 0);
    for (k = 0; k < F(N_USED); k++) {
        uint8_t low = (uint8_t)F(GAP_BITS);
        n = (bh_count)(next_gap(model, &from, (uint8_t)F(MANY_BITS)) + 1);
        for (m = n; m && low; m >>= 1)
            low--;
        key = 0;
        for (; n && !model->error; n--) {
            uint8_t one, *byte;
            key = (bh_count)(key + next_gap(model, &from, low));
            pair = below(model, pair, F(N_PAIRS));
            byte = model->answers + (pair >> 3);
            one = (uint8_t)(1 << (pair & 7));
            *byte = (uint8_t)(*byte & ~one);
            if (is_right(model, model->codes[k], (bh_count)(key >> F(SPLIT_BITS)), key & 1))
                *byte = (uint8_t)(*byte | one);
            key++;
            pair++;
        }
    }
    if (pair != F(N_PAIRS) || from.at > model->start[PAIRS + 1])
        is_invalid(model);
}

/* Return which group a test is in, of two or three. */
APART bh_count group_of(bh_model *model, bh_count test)
{
    bh_count third;
    if (F(GROUP) == 2)
        return test >> 1;
    if (sizeof(bh_count) == 2)
        return (bh_count)((uint32_t)test * 43691u >> 17);
    third = (bh_count)((test >> 2) + (test >> 4));
    third = (bh_count)(third + (third >> 4));
    third = (bh_count)(third + (third >> 8));
    third = (bh_count)(third + (third >> 8 >> 8));
    return (bh_count)(third + ((test - 3 * third) * 11 >> 5));
}

/* Return the number of a test in a group: a digit, of which a group is one number; low bits. */
APART uint32_t number_in_group(bh_model *model, bh_count test)
{
    uint8_t group = (uint8_t)F(GROUP), low = (uint8_t)F(LOW_BITS), radix = group == 1 ? 5 : group == 2 ? 11 : 6;
    uint8_t of, digit, digits;
    bh_count which = group_of(model, test);
    of = (uint8_t)(test - (group == 2 ? 2 : 3) * which);
    seek(model, TESTS, which);
    digit = (uint8_t)take(model, group == 3 ? 8 : 7);
    model->bit += (uint8_t)(of * low);
    for (;;) {
        for (digits = 0; digit >= radix; digits++)
            digit = (uint8_t)(digit - radix);
        if (!of--)
            break;
        digit = digits;
    }
    return (uint32_t)digit << low | take(model, low);
}

/* Return whether a test sends the row to the right. */
APART uint8_t goes_right(bh_model *model, bh_count test)
{
    uint32_t bits = HAS_GROUPS ? number_in_group(model, test) : number(model, TESTS, test);
    uint8_t width = (uint8_t)F(CODE_BITS);
    bh_count which;
    if (F(N_PAIRS)) {
        which = below(model, (bh_count)bits, F(N_PAIRS));
        if (HAS_GAPS)
            return model->answers[which >> 3] >> (which & 7) & 1;
        bits = number(model, PAIRS, which);
    }
    which = (bh_count)lowest(bits, width);
    bits >>= width;
    width = (uint8_t)F(FEATURE_BITS);
    return is_right(model, model->codes[below(model, (bh_count)lowest(bits, width), F(N_USED))], which,
                    (uint8_t)(bits >> width));
}

/* Return the leaf of a tree with n splits, from the first one on, or check them all. The k-th 1 among the shapes leads
 * to split k + 1, the k-th 0 to leaf k. */
APART bh_count walk(bh_model *model, bh_count first, bh_count n, uint8_t is_check)
{
    bh_count k, ones = 0, to = 0;
    cursor from;
    place(model, &from, SHAPES, first);
    if (n)
        to = goes_right(model, first);
    for (k = 0; k < 2 * n; k++) {
        uint8_t goes_on = next_bit(model, &from);
        if (ones < k >> 1) /* it would lead backwards */
            is_invalid(model);
        ones = (bh_count)(ones + goes_on);
        if (k == to || is_check) {
            if (goes_on)
                to = (bh_count)(2 * ones + goes_right(model, (bh_count)(first + ones)));
            else if (!is_check)
                return (bh_count)(k - ones);
        }
    }
    if (n && ones != n - 1)
        is_invalid(model);
    return 0;
}

/* Return which row of the table of values a leaf has. */
APART bh_count row_of(bh_model *model, bh_count leaf)
{
    return F(N_ENTRIES) ? below(model, (bh_count)number(model, LEAVES, leaf), F(N_ENTRIES)) : leaf;
}

/* Walk down all trees and add up their leaves; or, without scores, check them. */
APART void add_trees(bh_model *model, int32_t *scores)
{
    bh_count first = 0, leaf = 0, tree, column, n, k, at, n_leaves;
    for (tree = 0; tree < F(N_TREES); tree++) {
        seek(model, TREES, tree);
        n = (bh_count)(F(LEAST_INNER) + take_field(model, TREE_BITS));
        n = below(model, n, (bh_count)(F(N_INNER) - first + 1));
        column = below(model, take_field(model, COLUMN_BITS), F(N_COLUMNS));
        if (IS_SYMMETRIC) {
            at = 0;
            n_leaves = 1;
            for (k = 0; k < n; k++) {
                at = (bh_count)(2 * at + goes_right(model, (bh_count)(first + k)));
                n_leaves = (bh_count)(2 * n_leaves);
            }
        } else {
            n_leaves = (bh_count)(n + 1);
            at = walk(model, first, n, !scores);
        }
        at = row_of(model, (bh_count)(leaf + at));
        if (scores) {
            seek(model, VALUES, (bh_count)(at * F(N_VALUES)));
            for (k = 0; k < F(N_VALUES); k++, column++)
                scores[column] = (int32_t)((uint32_t)scores[column] + take_field(model, LEAF_BITS));
        }
        first = (bh_count)(first + n);
        leaf = (bh_count)(leaf + n_leaves);
    }
    if (first != F(N_INNER) || leaf != F(N_LEAVES))
        is_invalid(model);
}

const int32_t *bh_scores(bh_model *model, const float *x)
{
    int32_t *scores = model->scores;
    bh_count k;
    find_codes(model, x);
    if (HAS_GAPS)
        answer_all(model);
    for (k = 0; k < F(N_COLUMNS); k++)
        scores[k] = 0;
    add_trees(model, scores);
    for (k = 0; k < F(N_COLUMNS); k++) {
        uint32_t sum = (uint32_t)scores[k];
        if (F(FACTOR_BITS))
            sum *= number(model, FACTORS, k);
        scores[k] = (int32_t)(sum + model->base + take(model, seek(model, BASES, k)));
    }
    return scores;
}

/* Check the beginning, the length and the checksum. */
APART uint8_t check_bytes(bh_model *model, size_t size)
{
    uint32_t bits;
    uint8_t k;
    bh_count at;
    model->size = 21;
    model->bit = 0;
    if (size < 21)
        return BH_CUT_OFF;
    if (take(model, 24) != 0x4D4842) /* "BHM" */
        return BH_NOT_A_BLOB;
    if (take(model, 8) != 1)
        return BH_WRONG_VERSION;
    bits = take(model, 32);
    if (bits > size)
        return BH_CUT_OFF;
    if (bits >> 29 || bits > (bh_count)-1)
        return BH_TOO_LARGE;
    model->size = (bh_count)bits;
    bits = 0xFFFFFFFF;
    for (at = 0; at < model->size; at++) {
        bits ^= BH_BYTE(model->blob + at);
        for (k = 8; k; k--)
            bits = bits & 1 ? bits >> 1 ^ 0xEDB88320 : bits >> 1;
    }
    return bits == 0xDEBB20E3 ? BH_OK : BH_DAMAGED; /* what is left of a checksum behind what it is of */
}

/* Return the next field: groups of 7 bits, the lowest first, each with a bit that says whether another follows. */
APART uint32_t next_field(bh_model *model)
{
    uint32_t bits = 0;
    uint8_t shift, group = 0;
    for (shift = 0; shift < 32; shift = (uint8_t)(shift + 7)) {
        group = (uint8_t)take(model, 8);
        bits |= (uint32_t)(group & 127) << shift;
        if (group < 128)
            break;
    }
    if (shift > 27 && group > 15) /* more than 32 bits */
        model->error = BH_TOO_LARGE;
    return bits;
}

/* Read the fields, and check that each can be. */
APART uint8_t read_fields(bh_model *model)
{
    uint32_t bits, end;
    uint8_t k;
    model->bit = 8 * 8;
    bits = take(model, 32);
    if (bits - 1 >= 0x7F7FFFFF || (take(model, 32) << 1) >= 0xFF000000) /* a scale above 0, a base, both finite */
        return BH_INVALID;
    end = 8 * (take(model, 8) + 17);
    for (k = 0; k < N_FIELDS; k++) {
        uint8_t most = 0;
        bits = 0;
        if (k < N_WRITTEN && model->bit < end) {
            most = FLASH_BYTE(most_of + k);
            bits = next_field(model);
        }
        if (k == BASE || k == OFFSET) { /* may be negative */
            model->base = model->offset;
            model->offset = bits & 1 ? ~(bits >> 1) : bits >> 1;
            bits = 0;
        }
        if (bits > (most ? most : MOST))
            return most ? BH_INVALID : BH_TOO_LARGE;
        if (most && most < 5)
            bits *= 8;
        F(k) = (bh_count)bits;
    }
    k = HAS(REGRESSION) ? 1 << IDENTITY | 1 << EXP : 1 << IDENTITY | 1 << LOGISTIC | 1 << SOFTMAX | 1 << ISOLATION;
    if (model->error)
        return model->error;
    return model->bit != end || !F(N_CLASSES) || F(FLAGS) >> 14 || !(k >> (F(FLAGS) & LINK) & 1)
                   || (HAS(REGRESSION | ONE_SCORE) && F(N_CLASSES) > (HAS(REGRESSION) ? 1u : 2u))
               ? BH_INVALID
               : BH_OK;
}

/* Return how many bits tell numbers below a field apart. */
APART uint8_t bits_for(bh_model *model, uint8_t name)
{
    bh_count n = F(name);
    uint8_t bits = 0;
    if (n)
        for (n--; n; n >>= 1)
            bits++;
    return bits;
}

/* Find the counts and widths that follow from the fields. */
APART uint8_t derive_fields(bh_model *model)
{
    bh_count n = F(N_CLASSES);
    uint8_t bits;
    uint32_t n_numbers;
    if (HAS(ONE_SCORE))
        n = 1;
    F(N_COLUMNS) = n;
    if (HAS(ONE_VALUE)) {
        F(COLUMN_BITS) = bits_for(model, N_COLUMNS);
        n = 1;
    }
    F(N_VALUES) = n;
    F(TREE_AND_COLUMN) = (bh_count)(F(TREE_BITS) + F(COLUMN_BITS));
    if (HAS(SCALED))
        F(FACTOR_BITS) = 8;

    n = F(N_USED);
    F(N_IDS) = n;
    F(N_ORDERED) = (bh_count)(n - F(N_CATEGORICAL));
    bits = bits_for(model, N_FEATURES);
    if (F(N_CATEGORICAL)) /* of which a feature may be in use several times */
        F(ID_BITS) = bits ? bits : 1;
    else if (n < F(N_FEATURES))
        F(ID_BITS) = bits;
    if (HAS(MAP)) {
        F(ID_BITS) = 1;
        F(N_IDS) = F(N_FEATURES);
    }
    F(GRID_BITS) = bits_for(model, N_GRIDS);
    F(STEP_BITS) = 32;
    F(N_STEPS) = F(N_THRESHOLDS);
    if (!HAS(RANKS)) {
        F(N_THRESHOLDS) = 0;
        F(COUNT_BITS) = 0;
        F(STEP_BITS) = (bh_count)(F(SHIFT_BITS) + F(OFFSET_BITS) + F(SCALE_BITS));
        F(N_STEPS) = F(N_GRIDS) ? F(N_GRIDS) : F(N_ORDERED);
    }

    F(N_INNER) = (bh_count)(F(N_LEAVES) - F(N_TREES));
    F(SHAPE_BITS) = 2;
    if (HAS(SYMMETRIC)) {
        F(N_INNER) = F(N_LEVELS);
        F(SHAPE_BITS) = 0;
    }
    F(FEATURE_BITS) = bits_for(model, N_USED);
    F(SPLIT_BITS) = WHERE_MISSING == MISSING_SPLIT;
    bits = (uint8_t)(F(CODE_BITS) + F(FEATURE_BITS) + F(SPLIT_BITS));
    F(ASKED_BITS) = bits;
    F(TEST_BITS) = bits;
    F(N_ASKED) = F(N_PAIRS);
    if (F(N_PAIRS)) {
        F(PAIR_BITS) = bits_for(model, N_PAIRS);
        F(TEST_BITS) = F(PAIR_BITS);
    }
    if (F(ASK_BITS)) {
        F(ASKED_BITS) = 1;
        F(N_ASKED) = F(ASK_BITS);
    }
    F(ENTRY_BITS) = bits_for(model, N_ENTRIES);
    n = F(N_ENTRIES) ? F(N_ENTRIES) : F(N_LEAVES);
    n_numbers = (uint32_t)n * F(N_VALUES);
    if ((uint32_t)((n >> 8 >> 8) + 1) * F(N_VALUES) > 0xFFFF || n_numbers > MOST)
        return BH_TOO_LARGE;
    F(N_NUMBERS) = (bh_count)n_numbers;

    n = F(N_INNER);
    if (n > MOST / 2 || n > F(N_LEAVES) || n < F(N_USED) || (n && !F(N_USED)) || F(N_USED) < F(N_CATEGORICAL)
        || F(N_TREES) > n + 1 || (F(N_LEAVES) >> 10 >> 10 && HAS(SYMMETRIC)) || (F(ASK_BITS) && !F(N_PAIRS))
        || !F(LEAF_BITS) || F(ASKED_BITS) > 32 || F(TREE_AND_COLUMN) > 32)
        return BH_INVALID;
    return (!HAS_GAPS && F(ASK_BITS)) || (!HAS_GROUPS && F(GROUP)) || (!HAS_CATEGORIES && F(N_CATEGORICAL))
                   || (!IS_SYMMETRIC && HAS(SYMMETRIC)) || (!HAS_RANKS && HAS(RANKS) && F(N_ORDERED))
               ? BH_LEFT_OUT
               : BH_OK;
}

/* Find where all sections begin. */
APART uint8_t place_sections(bh_model *model)
{
    bh_count begin = (bh_count)(model->bit >> 3), n = F(N_INNER);
    uint32_t grouped = 0, bits;
    uint8_t k;
    if (HAS_GROUPS) {
        uint8_t of = F(GROUP) == 2 ? 2 : 3, digit_bits = F(GROUP) == 3 ? 8 : 7;
        uint8_t low = (uint8_t)(F(TEST_BITS) + of - 6);
        if (F(TEST_BITS) < 4 || F(TEST_BITS) > 25 || F(GROUP) > 3)
            return BH_INVALID;
        F(LOW_BITS) = low;
        grouped = (uint32_t)group_of(model, (bh_count)(n + of - 1)) * digit_bits + (uint32_t)n * low;
        F(TEST_BITS) = (bh_count)(digit_bits + of * low);
    }
    for (k = 0; k < N_SECTIONS; k++) {
        model->start[k] = begin;
        bits = (uint32_t)F(FLASH_BYTE(count_of + k)) * F(FLASH_BYTE(width_of + k));
        if (HAS_GROUPS && k == TESTS)
            bits = grouped;
        bits = (bits >> 3) + ((bits & 7) != 0);
        if (k == BASES && bits < 3)
            bits = 3;
        if (bits > (uint32_t)(model->size - begin))
            return BH_INVALID;
        begin = (bh_count)(begin + bits);
    }
    return begin + 4u == model->size ? BH_OK : BH_INVALID;
}

int bh_open(bh_model *model, const void *blob, size_t size, int32_t *scratch, size_t n_scratch)
{
    uint32_t n_words;
    bh_count n;
    model->blob = (const uint8_t *)blob;
    model->error = check_bytes(model, size);
    if (!model->error)
        model->error = read_fields(model);
    if (!model->error)
        model->error = derive_fields(model);
    if (!model->error)
        model->error = place_sections(model);
    if (model->error)
        return model->error;
    n_words = F(N_COLUMNS) + ((uint32_t)F(N_USED) + 1) / 2;
    model->n_scratch = n_words;
    if (HAS_GAPS)
        model->n_scratch += F(N_PAIRS) / 32 + 1;
    if (model->n_scratch > n_scratch)
        return BH_SMALL_SCRATCH;
    model->scores = scratch;
    model->codes = (bh_code *)(scratch + F(N_COLUMNS));
    model->answers = (uint8_t *)(scratch + n_words);
    find_codes(model, NULL);
    if (HAS_GAPS)
        answer_all(model);
    add_trees(model, NULL);
    for (n = F(N_LEAVES); n; n--)
        row_of(model, (bh_count)(n - 1));
    return model->error;
}

int bh_predict(bh_model *model, const float *x)
{
    const int32_t *scores = bh_scores(model, x);
    uint8_t is_one = F(N_COLUMNS) < F(N_CLASSES); /* the second class's, less the first's */
    bh_count k, best = 0;
    int32_t top = !is_one ? INT32_MIN : HAS(LAST_WINS) ? -1 : 0;
    for (k = 0; k < F(N_COLUMNS); k++)
        if (scores[k] > top) {
            top = scores[k];
            best = (bh_count)(k + is_one);
        }
    return (int)best;
}

/* Return the float at a place of the header: what a unit of a score is worth, or what is added to that. */
APART float header_float(bh_model *model, uint8_t at)
{
    union { uint32_t bits; float value; } both;
    model->bit = 8u * at;
    both.bits = take(model, 32);
    return both.value;
}

/* e^x, to the last bits of a float, without a library. */
static float exponential(float x)
{
    union { uint32_t bits; float value; } power;
    float rest, sum = 1;
    int32_t n;
    uint8_t k;
    if (!(x >= -87)) /* nor what is not a number */
        return 0;
    if (x > 88.72f)
        x = 88.72f;
    n = (int32_t)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
    rest = x - (float)n * 0.693359375f + (float)n * 2.12194440e-4f; /* less n times log(2), in two parts */
    for (k = 7; k; k--)
        sum = 1 + sum * rest / (float)k;
    power.bits = (uint32_t)(n + 126) << 23; /* and once more below, since 2^128 is no float */
    return sum * power.value * 2;
}

float bh_value(bh_model *model, const float *x)
{
    float score = (float)bh_scores(model, x)[0];
    score = header_float(model, 12) + score * header_float(model, 8);
    return (F(FLAGS) & LINK) == EXP ? exponential(score) : score;
}

void bh_proba(bh_model *model, const float *x, float *probabilities)
{
    const int32_t *scores = bh_scores(model, x);
    float scale = header_float(model, 8), second = (float)scores[0] * scale, sum = 0;
    uint8_t link = F(FLAGS) & LINK;
    bh_count k, n = F(N_COLUMNS), best = 0;
    if (n == 1) {
        if (link == ISOLATION)
            second = second < -1 ? 0 : 1 - exponential((-1 - second) * 0.693147181f);
        else if (link == LOGISTIC || link == SOFTMAX) {
            sum = exponential(second < 0 ? second : -second);
            second = (second < 0 ? sum : 1) / (1 + sum);
        } else
            second = (1 + second) / 2;
        probabilities[0] = second;
        if (F(N_CLASSES) > 1) {
            probabilities[0] = 1 - second;
            probabilities[1] = second;
        }
        return;
    }
    for (k = 1; k < n; k++)
        if (scores[k] > scores[best])
            best = k;
    for (k = 0; k < n; k++) {
        float score = (float)scores[k] * scale;
        if (link == SOFTMAX)
            score = exponential(-(float)((uint32_t)scores[best] - (uint32_t)scores[k]) * scale);
        probabilities[k] = score;
        sum += score;
    }
    if (link == SOFTMAX)
        for (k = 0; k < n; k++)
            probabilities[k] /= sum;
}

const char *bh_error_text(int error)
{
    switch (error) {
    case BH_OK: return "all is well";
    case BH_NOT_A_BLOB: return "it does not begin with BHM: it is no blob of a model";
    case BH_WRONG_VERSION: return "another version of Billhook wrote it: use the reader of that version";
    case BH_CUT_OFF: return "it is cut off";
    case BH_DAMAGED: return "it is damaged: its checksum is wrong";
    case BH_INVALID: return "it is no valid model";
    case BH_TOO_LARGE: return "it is too large for the numbers that this reader counts with";
    case BH_LEFT_OUT: return "it needs a part of the reader that was left out";
    case BH_SMALL_SCRATCH: return "it needs more scratch";
    default: return "there is no such error";
    }
}
