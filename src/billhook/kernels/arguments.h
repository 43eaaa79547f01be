/* Arguments of Python functions as pointers and numbers: arrays come by the buffer protocol, and are checked.

   A function of the extension takes positional arguments only:

       Call call = {.function = "average_upwards"};
       Array left, right, weight, value;
       if (!take(&call, args, n_args, "i1 i1 d1 d2*", &left, &right, &weight, &value))
           return NULL;
       if (right.size != left.size)
           return fail(&call, "left and right have different lengths");
       Py_BEGIN_ALLOW_THREADS
       average_upwards(...);
       Py_END_ALLOW_THREADS
       return done(&call);

   `take` reads a word for each argument. Arrays are contiguous, and are an Array: a letter for the type of their
   numbers, as in Python's `struct`, their number of dimensions, and * if they are written to.

       ?  bool        B  uint8     H  uint16    I  uint32    Q  uint64
       f  float32     d  float64   i  int32     q  int64
       L  leaf ids, uint16 or uint32      F  rows, float32 or float64
       V  votes, uint8, uint16 or uint32  C  codes, uint8 or uint16

   Numbers: n is a Py_ssize_t, x a double, p an int that is 0 or 1, u a uint64_t.

   That numbers in arrays, such as leaf ids, lie within other arrays is not checked: the package made them itself. */

#ifndef BILLHOOK_ARGUMENTS_H
#define BILLHOOK_ARGUMENTS_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "kernels.h"

enum { MOST_ARRAYS = 32, MOST_DIMENSIONS = 3, MOST_SCRATCH = 8, CACHE_LINE = 64 };

/* A contiguous array; the size is the product of the lengths. */
typedef struct {
    union {
        void *data;
        uint8_t *u8;
        uint16_t *u16;
        uint32_t *u32;
        uint64_t *u64;
        int32_t *i32;
        int64_t *i64;
        float *f32;
        double *f64;
    };
    Py_ssize_t length[MOST_DIMENSIONS];
    Py_ssize_t size;
    Py_ssize_t item_size;
} Array;

/* What a call holds until `done` or `fail` gives it back. */
typedef struct {
    const char *function;
    int n_arrays;
    int n_scratch;
    Py_buffer buffer[MOST_ARRAYS];
    void *scratch[MOST_SCRATCH];
} Call;

/* Read the arguments; return 0, with an error set and nothing held, if one is not what the words say. */
int take(Call *call, PyObject *const *args, Py_ssize_t n_args, const char *words, ...);

/* Return memory for so many bytes, from the start of a cache line on, held by the call; NULL, with an error set, if
   there is none. */
void *scratch_for(Call *call, size_t n_bytes);

/* Give back what the call holds, and return None. */
PyObject *done(Call *call);

/* Give back what the call holds, set a ValueError, and return NULL. */
PyObject *fail(Call *call, const char *what);

/* Give back what the call holds, and return NULL: an error is set. */
PyObject *failed(Call *call);

/* Give back what the call holds: before a result other than None is returned. */
void give_back(Call *call);

static inline LeafIds as_leaf_ids(const Array *array)
{
    return (LeafIds){.data = array->data, .is_wide = array->item_size == 4};
}

#endif
