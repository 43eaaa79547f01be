#include "descent.h"

/* Sums of neighbouring rows are kept apart, so that they need not wait for each other where they share a leaf; not in
   trees of more leaves than this, where rows seldom do, and the sums would not fit the nearest cache. */
enum { LANES = 4, MOST_WITH_LANES = 64 };

/* What the steps of a block of rows are worth: minus the slope of the loss by the score, and its curvature or a bound
   of it, times the rows' weights. */
typedef struct {
    double slope[DESCENT_BLOCK], bend[DESCENT_BLOCK];
} BlockSums;

/* Return the curvature for a distance from the target at which a loss is straight. The parabola that touches |r|, or
   Huber's loss, at r lies above it: no step can rise. Absolute errors are taken times the width, so that a typical
   row has curvature 1, as for the other losses. */
INLINE double straight_curvature(double distance, double width) { return width / larger(distance, width * 1e-3); }

INLINE void slope_and_curvature(const int loss, double state, double target, double width, double *slope,
                                double *bend)
{
    if (loss == LOGISTIC) {
        const double p = state / (1.0 + state);
        *slope = target - p;
        *bend = p * (1.0 - p);
    } else if (loss == SQUARED || loss == POISSON) {
        *slope = target - state;
        *bend = loss == POISSON ? state : 1.0;
    } else if (loss == SQUARED_HINGE || loss == BOUNDED_HINGE) {
        const double gap = larger(1.0 - target * state, 0.0);
        *slope = target * gap;
        *bend = gap > 0.0 || loss == BOUNDED_HINGE ? 1.0 : 0.0;
    } else {
        const double error = target - state, distance = error < 0.0 ? -error : error;
        const double straight = straight_curvature(distance, width);
        *bend = loss == HUBER && distance <= width ? 1.0 : straight;
        /* Twice the pinball loss of an error r is |r| + (2 q - 1) r. */
        *slope = loss > QUANTILE ? error * *bend + tilt_of(loss) * width : error * *bend;
    }
}

INLINE double moved(const int is_log, double state, double by)
{
    return is_log ? larger(state * by, TINY) : state + by;
}

INLINE void move_block(const int is_log, size_t n, const uint32_t *RESTRICT ids, const double *RESTRICT move,
                       double *RESTRICT state)
{
    for (size_t i = 0; i < n; i++)
        state[i] = moved(is_log, state[i], move[ids[i]]);
}

INLINE void sum_block(const int loss, size_t n, const uint32_t *RESTRICT ids, const double *RESTRICT move,
                      double *RESTRICT state, const double *RESTRICT target, const double *RESTRICT weight,
                      double width, BlockSums *RESTRICT sums)
{
    for (size_t i = 0; i < n; i++) {
        const double s = moved(is_log_loss(loss), state[i], move[ids[i]]);
        double slope, bend;
        slope_and_curvature(loss, s, target[i], width, &slope, &bend);
        state[i] = s;
        sums->slope[i] = weight[i] * slope;
        sums->bend[i] = weight[i] * bend;
    }
}

/* Add a block's sums to those of its leaves. `at` (leaves, lanes, 2) has as many sums for each leaf as there are
   lanes, which take rows in turn. */
INLINE void scatter_block(const size_t n_lanes, size_t n, const uint32_t *RESTRICT ids,
                          const BlockSums *RESTRICT sums, double *RESTRICT at)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            double *of_leaf = at + (ids[i + j] * n_lanes + j % n_lanes) * 2;
            of_leaf[0] += sums->slope[i + j];
            of_leaf[1] += sums->bend[i + j];
        }
    }
    for (; i < n; i++) {
        at[ids[i] * n_lanes * 2] += sums->slope[i];
        at[ids[i] * n_lanes * 2 + 1] += sums->bend[i];
    }
}

INLINE void add_lanes(size_t n_leaves, const double *RESTRICT lanes, double *RESTRICT sums)
{
    for (size_t i = 0; i < n_leaves; i++) {
        const double *of = lanes + i * LANES * 2;
        sums[2 * i] = (of[0] + of[2]) + (of[4] + of[6]);
        sums[2 * i + 1] = (of[1] + of[3]) + (of[5] + of[7]);
    }
}

