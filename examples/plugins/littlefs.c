/*
 * littlefs (github.com/littlefs-project/littlefs) as a subject of the crash laboratory: a file for each host page.
 *
 * It is a file system and no FTL. What it promises is tried all the same: a file that was closed is there after a power cut.
 */

#include "lfs.h"
#include "phelsuma_plugin.h"
#include <string.h>

struct state {
  lfs_t lfs;
  struct lfs_config config;
  struct lfs_file_config file;
  const phelsuma_nand *nand;
  uint8_t buffers[]; /* read, program, file, lookahead */
};

static const phelsuma_nand *nand_of(const struct lfs_config *c)
{
  return c->context;
}

static uint32_t page_of(const struct lfs_config *c, lfs_block_t block, lfs_off_t off)
{
  return block * nand_of(c)->chip.pages_per_block + off / nand_of(c)->chip.page_bytes;
}

static int block_read(const struct lfs_config *c, lfs_block_t block, lfs_off_t off, void *buffer, lfs_size_t size)
{
  const phelsuma_nand *nand = nand_of(c);
  const uint32_t page_bytes = nand->chip.page_bytes;
  uint8_t *data = buffer;
  while (size > 0) {
    const uint32_t column = off % page_bytes;
    const uint32_t bytes = size < page_bytes - column ? size : page_bytes - column;
    if (nand->read(nand->context, page_of(c, block, off), column, data, bytes, NULL) < 0)
      return LFS_ERR_CORRUPT;
    data += bytes;
    off += bytes;
    size -= bytes;
  }
  return 0;
}

static int block_prog(const struct lfs_config *c, lfs_block_t block, lfs_off_t off, const void *buffer, lfs_size_t size)
{
  const phelsuma_nand *nand = nand_of(c);
  const uint32_t page_bytes = nand->chip.page_bytes;
  for (uint32_t at = 0; at < size; at += page_bytes) {
    const uint8_t *data = (const uint8_t *)buffer + at;
    if (nand->is_bad(nand->context, block))
      return LFS_ERR_CORRUPT;
    if (nand->program(nand->context, page_of(c, block, off + at), data, page_bytes, NULL) < 0) {
      nand->mark_bad(nand->context, block);
      return LFS_ERR_CORRUPT;
    }
  }
  return 0;
}

static int block_erase(const struct lfs_config *c, lfs_block_t block)
{
  const phelsuma_nand *nand = nand_of(c);
  if (nand->is_bad(nand->context, block))
    return LFS_ERR_CORRUPT;
  if (nand->erase(nand->context, block) == 0)
    return 0;
  nand->mark_bad(nand->context, block);
  return LFS_ERR_CORRUPT;
}

static int block_sync(const struct lfs_config *c)
{
  (void)c;
  return 0;
}

static uint32_t host_page_bytes(const phelsuma_chip *chip)
{
  /* Larger files would not be stored in the directory. */
  return chip->page_bytes <= 512 && chip->pages_per_block >= 8 ? chip->page_bytes : 0;
}

static uint32_t most_logical_pages(const phelsuma_chip *chip)
{
  const uint32_t of_pair = chip->page_bytes * chip->pages_per_block / 2 / (chip->page_bytes + 40);
  return chip->blocks > 8 ? (chip->blocks - 8) / 2 * of_pair * 3 / 4 : 0;
}

static uint32_t lookahead_bytes(const phelsuma_chip *chip)
{
  return (chip->blocks + 63) / 64 * 8;
}

static size_t memory_bytes(const phelsuma_chip *chip, uint32_t logical_pages)
{
  (void)logical_pages;
  return sizeof(struct state) + 3 * chip->page_bytes + lookahead_bytes(chip);
}

static struct state *begin(void *memory, const phelsuma_nand *nand)
{
  struct state *s = memory;
  const phelsuma_chip chip = nand->chip;
  s->nand = nand;
  s->file = (struct lfs_file_config){.buffer = s->buffers + 2 * chip.page_bytes};
  s->config = (struct lfs_config){
    .context = (void *)nand,
    .read = block_read,
    .prog = block_prog,
    .erase = block_erase,
    .sync = block_sync,
    /* A read that reached into the next page would fail where that one is torn. */
    .read_size = chip.page_bytes,
    .prog_size = chip.page_bytes,
    .block_size = chip.page_bytes * chip.pages_per_block,
    .block_count = chip.blocks,
    .block_cycles = 500,
    .cache_size = chip.page_bytes,
    .lookahead_size = lookahead_bytes(&chip),
    .read_buffer = s->buffers,
    .prog_buffer = s->buffers + chip.page_bytes,
    .lookahead_buffer = s->buffers + 3 * chip.page_bytes,
  };
  return s;
}

