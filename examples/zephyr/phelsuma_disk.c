#include "phelsuma_disk.h"

#include <errno.h>
#include <zephyr/sys/util.h>

static int error_number(phelsuma_error error) {
    switch (error) {
    case PHELSUMA_ERROR_NONE:
        return 0;
    case PHELSUMA_ERROR_NOT_MOUNTED:
        return -ENODEV;
    case PHELSUMA_ERROR_NOT_FORMATTED:
    case PHELSUMA_ERROR_OTHER_DRIVE:
        return -ENXIO;
    case PHELSUMA_ERROR_BUSY:
        return -EBUSY;
    case PHELSUMA_ERROR_MEMORY:
        return -ENOMEM;
    case PHELSUMA_ERROR_UNREADABLE:
        return -EIO;
    case PHELSUMA_ERROR_FULL:
        return -EROFS;
    default:
        return -EINVAL;
    }
}

/*
 * The mutex makes a second thread wait, which would get PHELSUMA_ERROR_BUSY without it. The thread that has it may take
 * it again. So a driver that calls its disk gets that error, and does not wait for itself.
 */
static struct phelsuma_disk *locked(struct disk_info *info) {
    struct phelsuma_disk *disk = CONTAINER_OF(info, struct phelsuma_disk, info);
    (void)k_mutex_lock(&disk->lock, K_FOREVER);
    return disk;
}

static int unlocked(struct phelsuma_disk *disk, int result) {
    (void)k_mutex_unlock(&disk->lock);
    return result;
}

/* A range is checked before any of it is done. */
static int check(const struct phelsuma_disk *disk, uint32_t first, uint32_t sectors) {
    if (disk->drive == NULL) {
        return -ENODEV;
    }
    uint32_t all = disk->config.logical_pages;
    return first > all || sectors > all - first ? -EINVAL : 0;
}

static int mount(struct phelsuma_disk *disk) {
    if (disk->drive != NULL) {
        return -EALREADY;
    }
    phelsuma_error error = phelsuma_mount(&disk->config, &disk->flash, disk->memory, disk->memory_bytes, &disk->drive);
    if (error == PHELSUMA_ERROR_NOT_FORMATTED && disk->formats_blank_chip) {
        error = phelsuma_format(&disk->config, &disk->flash, disk->memory, disk->memory_bytes, &disk->drive);
    }
    return error_number(error);
}

static int unmount(struct phelsuma_disk *disk, bool is_forced) {
    if (disk->drive == NULL) {
        return 0;
    }
    /* Where trims do not get to flash, the disk stays as it is: the disk layer counts on that. */
    phelsuma_error error = phelsuma_sync(disk->drive);
    if (error != PHELSUMA_ERROR_NONE && !is_forced) {
        return error_number(error);
    }
    error = phelsuma_unmount(disk->drive);
    if (error == PHELSUMA_ERROR_BUSY) {
        return -EBUSY;
    }
    disk->drive = NULL;
    return 0;
}

static int disk_init(struct disk_info *info) {
    struct phelsuma_disk *disk = locked(info);
    return unlocked(disk, mount(disk));
}

static int disk_status(struct disk_info *info) {
    struct phelsuma_disk *disk = locked(info);
    int status = DISK_STATUS_UNINIT;
    if (disk->drive != NULL) {
        phelsuma_state state;
        phelsuma_error error = phelsuma_info(disk->drive, &state);
        status = error != PHELSUMA_ERROR_NONE ? error_number(error)
                 : state.read_only            ? DISK_STATUS_WR_PROTECT
                                              : DISK_STATUS_OK;
    }
    return unlocked(disk, status);
}

static int disk_read(struct disk_info *info, uint8_t *data, uint32_t first, uint32_t sectors) {
    struct phelsuma_disk *disk = locked(info);
    size_t bytes = disk->config.page_bytes;
    int result = check(disk, first, sectors);
    for (uint32_t at = 0; result == 0 && at < sectors; at++) {
        result = error_number(phelsuma_read(disk->drive, first + at, data + at * bytes, bytes));
    }
    return unlocked(disk, result);
}

static int disk_write(struct disk_info *info, const uint8_t *data, uint32_t first, uint32_t sectors) {
    struct phelsuma_disk *disk = locked(info);
    size_t bytes = disk->config.page_bytes;
    int result = check(disk, first, sectors);
    for (uint32_t at = 0; result == 0 && at < sectors; at++) {
        result = error_number(phelsuma_write(disk->drive, first + at, data + at * bytes, bytes));
    }
    return unlocked(disk, result);
}

/* Sectors read as zeros then. An erase is not followed by a sync, so it is durable by itself. */
static int disk_erase(struct disk_info *info, uint32_t first, uint32_t sectors) {
    struct phelsuma_disk *disk = locked(info);
    int result = check(disk, first, sectors);
    if (result == 0) {
        result = error_number(phelsuma_trim(disk->drive, first, sectors));
    }
    if (result == 0) {
        result = error_number(phelsuma_sync(disk->drive));
    }
    return unlocked(disk, result);
}

static int tell(const struct phelsuma_disk *disk, void *answer, uint32_t number) {
    if (answer == NULL) {
        return -EINVAL;
    }
    if (disk->drive == NULL) {
        return -ENODEV;
    }
    *(uint32_t *)answer = number;
    return 0;
}

static int control(struct phelsuma_disk *disk, uint8_t command, void *argument) {
    switch (command) {
    case DISK_IOCTL_CTRL_INIT:
        return mount(disk);
    case DISK_IOCTL_CTRL_DEINIT:
        return unmount(disk, argument != NULL && *(bool *)argument);
    case DISK_IOCTL_CTRL_SYNC:
        return disk->drive == NULL ? -ENODEV : error_number(phelsuma_sync(disk->drive));
    case DISK_IOCTL_GET_SECTOR_COUNT:
        return tell(disk, argument, disk->config.logical_pages);
    case DISK_IOCTL_GET_SECTOR_SIZE:
        return tell(disk, argument, disk->config.page_bytes);
    case DISK_IOCTL_GET_ERASE_BLOCK_SZ:
        /* In sectors. Each can be erased alone, so a file system gains nothing by aligning to more. */
        return tell(disk, argument, 1);
    default:
        return -ENOTSUP;
    }
}

static int disk_ioctl(struct disk_info *info, uint8_t command, void *argument) {
    struct phelsuma_disk *disk = locked(info);
    return unlocked(disk, control(disk, command, argument));
}

static const struct disk_operations operations = {
    .init = disk_init,
    .status = disk_status,
    .read = disk_read,
    .write = disk_write,
    .erase = disk_erase,
    .ioctl = disk_ioctl,
};

int phelsuma_disk_register(struct phelsuma_disk *disk) {
    /* With metadata in the page a sector has 16 bytes less, and no file system takes such sectors. */
    if (disk == NULL || disk->config.meta_place != PHELSUMA_META_SPARE) {
        return -EINVAL;
    }
    /* A mutex that threads hold must not be made anew. */
    if (disk->is_registered) {
        return -EALREADY;
    }
    disk->drive = NULL;
    disk->info.ops = &operations;
    int error = k_mutex_init(&disk->lock);
    error = error != 0 ? error : disk_access_register(&disk->info);
    disk->is_registered = error == 0;
    return error;
}

int phelsuma_disk_maintain(struct phelsuma_disk *disk, uint32_t pages, bool *more) {
    (void)locked(&disk->info);
    return unlocked(disk, disk->drive == NULL ? -ENODEV : error_number(phelsuma_maintain(disk->drive, pages, more)));
}
