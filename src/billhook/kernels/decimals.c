#include "decimals.h"

#include <math.h>
#include <string.h>

enum {
    MOST_DIGITS = 19,     /* any number of so many digits is below 2^64 */
    MOST_EXPONENT = 27,   /* 5^27 is the last power of five below 2^63 */
    MOST_WRITTEN = 9999,  /* of an exponent, before fraction digits are counted in */
    DROPPED = 64 - 53,    /* bits of a word that float64 has no room for */
    EXPONENT_BIAS = 1023,
};

static const uint64_t FIVE_TO[MOST_EXPONENT + 1] = {
    1u,
    5u,
    25u,
    125u,
    625u,
    3125u,
    15625u,
    78125u,
    390625u,
    1953125u,
    9765625u,
    48828125u,
    244140625u,
    1220703125u,
    6103515625u,
    30517578125u,
    152587890625u,
    762939453125u,
    3814697265625u,
    19073486328125u,
    95367431640625u,
    476837158203125u,
    2384185791015625u,
    11920928955078125u,
    59604644775390625u,
    298023223876953125u,
    1490116119384765625u,
    7450580596923828125u,
};

/* A number that is not 0: `word` * 2^exponent, and a little more if `has_more`. */
typedef struct {
    uint64_t word;
    int exponent;
    int has_more;
} Binary;

/* Return by how many places a word that is not 0 can be shifted left. */
INLINE int room_above(uint64_t word)
{
    int places = 0;
    for (int step = 32; step > 0; step /= 2)
        if (word >> (64 - step) == 0) {
            word <<= step;
            places += step;
        }
    return places;
}

/* Return a * b, exactly but for what is below the 64 bits from its first one on. */
INLINE Binary product(uint64_t a, uint64_t b)
{
    const uint64_t half = UINT32_MAX;
    const uint64_t low = (a & half) * (b & half);
    const uint64_t middle = (a >> 32) * (b & half) + (low >> 32);
    const uint64_t other = (a & half) * (b >> 32) + (middle & half);
    const uint64_t high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
    const uint64_t rest = other << 32 | (low & half);
    if (high == 0)
        return (Binary){rest, 0, 0};
    const int shift = room_above(high);
    if (shift == 0)
        return (Binary){high, 64, rest != 0};
    return (Binary){high << shift | rest >> (64 - shift), 64 - shift, rest << shift != 0};
}

/* Return a digit, to the base of 2^32, of a division by hand; the remainder so far, below the divisor, becomes the
   next one. The first bit of the divisor is set. */
INLINE uint64_t digit_of_quotient(uint64_t *remainder, uint64_t next, uint64_t divisor)
{
    const uint64_t first = divisor >> 32, second = divisor & UINT32_MAX;
    /* Of the divisor only the first half: too large by two at most. */
    uint64_t digit = *remainder / first, left = *remainder % first;
    while (digit > UINT32_MAX || digit * second > (left << 32 | next)) {
        digit--;
        left += first;
        if (left > UINT32_MAX)
            break;
    }
    *remainder = (*remainder << 32 | next) - digit * divisor;
    return digit;
}

/* Return a / b, neither being 0, exactly but for what is below 62 bits or more. */
INLINE Binary quotient(uint64_t a, uint64_t b)
{
    const int shift_a = room_above(a), shift_b = room_above(b);
    a <<= shift_a;
    b <<= shift_b;
    /* 2^63 * a: its upper half is below b, so that the quotient has 64 bits. */
    uint64_t remainder = a >> 1;
    const uint64_t high = digit_of_quotient(&remainder, (a & 1) << 31, b);
    const uint64_t low = digit_of_quotient(&remainder, 0, b);
    return (Binary){high << 32 | low, shift_b - shift_a - 63, remainder != 0};
}

