/* Leaves that share vectors: each takes the best of a few entries in its turn, and each entry steps for all of its.

   Rows have a number for each class, and so have leaves. The state of a row is its scores, or for cross-entropy its
   class probabilities; a step then multiplies by exp(step), which is taken once and not once a row. */

#ifndef BILLHOOK_CODEBOOK_H
#define BILLHOOK_CODEBOOK_H

#include "kernels.h"

/* The most entries that a leaf tries beside its own. */
enum { MOST_TRIED = 7 };

/* Rows, their leaves, and the entries that leaves choose from; both kernels change `state`. */
typedef struct {
    size_t n_trees, n_rows, n_classes, n_entries;
    LeafIds leaf;          /* (trees, rows): numbers within the tree */
    const uint64_t *first; /* the first leaf of each tree, and the number of leaves */
    double *state;         /* (rows, classes) */
    const uint64_t *label;
    const double *weight;
    const uint8_t *used;  /* whether a leaf has rows */
    const double *anchor; /* (leaves, classes): what values are drawn to, by the L2 penalty */
    int64_t *chosen;      /* the entry of each leaf, -1 for none yet */
    double *entries;      /* (entries, classes) */
    int loss;             /* SQUARED, LOGISTIC or SQUARED_HINGE */
    double l2, largest;
} Codebook;

/* Make one pass over the trees: each leaf takes an entry; change `chosen`, `table` (leaves, classes) and `state`.

   Of the `n_tried` entries nearest to where the step leads, by the curvature, and the one it has, that with the
   lowest loss on the leaf's rows: then the loss does not rise. A leaf without rows takes the entry nearest to its
   anchor. `scratch` has `choose_scratch` bytes. */
void choose_entries(const Codebook *book, double *table, size_t n_tried, void *scratch);
size_t choose_scratch(const Codebook *book);

/* Rows one entry after the other: those that meet entry e are `row[begin[e]]` to `row[begin[e + 1] - 1]`, ascending,
   and `often` says in how many trees. */
typedef struct {
    size_t *begin; /* entries + 1 */
    uint32_t *row, *often;
} RowsByEntry;

/* Write `begin`, and where `row` is not NULL `row` and `often` too. `scratch` has `rows_by_entry_scratch` bytes. */
void rows_by_entry(const Codebook *book, RowsByEntry *rows, void *scratch);
size_t rows_by_entry_scratch(const Codebook *book);

/* Let each entry in its turn take a Newton step for all leaves that chose it; change `entries` and `state`.

   `grid` is NULL, or for each class a unit and the lowest and highest number of it that an entry is rounded to. A
   step that would raise the loss is halved, or not taken if entries are rounded and this one already is. `scratch`
   has `move_scratch` bytes. */
void move_entries(const Codebook *book, const RowsByEntry *rows, const double *grid, size_t n_passes, void *scratch);
size_t move_scratch(const Codebook *book);

#endif
