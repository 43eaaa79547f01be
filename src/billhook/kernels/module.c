/* The extension `billhook.kernels._native`: one for all Pythons from 3.11 on. */

#include "bindings.h"

static int add_functions(PyObject *module)
{
    PyMethodDef *lists[] = {
        choosing_methods,
        codebook_methods,
        descent_methods,
        descent_rows_methods,
        forest_methods,
        growing_methods,
        interop_methods,
        projections_methods,
        pruning_methods,
        quantizers_methods,
        sgd_methods,
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (PyModule_AddFunctions(module, lists[i]) < 0)
            return -1;
    return 0;
}

static int add_types(PyObject *module)
{
    PyObject *walker = PyType_FromModuleAndSpec(module, &walker_spec, NULL);
    const int failed = walker == NULL || PyModule_AddType(module, (PyTypeObject *)walker) < 0;
    Py_XDECREF(walker);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)add_functions},
    {Py_mod_exec, (void *)add_types},
    {Py_mod_exec, (void *)add_growing_constants},
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "The kernels, compiled; import them from billhook.kernels.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
