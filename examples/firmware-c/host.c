/*
 * A drive on flash in RAM whose plug is pulled at operations by chance: writes, mounts, and a comparison of every page.
 *
 * The same source runs under an operating system and on a Cortex-M4 without one (startup.c). Copy `driver` and `mount`,
 * and fill in your chip's bus.
 */
#include "phelsuma.h"

#include <setjmp.h>

#define PAGE_BYTES 512u
#define PAGES_PER_BLOCK 16u
#define BLOCKS 64u
#define PAGES (PAGES_PER_BLOCK * BLOCKS)
/* As much as any of the three FTLs needs here. A drive that needs more says PHELSUMA_ERROR_MEMORY. */
#define MEMORY_BYTES (16u * 1024u)

#ifndef BOOTS
#define BOOTS 2000u
#endif

/* ---- What there is without an operating system as well ---- */

#if __STDC_HOSTED__
#include <stdio.h>
static void print(const char *text) { fputs(text, stdout); }
#else
void print(const char *text);
#endif

static void print_number(uint32_t number) {
    char digits[11];
    char *at = digits + sizeof digits - 1;
    *at = 0;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    print(at);
}

static uint64_t random_state = 1;

static uint32_t below(uint32_t end) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % end;
}

/* ---- The flash, which keeps what it has when the power fails ---- */

enum cell { ERASED, WRITTEN, UNREADABLE };

static struct {
    uint8_t data[PAGES][PAGE_BYTES];
    uint8_t spare[PAGES][PHELSUMA_SPARE_BYTES];
    uint8_t cell[PAGES];
    bool is_bad[BLOCKS];
    bool broke_a_rule;
} chip;

/* Where a power cut goes on, and programs and erases until it comes. */
static jmp_buf power;
static uint32_t left;

static int32_t read_page(void *context, uint32_t page, uint32_t column, uint8_t *data, uint32_t bytes, uint8_t *spare) {
    (void)context;
    if (chip.cell[page] == UNREADABLE) {
        return -1;
    }
    bool is_erased = chip.cell[page] == ERASED;
    for (uint32_t at = 0; at < bytes; at++) {
        data[at] = is_erased ? 0xff : chip.data[page][column + at];
    }
    for (uint32_t at = 0; spare && at < PHELSUMA_SPARE_BYTES; at++) {
        spare[at] = is_erased ? 0xff : chip.spare[page][at];
    }
    return 0;
}

/*
 * No code of the drive runs on, as if the power had failed. Its frames are left by longjmp, which is sound: they hold
 * nothing that has to be undone. The drive's memory is not used again until it is mounted anew.
 */
static void pull_the_plug(void) { longjmp(power, 1); }

static int32_t program_page(void *context, uint32_t page, const uint8_t *data, uint32_t bytes, const uint8_t *spare) {
    (void)context;
    for (uint32_t other = page; other < (page | (PAGES_PER_BLOCK - 1)) + 1; other++) {
        chip.broke_a_rule |= chip.cell[other] != ERASED || bytes != PAGE_BYTES;
    }
    bool is_cut = --left == 0;
    uint32_t fault = below(3);
    if (is_cut && fault == 0) {
        pull_the_plug();
    }
    for (uint32_t at = 0; at < PAGE_BYTES; at++) {
        chip.data[page][at] = data[at];
    }
    for (uint32_t at = 0; at < PHELSUMA_SPARE_BYTES; at++) {
        chip.spare[page][at] = spare[at];
    }
    chip.cell[page] = is_cut && fault == 1 ? UNREADABLE : WRITTEN;
    if (is_cut) {
        pull_the_plug();
    }
    return 0;
}

static int32_t erase_block(void *context, uint32_t block) {
    (void)context;
    bool is_cut = --left == 0;
    /* Nothing of it is done, half of it, or all. */
    uint32_t pages = is_cut ? below(3) * PAGES_PER_BLOCK / 2 : PAGES_PER_BLOCK;
    for (uint32_t at = 0; at < pages; at++) {
        chip.cell[block * PAGES_PER_BLOCK + at] = ERASED;
    }
    if (is_cut) {
        pull_the_plug();
    }
    return 0;
}

static int32_t is_bad(void *context, uint32_t block) {
    (void)context;
    return chip.is_bad[block];
}

static void mark_bad(void *context, uint32_t block) {
    (void)context;
    chip.is_bad[block] = true;
}

static const phelsuma_flash driver = {
    .context = NULL,
    .read = read_page,
    .program = program_page,
    .erase = erase_block,
    .is_bad = is_bad,
    .mark_bad = mark_bad,
};

/* ---- What the host remembers: nothing of it is the drive's ---- */

/* The number of the write that was acknowledged last; 0: zeros. */
static uint32_t acknowledged[PAGES];
/* What was asked for when the power failed: it may have come to pass or not. */
static uint32_t asked_page, asked_write;
static bool is_asked;
static uint32_t writes, compared, lost;

