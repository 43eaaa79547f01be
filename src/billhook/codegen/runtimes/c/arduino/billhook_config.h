#ifndef BILLHOOK_CONFIG_H
#define BILLHOOK_CONFIG_H

/* On AVR a model may be in flash or, once it was replaced, in the EEPROM. */
#if defined(__AVR__)
#include <stdint.h>
#ifdef __cplusplus
extern "C"
#endif
uint8_t billhook_stored_byte(const uint8_t *at);
#define BH_BYTE(at) billhook_stored_byte(at)
#endif

#endif
