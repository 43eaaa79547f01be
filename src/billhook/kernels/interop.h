/* What a forest read from another library needs: the order its splits were made in, values of inner nodes, where
   the trees are in its text, and the fields of messages of protocol buffers. */

#ifndef BILLHOOK_INTEROP_H
#define BILLHOOK_INTEROP_H

#include "kernels.h"

/* Give the splits of one tree their numbers in the order in which best-first growth makes them.

   Of all splits whose parent has been made, the one with the largest gain is next; of equal ones the one with the
   lower node number. The rank of a leaf becomes -1. `heap` is scratch, one a node. */
void rank_best_first(size_t n_nodes, const int32_t *left, const int32_t *right, const double *gain, int32_t *rank,
                     int32_t *heap);

/* Replace every inner node's value by the weighted mean of its children's, from the leaves to the root.

   Children come after their parents. Children without weight count the same. */
void average_upwards(size_t n_nodes, size_t n_values, const int32_t *left, const int32_t *right,
                     const double *weight, double *value);

/* Find the elements of a JSON array that is open at `start`: set `end` to where each of them ends, at a comma or at
   the bracket that closes the array. Return how many there are, however few there is room for; -1 if the array is
   not closed. */
ptrdiff_t find_elements(const uint8_t *text, size_t length, size_t start, int64_t *end, size_t room);

/* Read the fields of a message that follow each other at `*place` and have the same tag, of two bytes at most, or
   numbers that have none if `tag` is 0. A field is a number in groups of 7 bits, the lowest first, all bytes but its
   last having their highest bit set; or, if the tag's lowest bits are 2, such a number of bytes, and the bytes.

   Set `number` to the numbers, or to where the bytes of each field begin and end, two a field. Stop where `number` is
   full, at another tag, or at a field that is not whole, and leave its place in `*place`; where there is no room for
   any, go on and count them. Return how many fields there were. */
size_t read_fields(const uint8_t *data, size_t length, size_t *place, uint16_t tag, int64_t *number, size_t room);

#endif
