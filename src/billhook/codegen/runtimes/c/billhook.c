#include "billhook.h"

#ifndef BH_BYTE
#if defined(__AVR__) && !defined(BH_RAM)
#include <avr/pgmspace.h>
#define BH_BYTE(at) pgm_read_byte(at)
#else
#define BH_BYTE(at) (*(at))
#endif
#endif

/* What is left out is behind a condition that is never true: the compiler drops it. */
#ifndef BH_NO_MULTICLASS
#define BH_NO_MULTICLASS 0
#endif
#ifndef BH_NO_RANKS
#define BH_NO_RANKS 0
#endif
#ifndef BH_NO_STEPS
#define BH_NO_STEPS 0
#endif
#ifndef BH_NO_KEYS
#define BH_NO_KEYS 0
#endif
#ifndef BH_NO_CATEGORIES
#define BH_NO_CATEGORIES 0
#endif
#ifndef BH_NO_MISSING
#define BH_NO_MISSING 0
#endif
#ifndef BH_NO_SYMMETRIC
#define BH_NO_SYMMETRIC 0
#endif
#ifndef BH_NO_FACTORS
#define BH_NO_FACTORS 0
#endif
#ifndef BH_NO_PROJECTIONS
#define BH_NO_PROJECTIONS 0
#endif
#ifndef BH_NO_FLOATS
#define BH_NO_FLOATS 0
#endif
#ifndef BH_NO_VALUES
#define BH_NO_VALUES 0
#endif
#ifndef BH_NO_PROBABILITIES
#define BH_NO_PROBABILITIES 0
#endif
#ifndef BH_NO_CHECKSUM
#define BH_NO_CHECKSUM 0
#endif

/* Where one is defined as nothing, two signs come together. */
#if 1 - BH_NO_MULTICLASS - 1 == 2 \
    || 1 - BH_NO_RANKS - 1 == 2 \
    || 1 - BH_NO_STEPS - 1 == 2 \
    || 1 - BH_NO_KEYS - 1 == 2 \
    || 1 - BH_NO_CATEGORIES - 1 == 2 \
    || 1 - BH_NO_MISSING - 1 == 2 \
    || 1 - BH_NO_SYMMETRIC - 1 == 2 \
    || 1 - BH_NO_FACTORS - 1 == 2 \
    || 1 - BH_NO_PROJECTIONS - 1 == 2 \
    || 1 - BH_NO_FLOATS - 1 == 2 \
    || 1 - BH_NO_VALUES - 1 == 2 \
    || 1 - BH_NO_PROBABILITIES - 1 == 2 \
    || 1 - BH_NO_CHECKSUM - 1 == 2
#error "define BH_NO_... as 1: #define BH_NO_RANKS 1"
#endif

/* Functions that would otherwise be copied to where they are called from, at the cost of a larger program. */
#if defined(__OPTIMIZE_SIZE__) || defined(__AVR__)
#define APART static __attribute__((noinline))
#else
#define APART static
#endif

/* Sections of a blob, in their order; `_blob_sections.py` says what each has. Before them are the header and two
 * tables: how many bits the numbers of each section take, and how many there are. */
enum {
    FEATURES, KINDS, SHIFTS, BEGINS, SCALES, KEYS, CATEGORIES, TREES, COLUMNS, SIZES, NUMBERS, TESTED, CODES, MISSING,
    LEAVES, VALUES, FACTORS, BASES, N_SECTIONS, WIDTHS = N_SECTIONS, COUNTS,
    LOWS = KEYS, WEIGHTS = CATEGORIES, TURNS = MISSING /* of projections, beside which there are none of these */
};
enum { HEADER = 12, WIDTH_BITS = 6, WIDTH_BYTES = 14, CHECKSUM = 4 };
enum { LAST_WINS = 1, NO_MISSING = 4, ONE_VALUE = 8, TWO_CLASSES = 16 };
enum { SHARE, LOGISTIC, SOFTMAX, ISOLATION, NUMBER, AMOUNT, N_KINDS }; /* of answers; from NUMBER on, of regression */
enum { RANKS, CATEGORICAL, BY_KEYS = 34 };
enum { WEIGHT_BITS = 8, TURN_BITS = 5 };
#define MISSING_CODE 0xFFFF

