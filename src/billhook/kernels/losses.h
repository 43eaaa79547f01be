/* The losses of rows, from their states. */

#ifndef BILLHOOK_LOSSES_H
#define BILLHOOK_LOSSES_H

#include "functions.h"

/* Return log(1 + x) for x >= 0. */
INLINE double log_of_1_and(double x)
{
    const double sum = 1.0 + x;
    return log_of(sum) + (x - (sum - 1.0)) / sum;
}

INLINE double loss_of_number(const int loss, double state, double target, double width)
{
    const double error = target - state, distance = error < 0.0 ? -error : error;
    const double gap = larger(1.0 - target * state, 0.0);
    switch (loss) {
    case LOGISTIC:
        return log_of_1_and(target > 0.0 ? 1.0 / state : state);
    case POISSON:
        return state - target * log_of(state);
    case SQUARED_HINGE:
        return 0.5 * (gap * gap);
    case ABSOLUTE:
        return distance;
    case HUBER:
        return distance <= width ? 0.5 * (error * error) : width * (distance - 0.5 * width);
    case SQUARED:
        return 0.5 * (error * error);
    default:
        return 0.5 * (distance + tilt_of(loss) * error);
    }
}

INLINE void losses_of_numbers(const int loss, size_t n, const double *RESTRICT state, const double *RESTRICT target,
                              double width, double *RESTRICT losses)
{
    for (size_t i = 0; i < n; i++)
        losses[i] = loss_of_number(loss, state[i], target[i], width);
}

/* Return the sum over the classes: every fourth on its own, then those four. */
INLINE double sum_over_classes(const int loss, size_t n, const double *state)
{
    double lane[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t c = 0; c < n; c++) {
        const double gap = larger(1.0 + state[c], 0.0);
        lane[c % 4] += loss == LOGISTIC ? state[c] : loss == SQUARED ? state[c] * state[c] : gap * gap;
    }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

INLINE void losses_of_classes(const int loss, size_t n, size_t n_classes, const double *state, const uint64_t *label,
                              double *RESTRICT losses)
{
    for (size_t i = 0; i < n; i++) {
        const double total = sum_over_classes(loss, n_classes, state + i * n_classes);
        const double of_label = state[i * n_classes + label[i]];
        const double gap = larger(1.0 - of_label, 0.0), other_gap = larger(1.0 + of_label, 0.0);
        if (loss == LOGISTIC)
            losses[i] = total / of_label;
        else if (loss == SQUARED)
            losses[i] = 0.5 * (total - 2.0 * of_label + 1.0);
        else
            losses[i] = 0.5 * (total + (gap * gap - other_gap * other_gap));
    }
    for (size_t i = 0; loss == LOGISTIC && i < n; i++)
        losses[i] = log_of(losses[i]);
}

/* Write the loss of each row of a block, half of it for the squares, from its state: see `find_losses`. */
INLINE void losses_of_block(int loss, size_t n, size_t n_columns, const double *state, const double *target,
                            const uint64_t *label, double width, double *losses)
{
    if (n_columns > 1 && loss == LOGISTIC)
        losses_of_classes(LOGISTIC, n, n_columns, state, label, losses);
    else if (n_columns > 1 && loss == SQUARED)
        losses_of_classes(SQUARED, n, n_columns, state, label, losses);
    else if (n_columns > 1)
        losses_of_classes(SQUARED_HINGE, n, n_columns, state, label, losses);
    else if (loss == LOGISTIC)
        losses_of_numbers(LOGISTIC, n, state, target, width, losses);
    else if (loss == POISSON)
        losses_of_numbers(POISSON, n, state, target, width, losses);
    else if (loss == SQUARED_HINGE)
        losses_of_numbers(SQUARED_HINGE, n, state, target, width, losses);
    else if (loss == ABSOLUTE)
        losses_of_numbers(ABSOLUTE, n, state, target, width, losses);
    else if (loss == HUBER)
        losses_of_numbers(HUBER, n, state, target, width, losses);
    else if (loss > QUANTILE)
        losses_of_numbers(loss, n, state, target, width, losses);
    else
        losses_of_numbers(SQUARED, n, state, target, width, losses);
}

#endif
