/* Block coordinate descent on leaf values: one tree is a block, each of its leaves takes a Newton step of its own.

   Rows and leaves have one number (two classes, regression): *_one; or rows have one for each class, and leaves one
   for each class or for some of them: *_many. The sweep that adds a tree's step to the scores of all rows gathers the
   slopes for the next tree on its way.

   For the log losses the state of a row is not its score but what the loss needs of it: the odds, the expected count,
   or numbers in the proportions of the class probabilities. A step then multiplies by exp(step), which is taken once
   a leaf and not once a row. */

#ifndef BILLHOOK_DESCENT_H
#define BILLHOOK_DESCENT_H

#include "kernels.h"

/* The smallest odds, probability or expected count that is kept: a factor can bring it back. */
#define TINY 1e-290

/* How many rows are taken at once: what is known of them fits the nearest cache, and a page of the stack. */
enum { DESCENT_BLOCK = 64 };

/* The rows of a descent. `skip` (trees, rows), if it is not NULL, says which rows a tree has nothing to do with. */
typedef struct {
    size_t n_trees, n_rows;
    LeafIds leaf; /* (trees, rows) */
    const uint8_t *skip;
    const double *weight;
} DescentRows;

/* What a step minimises, and how far it may go. `grid` is NULL, or for each column of the scores a unit and the
   lowest and highest number of it that values are rounded to. */
typedef struct {
    int loss;
    double width;
    double l2, group, largest, damping;
    const double *grid;
} DescentRules;

/* The leaves of all trees: tree k has those from first[k] to first[k + 1], and its values begin with column[k] of the
   scores. `curvature` is written: that of the pass. */
typedef struct {
    const uint64_t *first, *column;
    size_t n_values;
    double *table; /* (leaves, values) */
    const double *anchor;
    const uint8_t *used;
    double *curvature;
} DescentLeaves;

/* Where a tree's step is kept until the next sweep: `move` (leaves + 1, width), what each leaf's rows are moved by,
   and at last a row for those that stay; `sums` (leaves, 2, width), slopes and curvatures. The width is the number of
   values, or more where that makes loops even: see `padded`. */
typedef struct {
    size_t width;
    double *move, *sums;
} TreeStep;

INLINE int is_log_loss(int loss) { return loss == LOGISTIC || loss == POISSON; }

/* The number of columns that the kernels for many classes keep: loops then have no remainder. */
INLINE size_t padded(size_t n) { return (n + 3) / 4 * 4; }

INLINE size_t most_leaves(const uint64_t *first, size_t n_trees)
{
    size_t most = 0;
    for (size_t k = 0; k < n_trees; k++)
        if (first[k + 1] - first[k] > most)
            most = (size_t)(first[k + 1] - first[k]);
    return most;
}

/* Write the leaves of a block of rows in a tree; `still` for those that it skips. */
INLINE void leaves_of_block(const DescentRows *rows, size_t tree, size_t begin, size_t n, uint32_t still,
                            uint32_t *RESTRICT ids)
{
    const size_t from = tree * rows->n_rows + begin;
    const void *RESTRICT leaf = rows->leaf.data;
    if (rows->leaf.is_wide) {
        for (size_t i = 0; i < n; i++)
            ids[i] = (uint32_t)leaf_at(leaf, 1, from + i);
    } else {
        for (size_t i = 0; i < n; i++)
            ids[i] = (uint32_t)leaf_at(leaf, 0, from + i);
    }
    if (rows->skip != NULL) {
        const uint8_t *RESTRICT skip = rows->skip + from;
        for (size_t i = 0; i < n; i++) {
            const uint32_t id = ids[i];
            ids[i] = skip[i] ? still : id;
        }
    }
}

/* Return the weights of a block of rows, 0 for those that a tree skips. */
INLINE const double *weights_of_block(const DescentRows *rows, size_t tree, size_t begin, size_t n,
                                      double *RESTRICT weights)
{
    const double *RESTRICT weight = rows->weight + begin;
    if (rows->skip == NULL)
        return weight;
    const uint8_t *RESTRICT skip = rows->skip + tree * rows->n_rows + begin;
    for (size_t i = 0; i < n; i++) {
        const double w = weight[i];
        weights[i] = skip[i] ? 0.0 : w;
    }
    return weights;
}

/* Move the leaves of tree k by the sums of a sweep; write their curvature, and what the rows' state is moved by.

   Where all classes move at once, their slopes sum to zero, and the curvature along such a direction is larger than
   that of each class alone: C / (C - 1) times where all are as likely (Friedman 2001, Algorithm 6). For squares, the
   curvature of the first value is that of all. `scratch` is two numbers for each value of the tree. */
void step_tree(const DescentLeaves *leaves, size_t tree, const DescentRules *rules, size_t n_classes,
               const TreeStep *step, double *scratch);

/* Move the rows by the step of tree `before`; add up slopes and curvatures by the leaves of tree `now`, which has
   `n_leaves` and may be the same. Rows and leaves have one number. `scratch` is (leaves, 8). */
void sweep_one(const DescentRows *rows, size_t before, size_t now, size_t n_leaves, double *state,
               const double *target, int loss, double width, const double *move, uint32_t still, double *sums,
               double *scratch);

/* Do the same where rows have a number for each class; `moved` and `here` are the first columns of both trees. A leaf
   has `n_values`, for all classes or for some. Rows of `state` and, if leaves have all classes, of `move` and `sums`
   are `padded`; the numbers in excess are 0 in `state` and `move`. */
void sweep_many(const DescentRows *rows, size_t before, size_t now, size_t n_leaves, size_t moved, size_t here,
                size_t n_values, size_t n_classes, double *state, const uint64_t *target, int loss,
                const double *move, uint32_t still, double *sums);

/* Copy rows into wider or narrower ones; numbers that there were none for are 0. */
void resize_rows(size_t n_rows, size_t n_from, const double *from, size_t n_to, double *to);

/* Make one pass over the trees; change the table, the curvature and `state`. Of scratch, `step` is for the tree with
   the most leaves, and `scratch` has 8 numbers for each of its leaves. */
void descend_one(const DescentRows *rows, const DescentLeaves *leaves, const DescentRules *rules, double *state,
                 const double *target, const TreeStep *step, double *scratch);

/* Do the same where rows have a number for each class. `wide_state` is scratch for the state with padded rows;
   `scratch` has two numbers for each class, padded, of the leaves of the largest
   tree. */
void descend_many(const DescentRows *rows, const DescentLeaves *leaves, const DescentRules *rules, size_t n_classes,
                  double *state, const uint64_t *target, const TreeStep *step, double *wide_state, double *scratch);

#endif
