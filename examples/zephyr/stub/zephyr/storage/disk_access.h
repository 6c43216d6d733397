/* What the test uses of this header, as Zephyr 4.4 has it. */
#ifndef ZEPHYR_STORAGE_DISK_ACCESS_H
#define ZEPHYR_STORAGE_DISK_ACCESS_H

#include <zephyr/drivers/disk.h>

enum disk_access_erase_type { DISK_ACCESS_ERASE_PHYSICAL = 0 };

int disk_access_init(const char *pdrv);
int disk_access_status(const char *pdrv);
int disk_access_read(const char *pdrv, uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector);
int disk_access_write(const char *pdrv, const uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector);
int disk_access_erase(const char *pdrv, uint32_t start_sector, uint32_t num_sector,
                      enum disk_access_erase_type erase_type);
int disk_access_ioctl(const char *pdrv, uint8_t cmd, void *buff);

#endif
