/*
 * A flash translation layer for microcontrollers: no heap, all memory lent by its caller.
 *
 * A write is on flash when it returns. A power cut may come at any operation, also while a drive mounts.
 *
 * A drive may be called by one thread at a time, and not by its own driver: else it answers PHELSUMA_ERROR_BUSY. On a
 * core that has no atomic exchange (Cortex-M0, ESP32-C3), the program sees to it for interrupts.
 *
 * How much memory a drive takes, phelsuma_memory_bytes() says. Print it once on a PC: a core of 32 bits takes a little less.
 *
 * Written by cbindgen; the sources are in crates/mcu-c/src.
 */

#ifndef PHELSUMA_H
#define PHELSUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * What the memory of a drive begins at a multiple of.
 */
#define PHELSUMA_ALIGN 8

/**
 * Bytes of metadata beside each page.
 */
#define PHELSUMA_SPARE_BYTES 16

/**
 * The metadata stand in the spare area, where ECC protects them. A host page is as long as a flash page.
 */
#define PHELSUMA_META_SPARE 0

/**
 * The metadata are the last bytes of the page, where there is no spare area to be had. A host page is 16 bytes shorter.
 */
#define PHELSUMA_META_IN_PAGE 1

/**
 * A good `window` of a `phelsuma_config`.
 */
#define PHELSUMA_WINDOW 24

/**
 * Why something was not done.
 */
typedef enum phelsuma_error {
  /**
   * It was done.
   */
  PHELSUMA_ERROR_NONE = 0,
  /**
   * A pointer is NULL, or a function of the driver.
   */
  PHELSUMA_ERROR_NULL = 1,
  /**
   * The memory does not begin at a multiple of PHELSUMA_ALIGN.
   */
  PHELSUMA_ERROR_MISALIGNED = 2,
  /**
   * The memory is smaller than phelsuma_memory_bytes().
   */
  PHELSUMA_ERROR_MEMORY = 3,
  /**
   * There is no mounted drive at this pointer.
   */
  PHELSUMA_ERROR_NOT_MOUNTED = 4,
  /**
   * Another call of this drive is under way: in another thread, or this one is from its driver.
   */
  PHELSUMA_ERROR_BUSY = 5,
  /**
   * Bytes of a page, pages of a block, blocks or the place of metadata are outside of what they can be.
   */
  PHELSUMA_ERROR_CHIP = 6,
  /**
   * There are no host pages, or too many of them for the chip, these dirty slots and so many bad blocks.
   */
  PHELSUMA_ERROR_LOGICAL_PAGES = 7,
  /**
   * `dirty_slots` is no power of two, or too small.
   */
  PHELSUMA_ERROR_DIRTY_SLOTS = 8,
  /**
   * `window` is below 4, or above 4,096.
   */
  PHELSUMA_ERROR_WINDOW = 9,
  /**
   * More blocks may be bad than there are to spare.
   */
  PHELSUMA_ERROR_BAD_BLOCKS = 10,
  /**
   * The chip is blank: format it.
   */
  PHELSUMA_ERROR_NOT_FORMATTED = 11,
  /**
   * Something stands on the chip that this configuration does not read. It was formatted with another shape, other
   * parts, another place of metadata or number of host pages; or reads fail. To give its data up, format.
   */
  PHELSUMA_ERROR_OTHER_DRIVE = 12,
  /**
   * The host page is not on the drive.
   */
  PHELSUMA_ERROR_OUT_OF_RANGE = 13,
  /**
   * The data are not as long as a host page.
   */
  PHELSUMA_ERROR_LENGTH = 14,
  /**
   * The data stand in the memory of the drive.
   */
  PHELSUMA_ERROR_OVERLAP = 15,
  /**
   * The page cannot be read: its data are lost until it is written again. (A page that was written shortly before a cut
   * and goes bad later may read as its older version instead.)
   */
  PHELSUMA_ERROR_UNREADABLE = 16,
  /**
   * Too many blocks are bad: the drive can only be read. On a new chip look at its write protection.
   */
  PHELSUMA_ERROR_FULL = 17,
} phelsuma_error;

/**
 * A drive that is mounted. It is in the memory that was lent, and moves with it nowhere.
 */
