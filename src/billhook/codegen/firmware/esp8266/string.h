/* In place of the header of a C library, which Debian has not for this processor: its ROM has these functions. */
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
