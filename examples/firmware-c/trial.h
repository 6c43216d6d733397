/* A drive whose plug is pulled at operations by chance: writes, mounts, and a comparison of every page. */
#ifndef TRIAL_H
#define TRIAL_H

#include "chip.h"

#define TRIAL_REQUEST_PAGES 4u

/* What is tried. Each function returns whether it was done. */
struct trial_drive {
    uint32_t pages;
    /* At the most in one request: TRIAL_REQUEST_PAGES or fewer. */
    uint32_t request_pages;
    /* Mounts, or formats at first. Nothing in RAM has outlived the power cut. */
    bool (*boot)(bool is_first);
    bool (*read)(uint32_t page, uint8_t *data);
    bool (*write)(uint32_t first, uint32_t pages, const uint8_t *data);
    /* The pages are zeros for good when it returns. */
    bool (*discard)(uint32_t first, uint32_t pages);
    bool (*idle)(void);
};

/* Boots so often, after the first time. Returns whether every acknowledged page was there each time. */
bool trial_run(const struct trial_drive *drive, uint32_t boots);

/* What there is without an operating system as well. */
void print(const char *text);
void print_number(uint32_t number);

#endif
