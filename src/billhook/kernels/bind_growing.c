#include "bindings.h"
#include "growing.h"

/* What is wrong with where the bins of each feature begin, NULL if nothing is. Each has one, and another for missing
   values. */
static const char *wrong_with_bins(const Array *first, const Array *has_missing, Py_ssize_t n_features)
{
    if (first->size != n_features + 1 || (has_missing != NULL && has_missing->size != n_features))
        return "first or has_missing is of other features";
    for (Py_ssize_t f = 0; f < n_features; f++)
        if ((int64_t)first->i32[f + 1] - first->i32[f] <= (has_missing != NULL && has_missing->u8[f]))
            return "a feature has no bin, or only that of missing values";
    return first->i32[0] == 0 ? NULL : "bins are not counted from 0";
}

/* What is wrong with the cells of the rows, NULL if nothing is. */
static const char *wrong_with_cells(const Array *columns, const Array *first, const Array *cells,
                                    const Array *row_start, const Array *commonest)
{
    const Py_ssize_t n_features = columns->length[0], n_rows = columns->length[1];
    if (commonest->size != n_features)
        return "commonest is of other features";
    for (Py_ssize_t f = 0; f < n_features; f++)
        if (commonest->i32[f] < first->i32[f] || commonest->i32[f] >= first->i32[f + 1])
            return "a commonest bin is not one of its feature";
    if (row_start->size != 0 && row_start->size != n_rows + 1)
        return "row_start is of other rows";
    return cells->size < (row_start->size ? row_start->i64[n_rows] : columns->size) ? "cells are missing" : NULL;
}

/* Whether gradients have room for so many outputs: one lane, or several whole registers. */
static int are_lanes(Py_ssize_t n_lanes, Py_ssize_t n_outputs)
{
    return 1 <= n_outputs && n_outputs <= n_lanes && (n_lanes == 1 || n_lanes % LANES == 0);
}

