/* Scores of rows that are made up here as `fuzz_emitted_c.py` makes them up: a checksum for each block of rows. */
#if defined(__wasm__)
#include <stdint.h>
#include "model.h"
#include "rows.h"
#define IN_FLASH
__attribute__((import_module("host"), import_name("put"))) extern void put(int c);
void *memcpy(void *to, const void *from, __SIZE_TYPE__ size)
{
    __SIZE_TYPE__ k;
    for (k = 0; k < size; k++)
        ((volatile char *)to)[k] = ((const char *)from)[k];
    return to;
}
void *memset(void *to, int value, __SIZE_TYPE__ size)
{
    __SIZE_TYPE__ k;
    for (k = 0; k < size; k++)
        ((volatile char *)to)[k] = (char)value;
    return to;
}
static void begin(void) {}
static void end(void) {}
#define COPY(to, from, size) memcpy(to, from, size)
static void hex(uint32_t number)
{
    int k;
    for (k = 28; k >= 0; k -= 4)
        put("0123456789abcdef"[number >> k & 15]);
}
#else
#define main unused_main /* of the program that measures, which knows how each machine prints */
#include "firmware.c"
#undef main
#endif
#include "pool.h"

/* Of each feature some values, a power of two of them; floats are given by their bits. */
static const ROW_TYPE pool[MODEL_N_FEATURES][N_POOL] IN_FLASH = POOL;

/* Spreads 32 bits over 32 bits (lowbias32 of C. Wellons' hash prospector). */
static uint32_t spread(uint32_t x)
{
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ x >> 16;
}

int main(void)
{
    static FEATURE x[MODEL_N_FEATURES];
    static int32_t scores[MODEL_N_SCORES];
    uint32_t row, number = FIRST_NUMBER, sum = 0;
    uint16_t k;
    begin();
    for (row = 0; row < N_FUZZED;) {
        for (k = 0; k < MODEL_N_FEATURES; k++)
            COPY(x + k, &pool[k][spread(number++) & (N_POOL - 1)], sizeof *x);
        SCORES(x, scores);
        for (k = 0; k < MODEL_N_SCORES; k++)
            sum = sum * UINT32_C(16777619) + (uint32_t)scores[k];
        row++;
        if (row % N_BLOCK == 0) {
            put('S');
            hex(sum);
            put('\n');
            sum = 0;
        }
    }
    put('E');
    put('\n');
    end();
    return 0;
}
