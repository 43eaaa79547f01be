#include "growing.h"

#include <math.h>
#include <string.h>

/* Return exp(x) as a float, wrong by at most two units in the last place; x is taken as between -87 and 88. */
INLINE float exp_of_float(float x)
{
    const float whole = 0x1.8p23f;
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted = x * 0x1.715476p0f + whole;
    const float k = shifted - whole;
    const float r = (x - k * 0x1.62e400p-1f) - k * 0x1.7f7d1cp-20f;
    const float e = 1.0f + (r + (r * r) * (0.5f + r * (0x1.555556p-3f + r * (0x1.555556p-5f
                    + r * (0x1.111112p-7f + r * (0x1.6c16c2p-10f + r * 0x1.a01a02p-13f))))));
    uint32_t bits, power;
    float scale;
    memcpy(&power, &shifted, sizeof power);
    /* The last bits of `shifted` are k; added to the exponent of 1. */
    bits = (power << 23) + 0x3F800000u;
    memcpy(&scale, &bits, sizeof scale);
    return e * scale;
}

INLINE float least_curvature(float h) { return h > 1e-16f ? h : 1e-16f; }

/* Return the sum of LANES numbers, always in the same order. */
INLINE float sum_of_lanes(const float *x)
{
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

INLINE float highest_of_lanes(const float *x)
{
    float half[LANES / 2];
    AT_ONCE
    for (size_t i = 0; i < LANES / 2; i++)
        half[i] = x[i] > x[i + LANES / 2] ? x[i] : x[i + LANES / 2];
    const float a = half[0] > half[1] ? half[0] : half[1], b = half[2] > half[3] ? half[2] : half[3];
    return a > b ? a : b;
}

/* Of eight lanes: their numbers, what is added to their scores, and what their shares are taken times: padding lanes
   have no share. */
typedef struct {
    float number[LANES], offset[LANES], keep[LANES];
} Lanes;

INLINE Lanes lanes_from(size_t first, size_t n_outputs)
{
    Lanes lanes;
    for (size_t i = 0; i < LANES; i++) {
        lanes.number[i] = (float)(first + i);
        lanes.keep[i] = first + i < n_outputs ? 1.0f : 0.0f;
        lanes.offset[i] = first + i < n_outputs ? 0.0f : -1e30f;
    }
    return lanes;
}

/* Loops of eight become one operation each. */
INLINE void softmax_gradients(size_t n_rows, size_t n_outputs, const size_t n_lanes, const float *RESTRICT score,
                              const float *RESTRICT target, const float *RESTRICT weight, float *RESTRICT g,
                              float *RESTRICT h)
{
    const size_t last = n_lanes - LANES;
    const Lanes full = lanes_from(0, LANES), padded = lanes_from(last, n_outputs);
    for (size_t n = 0; n < n_rows; n++) {
        const float *s = score + n * n_lanes, w = weight[n];
        float *of_g = g + n * n_lanes, *of_h = h + n * n_lanes;
        float top[LANES], sum[LANES] = {0};
        AT_ONCE
        for (size_t i = 0; i < LANES; i++)
            top[i] = s[last + i] + padded.offset[i];
        for (size_t v = 0; v < last; v += LANES)
            AT_ONCE
            for (size_t i = 0; i < LANES; i++)
                top[i] = s[v + i] > top[i] ? s[v + i] : top[i];
        const float highest = highest_of_lanes(top);
        for (size_t v = 0; v < n_lanes; v += LANES) {
            const float *keep = v == last ? padded.keep : full.keep;
            AT_ONCE
            for (size_t i = 0; i < LANES; i++) {
                const float e = exp_of_float(s[v + i] - highest) * keep[i];
                of_g[v + i] = e;
                sum[i] += e;
            }
        }
        const float share = 1.0f / sum_of_lanes(sum);
        for (size_t v = 0; v < n_lanes; v += LANES) {
            const float *keep = v == last ? padded.keep : full.keep, of_target = target[n] - (float)v;
            AT_ONCE
            for (size_t i = 0; i < LANES; i++) {
                const float p = of_g[v + i] * share;
                of_g[v + i] = w * p - (full.number[i] == of_target ? w : 0.0f);
                of_h[v + i] = w * least_curvature(2.0f * p * (1.0f - p)) * keep[i];
            }
        }
    }
}

static HOT void softmax_of_rows(size_t n_rows, size_t n_outputs, size_t n_lanes, const float *score,
                                const float *target, const float *weight, float *g, float *h)
{
    switch (n_lanes) {
    case 8:
        softmax_gradients(n_rows, n_outputs, 8, score, target, weight, g, h);
        break;
    case 16:
        softmax_gradients(n_rows, n_outputs, 16, score, target, weight, g, h);
        break;
    case 24:
        softmax_gradients(n_rows, n_outputs, 24, score, target, weight, g, h);
        break;
    case 32:
        softmax_gradients(n_rows, n_outputs, 32, score, target, weight, g, h);
        break;
    default:
        softmax_gradients(n_rows, n_outputs, n_lanes, score, target, weight, g, h);
    }
}

static HOT void logistic_of_rows(size_t n_rows, const float *RESTRICT score, const float *RESTRICT target,
                                 const float *RESTRICT weight, float *RESTRICT g, float *RESTRICT h)
{
    for (size_t n = 0; n < n_rows; n++) {
        const float p = 1.0f / (1.0f + exp_of_float(-score[n]));
        g[n] = weight[n] * (p - target[n]);
        h[n] = weight[n] * least_curvature(p * (1.0f - p));
    }
}

/* As in XGBoost, the curvature is that of a step of the most that a leaf may take. */
static HOT void poisson_of_rows(size_t n_rows, const float *RESTRICT score, const float *RESTRICT target,
                                const float *RESTRICT weight, float *RESTRICT g, float *RESTRICT h)
{
    for (size_t n = 0; n < n_rows; n++) {
        g[n] = weight[n] * (exp_of_float(score[n]) - target[n]);
        h[n] = weight[n] * exp_of_float(score[n] + 0.7f);
    }
}

static void differences_of_rows(size_t n_rows, const float *score, const float *target, const float *weight,
                                int is_absolute, float *g, float *h)
{
    for (size_t n = 0; n < n_rows; n++) {
        const float error = score[n] - target[n];
        const float sign = (float)((error > 0.0f) - (error < 0.0f));
        g[n] = weight[n] * (is_absolute ? sign : error);
        h[n] = weight[n];
    }
}

static void bounded_of_rows(size_t n_rows, const float *score, const float *target, const float *weight, float width,
                            float *g, float *h)
{
    for (size_t n = 0; n < n_rows; n++) {
        const float error = score[n] - target[n], least = error < -width ? -width : error;
        g[n] = weight[n] * (least > width ? width : least);
        h[n] = weight[n];
    }
}

static void pinball_of_rows(size_t n_rows, const float *score, const float *target, const float *weight,
                            float quantile, float *g, float *h)
{
    for (size_t n = 0; n < n_rows; n++) {
        const float error = score[n] - target[n];
        g[n] = weight[n] * (error > 0.0f ? 1.0f - quantile : error < 0.0f ? -quantile : 0.0f);
        h[n] = weight[n];
    }
}

static void shares_of_rows(size_t n_rows, size_t n_outputs, size_t n_lanes, const float *target,
                           const float *weight, float *g, float *h)
{
    for (size_t n = 0; n < n_rows; n++) {
        for (size_t c = 0; c < n_lanes; c++) {
            g[n * n_lanes + c] = 0.0f;
            h[n * n_lanes + c] = c < n_outputs ? weight[n] : 0.0f;
        }
        g[n * n_lanes + (size_t)target[n]] = -weight[n];
    }
}

void loss_gradients(int loss, double shape, size_t n_rows, size_t n_outputs, size_t n_lanes, const float *score,
                    const float *target, const float *weight, float *g, float *h)
{
    if (loss == GROW_SHARES && n_lanes > 1)
        shares_of_rows(n_rows, n_outputs, n_lanes, target, weight, g, h);
    else if (loss == GROW_SOFTMAX)
        softmax_of_rows(n_rows, n_outputs, n_lanes, score, target, weight, g, h);
    else if (loss == GROW_LOGISTIC)
        logistic_of_rows(n_rows, score, target, weight, g, h);
    else if (loss == GROW_POISSON)
        poisson_of_rows(n_rows, score, target, weight, g, h);
    else if (loss == GROW_HUBER)
        bounded_of_rows(n_rows, score, target, weight, (float)shape, g, h);
    else if (loss == GROW_QUANTILE)
        pinball_of_rows(n_rows, score, target, weight, (float)shape, g, h);
    else
        differences_of_rows(n_rows, score, target, weight, loss == GROW_ABSOLUTE, g, h);
}

/* Return the largest of the numbers' absolute values. */
static HOT float largest_of(const float *x, size_t n)
{
    float lanes[LANES] = {0}, largest = 0.0f;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        AT_ONCE
        for (size_t k = 0; k < LANES; k++) {
            const float a = fabsf(x[i + k]);
            lanes[k] = a > lanes[k] ? a : lanes[k];
        }
    for (; i < n; i++)
        largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
    for (size_t k = 0; k < LANES; k++)
        largest = lanes[k] > largest ? lanes[k] : largest;
    return largest;
}

/* Return x rounded to a whole number, of two the even one; |x| is below 2^22. */
INLINE float rounded(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

/* Slopes and curvatures are padded with zeros, which are written over by the curvatures, and by the next row. */
static HOT void round_many(const float *RESTRICT g, const float *RESTRICT h, size_t n_rows, size_t n_outputs,
                           size_t n_lanes, size_t n_ints, float times_g, float times_h, int16_t *RESTRICT whole)
{
    for (size_t n = 0; n < n_rows; n++) {
        const float *of_g = g + n * n_lanes, *of_h = h + n * n_lanes;
        int16_t *to = whole + n * n_ints;
        for (size_t v = 0; v < n_lanes; v += LANES)
            AT_ONCE
            for (size_t i = 0; i < LANES; i++)
                to[v + i] = (int16_t)(int32_t)rounded(of_g[v + i] * times_g);
        for (size_t v = 0; v < n_lanes; v += LANES)
            AT_ONCE
            for (size_t i = 0; i < LANES; i++)
                to[n_outputs + v + i] = (int16_t)(int32_t)rounded(of_h[v + i] * times_h);
    }
}

/* One output, at most 65,535 rows: the slope in the upper half, the curvature, never negative, in the lower. */
static HOT void round_into_one(const float *RESTRICT g, const float *RESTRICT h, size_t n_rows, float times_g,
                               float times_h, int64_t *RESTRICT whole)
{
    for (size_t n = 0; n < n_rows; n++) {
        const int64_t of_g = (int32_t)rounded(g[n] * times_g), of_h = (int32_t)rounded(h[n] * times_h);
        whole[n] = of_g * 4294967296 + of_h;
    }
}

static void round_side_by_side(const float *g, const float *h, size_t n_rows, double times_g, double times_h,
                               int64_t *whole)
{
    for (size_t n = 0; n < n_rows; n++) {
        whole[2 * n] = (int64_t)rint((double)g[n] * times_g);
        whole[2 * n + 1] = (int64_t)rint((double)h[n] * times_h);
    }
}

void round_gradients(Gradients *gradients, const GrowthOptions *options, size_t n_rows)
{
    const size_t n_lanes = options->n_lanes;
    const float largest_g = largest_of(gradients->g, n_rows * n_lanes);
    const float largest_h = largest_of(gradients->h, n_rows * n_lanes);
    /* The largest number: of 16 bits; or so that sums of all rows have 32, and the number itself is below 2^22; or as
       long as a float is. */
    float most = 32767.0f;
    if (n_lanes == 1 && gradients->is_wide)
        most = 0x1p24f;
    else if (n_lanes == 1) {
        const double of_sums = floor(2147483647.0 / (double)n_rows);
        most = of_sums < 2097152.0 ? (float)(of_sums - 1.0) : 2097152.0f;
    }
    const float times_g = largest_g > 1e-30f ? most / largest_g : 1.0f;
    const float times_h = largest_h > 1e-30f ? most / largest_h : 1.0f;
    gradients->unit_g = 1.0f / times_g;
    gradients->unit_h = 1.0f / times_h;
    if (n_lanes > 1)
        round_many(gradients->g, gradients->h, n_rows, options->n_outputs, n_lanes, ints_of_bin(options), times_g,
                   times_h, gradients->whole);
    else if (gradients->is_wide)
        round_side_by_side(gradients->g, gradients->h, n_rows, times_g, times_h, gradients->whole_one);
    else
        round_into_one(gradients->g, gradients->h, n_rows, times_g, times_h, gradients->whole_one);
}
