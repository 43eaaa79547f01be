#include "billhook_replace.h"

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

static void keep(uint16_t at, uint8_t byte) { eeprom_update_byte((uint8_t *)at, byte); }
#else
static uint8_t kept[BILLHOOK_REPLACE_BYTES];
#define KEPT kept

static void keep(uint16_t at, uint8_t byte) { kept[at] = byte; }
#endif

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
        replacement->at = 0;
        if (replacement->size == 0 || replacement->size > BILLHOOK_REPLACE_BYTES) {
            replacement->state = 0;
            return BILLHOOK_NO_ROOM;
        }
        break;
    default:
        keep(replacement->at, byte);
        replacement->at++;
        if (replacement->at < replacement->size)
            return BILLHOOK_MORE;
        replacement->state = 0;
        return BILLHOOK_COMPLETE;
    }
    replacement->state++;
    return BILLHOOK_MORE;
}

int billhook_open_newest(bh_model *model, const uint8_t *in_flash, size_t size, int32_t *scratch, size_t n_scratch)
{
    /* What is behind the blob in its place does not matter: it says how long it is. */
    if (bh_open(model, KEPT, BILLHOOK_REPLACE_BYTES, scratch, n_scratch) == BH_OK)
        return 1;
    return bh_open(model, in_flash, size, scratch, n_scratch) == BH_OK ? 0 : -1;
}
