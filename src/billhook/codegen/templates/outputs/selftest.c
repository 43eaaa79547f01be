/* Compares the scores of $n_rows rows for each of $n_outputs outputs with those that they had when the model was
 * written, and the answers for all outputs at once with those for each. */

#include <stdio.h>
#include <string.h>

#include "$prefix.h"

$tables
#define CHECK(feature, kind, output, n_scores, compute) \
    for (row = 0; row < $n_rows; row++) { \
        feature x[$n_features]; \
        int32_t scores[n_scores]; \
        memcpy(x, rows_##kind[row], sizeof x); \
        compute(x, scores); \
        if (memcmp(scores, expected_##kind##_##output[row], sizeof scores)) { \
            printf(#kind " row %d of " #output ": the scores differ\n", row); \
            wrong++; \
        } \
    }

#define CHECK_ALL(feature, kind, compute) \
    for (row = 0; row < $n_rows; row++) { \
        feature x[$n_features]; \
        $answer all[$n_outputs], each[$n_outputs]; \
        memcpy(x, rows_##kind[row], sizeof x); \
        compute(x, all); \
        answers_##kind(x, each); \
        if (memcmp(all, each, sizeof all)) { \
            printf(#kind " row %d: the answers for all outputs differ\n", row); \
            wrong++; \
        } \
    }

$answers
int main(void)
{
    int row, wrong = 0;
$checks
    printf("%d of $n_checks checks as expected\n", $n_checks - wrong);
    return wrong != 0;
}
