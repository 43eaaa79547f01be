/* Walker: a forest laid out, ready to be walked. It holds its arrays, so that one row costs no more than its walk. */

#include "bindings.h"
#include "forest_sum.h"

/* Below this many rows times trees, to let other threads run would take longer than the walk. */
enum { SMALL_WALK = 1024 };

typedef struct {
    PyObject_HEAD
    Call held;
    Tables tables;
    Sum sum;
    Winner winner;
    Rounding rounding;
    size_t n_features;
} Walker;

static int check_tables(Call *call, const Tables *tables, const Array *crowns, int n_crowns, Py_ssize_t n_nodes)
{
    const char *wrong = NULL;
    if (tables->n_columns < 1 || tables->position_bits < 1 || tables->position_bits > 31)
        wrong = "there is no column, or position_bits does not lie between 1 and 31";
    for (int i = 0; i < n_crowns; i++)
        if (crowns[i].length[0] != (Py_ssize_t)tables->n_trees || crowns[i].length[1] != CROWN_WIDTH)
            wrong = "the arrays of crowns have not 64 entries for each tree";
    if (tables->n_set_columns >= tables->n_columns)
        wrong = "there is no column but those of sets";
    if (tables->offset[tables->n_trees] != n_nodes)
        wrong = "there is not one word, node and value for each node";
    if (wrong != NULL)
        fail(call, wrong);
    return wrong == NULL;
}

static int take_forest(Walker *walker, PyObject *const *args, Py_ssize_t n_args)
{
    Call *call = &walker->held;
    Array offset, feature, missing_right, set, set_offset, set_bits;
    Array words, node_at, size, crown[4], deeper, value, column, start, end;
    Py_ssize_t position_bits, n_features;
    double divisor;
    int rounds_down, is_logistic, last_wins;
    if (!take(call, args, n_args, "q1 i1 ?1 i1 q1 I1 n Q1 i1 i1 i2 i2 Q2 i2 ?1 d2 d1 x d1 i1 n p p p", &offset,
              &feature, &missing_right, &set, &set_offset, &set_bits, &position_bits, &words, &node_at, &size,
              &crown[0], &crown[1], &crown[2], &crown[3], &deeper, &value, &start, &divisor, &end, &column,
              &n_features, &rounds_down, &is_logistic, &last_wins))
        return 0;
    if (offset.size < 2 || size.size != offset.size - 1 || deeper.size != size.size || column.size != size.size
        || missing_right.size != feature.size || node_at.size != words.size || value.length[0] != words.size
        || set_offset.size < 1 || set_offset.i64[set_offset.size - 1] != set_bits.size || start.size != end.size
        || start.size < 1 || (value.length[1] != 1 && value.length[1] != start.size)) {
        fail(call, "the arrays do not fit each other");
        return 0;
    }
    walker->tables = (Tables){
        .n_trees = (size_t)size.size, .n_columns = (size_t)feature.size, .n_set_columns = (size_t)set.size,
        .offset = offset.i64, .column_feature = feature.i32, .column_missing_right = missing_right.u8,
        .column_set = set.i32, .sets = {set_offset.i64, set_bits.u32}, .position_bits = (int)position_bits,
        .words = words.u64, .node_at = node_at.i32, .crown_size = size.i32, .crown_column = crown[0].i32,
        .crown_threshold = crown[1].i32, .crown_keeps = crown[2].u64, .exits = crown[3].i32, .goes_deeper = deeper.u8,
    };
    walker->sum = (Sum){
        .n_values = (size_t)value.length[1], .n_scores = (size_t)start.size, .value = value.f64,
        .tree_column = column.i32, .start = start.f64, .divisor = divisor, .end = end.f64,
    };
    walker->winner = winner_rule(is_logistic, last_wins);
    walker->rounding = rounds_down ? DOWN : TO_NEAREST;
    walker->n_features = (size_t)n_features;
    return check_tables(call, &walker->tables, crown, 4, words.size);
}