HOT void sweep_one(const DescentRows *rows, size_t before, size_t now, size_t n_leaves, double *state,
                   const double *target, int loss, double width, const double *move, uint32_t still, double *sums,
                   double *scratch)
{
    uint32_t last[DESCENT_BLOCK], next[DESCENT_BLOCK];
    double weights[DESCENT_BLOCK];
    BlockSums block;
    const int has_lanes = n_leaves <= MOST_WITH_LANES;
    double *at = has_lanes ? scratch : sums;
    for (size_t i = 0; i < n_leaves * (has_lanes ? LANES : 1) * 2; i++)
        at[i] = 0.0;
    for (size_t begin = 0; begin < rows->n_rows; begin += DESCENT_BLOCK) {
        const size_t n = rows->n_rows - begin < DESCENT_BLOCK ? rows->n_rows - begin : DESCENT_BLOCK;
        leaves_of_block(rows, before, begin, n, still, last);
        leaves_of_block(rows, now, begin, n, 0, next);
        const double *weight = weights_of_block(rows, now, begin, n, weights);
        double *s = state + begin;
        const double *t = target + begin;
        switch (loss) {
        case SQUARED:
            sum_block(SQUARED, n, last, move, s, t, weight, width, &block);
            break;
        case LOGISTIC:
            sum_block(LOGISTIC, n, last, move, s, t, weight, width, &block);
            break;
        case SQUARED_HINGE:
            sum_block(SQUARED_HINGE, n, last, move, s, t, weight, width, &block);
            break;
        case BOUNDED_HINGE:
            sum_block(BOUNDED_HINGE, n, last, move, s, t, weight, width, &block);
            break;
        case ABSOLUTE:
            sum_block(ABSOLUTE, n, last, move, s, t, weight, width, &block);
            break;
        case HUBER:
            sum_block(HUBER, n, last, move, s, t, weight, width, &block);
            break;
        case POISSON:
            sum_block(POISSON, n, last, move, s, t, weight, width, &block);
            break;
        default:
            sum_block(loss, n, last, move, s, t, weight, width, &block);
        }
        if (has_lanes)
            scatter_block(LANES, n, next, &block, at);
        else
            scatter_block(1, n, next, &block, at);
    }
    if (has_lanes)
        add_lanes(n_leaves, scratch, sums);
}

HOT static void move_one(const DescentRows *rows, size_t tree, double *state, int loss, const double *move,
                         uint32_t still)
{
    uint32_t ids[DESCENT_BLOCK];
    for (size_t begin = 0; begin < rows->n_rows; begin += DESCENT_BLOCK) {
        const size_t n = rows->n_rows - begin < DESCENT_BLOCK ? rows->n_rows - begin : DESCENT_BLOCK;
        leaves_of_block(rows, tree, begin, n, still, ids);
        if (is_log_loss(loss))
            move_block(1, n, ids, move, state + begin);
        else
            move_block(0, n, ids, move, state + begin);
    }
}

void descend_one(const DescentRows *rows, const DescentLeaves *leaves, const DescentRules *rules, double *state,
                 const double *target, const TreeStep *step, double *scratch)
{
    const uint32_t still = (uint32_t)most_leaves(leaves->first, rows->n_trees);
    size_t before = 0;
    for (size_t i = 0; i <= still; i++)
        step->move[i] = is_log_loss(rules->loss) ? 1.0 : 0.0;
    for (size_t k = 0; k < rows->n_trees; k++) {
        const size_t n_leaves = (size_t)(leaves->first[k + 1] - leaves->first[k]);
        sweep_one(rows, before, k, n_leaves, state, target, rules->loss, rules->width, step->move, still, step->sums,
                  scratch);
        step_tree(leaves, k, rules, 1, step, scratch);
        before = k;
    }
    if (rows->n_trees > 0)
        move_one(rows, before, state, rules->loss, step->move, still);
}
