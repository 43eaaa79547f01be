/* The interface of a model with nothing behind it: what a program takes without the model. */
#include "model.h"
#include "rows.h"

void SCORES(const FEATURE *x, int32_t *scores)
{
    int k;
    for (k = 0; k < MODEL_N_SCORES; k++)
        scores[k] = k + (x == 0);
}
