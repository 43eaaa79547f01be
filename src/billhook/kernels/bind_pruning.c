#include "bindings.h"
#include "pruning.h"
#include "pruning_sums.h"

/* The arrays that describe trees: leaf ids (trees, rows), offsets, and the values of the nodes. */
typedef struct {
    Array leaf, offset, value;
} TreeArrays;

static int fit_together(const TreeArrays *a) { return a->offset.size == a->leaf.length[0] + 1; }

static Trees as_trees(const TreeArrays *a)
{
    return (Trees){.leaf = as_leaf_ids(&a->leaf),
                   .n_trees = (size_t)a->leaf.length[0],
                   .n_rows = (size_t)a->leaf.length[1],
                   .n_classes = (size_t)a->value.length[1],
                   .offset = a->offset.i64,
                   .value = a->value.f64};
}

static Votes as_votes(const Array *array)
{
    return (Votes){.data = array->data, .item_size = (size_t)array->item_size};
}

static PyObject *py_add_tree(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "add_tree"};
    Array leaf, value, score;
    if (!take(&call, args, n_args, "L1 d2 d2*", &leaf, &value, &score))
        return NULL;
    if (score.length[0] != leaf.size || score.length[1] != value.length[1])
        return fail(&call, "score has other rows than leaf, or other classes than value");
    Py_BEGIN_ALLOW_THREADS
    add_tree(as_leaf_ids(&leaf), (size_t)leaf.size, (size_t)value.length[1], value.f64, score.f64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

/* What is wrong with the arrays of a choice among candidates, NULL if nothing is. */
static const char *wrong_choice(const TreeArrays *a, const Array *score, const Array *y, const Array *weight,
                                const Array *candidates)
{
    const Py_ssize_t n_rows = a->leaf.length[1];
    if (!fit_together(a))
        return "leaf has other trees than offset";
    if (score->length[0] != n_rows || y->size != n_rows || weight->size != n_rows)
        return "leaf has other rows than score, y or weight";
    if (score->length[1] != a->value.length[1])
        return "score and value have different classes";
    return candidates->size == 0 || n_rows == 0 ? "there is no candidate, or no row" : NULL;
}

static PyObject *py_best_addition(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "best_addition"};
    Array score, y, weight, candidates;
    TreeArrays a;
    double swing;
    if (!take(&call, args, n_args, "d2 q1 q1 x q1 L2 q1 d2", &score, &y, &weight, &swing, &candidates, &a.leaf,
              &a.offset, &a.value))
        return NULL;
    const char *wrong = wrong_choice(&a, &score, &y, &weight, &candidates);
    if (wrong != NULL)
        return fail(&call, wrong);
    int64_t *open = scratch_for(&call, 3 * (size_t)y.size * sizeof *open);
    double *open_score = open == NULL ? NULL : scratch_for(&call, (size_t)score.size * sizeof *open_score);
    if (open_score == NULL)
        return failed(&call);
    const Trees trees = as_trees(&a);
    const Labels labels = {.y = y.i64, .weight = weight.i64};
    int64_t best;
    Py_BEGIN_ALLOW_THREADS
    best = best_addition(&trees, labels, score.f64, swing, (size_t)candidates.size, candidates.i64, open, open_score);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyLong_FromLongLong(best);
}

static PyObject *py_largest_area(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "largest_area"};
    Array score, y, weight, candidates;
    TreeArrays a;
    if (!take(&call, args, n_args, "d2 q1 q1 q1 L2 q1 d2", &score, &y, &weight, &candidates, &a.leaf, &a.offset,
              &a.value))
        return NULL;
    const char *wrong = wrong_choice(&a, &score, &y, &weight, &candidates);
    if (wrong != NULL)
        return fail(&call, wrong);
    const Trees trees = as_trees(&a);
    const Labels labels = {.y = y.i64, .weight = weight.i64};
    double *by_class = scratch_for(&call, ((size_t)score.size + 2 * trees.n_classes) * sizeof *by_class);
    double *of_leaf = by_class == NULL ? NULL : scratch_for(&call, (size_t)a.value.length[0] * sizeof *of_leaf);
    double *bins = of_leaf == NULL ? NULL : scratch_for(&call, AREA_SCRATCH * sizeof *bins);
    if (bins == NULL)
        return failed(&call);
    int64_t best;
    Py_BEGIN_ALLOW_THREADS
    best = largest_area(&trees, labels, score.f64, (size_t)candidates.size, candidates.i64, by_class, of_leaf, bins);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyLong_FromLongLong(best);
}

