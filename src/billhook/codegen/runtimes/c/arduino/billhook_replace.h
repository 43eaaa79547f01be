#ifndef BILLHOOK_REPLACE_H
#define BILLHOOK_REPLACE_H

/* A model that takes the place of the one in flash without a new firmware: it comes byte by byte, over a cable or over
 * the air, is kept (in the EEPROM on AVR, in memory elsewhere), and is used only if bh_open finds nothing wrong and it
 * takes the rows of this program. What was received before stays until then, if both have room; else the one in flash
 * is what there is meanwhile. */

#include "billhook.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__AVR__)
#include <avr/io.h>
#define BILLHOOK_REPLACE_BYTES (E2END + 1)
#elif !defined(BILLHOOK_REPLACE_BYTES)
#define BILLHOOK_REPLACE_BYTES 4096
#endif

typedef struct {
    uint16_t at, size; /* of what is still to come */
    uint8_t state;
} billhook_replacement;

enum { BILLHOOK_WAITING, BILLHOOK_MORE, BILLHOOK_COMPLETE, BILLHOOK_NO_ROOM };

/* Take the next byte of what comes in: "R", the size in two bytes, lowest first, and the blob. Anything before the "R"
 * is ignored. Begin with a replacement of zeros. Returns BILLHOOK_COMPLETE with the last byte. */
int billhook_receive(billhook_replacement *replacement, uint8_t byte);

/* Open the model that was received last, and return 1. If that is none, or not one of so many features: the one received
 * before, and return 2; or the one in flash, and return 0; -1 if that is none either. */
int billhook_open_newest(bh_model *model, const uint8_t *in_flash, size_t size, int32_t *scratch, size_t n_scratch,
                         bh_count n_features);

#ifdef __cplusplus
}
#endif

#endif
