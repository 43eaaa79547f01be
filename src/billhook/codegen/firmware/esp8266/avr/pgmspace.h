/* In place of the header of the Arduino core: flash is read by words of 32 bits, or the processor stops. */
#include <stdint.h>
#define PROGMEM __attribute__((section(".irom.text")))
static inline uint32_t pgm_read_shifted(const void *at)
{
    return *(const uint32_t *)((uintptr_t)at & ~(uintptr_t)3) >> (8 * ((uintptr_t)at & 3));
}
#define pgm_read_byte(at) (uint8_t)pgm_read_shifted(at)
#define pgm_read_word(at) (uint16_t)pgm_read_shifted(at)
#define pgm_read_dword(at) (*(const uint32_t *)(at))
