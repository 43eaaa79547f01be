/* Opens the model and compares the scores of $n_rows rows with those that they had when it was written. With the name
 * of a file, the model is the one in the file instead, whatever it is, and what it says of the first row is shown. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "${prefix}_blob.h"
#include "billhook.h"

#if BH_NO_FLOATS
typedef int16_t feature;
#define SCORES bh_scores_int16
#define PREDICT bh_predict_int16
/* The same rows in whole numbers. */
static const int16_t rows[$n_rows][$n_features] = {
$whole_inputs
};
static const int32_t expected[$n_rows][$n_scores] = {
$whole_outputs
};
#else
typedef float feature;
#define SCORES bh_scores
#define PREDICT bh_predict
/* Floats by their bits, so that nothing is lost in print. */
static const uint32_t rows[$n_rows][$n_features] = {
$inputs
};
static const int32_t expected[$n_rows][$n_scores] = {
$outputs
};
#endif

static int test(void)
{
    static int32_t scratch[${upper}_SCRATCH];
    feature x[$n_features];
    bh_model model;
    int row, wrong = 0, error = bh_open(&model, ${prefix}_blob, sizeof ${prefix}_blob, scratch, ${upper}_SCRATCH);
    if (error) {
        printf("the model cannot be opened: %s\n", bh_error_text(error));
        return 1;
    }
    for (row = 0; row < $n_rows; row++) {
        memcpy(x, rows[row], sizeof x);
        if (memcmp(SCORES(&model, x), expected[row], sizeof expected[row])) {
            printf("row %d: the scores differ\n", row);
            wrong++;
        }
    }
    printf("%d of $n_rows rows as expected\n", $n_rows - wrong);
    return wrong != 0;
}

static int show(const char *path)
{
    static unsigned char blob[1 << 20];
    static feature x[1 << 16];
    size_t size;
    int32_t *scratch;
    int error;
    bh_model model;
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size = fread(blob, 1, sizeof blob, file);
    fclose(file);
    error = bh_open(&model, blob, size, NULL, 0); /* to know how much it needs */
    if (error != BH_SMALL_SCRATCH) {
        printf("%s: %s\n", path, bh_error_text(error));
        return 1;
    }
    scratch = (int32_t *)malloc(model.n_scratch * sizeof *scratch);
    error = bh_open(&model, blob, size, scratch, model.n_scratch);
    if (error || BH_N_FEATURES(&model) > sizeof x / sizeof *x) {
        printf("%s: %s\n", path, bh_error_text(error ? error : BH_TOO_LARGE));
        free(scratch);
        return 1;
    }
    memcpy(x, rows[0], sizeof rows[0] < sizeof x ? sizeof rows[0] : sizeof x);
    if (BH_IS_REGRESSION(&model))
#if BH_NO_FLOATS || BH_NO_VALUES
        printf("%s: score %ld\n", path, (long)SCORES(&model, x)[0]);
#else
        printf("%s: %.9g\n", path, (double)bh_value(&model, x));
#endif
    else
        printf("%s: class %d of %lu\n", path, PREDICT(&model, x), (unsigned long)BH_N_CLASSES(&model));
    free(scratch);
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 ? show(argv[1]) : test();
}
