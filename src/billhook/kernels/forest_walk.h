/* From rows to leaves: many rows together, tree by tree; or a few, one by one, through eight trees abreast. */

#ifndef BILLHOOK_FOREST_WALK_H
#define BILLHOOK_FOREST_WALK_H

#include "forest_rows.h"

/* Below this many rows, eight trees abreast are quicker than a block of rows. */
enum { FEW_ROWS = 16, ABREAST = 8 };

/* How many blocks are read before the trees are gone through once, if `bytes_a_row` are needed for each row: a tree
   in the cache should serve many blocks, but those must stay in the second-level cache themselves. */
size_t blocks_at_once(size_t n_rows, size_t bytes_a_row);

/* Find the positions of the leaves of `n` rows of a block, a multiple of TILE, in one tree. */
void find_leaves(const Tables *tables, size_t tree, const int32_t *columns, size_t n, uint32_t *at);

/* Find the positions of a row's leaves in eight trees from `first` on; past the last tree, in the last again. */
void find_eight_leaves(const Tables *tables, size_t first, const int32_t *x, uint32_t *at);

/* Where the node numbers of leaves go: an array of shape (trees, stride) of uint16 or uint32. */
typedef struct {
    void *data;
    size_t stride;
    int is_wide;
} WrittenLeafIds;

/* Write the node number of every row's leaf: row n to entry n of each tree's. */
void leaf_ids(const Tables *tables, const Rows *rows, const WrittenLeafIds *leaf, void *scratch);

/* How many bytes `leaf_ids` needs as scratch. */
size_t leaf_ids_scratch(const Tables *tables, size_t n_rows);

#endif
