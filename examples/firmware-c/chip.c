#include "chip.h"

enum cell { ERASED, WRITTEN, UNREADABLE };

static struct {
    uint8_t data[CHIP_PAGES][CHIP_PAGE_BYTES];
    uint8_t spare[CHIP_PAGES][PHELSUMA_SPARE_BYTES];
    uint8_t cell[CHIP_PAGES];
    bool is_bad[CHIP_BLOCKS];
    bool broke_a_rule;
} chip;

uint32_t chip_left;
jmp_buf chip_power;
void (*chip_meanwhile)(void);
bool chip_is_worn_out;

static uint64_t random_state = 1;

uint32_t chip_random(uint32_t end) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % end;
}

bool chip_broke_a_rule(void) { return chip.broke_a_rule; }

void chip_blank(void) {
    for (uint32_t page = 0; page < CHIP_PAGES; page++) {
        chip.cell[page] = ERASED;
    }
    for (uint32_t block = 0; block < CHIP_BLOCKS; block++) {
        chip.is_bad[block] = false;
    }
    chip.broke_a_rule = chip_is_worn_out = false;
    chip_left = 0;
    chip_meanwhile = NULL;
}

phelsuma_config chip_config(void) {
    phelsuma_config config = {
        .page_bytes = CHIP_PAGE_BYTES,
        .pages_per_block = CHIP_PAGES_PER_BLOCK,
        .blocks = CHIP_BLOCKS,
        .meta_place = PHELSUMA_META_SPARE,
        .dirty_slots = 64,
        .window = PHELSUMA_WINDOW,
        .bad_blocks = 2,
    };
    config.logical_pages = phelsuma_most_logical_pages(&config);
    return config;
}

/*
 * No code of the drive runs on, as if the power had failed. Its frames are left by longjmp, which is sound: they hold
 * nothing that has to be undone. The drive's memory is not used again until it is mounted anew.
 */
static void pull_the_plug(void) { longjmp(chip_power, 1); }

/* Whether this operation is the one in which the power fails. */
static bool is_the_last(void) { return chip_left > 0 && --chip_left == 0; }

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

static int32_t program_page(void *context, uint32_t page, const uint8_t *data, uint32_t bytes, const uint8_t *spare) {
    (void)context;
    if (chip_meanwhile) {
        chip_meanwhile();
    }
    for (uint32_t other = page; other < (page | (CHIP_PAGES_PER_BLOCK - 1)) + 1; other++) {
        chip.broke_a_rule |= chip.cell[other] != ERASED || bytes != CHIP_PAGE_BYTES;
    }
    if (chip_is_worn_out) {
        chip.cell[page] = UNREADABLE;
        return -1;
    }
    bool is_cut = is_the_last();
    uint32_t fault = chip_random(3);
    if (is_cut && fault == 0) {
        pull_the_plug();
    }
    for (uint32_t at = 0; at < CHIP_PAGE_BYTES; at++) {
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
    if (chip_is_worn_out) {
        return -1;
    }
    bool is_cut = is_the_last();
    /* Nothing of it is done, half of it, or all. */
    uint32_t pages = is_cut ? chip_random(3) * CHIP_PAGES_PER_BLOCK / 2 : CHIP_PAGES_PER_BLOCK;
    for (uint32_t at = 0; at < pages; at++) {
        chip.cell[block * CHIP_PAGES_PER_BLOCK + at] = ERASED;
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

const phelsuma_flash chip_driver = {
    .context = NULL,
    .read = read_page,
    .program = program_page,
    .erase = erase_block,
    .is_bad = is_bad,
    .mark_bad = mark_bad,
};
