/* Functions that an adapter is built with in place of others, to see its test fail. The adapter stays as it is. */
#include "chip.h"

#include <string.h>

/* Acknowledges a write when it has done the one before. */
phelsuma_error late_write(phelsuma *drive, uint32_t page, const uint8_t *data, size_t bytes);

phelsuma_error late_write(phelsuma *drive, uint32_t page, const uint8_t *data, size_t bytes) {
    static uint8_t kept[CHIP_PAGE_BYTES];
    static uint32_t kept_page = UINT32_MAX;
    if (data == NULL || bytes != sizeof kept) {
        return phelsuma_write(drive, page, data, bytes);
    }
    phelsuma_error error =
        kept_page == UINT32_MAX ? PHELSUMA_ERROR_NONE : phelsuma_write(drive, kept_page, kept, bytes);
    memcpy(kept, data, bytes);
    kept_page = page;
    return error;
}

/* Trims stay in RAM. */
phelsuma_error no_sync(phelsuma *drive);

phelsuma_error no_sync(phelsuma *drive) {
    (void)drive;
    return PHELSUMA_ERROR_NONE;
}

/* Discards nothing. */
phelsuma_error no_trim(phelsuma *drive, uint32_t first, uint32_t pages);

phelsuma_error no_trim(phelsuma *drive, uint32_t first, uint32_t pages) {
    (void)drive, (void)first, (void)pages;
    return PHELSUMA_ERROR_NONE;
}
