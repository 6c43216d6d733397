#include "phelsuma_blockdev.h"

static esp_err_t esp_error(phelsuma_error error) {
    switch (error) {
    case PHELSUMA_ERROR_NONE:
        return ESP_OK;
    case PHELSUMA_ERROR_NOT_MOUNTED:
    case PHELSUMA_ERROR_BUSY:
        return ESP_ERR_INVALID_STATE;
    case PHELSUMA_ERROR_MEMORY:
        return ESP_ERR_NO_MEM;
    case PHELSUMA_ERROR_NOT_FORMATTED:
        return ESP_ERR_NOT_FOUND;
    case PHELSUMA_ERROR_OTHER_DRIVE:
        return ESP_ERR_INVALID_VERSION;
    case PHELSUMA_ERROR_UNREADABLE:
        return ESP_ERR_INVALID_CRC;
    case PHELSUMA_ERROR_FULL:
        return ESP_ERR_NOT_ALLOWED;
    default:
        return ESP_ERR_INVALID_ARG;
    }
}

/*
 * The mutex makes a second task wait, which would get PHELSUMA_ERROR_BUSY without it. Chips like ESP32-C3 have no
 * atomic exchange: there nothing else keeps tasks apart. The task that has it may take it again. So a driver that calls
 * its device gets an error, and does not wait for itself.
 */
static esp_err_t lock(esp_blockdev_handle_t handle, phelsuma_blockdev_t **out) {
    if (handle == NULL || handle->ctx == NULL) {
        return ESP_ERR_INVALID_STATE;
    }
    phelsuma_blockdev_t *blockdev = handle->ctx;
    if (xSemaphoreTakeRecursive(blockdev->lock, portMAX_DELAY) != pdTRUE) {
        return ESP_ERR_TIMEOUT;
    }
    *out = blockdev;
    return ESP_OK;
}

static esp_err_t unlock(const phelsuma_blockdev_t *blockdev, esp_err_t result) {
    (void)xSemaphoreGiveRecursive(blockdev->lock);
    return result;
}

struct range {
    phelsuma_blockdev_t *blockdev;
    uint32_t first, pages;
    size_t page_bytes;
};

/* Locks the device for a range. That is checked before any of it is done. */
static esp_err_t begin(esp_blockdev_handle_t handle, uint64_t start, size_t bytes, struct range *range) {
    phelsuma_blockdev_t *blockdev;
    esp_err_t result = lock(handle, &blockdev);
    if (result != ESP_OK) {
        return result;
    }
    const esp_blockdev_geometry_t *geometry = &blockdev->device.geometry;
    size_t page_bytes = geometry->write_size;
    if (start % page_bytes != 0 || start > geometry->disk_size) {
        return unlock(blockdev, ESP_ERR_INVALID_ARG);
    }
    if (bytes % page_bytes != 0 || bytes > geometry->disk_size - start) {
        return unlock(blockdev, ESP_ERR_INVALID_SIZE);
    }
    *range = (struct range){blockdev, (uint32_t)(start / page_bytes), (uint32_t)(bytes / page_bytes), page_bytes};
    return ESP_OK;
}

static esp_err_t read_range(esp_blockdev_handle_t handle, uint8_t *data, size_t room, uint64_t start, size_t bytes) {
    struct range range;
    esp_err_t result = room < bytes ? ESP_ERR_INVALID_SIZE : begin(handle, start, bytes, &range);
    if (result != ESP_OK) {
        return result;
    }
    for (uint32_t at = 0; result == ESP_OK && at < range.pages; at++) {
        uint8_t *page = data + at * range.page_bytes;
        result = esp_error(phelsuma_read(range.blockdev->drive, range.first + at, page, range.page_bytes));
    }
    return unlock(range.blockdev, result);
}

static esp_err_t write_range(esp_blockdev_handle_t handle, const uint8_t *data, uint64_t start, size_t bytes) {
    struct range range;
    esp_err_t result = begin(handle, start, bytes, &range);
    if (result != ESP_OK) {
        return result;
    }
    for (uint32_t at = 0; result == ESP_OK && at < range.pages; at++) {
        const uint8_t *page = data + at * range.page_bytes;
        result = esp_error(phelsuma_write(range.blockdev->drive, range.first + at, page, range.page_bytes));
    }
    return unlock(range.blockdev, result);
}

static esp_err_t trim_range(esp_blockdev_handle_t handle, uint64_t start, size_t bytes, bool is_for_good) {
    struct range range;
    esp_err_t result = begin(handle, start, bytes, &range);
    if (result != ESP_OK) {
        return result;
    }
    result = esp_error(phelsuma_trim(range.blockdev->drive, range.first, range.pages));
    if (result == ESP_OK && is_for_good) {
        result = esp_error(phelsuma_sync(range.blockdev->drive));
    }
    return unlock(range.blockdev, result);
}

