/* What runs on a Cortex-M, RISC-V or Xtensa before main: fills the memory, and switches the floating-point unit on. */
#include <stdint.h>

extern uint32_t _data_start, _data_end, _data_load, _bss_start, _bss_end, _stack_top;
int main(void);

void start(void)
{
    uint32_t *from = &_data_load, *to;
    for (to = &_data_start; to < &_data_end;)
        *to++ = *from++;
    for (to = &_bss_start; to < &_bss_end;)
        *to++ = 0;
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88 |= 0xF << 20; /* the floating-point unit is off after a reset */
    __asm__ volatile("dsb\n\tisb");
#endif
    main();
    for (;;)
        ;
}

#if defined(__riscv)
__attribute__((section(".vectors"), used, naked)) void _start(void)
{
    __asm__ volatile("la sp, _stack_top\n\tj start");
}
#elif defined(__XTENSA__)
/* Numbers of 32 bits are loaded from before where they are used. */
__asm__(
    ".section .vectors, \"ax\"\n\t.global _start\n_start:\n\tj begin\n\t.align 4\ntop: .word _stack_top\n"
    "first: .word start\nbegin:\n\tl32r a1, top\n\tl32r a0, first\n\tjx a0\n\t.text");
#else
__attribute__((section(".vectors"), used)) static void *const vectors[] = {&_stack_top, (void *)start};
#endif
