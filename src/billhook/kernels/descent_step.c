#include "descent.h"
#include "functions.h"

#include <math.h>

/* Added to every curvature, so that a leaf of settled rows divides by something. */
#define FLOOR 1e-10
/* The most that is multiplied by at once is exp of this: rounded values may jump that far. */
#define FAR 600.0

/* Replace the values t by those s that minimise sum curvature (s - t)^2 / 2 + strength |s|, with Newton. Return
   whether all of them are zero. */
static int shrink_block(size_t n, double *RESTRICT target, const double *RESTRICT curvature, double strength)
{
    double squared_norm = 0.0;
    for (size_t i = 0; i < n; i++)
        squared_norm += curvature[i] * target[i] * (curvature[i] * target[i]);
    if (squared_norm <= strength * strength) {
        for (size_t i = 0; i < n; i++)
            target[i] = 0.0;
        return 1;
    }
    /* s = t c r / (c r + strength) with r = |s|: find the r at which the sum of (t c / (c r + strength))^2 is 1. The
       sum is convex and falls, so that Newton's steps from the left never go too far. */
    double r = 0.0;
    for (int k = 0; k < 100; k++) {
        double total = -1.0, slope = 0.0;
        for (size_t i = 0; i < n; i++) {
            const double below = curvature[i] * r + strength;
            const double share = target[i] * curvature[i] / below;
            total += share * share;
            slope -= 2.0 * (share * share) * curvature[i] / below;
        }
        if (total <= 1e-12)
            break;
        r -= total / slope;
    }
    int goes = 1;
    for (size_t i = 0; i < n; i++) {
        target[i] *= curvature[i] * r / (curvature[i] * r + strength);
        goes = goes && target[i] == 0.0;
    }
    return goes;
}

/* Replace the steps by those to values that the penalty on the tree's length has shrunk. A shorter step is one with
   more curvature, which is one with less strength. Leaves without rows do not count, and go only if the tree does. */
static void shrink_tree(size_t n_leaves, size_t n_values, const double *table, const uint8_t *used, double strength,
                        double *step, double *bend)
{
    for (size_t i = 0; i < n_leaves; i++)
        for (size_t c = i * n_values; c < (i + 1) * n_values; c++)
            step[c] = used[i] ? table[c] + step[c] : 0.0;
    const int goes = shrink_block(n_leaves * n_values, step, bend, strength);
    for (size_t i = 0; i < n_leaves; i++)
        for (size_t c = i * n_values; c < (i + 1) * n_values; c++)
            step[c] = used[i] || goes ? step[c] - table[c] : 0.0;
}

static void round_to_grid(size_t n_leaves, size_t n_values, const double *table, const double *grid, double *step)
{
    for (size_t i = 0; i < n_leaves; i++) {
        for (size_t c = 0; c < n_values; c++) {
            const double *of = grid + 3 * c;
            const size_t at = i * n_values + c;
            step[at] = clamp(rint((table[at] + step[at]) / of[0]), of[1], of[2]) * of[0] - table[at];
        }
    }
}

/* Write the curvatures that count, and the Newton steps; leaves without rows stay. */
INLINE void newton_steps(size_t n_leaves, size_t n_values, const double *RESTRICT table,
                         const double *RESTRICT anchor, const uint8_t *used, const DescentRules *rules,
                         size_t n_classes, const TreeStep *of, double *RESTRICT curvature, double *RESTRICT step,
                         double *RESTRICT bend)
{
    const double more = rules->loss == LOGISTIC && n_values > 1 ? (double)n_classes / ((double)n_classes - 1.0) : 1.0;
    const size_t next = rules->loss == SQUARED ? 0 : 1;
    for (size_t i = 0; i < n_leaves; i++) {
        const double *RESTRICT slope = of->sums + 2 * i * of->width;
        const double *RESTRICT sum = slope + of->width;
        for (size_t c = 0; c < n_values; c++) {
            const size_t at = i * n_values + c;
            curvature[at] = sum[c * next] * more;
            bend[at] = used[i] ? curvature[at] + rules->l2 + FLOOR : 1.0;
            const double wanted = (slope[c] - rules->l2 * (table[at] - anchor[at])) / bend[at];
            step[at] = used[i] ? rules->damping * clamp(wanted, -rules->largest, rules->largest) : 0.0;
        }
    }
}

/* Move the table by the steps, and write what the rows' state is moved by. */
INLINE void make_steps(size_t n_leaves, size_t n_values, const int is_log, double *RESTRICT table,
                       const double *RESTRICT step, size_t width, double *RESTRICT move)
{
    for (size_t i = 0; i < n_leaves; i++) {
        for (size_t c = 0; c < n_values; c++) {
            const double by = step[i * n_values + c];
            table[i * n_values + c] += by;
            move[i * width + c] = is_log ? exp_of(clamp(by, -FAR, FAR)) : by;
        }
    }
}

HOT void step_tree(const DescentLeaves *leaves, size_t tree, const DescentRules *rules, size_t n_classes,
                   const TreeStep *of, double *scratch)
{
    const size_t first = (size_t)leaves->first[tree], n_leaves = (size_t)leaves->first[tree + 1] - first;
    const size_t n_values = leaves->n_values;
    double *table = leaves->table + first * n_values, *step = scratch, *bend = scratch + n_leaves * n_values;
    const uint8_t *used = leaves->used + first;
    newton_steps(n_leaves, n_values, table, leaves->anchor + first * n_values, used, rules, n_classes, of,
                 leaves->curvature + first * n_values, step, bend);
    if (rules->group > 0.0)
        shrink_tree(n_leaves, n_values, table, used, rules->group * rules->damping, step, bend);
    if (rules->grid != NULL)
        round_to_grid(n_leaves, n_values, table, rules->grid + 3 * leaves->column[tree], step);
    if (is_log_loss(rules->loss))
        make_steps(n_leaves, n_values, 1, table, step, of->width, of->move);
    else
        make_steps(n_leaves, n_values, 0, table, step, of->width, of->move);
}
