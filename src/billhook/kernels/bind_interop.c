#include "bindings.h"
#include "decimals.h"
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

static PyObject *py_read_decimals(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "read_decimals"};
    Array text, number;
    if (!take(&call, args, n_args, "B1 d1*", &text, &number))
        return NULL;
    size_t found;
    Py_BEGIN_ALLOW_THREADS
    found = read_decimals(text.u8, (size_t)text.size, number.f64, (size_t)number.size);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyLong_FromSize_t(found);
}

static PyObject *py_read_integers(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "read_integers"};
    Array text, number;
    if (!take(&call, args, n_args, "B1 q1*", &text, &number))
        return NULL;
    ptrdiff_t found;
    Py_BEGIN_ALLOW_THREADS
    found = read_integers(text.u8, (size_t)text.size, number.i64, (size_t)number.size);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyLong_FromSsize_t(found);
}

static PyObject *py_find_elements(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "find_elements"};
    Array text, end;
    Py_ssize_t start;
    if (!take(&call, args, n_args, "B1 n q1*", &text, &start, &end))
        return NULL;
    if (start < 0 || start > text.size)
        return fail(&call, "start is not in the text");
    ptrdiff_t found;
    Py_BEGIN_ALLOW_THREADS
    found = find_elements(text.u8, (size_t)text.size, (size_t)start, end.i64, (size_t)end.size);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyLong_FromSsize_t(found);
}

static PyObject *py_read_fields(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "read_fields"};
    Array data, number;
    Py_ssize_t start, tag;
    if (!take(&call, args, n_args, "B1 n n q1*", &data, &start, &tag, &number))
        return NULL;
    if (start < 0 || start > data.size)
        return fail(&call, "start is not in the data");
    if (tag < 0 || tag >= 1 << 14)
        return fail(&call, "tag is longer than two bytes");
    size_t place = (size_t)start, found;
    Py_BEGIN_ALLOW_THREADS
    found = read_fields(data.u8, (size_t)data.size, &place, (uint16_t)tag, number.i64, (size_t)number.size);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return Py_BuildValue("nn", (Py_ssize_t)found, (Py_ssize_t)place);
}

PyMethodDef interop_methods[] = {
    METHOD(rank_best_first),
    METHOD(average_upwards),
    METHOD(read_decimals),
    METHOD(read_integers),
    METHOD(find_elements),
    METHOD(read_fields),
    {NULL, NULL, 0, NULL},
};
