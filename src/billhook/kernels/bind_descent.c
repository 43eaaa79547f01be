#include "bindings.h"
#include "descent.h"
#include "descent_rows.h"

/* What most functions here take of the rows: their leaves, weights, and what is skipped, which may be empty. */
typedef struct {
    Array leaf, weight, skip;
} RowArrays;

static DescentRows as_rows(const RowArrays *given)
{
    return (DescentRows){
        .n_trees = (size_t)given->leaf.length[0],
        .n_rows = (size_t)given->leaf.length[1],
        .leaf = as_leaf_ids(&given->leaf),
        .skip = given->skip.size > 0 ? given->skip.u8 : NULL,
        .weight = given->weight.f64,
    };
}

/* Return what is wrong with the rows and with the first leaves of trees, or NULL. */
static const char *wrong_with_rows(const RowArrays *given, const Array *first)
{
    if (first->size != given->leaf.length[0] + 1)
        return "first must have one number more than there are trees";
    if (given->weight.data != NULL && given->weight.size != given->leaf.length[1])
        return "leaf and weight have different numbers of rows";
    if (given->skip.size > 0 && (given->skip.length[0] != given->leaf.length[0]
                                 || given->skip.length[1] != given->leaf.length[1]))
        return "leaf and skip have different shapes";
    return NULL;
}

/* The leaves of all trees and what is known of them. */
typedef struct {
    Array first, used, table, anchor, curvature, grid;
} LeafArrays;

static const char *wrong_with_leaves(const LeafArrays *given, Py_ssize_t n_columns)
{
    const Py_ssize_t n_leaves = given->table.length[0], n_values = given->table.length[1];
    if (given->used.size != n_leaves || given->anchor.length[0] != n_leaves || given->curvature.length[0] != n_leaves)
        return "used, table, anchor and curvature have different numbers of leaves";
    if (given->anchor.length[1] != n_values || given->curvature.length[1] != n_values)
        return "table, anchor and curvature have different numbers of values";
    if (given->first.u64[given->first.size - 1] != (uint64_t)n_leaves)
        return "first must end with the number of leaves";
    if (n_values < 1 || n_values > n_columns)
        return "leaves must have a value, and no more than rows have";
    if (given->grid.size > 0 && (given->grid.length[0] != n_columns || given->grid.length[1] != 3))
        return "grid must be empty or have three numbers for each column of the scores";
    return NULL;
}

static DescentLeaves as_leaves(const LeafArrays *given, const uint64_t *column)
{
    return (DescentLeaves){
        .first = given->first.u64,
        .column = column,
        .n_values = (size_t)given->table.length[1],
        .table = given->table.f64,
        .anchor = given->anchor.f64,
        .used = given->used.u8,
        .curvature = given->curvature.f64,
    };
}

static const char *wrong_with_state(const RowArrays *rows, const Array *column, const Array *state,
                                    const Array *target, int is_many)
{
    if (column->size != rows->leaf.length[0])
        return "leaf and column have different numbers of trees";
    if (state->length[0] != rows->leaf.length[1] || target->size != rows->leaf.length[1])
        return "leaf, state and target have different numbers of rows";
    if (is_many ? state->length[1] < 2 : state->length[1] != 1)
        return is_many ? "rows must have several columns" : "rows must have one column";
    return NULL;
}

static double *numbers_for(Call *call, size_t n) { return scratch_for(call, n * sizeof(double)); }

/* Give a step its memory; return 0, with an error set, if there is none. */
static int make_step(Call *call, size_t most, size_t n_values, size_t n_columns, TreeStep *step)
{
    step->width = n_values > 1 && n_values == n_columns ? padded(n_columns) : n_values;
    step->move = numbers_for(call, (most + 1) * step->width);
    step->sums = step->move == NULL ? NULL : numbers_for(call, 2 * most * step->width);
    return step->sums != NULL;
}

