#include "growing.h"
#include "interop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far ahead rows are asked for: they are anywhere in memory. */
enum { AHEAD = 8 };

typedef struct {
    const BinnedRows *rows;
    const Gradients *gradients;
    const GrowthOptions *options;
    GrowthScratch *scratch;
    size_t n_ints, bytes_of_sums, bytes_of_histogram;
    size_t n_leaves;
    int32_t n_histograms; /* taken from the pool so far */
} Growth;

size_t size_of_pool(const GrowthOptions *options)
{
    return options->max_tests > 0 ? options->max_leaves : options->max_leaves / 2 + 1;
}

static void *histogram_of(const Growth *growth, const OpenLeaf *leaf)
{
    return (char *)growth->scratch->histograms + (size_t)leaf->histogram * growth->bytes_of_histogram;
}

static void *sums_of(const Growth *growth, size_t number)
{
    return (char *)growth->scratch->sums + number * growth->bytes_of_sums;
}

/* Put the rows that go left before those that go right, each in the order they had; return where the right begin. */
INLINE size_t partition_as(const int is_wide, const void *column, size_t bin, size_t left_too,
                           uint32_t *RESTRICT rows, uint32_t *RESTRICT spare, size_t begin, size_t end)
{
    size_t to = begin, n_right = 0;
    for (size_t i = begin; i < end; i++) {
        const uint32_t row = rows[i];
        const size_t code = is_wide ? ((const uint16_t *)column)[row] : ((const uint8_t *)column)[row];
        const size_t goes_right = (code > bin) & (code != left_too);
        rows[to] = row;
        spare[n_right] = row;
        to += 1 - goes_right;
        n_right += goes_right;
    }
    memcpy(rows + to, spare, n_right * sizeof *rows);
    return to;
}

static size_t partition(const Growth *growth, const OpenLeaf *leaf, size_t f)
{
    const BinnedRows *rows = growth->rows;
    const size_t bin = (size_t)(leaf->bin - rows->first[f]), n_bins = (size_t)(rows->first[f + 1] - rows->first[f]);
    const size_t left_too = leaf->missing_left ? n_bins - 1 : n_bins;
    uint32_t *of = growth->scratch->rows, *spare = growth->scratch->spare;
    if (rows->columns_are_wide)
        return partition_as(1, (const uint16_t *)rows->columns + f * rows->n_rows, bin, left_too, of, spare,
                            leaf->begin, leaf->end);
    return partition_as(0, (const uint8_t *)rows->columns + f * rows->n_rows, bin, left_too, of, spare, leaf->begin,
                        leaf->end);
}

/* Find where a leaf is best split: by all features, or by some, and if these gain nothing by others. `taken` is a
   histogram that is yet to be taken from that of the leaf, or NULL. */
static void look_for_split(Growth *growth, size_t number, const void *taken)
{
    const GrowthOptions *options = growth->options;
    GrowthScratch *scratch = growth->scratch;
    OpenLeaf *leaf = &scratch->leaf[number];
    const size_t n_features = growth->rows->n_features;
    const void *sums = sums_of(growth, number);
    void *histogram = histogram_of(growth, leaf);
    const size_t at_once = options->n_tried_features ? options->n_tried_features : n_features;
    if (taken != NULL && at_once < n_features) {
        subtract_histogram(growth->rows, options, growth->gradients->is_wide, 0, n_features, histogram, taken);
        taken = NULL;
    }
    uint64_t random = mixed(options->seed ^ mixed((uint64_t)leaf->node));
    uint32_t *order = scratch->feature_order;
    leaf->bin = -1;
    for (size_t first = 0; first < n_features && leaf->bin < 0; first += at_once) {
        const size_t n = n_features - first < at_once ? n_features - first : at_once;
        for (size_t i = first; n < n_features && i < first + n; i++) {
            random = mixed(random);
            const size_t other = i + (size_t)(((random >> 32) * (n_features - i)) >> 32);
            const uint32_t feature = order[other];
            order[other] = order[i];
            order[i] = feature;
        }
        find_split(growth->rows, growth->gradients, options, scratch, histogram, taken, sums, order + first, n,
                   random, leaf);
    }
}

