/* Eight numbers at once: what a wide register holds. Written as loops, compilers keep such numbers in eight
   registers, or in memory, and take them one by one. */

#ifndef BILLHOOK_GROWING_LANES_H
#define BILLHOOK_GROWING_LANES_H

#include "kernels.h"

#include <string.h>

/* So many registers of a bin are kept between its neighbours; more are not. */
enum { MOST_EIGHTS = 8 };

#if defined(__GNUC__) || defined(__clang__)
#define HAS_EIGHTS 1
typedef int32_t Eight __attribute__((vector_size(32)));
typedef float EightFloats __attribute__((vector_size(32)));

INLINE void load_eight(const int32_t *from, Eight *to) { memcpy(to, from, sizeof *to); }
INLINE void store_eight(const Eight *from, int32_t *to) { memcpy(to, from, sizeof *from); }
INLINE void add_eight(Eight *to, const Eight *by) { *to += *by; }
INLINE void subtract_eight(Eight *from, const Eight *what) { *from -= *what; }

INLINE void widen_eight(const int16_t *from, Eight *to)
{
    typedef int16_t Narrow __attribute__((vector_size(16)));
    Narrow x;
    memcpy(&x, from, sizeof x);
    *to = __builtin_convertvector(x, Eight);
}

/* Sixteen numbers: one of the widest registers, or two. */
typedef int32_t Sixteen __attribute__((vector_size(64)));

INLINE void widen_sixteen(const int16_t *from, Sixteen *to)
{
    typedef int16_t Narrow __attribute__((vector_size(32)));
    Narrow x;
    memcpy(&x, from, sizeof x);
    *to = __builtin_convertvector(x, Sixteen);
}

INLINE void add_to_sixteen(const Sixteen *by, int32_t *to)
{
    Sixteen sum;
    memcpy(&sum, to, sizeof sum);
    sum += *by;
    memcpy(to, &sum, sizeof sum);
}

/* Of 64 bits: two registers, or one that is twice as wide. */
INLINE void add_to_eight_wide(const Eight *by, int64_t *to)
{
    typedef int64_t Wide __attribute__((vector_size(64)));
    Wide sum;
    memcpy(&sum, to, sizeof sum);
    sum += __builtin_convertvector(*by, Wide);
    memcpy(to, &sum, sizeof sum);
}
#else
#define HAS_EIGHTS 0
typedef struct {
    int32_t lane[8];
} Eight;

INLINE void load_eight(const int32_t *from, Eight *to) { memcpy(to, from, sizeof *to); }
INLINE void store_eight(const Eight *from, int32_t *to) { memcpy(to, from, sizeof *from); }

INLINE void add_eight(Eight *to, const Eight *by)
{
    for (size_t k = 0; k < 8; k++)
        to->lane[k] += by->lane[k];
}

INLINE void subtract_eight(Eight *from, const Eight *what)
{
    for (size_t k = 0; k < 8; k++)
        from->lane[k] -= what->lane[k];
}

INLINE void widen_eight(const int16_t *from, Eight *to)
{
    for (size_t k = 0; k < 8; k++)
        to->lane[k] = from[k];
}

typedef struct {
    int32_t lane[16];
} Sixteen;

INLINE void widen_sixteen(const int16_t *from, Sixteen *to)
{
    for (size_t k = 0; k < 16; k++)
        to->lane[k] = from[k];
}

INLINE void add_to_sixteen(const Sixteen *by, int32_t *to)
{
    for (size_t k = 0; k < 16; k++)
        to[k] += by->lane[k];
}

INLINE void add_to_eight_wide(const Eight *by, int64_t *to)
{
    for (size_t k = 0; k < 8; k++)
        to[k] += by->lane[k];
}
#endif

/* Call a macro with the number of registers as a constant: 1 to MOST_EIGHTS. */
#define WITH_EIGHTS(n_eights, CALL) \
    switch (n_eights) { \
    case 1: CALL(1); break; \
    case 2: CALL(2); break; \
    case 3: CALL(3); break; \
    case 4: CALL(4); break; \
    case 5: CALL(5); break; \
    case 6: CALL(6); break; \
    case 7: CALL(7); break; \
    default: CALL(8); \
    }

#endif
