#include "bindings.h"
#include "forest_fallback.h"
#include "softmax.h"

static PyObject *py_lay_out(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "lay_out"};
    Array offset, left, right, column, threshold, visits, words, node_at, size, crown[4], deeper;
    Py_ssize_t position_bits;
    if (!take(&call, args, n_args, "q1 i1 i1 i1 i1 q1 n Q1* i1* i1* i2* i2* Q2* i2* ?1*", &offset, &left, &right,
              &column, &threshold, &visits, &position_bits, &words, &node_at, &size, &crown[0], &crown[1], &crown[2],
              &crown[3], &deeper))
        return NULL;
    const Py_ssize_t n_nodes = left.size, n_trees = offset.size - 1;
    if (n_trees < 1 || offset.i64[n_trees] != n_nodes || right.size != n_nodes || column.size != n_nodes
        || threshold.size != n_nodes || visits.size != n_nodes || words.size != n_nodes || node_at.size != n_nodes)
        return fail(&call, "the arrays of nodes have different lengths");
    for (int i = 0; i < 4; i++)
        if (crown[i].length[0] != n_trees || crown[i].length[1] != CROWN_WIDTH)
            return fail(&call, "the arrays of crowns have not 64 entries for each tree");
    if (size.size != n_trees || deeper.size != n_trees || position_bits < 1 || position_bits > 31)
        return fail(&call, "there is not one crown for each tree, or position_bits does not lie between 1 and 31");
    const Tables tables = {
        .n_trees = (size_t)n_trees, .offset = offset.i64, .position_bits = (int)position_bits, .words = words.u64,
        .node_at = node_at.i32, .crown_size = size.i32, .crown_column = crown[0].i32,
        .crown_threshold = crown[1].i32, .crown_keeps = crown[2].u64, .exits = crown[3].i32, .goes_deeper = deeper.u8,
    };
    int32_t *position_of = scratch_for(&call, (size_t)n_nodes * sizeof *position_of);
    uint8_t *in_crown = position_of == NULL ? NULL : scratch_for(&call, (size_t)n_nodes);
    if (in_crown == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    lay_out(&tables, left.i32, right.i32, column.i32, threshold.i32, visits.i64, position_of, in_crown);
    Py_END_ALLOW_THREADS
    return done(&call);
}

/* Read rows and the nodes of a forest, the arguments that both functions for large forests begin with. */
typedef struct {
    Array X, offset, feature, threshold, left, right, missing_left, category_set, set_offset, set_bits;
} PlainArrays;

static int fit_each_other(const PlainArrays *arrays, PlainTrees *trees)
{
    const Py_ssize_t n_nodes = arrays->feature.size;
    *trees = (PlainTrees){
        .n_trees = (size_t)(arrays->offset.size - 1), .offset = arrays->offset.i64, .feature = arrays->feature.i32,
        .threshold = arrays->threshold.f32, .left = arrays->left.i32, .right = arrays->right.i32,
        .missing_left = arrays->missing_left.u8, .n_sets = (size_t)(arrays->set_offset.size - 1),
        .category_set = arrays->category_set.i32, .sets = {arrays->set_offset.i64, arrays->set_bits.u32},
    };
    return arrays->offset.size > 1 && arrays->offset.i64[arrays->offset.size - 1] == n_nodes
           && arrays->threshold.size == n_nodes && arrays->left.size == n_nodes && arrays->right.size == n_nodes
           && arrays->missing_left.size == n_nodes && arrays->category_set.size == n_nodes
           && arrays->set_offset.size > 0
           && arrays->set_offset.i64[arrays->set_offset.size - 1] == arrays->set_bits.size;
}

