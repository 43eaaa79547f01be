#include "forest_layout.h"

#include <string.h>

/* The arrays of one tree's nodes. */
typedef struct {
    size_t n_nodes;
    const int32_t *left;
    const int32_t *right;
    const int32_t *column;
    const int32_t *threshold;
    const int64_t *visits;
} Nodes;

/* The crown of one tree: the nodes of its splits, the exits each of them keeps, and the nodes at its exits. */
typedef struct {
    size_t n_splits;
    int32_t split[CROWN_SPLITS];
    uint64_t keeps[CROWN_SPLITS];
    int32_t exit[CROWN_WIDTH];
} Crown;

/* Fill `words` (one a node, in breadth-first order), `node_at[position]` and its inverse. */
static void lay_out_nodes(const Nodes *nodes, int position_bits, uint64_t *words, int32_t *node_at,
                          int32_t *position_of)
{
    size_t filled = 1;
    node_at[0] = 0;
    for (size_t position = 0; position < nodes->n_nodes; position++) {
        const int32_t node = node_at[position];
        uint64_t first = position;
        uint32_t test = NEVER_RIGHT;
        position_of[node] = (int32_t)position;
        if (nodes->left[node] >= 0) {
            node_at[filled] = nodes->left[node];
            node_at[filled + 1] = nodes->right[node];
            first = filled;
            test = (uint32_t)nodes->threshold[node];
            filled += 2;
        }
        words[position] = (uint64_t)test << 32 | (uint64_t)nodes->column[node] << position_bits | first;
    }
}

/* Mark the splits of the crown: it grows by the most visited open split until it has `most` or none is open. */
static void mark_crown(const Nodes *nodes, size_t most, uint8_t *in_crown)
{
    int32_t open[CROWN_WIDTH];
    size_t n_open = 1, n_splits = 0;
    memset(in_crown, 0, nodes->n_nodes);
    open[0] = 0;
    while (n_splits < most) {
        size_t best = n_open;
        for (size_t k = 0; k < n_open; k++)
            if (nodes->left[open[k]] >= 0
                && (best == n_open || nodes->visits[open[k]] > nodes->visits[open[best]]))
                best = k;
        if (best == n_open)
            break;
        const int32_t node = open[best];
        in_crown[node] = 1;
        n_splits++;
        open[best] = nodes->left[node];
        open[n_open++] = nodes->right[node];
    }
}

/* Number the exits from left to right, by a walk in order: then a split's left side is a range of bits. */
static void number_exits(const Nodes *nodes, const uint8_t *in_crown, Crown *crown)
{
    int32_t path[CROWN_SPLITS];
    size_t exits_before[CROWN_SPLITS];
    size_t depth = 0, n_exits = 0, done = 0;
    int32_t node = 0;
    for (;;) {
        while (in_crown[node]) {
            path[depth] = node;
            exits_before[depth++] = n_exits;
            node = nodes->left[node];
        }
        crown->exit[n_exits++] = node;
        if (depth == 0)
            break;
        node = path[--depth];
        crown->split[done] = node;
        crown->keeps[done++] = ~(((uint64_t)1 << n_exits) - ((uint64_t)1 << exits_before[depth]));
        node = nodes->right[node];
    }
    crown->n_splits = done;
}

static void lay_out_crown(const Nodes *nodes, const Crown *crown, const int32_t *position_of, const Tables *tables,
                          size_t tree)
{
    const size_t at = tree * CROWN_WIDTH;
    tables->crown_size[tree] = (int32_t)crown->n_splits;
    tables->goes_deeper[tree] = 0;
    for (size_t k = 0; k < CROWN_WIDTH; k++) {
        const int is_split = k < crown->n_splits, is_exit = k <= crown->n_splits;
        tables->crown_column[at + k] = is_split ? nodes->column[crown->split[k]] : 0;
        tables->crown_threshold[at + k] = is_split ? nodes->threshold[crown->split[k]] : NEVER_RIGHT;
        tables->crown_keeps[at + k] = is_split ? crown->keeps[k] : ~(uint64_t)0;
        tables->exits[at + k] = is_exit ? position_of[crown->exit[k]] : 0;
        if (is_exit && nodes->left[crown->exit[k]] >= 0)
            tables->goes_deeper[tree] = 1;
    }
}

void lay_out(const Tables *tables, const int32_t *left, const int32_t *right, const int32_t *column,
             const int32_t *threshold, const int64_t *visits, int32_t *position_of, uint8_t *in_crown)
{
    for (size_t tree = 0; tree < tables->n_trees; tree++) {
        const size_t root = (size_t)tables->offset[tree], n_nodes = (size_t)tables->offset[tree + 1] - root;
        const Nodes nodes = {n_nodes, left + root, right + root, column + root, threshold + root, visits + root};
        Crown crown;
        lay_out_nodes(&nodes, tables->position_bits, tables->words + root, tables->node_at + root, position_of);
        mark_crown(&nodes, n_nodes <= 2 * CROWN_SPLITS + 1 ? CROWN_SPLITS : CROWN_OF_LARGE, in_crown);
        number_exits(&nodes, in_crown, &crown);
        lay_out_crown(&nodes, &crown, position_of, tables, tree);
    }
}
