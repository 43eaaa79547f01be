/* The rows to run, what they are made of, and the function that they are given to. */
#define SCORES $function
#define FEATURE $feature_type
#define ROW_TYPE $row_type
#define N_ROWS $n_rows
#define ROWS { \
$rows }
