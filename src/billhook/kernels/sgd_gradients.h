/* From the scores of rows to the gradients of their losses. */

#ifndef BILLHOOK_SGD_GRADIENTS_H
#define BILLHOOK_SGD_GRADIENTS_H

#include "functions.h"

#include <math.h>

enum { LANES = 4 };

INLINE double sign_of(double x) { return (double)((x > 0.0) - (x < 0.0)); }

/* A row's loss, half of it for the squares; `slope` becomes minus its slope by the score. */
INLINE double row_loss(const int loss, double score, double target, double width, double *slope)
{
    const double error = target - score;
    switch (loss) {
    case LOGISTIC: {
        const double small = exp_of(-fabs(score)); /* cannot overflow */
        *slope = target - (score > 0.0 ? 1.0 : small) / (1.0 + small);
        return log_of(1.0 + small) + larger(score, 0.0) - target * score;
    }
    case SQUARED_HINGE: {
        const double gap = larger(1.0 - target * score, 0.0);
        *slope = target * gap;
        return 0.5 * gap * gap;
    }
    case POISSON: {
        const double mean = exp_of(score);
        *slope = target - mean;
        return mean - target * score;
    }
    case ABSOLUTE:
        *slope = sign_of(error);
        return fabs(error);
    case HUBER: {
        const int is_near = fabs(error) <= width;
        *slope = is_near ? error : sign_of(error) * width;
        return is_near ? 0.5 * error * error : width * (fabs(error) - 0.5 * width);
    }
    default:
        *slope = error;
        return 0.5 * error * error;
    }
}

/* Turn scores into gradients, rate times minus the slopes of the rows' losses, and write these losses. */
INLINE void row_gradients(const int loss, double width, size_t n, const uint32_t *RESTRICT rows,
                          const double *RESTRICT target, const double *RESTRICT weight, double rate,
                          double *RESTRICT gradient, double *RESTRICT of_row)
{
    for (size_t i = 0; i < n; i++) {
        double slope;
        const double w = weight[rows[i]];
        of_row[i] = w * row_loss(loss, gradient[i], target[rows[i]], width, &slope);
        gradient[i] = rate * w * slope;
    }
}

INLINE double sum_of_lanes(const double *lane) { return (lane[0] + lane[1]) + (lane[2] + lane[3]); }

/* Lower a row's scores so that the highest is 0, those of the padding to nothing; return the label's, negated. */
INLINE double lower_to_zero(size_t n_classes, size_t n_columns, size_t label, double *RESTRICT score)
{
    /* Products with exp(-600) are not yet subnormal, which would be slow. */
    const double lowest = -600.0;
    double highest[LANES] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (size_t c = n_classes; c < n_columns; c++)
        score[c] = -INFINITY;
    for (size_t c = 0; c < n_columns; c += LANES)
        for (size_t l = 0; l < LANES; l++)
            highest[l] = larger(highest[l], score[c + l]);
    const double top = larger(larger(highest[0], highest[1]), larger(highest[2], highest[3]));
    const double below = top - score[label];
    for (size_t c = 0; c < n_columns; c++)
        score[c] = larger(score[c] - top, lowest);
    return below;
}

/* Turn the exponentials of a row's scores into the gradient of the cross-entropy; return their sum. */
INLINE double softmax_gradient(size_t n_classes, size_t n_columns, size_t label, double scale, double *RESTRICT g)
{
    double total[LANES] = {0.0, 0.0, 0.0, 0.0};
    for (size_t c = 0; c < n_columns; c += LANES)
        for (size_t l = 0; l < LANES; l++)
            total[l] += g[c + l];
    const double sum = sum_of_lanes(total), share = -scale / sum;
    for (size_t c = 0; c < n_columns; c++)
        g[c] *= share;
    for (size_t c = n_classes; c < n_columns; c++)
        g[c] = 0.0;
    g[label] += scale;
    return sum;
}

/* Turn a row's scores into the gradient of the squared error; return half that error. */
INLINE double squared_gradient(size_t n_classes, size_t label, double scale, double *RESTRICT g)
{
    double loss = 0.5 - g[label];
    for (size_t c = 0; c < n_classes; c++) {
        loss += 0.5 * g[c] * g[c];
        g[c] *= -scale;
    }
    g[label] += scale;
    return loss;
}

/* Turn a row's scores into the gradient of the squared hinge loss; return half that loss. */
INLINE double hinge_gradient(size_t n_classes, size_t label, double scale, double *RESTRICT g)
{
    double loss = 0.0;
    for (size_t c = 0; c < n_classes; c++) {
        const double sign = c == label ? 1.0 : -1.0;
        const double gap = larger(1.0 - sign * g[c], 0.0);
        loss += 0.5 * gap * gap;
        g[c] = scale * sign * gap;
    }
    return loss;
}

#endif
