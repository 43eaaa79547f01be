#include "choose_splits.h"

#include "losses.h"

#include <string.h>

/* By so much of the losses on both sides, at least, has another test to be better: what is less may be rounding. */
#define LEAST_GAIN 1e-9

/* Where rows go from a node: those in a bucket of its group up to the last that passes go to the first child. The
   children of a leaf are itself. */
typedef struct {
    uint32_t group, last;
    uint32_t child[2];
} Step;

/* The scratch of a tree, cut into its parts. */
typedef struct {
    double *more;       /* (rows) what a row loses more on the left than on the right, times its weight */
    double *sum;        /* (buckets) */
    double *in, *out;   /* (leaves, values) what puts a tree into the states, and takes it out */
    double *here, *there, *target; /* a block of rows: states with the leaf on either side */
    double *loss_here, *loss_there;
    uint32_t *order;             /* rows, those of a node side by side */
    uint32_t *leaf, *other;      /* by place in this order: the leaf now, and that on the other side of a split */
    uint32_t *begin, *middle, *end; /* (nodes) */
    uint32_t *spare;
    Step *step;      /* (nodes) */
    uint32_t *depth; /* (nodes) of the longest way to a leaf */
} Scratch;

/* How many numbers rows and leaves have, and whether the states are those of a log loss: constants where it pays. */
typedef struct {
    size_t n_columns, n_values;
    int is_log;
} Kind;

/* A test, whether its rows go right instead of left, and the sum of `more` over the rows that go left. */
typedef struct {
    size_t test;
    int is_turned;
    double loss;
} Choice;

size_t numbers_to_choose(const TestBuckets *tests, const SplitTree *tree, size_t n_columns)
{
    return tests->n_rows + tests->n_buckets + 2 * tree->n_leaves * tree->n_values
           + (2 * n_columns + 3) * DESCENT_BLOCK;
}

size_t ids_to_choose(const TestBuckets *tests, const SplitTree *tree)
{
    return 4 * tests->n_rows + 4 * tree->n_nodes + tree->n_nodes * (sizeof(Step) / sizeof(uint32_t));
}

INLINE Scratch as_scratch(const TestBuckets *tests, const SplitTree *tree, size_t n_columns, double *numbers,
                          uint32_t *ids)
{
    Scratch s;
    const size_t n_rows = tests->n_rows, n_values = tree->n_leaves * tree->n_values;
    s.more = numbers;
    s.sum = s.more + n_rows;
    s.in = s.sum + tests->n_buckets;
    s.out = s.in + n_values;
    s.here = s.out + n_values;
    s.there = s.here + n_columns * DESCENT_BLOCK;
    s.target = s.there + n_columns * DESCENT_BLOCK;
    s.loss_here = s.target + DESCENT_BLOCK;
    s.loss_there = s.loss_here + DESCENT_BLOCK;
    s.order = ids;
    s.leaf = s.order + n_rows;
    s.other = s.leaf + n_rows;
    s.spare = s.other + n_rows;
    s.begin = s.spare + n_rows;
    s.middle = s.begin + tree->n_nodes;
    s.end = s.middle + tree->n_nodes;
    s.depth = s.end + tree->n_nodes;
    s.step = (Step *)(s.depth + tree->n_nodes);
    return s;
}

INLINE int passes(const TestBuckets *tests, size_t test, size_t row)
{
    const size_t group = tests->group[test];
    return tests->first[group] + tests->bucket[row * tests->n_groups + group] <= test;
}

/* Note where rows go from a node, whose children are known. */
INLINE void find_step(const TestBuckets *tests, const SplitTree *tree, size_t node, const Scratch *s)
{
    if (tree->leaf[node] >= 0) {
        s->step[node] = (Step){0, 0, {(uint32_t)node, (uint32_t)node}};
        s->depth[node] = 0;
        return;
    }
    const uint32_t test = (uint32_t)tree->test[node], group = tests->group[test];
    const uint32_t left = (uint32_t)tree->left[node], right = (uint32_t)tree->right[node];
    s->step[node] = (Step){group, test - tests->first[group], {left, right}};
    s->depth[node] = 1 + (s->depth[left] > s->depth[right] ? s->depth[left] : s->depth[right]);
}

/* Put rows in order: those of a node side by side, those of its left child first. */
INLINE void find_order(const TestBuckets *tests, const SplitTree *tree, const Scratch *s)
{
    for (size_t i = 0; i < tests->n_rows; i++)
        s->order[i] = (uint32_t)i;
    s->begin[0] = 0;
    s->end[0] = (uint32_t)tests->n_rows;
    for (size_t node = 0; node < tree->n_nodes; node++) {
        const uint32_t begin = s->begin[node], end = s->end[node];
        if (tree->leaf[node] >= 0) {
            for (uint32_t i = begin; i < end; i++)
                s->leaf[i] = (uint32_t)tree->leaf[node];
            continue;
        }
        uint32_t n_left = 0, n_right = 0;
        for (uint32_t i = begin; i < end; i++) {
            const uint32_t row = s->order[i], goes_left = (uint32_t)passes(tests, (size_t)tree->test[node], row);
            s->order[begin + n_left] = row;
            s->spare[n_right] = row;
            n_left += goes_left;
            n_right += 1 - goes_left;
        }
        const uint32_t middle = begin + n_left;
        memcpy(s->order + middle, s->spare, n_right * sizeof *s->order);
        s->middle[node] = middle;
        s->begin[tree->left[node]] = begin;
        s->end[tree->left[node]] = s->begin[tree->right[node]] = middle;
        s->end[tree->right[node]] = end;
    }
}

