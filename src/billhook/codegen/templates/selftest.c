/* Compares the scores of $n_rows rows with those that they had when the model was written. */

#include <stdio.h>
#include <string.h>

#include "$prefix.h"

$tables
#define CHECK(feature, kind, compute) \
    for (row = 0; row < $n_rows; row++) { \
        feature x[$n_features]; \
        int32_t scores[$n_scores]; \
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
$checks
    printf("%d of $n_checks rows as expected\n", $n_checks - wrong);
    return wrong != 0;
}