static PyObject *py_sum_values_plainly(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "sum_values_plainly"};
    PlainArrays a;
    PlainTrees trees;
    Array value, start, end, column, scores;
    double divisor;
    if (!take(&call, args, n_args, "f2 q1 i1 f1 i1 i1 ?1 i1 q1 I1 d2 d1 x d1 i1 d2*", &a.X, &a.offset,
              &a.feature, &a.threshold, &a.left, &a.right, &a.missing_left, &a.category_set, &a.set_offset,
              &a.set_bits, &value, &start, &divisor, &end, &column, &scores))
        return NULL;
    if (!fit_each_other(&a, &trees) || value.length[0] != a.feature.size || end.size != start.size
        || (value.length[1] != 1 && value.length[1] != start.size) || column.size != a.offset.size - 1)
        return fail(&call, "the arrays of the forest do not fit each other");
    if (scores.length[0] != a.X.length[0] || scores.length[1] != start.size)
        return fail(&call, "scores has another shape than (rows, scores)");
    const Sum sum = {
        .n_values = (size_t)value.length[1], .n_scores = (size_t)start.size, .value = value.f64,
        .tree_column = column.i32, .start = start.f64, .divisor = divisor, .end = end.f64,
    };
    Py_BEGIN_ALLOW_THREADS
    sum_values_plainly(&trees, &sum, a.X.f32, (size_t)a.X.length[0], (size_t)a.X.length[1], scores.f64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_leaf_ids_plainly(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "leaf_ids_plainly"};
    PlainArrays a;
    PlainTrees trees;
    Array leaf;
    Py_ssize_t first;
    if (!take(&call, args, n_args, "f2 q1 i1 f1 i1 i1 ?1 i1 q1 I1 L2* n", &a.X, &a.offset, &a.feature,
              &a.threshold, &a.left, &a.right, &a.missing_left, &a.category_set, &a.set_offset, &a.set_bits,
               &leaf, &first))
        return NULL;
    if (!fit_each_other(&a, &trees))
        return fail(&call, "the arrays of the forest do not fit each other");
    if (leaf.length[0] != a.offset.size - 1 || first < 0 || first > leaf.length[1] - a.X.length[0])
        return fail(&call, "leaf has no room for the rows from the first on, or not one line for each tree");
    const WrittenLeafIds to = {(char *)leaf.data + first * leaf.item_size, (size_t)leaf.length[1],
                               leaf.item_size == sizeof(uint32_t)};
    Py_BEGIN_ALLOW_THREADS
    leaf_ids_plainly(&trees, a.X.f32, (size_t)a.X.length[0], (size_t)a.X.length[1], &to);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_choose_winners(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "choose_winners"};
    Array scores, winners;
    int is_logistic, last_wins;
    if (!take(&call, args, n_args, "d2 p p q1*", &scores, &is_logistic, &last_wins, &winners))
        return NULL;
    if (scores.length[1] < 1 || winners.size != scores.length[0])
        return fail(&call, "there are no scores, or not one winner for each row");
    Py_BEGIN_ALLOW_THREADS
    choose_winners(scores.f64, (size_t)scores.length[0], (size_t)scores.length[1],
                   winner_rule(is_logistic, last_wins), winners.i64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_softmax(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "softmax"};
    Array scores;
    if (!take(&call, args, n_args, "d2*", &scores))
        return NULL;
    if (scores.length[1] < 1)
        return fail(&call, "there are no scores");
    Py_BEGIN_ALLOW_THREADS
    softmax(scores.f64, (size_t)scores.length[0], (size_t)scores.length[1]);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_has_missing(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "has_missing"};
    Array X;
    int is_missing;
    if (!take(&call, args, n_args, "F2", &X))
        return NULL;
    const Rows rows = {X.data, (size_t)X.length[0], (size_t)X.length[1],
                       X.item_size == sizeof(float) ? ARE_FLOAT32 : TO_NEAREST};
    Py_BEGIN_ALLOW_THREADS
    is_missing = has_missing(&rows);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyBool_FromLong(is_missing);
}

PyMethodDef forest_methods[] = {
    METHOD(lay_out),
    METHOD(sum_values_plainly),
    METHOD(leaf_ids_plainly),
    METHOD(choose_winners),
    METHOD(softmax),
    METHOD(has_missing),
    {NULL, NULL, 0, NULL},
};
