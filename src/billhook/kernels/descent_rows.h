/* What a descent begins with, and what it has reached: the rows' states, the leaves that have rows, and losses. */

#ifndef BILLHOOK_DESCENT_ROWS_H
#define BILLHOOK_DESCENT_ROWS_H

#include "descent.h"

/* Write the state of all rows (rows, columns): their scores, which are the base and the values of their leaves, or
   for the log losses exp(score), up to a factor a row where there are several columns. */
void find_states(const DescentRows *rows, const uint64_t *first, const uint64_t *column, size_t n_values,
                 const double *table, size_t n_columns, const double *base, int is_log, double *state);

/* Write which leaves have rows of some weight that their tree does not skip. */
void find_reached(const DescentRows *rows, const uint64_t *first, uint8_t *reached);

/* Give the rows' leaves (trees, rows) their new numbers; `number` has those of all leaves, tree after tree. */
void renumber_leaves(size_t n_trees, size_t n_rows, const uint64_t *first, const void *number, int is_wide,
                     void *leaf);

/* Write the loss of each row, half of it for the squares, from its state; `label` where there are several columns,
   else `target`. Return the sum of losses times weights, if there are weights; `loss_of_row` may be NULL. */
double find_losses(size_t n_rows, size_t n_columns, const double *state, const double *target, const uint64_t *label,
                   const double *weight, int loss, double width, double *loss_of_row);

#endif
