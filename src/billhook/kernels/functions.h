/* exp and log that a loop takes several of at once, with the same bits on every platform and instruction set. */

#ifndef BILLHOOK_FUNCTIONS_H
#define BILLHOOK_FUNCTIONS_H

#include "kernels.h"

#include <string.h>

INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Return exp(x), wrong by less than one unit in the last place; x is taken as at least -708 and at most 709. */
INLINE double exp_of(double x)
{
    /* x = k log 2 + r with |r| <= log(2) / 2. Added to this number, the last bits are a whole number. */
    const double whole = 0x1.8p52;
    x = clamp(x, -708.0, 709.0);
    const double shifted = x * 0x1.71547652b82fep0 + whole;
    const double k = shifted - whole;
    /* log 2 in two parts: the product of k and the first is exact. */
    const double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    /* Taylor's series to r^13: what is left out is below 2^-57. */
    const double r2 = r * r;
    const double low = ((r * 0x1.1111111111111p-7 + 0x1.5555555555555p-5) * r + 0x1.5555555555555p-3) * r + 0.5;
    const double middle = ((r * 0x1.71de3a556c734p-19 + 0x1.a01a01a01a01ap-16) * r + 0x1.a01a01a01a01ap-13) * r
                          + 0x1.6c16c16c16c17p-10;
    const double high = ((r * 0x1.6124613a86d09p-33 + 0x1.1eed8eff8d898p-29) * r + 0x1.ae64567f544e4p-26) * r
                        + 0x1.27e4fb7789f5cp-22;
    const double r4 = r2 * r2;
    const double e = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)));
    /* k has at most eleven bits: k times 2^52 is added to the exponent. */
    return from_bits(bits_of(e) + (bits_of(shifted) << 52));
}

/* Return log(x), wrong by less than two units in the last place; x is a positive normal number. */
INLINE double log_of(double x)
{
    /* x = 2^k m with m between sqrt(1/2) and sqrt(2); log m = 2 atanh(s) with s = (m - 1) / (m + 1). */
    const uint64_t bits = bits_of(x) - bits_of(0x1.6a09e667f3bcdp-1);
    const double k = (double)(int32_t)(int64_t)(bits >> 52) - (bits >> 63 ? 4096.0 : 0.0);
    const double m = from_bits(bits_of(x) - (bits & 0xFFF0000000000000u));
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double sum = 2.0 / 23.0;
    sum = sum * z + 2.0 / 21.0;
    sum = sum * z + 2.0 / 19.0;
    sum = sum * z + 2.0 / 17.0;
    sum = sum * z + 2.0 / 15.0;
    sum = sum * z + 2.0 / 13.0;
    sum = sum * z + 2.0 / 11.0;
    sum = sum * z + 2.0 / 9.0;
    sum = sum * z + 2.0 / 7.0;
    sum = sum * z + 2.0 / 5.0;
    sum = sum * z + 2.0 / 3.0;
    /* 2 s is m - 1 less a small part, which alone is rounded. */
    const double f = m - 1.0;
    const double half = 0.5 * f * f;
    const double rest = s * (half + z * sum) + k * 0x1.a39ef35793c76p-33;
    return k * 0x1.62e42fee00000p-1 + (f - (half - rest));
}

#endif
