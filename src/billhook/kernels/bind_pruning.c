#include "bindings.h"
PyMethodDef pruning_methods[] = {{NULL, NULL, 0, NULL}};
