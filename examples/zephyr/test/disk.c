/* The disk on a chip in RAM: reads, writes, erases, misuse, threads, and a plug that is pulled. */
#include "check.h"
#include "phelsuma_disk.h"
#include "trial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zephyr/storage/disk_access.h>

#define NAME "NAND"

#ifndef BOOTS
#define BOOTS 300u
#endif

static _Alignas(PHELSUMA_ALIGN) uint8_t memory[32 * 1024];
static struct phelsuma_disk disk;
static uint8_t data[4][CHIP_PAGE_BYTES], read_back[4][CHIP_PAGE_BYTES];

/* As after a reset: nothing in RAM is as it was. */
static void reset(bool formats) {
    if (disk.is_registered) {
        (void)disk_access_unregister(&disk.info);
    }
    memset(memory, 0xa5, sizeof memory);
    memset(&disk, 0, sizeof disk);
    disk.info.name = NAME;
    disk.config = chip_config();
    disk.flash = chip_driver;
    disk.memory = memory;
    disk.memory_bytes = sizeof memory;
    disk.formats_blank_chip = formats;
}

static void fill(uint8_t first) {
    for (uint32_t page = 0; page < 4; page++) {
        memset(data[page], first + (int)page, sizeof data[page]);
    }
}

static bool reads_as_data(uint32_t first, uint32_t sectors) {
    memset(read_back, 0x77, sizeof read_back);
    return SAME(disk_access_read(NAME, read_back[0], first, sectors), 0) &&
           memcmp(read_back, data, sectors * CHIP_PAGE_BYTES) == 0;
}

static void a_disk_is_used_as_file_systems_do(void) {
    chip_blank();
    reset(true);
    SAME(phelsuma_disk_register(&disk), 0);
    SAME(disk_access_status(NAME), DISK_STATUS_UNINIT);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_INIT, NULL), 0);
    SAME(disk_access_status(NAME), DISK_STATUS_OK);
    uint32_t sectors = 0, bytes = 0, erased = 0;
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_GET_SECTOR_COUNT, &sectors), 0);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_GET_SECTOR_SIZE, &bytes), 0);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_GET_ERASE_BLOCK_SZ, &erased), 0);
    SAME(sectors, chip_config().logical_pages);
    SAME(bytes, CHIP_PAGE_BYTES);
    SAME(erased, 1);
    memset(data, 0, sizeof data);
    CHECK(reads_as_data(sectors - 4, 4));
    fill(1);
    SAME(disk_access_write(NAME, data[0], sectors - 4, 4), 0);
    CHECK(reads_as_data(sectors - 4, 4));
    SAME(disk_access_write(NAME, data[0], 10, 4), 0);
    SAME(disk_access_erase(NAME, 11, 2, DISK_ACCESS_ERASE_PHYSICAL), 0);
    memset(data[1], 0, 2 * CHIP_PAGE_BYTES);
    CHECK(reads_as_data(10, 4));
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_SYNC, NULL), 0);
    /* Nothing is a request too. */
    SAME(disk_access_write(NAME, data[0], sectors, 0), 0);
    SAME(disk_access_read(NAME, read_back[0], sectors, 0), 0);
    bool more = true;
    for (uint32_t at = 0; at < 1000 && more; at++) {
        SAME(phelsuma_disk_maintain(&disk, 8, &more), 0);
    }
    CHECK(!more);
    /* Two users: the second one's end is not the first one's. */
    SAME(disk_access_init(NAME), 0);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_DEINIT, NULL), 0);
    CHECK(reads_as_data(10, 4));
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_DEINIT, NULL), 0);
    SAME(disk_access_status(NAME), DISK_STATUS_UNINIT);
    SAME(disk_access_init(NAME), 0);
    CHECK(reads_as_data(10, 4));
}

