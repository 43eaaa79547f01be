#include "bindings.h"
#include "sgd.h"

typedef struct {
    Array leaf, first, column, base, order, target, label, weight, tree_weight, table, moments, step_of;
    Py_ssize_t n_classes, loss, batch_size, n_steps;
} SgdArguments;

/* Return what is wrong with the shapes, NULL if nothing is. */
static const char *wrong_shape(const SgdArguments *a)
{
    const Py_ssize_t n_rows = a->leaf.length[0], n_trees = a->leaf.length[1];
    const Py_ssize_t n_columns = a->base.size, n_values = a->table.length[1];
    if (a->first.size != n_trees + 1 || a->column.size != n_trees || a->tree_weight.size != n_trees)
        return "leaf has other trees than first, column or tree_weight";
    if (a->weight.size != n_rows || (n_columns == 1 ? a->target : a->label).size != n_rows)
        return "leaf has other rows than weight, target or label";
    if (n_columns != 1 && (n_columns < 4 || n_columns % 4 != 0))
        return "the number of columns is neither 1 nor a multiple of 4";
    if (a->n_classes < 1 || a->n_classes > n_columns || (n_values != 1 && n_values != n_columns))
        return "the numbers of classes, values and columns do not go together";
    if (a->moments.size != 0 && a->moments.size != 2 * a->table.size)
        return "moments has another size than the table";
    if (a->step_of.size != 0 && a->step_of.size != a->table.length[0])
        return "step_of and table have different lengths";
    if (a->batch_size < 1)
        return "batch_size is below 1";
    return NULL;
}

static int take_scratch(Call *call, SgdEpoch *epoch, uint32_t **first)
{
    const size_t n_trees = epoch->n_trees, n_gradients = epoch->batch_size * epoch->n_columns;
    const size_t n_slopes = epoch->mean == NULL ? 0 : epoch->n_leaves * epoch->n_values;
    return (*first = scratch_for(call, n_trees * sizeof **first)) != NULL
           && (epoch->at = scratch_for(call, SGD_BLOCK * n_trees * sizeof *epoch->at)) != NULL
           && (epoch->by_tree = scratch_for(call, n_trees * sizeof *epoch->by_tree)) != NULL
           && (epoch->of_row = scratch_for(call, epoch->batch_size * sizeof *epoch->of_row)) != NULL
           && (epoch->gradient = scratch_for(call, n_gradients * sizeof *epoch->gradient)) != NULL
           && (epoch->slope = scratch_for(call, n_slopes * sizeof *epoch->slope)) != NULL;
}

static PyObject *py_sgd_epoch(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "sgd_epoch"};
    SgdArguments a;
    SgdEpoch epoch = {.n_trees = 0};
    if (!take(&call, args, n_args, "L2 Q1 Q1 d1 I1 d1 Q1 d1 d1* d2* d3* q1* n n x x x n p x x n", &a.leaf, &a.first,
              &a.column, &a.base, &a.order, &a.target, &a.label, &a.weight, &a.tree_weight, &a.table, &a.moments,
              &a.step_of, &a.n_classes, &a.loss, &epoch.width, &epoch.gain, &epoch.step_size, &a.batch_size,
              &epoch.takes_mean, &epoch.weight_step, &epoch.weight_shrink, &a.n_steps))
        return NULL;
    const char *wrong = wrong_shape(&a);
    if (wrong != NULL)
        return fail(&call, wrong);
    epoch.leaf = as_leaf_ids(&a.leaf);
    epoch.n_trees = (size_t)a.leaf.length[1];
    epoch.n_leaves = (size_t)a.table.length[0];
    epoch.n_values = (size_t)a.table.length[1];
    epoch.n_columns = (size_t)a.base.size;
    epoch.n_classes = (size_t)a.n_classes;
    epoch.column = a.column.u64;
    epoch.base = a.base.f64;
    epoch.target = a.target.f64;
    epoch.label = a.label.u64;
    epoch.weight = a.weight.f64;
    epoch.tree_weight = a.tree_weight.f64;
    epoch.table = a.table.f64;
    epoch.mean = a.moments.size > 0 ? a.moments.f64 : NULL;
    epoch.square = a.moments.size > 0 ? a.moments.f64 + a.table.size : NULL;
    epoch.step_of = a.step_of.size > 0 ? a.step_of.i64 : NULL;
    epoch.loss = (int)a.loss;
    epoch.batch_size = (size_t)(a.batch_size < a.order.size ? a.batch_size : a.order.size);
    uint32_t *first;
    if (!take_scratch(&call, &epoch, &first))
        return failed(&call);
    for (size_t tree = 0; tree < epoch.n_trees; tree++)
        first[tree] = (uint32_t)a.first.u64[tree];
    epoch.first = first;
    double loss;
    Py_BEGIN_ALLOW_THREADS
    loss = sgd_epoch(&epoch, (size_t)a.order.size, a.order.u32, (int64_t)a.n_steps);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyFloat_FromDouble(loss);
}

static PyObject *py_shuffle(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "shuffle"};
    Array order;
    uint64_t seed;
    if (!take(&call, args, n_args, "I1* u", &order, &seed))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    shuffle((size_t)order.size, order.u32, seed);
    Py_END_ALLOW_THREADS
    return done(&call);
}

PyMethodDef sgd_methods[] = {
    METHOD(sgd_epoch),
    METHOD(shuffle),
    {NULL, NULL, 0, NULL},
};
