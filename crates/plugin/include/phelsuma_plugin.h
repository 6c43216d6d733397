/*
 * An FTL for the crash laboratory: `phelsuma crash --plugin FILE.so`.
 *
 * The library exports one function: phelsuma_plugin_v1(). It returns a table of functions.
 *
 * Written by cbindgen; the sources are in crates/plugin/src.
 */

#ifndef PHELSUMA_PLUGIN_H
#define PHELSUMA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/**
 * It was done.
 */
#define PHELSUMA_PLUGIN_OK 0

/**
 * Of a read: the page was never written, or is trimmed. The laboratory takes it for zeros.
 */
#define PHELSUMA_PLUGIN_BLANK 1

/**
 * Of a read: the data of the page are lost. It is a finding, unless the plugin promises nothing there.
 */
#define PHELSUMA_PLUGIN_UNREADABLE -1

/**
 * There is no room: too many blocks are bad.
 */
#define PHELSUMA_PLUGIN_FULL -2

/**
 * Of a mount: there is no drive on the flash.
 */
#define PHELSUMA_PLUGIN_NOT_FORMATTED -3

/**
 * Any other failure.
 */
#define PHELSUMA_PLUGIN_FAILED -4

/**
 * What a program returns when the block has failed. It is to be marked as bad.
 */
#define PHELSUMA_PLUGIN_BAD -1

/**
 * Bytes of the spare area beside each page.
 */
#define PHELSUMA_PLUGIN_SPARE_BYTES 16

/**
 * A flag: a power cut may take back what was written since the last `sync`.
 */
#define PHELSUMA_PLUGIN_LOSES_UNSYNCED 1

/**
 * A flag: a page that decays is a read error for the pages concerned and no others. Without it a loss is counted apart; data
 * that were never written there are a finding all the same.
 */
#define PHELSUMA_PLUGIN_DETECTS_DECAY 2

/**
 * A flag: no promise is made where a program or an erase fails.
 */
#define PHELSUMA_PLUGIN_NO_BAD_BLOCKS 4

/**
 * The shape of a chip.
 */
typedef struct phelsuma_chip {
  /**
   * Bytes of a page without its spare area.
   */
  uint32_t page_bytes;
  /**
   * Pages of a block.
   */
  uint32_t pages_per_block;
  /**
   * Blocks, bad ones included.
   */
  uint32_t blocks;
} phelsuma_chip;

/**
 * A simulated chip that is lent to a plugin. Pages are numbered through all blocks.
 *
 * Its rules are those of NAND flash; what breaks one is a finding:
 * 1. A page is programmed once after an erase of its block, pages of a block in ascending order.
 * 2. A program has all bytes of a page.
 * 3. A bad block is neither programmed nor erased.
 *
 * The table stays where it is for as long as the drive lives. Its functions may be called while the plugin is called, and
 * at no other time.
 */
typedef struct phelsuma_nand {
  /**
   * The shape of the chip.
   */
  struct phelsuma_chip chip;
  /**
   * The first argument of each of these functions.
   */
  void *context;
  /**
   * Reads `bytes` of a page from `column` on, and its 16 bytes of spare area where `spare` is not NULL. `data` is
   * NULL where `bytes` is 0. An erased page reads as ones. Returns how many bits ECC has corrected; below 0: more
   * than it corrects, and nothing was read.
   */
  int32_t (*read)(void *context, uint32_t page, uint32_t column, uint8_t *data, uint32_t bytes, uint8_t *spare);
  /**
   * Programs a page, and its spare area where `spare` is not NULL. Returns 0, or below 0 if it has failed.
   */
  int32_t (*program)(void *context, uint32_t page, const uint8_t *data, uint32_t bytes, const uint8_t *spare);
  /**
   * Erases a block. Returns 0, or below 0 if it has failed.
   */
  int32_t (*erase)(void *context, uint32_t block);
  /**
   * Whether a block is bad, from the factory or by `mark_bad`: 0 or 1.
   */
  int32_t (*is_bad)(void *context, uint32_t block);
  /**
   * Retires a block for good. Its pages can still be read.
   */
  void (*mark_bad)(void *context, uint32_t block);
} phelsuma_nand;

/**
 * An FTL. No function may be NULL but `maintain`.
 *
 * **All its state is in `memory`.** It has no variables of its own, and calls no `malloc`: the laboratory copies memory,
 * and runs several drives at a time. It may hold pointers into itself, because it stays where it is. When the power is
 * cut, the memory is gone. Only the flash is left.
 *
 * Host pages are numbered from 0. All functions return PHELSUMA_PLUGIN_OK or one of the errors.
 */
typedef struct phelsuma_plugin {
  /**
   * Its name in reports, which ends with a zero.
   */
  const char *name;
  /**
   * What it does not promise: a sum of flags.
   */
  uint32_t flags;
  /**
   * Bytes of a host page on this chip: a multiple of 8, at the most those of a page. 0: the chip does not suit.
   */
  uint32_t (*host_page_bytes)(const struct phelsuma_chip *chip);
  /**
   * The most host pages on this chip.
   */
  uint32_t (*most_logical_pages)(const struct phelsuma_chip *chip);
  /**
   * Bytes of memory of a drive with so many host pages. The memory begins at a multiple of 16, and holds zeros.
   */
  size_t (*memory_bytes)(const struct phelsuma_chip *chip, uint32_t logical_pages);
  /**
   * Makes a blank drive on a blank chip, some of whose blocks may be bad.
   */
  int32_t (*format)(void *memory, const struct phelsuma_nand *nand, uint32_t logical_pages);
  /**
   * Mounts the drive that is on the chip, from the chip alone.
   */
  int32_t (*mount)(void *memory, const struct phelsuma_nand *nand, uint32_t logical_pages);
  /**
   * Reads a host page.
   */
  int32_t (*read)(void *memory, uint32_t page, uint8_t *data);
  /**
   * Writes a host page.
   */
  int32_t (*write)(void *memory, uint32_t page, const uint8_t *data);
  /**
   * Discards host pages: they are blank. A power cut before the next `sync` may bring back what they held.
   */
  int32_t (*trim)(void *memory, uint32_t first, uint32_t pages);
  /**
   * Makes durable what is not yet.
   */
  int32_t (*sync)(void *memory);
  /**
   * Does a little work while the host is idle. Returns 1 if it did, 0 if there is none. NULL: there never is.
   */
  int32_t (*maintain)(void *memory);
} phelsuma_plugin;

#endif  /* PHELSUMA_PLUGIN_H */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The one function of a plugin; the number is that of this interface. What it returns stays as it is.
 */
const phelsuma_plugin *phelsuma_plugin_v1(void);

#ifdef __cplusplus
}
#endif
