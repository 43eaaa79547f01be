/* A target of libFuzzer: whatever bytes there are, the reader ends, in an error or a model that scores rows.
 * A mutation has the length and the checksum that it should have, as a person could make it up; a few have not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "billhook.h"

#define MOST_SCRATCH 100000
#define MOST_FEATURES 10000

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static void put(uint8_t *to, uint32_t word, int is_big)
{
    int k;
    for (k = 0; k < 4; k++)
        to[is_big ? 3 - k : k] = (uint8_t)(word >> (8 * k));
}

static uint32_t checksum(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xFFFFFFFF;
    size_t at;
    int k;
    for (at = 0; at < size; at++)
        for (crc ^= data[at], k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0xEDB88320 & (0 - (crc & 1)));
    return ~crc;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size_t length;
    if (size < 16 || seed % 50 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    if (seed % 3 == 0) { /* among widths and counts, where most is decided */
        data[8 + seed / 3 % (size - 12 < 56 ? size - 12 : 56)] ^= (uint8_t)(seed >> 16);
    } else {
        size = LLVMFuzzerMutate(data, size - 4, max_size - 4) + 4;
        if (size < 16)
            return size;
    }
    memcpy(data, "BHM\1", 4);
    length = seed % 11 ? size : 12 + seed / 11 % (size - 11); /* a blob may end before the bytes do */
    put(data + 4, (uint32_t)length, 1);
    put(data + length - 4, checksum(data, length - 4), 0);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const float values[] = {0.0f, -0.0f, 1.0f, -3.5f, 1e30f, -1e30f, 1e-40f, 700.0f};
    bh_model model;
    int32_t *scratch;
    float *x, *probabilities;
    size_t n_features, k, row;
    volatile float answer;
    if (bh_open(&model, data, size, NULL, 0) != BH_SMALL_SCRATCH || model.n_scratch > MOST_SCRATCH)
        return 0;
    scratch = malloc(model.n_scratch * sizeof *scratch); /* not a number more, so that sanitizers see all */
    n_features = BH_N_FEATURES(&model);
    if (bh_open(&model, data, size, scratch, model.n_scratch) == BH_OK && n_features <= MOST_FEATURES
        && BH_N_CLASSES(&model) <= MOST_FEATURES) {
        x = malloc((n_features + !n_features) * sizeof *x);
        probabilities = malloc(BH_N_CLASSES(&model) * sizeof *probabilities);
        for (row = 0; row < 4; row++) {
            for (k = 0; k < n_features; k++)
                x[k] = row == 3 ? (float)(0.0 / values[0]) : values[(k * 5 + row * 3 + k / 8) % 8];
#if !defined(BH_NO_FLOATS)
            answer = (float)bh_scores(&model, x)[0];
            answer = (float)bh_predict(&model, x);
            answer = bh_value(&model, x);
            bh_proba(&model, x, probabilities);
#endif
            answer = (float)bh_predict_int16(&model, (const int16_t *)(const void *)x);
            answer = (float)bh_predict_uint8(&model, (const uint8_t *)(const void *)x);
        }
        (void)answer;
        if (model.error) /* all that can be wrong is found when it is opened */
            abort();
        free(probabilities);
        free(x);
    }
    free(scratch);
    return 0;
}
