/*
 * A disk of Zephyr on a flash translation layer. A sector is a page of the chip.
 *
 * FatFs takes sectors up to CONFIG_FS_FATFS_MAX_SS, so that has to be as large as a page.
 */
#ifndef PHELSUMA_DISK_H
#define PHELSUMA_DISK_H

#include "phelsuma.h"

#include <zephyr/drivers/disk.h>
#include <zephyr/kernel.h>

/* The board fills in what stands first; the rest is zeros. All of it lives as long as the disk is registered. */
struct phelsuma_disk {
    /* Only the name is the board's, such as "NAND". */
    struct disk_info info;
    phelsuma_config config;
    phelsuma_flash flash;
    /* It begins at a multiple of PHELSUMA_ALIGN, and has phelsuma_memory_bytes() bytes. */
    uint8_t *memory;
    size_t memory_bytes;
    /* Whether a chip without a drive gets one when the disk is initialised. */
    bool formats_blank_chip;

    /* The rest is the adapter's. */
    bool is_registered;
    struct k_mutex lock;
    phelsuma *drive;
};

/* Registers a disk. It is mounted by DISK_IOCTL_CTRL_INIT, as file systems send it. */
int phelsuma_disk_register(struct phelsuma_disk *disk);

/* Work for an idle thread: moves up to so many pages, which a write would have to do. Below 0: an error. */
int phelsuma_disk_maintain(struct phelsuma_disk *disk, uint32_t pages, bool *more);

#endif