static int32_t result_of(int error)
{
  switch (error) {
  case LFS_ERR_NOENT:
    return PHELSUMA_PLUGIN_BLANK;
  case LFS_ERR_CORRUPT:
  case LFS_ERR_IO:
    return PHELSUMA_PLUGIN_UNREADABLE;
  case LFS_ERR_NOSPC:
    return PHELSUMA_PLUGIN_FULL;
  default:
    return error < 0 ? PHELSUMA_PLUGIN_FAILED : PHELSUMA_PLUGIN_OK;
  }
}

static int32_t mount(void *memory, const phelsuma_nand *nand, uint32_t logical_pages)
{
  (void)logical_pages;
  struct state *s = begin(memory, nand);
  return lfs_mount(&s->lfs, &s->config) < 0 ? PHELSUMA_PLUGIN_NOT_FORMATTED : PHELSUMA_PLUGIN_OK;
}

static int32_t format(void *memory, const phelsuma_nand *nand, uint32_t logical_pages)
{
  struct state *s = begin(memory, nand);
  const int error = lfs_format(&s->lfs, &s->config);
  return error < 0 ? result_of(error) : mount(memory, nand, logical_pages);
}

static void name_of(uint32_t page, char name[9])
{
  for (int digit = 0; digit < 8; digit++)
    name[digit] = "0123456789abcdef"[page >> (28 - 4 * digit) & 15];
  name[8] = 0;
}

static int32_t read(void *memory, uint32_t page, uint8_t *data)
{
  struct state *s = memory;
  const lfs_size_t bytes = s->nand->chip.page_bytes;
  char name[9];
  name_of(page, name);
  lfs_file_t file;
  const int error = lfs_file_opencfg(&s->lfs, &file, name, LFS_O_RDONLY, &s->file);
  if (error < 0)
    return result_of(error);
  const lfs_ssize_t got = lfs_file_read(&s->lfs, &file, data, bytes);
  const int closed = lfs_file_close(&s->lfs, &file);
  if (got < 0 || closed < 0)
    return result_of(got < 0 ? (int)got : closed);
  /* It makes a file and then writes it: an empty one is a page whose first write was cut. */
  if (got == 0)
    return PHELSUMA_PLUGIN_BLANK;
  return (lfs_size_t)got == bytes ? PHELSUMA_PLUGIN_OK : PHELSUMA_PLUGIN_UNREADABLE;
}

static int32_t write(void *memory, uint32_t page, const uint8_t *data)
{
  struct state *s = memory;
  char name[9];
  name_of(page, name);
  lfs_file_t file;
  const int error = lfs_file_opencfg(&s->lfs, &file, name, LFS_O_WRONLY | LFS_O_CREAT | LFS_O_TRUNC, &s->file);
  if (error < 0)
    return result_of(error);
  const lfs_ssize_t put = lfs_file_write(&s->lfs, &file, data, s->nand->chip.page_bytes);
  const int closed = lfs_file_close(&s->lfs, &file);
  return result_of(put < 0 ? (int)put : closed);
}

static int32_t trim(void *memory, uint32_t first, uint32_t pages)
{
  struct state *s = memory;
  char name[9];
  for (uint32_t page = first; page < first + pages; page++) {
    name_of(page, name);
    const int error = lfs_remove(&s->lfs, name);
    if (error < 0 && error != LFS_ERR_NOENT)
      return result_of(error);
  }
  return PHELSUMA_PLUGIN_OK;
}

static int32_t sync(void *memory)
{
  (void)memory; /* A file is durable when it is closed. */
  return PHELSUMA_PLUGIN_OK;
}

const phelsuma_plugin *phelsuma_plugin_v1(void)
{
  static const phelsuma_plugin plugin = {
    .name = "littlefs",
    .host_page_bytes = host_page_bytes,
    .most_logical_pages = most_logical_pages,
    .memory_bytes = memory_bytes,
    .format = format,
    .mount = mount,
    .read = read,
    .write = write,
    .trim = trim,
    .sync = sync,
  };
  return &plugin;
}
