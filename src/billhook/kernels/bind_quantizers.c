#include "bindings.h"
#include "quantizers.h"

/* Return what is wrong with the quantizers, or NULL. */
static const char *as_quantizers(const Array *power, const Array *offset, const Array *scale, Quantizers *by)
{
    *by = (Quantizers){(size_t)power->size, power->i64, offset->i64, scale->i64};
    if (offset->size != power->size || scale->size != power->size)
        return "power, offset and scale have different lengths";
    for (size_t i = 0; i < by->n; i++) {
        if (by->power[i] < LOWEST_POWER || by->power[i] > HIGHEST_POWER)
            return "a power is not one from -105 to 145";
        if (by->offset[i] < -HIGHEST_OFFSET || by->offset[i] > HIGHEST_OFFSET)
            return "an offset is not within 2^30";
        if (by->scale[i] < 0 || by->scale[i] > HIGHEST_SCALE)
            return "a scale is not of 16 bits";
    }
    return NULL;
}

static PyObject *py_count_astray(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "count_astray"};
    Array threshold, value, power, offset, scale, n_astray;
    Quantizers by;
    Py_ssize_t bits;
    if (!take(&call, args, n_args, "f1 f1 q1 q1 q1 n q1*", &threshold, &value, &power, &offset, &scale, &bits,
              &n_astray))
        return NULL;
    const char *what = as_quantizers(&power, &offset, &scale, &by);
    if (what != NULL)
        return fail(&call, what);
    if (n_astray.size != power.size)
        return fail(&call, "power and n_astray have different lengths");
    if (bits < 1 || bits > HIGHEST_BITS || value.size >= INT32_MAX)
        return fail(&call, "codes are not of 1 to 16 bits, or there are more values than can be numbered");
    Py_BEGIN_ALLOW_THREADS
    count_astray((size_t)threshold.size, threshold.f32, (size_t)value.size, value.f32, by, (int)bits, n_astray.i64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_code_rows(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "code_rows"};
    Array x, power, offset, scale, bits, code;
    Quantizers by;
    Py_ssize_t missing;
    if (!take(&call, args, n_args, "f2 q1 q1 q1 q1 n C2*", &x, &power, &offset, &scale, &bits, &missing, &code))
        return NULL;
    const char *what = as_quantizers(&power, &offset, &scale, &by);
    if (what != NULL)
        return fail(&call, what);
    if (bits.size != power.size || x.length[1] != power.size)
        return fail(&call, "x, power and bits are not of the same features");
    if (code.length[0] != x.length[0] || code.length[1] != x.length[1])
        return fail(&call, "x and code have different shapes");
    for (Py_ssize_t k = 0; k < bits.size; k++)
        if (bits.i64[k] < 0 || bits.i64[k] > (code.item_size == 2 ? HIGHEST_BITS : 8))
            return fail(&call, "a code has more bits than there is room for");
    if (missing < -1 || missing > (code.item_size == 2 ? UINT16_MAX : UINT8_MAX))
        return fail(&call, "there is no room for the code of missing values");
    double *scratch = scratch_for(&call, (size_t)power.size * CODE_NUMBERS * sizeof *scratch);
    if (scratch == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    code_rows((size_t)x.length[0], x.f32, by, bits.i64, (int)missing, code.data, code.item_size == 2, scratch);
    Py_END_ALLOW_THREADS
    return done(&call);
}

PyMethodDef quantizers_methods[] = {
    METHOD(count_astray),
    METHOD(code_rows),
    {NULL, NULL, 0, NULL},
};