static PyObject *py_columns_of_codes(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "columns_of_codes"};
    Array codes, first, columns, count;
    if (!take(&call, args, n_args, "C2 i1 C2* q1*", &codes, &first, &columns, &count))
        return NULL;
    const char *wrong = wrong_with_bins(&first, NULL, codes.length[1]);
    if (wrong != NULL)
        return fail(&call, wrong);
    if (columns.length[0] != codes.length[1] || columns.length[1] != codes.length[0]
        || columns.item_size != codes.item_size || count.size != first.i32[codes.length[1]])
        return fail(&call, "codes, first, columns and count do not belong together");
    Py_BEGIN_ALLOW_THREADS
    columns_of_codes((size_t)codes.length[0], (size_t)codes.length[1], codes.data, codes.item_size == 2, first.i32,
                     columns.data, count.i64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_cells_of_codes(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "cells_of_codes"};
    Array codes, first, commonest, row_start, cells;
    if (!take(&call, args, n_args, "C2 i1 i1 q1* L1*", &codes, &first, &commonest, &row_start, &cells))
        return NULL;
    const int is_sparse = row_start.size > 0;
    if (first.size != codes.length[1] + 1 || commonest.size != codes.length[1]
        || (is_sparse && row_start.size != codes.length[0] + 1) || (!is_sparse && cells.size <= codes.size))
        return fail(&call, "codes, first, commonest, row_start and cells do not belong together");
    Py_BEGIN_ALLOW_THREADS
    cells_of_codes((size_t)codes.length[0], (size_t)codes.length[1], codes.data, codes.item_size == 2, first.i32,
                   commonest.i32, is_sparse ? row_start.i64 : NULL, cells.data, cells.item_size == 4);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_loss_gradients(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "loss_gradients"};
    Py_ssize_t loss, n_outputs;
    double shape;
    Array score, target, weight, g, h;
    if (!take(&call, args, n_args, "n x n f2 f1 f1 f2* f2*", &loss, &shape, &n_outputs, &score, &target, &weight,
              &g, &h))
        return NULL;
    if (target.size != score.length[0] || weight.size != score.length[0] || g.size != score.size
        || h.size != score.size)
        return fail(&call, "score, target, weight, g and h do not belong together");
    if (!are_lanes(score.length[1], n_outputs) || (loss == GROW_SOFTMAX && score.length[1] == 1)
        || (loss != GROW_SOFTMAX && loss != GROW_SHARES && score.length[1] != 1))
        return fail(&call, "score has not one number for each output, or more than that, up to a multiple of 8");
    Py_BEGIN_ALLOW_THREADS
    loss_gradients((int)loss, shape, (size_t)score.length[0], (size_t)n_outputs, (size_t)score.length[1], score.f32,
                   target.f32, weight.f32, g.f32, h.f32);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_grow_tree(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "grow_tree"};
    Array first, has_missing, columns, cells, row_start, commonest;
    Array g, h, whole, sampled, target, weight, score;
    Array feature, bin, missing_left, left, right, value, gain, n_rows, of_rows;
    Array spare, histograms, is_used, n_used;
    Py_ssize_t n_outputs, max_leaves, max_tests, n_tried_features;
    double learning_rate, l2, min_weight, largest_step, reuse_factor, leaf_quantile;
    int is_random_threshold, is_share;
    uint64_t seed;
    if (!take(&call, args, n_args,
              "i1 ?1 C2 L1 q1 i1 "
              "f2 f2 q1* I1* f1 f1 f2* "
              "i1* i1* ?1* i1* i1* d2* d1* q1* d1* "
              "I1* q1* ?1* q1* "
              "n n x x x x x n n p x p u",
              &first, &has_missing, &columns, &cells, &row_start, &commonest, &g, &h, &whole, &sampled, &target,
              &weight, &score, &feature, &bin, &missing_left, &left, &right, &value, &gain, &n_rows, &of_rows, &spare,
              &histograms, &is_used, &n_used, &n_outputs, &max_leaves, &learning_rate, &l2, &min_weight,
              &largest_step, &reuse_factor, &max_tests, &n_tried_features, &is_random_threshold, &leaf_quantile,
              &is_share, &seed))
        return NULL;
    const char *wrong = wrong_with_bins(&first, &has_missing, columns.length[0]);
    if (wrong == NULL)
        wrong = wrong_with_cells(&columns, &first, &cells, &row_start, &commonest);
    if (wrong == NULL && (max_leaves < 1 || max_tests < 0 || n_tried_features < 0))
        wrong = "max_leaves is below 1, or another number below 0";
    if (wrong == NULL && !are_lanes(g.length[1], n_outputs))
        wrong = "gradients have not one number for each output, or more than that, up to a multiple of 8";
    if (wrong != NULL)
        return fail(&call, wrong);
    const size_t n_lanes = (size_t)g.length[1];
    const BinnedRows rows = {
        .n_rows = (size_t)columns.length[1],
        .n_features = (size_t)columns.length[0],
        .n_bins = (size_t)first.i32[first.size - 1],
        .first = first.i32,
        .has_missing = has_missing.u8,
        .columns = columns.data,
        .columns_are_wide = columns.item_size == 2,
        .cells = cells.data,
        .cells_are_wide = cells.item_size == 4,
        .row_start = row_start.size > 0 ? row_start.i64 : NULL,
        .commonest = commonest.i32,
    };
    const GrowthOptions options = {
        .n_outputs = (size_t)n_outputs,
        .n_lanes = n_lanes,
        .max_leaves = (size_t)max_leaves,
        .learning_rate = learning_rate,
        .l2 = l2,
        .min_weight = min_weight,
        .largest_step = largest_step,
        .reuse_factor = reuse_factor,
        .max_tests = (size_t)max_tests,
        .n_tried_features = (size_t)n_tried_features,
        .is_random_threshold = is_random_threshold,
        .leaf_quantile = leaf_quantile,
        .is_share = is_share,
        .seed = seed,
    };
    Gradients gradients = {.g = g.f32, .h = h.f32, .is_wide = rows.n_rows > MOST_NARROW_ROWS};
    gradients.whole = (int16_t *)whole.data;
    gradients.whole_one = whole.i64;
    const size_t n_nodes = 2 * (size_t)max_leaves - 1, n_ints = ints_of_bin(&options);
    const size_t n_whole = n_lanes > 1 ? (rows.n_rows * n_ints + LANES + 3) / 4
                                       : rows.n_rows * (gradients.is_wide ? 2 : 1);
    if (g.length[0] != columns.length[1] || h.size != g.size || score.size != g.size
        || target.size != columns.length[1] || weight.size != columns.length[1]
        || (size_t)whole.size < n_whole || spare.size < 2 * sampled.size
        || ((size_t)histograms.size - LANES) * sizeof(int64_t)
               < size_of_pool(&options) * bytes_of_histogram(&rows, &options, gradients.is_wide)
        || histograms.size < LANES
        || (size_t)is_used.size < 2 * rows.n_bins || n_used.size < 1)
        return fail(&call, "rows, gradients and scratch do not belong together");
    if ((size_t)feature.size < n_nodes || (size_t)bin.size < n_nodes || (size_t)missing_left.size < n_nodes
        || (size_t)left.size < n_nodes || (size_t)right.size < n_nodes || (size_t)value.length[0] < n_nodes
        || value.length[1] != n_outputs || (size_t)gain.size < n_nodes || (size_t)n_rows.size < n_nodes
        || (size_t)of_rows.size < n_nodes)
        return fail(&call, "there is no room for 2 max_leaves - 1 nodes");
    GrownNodes nodes = {feature.i32, bin.i32,  missing_left.u8, left.i32,   right.i32,
                        value.f64,   gain.f64, n_rows.i64,      of_rows.f64};
    GrowthScratch scratch = {
        .rows = sampled.u32,
        .spare = spare.u32,
        .leaf = scratch_for(&call, (size_t)max_leaves * sizeof(OpenLeaf)),
        .histograms = histograms.data,
        .sums = scratch_for(&call, ((size_t)max_leaves * n_ints + LANES) * sizeof(int64_t)),
        .prefix = scratch_for(&call, (2 * rows.n_bins + n_ints) * sizeof(int64_t)),
        .gain = scratch_for(&call, 2 * rows.n_bins * sizeof(float)),
        .is_used = is_used.u8,
        .n_used = n_used.i64,
        .feature_order = scratch_for(&call, rows.n_features * sizeof(uint32_t)),
    };
    if (!scratch.leaf || !scratch.sums || !scratch.prefix || !scratch.gain || !scratch.feature_order)
        return failed(&call);
    size_t grown;
    Py_BEGIN_ALLOW_THREADS
    round_gradients(&gradients, &options, rows.n_rows);
    grown = grow_tree(&rows, &gradients, &options, &scratch, (size_t)sampled.size, target.f32, weight.f32,
                      is_share ? NULL : score.f32, &nodes);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyLong_FromSize_t(grown);
}

int add_growing_constants(PyObject *module)
{
    PyObject *losses =
        Py_BuildValue("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "squared", GROW_SQUARED, "logistic", GROW_LOGISTIC,
                      "softmax", GROW_SOFTMAX, "absolute", GROW_ABSOLUTE, "poisson", GROW_POISSON, "shares",
                      GROW_SHARES, "huber", GROW_HUBER, "quantile", GROW_QUANTILE);
    const int failed = losses == NULL || PyModule_AddObjectRef(module, "GROWTH_LOSSES", losses) < 0
                       || PyModule_AddIntConstant(module, "GROWTH_LANES", LANES) < 0
                       || PyModule_AddIntConstant(module, "MOST_NARROW_ROWS", MOST_NARROW_ROWS) < 0;
    Py_XDECREF(losses);
    return failed ? -1 : 0;
}

PyMethodDef growing_methods[] = {
    METHOD(columns_of_codes),
    METHOD(cells_of_codes),
    METHOD(loss_gradients),
    METHOD(grow_tree),
    {NULL, NULL, 0, NULL},
};
