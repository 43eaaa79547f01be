/* Sets of categories, as bits: category c of a set is bit c % 32 of its word c / 32. A number is read as the category
   that it is when cut off towards zero. */

#ifndef BILLHOOK_FOREST_SETS_H
#define BILLHOOK_FOREST_SETS_H

#include "kernels.h"

/* Categories from this one on are in no set: float32 rows could not tell them apart. A number that is no category is
   NO_CATEGORY, a missing value MISSING_CATEGORY. */
enum { MOST_CATEGORIES = 1 << 24 };
#define NO_CATEGORY 0xFFFFFFFFu
#define MISSING_CATEGORY 0xFFFFFFFEu

typedef struct {
    const int64_t *offset; /* where the words of each set begin; one more than sets */
    const uint32_t *bits;
} Sets;

INLINE uint32_t category_of(float x)
{
    const uint32_t known = x > -1.0f && x < (float)MOST_CATEGORIES ? (uint32_t)(int32_t)x : NO_CATEGORY;
    return x != x ? MISSING_CATEGORY : known;
}

/* Return whether a category, which may be none, is in the set of these words; there is one word at least. */
INLINE uint32_t is_among(const uint32_t *words, uint32_t n_words, uint32_t category)
{
    const uint32_t word = category >> 5, is_known = word < n_words;
    return is_known & (words[is_known ? word : 0] >> (category & 31));
}

/* The words of one set. */
typedef struct {
    const uint32_t *words;
    uint32_t n_words; /* one at least */
} Set;

INLINE Set set_at(const Sets *sets, int32_t number)
{
    static const uint32_t nothing[1] = {0};
    const int64_t first = sets->offset[number], end = sets->offset[number + 1];
    return end > first ? (Set){sets->bits + first, (uint32_t)(end - first)} : (Set){nothing, 1};
}

#endif
