/*
 * A drive on flash in RAM (chip.c), tried by pulling its plug (trial.c).
 *
 * The same sources run under an operating system and on a Cortex-M4 without one (startup.c). Copy `boot`, and the
 * driver of chip.c; fill in your chip's bus.
 */
#include "trial.h"

/* As much as any of the three FTLs needs here. A drive that needs more says PHELSUMA_ERROR_MEMORY. */
#define MEMORY_BYTES (16u * 1024u)

#ifndef BOOTS
#define BOOTS 2000u
#endif

static _Alignas(PHELSUMA_ALIGN) uint8_t memory[MEMORY_BYTES];
static phelsuma_config config;
static phelsuma *drive;

static bool is_done(phelsuma_error error) {
    if (error != PHELSUMA_ERROR_NONE) {
        print(phelsuma_error_name(error));
        print("\n");
    }
    return error == PHELSUMA_ERROR_NONE;
}

static bool boot(bool is_first) {
    /* Nothing of the drive outlives a power cut but what is on flash. */
    for (uint32_t at = 0; at < sizeof memory; at++) {
        memory[at] = 0xa5;
    }
    return is_done(is_first ? phelsuma_format(&config, &chip_driver, memory, sizeof memory, &drive)
                            : phelsuma_mount(&config, &chip_driver, memory, sizeof memory, &drive));
}

static bool read_one(uint32_t page, uint8_t *data) {
    return is_done(phelsuma_read(drive, page, data, CHIP_PAGE_BYTES));
}

static bool write_one(uint32_t page, uint32_t pages, const uint8_t *data) {
    (void)pages;
    return is_done(phelsuma_write(drive, page, data, CHIP_PAGE_BYTES));
}

static bool discard(uint32_t first, uint32_t pages) {
    return is_done(phelsuma_trim(drive, first, pages)) && is_done(phelsuma_sync(drive));
}

static bool idle(void) { return is_done(phelsuma_maintain(drive, 8, NULL)); }

int main(void) {
    config = chip_config();
    print("logical pages ");
    print_number(config.logical_pages);
    print(", memory ");
    print_number((uint32_t)phelsuma_memory_bytes(&config));
    print(" bytes\n");
    const struct trial_drive tried = {
        .pages = config.logical_pages,
        .request_pages = 1,
        .boot = boot,
        .read = read_one,
        .write = write_one,
        .discard = discard,
        .idle = idle,
    };
    return trial_run(&tried, BOOTS) ? 0 : 1;
}
