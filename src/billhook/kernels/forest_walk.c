#include "forest_walk.h"

/* The second-level cache has 512 KB or more on most processors of today; the tables of a tree take their part. */
enum { BYTES_AT_ONCE = 1 << 18 };

size_t blocks_at_once(size_t n_rows, size_t bytes_a_row)
{
    const size_t fit = BYTES_AT_ONCE / (BLOCK * bytes_a_row), needed = (n_rows + BLOCK - 1) / BLOCK;
    return fit < 1 ? 1 : fit < needed ? fit : needed;
}

/* Let four splits of a crown, from number k on, strike out the exits that each row passes by; `keeps` has the exits
   that each of them keeps.

   Four at a time: the exits of a row are loaded and stored once for all of them. Not inline: compilers would jam
   several calls into one loop, and then no longer take several rows at once. */
HOT static void strike_out(const int32_t *column, const int32_t *t, const uint32_t *keeps, const int32_t *columns,
                           size_t n, uint32_t *RESTRICT exits_left)
{
    const int32_t *x0 = columns + (size_t)column[0] * BLOCK, *x1 = columns + (size_t)column[1] * BLOCK;
    const int32_t *x2 = columns + (size_t)column[2] * BLOCK, *x3 = columns + (size_t)column[3] * BLOCK;
    const int32_t t0 = t[0], t1 = t[1], t2 = t[2], t3 = t[3];
    const uint32_t k0 = keeps[0], k1 = keeps[1], k2 = keeps[2], k3 = keeps[3];
    for (size_t row = 0; row < n; row++) {
        uint32_t left = exits_left[row];
        left = x0[row] > t0 ? left & k0 : left;
        left = x1[row] > t1 ? left & k1 : left;
        left = x2[row] > t2 ? left & k2 : left;
        left = x3[row] > t3 ? left & k3 : left;
        exits_left[row] = left;
    }
}

/* Find which of the 32 exits of a crown from `first_exit` on are left for each row. Most splits strike out exits of
   one half of a crown only: of those, no time is lost on the other. */
static void find_exits_left(const Tables *tables, size_t tree, const int32_t *columns, size_t n, int first_exit,
                            uint32_t *exits_left)
{
    memset(exits_left, 0xFF, n * sizeof *exits_left);
    for (int32_t k = 0; k < tables->crown_size[tree]; k += CROWN_STEP) {
        const size_t from = tree * CROWN_WIDTH + (size_t)k;
        uint32_t keeps[CROWN_STEP], all = ~(uint32_t)0;
        for (int i = 0; i < CROWN_STEP; i++) {
            keeps[i] = (uint32_t)(tables->crown_keeps[from + (size_t)i] >> first_exit);
            all &= keeps[i];
        }
        if (all != ~(uint32_t)0)
            strike_out(tables->crown_column + from, tables->crown_threshold + from, keeps, columns, n, exits_left);
    }
}

/* Return the number of the lowest bit: the exponent of its value as a float, which the processor finds for several
   rows at once. */
INLINE uint32_t lowest_bit(uint32_t bits)
{
    const float value = (float)(int32_t)(bits & (0 - bits));
    uint32_t representation;
    memcpy(&representation, &value, sizeof representation);
    return ((representation >> 23) & 0xFF) - 127;
}

/* Find the position at which each row leaves the crown. */
HOT static void leave_small_crown(const int32_t *exits, uint32_t *exits_left, size_t n, uint32_t *RESTRICT at)
{
    for (size_t row = 0; row < n; row++)
        exits_left[row] = lowest_bit(exits_left[row]);
    for (size_t row = 0; row < n; row++)
        at[row] = (uint32_t)exits[exits_left[row]];
}

/* The same for a crown of more than 32 exits: the last ones count where none of the first is left. */
HOT static void leave_large_crown(const int32_t *exits, uint32_t *first, const uint32_t *last, size_t n,
                                  uint32_t *RESTRICT at)
{
    for (size_t row = 0; row < n; row++)
        first[row] = lowest_bit(first[row] ? first[row] : last[row]) + (first[row] ? 0 : 32);
    for (size_t row = 0; row < n; row++)
        at[row] = (uint32_t)exits[first[row]];
}

