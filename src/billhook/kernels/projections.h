/* A net with one hidden layer, learned by Adam (Kingma and Ba 2015); its hidden units are sums that trees split. */

#ifndef BILLHOOK_PROJECTIONS_H
#define BILLHOOK_PROJECTIONS_H

#include "kernels.h"

/* What an epoch reads and changes. Hidden units are padded with such of weight 0, which stay so, to a multiple of
   LANES (see growing.h); scores of more than one output are padded too. The parameters are one after the other: the
   weights of inputs (features, hidden), those of outputs (outputs, hidden), the biases of hidden units, and those of
   outputs. */
typedef struct {
    size_t n_rows, n_features, n_hidden, n_outputs, n_lanes;
    size_t n_parameters;
    const float *z;         /* (rows, features) */
    const float *target;    /* a number, or a class */
    const float *weight;    /* of each row */
    const float *step_size; /* of each batch, with what makes up for moments that began as 0 */
    size_t batch_size;
    int loss;               /* of growing.h */
    float l2;               /* on weights, not on biases */
    float *parameter;
    float *mean, *square;   /* Adam's moments of the parameters */
    float *gradient;        /* scratch: one a parameter */
    float *hidden, *slope;  /* scratch: batch size times hidden units */
    float *score, *by_score, *curvature; /* scratch: batch size times lanes, the scores zero */
} ProjectionsEpoch;

/* Go once through the rows, a step for each batch. */
void projections_epoch(const ProjectionsEpoch *epoch);

#endif