/* Note what the states change by with each leaf: a factor for the log losses, else what is added. */
INLINE void find_changes(const SplitTree *tree, const int is_log, const Scratch *s)
{
    for (size_t i = 0; i < tree->n_leaves * tree->n_values; i++) {
        s->in[i] = is_log ? exp_of(tree->value[i]) : tree->value[i];
        s->out[i] = is_log ? exp_of(-tree->value[i]) : -tree->value[i];
    }
}

INLINE double changed(const int is_log, double state, double by)
{
    return is_log ? clamp(state * by, TINY, 1.0 / TINY) : state + by;
}

/* Change the states of all rows by their leaves. */
INLINE void change_states(const SplitTree *tree, const SplitRows *rows, size_t n_rows, const Kind kind,
                          const double *by, const Scratch *s)
{
    for (size_t i = 0; i < n_rows; i++) {
        double *state = rows->state + s->order[i] * kind.n_columns + tree->column;
        const double *of_leaf = by + s->leaf[i] * kind.n_values;
        for (size_t c = 0; c < kind.n_values; c++)
            state[c] = changed(kind.is_log, state[c], of_leaf[c]);
    }
}

/* Write the numbers of the leaves that rows come to from a node. No step depends on one before by a branch: all rows
   take as many as there are on the longest way. */
INLINE void leaves_from(const TestBuckets *tests, const SplitTree *tree, uint32_t from, size_t n, const uint32_t *row,
                        const Scratch *s, uint32_t *RESTRICT leaf)
{
    for (size_t i = 0; i < n; i++)
        leaf[i] = from;
    for (uint32_t depth = s->depth[from]; depth > 0; depth--)
        for (size_t i = 0; i < n; i++) {
            const Step *step = s->step + leaf[i];
            leaf[i] = step->child[tests->bucket[row[i] * tests->n_groups + step->group] > step->last];
        }
    for (size_t i = 0; i < n; i++)
        leaf[i] = (uint32_t)tree->leaf[leaf[i]];
}

INLINE void with_leaf(const SplitTree *tree, const SplitRows *rows, const Kind kind, size_t row, const double *in,
                      double *RESTRICT state)
{
    for (size_t c = 0; c < kind.n_columns; c++)
        state[c] = rows->state[row * kind.n_columns + c];
    for (size_t c = 0; c < kind.n_values; c++)
        state[tree->column + c] = changed(kind.is_log, state[tree->column + c], in[c]);
}

/* Find, for all rows of a node, the leaf on the other side, and what they lose more on the left; return the sum of
   what they lose on both sides. */
INLINE double compare_sides(const TestBuckets *tests, const SplitTree *tree, const SplitRows *rows, const Kind kind,
                            size_t node, const Scratch *s)
{
    uint64_t label[DESCENT_BLOCK];
    const size_t n_columns = kind.n_columns, n_values = kind.n_values;
    double at_stake = 0.0;
    const uint32_t begin_of[2] = {s->begin[node], s->middle[node]}, end_of[2] = {s->middle[node], s->end[node]};
    for (size_t side = 0; side < 2; side++) {
        const uint32_t across = (uint32_t)(side ? tree->left[node] : tree->right[node]);
        for (size_t begin = begin_of[side]; begin < end_of[side]; begin += DESCENT_BLOCK) {
            const size_t n = end_of[side] - begin < DESCENT_BLOCK ? end_of[side] - begin : DESCENT_BLOCK;
            leaves_from(tests, tree, across, n, s->order + begin, s, s->other + begin);
            for (size_t i = 0; i < n; i++) {
                const size_t row = s->order[begin + i];
                with_leaf(tree, rows, kind, row, s->in + s->leaf[begin + i] * n_values, s->here + i * n_columns);
                with_leaf(tree, rows, kind, row, s->in + s->other[begin + i] * n_values, s->there + i * n_columns);
                if (n_columns > 1)
                    label[i] = rows->label[row];
                else
                    s->target[i] = rows->target[row];
            }
            losses_of_block(rows->loss, n, n_columns, s->here, s->target, label, rows->width, s->loss_here);
            losses_of_block(rows->loss, n, n_columns, s->there, s->target, label, rows->width, s->loss_there);
            for (size_t i = 0; i < n; i++) {
                const double here = s->loss_here[i], there = s->loss_there[i];
                const double weight = rows->weight[s->order[begin + i]];
                s->more[begin + i] = weight * (side ? there - here : here - there);
                at_stake += weight * ((here < 0.0 ? -here : here) + (there < 0.0 ? -there : there));
            }
        }
    }
    return at_stake;
}