static void pass_crown(const Tables *tables, size_t tree, const int32_t *columns, size_t n, uint32_t *at)
{
    const int32_t *exits = tables->exits + tree * CROWN_WIDTH;
    uint32_t first[BLOCK], last[BLOCK];
    find_exits_left(tables, tree, columns, n, 0, first);
    if (tables->crown_size[tree] < 32) {
        leave_small_crown(exits, first, n, at);
        return;
    }
    find_exits_left(tables, tree, columns, n, 32, last);
    leave_large_crown(exits, first, last, n, at);
}

/* Return the position after `at` on a row's way down; a leaf's is its own. Columns are 2^stride_bits apart. */
INLINE uint32_t step(const int32_t *x, const int stride_bits, const uint64_t *words, int position_bits, uint32_t at)
{
    const uint64_t word = words[at];
    const size_t column = (uint32_t)word >> position_bits;
    const uint32_t left = (uint32_t)word & (((uint32_t)1 << position_bits) - 1);
    return left + (x[column << stride_bits] > (int32_t)(word >> 32));
}

/* Move eight rows by `n_steps` steps, a constant, and return which of them moved in the last, one bit each.

   Eight independent chains of loads keep the processor busy where one would wait for the cache. */
INLINE uint32_t walk_eight(const int32_t *columns, const uint64_t *words, int bits, const uint8_t *row,
                           const int n_steps, uint32_t *RESTRICT at)
{
    const size_t r0 = row[0], r1 = row[1], r2 = row[2], r3 = row[3];
    const size_t r4 = row[4], r5 = row[5], r6 = row[6], r7 = row[7];
    uint32_t a0 = at[r0], a1 = at[r1], a2 = at[r2], a3 = at[r3];
    uint32_t a4 = at[r4], a5 = at[r5], a6 = at[r6], a7 = at[r7];
    uint32_t moved = 0;
    for (int i = 0; i < n_steps; i++) {
        const uint32_t n0 = step(columns + r0, BLOCK_BITS, words, bits, a0);
        const uint32_t n1 = step(columns + r1, BLOCK_BITS, words, bits, a1);
        const uint32_t n2 = step(columns + r2, BLOCK_BITS, words, bits, a2);
        const uint32_t n3 = step(columns + r3, BLOCK_BITS, words, bits, a3);
        const uint32_t n4 = step(columns + r4, BLOCK_BITS, words, bits, a4);
        const uint32_t n5 = step(columns + r5, BLOCK_BITS, words, bits, a5);
        const uint32_t n6 = step(columns + r6, BLOCK_BITS, words, bits, a6);
        const uint32_t n7 = step(columns + r7, BLOCK_BITS, words, bits, a7);
        if (i == n_steps - 1) {
            moved = (uint32_t)(n0 != a0) | (uint32_t)(n1 != a1) << 1 | (uint32_t)(n2 != a2) << 2;
            moved |= (uint32_t)(n3 != a3) << 3 | (uint32_t)(n4 != a4) << 4 | (uint32_t)(n5 != a5) << 5;
            moved |= (uint32_t)(n6 != a6) << 6 | (uint32_t)(n7 != a7) << 7;
        }
        a0 = n0, a1 = n1, a2 = n2, a3 = n3, a4 = n4, a5 = n5, a6 = n6, a7 = n7;
    }
    at[r0] = a0, at[r1] = a1, at[r2] = a2, at[r3] = a3;
    at[r4] = a4, at[r5] = a5, at[r6] = a6, at[r7] = a7;
    return moved;
}

/* After so many steps, rows that have arrived are left behind. */
enum { STEPS = 2 };

/* Move every row of a block from its position to its leaf: all by some steps, then those by some more that may not
   have arrived, and so on. A row that has arrived stands still. */
HOT static void walk_down(const Tables *tables, size_t tree, const int32_t *columns, size_t n, uint32_t *at)
{
    const uint64_t *words = tables->words + tables->offset[tree];
    const int bits = tables->position_bits;
    uint8_t under_way[BLOCK + ABREAST];
    for (size_t row = 0; row < n; row++)
        under_way[row] = (uint8_t)row;
    while (n > 0) {
        size_t left = 0;
        for (size_t i = n; i % ABREAST; i++)
            under_way[i] = under_way[n - 1];
        for (size_t i = 0; i < n; i += ABREAST) {
            uint32_t moved = walk_eight(columns, words, bits, under_way + i, STEPS, at);
            if (n - i < ABREAST)
                moved &= ((uint32_t)1 << (n - i)) - 1;
            for (size_t k = 0; k < ABREAST; k++) {
                const uint8_t row = under_way[i + k];
                under_way[left] = row;
                left += (moved >> k) & 1;
            }
        }
        n = left;
    }
}

