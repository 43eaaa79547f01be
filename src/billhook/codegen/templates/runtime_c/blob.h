#ifndef ${upper}_BLOB_H
#define ${upper}_BLOB_H

/* A model for bh_open of billhook.h, without names.$classes
 */

#include <stdint.h>

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define ${upper}_IN_FLASH PROGMEM
#else
#define ${upper}_IN_FLASH
#endif

#define ${upper}_N_FEATURES $n_features
#define ${upper}_N_CLASSES $n_classes
#define ${upper}_SCRATCH $n_scratch

static const uint8_t ${prefix}_blob[$n_bytes] ${upper}_IN_FLASH = {
$numbers
};

#endif