/* What was in the range must not come back, so this does not wait for a sync. */
static esp_err_t erase_range(esp_blockdev_handle_t handle, uint64_t start, size_t bytes) {
    return trim_range(handle, start, bytes, true);
}

static esp_err_t sync(esp_blockdev_handle_t handle) {
    phelsuma_blockdev_t *blockdev;
    esp_err_t result = lock(handle, &blockdev);
    return result == ESP_OK ? unlock(blockdev, esp_error(phelsuma_sync(blockdev->drive))) : result;
}

static esp_err_t control(esp_blockdev_handle_t handle, const uint8_t command, void *argument) {
    bool is_erase = command == ESP_BLOCKDEV_CMD_ERASE_CONTENTS;
    if (!is_erase && command != ESP_BLOCKDEV_CMD_MARK_DELETED) {
        return ESP_ERR_NOT_SUPPORTED;
    }
    if (argument == NULL) {
        return ESP_ERR_INVALID_ARG;
    }
    const esp_blockdev_cmd_arg_erase_t *range = argument;
    return trim_range(handle, range->start_addr, range->erase_len, is_erase);
}

static esp_err_t release(esp_blockdev_handle_t handle) {
    phelsuma_blockdev_t *blockdev;
    esp_err_t result = lock(handle, &blockdev);
    if (result != ESP_OK) {
        return result;
    }
    phelsuma_error error = phelsuma_unmount(blockdev->drive);
    if (error == PHELSUMA_ERROR_BUSY) {
        return unlock(blockdev, esp_error(error));
    }
    /* Later calls by this handle are errors. */
    handle->ctx = NULL;
    blockdev->drive = NULL;
    (void)unlock(blockdev, ESP_OK);
    vSemaphoreDelete(blockdev->lock);
    return esp_error(error);
}

static const esp_blockdev_ops_t operations = {
    .read = read_range,
    .write = write_range,
    .erase = erase_range,
    .sync = sync,
    .ioctl = control,
    .release = release,
};

static phelsuma_error mount(phelsuma_blockdev_t *blockdev, const phelsuma_blockdev_config_t *given) {
    phelsuma_error error =
        phelsuma_mount(&given->config, &given->flash, given->memory, given->memory_bytes, &blockdev->drive);
    if (error == PHELSUMA_ERROR_NOT_FORMATTED && given->formats_blank_chip) {
        error = phelsuma_format(&given->config, &given->flash, given->memory, given->memory_bytes, &blockdev->drive);
    }
    return error;
}

esp_err_t phelsuma_get_blockdev(phelsuma_blockdev_t *blockdev, const phelsuma_blockdev_config_t *config,
                                esp_blockdev_handle_t *handle) {
    if (handle == NULL) {
        return ESP_ERR_INVALID_ARG;
    }
    *handle = ESP_BLOCKDEV_HANDLE_INVALID;
    if (blockdev == NULL || config == NULL) {
        return ESP_ERR_INVALID_ARG;
    }
    if (blockdev->drive != NULL) {
        return ESP_ERR_INVALID_STATE;
    }
    phelsuma_state state;
    phelsuma_error error = mount(blockdev, config);
    if (error == PHELSUMA_ERROR_NONE) {
        error = phelsuma_info(blockdev->drive, &state);
    }
    if (error != PHELSUMA_ERROR_NONE) {
        return esp_error(error);
    }
    size_t page_bytes = state.page_bytes;
    blockdev->lock = xSemaphoreCreateRecursiveMutexStatic(&blockdev->lock_memory);
    blockdev->device = (esp_blockdev_t){
        .ctx = blockdev,
        .device_flags.read_only = state.read_only,
        .geometry =
            {
                .disk_size = (uint64_t)state.logical_pages * page_bytes,
                .read_size = page_bytes,
                .write_size = page_bytes,
                .erase_size = page_bytes,
            },
        .ops = &operations,
    };
    *handle = &blockdev->device;
    return ESP_OK;
}

esp_err_t phelsuma_release_blockdev(esp_blockdev_handle_t handle) { return release(handle); }

esp_err_t phelsuma_blockdev_maintain(esp_blockdev_handle_t handle, uint32_t pages, bool *more) {
    phelsuma_blockdev_t *blockdev;
    esp_err_t result = lock(handle, &blockdev);
    return result == ESP_OK ? unlock(blockdev, esp_error(phelsuma_maintain(blockdev->drive, pages, more))) : result;
}
