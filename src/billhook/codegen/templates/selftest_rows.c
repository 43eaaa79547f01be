${about}static const $type rows_$kind[$n_rows][$n_features] = {
$inputs
};

static const int32_t expected_$kind[$n_rows][$n_scores] = {
$outputs
};
