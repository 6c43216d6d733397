/* A NAND chip in RAM whose plug can be pulled. The examples and the tests of the adapters run on it. */
#ifndef CHIP_H
#define CHIP_H

#include "phelsuma.h"

#include <setjmp.h>

#ifndef CHIP_PAGE_BYTES
#define CHIP_PAGE_BYTES 512u
#endif
#define CHIP_PAGES_PER_BLOCK 16u
#define CHIP_BLOCKS 64u
#define CHIP_PAGES (CHIP_PAGES_PER_BLOCK * CHIP_BLOCKS)

/* The largest drive on it. */
phelsuma_config chip_config(void);

/* Keeps the rules of phelsuma.h. Its context is NULL. */
extern const phelsuma_flash chip_driver;

/* Programs and erases until the power fails: then `chip_power` is where the program goes on. 0: it does not fail. */
extern uint32_t chip_left;
extern jmp_buf chip_power;

/* What else happens during a program. NULL: nothing. */
extern void (*chip_meanwhile)(void);

/* Programs and erases fail from now on. */
extern bool chip_is_worn_out;

/* Whether a page was programmed twice, out of order, or not in full. */
bool chip_broke_a_rule(void);

/* As it comes from the factory. */
void chip_blank(void);

/* A number below `end`. The sequence is the same in each run. */
uint32_t chip_random(uint32_t end);

#endif