static PyObject *descend(const char *function, const int is_many, PyObject *const *args, Py_ssize_t n_args)
{
    Call call = {.function = function};
    RowArrays of_rows;
    LeafArrays of_leaves;
    Array column, state, target;
    Py_ssize_t loss;
    DescentRules rules;
    if (!take(&call, args, n_args, is_many ? "L2 Q1 Q1 d2* Q1 d1 ?2 ?1 d2* d2 d2* n x x x x x d2"
                                           : "L2 Q1 Q1 d2* d1 d1 ?2 ?1 d2* d2 d2* n x x x x x d2",
              &of_rows.leaf, &of_leaves.first, &column, &state, &target, &of_rows.weight, &of_rows.skip,
              &of_leaves.used, &of_leaves.table, &of_leaves.anchor, &of_leaves.curvature, &loss, &rules.width,
              &rules.l2, &rules.group, &rules.largest, &rules.damping, &of_leaves.grid))
        return NULL;
    const char *wrong = wrong_with_rows(&of_rows, &of_leaves.first);
    if (wrong == NULL)
        wrong = wrong_with_leaves(&of_leaves, state.length[1]);
    if (wrong == NULL)
        wrong = wrong_with_state(&of_rows, &column, &state, &target, is_many);
    if (wrong != NULL)
        return fail(&call, wrong);
    const DescentRows rows = as_rows(&of_rows);
    const DescentLeaves leaves = as_leaves(&of_leaves, column.u64);
    const size_t n_columns = (size_t)state.length[1], most = most_leaves(leaves.first, rows.n_trees);
    rules.loss = (int)loss;
    rules.grid = of_leaves.grid.size > 0 ? of_leaves.grid.f64 : NULL;
    TreeStep step;
    if (!make_step(&call, most, leaves.n_values, n_columns, &step))
        return failed(&call);
    double *wide_state = numbers_for(&call, is_many ? rows.n_rows * padded(n_columns) : 0);
    const size_t n_scratch = is_many ? 2 * most * padded(n_columns) : 8 * most;
    double *scratch = wide_state == NULL ? NULL : numbers_for(&call, n_scratch);
    if (scratch == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    if (is_many)
        descend_many(&rows, &leaves, &rules, n_columns, state.f64, target.u64, &step, wide_state, scratch);
    else
        descend_one(&rows, &leaves, &rules, state.f64, target.f64, &step, scratch);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *sweep(const char *function, const int is_many, PyObject *const *args, Py_ssize_t n_args)
{
    Call call = {.function = function};
    RowArrays of_rows = {.skip = {.size = 0}};
    Array first, column, move, state, target, sums;
    Py_ssize_t before, now, loss;
    double width;
    if (!take(&call, args, n_args, is_many ? "L2 Q1 Q1 n n d2 d2* Q1 d1 n x d3*"
                                           : "L2 Q1 Q1 n n d2 d2* d1 d1 n x d3*",
              &of_rows.leaf, &first, &column, &before, &now, &move, &state, &target, &of_rows.weight, &loss, &width,
              &sums))
        return NULL;
    const char *wrong = wrong_with_rows(&of_rows, &first);
    if (wrong == NULL)
        wrong = wrong_with_state(&of_rows, &column, &state, &target, is_many);
    const Py_ssize_t n_trees = of_rows.leaf.length[0], n_values = move.length[1], n_columns = state.length[1];
    if (wrong == NULL && (before < 0 || before >= n_trees || now < 0 || now >= n_trees))
        wrong = "there is no such tree";
    if (wrong == NULL && (n_values < 1 || n_values > n_columns))
        wrong = "leaves must have a value, and no more than rows have";
    if (wrong == NULL && (uint64_t)move.length[0] != first.u64[before + 1] - first.u64[before])
        wrong = "move must have a row for each leaf of the tree before";
    if (wrong == NULL && ((uint64_t)sums.length[0] != first.u64[now + 1] - first.u64[now] || sums.length[1] != 2
                          || sums.length[2] != n_values))
        wrong = "sums must have shape (leaves of the tree, 2, values)";
    if (wrong != NULL)
        return fail(&call, wrong);
    const DescentRows rows = as_rows(&of_rows);
    const size_t n_leaves = (size_t)sums.length[0];
    if (!is_many) {
        double *scratch = numbers_for(&call, n_leaves * 8);
        if (scratch == NULL)
            return failed(&call);
        Py_BEGIN_ALLOW_THREADS
        sweep_one(&rows, (size_t)before, (size_t)now, n_leaves, state.f64, target.f64, (int)loss, width, move.f64, 0,
                  sums.f64, scratch);
        Py_END_ALLOW_THREADS
        return done(&call);
    }
    const size_t n = padded((size_t)n_columns), n_wide = n_values == n_columns ? n : (size_t)n_values;
    const size_t n_moved = (size_t)move.length[0];
    double *wide_state = numbers_for(&call, rows.n_rows * n);
    double *wide_move = wide_state == NULL ? NULL : numbers_for(&call, n_moved * n_wide);
    double *wide_sums = wide_move == NULL ? NULL : numbers_for(&call, n_leaves * 2 * n_wide);
    if (wide_sums == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    resize_rows(rows.n_rows, (size_t)n_columns, state.f64, n, wide_state);
    resize_rows(n_moved, (size_t)n_values, move.f64, n_wide, wide_move);
    sweep_many(&rows, (size_t)before, (size_t)now, n_leaves, (size_t)column.u64[before], (size_t)column.u64[now],
               (size_t)n_values, (size_t)n_columns, wide_state, target.u64, (int)loss, wide_move, 0, wide_sums);
    resize_rows(rows.n_rows, n, wide_state, (size_t)n_columns, state.f64);
    resize_rows(2 * n_leaves, n_wide, wide_sums, (size_t)n_values, sums.f64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_descend_one(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return descend("descend_one", 0, args, n_args);
}

static PyObject *py_descend_many(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return descend("descend_many", 1, args, n_args);
}

static PyObject *py_sweep_one(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return sweep("sweep_one", 0, args, n_args);
}

static PyObject *py_sweep_many(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return sweep("sweep_many", 1, args, n_args);
}

static PyObject *py_step_tree(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "step_tree"};
    LeafArrays of_leaves;
    Array column, sums, move;
    Py_ssize_t tree, n_columns, loss;
    DescentRules rules = {.width = 1.0};
    if (!take(&call, args, n_args, "n Q1 Q1 n ?1 d2* d2 d2* d3 n x x x x d2 d2*", &tree, &of_leaves.first, &column,
              &n_columns, &of_leaves.used, &of_leaves.table, &of_leaves.anchor, &of_leaves.curvature, &sums, &loss,
              &rules.l2, &rules.group, &rules.largest, &rules.damping, &of_leaves.grid, &move))
        return NULL;
    const char *wrong = NULL;
    if (tree < 0 || tree >= column.size || of_leaves.first.size != column.size + 1)
        wrong = "there is no such tree, or first and column have different numbers of trees";
    if (wrong == NULL)
        wrong = wrong_with_leaves(&of_leaves, n_columns);
    const Py_ssize_t n_values = of_leaves.table.length[1];
    const DescentLeaves leaves = as_leaves(&of_leaves, column.u64);
    if (wrong == NULL) {
        const Py_ssize_t n_leaves = (Py_ssize_t)(leaves.first[tree + 1] - leaves.first[tree]);
        if (sums.length[0] != n_leaves || sums.length[1] != 2 || sums.length[2] != n_values
            || move.length[0] != n_leaves || move.length[1] != n_values)
            wrong = "sums and move must have shapes (leaves of the tree, 2, values) and (leaves, values)";
    }
    if (wrong != NULL)
        return fail(&call, wrong);
    rules.loss = (int)loss;
    rules.grid = of_leaves.grid.size > 0 ? of_leaves.grid.f64 : NULL;
    const TreeStep step = {.width = (size_t)n_values, .move = move.f64, .sums = sums.f64};
    double *scratch = numbers_for(&call, 2 * (size_t)move.size);
    if (scratch == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    step_tree(&leaves, (size_t)tree, &rules, (size_t)n_columns, &step, scratch);
    Py_END_ALLOW_THREADS
    return done(&call);
}

PyMethodDef descent_methods[] = {
    METHOD(descend_one),
    METHOD(descend_many),
    METHOD(sweep_one),
    METHOD(sweep_many),
    METHOD(step_tree),
    {NULL, NULL, 0, NULL},
};
