#include "projections.h"

#include "growing.h"

#include <math.h>
#include <string.h>

/* Rows whose products are added to a gradient before it is put back. */
enum { ROWS_AT_ONCE = 4 };

/* Loops of eight become one operation each. */

/* Write what the hidden units make of the rows, t / sqrt(1 + t^2), and its slope. Unlike those of tanh, these
   operations give the same bits everywhere. */
static HOT void find_hidden(size_t n_rows, size_t n_features, size_t n_hidden, const float *RESTRICT z,
                            const float *RESTRICT weight, const float *RESTRICT bias, float *RESTRICT hidden,
                            float *RESTRICT slope)
{
    for (size_t n = 0; n < n_rows; n++)
        for (size_t v = 0; v < n_hidden; v += LANES) {
            float sum[LANES];
            AT_ONCE
            for (size_t i = 0; i < LANES; i++)
                sum[i] = bias[v + i];
            for (size_t f = 0; f < n_features; f++) {
                const float x = z[n * n_features + f], *of_feature = weight + f * n_hidden + v;
                AT_ONCE
                for (size_t i = 0; i < LANES; i++)
                    sum[i] += x * of_feature[i];
            }
            AT_ONCE
            for (size_t i = 0; i < LANES; i++) {
                const float r = 1.0f / sqrtf(1.0f + sum[i] * sum[i]);
                hidden[n * n_hidden + v + i] = sum[i] * r;
                slope[n * n_hidden + v + i] = r * r * r;
            }
        }
}

static HOT void find_scores(size_t n_rows, size_t n_hidden, size_t n_outputs, size_t n_lanes,
                            const float *RESTRICT hidden, const float *RESTRICT weight, const float *RESTRICT bias,
                            float *RESTRICT score)
{
    for (size_t n = 0; n < n_rows; n++)
        for (size_t k = 0; k < n_outputs; k++) {
            float sum[LANES] = {0};
            for (size_t v = 0; v < n_hidden; v += LANES)
                AT_ONCE
                for (size_t i = 0; i < LANES; i++)
                    sum[i] += hidden[n * n_hidden + v + i] * weight[k * n_hidden + v + i];
            score[n * n_lanes + k] = bias[k] + (((sum[0] + sum[4]) + (sum[2] + sum[6]))
                                                + ((sum[1] + sum[5]) + (sum[3] + sum[7])));
        }
}

/* Turn the slopes of hidden units into those of the loss by their sums. */
static HOT void go_back(size_t n_rows, size_t n_hidden, size_t n_outputs, size_t n_lanes,
                        const float *RESTRICT by_score, const float *RESTRICT weight, float *RESTRICT slope)
{
    for (size_t n = 0; n < n_rows; n++)
        for (size_t v = 0; v < n_hidden; v += LANES) {
            float sum[LANES] = {0};
            for (size_t k = 0; k < n_outputs; k++) {
                const float g = by_score[n * n_lanes + k], *of_output = weight + k * n_hidden + v;
                AT_ONCE
                for (size_t i = 0; i < LANES; i++)
                    sum[i] += g * of_output[i];
            }
            AT_ONCE
            for (size_t i = 0; i < LANES; i++)
                slope[n * n_hidden + v + i] *= sum[i];
        }
}

/* Add the products of each of a few rows' `n_left` numbers and its hidden units. */
INLINE void add_products_of(const size_t n_rows, size_t n_left, size_t stride, const float *RESTRICT left,
                            size_t n_hidden, const float *RESTRICT right, float *RESTRICT sums)
{
    for (size_t k = 0; k < n_left; k++)
        for (size_t v = 0; v < n_hidden; v += LANES) {
            float sum[LANES];
            memcpy(sum, sums + k * n_hidden + v, sizeof sum);
            for (size_t n = 0; n < n_rows; n++)
                AT_ONCE
                for (size_t i = 0; i < LANES; i++)
                    sum[i] += left[n * stride + k] * right[n * n_hidden + v + i];
            memcpy(sums + k * n_hidden + v, sum, sizeof sum);
        }
}

