#include "pruning_sums.h"

#include "four.h"

INLINE size_t vote_at(const void *votes, const size_t item_size, size_t i)
{
    return item_size == 1   ? (size_t)((const uint8_t *)votes)[i]
           : item_size == 2 ? (size_t)((const uint16_t *)votes)[i]
                            : (size_t)((const uint32_t *)votes)[i];
}

INLINE void set_vote(void *votes, const size_t item_size, size_t i, size_t vote)
{
    if (item_size == 1)
        ((uint8_t *)votes)[i] = (uint8_t)vote;
    else if (item_size == 2)
        ((uint16_t *)votes)[i] = (uint16_t)vote;
    else
        ((uint32_t *)votes)[i] = (uint32_t)vote;
}

/* Call a function that has the size of a vote as its first argument, a constant. */
#define BY_SIZE(votes, function, ...) \
    do { \
        if ((votes).item_size == 1) \
            function(1, __VA_ARGS__); \
        else if ((votes).item_size == 2) \
            function(2, __VA_ARGS__); \
        else \
            function(4, __VA_ARGS__); \
    } while (0)

INLINE void votes_of_size(const size_t item_size, const Trees *trees, const void *of_node, void *votes)
{
    const size_t n_rows = trees->n_rows;
    const void *leaf = trees->leaf.data;
    for (size_t tree = 0; tree < trees->n_trees; tree++) {
        const size_t first = (size_t)trees->offset[tree], begin = tree * n_rows;
        if (trees->leaf.is_wide)
            for (size_t i = begin; i < begin + n_rows; i++)
                set_vote(votes, item_size, i, vote_at(of_node, item_size, first + leaf_at(leaf, 1, i)));
        else
            for (size_t i = begin; i < begin + n_rows; i++)
                set_vote(votes, item_size, i, vote_at(of_node, item_size, first + leaf_at(leaf, 0, i)));
    }
}

void find_votes(const Trees *trees, Votes of_node, Votes votes)
{
    BY_SIZE(votes, votes_of_size, trees, of_node.data, votes.data);
}

enum { BYTES = 64, MOST_OF_BYTE = 255 };

/* How many of two rows of bytes are the same: 64 sums of single bytes abreast, until they are full. */
INLINE int64_t count_same_bytes(size_t n, const uint8_t *RESTRICT a, const uint8_t *RESTRICT b)
{
    int64_t total = 0;
    size_t i = 0;
    while (i + BYTES <= n) {
        uint8_t same[BYTES] = {0};
        for (size_t turn = 0; turn < MOST_OF_BYTE && i + BYTES <= n; turn++, i += BYTES)
            for (size_t l = 0; l < BYTES; l++)
                same[l] = (uint8_t)(same[l] + (a[i + l] == b[i + l]));
        for (size_t l = 0; l < BYTES; l++)
            total += same[l];
    }
    for (; i < n; i++)
        total += a[i] == b[i];
    return total;
}

/* The weight of the rows on which two lists of votes are the same. */
INLINE int64_t weigh_same(const size_t item_size, size_t n, const void *a, const void *b,
                          const int64_t *RESTRICT weight, int is_unweighted)
{
    if (item_size == 1 && is_unweighted)
        return count_same_bytes(n, a, b);
    int64_t total = 0;
    if (is_unweighted)
        for (size_t i = 0; i < n; i++)
            total += vote_at(a, item_size, i) == vote_at(b, item_size, i);
    else
        for (size_t i = 0; i < n; i++)
            total += vote_at(a, item_size, i) == vote_at(b, item_size, i) ? weight[i] : 0;
    return total;
}

INLINE const void *votes_of(const size_t item_size, const void *votes, size_t n_rows, size_t tree)
{
    return (const char *)votes + item_size * n_rows * tree;
}

INLINE void matches_of_size(const size_t item_size, size_t n_rows, const void *votes, const void *expected,
                            const int64_t *weight, int is_unweighted, size_t n_trees, const int64_t *trees,
                            int64_t *matches)
{
    for (size_t i = 0; i < n_trees; i++)
        matches[i] = weigh_same(item_size, n_rows, votes_of(item_size, votes, n_rows, (size_t)trees[i]), expected,
                                weight, is_unweighted);
}

HOT void weigh_matches(size_t n_rows, Votes votes, Votes expected, const int64_t *weight, int is_unweighted,
                       size_t n_trees, const int64_t *trees, int64_t *matches)
{
    BY_SIZE(votes, matches_of_size, n_rows, votes.data, expected.data, weight, is_unweighted, n_trees, trees,
            matches);
}

enum { TILE = 16 };

INLINE void agreement_of_size(const size_t item_size, size_t n_trees, size_t n_rows, const void *votes,
                              const int64_t *weight, int is_unweighted, int64_t *agreement)
{
    /* In tiles of trees, whose votes stay in the faster memory. */
    for (size_t from = 0; from < n_trees; from += TILE)
        for (size_t to = from; to < n_trees; to += TILE)
            for (size_t i = from; i < from + TILE && i < n_trees; i++)
                for (size_t j = to > i ? to : i; j < to + TILE && j < n_trees; j++)
                    agreement[i * n_trees + j] = agreement[j * n_trees + i] =
                        weigh_same(item_size, n_rows, votes_of(item_size, votes, n_rows, i),
                                   votes_of(item_size, votes, n_rows, j), weight, is_unweighted);
}

HOT void weigh_agreement(size_t n_trees, size_t n_rows, Votes votes, const int64_t *weight, int is_unweighted,
                         int64_t *agreement)
{
    BY_SIZE(votes, agreement_of_size, n_trees, n_rows, votes.data, weight, is_unweighted, agreement);
}

