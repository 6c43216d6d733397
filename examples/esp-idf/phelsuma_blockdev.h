/*
 * A block device of ESP-IDF on a flash translation layer. Reads, writes and erases are of whole pages of the chip.
 *
 * A write needs no erase before, and erased pages read as zeros.
 */
#ifndef PHELSUMA_BLOCKDEV_H
#define PHELSUMA_BLOCKDEV_H

#include "esp_blockdev.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "phelsuma.h"

typedef struct {
    phelsuma_config config;
    phelsuma_flash flash;
    /* It begins at a multiple of PHELSUMA_ALIGN, and has phelsuma_memory_bytes() bytes. Internal RAM is fastest. */
    uint8_t *memory;
    size_t memory_bytes;
    /* Whether a chip without a drive gets one. */
    bool formats_blank_chip;
} phelsuma_blockdev_config_t;

/* Zeros at first. Only the adapter looks into it. It lives until the device is released. */
typedef struct {
    esp_blockdev_t device;
    StaticSemaphore_t lock_memory;
    SemaphoreHandle_t lock;
    phelsuma *drive;
} phelsuma_blockdev_t;

/* Mounts a drive. Nothing is allocated: the handle leads into `blockdev`. It must not hold a mounted drive. */
esp_err_t phelsuma_get_blockdev(phelsuma_blockdev_t *blockdev, const phelsuma_blockdev_config_t *config,
                                esp_blockdev_handle_t *handle);

/* Makes trims durable and gives the memory back, also where that is an error. No other task may use the device. */
esp_err_t phelsuma_release_blockdev(esp_blockdev_handle_t handle);

/* Work for an idle task: moves up to so many pages, which a write would have to do. */
esp_err_t phelsuma_blockdev_maintain(esp_blockdev_handle_t handle, uint32_t pages, bool *more);

#endif
