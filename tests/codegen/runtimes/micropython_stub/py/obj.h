/* NOT MicroPython: a stand-in with no more than what modbillhook.c uses, so that a compiler can check its calls where
 * MicroPython's source is not to be had. Nothing of it can be run. */
#ifndef STUB_PY_OBJ_H
#define STUB_PY_OBJ_H

#include <stddef.h>
#include <stdint.h>

typedef void *mp_obj_t;
typedef const void *mp_const_obj_t;
typedef intptr_t mp_int_t;
typedef uintptr_t mp_uint_t;
typedef size_t qstr;
typedef const char *mp_rom_error_text_t;
typedef struct _mp_obj_type_t mp_obj_type_t;
typedef struct { const mp_obj_type_t *type; } mp_obj_base_t;
typedef struct { mp_const_obj_t key, value; } mp_rom_map_elem_t;
typedef struct { mp_obj_base_t base; size_t used; const mp_rom_map_elem_t *table; } mp_obj_dict_t;
typedef void (*mp_attr_fun_t)(mp_obj_t self, qstr attr, mp_obj_t *dest);
struct _mp_obj_type_t { mp_obj_base_t base; uint16_t flags, name; mp_attr_fun_t attr; mp_obj_dict_t *locals_dict; };
typedef struct { mp_obj_base_t base; mp_obj_dict_t *globals; } mp_obj_module_t;
typedef struct { mp_obj_base_t base; mp_obj_t (*one)(mp_obj_t), (*two)(mp_obj_t, mp_obj_t); } mp_obj_fun_builtin_fixed_t;
typedef struct { void *buf; size_t len; int typecode; } mp_buffer_info_t;

/* In MicroPython, made of the sources when it is built. */
enum {
    MP_QSTR_Model, MP_QSTR___name__, MP_QSTR_billhook_c, MP_QSTR_load, MP_QSTR_n_classes, MP_QSTR_n_features,
    MP_QSTR_predict, MP_QSTR_predict_proba, MP_QSTR_scores
};

#define MP_OBJ_NULL ((mp_obj_t)NULL)
#define MP_OBJ_SENTINEL ((mp_obj_t)(void *)8)
#define MP_OBJ_NEW_SMALL_INT(number) ((mp_obj_t)(((mp_uint_t)(number)) << 1 | 1))
#define MP_OBJ_FROM_PTR(pointer) ((mp_obj_t)(pointer))
#define MP_OBJ_TO_PTR(object) ((void *)(object))
#define MP_ROM_QSTR(name) ((mp_const_obj_t)((size_t)(name) << 3 | 2))
#define MP_ROM_PTR(pointer) ((mp_const_obj_t)(pointer))
#define MP_TYPE_FLAG_NONE 0
#define MP_BUFFER_READ 1
#define MP_DEFINE_CONST_DICT(name, elements) \
    const mp_obj_dict_t name = {{NULL}, sizeof (elements) / sizeof (elements)[0], elements}
#define MP_DEFINE_CONST_FUN_OBJ_1(name, function) const mp_obj_fun_builtin_fixed_t name = {.one = function}
#define MP_DEFINE_CONST_FUN_OBJ_2(name, function) const mp_obj_fun_builtin_fixed_t name = {.two = function}
#define MP_DEFINE_CONST_OBJ_TYPE(type, called, flag, slot_1, value_1, slot_2, value_2) \
    const mp_obj_type_t type = {.flags = flag, .name = called, .slot_1 = value_1, \
                                .slot_2 = (mp_obj_dict_t *)value_2}
#define MP_REGISTER_MODULE(name, module) extern const mp_obj_module_t module

extern const mp_obj_type_t mp_type_TypeError, mp_type_ValueError, mp_type_bytes, mp_type_module;

void *mp_obj_malloc_helper(size_t n_bytes, const mp_obj_type_t *type);
#define mp_obj_malloc(kind, type) ((kind *)mp_obj_malloc_helper(sizeof(kind), type))
int mp_obj_is_type(mp_const_obj_t object, const mp_obj_type_t *type);
mp_int_t mp_obj_get_int(mp_const_obj_t object);
float mp_obj_get_float_to_f(mp_obj_t object);
mp_obj_t mp_obj_new_int(mp_int_t number);
mp_obj_t mp_obj_new_int_from_uint(mp_uint_t number);
mp_obj_t mp_obj_new_float_from_f(float number);
mp_obj_t mp_obj_new_list(size_t n, mp_obj_t *items);
mp_obj_t mp_obj_list_append(mp_obj_t list, mp_obj_t item);
mp_obj_t mp_obj_len(mp_obj_t object);
mp_obj_t mp_obj_subscr(mp_obj_t object, mp_obj_t index, mp_obj_t value);
void mp_get_buffer_raise(mp_obj_t object, mp_buffer_info_t *info, mp_uint_t flags);

#endif
