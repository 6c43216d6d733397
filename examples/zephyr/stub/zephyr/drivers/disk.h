/* What the adapter uses of this header, as Zephyr 4.4 has it. Before 4.4 a disk has no `erase`. */
#ifndef ZEPHYR_DRIVERS_DISK_H
#define ZEPHYR_DRIVERS_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define DISK_IOCTL_GET_SECTOR_COUNT 1
#define DISK_IOCTL_GET_SECTOR_SIZE 2
#define DISK_IOCTL_GET_ERASE_BLOCK_SZ 4
#define DISK_IOCTL_CTRL_SYNC 5
#define DISK_IOCTL_CTRL_INIT 6
#define DISK_IOCTL_CTRL_DEINIT 7

#define DISK_STATUS_OK 0x00
#define DISK_STATUS_UNINIT 0x01
#define DISK_STATUS_NOMEDIA 0x02
#define DISK_STATUS_WR_PROTECT 0x04

struct device;
struct disk_operations;

struct disk_info {
    /* A list's node there. */
    struct disk_info *node;
    const char *name;
    const struct disk_operations *ops;
    const struct device *dev;
    uint16_t refcnt;
};

struct disk_operations {
    int (*init)(struct disk_info *disk);
    int (*status)(struct disk_info *disk);
    int (*read)(struct disk_info *disk, uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector);
    int (*write)(struct disk_info *disk, const uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector);
    int (*erase)(struct disk_info *disk, uint32_t start_sector, uint32_t num_sector);
    int (*ioctl)(struct disk_info *disk, uint8_t cmd, void *buff);
};

int disk_access_register(struct disk_info *disk);
int disk_access_unregister(struct disk_info *disk);

#endif
