/*
 * What the example stands on without an operating system: vectors, memory, and output by semihosting.
 *
 * For QEMU's mps2-an386, a Cortex-M4. On a board of one's own the vectors are more, and output is another.
 */
#include <stdint.h>

extern uint32_t stack_top, data_source, data_start, data_end, bss_start, bss_end;

int main(void);
void print(const char *text);
void reset(void);

static uint32_t semihosting(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void print(const char *text) { semihosting(0x04, text); }

/* SYS_EXIT_EXTENDED: the debugger ends, with this status. */
static void leave(uint32_t status) {
    const uint32_t block[2] = {0x20026, status};
    for (;;) {
        semihosting(0x20, block);
    }
}

static void fault(void) {
    print("a fault of the processor\n");
    leave(2);
}

void reset(void) {
    /* The libraries are for its floating point unit. */
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20;
    __asm__ volatile("dsb\n isb");
    const uint32_t *from = &data_source;
    for (uint32_t *to = &data_start; to < &data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = &bss_start; to < &bss_end;) {
        *to++ = 0;
    }
    leave((uint32_t)main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, reset, fault, fault, fault, fault, fault,
};
