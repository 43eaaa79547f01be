#include "forest_fallback.h"

INLINE int goes_left(const PlainTrees *trees, size_t node, float x, const int has_sets)
{
    if (x != x)
        return trees->missing_left[node];
    if (has_sets && trees->category_set[node] >= 0) {
        const Set set = set_at(&trees->sets, trees->category_set[node]);
        return (int)is_among(set.words, set.n_words, category_of(x));
    }
    return x <= trees->threshold[node];
}

INLINE size_t find_leaf_by(const PlainTrees *trees, size_t tree, const float *row, const int has_sets)
{
    const size_t root = (size_t)trees->offset[tree];
    size_t node = 0;
    while (trees->feature[root + node] >= 0) {
        const int is_left = goes_left(trees, root + node, row[trees->feature[root + node]], has_sets);
        node = (size_t)(is_left ? trees->left : trees->right)[root + node];
    }
    return node;
}

/* Return the number of the leaf that the row reaches in the tree. */
static size_t find_leaf(const PlainTrees *trees, size_t tree, const float *row)
{
    return trees->n_sets > 0 ? find_leaf_by(trees, tree, row, 1) : find_leaf_by(trees, tree, row, 0);
}

void sum_values_plainly(const PlainTrees *trees, const Sum *sum, const float *X, size_t n_rows, size_t n_features,
                        double *scores)
{
    for (size_t n = 0; n < n_rows; n++) {
        double *score = scores + n * sum->n_scores;
        for (size_t c = 0; c < sum->n_scores; c++)
            score[c] = sum->start[c];
        for (size_t tree = 0; tree < trees->n_trees; tree++) {
            const size_t leaf = (size_t)trees->offset[tree] + find_leaf(trees, tree, X + n * n_features);
            for (size_t c = 0; c < sum->n_values; c++)
                score[(size_t)sum->tree_column[tree] + c] += sum->value[leaf * sum->n_values + c];
        }
        for (size_t c = 0; c < sum->n_scores; c++)
            score[c] = score[c] / sum->divisor + sum->end[c];
    }
}

void leaf_ids_plainly(const PlainTrees *trees, const float *X, size_t n_rows, size_t n_features,
                      const WrittenLeafIds *leaf)
{
    for (size_t n = 0; n < n_rows; n++)
        for (size_t tree = 0; tree < trees->n_trees; tree++) {
            const size_t found = find_leaf(trees, tree, X + n * n_features), to = tree * leaf->stride + n;
            if (leaf->is_wide)
                ((uint32_t *)leaf->data)[to] = (uint32_t)found;
            else
                ((uint16_t *)leaf->data)[to] = (uint16_t)found;
        }
}