/* Return a number of a section. Nothing else reads the blob, but for its checksum and
 * the bytes of its header. What is read of it is in the
 * section, or behind it and not behind the checksum. */
APART uint32_t number(bh_model *model, uint8_t which, bh_count index)
{
    uint8_t width = model->width[which], low;
    uint32_t bits = (uint32_t)index * width;
    const uint8_t *at = model->blob + model->begin[which];
    if (index >= model->count[which]) {
        model->error = BH_INVALID;
        return 0;
    }
    low = bits & 7;
    at += (bh_count)(bits >> 3);
#if defined(__AVR__) /* where shifts by several bits are loops, and longer ones */
    {
        uint8_t byte = (uint8_t)(BH_BYTE(at) << low);
        low = (uint8_t)(8 - low);
        bits = 0;
        for (; width; width--) {
            bits <<= 1;
            if (byte & 0x80)
                bits |= 1;
            byte = (uint8_t)(byte << 1);
            if (!--low) {
                at++;
                byte = BH_BYTE(at);
                low = 8;
            }
        }
        return bits;
    }
#else
    bits = (uint32_t)BH_BYTE(at) << 24 | (uint32_t)BH_BYTE(at + 1) << 16 | (uint32_t)BH_BYTE(at + 2) << 8;
    bits = (bits | BH_BYTE(at + 3)) << low;
    return width ? bits >> ((32 - width) & 31) : 0;
#endif
}

/* Return a number that counts something. */
APART bh_count number_of(bh_model *model, uint8_t which, bh_count index)
{
    uint32_t bits = number(model, which, index);
    if (bits > (bh_count)-1)
        model->error = BH_TOO_LARGE;
    return (bh_count)bits;
}

/* Return a number that may be negative, and is written as many higher as its highest bit says. */
APART int32_t signed_number(bh_model *model, uint8_t which, bh_count index)
{
    return (int32_t)(number(model, which, index) - ((uint32_t)1 << ((model->width[which] - 1) & 31)));
}

/* How many of what splits may test there are: features in use, and projections behind them. */
static bh_count n_tested(const bh_model *model)
{
    return BH_NO_PROJECTIONS ? model->count[FEATURES] : model->n_tested;
}

