#ifndef ${upper}_H
#define ${upper}_H

/* $n_outputs outputs of the same row, $what each, in the order of training:
$listed
 *
 * $type x[$n_features] = ...;   the features, in the order of training$missing
 * $answer $answers[${upper}_N_OUTPUTS];
 * $call
 */

$includes

#define ${upper}_N_OUTPUTS $n_outputs
#define ${upper}_N_FEATURES $n_features

#ifdef __cplusplus
extern "C" {
#endif

/* Find what each output predicts for a row, in the order above. */
$declarations

#ifdef __cplusplus
}
#endif

#endif