/* Return the open leaf that gains most, the first of equals; -1 if none can be split. */
static int64_t best_leaf(const GrowthScratch *scratch, size_t n_leaves)
{
    int64_t best = -1;
    for (size_t i = 0; i < n_leaves; i++)
        if (scratch->leaf[i].bin >= 0 && (best < 0 || scratch->leaf[i].gain > scratch->leaf[best].gain))
            best = (int64_t)i;
    return best;
}

/* Whether the test may be made; if it is a new one it is one of those in use from now on. */
static int take_test(const Growth *growth, const OpenLeaf *leaf)
{
    const size_t test = (size_t)leaf->bin + (leaf->missing_left ? growth->rows->n_bins : 0);
    GrowthScratch *scratch = growth->scratch;
    if (!scratch->is_used[test]) {
        if (growth->options->max_tests > 0 && *scratch->n_used >= (int64_t)growth->options->max_tests)
            return 0;
        scratch->is_used[test] = 1;
        ++*scratch->n_used;
    }
    return 1;
}

/* Return a histogram that no leaf needs. When all of them are taken there are fewer splits to come than open leaves
   that gain more than the worst does: it stays a leaf, and can do without. */
static int32_t free_histogram(Growth *growth)
{
    OpenLeaf *leaf = growth->scratch->leaf;
    if ((size_t)growth->n_histograms < size_of_pool(growth->options))
        return growth->n_histograms++;
    int64_t worst = -1;
    for (size_t i = 0; i < growth->n_leaves; i++)
        if (leaf[i].histogram >= 0 && (worst < 0 || leaf[i].gain <= leaf[worst].gain))
            worst = (int64_t)i;
    const int32_t histogram = leaf[worst].histogram;
    leaf[worst].histogram = leaf[worst].bin = -1;
    return histogram;
}

/* Give two new leaves their sums and histograms: the smaller one's is made of its rows, the other's is what is left
   of their parent's. */
static void open_children(Growth *growth, size_t left, size_t right, int32_t bin, int missing_left)
{
    GrowthScratch *scratch = growth->scratch;
    const int is_wide = growth->gradients->is_wide;
    OpenLeaf *leaf = scratch->leaf;
    const int32_t histogram = leaf[left].histogram;
    void *of_parent = histogram_of(growth, &leaf[left]), *of_left = sums_of(growth, left);
    void *of_right = sums_of(growth, right);
    memcpy(of_right, of_left, growth->bytes_of_sums);
    sum_left(growth->rows, growth->options, is_wide, of_parent, bin, missing_left, of_left);
    if (growth->options->n_lanes == 1 && !is_wide)
        *(int64_t *)of_right -= *(int64_t *)of_left;
    else
        for (size_t k = 0; k < growth->n_ints; k++)
            if (is_wide)
                ((int64_t *)of_right)[k] -= ((int64_t *)of_left)[k];
            else
                ((int32_t *)of_right)[k] -= ((int32_t *)of_left)[k];
    const size_t n_left = leaf[left].end - leaf[left].begin, n_right = leaf[right].end - leaf[right].begin;
    const size_t small = n_left <= n_right ? left : right, large = n_left <= n_right ? right : left;
    if (leaf[large].end - leaf[large].begin < 2)
        return;
    leaf[left].histogram = -1; /* not one that is free */
    leaf[small].histogram = free_histogram(growth);
    leaf[large].histogram = histogram;
    void *of_small = histogram_of(growth, &leaf[small]);
    build_histogram(growth->rows, growth->gradients, growth->options, scratch->rows + leaf[small].begin,
                    leaf[small].end - leaf[small].begin, sums_of(growth, small), of_small);
    if (leaf[small].end - leaf[small].begin > 1)
        look_for_split(growth, small, NULL);
    look_for_split(growth, large, of_small);
}

typedef struct {
    float value, weight;
} Residual;

/* Equal values by their weights: `qsort` leaves them in an order of its own, and sums depend on it. */
static int by_value(const void *a, const void *b)
{
    const Residual *x = a, *y = b;
    const int order = (x->value > y->value) - (x->value < y->value);
    return order ? order : (x->weight > y->weight) - (x->weight < y->weight);
}

