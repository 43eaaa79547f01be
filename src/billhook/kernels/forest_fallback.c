#include "forest_fallback.h"

/* Return the number of the leaf that the row reaches in the tree. */
static size_t find_leaf(const PlainTrees *trees, size_t tree, const float *row)
{
    const size_t root = (size_t)trees->offset[tree];
    size_t node = 0;
    while (trees->feature[root + node] >= 0) {
        const float x = row[trees->feature[root + node]];
        const int goes_left = x != x ? trees->missing_left[root + node] : x <= trees->threshold[root + node];
        node = (size_t)(goes_left ? trees->left : trees->right)[root + node];
    }
    return node;
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