static _Alignas(PHELSUMA_ALIGN) uint8_t memory[MEMORY_BYTES];
static uint8_t buffer[PAGE_BYTES];

static uint8_t byte_of(uint32_t page, uint32_t write, uint32_t at) {
    return write == 0 ? 0 : (uint8_t)(page * 31 + write * 7 + (write >> 8) + at);
}

static bool is_of(uint32_t page, uint32_t write) {
    for (uint32_t at = 0; at < PAGE_BYTES; at++) {
        if (buffer[at] != byte_of(page, write, at)) {
            return false;
        }
    }
    return true;
}

static void complain(const char *what, int32_t error) {
    print(what);
    print(": ");
    print(phelsuma_error_name(error));
    print("\n");
    lost++;
}

static void compare(phelsuma *drive, uint32_t pages) {
    for (uint32_t page = 0; page < pages; page++) {
        phelsuma_error error = phelsuma_read(drive, page, buffer, PAGE_BYTES);
        if (error != PHELSUMA_ERROR_NONE) {
            complain("a page cannot be read", error);
        } else if (is_asked && page == asked_page && is_of(page, asked_write)) {
            acknowledged[page] = asked_write;
        } else if (!is_of(page, acknowledged[page])) {
            complain("a page is not what was acknowledged", error);
        }
        compared++;
    }
    is_asked = false;
}

/* Writes a page, or trims it for good, and notes when that is done. */
static void ask(phelsuma *drive, uint32_t page) {
    bool trims = below(12) == 0;
    asked_page = page;
    asked_write = trims ? 0 : ++writes;
    is_asked = true;
#ifdef ACKNOWLEDGES_TOO_EARLY
    acknowledged[page] = asked_write;
#endif
    phelsuma_error error;
    if (trims) {
        error = phelsuma_trim(drive, page, 1);
        error = error == PHELSUMA_ERROR_NONE ? phelsuma_sync(drive) : error;
    } else {
        for (uint32_t at = 0; at < PAGE_BYTES; at++) {
            buffer[at] = byte_of(page, asked_write, at);
        }
        error = phelsuma_write(drive, page, buffer, PAGE_BYTES);
    }
    if (error == PHELSUMA_ERROR_NONE) {
        acknowledged[page] = asked_write;
        is_asked = false;
    } else {
        complain("a write failed", error);
    }
}

/* From a mount on, until the power fails. */
static void boot(const phelsuma_config *config, bool is_first) {
    phelsuma *drive;
    /* Nothing of the drive outlives a power cut but what is on flash. */
    for (uint32_t at = 0; at < sizeof memory; at++) {
        memory[at] = 0xa5;
    }
    phelsuma_error error = is_first ? phelsuma_format(config, &driver, memory, sizeof memory, &drive)
                                    : phelsuma_mount(config, &driver, memory, sizeof memory, &drive);
    if (error != PHELSUMA_ERROR_NONE) {
        complain("no drive", error);
        return;
    }
    compare(drive, config->logical_pages);
    while (lost == 0) {
        /* Some pages are written more often than others. */
        uint32_t hot = config->logical_pages < 24 ? config->logical_pages : 24;
        ask(drive, below(below(3) > 0 ? hot : config->logical_pages));
        if (below(50) == 0 && phelsuma_maintain(drive, 8, NULL) != PHELSUMA_ERROR_NONE) {
            lost++;
        }
    }
}

int main(void) {
    phelsuma_config config = {
        .page_bytes = PAGE_BYTES,
        .pages_per_block = PAGES_PER_BLOCK,
        .blocks = BLOCKS,
        .meta_place = PHELSUMA_META_SPARE,
        .dirty_slots = 64,
        .window = PHELSUMA_WINDOW,
        .bad_blocks = 2,
    };
    config.logical_pages = phelsuma_most_logical_pages(&config);
    print("logical pages ");
    print_number(config.logical_pages);
    print(", memory ");
    print_number((uint32_t)phelsuma_memory_bytes(&config));
    print(" bytes\n");
    /* After longjmp only what is static has a value. */
    static volatile uint32_t boots;
    for (boots = 0; boots <= BOOTS && lost == 0; boots++) {
        /* Often so soon that the mount is cut. The format is not. */
        left = 1 + (boots == 0 ? 200 : below(below(2) ? 12 : 400));
        if (setjmp(power) == 0) {
            boot(&config, boots == 0);
        }
        if (chip.broke_a_rule) {
            complain("the drive broke a rule of flash", 0);
        }
    }
    print("boots ");
    print_number(boots);
    print(", writes ");
    print_number(writes);
    print(", pages compared ");
    print_number(compared);
    print(", lost ");
    print_number(lost);
    print("\n");
    return lost == 0 ? 0 : 1;
}
