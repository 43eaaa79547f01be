/* The C reader of blobs as a module of MicroPython, `billhook_c`, which is compiled into the firmware.
 *
 *     model = billhook_c.load(open("model.bhm", "rb").read())
 *     model.predict(row)          the number of a class, or a number for regression
 *     model.predict_proba(row)    a list; model.scores(row): a list of whole numbers
 *     model.n_features, model.n_classes
 */
#include "py/obj.h"
#include "py/runtime.h"

#include "billhook.h"

typedef struct {
    mp_obj_base_t base;
    bh_model model;
    mp_obj_t blob; /* is kept as long as the model */
    int32_t *scratch;
    float *row, *probabilities;
} billhook_model_t;

static const mp_obj_type_t billhook_model_type;

static mp_obj_t billhook_load(mp_obj_t blob)
{
    billhook_model_t *self;
    mp_buffer_info_t bytes;
    int error;
    if (!mp_obj_is_type(blob, &mp_type_bytes)) /* nobody may change what was checked */
        mp_raise_TypeError(MP_ERROR_TEXT("a model is given as bytes"));
    mp_get_buffer_raise(blob, &bytes, MP_BUFFER_READ);
    self = mp_obj_malloc(billhook_model_t, &billhook_model_type);
    self->blob = blob;
    self->scratch = NULL;
    self->row = self->probabilities = NULL;
    error = bh_open(&self->model, bytes.buf, bytes.len, NULL, 0);
    if (error == BH_SMALL_SCRATCH) {
        self->scratch = m_new(int32_t, self->model.n_scratch);
        error = bh_open(&self->model, bytes.buf, bytes.len, self->scratch, self->model.n_scratch);
    }
    if (error != BH_OK)
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("the blob: %s"), bh_error_text(error));
    self->row = m_new(float, BH_N_FEATURES(&self->model));
    self->probabilities = m_new(float, BH_N_CLASSES(&self->model));
    return MP_OBJ_FROM_PTR(self);
}
static MP_DEFINE_CONST_FUN_OBJ_1(billhook_load_obj, billhook_load);

/* Return the model, with the numbers of a row, which is anything with a length and items, in its `row`. */
static billhook_model_t *with_row(mp_obj_t self_in, mp_obj_t row)
{
    billhook_model_t *self = MP_OBJ_TO_PTR(self_in);
    size_t k, n = BH_N_FEATURES(&self->model);
    if ((size_t)mp_obj_get_int(mp_obj_len(row)) != n)
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("a row has %d numbers"), (int)n);
    for (k = 0; k < n; k++)
        self->row[k] = mp_obj_get_float_to_f(mp_obj_subscr(row, MP_OBJ_NEW_SMALL_INT(k), MP_OBJ_SENTINEL));
    return self;
}

static mp_obj_t billhook_scores(mp_obj_t self_in, mp_obj_t row)
{
    billhook_model_t *self = with_row(self_in, row);
    const int32_t *scores = bh_scores(&self->model, self->row);
    size_t k, n = BH_N_SCORES(&self->model);
    mp_obj_t list = mp_obj_new_list(0, NULL);
    for (k = 0; k < n; k++)
        mp_obj_list_append(list, mp_obj_new_int(scores[k]));
    return list;
}
static MP_DEFINE_CONST_FUN_OBJ_2(billhook_scores_obj, billhook_scores);

static mp_obj_t billhook_predict(mp_obj_t self_in, mp_obj_t row)
{
    billhook_model_t *self = with_row(self_in, row);
    if (BH_IS_REGRESSION(&self->model))
        return mp_obj_new_float_from_f(bh_value(&self->model, self->row));
    return mp_obj_new_int(bh_predict(&self->model, self->row));
}
static MP_DEFINE_CONST_FUN_OBJ_2(billhook_predict_obj, billhook_predict);

static mp_obj_t billhook_predict_proba(mp_obj_t self_in, mp_obj_t row)
{
    billhook_model_t *self = with_row(self_in, row);
    size_t k, n = BH_N_CLASSES(&self->model);
    mp_obj_t list;
    if (BH_IS_REGRESSION(&self->model))
        mp_raise_TypeError(MP_ERROR_TEXT("the model predicts a number, not a class"));
    bh_proba(&self->model, self->row, self->probabilities);
    list = mp_obj_new_list(0, NULL);
    for (k = 0; k < n; k++)
        mp_obj_list_append(list, mp_obj_new_float_from_f(self->probabilities[k]));
    return list;
}
static MP_DEFINE_CONST_FUN_OBJ_2(billhook_predict_proba_obj, billhook_predict_proba);

static void billhook_attr(mp_obj_t self_in, qstr name, mp_obj_t *dest)
{
    billhook_model_t *self = MP_OBJ_TO_PTR(self_in);
    if (dest[0] != MP_OBJ_NULL) /* nothing can be set */
        return;
    if (name == MP_QSTR_n_features)
        dest[0] = mp_obj_new_int_from_uint(BH_N_FEATURES(&self->model));
    else if (name == MP_QSTR_n_classes)
        dest[0] = mp_obj_new_int_from_uint(BH_N_CLASSES(&self->model));
    else
        dest[1] = MP_OBJ_SENTINEL; /* look among the methods */
}

static const mp_rom_map_elem_t billhook_model_locals[] = {
    {MP_ROM_QSTR(MP_QSTR_scores), MP_ROM_PTR(&billhook_scores_obj)},
    {MP_ROM_QSTR(MP_QSTR_predict), MP_ROM_PTR(&billhook_predict_obj)},
    {MP_ROM_QSTR(MP_QSTR_predict_proba), MP_ROM_PTR(&billhook_predict_proba_obj)},
};
static MP_DEFINE_CONST_DICT(billhook_model_locals_dict, billhook_model_locals);

static MP_DEFINE_CONST_OBJ_TYPE(billhook_model_type, MP_QSTR_Model, MP_TYPE_FLAG_NONE, attr, billhook_attr,
                                locals_dict, &billhook_model_locals_dict);

static const mp_rom_map_elem_t billhook_globals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_billhook_c)},
    {MP_ROM_QSTR(MP_QSTR_load), MP_ROM_PTR(&billhook_load_obj)},
};
static MP_DEFINE_CONST_DICT(billhook_globals, billhook_globals_table);

const mp_obj_module_t billhook_user_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&billhook_globals,
};
MP_REGISTER_MODULE(MP_QSTR_billhook_c, billhook_user_module);
