/* The block device on a chip in RAM: reads, writes, erases, misuse, tasks, and a plug that is pulled. */
#include "check.h"
#include "phelsuma_blockdev.h"
#include "trial.h"

#include <stdio.h>
#include <string.h>

#define PAGE ((uint64_t)CHIP_PAGE_BYTES)

#ifndef BOOTS
#define BOOTS 300u
#endif

static _Alignas(PHELSUMA_ALIGN) uint8_t memory[32 * 1024];
static phelsuma_blockdev_t blockdev;
static phelsuma_blockdev_config_t config;
static esp_blockdev_handle_t device;
static uint8_t data[4][CHIP_PAGE_BYTES], read_back[4][CHIP_PAGE_BYTES];

/* As after a reset: nothing in RAM is as it was. */
static void reset(bool formats) {
    memset(memory, 0xa5, sizeof memory);
    memset(&blockdev, 0, sizeof blockdev);
    device = ESP_BLOCKDEV_HANDLE_INVALID;
    config = (phelsuma_blockdev_config_t){
        .config = chip_config(),
        .flash = chip_driver,
        .memory = memory,
        .memory_bytes = sizeof memory,
        .formats_blank_chip = formats,
    };
}

static void fill(uint8_t first) {
    for (uint32_t page = 0; page < 4; page++) {
        memset(data[page], first + (int)page, sizeof data[page]);
    }
}

static esp_err_t write_at(uint64_t start, size_t bytes) { return device->ops->write(device, data[0], start, bytes); }
static esp_err_t read_at(uint64_t start, size_t bytes) {
    memset(read_back, 0x77, sizeof read_back);
    return device->ops->read(device, read_back[0], sizeof read_back, start, bytes);
}
static esp_err_t erase_at(uint64_t start, size_t bytes) { return device->ops->erase(device, start, bytes); }
static esp_err_t control_at(uint8_t command, uint64_t start, size_t bytes) {
    esp_blockdev_cmd_arg_erase_t range = {.start_addr = start, .erase_len = bytes};
    return device->ops->ioctl(device, command, &range);
}

static bool reads_as_data(uint64_t start, size_t bytes) {
    return SAME(read_at(start, bytes), ESP_OK) && memcmp(read_back, data, bytes) == 0;
}

static void a_device_is_used_as_file_systems_do(void) {
    chip_blank();
    reset(true);
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_OK);
    const esp_blockdev_geometry_t *geometry = &device->geometry;
    CHECK(geometry->disk_size == chip_config().logical_pages * PAGE);
    CHECK(geometry->read_size == PAGE && geometry->write_size == PAGE && geometry->erase_size == PAGE);
    SAME(device->device_flags.val, 0);
    uint64_t end = geometry->disk_size;
    memset(data, 0, sizeof data);
    CHECK(reads_as_data(end - 4 * PAGE, 4 * PAGE));
    fill(1);
    SAME(write_at(end - 4 * PAGE, 4 * PAGE), ESP_OK);
    CHECK(reads_as_data(end - 4 * PAGE, 4 * PAGE));
    /* Each of the three ways to discard. */
    SAME(write_at(10 * PAGE, 4 * PAGE), ESP_OK);
    SAME(erase_at(10 * PAGE, PAGE), ESP_OK);
    SAME(control_at(ESP_BLOCKDEV_CMD_MARK_DELETED, 11 * PAGE, PAGE), ESP_OK);
    SAME(control_at(ESP_BLOCKDEV_CMD_ERASE_CONTENTS, 12 * PAGE, PAGE), ESP_OK);
    memset(data[0], 0, 3 * PAGE);
    CHECK(reads_as_data(10 * PAGE, 4 * PAGE));
    SAME(device->ops->sync(device), ESP_OK);
    /* Nothing is a request too. */
    SAME(write_at(end, 0), ESP_OK);
    SAME(read_at(end, 0), ESP_OK);
    bool more = true;
    for (uint32_t at = 0; at < 1000 && more; at++) {
        SAME(phelsuma_blockdev_maintain(device, 8, &more), ESP_OK);
    }
    CHECK(!more);
    /* What was discarded stays so over a mount. */
    SAME(phelsuma_release_blockdev(device), ESP_OK);
    reset(false);
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_OK);
    CHECK(reads_as_data(10 * PAGE, 4 * PAGE));
    SAME(device->ops->release(device), ESP_OK);
}