/* Return the weighted quantile of what is left of the rows' targets; `sorted` is scratch. */
static double quantile_left(double quantile, const uint32_t *of, size_t n, const float *target, const float *weight,
                            const float *score, Residual *sorted)
{
    double total = 0.0, below = 0.0;
    for (size_t i = 0; i < n; i++) {
        sorted[i] = (Residual){target[of[i]] - score[of[i]], weight[of[i]]};
        total += sorted[i].weight;
    }
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; i < n; i++) {
        below += sorted[i].weight;
        if (below >= quantile * total)
            return sorted[i].value;
    }
    return 0.0;
}

/* Write what a leaf is worth, and add it to the scores of its rows. */
static void settle_one(const Growth *growth, const OpenLeaf *leaf, const float *target, const float *weight,
                       float *score, double *value)
{
    const GrowthOptions *options = growth->options;
    const uint32_t *of = growth->scratch->rows + leaf->begin;
    const size_t n = leaf->end - leaf->begin;
    double g = 0.0, h = 0.0;
    for (size_t i = 0; i < n; i++) {
        g += growth->gradients->g[of[i]];
        h += growth->gradients->h[of[i]];
    }
    double step = h + options->l2 > 0.0 ? -g / (h + options->l2) : 0.0;
    if (options->leaf_quantile > 0.0)
        step = quantile_left(options->leaf_quantile, of, n, target, weight, score,
                             (Residual *)growth->scratch->spare);
    if (options->largest_step > 0.0)
        step = clamp(step, -options->largest_step, options->largest_step);
    *value = options->learning_rate * step;
    for (size_t i = 0; score != NULL && i < n; i++)
        score[of[i]] += (float)*value;
}

INLINE void settle_many_as(const size_t n_lanes, const Growth *growth, const OpenLeaf *leaf, float *RESTRICT score,
                           double *RESTRICT value)
{
    const GrowthOptions *options = growth->options;
    const uint32_t *of = growth->scratch->rows + leaf->begin;
    const size_t n = leaf->end - leaf->begin, n_outputs = options->n_outputs;
    for (size_t v = 0; v < n_lanes; v += LANES) {
        double g[LANES] = {0}, h[LANES] = {0};
        float step[LANES] = {0};
        for (size_t i = 0; i < n; i++) {
            const float *of_g = growth->gradients->g + of[i] * n_lanes + v;
            const float *of_h = growth->gradients->h + of[i] * n_lanes + v;
            const size_t ahead = of[i + AHEAD < n ? i + AHEAD : i] * n_lanes + v;
            PREFETCH(growth->gradients->g + ahead);
            PREFETCH(growth->gradients->h + ahead);
            AT_ONCE
            for (size_t k = 0; k < LANES; k++)
                g[k] += (double)of_g[k];
            AT_ONCE
            for (size_t k = 0; k < LANES; k++)
                h[k] += (double)of_h[k];
        }
        for (size_t k = 0; k < LANES && v + k < n_outputs; k++) {
            const double below = h[k] + options->l2;
            const double wanted = below > 0.0 && h[k] >= options->min_weight ? -g[k] / below : 0.0;
            value[v + k] = options->learning_rate * wanted;
            step[k] = (float)value[v + k];
        }
        for (size_t i = 0; score != NULL && i < n; i++) {
            float *s = score + of[i] * n_lanes + v;
            PREFETCH(score + of[i + AHEAD < n ? i + AHEAD : i] * n_lanes + v);
            AT_ONCE
            for (size_t k = 0; k < LANES; k++)
                s[k] += step[k];
        }
    }
}

static HOT void settle_many(const Growth *growth, const OpenLeaf *leaf, float *score, double *value)
{
    switch (growth->options->n_lanes) {
    case 8:
        settle_many_as(8, growth, leaf, score, value);
        break;
    case 16:
        settle_many_as(16, growth, leaf, score, value);
        break;
    default:
        settle_many_as(growth->options->n_lanes, growth, leaf, score, value);
    }
}

static void write_leaf(GrownNodes *nodes, size_t node, size_t n_rows)
{
    nodes->feature[node] = nodes->bin[node] = nodes->left[node] = nodes->right[node] = -1;
    nodes->missing_left[node] = 0;
    nodes->gain[node] = 0.0;
    nodes->n_rows[node] = (int64_t)n_rows;
}

