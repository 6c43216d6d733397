#include "trial.h"

#if __STDC_HOSTED__
#include <stdio.h>
void print(const char *text) { fputs(text, stdout); }
#endif

void print_number(uint32_t number) {
    char digits[11];
    char *at = digits + sizeof digits - 1;
    *at = 0;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    print(at);
}

/* ---- What the host remembers: nothing of it is the drive's ---- */

/* The number of the write that was acknowledged last; 0: zeros. */
static uint32_t acknowledged[CHIP_PAGES];
/* What was asked for when the power failed: each of its pages may have come to pass or not. */
static uint32_t asked_first, asked_pages, asked_write;
static uint32_t writes, compared, lost;

static uint8_t buffer[TRIAL_REQUEST_PAGES][CHIP_PAGE_BYTES];

static uint8_t byte_of(uint32_t page, uint32_t write, uint32_t at) {
    return write == 0 ? 0 : (uint8_t)(page * 31 + write * 7 + (write >> 8) + at);
}

static bool is_of(const uint8_t *data, uint32_t page, uint32_t write) {
    for (uint32_t at = 0; at < CHIP_PAGE_BYTES; at++) {
        if (data[at] != byte_of(page, write, at)) {
            return false;
        }
    }
    return true;
}

static void complain(const char *what, uint32_t page) {
    print("page ");
    print_number(page);
    print(what);
    lost++;
}

static void compare(const struct trial_drive *drive) {
    for (uint32_t page = 0; page < drive->pages; page++) {
        bool is_asked = page - asked_first < asked_pages;
        if (!drive->read(page, buffer[0])) {
            complain(" cannot be read\n", page);
        } else if (is_asked && is_of(buffer[0], page, asked_write)) {
            acknowledged[page] = asked_write;
        } else if (!is_of(buffer[0], page, acknowledged[page])) {
            complain(" is not what was acknowledged\n", page);
        }
        compared++;
    }
    asked_pages = 0;
}

static void acknowledge(void) {
    for (uint32_t at = 0; at < asked_pages; at++) {
        acknowledged[asked_first + at] = asked_write;
    }
}

/* Writes pages, or discards them for good, and notes when that is done. */
static void ask(const struct trial_drive *drive) {
    /* Some pages are written more often than others. */
    uint32_t hot = drive->pages < 24 ? drive->pages : 24;
    uint32_t first = chip_random(chip_random(3) > 0 ? hot : drive->pages);
    uint32_t pages = 1 + chip_random(drive->request_pages);
    bool discards = chip_random(12) == 0;
    asked_first = first;
    asked_pages = pages < drive->pages - first ? pages : drive->pages - first;
    asked_write = discards ? 0 : ++writes;
#ifdef ACKNOWLEDGES_TOO_EARLY
    acknowledge();
#endif
    bool is_done;
    if (discards) {
        is_done = drive->discard(asked_first, asked_pages);
    } else {
        for (uint32_t page = 0; page < asked_pages; page++) {
            for (uint32_t at = 0; at < CHIP_PAGE_BYTES; at++) {
                buffer[page][at] = byte_of(asked_first + page, asked_write, at);
            }
        }
        is_done = drive->write(asked_first, asked_pages, buffer[0]);
    }
    if (is_done) {
        acknowledge();
        asked_pages = 0;
    } else {
        complain(" could not be written\n", asked_first);
    }
}

/* From a mount on, until the power fails. */
static void live(const struct trial_drive *drive, bool is_first) {
    if (!drive->boot(is_first)) {
        print("no drive\n");
        lost++;
        return;
    }
    compare(drive);
    while (lost == 0) {
        ask(drive);
        if (chip_random(50) == 0 && !drive->idle()) {
            print("idle work failed\n");
            lost++;
        }
    }
}

bool trial_run(const struct trial_drive *drive, uint32_t boots) {
    /* After longjmp only what is static has a value. */
    static volatile uint32_t booted;
    for (booted = 0; booted <= boots && lost == 0; booted++) {
        /* Often so soon that the mount is cut. The format is not. */
        chip_left = 1 + (booted == 0 ? 200 : chip_random(chip_random(2) ? 12 : 400));
        if (setjmp(chip_power) == 0) {
            live(drive, booted == 0);
        }
        if (chip_broke_a_rule()) {
            print("the drive broke a rule of flash\n");
            lost++;
        }
    }
    print("boots ");
    print_number(booted);
    print(", writes ");
    print_number(writes);
    print(", pages compared ");
    print_number(compared);
    print(", lost ");
    print_number(lost);
    print("\n");
    return lost == 0;
}
