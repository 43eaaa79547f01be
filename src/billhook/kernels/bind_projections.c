#include "bindings.h"
#include "growing.h"
#include "projections.h"

#include <string.h>

typedef struct {
    Array z, target, weight, step_size, parameter, moments;
    Py_ssize_t n_hidden, n_outputs, batch_size, loss;
} ProjectionsArguments;

/* Return what is wrong with the shapes, NULL if nothing is. */
static const char *wrong_shape(const ProjectionsArguments *a)
{
    const Py_ssize_t n_rows = a->z.length[0], n_features = a->z.length[1];
    if (a->target.size != n_rows || a->weight.size != n_rows)
        return "z has other rows than target or weight";
    if (a->batch_size < 1)
        return "batch_size is below 1";
    if (a->step_size.size != n_rows / a->batch_size + (n_rows % a->batch_size != 0))
        return "step_size has not one number for each batch";
    if (a->n_hidden < 1 || a->n_hidden % LANES != 0)
        return "the number of hidden units is no multiple of 8";
    if (a->loss != GROW_SQUARED && a->loss != GROW_LOGISTIC && a->loss != GROW_SOFTMAX)
        return "the loss is none of squared, logistic and softmax";
    if (a->n_outputs < 1 || (a->loss != GROW_SOFTMAX && a->n_outputs != 1))
        return "the number of outputs is not that of the loss";
    if (a->parameter.size != (n_features + a->n_outputs + 1) * a->n_hidden + a->n_outputs)
        return "parameter is of another net";
    if (a->moments.length[0] != 2 || a->moments.length[1] != a->parameter.size)
        return "moments has another size than parameter";
    return NULL;
}

static int take_scratch(Call *call, ProjectionsEpoch *epoch)
{
    const size_t of_hidden = epoch->batch_size * epoch->n_hidden * sizeof(float);
    const size_t of_scores = epoch->batch_size * epoch->n_lanes * sizeof(float);
    if ((epoch->gradient = scratch_for(call, epoch->n_parameters * sizeof(float))) == NULL
        || (epoch->hidden = scratch_for(call, of_hidden)) == NULL
        || (epoch->slope = scratch_for(call, of_hidden)) == NULL
        || (epoch->score = scratch_for(call, of_scores)) == NULL
        || (epoch->by_score = scratch_for(call, of_scores)) == NULL
        || (epoch->curvature = scratch_for(call, of_scores)) == NULL)
        return 0;
    memset(epoch->score, 0, of_scores);
    return 1;
}

static PyObject *py_projections_epoch(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "projections_epoch"};
    ProjectionsArguments a;
    double l2;
    if (!take(&call, args, n_args, "f2 f1 f1 f1 f1* f2* n n n n x", &a.z, &a.target, &a.weight, &a.step_size,
              &a.parameter, &a.moments, &a.n_hidden, &a.n_outputs, &a.batch_size, &a.loss, &l2))
        return NULL;
    const char *wrong = wrong_shape(&a);
    if (wrong != NULL)
        return fail(&call, wrong);
    const size_t n_rows = (size_t)a.z.length[0], n_outputs = (size_t)a.n_outputs, batch_size = (size_t)a.batch_size;
    ProjectionsEpoch epoch = {
        .n_rows = n_rows,
        .n_features = (size_t)a.z.length[1],
        .n_hidden = (size_t)a.n_hidden,
        .n_outputs = n_outputs,
        .n_lanes = a.loss == GROW_SOFTMAX ? (n_outputs + LANES - 1) / LANES * LANES : 1,
        .n_parameters = (size_t)a.parameter.size,
        .z = a.z.f32,
        .target = a.target.f32,
        .weight = a.weight.f32,
        .step_size = a.step_size.f32,
        .batch_size = batch_size < n_rows ? batch_size : n_rows,
        .loss = (int)a.loss,
        .l2 = (float)l2,
        .parameter = a.parameter.f32,
        .mean = a.moments.f32,
        .square = a.moments.f32 + a.parameter.size,
    };
    if (!take_scratch(&call, &epoch))
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    projections_epoch(&epoch);
    Py_END_ALLOW_THREADS
    return done(&call);
}

PyMethodDef projections_methods[] = {
    METHOD(projections_epoch),
    {NULL, NULL, 0, NULL},
};
