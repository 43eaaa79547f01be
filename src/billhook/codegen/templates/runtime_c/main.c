/* Opens the model and compares the scores of $n_rows rows with those that they had when it was written. With the name
 * of a file, the model is the one in the file instead, whatever it is, and what it says of the first row is shown. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "${prefix}_blob.h"
#include "billhook.h"

/* Floats by their bits, so that nothing is lost in print. */
static const uint32_t rows[$n_rows][$n_features] = {
$inputs
};
static const int32_t expected[$n_rows][$n_scores] = {
$outputs
};

static int test(void)
{
    static int32_t scratch[${upper}_SCRATCH];
    float x[$n_features];
    bh_model model;
    int row, wrong = 0, error = bh_open(&model, ${prefix}_blob, sizeof ${prefix}_blob, scratch, ${upper}_SCRATCH);
    if (error) {
        printf("the model cannot be opened: %s\n", bh_error_text(error));
        return 1;
    }
    for (row = 0; row < $n_rows; row++) {
        memcpy(x, rows[row], sizeof x);
        if (memcmp(bh_scores(&model, x), expected[row], sizeof expected[row])) {
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
    static float x[1 << 16];
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
        printf("%s: %.9g\n", path, (double)bh_value(&model, x));
    else
        printf("%s: class %d of %lu\n", path, bh_predict(&model, x), (unsigned long)BH_N_CLASSES(&model));
    free(scratch);
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 ? show(argv[1]) : test();
}