/* Return the nearest float64 number, of two the even one; it is neither too large nor too small for one. */
INLINE double rounded(Binary number, int is_negative)
{
    const int shift = room_above(number.word);
    const uint64_t word = number.word << shift, half = (uint64_t)1 << (DROPPED - 1);
    const uint64_t dropped = word & (2 * half - 1);
    uint64_t kept = word >> DROPPED;
    kept += dropped > half || (dropped == half && (number.has_more || (kept & 1)));
    /* The first bit of 53 is not written; where rounding made it 54, it adds one to the exponent as it should. */
    const uint64_t exponent = (uint64_t)(number.exponent - shift + DROPPED + 52 + EXPONENT_BIAS);
    const uint64_t bits = ((exponent - 1) << 52) + kept + ((uint64_t)(is_negative != 0) << 63);
    double result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

INLINE int is_digit(uint8_t letter) { return letter >= '0' && letter <= '9'; }

/* Return the exponent written at `from`, and where it ends; `from` itself if there is none. */
static int written_exponent(const uint8_t *from, const uint8_t *end, const uint8_t **to)
{
    const uint8_t *at = from + 1;
    const int is_negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    const uint8_t *first = at;
    int exponent = 0;
    for (; at < end && is_digit(*at); at++)
        if (exponent <= MOST_WRITTEN)
            exponent = 10 * exponent + (*at - '0');
    *to = at > first ? at : from;
    return is_negative ? -exponent : exponent;
}

/* Return the number from `at` to `end`, or NaN. */
INLINE double decimal(const uint8_t *at, const uint8_t *end)
{
    const int is_negative = at < end && *at == '-';
    at += is_negative;
    uint64_t digits = 0;
    ptrdiff_t n_fraction = 0;
    int n_digits = 0, exponent = 0, has_any = 0, has_point = 0;
    for (; at < end; at++) {
        if (is_digit(*at)) {
            has_any = 1;
            n_fraction += has_point;
            n_digits += n_digits > 0 || *at != '0';
            if (n_digits > MOST_DIGITS)
                return NAN;
            digits = 10 * digits + (uint64_t)(*at - '0');
        } else if (*at == '.' && !has_point) {
            has_point = 1;
        } else {
            break;
        }
    }
    if (has_any && at < end && (*at == 'e' || *at == 'E'))
        exponent = written_exponent(at, end, &at);
    if (!has_any || at < end)
        return NAN;
    if (digits == 0)
        return is_negative ? -0.0 : 0.0;
    if (exponent - n_fraction < -MOST_EXPONENT || exponent - n_fraction > MOST_EXPONENT)
        return NAN;
    exponent -= (int)n_fraction;
    Binary number = exponent < 0 ? quotient(digits, FIVE_TO[-exponent]) : product(digits, FIVE_TO[exponent]);
    number.exponent += exponent; /* ten is five times two */
    return rounded(number, is_negative);
}

/* Return where the word that begins at `at` ends. */
INLINE const uint8_t *end_of_word(const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at != ' ')
        at++;
    return at;
}

size_t read_decimals(const uint8_t *text, size_t length, double *number, size_t room)
{
    const uint8_t *at = text, *end = text + length;
    for (size_t n = 0;; n++) {
        const uint8_t *word_end = end_of_word(at, end);
        if (n == room)
            return room + 1;
        number[n] = decimal(at, word_end);
        if (word_end == end)
            return n + 1;
        at = word_end + 1;
    }
}

/* Return whether there is a whole number from `at` to `end`, and which. */
INLINE int is_integer(const uint8_t *at, const uint8_t *end, int64_t *number)
{
    const int is_negative = at < end && *at == '-';
    at += is_negative;
    if (at == end)
        return 0;
    uint64_t digits = 0;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return 0;
        const uint64_t digit = (uint64_t)(*at - '0');
        digits = digits > (INT64_MAX - digit) / 10 ? INT64_MAX : 10 * digits + digit;
    }
    *number = is_negative ? -(int64_t)digits : (int64_t)digits;
    return 1;
}

ptrdiff_t read_integers(const uint8_t *text, size_t length, int64_t *number, size_t room)
{
    const uint8_t *at = text, *end = text + length;
    for (size_t n = 0;; n++) {
        const uint8_t *word_end = end_of_word(at, end);
        if (n == room)
            return (ptrdiff_t)room + 1;
        if (!is_integer(at, word_end, &number[n]))
            return -1;
        if (word_end == end)
            return (ptrdiff_t)n + 1;
        at = word_end + 1;
    }
}
