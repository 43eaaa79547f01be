#include <stdio.h>

#include "billhook.h"
#include "${prefix}_blob.h"

$main
{
    static bh_model model;
    static int32_t scratch[${upper}_SCRATCH];
    $type x[${upper}_N_FEATURES] = {0}; /* put your measurements here */
    int error = bh_open(&model, ${prefix}_blob, sizeof ${prefix}_blob, scratch, ${upper}_SCRATCH);
    if (error)
        printf("%s\n", bh_error_text(error));
    else
    $answer$end}
