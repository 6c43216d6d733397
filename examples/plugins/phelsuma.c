/* The FTL for microcontrollers behind its own header: libphelsuma.a as a subject of the crash laboratory. */

#include "phelsuma.h"
#include "phelsuma_plugin.h"

/* Which FTL the library has. */
#ifndef PARTS
#define PARTS "gecko"
#endif

/* In front of the memory that the library is lent. */
struct state {
  phelsuma *drive;
  uint64_t memory[];
};

static phelsuma_config config_of(const phelsuma_chip *chip, uint32_t logical_pages)
{
  return (phelsuma_config){
    .page_bytes = chip->page_bytes,
    .pages_per_block = chip->pages_per_block,
    .blocks = chip->blocks,
    .meta_place = PHELSUMA_META_SPARE,
    .logical_pages = logical_pages,
    .dirty_slots = 64,
    .window = PHELSUMA_WINDOW,
    /* Of few blocks 2 % are none. */
    .bad_blocks = chip->blocks / 50 + 2,
  };
}

static uint32_t host_page_bytes(const phelsuma_chip *chip)
{
  return chip->page_bytes;
}

static uint32_t most_logical_pages(const phelsuma_chip *chip)
{
  const phelsuma_config config = config_of(chip, 1);
  return phelsuma_most_logical_pages(&config);
}

static size_t memory_bytes(const phelsuma_chip *chip, uint32_t logical_pages)
{
  const phelsuma_config config = config_of(chip, logical_pages);
  return sizeof(struct state) + phelsuma_memory_bytes(&config);
}

static int32_t result_of(phelsuma_error error)
{
  switch (error) {
  case PHELSUMA_ERROR_NONE:
    return PHELSUMA_PLUGIN_OK;
  case PHELSUMA_ERROR_UNREADABLE:
    return PHELSUMA_PLUGIN_UNREADABLE;
  case PHELSUMA_ERROR_FULL:
    return PHELSUMA_PLUGIN_FULL;
  case PHELSUMA_ERROR_NOT_FORMATTED:
    return PHELSUMA_PLUGIN_NOT_FORMATTED;
  default:
    return PHELSUMA_PLUGIN_FAILED;
  }
}

typedef phelsuma_error make_fn(const phelsuma_config *, const phelsuma_flash *, uint8_t *, size_t, phelsuma **);

static int32_t make(void *memory, const phelsuma_nand *nand, uint32_t logical_pages, make_fn *how)
{
  struct state *state = memory;
  const phelsuma_config config = config_of(&nand->chip, logical_pages);
  /* What is lent here has the shape of a driver. */
  const phelsuma_flash flash = {
    .context = nand->context,
    .read = nand->read,
    .program = nand->program,
    .erase = nand->erase,
    .is_bad = nand->is_bad,
    .mark_bad = nand->mark_bad,
  };
  return result_of(how(&config, &flash, (uint8_t *)state->memory, phelsuma_memory_bytes(&config), &state->drive));
}

static int32_t format(void *memory, const phelsuma_nand *nand, uint32_t logical_pages)
{
  return make(memory, nand, logical_pages, phelsuma_format);
}

static int32_t mount(void *memory, const phelsuma_nand *nand, uint32_t logical_pages)
{
  return make(memory, nand, logical_pages, phelsuma_mount);
}

static size_t bytes_of_page(phelsuma *drive)
{
  phelsuma_state info;
  return phelsuma_info(drive, &info) == PHELSUMA_ERROR_NONE ? info.page_bytes : 0;
}

static int32_t read(void *memory, uint32_t page, uint8_t *data)
{
  const struct state *state = memory;
  return result_of(phelsuma_read(state->drive, page, data, bytes_of_page(state->drive)));
}

static int32_t write(void *memory, uint32_t page, const uint8_t *data)
{
  const struct state *state = memory;
  return result_of(phelsuma_write(state->drive, page, data, bytes_of_page(state->drive)));
}

static int32_t trim(void *memory, uint32_t first, uint32_t pages)
{
  return result_of(phelsuma_trim(((struct state *)memory)->drive, first, pages));
}

static int32_t sync(void *memory)
{
  return result_of(phelsuma_sync(((struct state *)memory)->drive));
}

static int32_t maintain(void *memory)
{
  bool more = false;
  const int32_t result = result_of(phelsuma_maintain(((struct state *)memory)->drive, 1, &more));
  return result == PHELSUMA_PLUGIN_OK ? more : result;
}

const phelsuma_plugin *phelsuma_plugin_v1(void)
{
  static const phelsuma_plugin plugin = {
    .name = "phelsuma-c-" PARTS,
    .host_page_bytes = host_page_bytes,
    .most_logical_pages = most_logical_pages,
    .memory_bytes = memory_bytes,
    .format = format,
    .mount = mount,
    .read = read,
    .write = write,
    .trim = trim,
    .sync = sync,
    .maintain = maintain,
  };
  return &plugin;
}
