#include "bindings.h"
#include "interop.h"

static PyObject *py_rank_best_first(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "rank_best_first"};
    Array left, right, gain, rank;
    if (!take(&call, args, n_args, "i1 i1 d1 i1*", &left, &right, &gain, &rank))
        return NULL;
    if (right.size != left.size || gain.size != left.size || rank.size != left.size)
        return fail(&call, "left, right, gain and rank have different lengths");
    int32_t *heap = scratch_for(&call, (size_t)left.size * sizeof *heap);
    if (heap == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    rank_best_first((size_t)left.size, left.i32, right.i32, gain.f64, rank.i32, heap);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_average_upwards(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "average_upwards"};
    Array left, right, weight, value;
    if (!take(&call, args, n_args, "i1 i1 d1 d2*", &left, &right, &weight, &value))
        return NULL;
    if (right.size != left.size || weight.size != left.size || value.length[0] != left.size)
        return fail(&call, "left, right, weight and value have different lengths");
    Py_BEGIN_ALLOW_THREADS
    average_upwards((size_t)left.size, (size_t)value.length[1], left.i32, right.i32, weight.f64, value.f64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

PyMethodDef interop_methods[] = {
    METHOD(rank_best_first),
    METHOD(average_upwards),
    {NULL, NULL, 0, NULL},
};
