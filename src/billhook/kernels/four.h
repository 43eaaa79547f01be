/* Four numbers at once, and eight: rows of numbers for each class are read, changed and written by these, in
   registers of whatever width there is. */

#ifndef BILLHOOK_FOUR_H
#define BILLHOOK_FOUR_H

#include "kernels.h"

#include <string.h>

#if defined(__GNUC__)
typedef double Four __attribute__((vector_size(32)));
#define PLUS(a, b) ((a) + (b))
#define MINUS(a, b) ((a) - (b))
#define TIMES(a, b) ((a) * (b))
#define EACH(x) ((Four){(x), (x), (x), (x)})
#define TOTAL(a) (((a)[0] + (a)[1]) + ((a)[2] + (a)[3]))
typedef double EightDoubles __attribute__((vector_size(64)));
#define PLUS_8(a, b) ((a) + (b))
#define TIMES_8(a, b) ((a) * (b))
#define EACH_8(x) ((EightDoubles){(x), (x), (x), (x), (x), (x), (x), (x)})
#else
typedef struct {
    double x[4];
} Four;
#define OF_EACH(a, sign, b) \
    ((Four){{(a).x[0] sign (b).x[0], (a).x[1] sign (b).x[1], (a).x[2] sign (b).x[2], (a).x[3] sign (b).x[3]}})
#define PLUS(a, b) OF_EACH(a, +, b)
#define MINUS(a, b) OF_EACH(a, -, b)
#define TIMES(a, b) OF_EACH(a, *, b)
#define EACH(y) ((Four){{(y), (y), (y), (y)}})
#define TOTAL(a) (((a).x[0] + (a).x[1]) + ((a).x[2] + (a).x[3]))
typedef struct {
    Four half[2];
} EightDoubles;
#define OF_HALVES(OPERATION, a, b) \
    ((EightDoubles){{OPERATION((a).half[0], (b).half[0]), OPERATION((a).half[1], (b).half[1])}})
#define PLUS_8(a, b) OF_HALVES(PLUS, a, b)
#define TIMES_8(a, b) OF_HALVES(TIMES, a, b)
#define EACH_8(y) ((EightDoubles){{EACH(y), EACH(y)}})
#endif

#define LOAD(four, from) memcpy(&(four), (from), sizeof(Four))
#define STORE(four, to) memcpy((to), &(four), sizeof(Four))
#define LOAD_8(eight, from) memcpy(&(eight), (from), sizeof(EightDoubles))
#define STORE_8(eight, to) memcpy((to), &(eight), sizeof(EightDoubles))

#endif