#if BH_NO_FLOATS
/* Return -x 2^(150 - shift), rounded down, of a whole number of up to 16 bits. */
APART int32_t fixed_point(uint32_t whole, uint8_t shift)
{
    int32_t fixed = -(int32_t)whole;
    for (; shift > 150; shift--)
        fixed >>= 1;
    for (; shift < 150 && fixed < 0x20000000 && fixed > -0x20000000; shift++)
        fixed = (int32_t)((uint32_t)fixed << 1);
    return fixed;
}
#else
/* Return -x 2^(150 - shift), rounded down, of the float that these bits are. */
APART int32_t fixed_point(uint32_t bits, uint8_t shift)
{
    uint8_t power = (uint8_t)(bits >> 23);
    int32_t fixed = (int32_t)(bits << 9 >> 9);
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
#endif

/* A whole number of up to 24 bits as a float. */
APART uint32_t bits_of_whole(int32_t x)
{
    uint32_t bits = (uint32_t)x;
    uint8_t power = 150;
    if (!x)
        return 0;
    if (x < 0)
        bits = 0 - bits;
    for (; bits < 0x800000; bits <<= 1)
        power--;
    return (uint32_t)(x < 0) << 31 | (uint32_t)power << 23 | (bits - 0x800000);
}

/* Return a whole number in the order of the floats. */
APART uint32_t key_of(uint32_t bits)
{
    if (BH_NO_FLOATS)
        bits = bits_of_whole((int32_t)bits);
    return bits >> 31 && bits != 0x80000000 ? ~bits : bits | 0x80000000;
}

/* Return the highest code of as many bits as the numbers of a section have, but for that of a missing value. */
APART uint16_t highest_code(const bh_model *model, uint8_t which)
{
    uint8_t width = model->width[which] & 31;
    return (uint16_t)((1UL << width) - 1 - (width >> 4));
}

/* Return the code of a value, in one of three ways: how many thresholds of the feature lie below it; that of the
 * category that it is, cut off towards zero, and the highest if there is none; or by steps,
 * floor((ceil(x 2^(150 - shift)) - begin) scale / 2^(31 - bits)). */
APART uint16_t code_of(bh_model *model, uint32_t bits, bh_count kind)
{
    uint8_t shift = (uint8_t)number(model, SHIFTS, kind), width;
    uint32_t begin = number(model, BEGINS, kind);
    bh_count n = number_of(model, SCALES, kind), half;
    uint16_t code = 0, highest;
    if (shift == RANKS ? BH_NO_RANKS : shift == CATEGORICAL ? BH_NO_CATEGORIES : shift < BY_KEYS ? BH_NO_KEYS
        : BH_NO_STEPS)
        model->error = BH_LEFT_OUT;
    if (shift <= CATEGORICAL && !(BH_NO_RANKS && BH_NO_CATEGORIES)) {
        half = model->count[KEYS + shift];
        if (begin > half || n > half - (bh_count)begin || n_tested(model) > model->count[FEATURES])
            model->error = BH_INVALID;
    }
    /* What is not a number is an infinity of its sign, where there are no missing values. */
    if (!BH_NO_FLOATS && bits << 1 > 0xFF000000) {
        if (!BH_NO_MISSING && !(model->flags & NO_MISSING))
            return MISSING_CODE;
        bits = bits >> 23 << 23;
    }
    if (!BH_NO_RANKS && shift == RANKS) {
        bits = key_of(bits);
        while (n) {
            half = n >> 1;
            if (number(model, KEYS, (bh_count)(begin + half)) < bits) {
                half++;
                begin += half;
                code = (uint16_t)(code + half);
                half = (bh_count)(n - half);
            }
            n = half;
        }
        return code;
    }
    width = !BH_NO_CATEGORIES && shift == CATEGORICAL ? CATEGORIES : CODES;
    highest = highest_code(model, width);
    width = model->width[width] & 31;
    if (!BH_NO_CATEGORIES && shift == CATEGORICAL) {
        uint32_t category = BH_NO_FLOATS ? bits : (uint32_t)fixed_point(bits | 0x80000000, 150);
        if (category >= n || (category && bits >> 31))
            return highest;
        return (uint16_t)number(model, CATEGORIES, (bh_count)(begin + category));
    }
    if (BH_NO_STEPS && BH_NO_KEYS)
        return 0;
    if (BH_NO_STEPS || (!BH_NO_KEYS && shift < BY_KEYS))
        bits = key_of(bits) >> (shift & 31);
    else
        bits = 0 - (uint32_t)fixed_point(bits, shift);
    bits -= begin;
    if (bits >> 31)
        return 0;
    code = bits >> 16 ? 0xFFFF : (uint16_t)bits;
    if (n)
        code = (uint16_t)((uint32_t)code * (uint16_t)n >> (31 - width));
    return code < highest ? code : highest;
}

/* What a row has for a feature: the bits of a float or, with BH_NO_FLOATS, a whole number. Where there is no row, all
 * bits, which are not a number. */
typedef uint32_t bits_of_feature(const void *x, bh_count feature);

static uint32_t bits_of_nothing(const void *x, bh_count feature)
{
    (void)x;
    (void)feature;
    return 0xFFFFFFFF;
}

#if !BH_NO_FLOATS
static uint32_t bits_of_float(const void *x, bh_count feature)
{
    union { float value; uint32_t bits; } both;
    both.value = ((const float *)x)[feature];
    return both.bits;
}
#endif

static uint32_t bits_of_int16(const void *x, bh_count feature)
{
    int32_t whole = ((const int16_t *)x)[feature];
    return BH_NO_FLOATS ? (uint32_t)whole : bits_of_whole(whole);
}

static uint32_t bits_of_uint8(const void *x, bh_count feature)
{
    uint8_t whole = ((const uint8_t *)x)[feature];
    return BH_NO_FLOATS ? whole : bits_of_whole(whole);
}

/* Return the sum of codes times the weights of a projection, which begin here; if there is a highest code, the largest
 * that such a sum can be: that of the highest code times the weights without their signs. */
APART uint32_t sum_of(bh_model *model, bh_count weight, uint16_t highest)
{
    const bh_code *code = model->codes;
    uint32_t sum = 0;
    bh_count n;
    for (n = model->count[FEATURES]; n; n--) {
        int16_t times = (int16_t)signed_number(model, WEIGHTS, weight);
        uint16_t of = *code;
        if (highest) {
            of = highest;
            if (times < 0)
                times = (int16_t)-times;
        }
        sum += (uint32_t)((int32_t)times * of);
        if (highest && sum >> 31)
            model->error = BH_INVALID;
        code++;
        weight++;
    }
    return sum;
}

/* Find the codes of projections: sums, shifted down, less the lowest, cut off at both ends. At first, see to it that
 * no row has a sum that does not fit. */
static void project(bh_model *model, uint8_t is_first)
{
    bh_count k, weight = 0, which = 0;
    if ((uint8_t)(model->width[WEIGHTS] - 1) >= WEIGHT_BITS || model->width[TURNS] > TURN_BITS) {
        model->error = BH_INVALID;
        return;
    }
    for (k = model->count[FEATURES]; k < model->n_tested; k++) {
        uint16_t highest = highest_code(model, CODES);
        int32_t sum = (int32_t)sum_of(model, weight, is_first ? highest : 0);
        int32_t low = signed_number(model, LOWS, which);
        if (is_first && low > 0)
            low = -low;
        if (is_first && ((uint32_t)sum - (uint32_t)low) >> 31)
            model->error = BH_INVALID;
        if (model->error)
            return;
        sum = (int32_t)((uint32_t)(sum >> (number(model, TURNS, which) & 31)) - (uint32_t)low);
        model->codes[k] = sum < 0 ? 0 : sum > highest ? highest : (uint16_t)sum;
        weight = (bh_count)(weight + model->count[FEATURES]);
        which++;
    }
    if (weight != model->count[WEIGHTS] || which != model->count[LOWS])
        model->error = BH_INVALID;
}

/* Turn the features of a row into codes. */
static void find_codes(bh_model *model, bits_of_feature *bits_of, const void *x)
{
    bh_count k, feature = 0;
    for (k = 0; k < model->count[FEATURES]; k++) {
        feature = (bh_count)(feature + number_of(model, FEATURES, k));
        if (feature >= model->n_features) {
            model->error = BH_INVALID;
            break;
        }
        model->codes[k] = code_of(model, bits_of(x, feature), number_of(model, KINDS, k));
    }
    if (n_tested(model) != model->count[FEATURES])
        project(model, bits_of == bits_of_nothing);
}

/* Return whether a split, or a level, sends the row to the right. */
APART uint8_t goes_right(bh_model *model, bh_count split)
{
    bh_count feature;
    uint16_t code, highest;
    if (model->count[NUMBERS])
        split = number_of(model, NUMBERS, split);
    feature = number_of(model, TESTED, split);
    highest = (uint16_t)number(model, CODES, split);
    if (feature >= n_tested(model)) {
        model->error = BH_INVALID;
        return 0;
    }
    code = model->codes[feature];
    if (!BH_NO_FLOATS && !BH_NO_MISSING && code == MISSING_CODE && model->count[MISSING])
        return (uint8_t)number(model, MISSING, split);
    return code > highest;
}

/* How many scores there are, and how many of them a leaf adds to. */
static bh_count n_scores(const bh_model *model) { return BH_NO_MULTICLASS ? 1 : model->n_scores; }

static bh_count n_values(const bh_model *model) { return BH_NO_MULTICLASS ? 1 : model->n_values; }

/* Return where the values of a leaf begin. */
APART bh_count values_of(bh_model *model, bh_count leaf)
{
    if (model->count[LEAVES])
        leaf = number_of(model, LEAVES, leaf);
    leaf = (bh_count)(1u * leaf * n_values(model));
    if (leaf > model->count[VALUES] - n_values(model))
        model->error = BH_INVALID;
    return leaf;
}

/* Return the leaf of a tree with n splits, which stand from one on. Behind a split come those on its left, then those
 * on its right: all that must be known is how many the left ones are. In symmetric trees they are half of them, and
 * what a level asks stands once. */
static bh_count walk(bh_model *model, bh_count split, bh_count n)
{
    bh_count leaf = 0, on_left;
    while (n) {
        on_left = number_of(model, SIZES, split);
        n--;
        if (!BH_NO_SYMMETRIC && !model->width[SIZES])
            on_left = n >> 1;
        if (on_left > n)
            on_left = n;
        if (goes_right(model, split)) {
            leaf = (bh_count)(leaf + on_left + 1);
            n = (bh_count)(n - on_left);
            if (BH_NO_SYMMETRIC || model->width[SIZES])
                split = (bh_count)(split + on_left);
        } else
            n = on_left;
        split++;
    }
    return leaf;
}

/* Add up the leaves of all trees, and return how many splits, or levels, there are. */
static bh_count add_trees(bh_model *model)
{
    bh_count split = 0, tree, leaf = 0, n, at;
    for (tree = 0; tree < model->count[TREES]; tree++) {
        int32_t *to = model->scores;
        if (!BH_NO_MULTICLASS) {
            n = number_of(model, COLUMNS, tree);
            if (n > model->n_scores - model->n_values)
                model->error = BH_INVALID;
            to += n;
        }
        n = number_of(model, TREES, tree);
        if (n > model->count[SIZES] - (bh_count)(leaf - tree))
            model->error = BH_INVALID;
        if (model->error)
            break;
        at = values_of(model, (bh_count)(leaf + walk(model, split, n)));
        leaf = (bh_count)(leaf + n + 1);
        if (BH_NO_SYMMETRIC || model->width[SIZES])
            split = (bh_count)(split + n);
        else
            for (; n; n >>= 1)
                split++;
        for (n = n_values(model); n; n--, at++) {
            *to = (int32_t)((uint32_t)*to + number(model, VALUES, at));
            to++;
        }
    }
    return split;
}

/* Find the scores of a row, and return how many splits, or levels, there are. */
APART bh_count find_scores(bh_model *model, bits_of_feature *bits_of, const void *x)
{
    bh_count k, n_splits;
    find_codes(model, bits_of, x);
    for (k = 0; k < n_scores(model); k++)
        model->scores[k] = 0;
    n_splits = add_trees(model);
    for (k = 0; k < n_scores(model); k++) {
        uint32_t sum = (uint32_t)model->scores[k];
        if (!BH_NO_FACTORS)
            sum *= (uint16_t)(number_of(model, FACTORS, k) + 1);
        model->scores[k] = (int32_t)(sum + number(model, BASES, k));
    }
    return n_splits;
}

#if !BH_NO_FLOATS
const int32_t *bh_scores(bh_model *model, const float *x)
{
    find_scores(model, bits_of_float, x);
    return model->scores;
}
#endif

/* Check the checksum. */
static uint8_t is_damaged(const uint8_t *at, bh_count size)
{
    uint32_t bits = 0xFFFFFFFF;
    uint8_t k, out;
    for (; size; size--, at++) {
        bits ^= BH_BYTE(at);
        for (k = 8; k; k--) {
            out = bits & 1;
            bits >>= 1;
            if (out)
                bits ^= 0xEDB88320;
        }
    }
    return bits != 0xDEBB20E3; /* what is left of a checksum behind what it is of */
}

/* Place a section behind the last one. */
APART void place(bh_model *model, uint8_t which, uint8_t width, bh_count count)
{
    uint32_t bytes = ((uint32_t)count * width + 7) >> 3;
    /* A number without bits stands beside others that have some. */
    if ((uint32_t)count >> 26 || bytes > model->left || (sizeof(bh_count) > 2 && count >> 3 > model->end)) {
        model->error = BH_INVALID;
        count = 0;
        bytes = 0;
    }
    model->width[which] = width;
    model->count[which] = count;
    model->begin[which] = (bh_count)(model->end - model->left);
    model->left = (bh_count)(model->left - bytes);
}

/* Find where all sections begin. */
static uint8_t find_sections(bh_model *model, size_t size)
{
    uint32_t bits;
    uint8_t k;
    model->error = BH_OK;
    model->end = model->left = HEADER + CHECKSUM;
    if (size < HEADER + CHECKSUM)
        return BH_CUT_OFF;
    place(model, COUNTS, 32, HEADER / 4);
    bits = number(model, COUNTS, 0) ^ 0x42484D01; /* "BHM", version 1 */
    if (bits)
        return bits >> 8 ? BH_NOT_A_BLOB : BH_WRONG_VERSION;
    bits = number(model, COUNTS, 1);
    if (bits > size || bits < HEADER + CHECKSUM)
        return BH_CUT_OFF;
    if (bits > (bh_count)-1)
        return BH_TOO_LARGE;
    if (!BH_NO_CHECKSUM && is_damaged(model->blob, (bh_count)bits))
        return BH_DAMAGED;
    model->end = (bh_count)(bits - CHECKSUM);
    model->left = (bh_count)(model->end - HEADER);
    model->flags = BH_BYTE(model->blob + 8);
    model->kind = BH_BYTE(model->blob + 9);
    place(model, WIDTHS, WIDTH_BITS, N_SECTIONS);
    place(model, COUNTS, BH_BYTE(model->blob + 10), N_SECTIONS);
    for (k = 0; k < N_SECTIONS; k++)
        place(model, k, (uint8_t)number(model, WIDTHS, k), number_of(model, COUNTS, k));
    if (model->left || BH_BYTE(model->blob + 11))
        model->error = BH_INVALID;
    return model->error;
}

int bh_open(bh_model *model, const void *blob, size_t size, int32_t *scratch, size_t n_scratch)
{
    bh_count n, k;
    model->blob = (const uint8_t *)blob;
    model->error = find_sections(model, size);
    if (model->error)
        return model->error;
    n = (bh_count)(model->count[BASES] - 3);
    model->n_scores = n;
    model->n_values = model->flags & ONE_VALUE ? 1 : n;
    model->n_features = number_of(model, BASES, n);
    if (!BH_NO_PROJECTIONS)
        model->n_tested = (bh_count)(model->count[FEATURES] + (model->flags & NO_MISSING ? model->count[TURNS] : 0));
    model->n_scratch = n + ((uint32_t)n_tested(model) + 1) / 2;
    if (model->count[BASES] < 4 || model->kind >= N_KINDS
        /* One score for two classes, and regression, are two things, of one score; above are no flags. */
        || (model->flags >> 4) + (model->kind >> 2) > (n == 1)
        || model->count[VALUES] < model->n_values
        || (sizeof(bh_count) < 4
            && ((bh_count)(model->count[TREES] + model->count[SIZES]) < model->count[SIZES]
                || n_tested(model) < model->count[FEATURES])))
        return model->error = BH_INVALID;
    if ((BH_NO_MISSING && !(model->flags & NO_MISSING))
        || (BH_NO_PROJECTIONS && (model->flags & NO_MISSING) && model->count[TURNS])
        || (BH_NO_SYMMETRIC && model->count[SIZES] && !model->width[SIZES])
        || (BH_NO_MULTICLASS && (n > 1 || model->width[COLUMNS] || model->count[COLUMNS] < model->count[TREES]))
        || (BH_NO_FACTORS && (model->width[FACTORS] || model->count[FACTORS] < n)))
        return model->error = BH_LEFT_OUT;
    if (model->n_scratch > n_scratch)
        return BH_SMALL_SCRATCH;
    model->scores = scratch;
    model->codes = (bh_code *)(scratch + n);
    /* All that a row may read is read once. */
    n = find_scores(model, bits_of_nothing, 0);
    for (k = 0; k < model->count[SIZES] + model->count[TREES]; k++) {
        values_of(model, k);
        if (k < n)
            goes_right(model, k);
    }
    return model->error;
}

/* Return the number of the class with the highest of the scores that were found last. */
static bh_count best_class(const bh_model *model)
{
    const int32_t *best = model->scores, *score = best;
    bh_count k, n = model->n_scores;
    if (model->flags & TWO_CLASSES)
        return *best >= (model->flags & LAST_WINS ? 0 : 1);
    if (!BH_NO_MULTICLASS)
        for (k = n; --k;)
            if (*++score > *best)
                best = score;
    return (bh_count)(best - model->scores);
}

const int32_t *bh_scores_int16(bh_model *model, const int16_t *x)
{
    find_scores(model, bits_of_int16, x);
    return model->scores;
}

const int32_t *bh_scores_uint8(bh_model *model, const uint8_t *x)
{
    find_scores(model, bits_of_uint8, x);
    return model->scores;
}

int bh_predict_int16(bh_model *model, const int16_t *x)
{
    bh_scores_int16(model, x);
    return (int)best_class(model);
}

int bh_predict_uint8(bh_model *model, const uint8_t *x)
{
    bh_scores_uint8(model, x);
    return (int)best_class(model);
}

#if !BH_NO_FLOATS
int bh_predict(bh_model *model, const float *x)
{
    bh_scores(model, x);
    return (int)best_class(model);
}
#endif

#if !BH_NO_FLOATS && !(BH_NO_VALUES && BH_NO_PROBABILITIES)
/* Return a float behind the number of features: what a unit of a score is worth, or what is added to that. */
APART float float_of(bh_model *model, uint8_t which)
{
    union { uint32_t bits; float value; } both;
    both.bits = number(model, BASES, (bh_count)(model->n_scores + which));
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

#if !BH_NO_VALUES
float bh_value(bh_model *model, const float *x)
{
    float score = (float)bh_scores(model, x)[0];
    score = float_of(model, 2) + score * float_of(model, 1);
    return model->kind == AMOUNT ? exponential(score) : score;
}
#endif

#if !BH_NO_PROBABILITIES
void bh_proba(bh_model *model, const float *x, float *probabilities)
{
    const int32_t *scores = bh_scores(model, x);
    float scale = float_of(model, 1), second = (float)scores[0] * scale, sum = 0;
    uint8_t kind = model->kind;
    bh_count k, n = model->n_scores, best = 0;
    if (n == 1) {
        if (kind == ISOLATION)
            second = second < -1 ? 0 : 1 - exponential((-1 - second) * 0.693147181f);
        else if (kind == LOGISTIC || kind == SOFTMAX) {
            sum = exponential(second < 0 ? second : -second);
            second = (second < 0 ? sum : 1) / (1 + sum);
        } else
            second = (1 + second) / 2;
        probabilities[0] = second;
        if (BH_N_CLASSES(model) > 1) {
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
        if (kind == SOFTMAX)
            score = exponential(-(float)((uint32_t)scores[best] - (uint32_t)scores[k]) * scale);
        probabilities[k] = score;
        sum += score;
    }
    if (kind == SOFTMAX)
        for (k = 0; k < n; k++)
            probabilities[k] /= sum;
}
#endif
#endif

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
    case BH_SMALL_SCRATCH: return "it needs more scratch";
    case BH_LEFT_OUT: return "this reader was compiled without what it needs";
    default: return "there is no such error";
    }
}