static PyObject *py_improve_by_swaps(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "improve_by_swaps"};
    Array single, pair, chosen;
    if (!take(&call, args, n_args, "d1 d2 ?1*", &single, &pair, &chosen))
        return NULL;
    if (pair.length[0] != single.size || pair.length[1] != single.size || chosen.size != single.size)
        return fail(&call, "single, pair and chosen have different lengths");
    double *scratch = scratch_for(&call, 3 * (size_t)single.size * sizeof *scratch);
    if (scratch == NULL)
        return failed(&call);
    double objective;
    Py_BEGIN_ALLOW_THREADS
    objective = improve_by_swaps((size_t)single.size, single.f64, pair.f64, chosen.u8, scratch);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyFloat_FromDouble(objective);
}

static PyObject *py_find_votes(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "find_votes"};
    TreeArrays a;
    Array of_node, votes;
    if (!take(&call, args, n_args, "L2 q1 V1 V2*", &a.leaf, &a.offset, &of_node, &votes))
        return NULL;
    if (!fit_together(&a) || votes.length[0] != a.leaf.length[0] || votes.length[1] != a.leaf.length[1])
        return fail(&call, "leaf has other trees than offset, or another shape than votes");
    if (of_node.item_size != votes.item_size)
        return fail(&call, "the votes of the nodes and of the rows have different types");
    a.value = of_node;
    const Trees trees = as_trees(&a);
    Py_BEGIN_ALLOW_THREADS
    find_votes(&trees, as_votes(&of_node), as_votes(&votes));
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_weigh_matches(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "weigh_matches"};
    Array votes, expected, weight, trees, matches;
    int is_unweighted;
    if (!take(&call, args, n_args, "V2 V1 q1 p q1 q1*", &votes, &expected, &weight, &is_unweighted, &trees, &matches))
        return NULL;
    if (expected.size != votes.length[1] || weight.size != votes.length[1] || matches.size != trees.size)
        return fail(&call, "votes, expected and weight, or trees and matches, have different lengths");
    if (expected.item_size != votes.item_size)
        return fail(&call, "votes and expected have different types");
    Py_BEGIN_ALLOW_THREADS
    weigh_matches((size_t)votes.length[1], as_votes(&votes), as_votes(&expected), weight.i64, is_unweighted,
                  (size_t)trees.size, trees.i64, matches.i64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_weigh_agreement(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "weigh_agreement"};
    Array votes, weight, agreement;
    int is_unweighted;
    if (!take(&call, args, n_args, "V2 q1 p q2*", &votes, &weight, &is_unweighted, &agreement))
        return NULL;
    const Py_ssize_t n_trees = votes.length[0];
    if (weight.size != votes.length[1] || agreement.length[0] != n_trees || agreement.length[1] != n_trees)
        return fail(&call, "votes has other rows than weight, or other trees than agreement");
    Py_BEGIN_ALLOW_THREADS
    weigh_agreement((size_t)n_trees, (size_t)votes.length[1], as_votes(&votes), weight.i64, is_unweighted,
                    agreement.i64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_count_votes(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "count_votes"};
    Array votes, counts;
    if (!take(&call, args, n_args, "V2 q2*", &votes, &counts))
        return NULL;
    if (counts.length[0] != votes.length[1])
        return fail(&call, "votes and counts have different rows");
    Py_BEGIN_ALLOW_THREADS
    count_votes((size_t)votes.length[0], (size_t)votes.length[1], (size_t)counts.length[1], as_votes(&votes),
                counts.i64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_sum_by_vote(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "sum_by_vote"};
    Array votes, worth, sums;
    if (!take(&call, args, n_args, "V2 d2 d1*", &votes, &worth, &sums))
        return NULL;
    if (worth.length[0] != votes.length[1] || sums.size != votes.length[0])
        return fail(&call, "votes has other rows than worth, or other trees than sums");
    Py_BEGIN_ALLOW_THREADS
    sum_by_vote((size_t)votes.length[0], (size_t)votes.length[1], (size_t)worth.length[1], as_votes(&votes),
                worth.f64, sums.f64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_sum_by_leaf_and_class(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "sum_by_leaf_and_class"};
    Array leaf, y, weight, table;
    if (!take(&call, args, n_args, "L1 q1 q1 d2", &leaf, &y, &weight, &table))
        return NULL;
    if (y.size != leaf.size || weight.size != leaf.size)
        return fail(&call, "leaf, y and weight have different lengths");
    double sum;
    Py_BEGIN_ALLOW_THREADS
    sum = sum_by_leaf_and_class(as_leaf_ids(&leaf), (size_t)leaf.size, (size_t)table.length[1],
                                (Labels){.y = y.i64, .weight = weight.i64}, table.f64);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyFloat_FromDouble(sum);
}

static PyObject *py_sum_of_products(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "sum_of_products"};
    Array leaf, value, other, weight;
    if (!take(&call, args, n_args, "L1 d2 d2 q1", &leaf, &value, &other, &weight))
        return NULL;
    if (other.length[0] != leaf.size || weight.size != leaf.size || other.length[1] != value.length[1])
        return fail(&call, "leaf, other and weight have different rows, or value and other different classes");
    double sum;
    Py_BEGIN_ALLOW_THREADS
    sum = sum_of_products(as_leaf_ids(&leaf), (size_t)leaf.size, (size_t)value.length[1], value.f64, other.f64,
                          weight.i64);
    Py_END_ALLOW_THREADS
    give_back(&call);
    return PyFloat_FromDouble(sum);
}

static PyObject *py_residual_products(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "residual_products"};
    TreeArrays a;
    Array expected, weight, products;
    if (!take(&call, args, n_args, "L2 q1 d2 d2 q1 d2*", &a.leaf, &a.offset, &a.value, &expected, &weight, &products))
        return NULL;
    const Trees trees = as_trees(&a);
    if (!fit_together(&a) || products.length[0] != a.leaf.length[0] || products.length[1] != a.leaf.length[0])
        return fail(&call, "leaf has other trees than offset or products");
    if (expected.length[0] != a.leaf.length[1] || weight.size != a.leaf.length[1])
        return fail(&call, "leaf has other rows than expected or weight");
    if (expected.length[1] != a.value.length[1] || trees.n_classes == 0)
        return fail(&call, "value and expected have different classes, or none");
    const size_t n_numbers = product_numbers(trees.n_classes);
    double *residual = scratch_for(&call, n_numbers * (trees.n_trees + PRODUCT_TREES) * sizeof *residual);
    double *of_number = residual == NULL ? NULL : scratch_for(&call, n_numbers * sizeof *of_number);
    if (of_number == NULL)
        return failed(&call);
    Py_BEGIN_ALLOW_THREADS
    residual_products(&trees, expected.f64, weight.i64, products.f64, residual, of_number);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_add_weighted_trees(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "add_weighted_trees"};
    TreeArrays a;
    Array rows, tree_weight, score;
    if (!take(&call, args, n_args, "L2 q1 d2 q1 d1 d2*", &a.leaf, &a.offset, &a.value, &rows, &tree_weight, &score))
        return NULL;
    if (!fit_together(&a) || tree_weight.size != a.leaf.length[0])
        return fail(&call, "leaf has other trees than offset or tree_weight");
    if (score.length[0] != rows.size || score.length[1] != a.value.length[1])
        return fail(&call, "score has other rows than there are, or other classes than value");
    const Trees trees = as_trees(&a);
    Py_BEGIN_ALLOW_THREADS
    add_weighted_trees(&trees, (size_t)rows.size, rows.i64, tree_weight.f64, score.f64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

static PyObject *py_slopes_of_trees(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    Call call = {.function = "slopes_of_trees"};
    TreeArrays a;
    Array rows, slope, sums;
    if (!take(&call, args, n_args, "L2 q1 d2 q1 d2 d1*", &a.leaf, &a.offset, &a.value, &rows, &slope, &sums))
        return NULL;
    if (!fit_together(&a) || sums.size != a.leaf.length[0])
        return fail(&call, "leaf has other trees than offset or sums");
    if (slope.length[0] != rows.size || slope.length[1] != a.value.length[1])
        return fail(&call, "slope has other rows than there are, or other classes than value");
    const Trees trees = as_trees(&a);
    Py_BEGIN_ALLOW_THREADS
    slopes_of_trees(&trees, (size_t)rows.size, rows.i64, slope.f64, sums.f64);
    Py_END_ALLOW_THREADS
    return done(&call);
}

PyMethodDef pruning_methods[] = {
    METHOD(add_tree),
    METHOD(best_addition),
    METHOD(largest_area),
    METHOD(improve_by_swaps),
    METHOD(find_votes),
    METHOD(weigh_matches),
    METHOD(weigh_agreement),
    METHOD(count_votes),
    METHOD(sum_by_vote),
    METHOD(sum_by_leaf_and_class),
    METHOD(sum_of_products),
    METHOD(residual_products),
    METHOD(add_weighted_trees),
    METHOD(slopes_of_trees),
    {NULL, NULL, 0, NULL},
};
