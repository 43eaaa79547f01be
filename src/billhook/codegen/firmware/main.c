/* Runs a model on rows, and prints the scores of each, its time, and how deep the stack was.
 * REPEAT and, for AVR, PRESCALER come from the command line of the compiler. */
#include <string.h>

#include "model.h"
#include "rows.h"

#if defined(__AVR__)
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#define IN_FLASH PROGMEM
#define COPY(to, from, size) memcpy_P(to, from, size)
extern uint8_t __heap_start;
#define FREE_FROM (&__heap_start)
static void end(void) { cli(); sleep_enable(); sleep_cpu(); }
#if defined(UDR0)
static void put(char c)
{
    while (!(UCSR0A & _BV(UDRE0)))
        ;
    UDR0 = (uint8_t)c;
}
static void begin(void) { UCSR0B = _BV(TXEN0); TCCR1B = PRESCALER == 8 ? _BV(CS11) : _BV(CS12) | _BV(CS10); }
#define CLOCK() TCNT1
#define CLOCK_START() (TCNT1 = 0, TIFR1 = _BV(TOV1))
#define CLOCK_RAN_OVER() (TIFR1 & _BV(TOV1))
#else
/* An ATtiny has no serial port: simavr prints what is written to the register that this names. */
const struct { uint8_t tag, size; volatile void *at; } console
    __attribute__((section(".mmcu"), used)) = {11, sizeof(void *), &GPIOR0};
static void put(char c) { GPIOR0 = (uint8_t)(c == '\n' ? '\r' : c); }
static void begin(void) { TCCR0B = PRESCALER == 64 ? _BV(CS01) | _BV(CS00) : _BV(CS02) | _BV(CS00); }
/* Its clock has 8 bits: the interrupt counts its rounds, in a register that is there for any use. */
ISR(TIM0_OVF_vect) { GPIOR1++; }
static uint16_t clock_now(void)
{
    uint8_t now;
    cli();
    now = TCNT0;
    if (TIFR & _BV(TOV0) && now < 128)
        GPIOR1++;
    return (uint16_t)(GPIOR1 << 8 | now);
}
#define CLOCK() clock_now()
static void clock_start(void)
{
    TIMSK = _BV(TOIE0);
    GPIOR1 = 0;
    TIFR = _BV(TOV0);
    TCNT0 = 0;
    sei();
}
#define CLOCK_START() clock_start()
#define CLOCK_RAN_OVER() (GPIOR1 == 255)
#endif
#elif defined(__XTENSA__)
#define IN_FLASH
#define COPY(to, from, size) memcpy(to, from, size)
extern uint8_t _heap_start;
#define FREE_FROM (&_heap_start)
static void ask(int what, int file, const char *text, int size)
{
    register int a2 __asm__("a2") = what;
    register int a3 __asm__("a3") = file;
    register const char *a4 __asm__("a4") = text;
    register int a5 __asm__("a5") = size;
    __asm__ volatile("simcall" : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
}
static void put(char c) { ask(4, 1, &c, 1); }
static void begin(void) {}
static void end(void) { ask(1, 0, 0, 0); }
__attribute__((used)) void *memcpy(void *to, const void *from, size_t size)
{
    size_t k;
    for (k = 0; k < size; k++)
        ((volatile char *)to)[k] = ((const char *)from)[k];
    return to;
}
__attribute__((used)) void *memset(void *to, int value, size_t size)
{
    size_t k;
    for (k = 0; k < size; k++)
        ((volatile char *)to)[k] = (char)value;
    return to;
}
#elif defined(__riscv)
#define IN_FLASH
#define COPY(to, from, size) memcpy(to, from, size)
extern uint8_t _heap_start;
#define FREE_FROM (&_heap_start)
static void put(char c) { *(volatile uint8_t *)0x10000000 = (uint8_t)c; } /* the serial port of QEMU's board */
static void begin(void) {}
static void end(void) { *(volatile uint32_t *)0x100000 = 0x5555; } /* switches it off */
#elif defined(__ARM_ARCH) && !defined(__linux__)
#define IN_FLASH
#define COPY(to, from, size) memcpy(to, from, size)
extern uint8_t _heap_start;
#define FREE_FROM (&_heap_start)
static void ask(int what, const void *about)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = about;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}
static void put(char c) { ask(3, &c); }
static void begin(void) {}
static void end(void) { ask(0x18, (const void *)0x20026); }
#else
#include <stdio.h>
#define IN_FLASH
#define COPY(to, from, size) memcpy(to, from, size)
#if defined(__linux__)
#define FREE_FROM (top - 65536)
#define PAINT_EACH /* since printing takes more than a model */
#endif
static void put(char c) { putchar(c); }
static void begin(void) {}
static void end(void) {}
#endif

#ifndef CLOCK
#define CLOCK() 0
#define CLOCK_START()
#define CLOCK_RAN_OVER() 0
#endif

/* Floats are given by their bits. */
static const ROW_TYPE rows[N_ROWS][MODEL_N_FEATURES] IN_FLASH = ROWS;

static void hex(uint32_t number)
{
    int8_t k;
    for (k = 28; k >= 0; k = (int8_t)(k - 4))
        put("0123456789abcdef"[number >> k & 15]);
}

#ifdef FREE_FROM
#define PAINT 0xC5
static uint8_t *top;
#if defined(PAINT_EACH)
__attribute__((noinline))
#endif
static void paint(void)
{
    uint8_t here, *at;
    top = &here;
    for (at = FREE_FROM; at < top - 64; at++)
        *(volatile uint8_t *)at = PAINT;
}
static uint32_t used(void)
{
    uint8_t *at = FREE_FROM;
    while (at < top && *(volatile uint8_t *)at == PAINT)
        at++;
    return (uint32_t)(top - at);
}
#endif

int main(void)
{
    uint16_t row, k;
#ifdef PAINT_EACH
    uint32_t deepest = 0;
#endif
    static FEATURE x[MODEL_N_FEATURES];
    static int32_t scores[MODEL_N_SCORES];
    begin();
#ifdef FREE_FROM
    paint();
#endif
    for (row = 0; row < N_ROWS; row++) {
        uint16_t clock = 0;
        COPY(x, rows[row], sizeof x);
#ifdef PAINT_EACH
        paint(); /* not in the loop, whose instructions are those of the model */
#endif
        for (k = 0; k < REPEAT; k++) {
            CLOCK_START();
            SCORES(x, scores);
            clock = CLOCK_RAN_OVER() ? 0xFFFF : CLOCK();
        }
#ifdef PAINT_EACH
        if (used() > deepest)
            deepest = used();
#endif
        put('S');
        hex(clock);
        for (k = 0; k < MODEL_N_SCORES; k++)
            hex((uint32_t)scores[k]);
        put('\n');
    }
#ifdef FREE_FROM
    put('T');
#ifdef PAINT_EACH
    hex(deepest);
#else
    hex(used());
#endif
    put('\n');
#endif
    end();
    return 0;
}
