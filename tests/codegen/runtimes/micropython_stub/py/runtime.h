/* NOT MicroPython: see obj.h beside this. */
#ifndef STUB_PY_RUNTIME_H
#define STUB_PY_RUNTIME_H

#include "py/obj.h"

#define MP_ERROR_TEXT(text) (text)
void *m_malloc(size_t n_bytes);
#define m_new(type, n) ((type *)m_malloc(sizeof(type) * (n)))
__attribute__((noreturn)) void mp_raise_TypeError(mp_rom_error_text_t message);
__attribute__((noreturn)) void mp_raise_msg_varg(const mp_obj_type_t *type, mp_rom_error_text_t message, ...);

#endif