typedef struct phelsuma phelsuma;

/**
 * A chip, and the drive that is to be on it. The chip and `logical_pages` stay as they are from the format on.
 */
typedef struct phelsuma_config {
  /**
   * Bytes of a page without its spare area: a power of two, 512 to 16,384.
   */
  uint32_t page_bytes;
  /**
   * Pages of a block: a power of two, 4 to 256.
   */
  uint32_t pages_per_block;
  /**
   * Blocks, bad ones included: 8 to 65,536.
   */
  uint32_t blocks;
  /**
   * Where metadata stand: PHELSUMA_META_SPARE or PHELSUMA_META_IN_PAGE.
   */
  uint32_t meta_place;
  /**
   * Host pages: phelsuma_most_logical_pages() fit.
   */
  uint32_t logical_pages;
  /**
   * Room for mapping entries that are not on flash yet: a power of two, at least 16. Eight bytes of memory each. With
   * fewer there is room for fewer host pages; 1,024 suit 128 MiB.
   */
  uint32_t dirty_slots;
  /**
   * Blocks that may be opened until a dirty entry is written: at least 4. PHELSUMA_WINDOW is a good one. It does not shrink.
   */
  uint32_t window;
  /**
   * Blocks that may be bad or grow bad. A fiftieth of all is usual.
   */
  uint32_t bad_blocks;
  /**
   * Bits that ECC corrects in a page from which on its block is written anew. 0: never.
   */
  uint32_t refresh_bits;
  /**
   * Reads of a block, about, from which on it is written anew. 0: they are not counted.
   */
  uint32_t disturb_reads;
} phelsuma_config;

/**
 * A driver for one chip. It is copied when a drive is mounted. No function may be NULL.
 *
 * Pages are numbered through all blocks: block times `pages_per_block`, plus the page in the block. The rules that it keeps:
 * 1. Each operation is complete when its call returns. A power cut meets one operation at the most.
 * 2. A page is programmed once after an erase of its block, pages of a block in ascending order.
 * 3. Data and spare area are programmed together, and have an ECC each, or one in common.
 * 4. An erased page reads as ones, its spare area too.
 * 5. A bad block stays bad over power cuts.
 * 6. The chip's write protection is off before a drive is formatted or mounted.
 *
 * A function may let other threads run while the chip is busy. It may leave by `longjmp`, as if the power had failed: then
 * the drive is mounted anew. A chip has one mounted drive.
 *
 * None of these functions may call the drive: it answers PHELSUMA_ERROR_BUSY.
 */
typedef struct phelsuma_flash {
  /**
   * The first argument of each of these functions. It may be NULL.
   */
  void *context;
  /**
   * Reads `bytes` of a page from `column` on, and its 16 bytes of spare area where `spare` is not NULL.
   * `data` is NULL where `bytes` is 0. Returns how many bits ECC has corrected; below 0: more than it corrects, and the
   * data are gone for good. What may read well later, such as a bus that fails, is to be read again in the driver.
   */
  int32_t (*read)(void *context, uint32_t page, uint32_t column, uint8_t *data, uint32_t bytes, uint8_t *spare);
  /**
   * Programs all bytes of a page, and its spare area where `spare` is not NULL. Returns 0, or anything else for a failure.
   */
  int32_t (*program)(void *context, uint32_t page, const uint8_t *data, uint32_t bytes, const uint8_t *spare);
  /**
   * Erases a block. Returns 0, or anything else for a failure.
   */
  int32_t (*erase)(void *context, uint32_t block);
  /**
   * Whether a block is bad, from the factory or by `mark_bad`: 0 or anything else.
   */
  int32_t (*is_bad)(void *context, uint32_t block);
  /**
   * Retires a block for good. Its pages are read until the next checkpoint is written.
   */
  void (*mark_bad)(void *context, uint32_t block);
} phelsuma_flash;

/**
 * The state of a drive.
 */
