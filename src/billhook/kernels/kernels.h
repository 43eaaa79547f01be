/* What the kernels share. They are plain loops on flat arrays: no Python, no allocation, no global state; scratch
   comes from the caller. A two-dimensional array is its rows one after the other. */

#ifndef BILLHOOK_KERNELS_H
#define BILLHOOK_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define INLINE static __forceinline
#define RESTRICT __restrict
#else
#define INLINE static inline __attribute__((always_inline))
#define RESTRICT restrict
#endif

/* A hot function is compiled for several instruction sets, of which the processor's best is chosen when the extension
   is loaded. Products are never fused with sums (-ffp-contract=off), so that all give the same bits. What it calls
   must be INLINE to be compiled with it. */
#ifdef BILLHOOK_CLONES
#define HOT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__GNUC__)
/* As versions are: else one function would need the stack of all that it calls. */
#define HOT __attribute__((noinline))
#else
#define HOT
#endif

/* Before a short loop of fixed length: it becomes one operation on a register, where GCC would otherwise unroll it
   and make registers of several turns of the loop around it. */
#if defined(__GNUC__) && !defined(__clang__)
#define AT_ONCE _Pragma("GCC unroll 1")
#else
#define AT_ONCE
#endif

/* Ask for memory that is read soon. */
#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

/* The losses, as `billhook.refinement` numbers them. QUANTILE + k is the pinball loss of the quantile k / 1000. */
enum { SQUARED, LOGISTIC, SQUARED_HINGE, ABSOLUTE, HUBER, POISSON, BOUNDED_HINGE, QUANTILE };

/* Return by how much the pinball loss is steeper above than below: twice its quantile less 1; 0 for other losses. */
INLINE double tilt_of(int loss) { return loss > QUANTILE ? (double)(loss - QUANTILE) / 500.0 - 1.0 : 0.0; }

/* Leaf ids of 16 bits, or of 32 where a tree has more than 65,536 nodes. A loop is compiled once for each:
   `is_wide` is a constant where it calls `leaf_at`. */
typedef struct {
    const void *data;
    int is_wide;
} LeafIds;

INLINE size_t leaf_at(const void *ids, const int is_wide, size_t i)
{
    return is_wide ? (size_t)((const uint32_t *)ids)[i] : (size_t)((const uint16_t *)ids)[i];
}

INLINE double larger(double a, double b) { return a > b ? a : b; }
INLINE double smaller(double a, double b) { return a < b ? a : b; }
INLINE double clamp(double x, double low, double high) { return smaller(larger(x, low), high); }

/* Random numbers: splitmix64 (Steele, Lea and Flood 2014). What a number is turned into; and the next of a stream. */
INLINE uint64_t mixed(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

INLINE uint64_t next_random(uint64_t *state)
{
    const uint64_t random = mixed(*state);
    *state += 0x9E3779B97F4A7C15u;
    return random;
}

#endif
