/* In place of the header of the Arduino core: flash is read by words of 32 bits, or the processor stops. */
#include <stdint.h>
#define PROGMEM __attribute__((section(".irom.text")))
static inline uint8_t pgm_read_byte(const void *at)
{
    return (uint8_t)(*(const uint32_t *)((uintptr_t)at & ~(uintptr_t)3) >> (8 * ((uintptr_t)at & 3)));
}