typedef struct phelsuma_state {
  /**
   * Host pages.
   */
  uint32_t logical_pages;
  /**
   * Bytes of each.
   */
  uint32_t page_bytes;
  /**
   * Blocks that may be opened.
   */
  uint32_t free_blocks;
  /**
   * Blocks that are bad.
   */
  uint32_t bad_blocks;
  /**
   * The drive can only be read: too many blocks are bad.
   */
  bool read_only;
  /**
   * Bytes of memory that the drive uses, with the handle.
   */
  size_t memory_bytes;
  /**
   * Pages written by the host since the drive was mounted, as all that follows.
   */
  uint64_t host_writes;
  /**
   * Pages that collections moved.
   */
  uint64_t moved;
  /**
   * Translation pages written.
   */
  uint64_t translation;
  /**
   * Pages of Logarithmic Gecko written.
   */
  uint64_t gecko;
  /**
   * Pages of checkpoints written.
   */
  uint64_t checkpoint;
  /**
   * Blocks erased.
   */
  uint64_t erases;
  /**
   * Programs and erases that failed.
   */
  uint64_t failures;
} phelsuma_state;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Bytes of memory that a drive needs, its handle included. 0 where `config` is NULL or cannot be: phelsuma_mount()
 * says why.
 */
size_t phelsuma_memory_bytes(const struct phelsuma_config *config);

/**
 * The most host pages for the rest of a configuration; its `logical_pages` do not matter. 0 where `config` is NULL or the
 * rest of it cannot be.
 */
uint32_t phelsuma_most_logical_pages(const struct phelsuma_config *config);

/**
 * Makes a blank drive, and mounts it. What was on the chip cannot be read any more.
 *
 * `config` and `flash` are copied. `memory` is the drive's until it is unmounted; what was in it does not matter. It
 * begins at a multiple of PHELSUMA_ALIGN and has phelsuma_memory_bytes() bytes at least. A drive that was mounted in
 * it is gone, and no call of it may be under way. The handle goes to `drive`; NULL if there is an error.
 */
enum phelsuma_error phelsuma_format(const struct phelsuma_config *config,
                                    const struct phelsuma_flash *flash,
                                    uint8_t *memory,
                                    size_t bytes,
                                    struct phelsuma **drive);

/**
 * Mounts the drive that is on the chip, also after a power cut. Everything else is as with phelsuma_format().
 */
enum phelsuma_error phelsuma_mount(const struct phelsuma_config *config,
                                   const struct phelsuma_flash *flash,
                                   uint8_t *memory,
                                   size_t bytes,
                                   struct phelsuma **drive);

/**
 * Writes a host page. When it returns PHELSUMA_ERROR_NONE, a power cut does not take the page back.
 *
 * `bytes` are those of a host page: `page_bytes`, 16 less with PHELSUMA_META_IN_PAGE.
 */
enum phelsuma_error phelsuma_write(struct phelsuma *drive, uint32_t page, const uint8_t *data, size_t bytes);

/**
 * Reads a host page; zeros where it was never written, or trimmed. Where there is an error, `data` holds no page.
 */
enum phelsuma_error phelsuma_read(struct phelsuma *drive, uint32_t page, uint8_t *data, size_t bytes);

/**
 * Discards host pages: they read as zeros. A power cut before the next phelsuma_sync() may bring back what they held.
 */
enum phelsuma_error phelsuma_trim(struct phelsuma *drive, uint32_t first, uint32_t pages);

/**
 * Makes trims durable. Writes are when they return.
 */
enum phelsuma_error phelsuma_sync(struct phelsuma *drive);

/**
 * Does work that a write would have to do: moves up to so many pages. Call it while the host is idle.
 *
 * Whether there is more to do goes to `more`, which may be NULL. Where there is not, the next write programs a page and
 * erases a block at the most.
 */
enum phelsuma_error phelsuma_maintain(struct phelsuma *drive, uint32_t pages, bool *more);

/**
 * The state of a drive. It takes as long as looking at a word of each block.
 */
enum phelsuma_error phelsuma_info(struct phelsuma *drive, struct phelsuma_state *info);

/**
 * Makes trims durable, and gives the memory back. Also where that is an error, the drive is not mounted any more.
 */
enum phelsuma_error phelsuma_unmount(struct phelsuma *drive);

/**
 * The name of an error's constant. Any number may be asked for.
 */
const char *phelsuma_error_name(int32_t error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PHELSUMA_H */
