/* From a forest's arrays to the tables that the walk reads.

   A row is read as *columns* of ordered integers: the bits of a float32, turned so that integers compare as floats
   do. A missing value is the smallest or the largest integer, by the way it goes at the split; so a column is a pair
   (feature, way of missing values), and a split is one integer comparison. A split by a set of categories is one too:
   the columns of sets, which come last, are pairs of a set and a feature, and 0 for a row that is in the set, else 1.

   Nodes are laid out with siblings side by side: the next position is `left + (x > threshold)`. A leaf points to
   itself and can never be left. One node is one word of 64 bits:

       threshold (32 bits) | column | left position (`position_bits` bits)

   The *crown* of a tree is its most visited splits, at most CROWN_SPLITS of them. They are not walked but tested all
   at once for many rows, as in QuickScorer (Lucchese et al. 2015): every split that a row passes on the right strikes
   out the exits on its left, and the first exit that is left is the row's. */

#ifndef BILLHOOK_FOREST_LAYOUT_H
#define BILLHOOK_FOREST_LAYOUT_H

#include "forest_sets.h"

/* A small tree is all crown. Of a large one only the first levels pay for testing every split. A crown's splits are
   tested CROWN_STEP at a time: its arrays are filled up with splits that strike out nothing. */
enum { CROWN_SPLITS = 63, CROWN_OF_LARGE = 31, CROWN_WIDTH = 64, CROWN_STEP = 4 };

/* No integer that a row is read as is larger. */
enum { NEVER_RIGHT = 0x7FFFFFFF };

/* A forest laid out. Words and nodes are one for each position of each tree, the crowns' arrays have CROWN_WIDTH
   entries for each tree: columns, thresholds and kept exits of the splits, and the positions of the exits. */
typedef struct {
    size_t n_trees;
    size_t n_columns;
    size_t n_set_columns; /* the last ones of them */
    const int64_t *offset; /* one more than trees */
    const int32_t *column_feature;
    const uint8_t *column_missing_right;
    const int32_t *column_set; /* one for each column of a set */
    Sets sets;
    int position_bits;
    uint64_t *words;
    int32_t *node_at;
    int32_t *crown_size; /* number of splits; there is one exit more */
    int32_t *crown_column;
    int32_t *crown_threshold;
    uint64_t *crown_keeps;
    int32_t *exits;
    uint8_t *goes_deeper; /* whether any exit leads further down */
} Tables;

/* Fill the tables from the words on; offset and position_bits are given.

   The arrays of nodes are those of all trees, one tree after the other; `threshold` is of ordered integers, `visits`
   says how many rows came by. `position_of` and `in_crown` are scratch, one for each node of the largest tree. */
void lay_out(const Tables *tables, const int32_t *left, const int32_t *right, const int32_t *column,
             const int32_t *threshold, const int64_t *visits, int32_t *position_of, uint8_t *in_crown);

#endif
