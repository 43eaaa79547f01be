#include "bindings.h"
#include "codebook.h"
#include "k_means.h"

typedef struct {
    Array leaf, first, state, label, weight, used, anchor, chosen, entries;
} CodebookArrays;

#define CODEBOOK_WORDS "L2 Q1 d2* Q1 d1 ?1 d2 q1* d2*"
#define CODEBOOK_POINTERS(a) \
    &(a).leaf, &(a).first, &(a).state, &(a).label, &(a).weight, &(a).used, &(a).anchor, &(a).chosen, &(a).entries

/* Return what is wrong with the arrays, or NULL. */
static const char *as_codebook(const CodebookArrays *a, Py_ssize_t loss, Codebook *book)
{
    const Py_ssize_t n_trees = a->leaf.length[0], n_rows = a->leaf.length[1];
    const Py_ssize_t n_classes = a->state.length[1], n_leaves = a->chosen.size;
    if (a->first.size != n_trees + 1 || a->first.u64[n_trees] != (uint64_t)n_leaves)
        return "first is not where the leaves of each tree begin, and their number";
    if (a->state.length[0] != n_rows || a->label.size != n_rows || a->weight.size != n_rows)
        return "leaf, state, label and weight are not of the same rows";
    if (a->used.size != n_leaves || a->anchor.length[0] != n_leaves)
        return "used, anchor and chosen are not of the same leaves";
    if (n_classes < 2 || a->anchor.length[1] != n_classes || a->entries.length[1] != n_classes)
        return "state, anchor and entries do not have the same two classes or more";
    if (a->entries.length[0] < 1 || a->entries.length[0] > INT32_MAX || n_rows > INT32_MAX)
        return "there are no entries, or more entries or rows than can be numbered";
    if (loss != SQUARED && loss != LOGISTIC && loss != SQUARED_HINGE)
        return "the loss is none of classes";
    book->n_trees = (size_t)n_trees;
    book->n_rows = (size_t)n_rows;
    book->n_classes = (size_t)n_classes;
    book->n_entries = (size_t)a->entries.length[0];
    book->leaf = as_leaf_ids(&a->leaf);
    book->first = a->first.u64;
    book->state = a->state.f64;
    book->label = a->label.u64;
    book->weight = a->weight.f64;
    book->used = a->used.u8;
    book->anchor = a->anchor.f64;
    book->chosen = a->chosen.i64;
    book->entries = a->entries.f64;
    book->loss = (int)loss;
    return NULL;
}

