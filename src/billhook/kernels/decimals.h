/* Numbers written in decimals, as model files of text have them. Nothing here depends on a locale. */

#ifndef BILLHOOK_DECIMALS_H
#define BILLHOOK_DECIMALS_H

#include "kernels.h"

/* Read numbers with one space between two, as many as there is room for; return how many there are, or room + 1 if
   there are more.

   Each becomes the float64 number that is nearest to it, of two as near the even one, as IEEE 754 wants it. What this
   cannot read becomes NaN, and is for the caller to read or to refuse: numbers of more than 19 digits, those beyond
   10^-27 to 10^27 times a whole number, words such as inf, and what is no number. */
size_t read_decimals(const uint8_t *text, size_t length, double *number, size_t room);

/* Read whole numbers in the same way; return -1 if something is none. What is beyond int64 becomes its end. */
ptrdiff_t read_integers(const uint8_t *text, size_t length, int64_t *number, size_t room);

#endif