void find_leaves(const Tables *tables, size_t tree, const int32_t *columns, size_t n, uint32_t *at)
{
    pass_crown(tables, tree, columns, n, at);
    if (tables->goes_deeper[tree])
        walk_down(tables, tree, columns, n, at);
}

void find_eight_leaves(const Tables *tables, size_t first, const int32_t *x, uint32_t *at)
{
    const int bits = tables->position_bits;
    const uint64_t *words[ABREAST];
    uint32_t moved;
    for (size_t i = 0; i < ABREAST; i++) {
        const size_t tree = first + i < tables->n_trees ? first + i : tables->n_trees - 1;
        words[i] = tables->words + tables->offset[tree];
        at[i] = 0;
    }
    do {
        moved = 0;
        for (size_t i = 0; i < ABREAST; i++) {
            const uint32_t next = step(x, 0, words[i], bits, at[i]);
            moved |= next ^ at[i];
            at[i] = next;
        }
    } while (moved);
}

/* Write `n` node numbers of one tree, from entry `first` on. */
static void write_ids(const WrittenLeafIds *leaf, size_t tree, size_t first, const int32_t *node_at,
                      const uint32_t *at, size_t n)
{
    const size_t start = tree * leaf->stride + first;
    if (leaf->is_wide)
        for (size_t row = 0; row < n; row++)
            ((uint32_t *)leaf->data)[start + row] = (uint32_t)node_at[at[row]];
    else
        for (size_t row = 0; row < n; row++)
            ((uint16_t *)leaf->data)[start + row] = (uint16_t)node_at[at[row]];
}

static void leaf_ids_of_few(const Tables *tables, const Rows *rows, const WrittenLeafIds *leaf, int32_t *x)
{
    for (size_t row = 0; row < rows->n_rows; row++) {
        load_row(rows, row, tables, x);
        for (size_t first = 0; first < tables->n_trees; first += ABREAST) {
            uint32_t at[ABREAST];
            find_eight_leaves(tables, first, x, at);
            for (size_t i = 0; i < ABREAST && first + i < tables->n_trees; i++)
                write_ids(leaf, first + i, row, tables->node_at + tables->offset[first + i], at + i, 1);
        }
    }
}

size_t leaf_ids_scratch(const Tables *tables, size_t n_rows)
{
    const size_t bytes_a_row = tables->n_columns * sizeof(int32_t);
    return n_rows < FEW_ROWS ? bytes_a_row : blocks_at_once(n_rows, bytes_a_row) * BLOCK * bytes_a_row;
}

void leaf_ids(const Tables *tables, const Rows *rows, const WrittenLeafIds *leaf, void *scratch)
{
    const size_t n_blocks = blocks_at_once(rows->n_rows, tables->n_columns * sizeof(int32_t));
    const size_t block_size = tables->n_columns * BLOCK;
    int32_t *columns = scratch;
    if (rows->n_rows < FEW_ROWS) {
        leaf_ids_of_few(tables, rows, leaf, columns);
        return;
    }
    for (size_t batch = 0; batch < rows->n_rows; batch += n_blocks * BLOCK) {
        const size_t end = rows->n_rows - batch < n_blocks * BLOCK ? rows->n_rows : batch + n_blocks * BLOCK;
        for (size_t first = batch; first < end; first += BLOCK)
            load_block(rows, first, tables, columns + (first - batch) / BLOCK * block_size);
        for (size_t tree = 0; tree < tables->n_trees; tree++)
            for (size_t first = batch; first < end; first += BLOCK) {
                uint32_t at[BLOCK];
                const size_t n = end - first < BLOCK ? end - first : BLOCK;
                find_leaves(tables, tree, columns + (first - batch) / BLOCK * block_size, whole_tiles(n), at);
                write_ids(leaf, tree, first, tables->node_at + tables->offset[tree], at, n);
            }
    }
}