static PyObject *py_choose_entries(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "choose_entries"};
    CodebookArrays arrays;
    Codebook book;
    Array table;
    Py_ssize_t loss, n_tried;
    if (!take(&call, args, n_args, CODEBOOK_WORDS " d2* n x x n", CODEBOOK_POINTERS(arrays), &table, &loss, &book.l2,
              &book.largest, &n_tried))
        return NULL;
    const char *what = as_codebook(&arrays, loss, &book);
    if (what != NULL)
        return fail(&call, what);
    if (table.length[0] != arrays.anchor.length[0] || table.length[1] != arrays.anchor.length[1])
        return fail(&call, "table and anchor have different shapes");
    if (n_tried < 1 || n_tried > MOST_TRIED || n_tried > arrays.entries.length[0])
        return fail(&call, "n_tried is not between 1 and 7, or above the number of entries");
    void *scratch = scratch_for(&call, choose_scratch(&book));
    if (scratch == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    choose_entries(&book, table.f64, (size_t)n_tried, scratch);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_move_entries(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "move_entries"};
    CodebookArrays arrays;
    Codebook book;
    Array grid;
    Py_ssize_t loss, n_passes;
    if (!take(&call, args, n_args, CODEBOOK_WORDS " d2 n x x n", CODEBOOK_POINTERS(arrays), &grid, &loss, &book.l2,
              &book.largest, &n_passes))
        return NULL;
    const char *what = as_codebook(&arrays, loss, &book);
    if (what != NULL)
        return fail(&call, what);
    if (grid.length[1] != 3 || (grid.length[0] != 0 && grid.length[0] != arrays.state.length[1]))
        return fail(&call, "grid is not empty, and has not three numbers for each class");
    RowsByEntry rows = {NULL, NULL, NULL};
    rows.begin = scratch_for(&call, (book.n_entries + 1) * sizeof *rows.begin);
    void *listing = rows.begin ? scratch_for(&call, rows_by_entry_scratch(&book)) : NULL;
    void *scratch = listing ? scratch_for(&call, move_scratch(&book)) : NULL;
    if (scratch == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    rows_by_entry(&book, &rows, listing);
    Py_END_ALLOW_THREADS
    const size_t n_meetings = rows.begin[book.n_entries];
    uint32_t *row = scratch_for(&call, n_meetings * sizeof *row);
    uint32_t *often = row ? scratch_for(&call, n_meetings * sizeof *often) : NULL;
    if (often == NULL)
        return failed(&call);
    rows.row = row;
    rows.often = often;
    Py_BEGIN_ALLOW_THREADS
    rows_by_entry(&book, &rows, listing);
    move_entries(&book, &rows, grid.size ? grid.f64 : NULL, n_passes > 0 ? (size_t)n_passes : 0, scratch);
    Py_END_ALLOW_THREADS
    return done(&call);
}

/* Return what is wrong with the arrays, or NULL. */
static const char *as_clusters(const Array *vector, const Array *centre, const Array *nearest, Clusters *clusters)
{
    if (centre->length[1] != vector->length[1])
        return "vectors and centres have different lengths";
    if (centre->length[0] < 1 || vector->length[1] < 1)
        return "there are no centres, or vectors have no values";
    if (nearest->size != vector->length[0])
        return "vectors and nearest have different lengths";
    clusters->n_vectors = (size_t)vector->length[0];
    clusters->n_values = (size_t)vector->length[1];
    clusters->n_centres = (size_t)centre->length[0];
    clusters->vector = vector->f64;
    clusters->centre = centre->f64;
    clusters->nearest = nearest->i64;
    return NULL;
}

static PyObject *py_k_means(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "k_means"};
    Array vector, weight, centre, nearest;
    Clusters clusters;
    uint64_t seed;
    Py_ssize_t most_passes;
    if (!take(&call, args, n_args, "d2 d1 u n d2* q1*", &vector, &weight, &seed, &most_passes, &centre, &nearest))
        return NULL;
    const char *what = as_clusters(&vector, &centre, &nearest, &clusters);
    if (what != NULL)
        return fail(&call, what);
    if (weight.size != vector.length[0] || centre.length[0] > vector.length[0])
        return fail(&call, "there are fewer vectors than centres, or another number of weights");
    void *scratch = scratch_for(&call, k_means_scratch(&clusters));
    if (scratch == NULL)
        return failed(&call);
    double inertia;
    Py_BEGIN_ALLOW_THREADS
    inertia = k_means(&clusters, weight.f64, seed, most_passes > 0 ? (size_t)most_passes : 0, scratch);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyFloat_FromDouble(inertia);
}

static PyObject *py_find_nearest(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "find_nearest"};
    Array vector, centre, nearest;
    Clusters clusters;
    if (!take(&call, args, n_args, "d2 d2 q1*", &vector, &centre, &nearest))
        return NULL;
    const char *what = as_clusters(&vector, &centre, &nearest, &clusters);
    if (what != NULL)
        return fail(&call, what);
    void *scratch = scratch_for(&call, find_nearest_scratch(&clusters));
    if (scratch == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    find_nearest(&clusters, scratch);
    Py_END_ALLOW_THREADS
    return done(&call);
}

PyMethodDef codebook_methods[] = {
    METHOD(choose_entries),
    METHOD(move_entries),
    METHOD(k_means),
    METHOD(find_nearest),
    {NULL, NULL, 0, NULL},
};
