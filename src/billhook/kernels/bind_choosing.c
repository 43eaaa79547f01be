#include "bindings.h"
#include "choose_splits.h"

/* What is wrong with the arguments, or NULL. */
static const char *wrong_with(const Array *bucket, const Array *first, const Array *group, const Array *nodes,
                              size_t n_nodes, const Array *value, const Array *state, const Array *target,
                              const Array *weight, Py_ssize_t column, int is_many)
{
    if (first->size != bucket->length[1] + 1 || first->u32[first->size - 1] != (uint32_t)group->size)
        return "first must have a number for each group, and the number of buckets";
    for (size_t i = 1; i < n_nodes; i++)
        if (nodes[i].size != nodes[0].size)
            return "arguments have different numbers of nodes";
    if (state->length[0] != bucket->length[0] || target->size != bucket->length[0]
        || weight->size != bucket->length[0])
        return "bucket, state, target and weight have different numbers of rows";
    if (is_many ? state->length[1] < 2 : state->length[1] != 1)
        return is_many ? "rows must have several columns" : "rows must have one column";
    if (value->length[1] < 1 || column < 0 || column + value->length[1] > state->length[1])
        return "leaves must have a value, and no more than rows have from their column on";
    return NULL;
}

static PyObject *choose(const char *function, const int is_many, PyObject *const *args, Py_ssize_t n_args)
{
    Call call = {.function = function};
    enum { TEST, LEFT, RIGHT, LEAF, N_ROWS, ROW_WEIGHT, NODE_ARRAYS };
    Array bucket, first, group, value, state, target, weight, nodes[NODE_ARRAYS];
    Py_ssize_t column, loss;
    double width;
    if (!take(&call, args, n_args, is_many ? "H2 I1 I1 i1* i1* i1* i1 d2 n d2* Q1 d1 n x q1* d1*"
                                           : "H2 I1 I1 i1* i1* i1* i1 d2 n d2* d1 d1 n x q1* d1*",
              &bucket, &first, &group, &nodes[TEST], &nodes[LEFT], &nodes[RIGHT], &nodes[LEAF], &value, &column,
              &state, &target, &weight, &loss, &width, &nodes[N_ROWS], &nodes[ROW_WEIGHT]))
        return NULL;
    const char *wrong = wrong_with(&bucket, &first, &group, nodes, NODE_ARRAYS, &value, &state, &target, &weight,
                                   column, is_many);
    if (wrong != NULL)
        return fail(&call, wrong);
    const TestBuckets tests = {(size_t)bucket.length[0], (size_t)bucket.length[1], (size_t)group.size, bucket.u16,
                               first.u32, group.u32};
    const SplitTree tree = {
        .n_nodes = (size_t)nodes[TEST].size,
        .n_leaves = (size_t)value.length[0],
        .n_values = (size_t)value.length[1],
        .column = (size_t)column,
        .test = nodes[TEST].i32,
        .left = nodes[LEFT].i32,
        .right = nodes[RIGHT].i32,
        .leaf = nodes[LEAF].i32,
        .value = value.f64,
        .n_rows = nodes[N_ROWS].i64,
        .row_weight = nodes[ROW_WEIGHT].f64,
    };
    const SplitRows rows = {
        .n_columns = (size_t)state.length[1],
        .state = state.f64,
        .target = is_many ? NULL : target.f64,
        .label = is_many ? target.u64 : NULL,
        .weight = weight.f64,
        .loss = (int)loss,
        .width = width,
    };
    size_t n_changed;
    double *numbers = scratch_for(&call, numbers_to_choose(&tests, &tree, rows.n_columns) * sizeof *numbers);
    uint32_t *ids = numbers == NULL ? NULL : scratch_for(&call, ids_to_choose(&tests, &tree) * sizeof *ids);
    if (ids == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    n_changed = choose_splits(&tests, &tree, &rows, numbers, ids);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyLong_FromSize_t(n_changed);
}

static PyObject *py_choose_splits_one(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return choose("choose_splits_one", 0, args, n_args);
}

static PyObject *py_choose_splits_many(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return choose("choose_splits_many", 1, args, n_args);
}

PyMethodDef choosing_methods[] = {
    METHOD(choose_splits_one),
    METHOD(choose_splits_many),
    {NULL, NULL, 0, NULL},
};
