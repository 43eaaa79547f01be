/* From rows to scores and winners: the sums of the values of their leaves. */

#ifndef BILLHOOK_FOREST_SUM_H
#define BILLHOOK_FOREST_SUM_H

#include "forest_walk.h"

/* Which class wins: that of the largest score, the first of equal ones; or, of two with one score, the second where
   it is above zero, or where it is not below. */
typedef enum { LARGEST, ABOVE_ZERO, FROM_ZERO } Winner;

INLINE Winner winner_rule(int is_logistic, int last_wins)
{
    return !is_logistic ? LARGEST : last_wins ? FROM_ZERO : ABOVE_ZERO;
}

/* A row's scores are (start + leaf values, tree after tree) / divisor + end. A tree adds n_values values, to the
   scores from its column on. */
typedef struct {
    size_t n_values;
    size_t n_scores;
    const double *value; /* (n_nodes, n_values), in the order of the tables' positions */
    const int32_t *tree_column;
    const double *start;
    double divisor;
    const double *end;
} Sum;

/* What is asked for: the scores, an array of shape (n_rows, n_scores), or each row's winner; the other is NULL. */
typedef struct {
    double *scores;
    int64_t *winners;
    Winner winner;
} Answer;

/* Answer all rows. A row's scores are the same to the last bit, however many rows it comes with. */
void sum_values(const Tables *tables, const Sum *sum, const Rows *rows, const Answer *answer, void *scratch);

/* How many bytes `sum_values` needs as scratch. */
size_t sum_scratch(const Tables *tables, const Sum *sum, size_t n_rows);

/* Write the winner of each of n rows of scores. */
void choose_winners(const double *scores, size_t n_rows, size_t n_scores, Winner winner, int64_t *winners);

#endif
