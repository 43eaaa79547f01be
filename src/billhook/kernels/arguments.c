#include "arguments.h"

#include <stdarg.h>
#include <string.h>

typedef struct {
    char letter;
    const char *name;
    const char *formats; /* the letters that a buffer may have for it */
    Py_ssize_t smallest_item;
    Py_ssize_t largest_item;
} NumberType;

/* The letter of a buffer depends on the platform (int64 is l or q), its size does not. */
static const NumberType TYPES[] = {
    {'?', "bool", "?", 1, 1},
    {'B', "uint8", "B", 1, 1},
    {'H', "uint16", "H", 2, 2},
    {'I', "uint32", "IL", 4, 4},
    {'Q', "uint64", "LQ", 8, 8},
    {'f', "float32", "f", 4, 4},
    {'d', "float64", "d", 8, 8},
    {'i', "int32", "il", 4, 4},
    {'q', "int64", "lq", 8, 8},
    {'L', "uint16 or uint32", "HIL", 2, 4},
    {'V', "uint8, uint16 or uint32", "BHIL", 1, 4},
    {'F', "float32 or float64", "fd", 4, 8},
};

static const NumberType *type_of(char letter)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++)
        if (TYPES[i].letter == letter)
            return &TYPES[i];
    return NULL;
}

static int is_of_type(const Py_buffer *buffer, const NumberType *type)
{
    if (buffer->format == NULL || strlen(buffer->format) != 1 || !strchr(type->formats, buffer->format[0]))
        return 0;
    return type->smallest_item <= buffer->itemsize && buffer->itemsize <= type->largest_item;
}

static int take_array(Call *call, PyObject *object, int number, const char *word, Array *array)
{
    const NumberType *type = type_of(word[0]);
    const int n_dimensions = word[1] - '0', is_written = word[2] == '*';
    if (type == NULL || n_dimensions < 1 || n_dimensions > MOST_DIMENSIONS || call->n_arrays == MOST_ARRAYS) {
        PyErr_Format(PyExc_SystemError, "%s: argument %d cannot be described by %s", call->function, number, word);
        return 0;
    }
    Py_buffer *buffer = &call->buffer[call->n_arrays];
    if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (is_written ? PyBUF_WRITABLE : 0)) < 0)
        return 0;
    call->n_arrays++;
    if (buffer->ndim != n_dimensions || !is_of_type(buffer, type)) {
        PyErr_Format(PyExc_TypeError, "%s: argument %d is a %d-dimensional array of format %s; it takes a "
                     "%d-dimensional one of %s", call->function, number, buffer->ndim,
                     buffer->format ? buffer->format : "unknown", n_dimensions, type->name);
        return 0;
    }
    array->data = buffer->buf;
    array->item_size = buffer->itemsize;
    array->size = 1;
    for (int i = 0; i < MOST_DIMENSIONS; i++) {
        array->length[i] = i < n_dimensions ? buffer->shape[i] : 1;
        array->size *= array->length[i];
    }
    return 1;
}

static const char *next_word(const char *word)
{
    word += strcspn(word, " ");
    return word + strspn(word, " ");
}

static int take_one(Call *call, PyObject *object, int number, const char *word, void *to)
{
    switch (word[0]) {
    case 'n':
        *(Py_ssize_t *)to = PyLong_AsSsize_t(object);
        return !PyErr_Occurred();
    case 'u':
        *(uint64_t *)to = PyLong_AsUnsignedLongLong(object);
        return !PyErr_Occurred();
    case 'x':
        *(double *)to = PyFloat_AsDouble(object);
        return !PyErr_Occurred();
    case 'p':
        *(int *)to = PyObject_IsTrue(object);
        return !PyErr_Occurred();
    default:
        return take_array(call, object, number, word, to);
    }
}

int take(Call *call, PyObject *const *args, Py_ssize_t n_args, const char *words, ...)
{
    Py_ssize_t n_words = 0;
    for (const char *word = words; *word; word = next_word(word))
        n_words++;
    if (n_args != n_words) {
        PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", call->function, n_words, n_args);
        return 0;
    }
    va_list pointers;
    va_start(pointers, words);
    const char *word = words;
    int is_taken = 1;
    for (int i = 0; is_taken && i < n_args; i++, word = next_word(word))
        is_taken = take_one(call, args[i], i + 1, word, va_arg(pointers, void *));
    va_end(pointers);
    if (!is_taken)
        give_back(call);
    return is_taken;
}

void *scratch_for(Call *call, size_t n_bytes)
{
    char *memory = call->n_scratch < MOST_SCRATCH ? PyMem_Malloc(n_bytes + CACHE_LINE) : NULL;
    if (memory == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    call->scratch[call->n_scratch++] = memory;
    return memory + (CACHE_LINE - (uintptr_t)memory % CACHE_LINE);
}

void give_back(Call *call)
{
    while (call->n_arrays > 0)
        PyBuffer_Release(&call->buffer[--call->n_arrays]);
    while (call->n_scratch > 0)
        PyMem_Free(call->scratch[--call->n_scratch]);
}

PyObject *done(Call *call)
{
    give_back(call);
    Py_RETURN_NONE;
}

PyObject *fail(Call *call, const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s: %s", call->function, what);
    return failed(call);
}

PyObject *failed(Call *call)
{
    give_back(call);
    return NULL;
}