static PyObject *new_walker(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *arg[MOST_ARRAYS];
    const Py_ssize_t n_args = PyTuple_Size(args);
    if (keywords != NULL && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Walker takes no keyword arguments");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n_args && i < MOST_ARRAYS; i++)
        arg[i] = PyTuple_GetItem(args, i);
    Walker *walker = (Walker *)PyType_GenericAlloc(type, 0);
    if (walker == NULL)
        return NULL;
    walker->held.function = "Walker";
    if (!take_forest(walker, arg, n_args)) {
        Py_DECREF(walker);
        return NULL;
    }
    return (PyObject *)walker;
}

static void free_walker(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    give_back(&((Walker *)self)->held);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* Return the rows, or say that they have another number of features. */
static int as_rows(const Walker *walker, Call *call, const Array *X, Rows *rows)
{
    if ((size_t)X->length[1] != walker->n_features) {
        fail(call, "X has another number of features");
        return 0;
    }
    *rows = (Rows){X->data, (size_t)X->length[0], walker->n_features,
                   X->item_size == sizeof(float) ? ARE_FLOAT32 : walker->rounding};
    return 1;
}

/* Answer the rows, and give back what the call holds. */
static PyObject *answer(const Walker *walker, Call *call, const Rows *rows, const Answer *asked)
{
    void *scratch = scratch_for(call, sum_scratch(&walker->tables, &walker->sum, rows->n_rows));
    if (scratch == NULL)
        return failed(call);
    if (rows->n_rows * walker->tables.n_trees < SMALL_WALK) {
        sum_values(&walker->tables, &walker->sum, rows, asked, scratch);
        return done(call);
    }
    Py_BEGIN_ALLOW_THREADS
    sum_values(&walker->tables, &walker->sum, rows, asked, scratch);
    Py_END_ALLOW_THREADS
    return done(call);
}

static PyObject *write_scores(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    const Walker *walker = (const Walker *)self;
    Call call = {.function = "Walker.write_scores"};
    Array X, scores;
    Rows rows;
    if (!take(&call, args, n_args, "F2 d2*", &X, &scores) || !as_rows(walker, &call, &X, &rows))
        return NULL;
    if (scores.length[0] != X.length[0] || (size_t)scores.length[1] != walker->sum.n_scores)
        return fail(&call, "scores has another shape than (rows, scores)");
    const Answer asked = {.scores = scores.f64};
    return answer(walker, &call, &rows, &asked);
}

static PyObject *write_winners(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    const Walker *walker = (const Walker *)self;
    Call call = {.function = "Walker.write_winners"};
    Array X, winners;
    Rows rows;
    if (!take(&call, args, n_args, "F2 q1*", &X, &winners) || !as_rows(walker, &call, &X, &rows))
        return NULL;
    if (winners.size != X.length[0])
        return fail(&call, "there is not one winner for each row");
    const Answer asked = {.winners = winners.i64, .winner = walker->winner};
    return answer(walker, &call, &rows, &asked);
}

static PyObject *write_leaf_ids(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    const Walker *walker = (const Walker *)self;
    const Tables *tables = &walker->tables;
    Call call = {.function = "Walker.write_leaf_ids"};
    Array X, leaf;
    Py_ssize_t first;
    Rows rows;
    if (!take(&call, args, n_args, "F2 L2* n", &X, &leaf, &first) || !as_rows(walker, &call, &X, &rows))
        return NULL;
    if ((size_t)leaf.length[0] != tables->n_trees || first < 0 || first > leaf.length[1] - X.length[0])
        return fail(&call, "leaf has no room for the rows from the first on, or not one line for each tree");
    void *scratch = scratch_for(&call, leaf_ids_scratch(tables, rows.n_rows));
    if (scratch == NULL)
        return failed(&call);
    const WrittenLeafIds to = {(char *)leaf.data + first * leaf.item_size, (size_t)leaf.length[1],
                               leaf.item_size == sizeof(uint32_t)};
    if (rows.n_rows * tables->n_trees < SMALL_WALK) {
        leaf_ids(tables, &rows, &to, scratch);
        return done(&call);
    }
    Py_BEGIN_ALLOW_THREADS
    leaf_ids(tables, &rows, &to, scratch);
    Py_END_ALLOW_THREADS
    return done(&call);
}

#define WALKER_METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}

static PyMethodDef walker_methods[] = {
    WALKER_METHOD(write_scores),
    WALKER_METHOD(write_winners),
    WALKER_METHOD(write_leaf_ids),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot walker_slots[] = {
    {Py_tp_new, (void *)new_walker},
    {Py_tp_dealloc, (void *)free_walker},
    {Py_tp_methods, walker_methods},
    {0, NULL},
};

PyType_Spec walker_spec = {
    .name = "billhook.kernels._native.Walker",
    .basicsize = sizeof(Walker),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = walker_slots,
};