static void misuse_is_an_error_and_nothing_of_it_is_done(void) {
    chip_blank();
    reset(false);
    SAME(phelsuma_get_blockdev(&blockdev, &config, NULL), ESP_ERR_INVALID_ARG);
    SAME(phelsuma_get_blockdev(NULL, &config, &device), ESP_ERR_INVALID_ARG);
    SAME(phelsuma_get_blockdev(&blockdev, NULL, &device), ESP_ERR_INVALID_ARG);
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_ERR_NOT_FOUND);
    CHECK(device == ESP_BLOCKDEV_HANDLE_INVALID);
    SAME(phelsuma_release_blockdev(device), ESP_ERR_INVALID_STATE);
    SAME(phelsuma_blockdev_maintain(device, 1, NULL), ESP_ERR_INVALID_STATE);
    config.formats_blank_chip = true;
    config.memory_bytes = 100;
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_ERR_NO_MEM);
    config.memory_bytes = sizeof memory - 1;
    config.memory = memory + 1;
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_ERR_INVALID_ARG);
    config.memory = memory;
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_OK);
    esp_blockdev_handle_t second;
    SAME(phelsuma_get_blockdev(&blockdev, &config, &second), ESP_ERR_INVALID_STATE);
    CHECK(second == ESP_BLOCKDEV_HANDLE_INVALID);

    /* Out of range, misaligned, or of a wrong length: pages within the range stay as they are. */
    uint64_t end = device->geometry.disk_size;
    fill(1);
    SAME(write_at(end - 2 * PAGE, 2 * PAGE), ESP_OK);
    fill(50);
    SAME(write_at(end - 2 * PAGE, 4 * PAGE), ESP_ERR_INVALID_SIZE);
    SAME(write_at(end - 2 * PAGE, PAGE + 1), ESP_ERR_INVALID_SIZE);
    SAME(write_at(end - 2 * PAGE + 1, PAGE), ESP_ERR_INVALID_ARG);
    SAME(write_at(end + PAGE, 0), ESP_ERR_INVALID_ARG);
    SAME(write_at(UINT64_MAX - PAGE + 1, PAGE), ESP_ERR_INVALID_ARG);
    SAME(write_at(PAGE, SIZE_MAX - PAGE + 1), ESP_ERR_INVALID_SIZE);
    /* A page number of 32 bits would be that of page 0. */
    SAME(write_at(PAGE << 32, PAGE), ESP_ERR_INVALID_ARG);
    SAME(erase_at(end - 2 * PAGE, 3 * PAGE), ESP_ERR_INVALID_SIZE);
    SAME(erase_at(end - PAGE, PAGE / 2), ESP_ERR_INVALID_SIZE);
    SAME(erase_at(end - PAGE / 2, PAGE), ESP_ERR_INVALID_ARG);
    SAME(control_at(ESP_BLOCKDEV_CMD_MARK_DELETED, end - 2 * PAGE, 3 * PAGE), ESP_ERR_INVALID_SIZE);
    SAME(control_at(ESP_BLOCKDEV_CMD_ERASE_CONTENTS, end - 2 * PAGE + 1, PAGE), ESP_ERR_INVALID_ARG);
    SAME(control_at(ESP_BLOCKDEV_CMD_USER_BASE, 0, PAGE), ESP_ERR_NOT_SUPPORTED);
    SAME(device->ops->ioctl(device, ESP_BLOCKDEV_CMD_MARK_DELETED, NULL), ESP_ERR_INVALID_ARG);
    SAME(read_at(end - PAGE, 2 * PAGE), ESP_ERR_INVALID_SIZE);
    SAME(read_at(7, PAGE), ESP_ERR_INVALID_ARG);
    SAME(device->ops->read(device, read_back[0], PAGE - 1, 0, PAGE), ESP_ERR_INVALID_SIZE);
    fill(1);
    CHECK(reads_as_data(end - 2 * PAGE, 2 * PAGE));

    /* Nowhere to read to or to write from, or a place in the drive's own memory. */
    SAME(device->ops->read(device, NULL, PAGE, 0, PAGE), ESP_ERR_INVALID_ARG);
    SAME(device->ops->write(device, NULL, 0, PAGE), ESP_ERR_INVALID_ARG);
    SAME(device->ops->read(device, memory, PAGE, 0, PAGE), ESP_ERR_INVALID_ARG);

    /* Released already, or never there. */
    SAME(phelsuma_release_blockdev(device), ESP_OK);
    SAME(device->ops->release(device), ESP_ERR_INVALID_STATE);
    SAME(write_at(0, PAGE), ESP_ERR_INVALID_STATE);
    SAME(read_at(0, PAGE), ESP_ERR_INVALID_STATE);
    SAME(erase_at(0, PAGE), ESP_ERR_INVALID_STATE);
    SAME(device->ops->sync(device), ESP_ERR_INVALID_STATE);
    SAME(device->ops->write(NULL, data[0], 0, PAGE), ESP_ERR_INVALID_STATE);

    /* Another drive than that on the chip. */
    config.config.logical_pages--;
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_ERR_INVALID_VERSION);
    config.config.logical_pages++;
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_OK);
    CHECK(reads_as_data(end - 2 * PAGE, 2 * PAGE));
}

