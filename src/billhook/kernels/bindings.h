/* The functions of the extension, one list for each file of bindings. */

#ifndef BILLHOOK_BINDINGS_H
#define BILLHOOK_BINDINGS_H

#include "arguments.h"

/* An entry for the function py_NAME; what it does is said in `_native.pyi` and beside the kernel. */
#define METHOD(name) {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL, NULL}

extern PyMethodDef choosing_methods[];
extern PyMethodDef codebook_methods[];
extern PyMethodDef descent_methods[];
extern PyMethodDef descent_rows_methods[];
extern PyMethodDef forest_methods[];
extern PyMethodDef growing_methods[];
extern PyMethodDef interop_methods[];
extern PyMethodDef projections_methods[];
extern PyMethodDef pruning_methods[];
extern PyMethodDef quantizers_methods[];
extern PyMethodDef sgd_methods[];

/* Numbers that Python takes from the kernels: add them to the module, or return -1 with an error set. */
int add_growing_constants(PyObject *module);

/* The types of the extension. */
extern PyType_Spec walker_spec;

#endif
