"""Functions in C that make the keys of `_keys`."""

from billhook.codegen._codes import BITS_OF_FLOAT

HALVES = f"""/* The bits of a float: its upper half, and its lower. */
#if defined(__AVR__)
typedef int16_t half_t __attribute__((__may_alias__));
#define UPPER(k) ((const half_t *)(const void *)x)[2 * (k) + 1]
#define LOWER(k) (uint16_t)((const half_t *)(const void *)x)[2 * (k)]
#else
{BITS_OF_FLOAT}
#define UPPER(k) (int16_t)(bits_of(x[k]) >> 16)
#define LOWER(k) (uint16_t)(bits_of(x[k]) & 0xFFFF)
#endif
"""
HALVE = """
/* Half of a number: compilers for size would shift in a loop. */
#if defined(__AVR__)
#define HALVE_16(n) __asm__("lsr %B0\\n\\tror %A0" : "+r"(n))
#else
#define HALVE_16(n) n = (uint16_t)(n >> 1)
#endif
#define TIMES(n_bits, halve) \\
    if ((n_bits) & 1) { halve; } \\
    if ((n_bits) & 2) { halve; halve; } \\
    if ((n_bits) & 4) { halve; halve; halve; halve; }
"""
KEY_ABOVE = """
/* How far a float lies above one that is not negative: its key in steps of up to 8 bits. */
static INLINE uint16_t key_above(uint32_t bits, uint32_t base, uint8_t n_bits, uint16_t most)
{
#if defined(__AVR__) && defined(__OPTIMIZE__)
    __asm__("mov __tmp_reg__, %D0\\n\\t"
            "subi %A0, lo8(%1)\\n\\tsbci %B0, hi8(%1)\\n\\tsbci %C0, hlo8(%1)\\n\\tsbci %D0, hhi8(%1)\\n\\t"
            "tst %D0\\n\\tbreq 1f\\n\\t"
            "or __tmp_reg__, %D0\\n\\t" /* far off: above, or below if this or the float is negative */
            "ldi %A0, lo8(%3)\\n\\tldi %B0, hi8(%3)\\n\\tbrpl 3f\\n\\t"
            "ldi %A0, 0\\n\\tldi %B0, 0\\n\\trjmp 3f\\n"
            "1:\\n\\t.if %2 == 8\\n\\tmov %A0, %B0\\n\\tmov %B0, %C0\\n\\t.else\\n\\t"
            ".rept %2\\n\\tlsr %C0\\n\\tror %B0\\n\\tror %A0\\n\\t.endr\\n\\t"
            "tst %C0\\n\\tbreq 3f\\n\\tldi %A0, lo8(%3)\\n\\tldi %B0, hi8(%3)\\n\\t.endif\\n"
            "3:"
            : "+d"(bits)
            : "i"(base), "i"(n_bits), "i"(most)
            : "r0");
    return (uint16_t)bits > most ? most : (uint16_t)bits;
#else
    uint32_t above = bits - base;
    if (above >> 24)
        return bits >> 31 || above >> 31 ? 0 : most;
    above >>= n_bits;
    return above > most ? most : (uint16_t)above;
#endif
}
"""
KEY_BY_UPPER = """
/* The same in steps of 16 bits and so many. */
static INLINE uint16_t key_by_upper(uint32_t bits, uint32_t base, uint8_t n_bits, uint16_t most)
{
    uint32_t above = bits - base;
    uint16_t key = (uint16_t)(above >> 16);
    if ((uint8_t)(bits >> 24) >= 0x80 || (uint8_t)(above >> 24) >= 0x80)
        return 0;
    TIMES(n_bits, HALVE_16(key))
    return key > most ? most : key;
}
"""
KEY_AROUND = """
/* The same where the base may be that of a negative float, in the order of floats, in steps of any bits. */
static INLINE uint16_t key_around(uint32_t bits, int32_t base, uint8_t n_bits, uint16_t most)
{
    int32_t number = (int32_t)(bits & 0x7FFFFFFF);
    uint32_t above;
    if (bits >> 31)
        number = -number;
    if (number < base)
        return 0;
    above = ((uint32_t)number - (uint32_t)base) >> n_bits;
    return above > most ? most : (uint16_t)above;
}
"""
KEY_IN_STEPS = """
/* How many steps of a power of two a float lies above one that is not positive, rounded up: 0 is `zero` - 1, and the
 * exponent of 2^15 steps is `unit`. */
static INLINE uint16_t key_in_steps(uint32_t bits, uint8_t unit, uint16_t zero, uint16_t most)
{
#if defined(__AVR__) && defined(__OPTIMIZE__)
    uint16_t key;
    __asm__("bst %D0, 7\\n\\tbrts 1f\\n\\t" /* T: counted downwards */
            "subi %A0, 1\\n\\tsbci %B0, 0\\n\\tsbci %C0, 0\\n\\tsbci %D0, 0\\n\\tbrcc 1f\\n\\t"
            "set\\n\\tldi %C0, 0\\n\\tldi %D0, 0\\n"
            "1:\\n\\tlsl %C0\\n\\trol %D0\\n\\tsec\\n\\tror %C0\\n\\t"
            "cpi %D0, %1 + 1\\n\\tbrsh 6f\\n\\t"
            "subi %D0, %1\\n\\tneg %D0\\n\\tcpi %D0, 16\\n\\tbrlo 2f\\n\\t"
            "ldi %B0, 0\\n\\tldi %C0, 0\\n\\trjmp 5f\\n"
            "2:\\n\\tsbrs %D0, 3\\n\\trjmp 3f\\n\\tmov %B0, %C0\\n\\tldi %C0, 0\\n"
            "3:\\n\\tsbrs %D0, 2\\n\\trjmp 4f\\n\\t.rept 4\\n\\tlsr %C0\\n\\tror %B0\\n\\t.endr\\n"
            "4:\\n\\tsbrs %D0, 1\\n\\trjmp 4f\\n\\t.rept 2\\n\\tlsr %C0\\n\\tror %B0\\n\\t.endr\\n"
            "4:\\n\\tsbrs %D0, 0\\n\\trjmp 5f\\n\\tlsr %C0\\n\\tror %B0\\n"
            "5:\\n\\tbrtc 5f\\n\\tcom %B0\\n\\tcom %C0\\n"
            "5:\\n\\tsubi %B0, lo8(-(%2))\\n\\tsbci %C0, hi8(-(%2))\\n\\tbrts 7f\\n\\tbrcs 8f\\n"
            "6:\\n\\tldi %B0, lo8(%3)\\n\\tldi %C0, hi8(%3)\\n\\tbrtc 8f\\n\\tsec\\n"
            "7:\\n\\tbrcc 8f\\n\\tldi %B0, 0\\n\\tldi %C0, 0\\n"
            "8:"
            : "+d"(bits)
            : "i"(unit), "i"(zero), "i"(most));
    key = (uint16_t)(bits >> 8);
    return key > most ? most : key;
#else
    uint8_t is_down = bits >> 31 || !bits, power;
    uint16_t steps = 0;
    bits -= !is_down;
    power = (uint8_t)(bits >> 23);
    if (power > unit)
        return is_down ? 0 : most;
    if (unit - power < 16)
        steps = (uint16_t)((uint16_t)(bits >> 8 | 0x8000) >> (unit - power));
    if (is_down)
        return steps < zero ? (uint16_t)(zero - 1 - steps) : 0;
    return steps > most - zero ? most : (uint16_t)(zero + steps);
#endif
}
"""
IS_MISSING = """
#define IS_MISSING(bits) ((uint8_t)((bits) >> 24 | 0x80) == 0xFF && ((bits) & 0x7FFFFFFF) > 0x7F800000)
"""
KEY_OF_WHOLE = """
/* How far a whole number lies above another. */
static INLINE uint8_t key_of_whole(int16_t x, int16_t base, uint8_t most)
{
    uint16_t above = (uint16_t)((uint16_t)x - (uint16_t)base);
    return (uint8_t)(x < base ? 0 : above > most ? most : above);
}
"""