static void misuse_is_an_error_and_nothing_of_it_is_done(void) {
    chip_blank();
    reset(false);
    uint32_t number = 0;
    SAME(phelsuma_disk_register(NULL), -EINVAL);
    disk.config.meta_place = PHELSUMA_META_IN_PAGE;
    SAME(phelsuma_disk_register(&disk), -EINVAL);
    disk.config.meta_place = PHELSUMA_META_SPARE;
    SAME(phelsuma_disk_register(&disk), 0);
    SAME(phelsuma_disk_register(&disk), -EALREADY);

    /* Not initialised. */
    SAME(disk_access_read(NAME, read_back[0], 0, 1), -ENODEV);
    SAME(disk_access_write(NAME, data[0], 0, 1), -ENODEV);
    SAME(disk_access_erase(NAME, 0, 1, DISK_ACCESS_ERASE_PHYSICAL), -ENODEV);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_SYNC, NULL), -ENODEV);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_GET_SECTOR_COUNT, &number), -ENODEV);
    SAME(disk.info.ops->ioctl(&disk.info, DISK_IOCTL_CTRL_DEINIT, NULL), 0);
    SAME(phelsuma_disk_maintain(&disk, 1, NULL), -ENODEV);

    /* No drive is on the chip, and none is asked for. Memory that is too small or misaligned. */
    SAME(disk_access_init(NAME), -ENXIO);
    disk.formats_blank_chip = true;
    disk.memory_bytes = 100;
    SAME(disk_access_init(NAME), -ENOMEM);
    disk.memory_bytes = sizeof memory - 1;
    disk.memory = memory + 1;
    SAME(disk_access_init(NAME), -EINVAL);
    SAME(disk_access_status(NAME), DISK_STATUS_UNINIT);
    disk.memory = memory;
    SAME(disk_access_init(NAME), 0);
    SAME(disk.info.ops->init(&disk.info), -EALREADY);
    SAME(disk.info.ops->ioctl(&disk.info, DISK_IOCTL_CTRL_INIT, NULL), -EALREADY);

    /* Out of range: pages within the range stay as they are. */
    uint32_t sectors = disk.config.logical_pages;
    fill(1);
    SAME(disk_access_write(NAME, data[0], sectors - 2, 2), 0);
    fill(50);
    SAME(disk_access_write(NAME, data[0], sectors - 2, 4), -EINVAL);
    SAME(disk_access_erase(NAME, sectors - 2, 3, DISK_ACCESS_ERASE_PHYSICAL), -EINVAL);
    SAME(disk_access_read(NAME, read_back[0], sectors - 2, 4), -EINVAL);
    SAME(disk_access_write(NAME, data[0], sectors + 1, 0), -EINVAL);
    SAME(disk_access_read(NAME, read_back[0], UINT32_MAX, 2), -EINVAL);
    SAME(disk_access_write(NAME, data[0], 1, UINT32_MAX), -EINVAL);
    SAME(disk_access_erase(NAME, UINT32_MAX, UINT32_MAX, DISK_ACCESS_ERASE_PHYSICAL), -EINVAL);
    fill(1);
    CHECK(reads_as_data(sectors - 2, 2));
    memset(data, 0, sizeof data);
    CHECK(reads_as_data(1, 4));

    /* Nowhere to read to or to write from, or a place in the drive's own memory. */
    SAME(disk_access_read(NAME, NULL, 0, 1), -EINVAL);
    SAME(disk_access_write(NAME, NULL, 0, 1), -EINVAL);
    SAME(disk_access_read(NAME, memory, 0, 1), -EINVAL);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_GET_SECTOR_SIZE, NULL), -EINVAL);
    SAME(disk_access_ioctl(NAME, 99, NULL), -ENOTSUP);

    /* Another drive than that on the chip. */
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_DEINIT, NULL), 0);
    disk.config.logical_pages--;
    SAME(disk_access_init(NAME), -ENXIO);
    disk.config.logical_pages++;
    SAME(disk_access_init(NAME), 0);
    fill(1);
    CHECK(reads_as_data(sectors - 2, 2));
}

static int answer;
static void write_from_the_driver(void) { answer = disk_access_write(NAME, data[0], 3, 1); }

static void a_driver_that_calls_its_disk_is_refused(void) {
    fill(7);
    chip_meanwhile = write_from_the_driver;
    SAME(disk_access_write(NAME, data[0], 5, 1), 0);
    chip_meanwhile = NULL;
    SAME(answer, -EBUSY);
    CHECK(reads_as_data(5, 1));
}

static void wear_out(void) { chip_is_worn_out = true; }

static void a_worn_out_chip_can_be_read(void) {
    fill(9);
    SAME(disk_access_write(NAME, data[0], 5, 2), 0);
    /* It wears out while the erase is made durable. So the erase is none, and the disk ends by force only. */
    bool by_force = true;
    chip_meanwhile = wear_out;
    SAME(disk_access_erase(NAME, 5, 1, DISK_ACCESS_ERASE_PHYSICAL), -EROFS);
    chip_meanwhile = NULL;
    SAME(disk_access_write(NAME, data[0], 5, 1), -EROFS);
    SAME(disk_access_status(NAME), DISK_STATUS_WR_PROTECT);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_SYNC, NULL), -EROFS);
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_DEINIT, NULL), -EROFS);
    SAME(disk_access_status(NAME), DISK_STATUS_WR_PROTECT);
    memcpy(data[0], data[1], sizeof data[0]);
    CHECK(reads_as_data(6, 1));
    SAME(disk_access_ioctl(NAME, DISK_IOCTL_CTRL_DEINIT, &by_force), 0);
    SAME(disk_access_status(NAME), DISK_STATUS_UNINIT);
}

static bool write_one(uint32_t page, const uint8_t *bytes) { return disk_access_write(NAME, bytes, page, 1) == 0; }
static bool read_one(uint32_t page, uint8_t *bytes) { return disk_access_read(NAME, bytes, page, 1) == 0; }

static bool boot(bool is_first) {
    reset(is_first);
    return SAME(phelsuma_disk_register(&disk), 0) && SAME(disk_access_init(NAME), 0);
}
static bool write_some(uint32_t first, uint32_t pages, const uint8_t *bytes) {
    return disk_access_write(NAME, bytes, first, pages) == 0;
}
static bool erase_some(uint32_t first, uint32_t pages) {
    return disk_access_erase(NAME, first, pages, DISK_ACCESS_ERASE_PHYSICAL) == 0;
}
static bool idle(void) { return phelsuma_disk_maintain(&disk, 8, NULL) == 0; }

int main(void) {
    a_disk_is_used_as_file_systems_do();
    misuse_is_an_error_and_nothing_of_it_is_done();
    SAME(check_threads(2000, write_one, read_one), 0);
    a_driver_that_calls_its_disk_is_refused();
    a_worn_out_chip_can_be_read();
    chip_blank();
    const struct trial_drive tried = {
        .pages = chip_config().logical_pages,
        .request_pages = TRIAL_REQUEST_PAGES,
        .boot = boot,
        .read = read_one,
        .write = write_some,
        .discard = erase_some,
        .idle = idle,
    };
    CHECK(trial_run(&tried, BOOTS));
    printf("disk of Zephyr: %u checks, %u failed\n", checks, checks_failed);
    return checks_failed == 0 ? 0 : 1;
}
