/* Compares the scores of 6 rows with those that they had when the model was written. */

#include <stdio.h>
#include <string.h>

#include "model.h"

/* Floats by their bits, so that nothing is lost in print. */
static const uint32_t rows_float[6][2] = {
    {0xBF800000u, 0x40A00000u},
    {0x3F800000u, 0xC0400000u},
    {0x40000000u, 0x41000000u},
    {0xC0400000u, 0x3F800000u},
    {0x40800000u, 0x40E00000u},
    {0x40A00000u, 0x40000000u}
};

static const int32_t expected_float[6][3] = {
    {2, 2, -7},
    {8, 4, -10},
    {-6, 6, -11},
    {2, 2, -7},
    {-6, 6, -11},
    {-6, 6, -11}
};

static const int16_t rows_int16[6][2] = {
    {-1, 5},
    {1, -3},
    {2, 8},
    {-3, 1},
    {4, 7},
    {5, 2}
};

static const int32_t expected_int16[6][3] = {
    {2, 2, -7},
    {8, 4, -10},
    {-6, 6, -11},
    {2, 2, -7},
    {-6, 6, -11},
    {-6, 6, -11}
};

static const uint8_t rows_uint8[6][2] = {
    {0, 5},
    {1, 0},
    {2, 8},
    {0, 1},
    {4, 7},
    {5, 2}
};

static const int32_t expected_uint8[6][3] = {
    {2, 2, -7},
    {-6, 6, -11},
    {-6, 6, -11},
    {0, -3, -8},
    {-6, 6, -11},
    {-6, 6, -11}
};

#define CHECK(feature, kind, compute) \
    for (row = 0; row < 6; row++) { \
        feature x[2]; \
        int32_t scores[3]; \
        memcpy(x, rows_##kind[row], sizeof x); \
        compute(x, scores); \
        if (memcmp(scores, expected_##kind[row], sizeof scores)) { \
            printf(#kind " row %d: the scores differ\n", row); \
            wrong++; \
        } \
    }

int main(void)
{
    int row, wrong = 0;
    CHECK(float, float, model_scores)
    CHECK(int16_t, int16, model_scores_int16)
    CHECK(uint8_t, uint8, model_scores_uint8)
    printf("%d of 18 rows as expected\n", 18 - wrong);
    return wrong != 0;
}