size_t grow_tree(const BinnedRows *rows, const Gradients *gradients, const GrowthOptions *options,
                 GrowthScratch *scratch, size_t n_sampled, const float *target, const float *weight, float *score,
                 GrownNodes *nodes)
{
    const size_t bytes_of_int = gradients->is_wide ? sizeof(int64_t) : sizeof(int32_t);
    Growth growth = {rows, gradients, options, scratch, .n_leaves = 1, .n_histograms = 1};
    growth.n_ints = ints_of_bin(options);
    growth.bytes_of_sums = growth.n_ints * bytes_of_int;
    growth.bytes_of_histogram = bytes_of_histogram(rows, options, gradients->is_wide);
    size_t n_nodes = 1;
    OpenLeaf *leaf = scratch->leaf;
    leaf[0] = (OpenLeaf){.bin = -1, .end = n_sampled};
    write_leaf(nodes, 0, n_sampled);
    for (size_t f = 0; f < rows->n_features; f++)
        scratch->feature_order[f] = (uint32_t)f;
    if (options->max_leaves > 1 && n_sampled > 1 && rows->n_features > 0) {
        void *histogram = histogram_of(&growth, &leaf[0]), *sums = sums_of(&growth, 0);
        if (rows->row_start != NULL) /* to complete the histogram by */
            sum_gradients(gradients, options, scratch->rows, n_sampled, sums);
        build_histogram(rows, gradients, options, scratch->rows, n_sampled, sums, histogram);
        if (rows->row_start == NULL)
            sum_left(rows, options, gradients->is_wide, histogram, rows->first[1] - 1, 0, sums);
        look_for_split(&growth, 0, NULL);
    }
    while (growth.n_leaves < options->max_leaves) {
        const int64_t best = best_leaf(scratch, growth.n_leaves);
        if (best < 0)
            break;
        const size_t left = (size_t)best, right = growth.n_leaves;
        if (!take_test(&growth, &leaf[left])) {
            look_for_split(&growth, left, NULL); /* all tests are taken by now: among these */
            continue;
        }
        const OpenLeaf parent = leaf[left];
        const size_t f = feature_of_bin(rows, parent.bin), middle = partition(&growth, &parent, f);
        nodes->feature[parent.node] = (int32_t)f;
        nodes->bin[parent.node] = parent.bin - rows->first[f];
        nodes->missing_left[parent.node] = parent.missing_left;
        nodes->gain[parent.node] = parent.gain;
        nodes->left[parent.node] = (int32_t)n_nodes;
        nodes->right[parent.node] = (int32_t)n_nodes + 1;
        write_leaf(nodes, n_nodes, middle - parent.begin);
        write_leaf(nodes, n_nodes + 1, parent.end - middle);
        leaf[left].node = (int32_t)n_nodes, leaf[left].end = middle, leaf[left].bin = -1;
        leaf[left].gain = 0.0f;
        leaf[right] = (OpenLeaf){.node = (int32_t)n_nodes + 1, .bin = -1, .histogram = -1, .begin = middle,
                                 .end = parent.end};
        n_nodes += 2;
        growth.n_leaves++;
        if (growth.n_leaves < options->max_leaves)
            open_children(&growth, left, right, parent.bin, parent.missing_left);
    }
    for (size_t i = 0; i < growth.n_leaves; i++) {
        double *of_leaf = nodes->weight + leaf[i].node;
        double *value = nodes->value + (size_t)leaf[i].node * options->n_outputs;
        if (options->n_lanes > 1)
            settle_many(&growth, &leaf[i], score, value);
        else
            settle_one(&growth, &leaf[i], target, weight, score, value);
        *of_leaf = 0.0;
        for (size_t k = leaf[i].begin; k < leaf[i].end; k++)
            *of_leaf += weight[scratch->rows[k]];
    }
    for (size_t node = n_nodes; node-- > 0;)
        if (nodes->left[node] >= 0)
            nodes->weight[node] = nodes->weight[nodes->left[node]] + nodes->weight[nodes->right[node]];
    average_upwards(n_nodes, options->n_outputs, nodes->left, nodes->right, nodes->weight, nodes->value);
    return n_nodes;
}