static esp_err_t answers[2];
static void call_from_the_driver(void) {
    answers[0] = write_at(3 * PAGE, PAGE);
    answers[1] = phelsuma_release_blockdev(device);
}

static void a_driver_that_calls_its_device_is_refused(void) {
    fill(7);
    chip_meanwhile = call_from_the_driver;
    SAME(write_at(5 * PAGE, PAGE), ESP_OK);
    chip_meanwhile = NULL;
    SAME(answers[0], ESP_ERR_INVALID_STATE);
    SAME(answers[1], ESP_ERR_INVALID_STATE);
    CHECK(reads_as_data(5 * PAGE, PAGE));
}

static void wear_out(void) { chip_is_worn_out = true; }

static void a_worn_out_chip_can_be_read(void) {
    fill(9);
    SAME(write_at(5 * PAGE, 3 * PAGE), ESP_OK);
    /* It wears out while the erase is made durable. So the erase is none. */
    chip_meanwhile = wear_out;
    SAME(erase_at(5 * PAGE, PAGE), ESP_ERR_NOT_ALLOWED);
    chip_meanwhile = NULL;
    SAME(write_at(5 * PAGE, PAGE), ESP_ERR_NOT_ALLOWED);
    SAME(device->ops->sync(device), ESP_ERR_NOT_ALLOWED);
    memcpy(data[0], data[1], sizeof data[0]);
    CHECK(reads_as_data(6 * PAGE, PAGE));
    SAME(phelsuma_release_blockdev(device), ESP_ERR_NOT_ALLOWED);
    SAME(read_at(6 * PAGE, PAGE), ESP_ERR_INVALID_STATE);
    /* The next mount says so before anything is written. */
    SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_OK);
    SAME(device->device_flags.read_only, 1);
    CHECK(reads_as_data(6 * PAGE, PAGE));
}

static bool write_some(uint32_t first, uint32_t pages, const uint8_t *bytes) {
    return device->ops->write(device, bytes, first * PAGE, pages * PAGE) == ESP_OK;
}
static bool write_one(uint32_t page, const uint8_t *bytes) { return write_some(page, 1, bytes); }
static bool read_one(uint32_t page, uint8_t *bytes) {
    return device->ops->read(device, bytes, PAGE, page * PAGE, PAGE) == ESP_OK;
}
static bool boot(bool is_first) {
    reset(is_first);
    return SAME(phelsuma_get_blockdev(&blockdev, &config, &device), ESP_OK);
}
/* An erase is for good; a trim is after a sync. */
static bool discard(uint32_t first, uint32_t pages) {
    switch (chip_random(3)) {
    case 0:
        return erase_at(first * PAGE, pages * PAGE) == ESP_OK;
    case 1:
        return control_at(ESP_BLOCKDEV_CMD_ERASE_CONTENTS, first * PAGE, pages * PAGE) == ESP_OK;
    }
    return control_at(ESP_BLOCKDEV_CMD_MARK_DELETED, first * PAGE, pages * PAGE) == ESP_OK &&
           device->ops->sync(device) == ESP_OK;
}
static bool idle(void) { return phelsuma_blockdev_maintain(device, 8, NULL) == ESP_OK; }

int main(void) {
    a_device_is_used_as_file_systems_do();
    misuse_is_an_error_and_nothing_of_it_is_done();
    SAME(check_threads(2000, write_one, read_one), 0);
    a_driver_that_calls_its_device_is_refused();
    a_worn_out_chip_can_be_read();
    chip_blank();
    const struct trial_drive tried = {
        .pages = chip_config().logical_pages,
        .request_pages = TRIAL_REQUEST_PAGES,
        .boot = boot,
        .read = read_one,
        .write = write_some,
        .discard = discard,
        .idle = idle,
    };
    CHECK(trial_run(&tried, BOOTS));
    printf("block device of ESP-IDF: %u checks, %u failed\n", checks, checks_failed);
    return checks_failed == 0 ? 0 : 1;
}