INLINE void counts_of_size(const size_t item_size, size_t n_trees, size_t n_rows, size_t n_classes, const void *votes,
                           int64_t *counts)
{
    for (size_t tree = 0; tree < n_trees; tree++)
        for (size_t n = 0; n < n_rows; n++)
            counts[n * n_classes + vote_at(votes, item_size, tree * n_rows + n)]++;
}

void count_votes(size_t n_trees, size_t n_rows, size_t n_classes, Votes votes, int64_t *counts)
{
    BY_SIZE(votes, counts_of_size, n_trees, n_rows, n_classes, votes.data, counts);
}

INLINE void worth_of_size(const size_t item_size, size_t n_trees, size_t n_rows, size_t n_classes, const void *votes,
                          const double *worth, double *sums)
{
    for (size_t tree = 0; tree < n_trees; tree++) {
        const void *vote = votes_of(item_size, votes, n_rows, tree);
        double sum[4] = {0.0, 0.0, 0.0, 0.0};
        size_t n = 0;
        for (; n + 4 <= n_rows; n += 4)
            for (size_t l = 0; l < 4; l++)
                sum[l] += worth[(n + l) * n_classes + vote_at(vote, item_size, n + l)];
        for (; n < n_rows; n++)
            sum[0] += worth[n * n_classes + vote_at(vote, item_size, n)];
        sums[tree] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

void sum_by_vote(size_t n_trees, size_t n_rows, size_t n_classes, Votes votes, const double *worth, double *sums)
{
    BY_SIZE(votes, worth_of_size, n_trees, n_rows, n_classes, votes.data, worth, sums);
}

/* A leaf id where it is not worth to compile the loop for either size. */
INLINE size_t any_leaf(LeafIds leaf, size_t i)
{
    return leaf.is_wide ? leaf_at(leaf.data, 1, i) : leaf_at(leaf.data, 0, i);
}

double sum_by_leaf_and_class(LeafIds leaf, size_t n_rows, size_t n_classes, Labels labels, const double *table)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t n = 0; n < n_rows; n++)
        sum[n % 4] += (double)labels.weight[n] * table[any_leaf(leaf, n) * n_classes + (size_t)labels.y[n]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Add the products of n numbers to sums: of fours, and of what is left of them. */
INLINE void add_inner_product(const size_t n, double weight, const double *x, const double *y, Four *sum,
                              double *rest)
{
    Four a, b, part = EACH(0.0);
    double end = 0.0;
    size_t c = 0;
    for (; c + 4 <= n; c += 4) {
        LOAD(a, x + c);
        LOAD(b, y + c);
        part = PLUS(part, TIMES(a, b));
    }
    for (; c < n; c++)
        end += x[c] * y[c];
    if (n >= 4)
        *sum = PLUS(*sum, TIMES(EACH(weight), part));
    *rest += weight * end;
}

HOT double sum_of_products(LeafIds leaf, size_t n_rows, size_t n_classes, const double *value, const double *other,
                           const int64_t *weight)
{
    Four sum = EACH(0.0);
    double rest = 0.0;
    for (size_t n = 0; n < n_rows; n++)
        add_inner_product(n_classes, (double)weight[n], value + any_leaf(leaf, n) * n_classes, other + n * n_classes,
                          &sum, &rest);
    return TOTAL(sum) + rest;
}

HOT void add_weighted_trees(const Trees *trees, size_t n_chosen, const int64_t *rows, const double *tree_weight,
                            double *score)
{
    const size_t n_rows = trees->n_rows, n_classes = trees->n_classes;
    for (size_t tree = 0; tree < trees->n_trees; tree++) {
        const double w = tree_weight[tree];
        const double *value = trees->value + (size_t)trees->offset[tree] * n_classes;
        for (size_t i = 0; w != 0.0 && i < n_chosen; i++) {
            const double *of_leaf = value + any_leaf(trees->leaf, tree * n_rows + (size_t)rows[i]) * n_classes;
            double *to = score + i * n_classes;
            size_t c = 0;
            for (; c + 4 <= n_classes; c += 4) {
                Four sum, x;
                LOAD(sum, to + c);
                LOAD(x, of_leaf + c);
                sum = PLUS(sum, TIMES(EACH(w), x));
                STORE(sum, to + c);
            }
            for (; c < n_classes; c++)
                to[c] += w * of_leaf[c];
        }
    }
}

INLINE void slopes_of_classes(const size_t n_classes, const Trees *trees, size_t n_chosen, const int64_t *rows,
                              const double *slope, double *sums)
{
    for (size_t tree = 0; tree < trees->n_trees; tree++) {
        const double *value = trees->value + (size_t)trees->offset[tree] * n_classes;
        Four sum = EACH(0.0);
        double rest = 0.0;
        for (size_t i = 0; i < n_chosen; i++) {
            const size_t leaf = any_leaf(trees->leaf, tree * trees->n_rows + (size_t)rows[i]);
            add_inner_product(n_classes, 1.0, value + leaf * n_classes, slope + i * n_classes, &sum, &rest);
        }
        sums[tree] = TOTAL(sum) + rest;
    }
}

HOT void slopes_of_trees(const Trees *trees, size_t n_chosen, const int64_t *rows, const double *slope, double *sums)
{
    switch (trees->n_classes) {
    case 1: slopes_of_classes(1, trees, n_chosen, rows, slope, sums); break;
    case 2: slopes_of_classes(2, trees, n_chosen, rows, slope, sums); break;
    default: slopes_of_classes(trees->n_classes, trees, n_chosen, rows, slope, sums); break;
    }
}
