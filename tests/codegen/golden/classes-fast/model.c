#include "model.h"

#if defined(MODEL_THRESHOLD)
#error "MODEL_THRESHOLD is for two classes"
#endif

typedef struct {
    uint8_t sums[3];
    volatile int16_t high0;
    volatile int16_t high1;
    volatile uint16_t low0;
    volatile uint16_t low1;
} keys_of_float;

static uint32_t bits_of(float x)
{
    union { float number; uint32_t bits; } both;
    both.number = x;
    return both.bits;
}

#define IS_MISSING(bits) ((uint8_t)((bits) >> 24 | 0x80) == 0xFF && ((bits) & 0x7FFFFFFF) > 0x7F800000)

typedef uint8_t sum_t; /* counted from the lowest that a sum can be */
#define LOWEST (-13)
#define LOWER_SUMS 1

static void tree0_float(keys_of_float *x)
{
    if ((uint16_t)x->high0 < 49184u) goto n1;
    x->sums[0] = (sum_t)(x->sums[0] - 4); x->sums[2] = (sum_t)(x->sums[2] + 1); return;
n1:
    if (x->high0 >= 16480 && (x->high0 != 16480 || x->low0 > 0u)) goto n2;
    x->sums[0] = (sum_t)(x->sums[0] + 2); x->sums[2] = (sum_t)(x->sums[2] + 3); return;
n2:
    x->sums[0] = (sum_t)(x->sums[0] + 1); x->sums[1] = (sum_t)(x->sums[1] + 2); return;
}

static void tree1_float(keys_of_float *x)
{
    if ((uint16_t)x->high0 < 48896u) goto n1;
    x->sums[0] = (sum_t)(x->sums[0] + 4); x->sums[2] = (sum_t)(x->sums[2] + 3); return;
n1:
    if (!(x->high1 >= 16560 && (x->high1 != 16560 || x->low1 > 0u))) goto n2;
    x->sums[1] = (sum_t)(x->sums[1] - 5); x->sums[2] = (sum_t)(x->sums[2] + 2); return;
n2:
    if ((uint16_t)x->high1 < 49088u) goto n3;
    x->sums[1] = (sum_t)(x->sums[1] + 5); return;
n3:
    x->sums[0] = (sum_t)(x->sums[0] + 4); x->sums[1] = (sum_t)(x->sums[1] - 2); return;
}

static void add_up(const float *x, keys_of_float *keys)
{
    uint32_t bits;
    bits = bits_of(x[0]);
    if (IS_MISSING(bits))
        bits = 0x7FFFFFFF;
    keys->high0 = (int16_t)(bits >> 16);
    keys->low0 = (uint16_t)(bits & 0xFFFF);
    bits = bits_of(x[1]);
    if (IS_MISSING(bits))
        bits = 0x7FFFFFFF;
    keys->high1 = (int16_t)(bits >> 16);
    keys->low1 = (uint16_t)(bits & 0xFFFF);
    keys->sums[0] = (sum_t)((int32_t)5 - LOWEST);
    keys->sums[1] = (sum_t)((int32_t)-8 - LOWEST);
    keys->sums[2] = (sum_t)((int32_t)-13 - LOWEST);
    tree0_float(keys);
    tree1_float(keys);
}

void model_scores(const float *x, int32_t *scores)
{
    keys_of_float keys;
    uint8_t c;
    add_up(x, &keys);
    for (c = 0; c < 3; c++)
        scores[c] = (int32_t)keys.sums[c] + LOWEST;
}

int model_predict(const float *x)
{
    keys_of_float made;
    const sum_t *scores = made.sums;
    sum_t most;
    int best = 0, c;
    add_up(x, &made);
    most = scores[0];
    for (c = 1; c < 3; c++)
        if (scores[c] > most) {
            most = scores[c];
            best = c;
        }
    return best;
}

void model_predict_rows(const float *x, unsigned int n_rows, int *classes)
{
    for (; n_rows; n_rows--, x += 2)
        *classes++ = model_predict(x);
}

static void as_floats(const int32_t *scores, float *probabilities)
{
    uint8_t c;
    for (c = 0; c < 3; c++)
        probabilities[c] = (float)scores[c] * MODEL_SCALE;
}

static void as_bytes(int32_t *scores, uint8_t *probabilities)
{
    uint8_t c;
    for (c = 0; c < 3; c++) {
        uint32_t size = scores[c] > 0 ? (uint32_t)scores[c] : 0;
        probabilities[c] = size < 7u ? (uint8_t)((size * 649575908u + 0x800000) >> 24) : 255;
    }
}

void model_predict_proba(const float *x, float *probabilities)
{
    int32_t scores[3];
    model_scores(x, scores);
    as_floats(scores, probabilities);
}

void model_predict_proba8(const float *x, uint8_t *probabilities)
{
    int32_t scores[3];
    model_scores(x, scores);
    as_bytes(scores, probabilities);
}

const char *model_class_name(int number)
{
    static const char *const names[] = {"0", "10", "20"};
    return number >= 0 && number < 3 ? names[number] : "";
}