static HOT void add_products(size_t n_rows, size_t n_left, size_t stride, const float *left, size_t n_hidden,
                             const float *right, float *sums)
{
    size_t n = 0;
    for (; n + ROWS_AT_ONCE <= n_rows; n += ROWS_AT_ONCE)
        add_products_of(ROWS_AT_ONCE, n_left, stride, left + n * stride, n_hidden, right + n * n_hidden, sums);
    for (; n < n_rows; n++)
        add_products_of(1, n_left, stride, left + n * stride, n_hidden, right + n * n_hidden, sums);
}

static HOT void add_rows(size_t n_rows, size_t n, size_t stride, const float *RESTRICT x, float *RESTRICT sums)
{
    for (size_t row = 0; row < n_rows; row++)
        for (size_t i = 0; i < n; i++)
            sums[i] += x[row * stride + i];
}

/* One step of Adam. The gradient is of a sum over rows, of which the mean is taken: the share is 1 / rows. */
static HOT void take_step(size_t n, float share, float l2, float step_size, const float *RESTRICT gradient,
                          float *RESTRICT parameter, float *RESTRICT mean, float *RESTRICT square)
{
    for (size_t i = 0; i < n; i++) {
        const float g = share * (gradient[i] + l2 * parameter[i]);
        mean[i] = 0.9f * mean[i] + 0.1f * g;
        square[i] = 0.999f * square[i] + 0.001f * (g * g);
        parameter[i] -= step_size * mean[i] / (sqrtf(square[i]) + 1e-8f);
    }
}

static void learn_batch(const ProjectionsEpoch *epoch, size_t first, size_t n_rows, float step_size)
{
    const size_t n_features = epoch->n_features, n_hidden = epoch->n_hidden;
    const size_t n_outputs = epoch->n_outputs, n_lanes = epoch->n_lanes;
    const size_t outputs = n_features * n_hidden, hidden_bias = outputs + n_outputs * n_hidden;
    const size_t output_bias = hidden_bias + n_hidden, n_parameters = epoch->n_parameters;
    const float *z = epoch->z + first * n_features;
    float *parameter = epoch->parameter, *gradient = epoch->gradient;
    find_hidden(n_rows, n_features, n_hidden, z, parameter, parameter + hidden_bias, epoch->hidden, epoch->slope);
    find_scores(n_rows, n_hidden, n_outputs, n_lanes, epoch->hidden, parameter + outputs, parameter + output_bias,
                epoch->score);
    loss_gradients(epoch->loss, 0.0, n_rows, n_outputs, n_lanes, epoch->score, epoch->target + first,
                   epoch->weight + first, epoch->by_score, epoch->curvature);
    go_back(n_rows, n_hidden, n_outputs, n_lanes, epoch->by_score, parameter + outputs, epoch->slope);
    memset(gradient, 0, n_parameters * sizeof *gradient);
    add_products(n_rows, n_features, n_features, z, n_hidden, epoch->slope, gradient);
    add_products(n_rows, n_outputs, n_lanes, epoch->by_score, n_hidden, epoch->hidden, gradient + outputs);
    add_rows(n_rows, n_hidden, n_hidden, epoch->slope, gradient + hidden_bias);
    add_rows(n_rows, n_outputs, n_lanes, epoch->by_score, gradient + output_bias);
    const float share = 1.0f / (float)n_rows;
    take_step(hidden_bias, share, epoch->l2, step_size, gradient, parameter, epoch->mean, epoch->square);
    take_step(n_parameters - hidden_bias, share, 0.0f, step_size, gradient + hidden_bias, parameter + hidden_bias,
              epoch->mean + hidden_bias, epoch->square + hidden_bias);
}

void projections_epoch(const ProjectionsEpoch *epoch)
{
    const float *step_size = epoch->step_size;
    for (size_t first = 0; first < epoch->n_rows; first += epoch->batch_size) {
        const size_t left = epoch->n_rows - first;
        learn_batch(epoch, first, left < epoch->batch_size ? left : epoch->batch_size, *step_size++);
    }
}