/* Return the best choice for a node, which is that of now where no other is better by more than rounding. */
INLINE Choice best_choice(const TestBuckets *tests, const SplitTree *tree, size_t node, double at_stake,
                          const Scratch *s)
{
    double total = 0.0;
    memset(s->sum, 0, tests->n_buckets * sizeof *s->sum);
    for (uint32_t i = s->begin[node]; i < s->end[node]; i++) {
        const uint16_t *bucket = tests->bucket + (size_t)s->order[i] * tests->n_groups;
        const double more = s->more[i];
        for (size_t g = 0; g < tests->n_groups; g++)
            s->sum[tests->first[g] + bucket[g]] += more;
        total += more;
    }
    for (size_t g = 0; g < tests->n_groups; g++)
        for (size_t test = tests->first[g] + 1; test < tests->first[g + 1]; test++)
            s->sum[test] += s->sum[test - 1];
    const size_t now = (size_t)tree->test[node];
    Choice best = {now, 0, s->sum[now]};
    for (size_t g = 0; g < tests->n_groups; g++)
        /* All rows pass the last bucket: it is no test. */
        for (size_t test = tests->first[g]; test + 1 < tests->first[g + 1]; test++) {
            const double most = best.loss - LEAST_GAIN * at_stake;
            if (s->sum[test] < most)
                best = (Choice){test, 0, s->sum[test]};
            /* Where a test and its turn both beat that of now, so does that of now turned, and by more than one. */
            else if (total - s->sum[test] < most)
                best = (Choice){test, 1, total - s->sum[test]};
        }
    return best;
}

/* Change a node's test, and the leaves of the rows that change sides. */
INLINE void apply_choice(const TestBuckets *tests, const SplitTree *tree, size_t node, const Choice *choice,
                         const Scratch *s)
{
    for (uint32_t i = s->begin[node]; i < s->end[node]; i++) {
        const int goes_left = passes(tests, choice->test, s->order[i]) != choice->is_turned;
        if (goes_left != (i < s->middle[node]))
            s->leaf[i] = s->other[i];
    }
    tree->test[node] = (int32_t)choice->test;
    if (choice->is_turned) {
        const int32_t left = tree->left[node];
        tree->left[node] = tree->right[node];
        tree->right[node] = left;
    }
}

/* Count the rows, and their weight, that reach each node; `begin` becomes the node of each leaf. */
INLINE void count_rows(const TestBuckets *tests, const SplitTree *tree, const SplitRows *rows, const Scratch *s)
{
    for (size_t node = 0; node < tree->n_nodes; node++) {
        tree->n_rows[node] = 0;
        tree->row_weight[node] = 0.0;
        if (tree->leaf[node] >= 0)
            s->begin[tree->leaf[node]] = (uint32_t)node;
    }
    for (size_t i = 0; i < tests->n_rows; i++) {
        const uint32_t node = s->begin[s->leaf[i]];
        tree->n_rows[node]++;
        tree->row_weight[node] += rows->weight[s->order[i]];
    }
    for (size_t node = tree->n_nodes; node-- > 0;)
        if (tree->leaf[node] < 0) {
            const size_t left = (size_t)tree->left[node], right = (size_t)tree->right[node];
            tree->n_rows[node] = tree->n_rows[left] + tree->n_rows[right];
            tree->row_weight[node] = tree->row_weight[left] + tree->row_weight[right];
        }
}

INLINE size_t choose(const TestBuckets *tests, const SplitTree *tree, const SplitRows *rows, const Kind kind,
                     const Scratch s)
{
    size_t n_changed = 0;
    find_order(tests, tree, &s);
    find_changes(tree, kind.is_log, &s);
    change_states(tree, rows, tests->n_rows, kind, s.out, &s);
    for (size_t node = tree->n_nodes; node-- > 0;) {
        find_step(tests, tree, node, &s);
        if (tree->leaf[node] >= 0 || s.begin[node] == s.end[node])
            continue;
        const double at_stake = compare_sides(tests, tree, rows, kind, node, &s);
        const Choice best = best_choice(tests, tree, node, at_stake, &s);
        if (best.test != (size_t)tree->test[node] || best.is_turned) {
            apply_choice(tests, tree, node, &best, &s);
            find_step(tests, tree, node, &s);
            n_changed++;
        }
    }
    change_states(tree, rows, tests->n_rows, kind, s.in, &s);
    count_rows(tests, tree, rows, &s);
    return n_changed;
}

HOT size_t choose_splits(const TestBuckets *tests, const SplitTree *tree, const SplitRows *rows, double *numbers,
                         uint32_t *ids)
{
    const Scratch s = as_scratch(tests, tree, rows->n_columns, numbers, ids);
    const int is_log = is_log_loss(rows->loss);
    if (rows->n_columns > 1)
        return choose(tests, tree, rows, (Kind){rows->n_columns, tree->n_values, is_log}, s);
    return is_log ? choose(tests, tree, rows, (Kind){1, 1, 1}, s) : choose(tests, tree, rows, (Kind){1, 1, 0}, s);
}
