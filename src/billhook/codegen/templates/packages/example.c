#include <stdio.h>

#include "$prefix.h"

$main
{
    $type x[${upper}_N_FEATURES] = {0}; /* put your measurements here */
$filled$answer$end}
