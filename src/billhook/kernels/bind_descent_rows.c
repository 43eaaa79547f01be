#include "bindings.h"
#include "descent_rows.h"

static PyObject *py_find_states(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "find_states"};
    Array leaf, first, column, table, skip, base, state;
    int is_log;
    if (!take(&call, args, n_args, "L2 Q1 Q1 d2 ?2 d1 p d2*", &leaf, &first, &column, &table, &skip, &base, &is_log,
              &state))
        return NULL;
    const Py_ssize_t n_trees = leaf.length[0], n_rows = leaf.length[1];
    if (first.size != n_trees + 1 || column.size != n_trees)
        return fail(&call, "leaf, first and column have different numbers of trees");
    if (first.u64[n_trees] != (uint64_t)table.length[0])
        return fail(&call, "first must end with the number of leaves");
    if (state.length[0] != n_rows || (skip.size > 0 && (skip.length[0] != n_trees || skip.length[1] != n_rows)))
        return fail(&call, "leaf, skip and state have different numbers of rows");
    if (base.size != state.length[1] || table.length[1] < 1 || table.length[1] > base.size)
        return fail(&call, "state must have the columns of base, and leaves no more");
    const DescentRows rows = {(size_t)n_trees, (size_t)n_rows, as_leaf_ids(&leaf), skip.size > 0 ? skip.u8 : NULL,
                              NULL};
    Py_BEGIN_ALLOW_THREADS
    find_states(&rows, first.u64, column.u64, (size_t)table.length[1], table.f64, (size_t)base.size, base.f64, is_log,
                state.f64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_find_reached(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "find_reached"};
    Array leaf, first, weight, skip, reached;
    if (!take(&call, args, n_args, "L2 Q1 d1 ?2 ?1*", &leaf, &first, &weight, &skip, &reached))
        return NULL;
    const Py_ssize_t n_trees = leaf.length[0], n_rows = leaf.length[1];
    if (first.size != n_trees + 1 || first.u64[n_trees] != (uint64_t)reached.size)
        return fail(&call, "first must have a number for each tree, and the number of leaves");
    if (weight.size != n_rows || (skip.size > 0 && (skip.length[0] != n_trees || skip.length[1] != n_rows)))
        return fail(&call, "leaf, weight and skip have different numbers of rows");
    const DescentRows rows = {(size_t)n_trees, (size_t)n_rows, as_leaf_ids(&leaf), skip.size > 0 ? skip.u8 : NULL,
                              weight.f64};
    Py_BEGIN_ALLOW_THREADS
    find_reached(&rows, first.u64, reached.u8);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_renumber_leaves(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "renumber_leaves"};
    Array leaf, first, number;
    if (!take(&call, args, n_args, "L2* Q1 L1", &leaf, &first, &number))
        return NULL;
    const Py_ssize_t n_trees = leaf.length[0];
    if (first.size != n_trees + 1 || first.u64[n_trees] != (uint64_t)number.size)
        return fail(&call, "first must have a number for each tree, and the number of leaves");
    if (number.item_size != leaf.item_size)
        return fail(&call, "leaf and number have different types");
    Py_BEGIN_ALLOW_THREADS
    renumber_leaves((size_t)n_trees, (size_t)leaf.length[1], first.u64, number.data, leaf.item_size == 4, leaf.data);
    Py_END_ALLOW_THREADS
    return done(&call);
}

/* The losses of rows with one column (their targets are numbers) or with many (labels): `other` is weights, or what
   is written to. */
static PyObject *losses(const char *function, const int is_many, const int is_total, PyObject *const *args,
                        Py_ssize_t n_args)
{
    Call call = {.function = function};
    Array state, target, other;
    Py_ssize_t loss;
    double width, total;
    const char *words = is_many ? (is_total ? "d2 Q1 n x d1" : "d2 Q1 n x d1*")
                                : (is_total ? "d2 d1 n x d1" : "d2 d1 n x d1*");
    if (!take(&call, args, n_args, words, &state, &target, &loss, &width, &other))
        return NULL;
    if (target.size != state.length[0] || other.size != state.length[0])
        return fail(&call, "arguments have different numbers of rows");
    if (is_many ? state.length[1] < 2 : state.length[1] != 1)
        return fail(&call, is_many ? "rows must have several columns" : "rows must have one column");
    Py_BEGIN_ALLOW_THREADS
    total = find_losses((size_t)state.length[0], (size_t)state.length[1], state.f64, is_many ? NULL : target.f64,
                        is_many ? target.u64 : NULL, is_total ? other.f64 : NULL, (int)loss, width,
                        is_total ? NULL : other.f64);
    Py_END_ALLOW_THREADS
    if (!is_total)
        return done(&call);
    give_back(&call);
    return PyFloat_FromDouble(total);
}

static PyObject *py_total_loss_one(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return losses("total_loss_one", 0, 1, args, n_args);
}

static PyObject *py_total_loss_many(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return losses("total_loss_many", 1, 1, args, n_args);
}

static PyObject *py_row_losses_one(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return losses("row_losses_one", 0, 0, args, n_args);
}

static PyObject *py_row_losses_many(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    return losses("row_losses_many", 1, 0, args, n_args);
}

PyMethodDef descent_rows_methods[] = {
    METHOD(find_states),
    METHOD(find_reached),
    METHOD(renumber_leaves),
    METHOD(total_loss_one),
    METHOD(total_loss_many),
    METHOD(row_losses_one),
    METHOD(row_losses_many),
    {NULL, NULL, 0, NULL},
};
