#include "billhook_replace.h"

#if BH_NO_CHECKSUM
#error "a model that is replaced needs the checksum, or a damaged one is used: leave out BH_NO_CHECKSUM"
#endif
#if BILLHOOK_REPLACE_BYTES > 65535
#error "BILLHOOK_REPLACE_BYTES is 65535 at most"
#endif

#if defined(__AVR__)
#include <avr/eeprom.h>
#include <avr/pgmspace.h>

/* Addresses from here on are those of the EEPROM. Constants in flash lie far below. */
#define EEPROM_AT 0xF000u
#define KEPT ((const uint8_t *)EEPROM_AT)

uint8_t billhook_stored_byte(const uint8_t *at)
{
    if ((uint16_t)at < EEPROM_AT)
        return pgm_read_byte(at);
    return eeprom_read_byte((const uint8_t *)((uint16_t)at - EEPROM_AT));
}

static uint8_t kept_byte(uint16_t at) { return eeprom_read_byte((const uint8_t *)at); }

static void keep(uint16_t at, uint8_t byte) { eeprom_update_byte((uint8_t *)at, byte); }
#else
static uint8_t kept[BILLHOOK_REPLACE_BYTES];
#define KEPT kept

static uint8_t kept_byte(uint16_t at) { return kept[at]; }

static void keep(uint16_t at, uint8_t byte) { kept[at] = byte; }
#endif

/* A model stands at the beginning of what is kept or at its end, so that one that comes in does not write over the one
 * in use, if there is room for both. Where the size is 0, there is none. */
typedef struct {
    uint16_t at, size;
} place;

static place newest, in_use;

/* The first byte of a model is written last: until all of it has come, what is there is none. */
static uint8_t first_byte;

int billhook_receive(billhook_replacement *replacement, uint8_t byte)
{
    switch (replacement->state) {
    case 0:
        if (byte != 'R')
            return BILLHOOK_WAITING;
        break;
    case 1: replacement->size = byte; break;
    case 2:
        replacement->size = (uint16_t)(replacement->size | (uint16_t)byte << 8);
        if ((uint16_t)(replacement->size - 1) >= BILLHOOK_REPLACE_BYTES) { /* too large, or 0 */
            replacement->state = 0;
            return BILLHOOK_NO_ROOM;
        }
        newest.at = 0;
        newest.size = replacement->size;
        /* On the other side of the one in use or, if they have no room together, on the same. */
        if (in_use.size && (in_use.at > 0) == (in_use.size > BILLHOOK_REPLACE_BYTES - newest.size))
            newest.at = (uint16_t)(BILLHOOK_REPLACE_BYTES - newest.size);
        replacement->at = newest.at;
        break;
    default:
        if (replacement->size == newest.size)
            first_byte = byte;
        keep(replacement->at, replacement->size == newest.size ? 0 : byte);
        replacement->at++;
        if (--replacement->size)
            return BILLHOOK_MORE;
        keep(newest.at, first_byte);
        replacement->state = 0;
        return BILLHOOK_COMPLETE;
    }
    replacement->state++;
    return BILLHOOK_MORE;
}

/* Open what is kept from a byte on, if there is a model of so many features. What is behind it does not matter: it says
 * how long it is. */
static uint8_t open_kept(bh_model *model, uint16_t at, int32_t *scratch, size_t n_scratch, bh_count n_features)
{
    if (bh_open(model, KEPT + at, BILLHOOK_REPLACE_BYTES - at, scratch, n_scratch) != BH_OK)
        return 0;
    if (BH_N_FEATURES(model) != n_features)
        return 0;
    in_use.size = at ? (uint16_t)(BILLHOOK_REPLACE_BYTES - at) : (uint16_t)(model->end + 4); /* with the checksum */
    in_use.at = at;
    return 1;
}

int billhook_open_newest(bh_model *model, const uint8_t *in_flash, size_t size, int32_t *scratch, size_t n_scratch,
                         bh_count n_features)
{
    place before = in_use;
    uint16_t at;
    uint8_t is_refused = newest.size > 0;
    if (newest.size && open_kept(model, newest.at, scratch, n_scratch, n_features)) {
        if (before.size && (before.at > 0) != (newest.at > 0))
            keep(before.at, 0); /* it is no model any more, so that after a reset there is one only */
        newest.size = 0;
        return 1;
    }
    newest.size = 0;
    if (open_kept(model, 0, scratch, n_scratch, n_features))
        return 1 + is_refused;
    for (at = BILLHOOK_REPLACE_BYTES - 1; at; at--)
        if (kept_byte(at) == 'B' && open_kept(model, at, scratch, n_scratch, n_features))
            return 1 + is_refused;
    in_use.size = 0;
    if (bh_open(model, in_flash, size, scratch, n_scratch) != BH_OK || BH_N_FEATURES(model) != n_features)
        return -1;
    return 0;
}
