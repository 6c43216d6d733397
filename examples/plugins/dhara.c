/* dhara (github.com/dlbeer/dhara) as a subject of the crash laboratory: its seven functions over the flash that is lent. */

#include "dhara/map.h"
#include "phelsuma_plugin.h"

/* Pages that hold data for each that collection is given, as its users have it. */
#define GC_RATIO 4

struct state {
  struct dhara_nand shape; /* first: dhara hands this out, and it is all the rest */
  const phelsuma_nand *nand;
  struct dhara_map map;
  uint8_t journal_page[];
};

static const phelsuma_nand *nand_of(const struct dhara_nand *n)
{
  return ((const struct state *)(const void *)n)->nand;
}

static uint8_t log2_of(uint32_t power)
{
  return (uint8_t)__builtin_ctz(power);
}

int dhara_nand_is_bad(const struct dhara_nand *n, dhara_block_t b)
{
  return nand_of(n)->is_bad(nand_of(n)->context, b);
}

void dhara_nand_mark_bad(const struct dhara_nand *n, dhara_block_t b)
{
  nand_of(n)->mark_bad(nand_of(n)->context, b);
}

int dhara_nand_erase(const struct dhara_nand *n, dhara_block_t b, dhara_error_t *err)
{
  if (nand_of(n)->erase(nand_of(n)->context, b) == 0)
    return 0;
  dhara_set_error(err, DHARA_E_BAD_BLOCK);
  return -1;
}

int dhara_nand_prog(const struct dhara_nand *n, dhara_page_t p, const uint8_t *data, dhara_error_t *err)
{
  if (nand_of(n)->program(nand_of(n)->context, p, data, nand_of(n)->chip.page_bytes, NULL) == 0)
    return 0;
  dhara_set_error(err, DHARA_E_BAD_BLOCK);
  return -1;
}

int dhara_nand_read(const struct dhara_nand *n, dhara_page_t p, size_t offset, size_t length, uint8_t *data,
                    dhara_error_t *err)
{
  if (nand_of(n)->read(nand_of(n)->context, p, (uint32_t)offset, data, (uint32_t)length, NULL) >= 0)
    return 0;
  dhara_set_error(err, DHARA_E_ECC);
  return -1;
}

int dhara_nand_is_free(const struct dhara_nand *n, dhara_page_t p)
{
  uint8_t data[64];
  for (uint32_t column = 0; column < nand_of(n)->chip.page_bytes; column += sizeof data) {
    if (dhara_nand_read(n, p, column, sizeof data, data, NULL))
      return 0;
    for (size_t i = 0; i < sizeof data; i++)
      if (data[i] != 0xff)
        return 0;
  }
  return 1;
}

int dhara_nand_copy(const struct dhara_nand *n, dhara_page_t src, dhara_page_t dst, dhara_error_t *err)
{
  uint8_t data[nand_of(n)->chip.page_bytes];
  return dhara_nand_read(n, src, 0, sizeof data, data, err) || dhara_nand_prog(n, dst, data, err) ? -1 : 0;
}

static struct dhara_nand shape_of(const phelsuma_chip *chip)
{
  return (struct dhara_nand){log2_of(chip->page_bytes), log2_of(chip->pages_per_block), chip->blocks};
}

static uint32_t host_page_bytes(const phelsuma_chip *chip)
{
  return chip->page_bytes;
}

static uint32_t most_logical_pages(const phelsuma_chip *chip)
{
  const struct dhara_nand shape = shape_of(chip);
  uint8_t page[chip->page_bytes];
  struct dhara_map map;
  dhara_map_init(&map, &shape, page, GC_RATIO);
  return dhara_map_capacity(&map);
}

static size_t memory_bytes(const phelsuma_chip *chip, uint32_t logical_pages)
{
  (void)logical_pages;
  return sizeof(struct state) + chip->page_bytes;
}

static int32_t mount(void *memory, const phelsuma_nand *nand, uint32_t logical_pages)
{
  (void)logical_pages;
  struct state *s = memory;
  s->shape = shape_of(&nand->chip);
  s->nand = nand;
  dhara_map_init(&s->map, &s->shape, s->journal_page, GC_RATIO);
  /* Where it finds nothing, the map is empty. */
  dhara_error_t error = DHARA_E_NONE;
  (void)dhara_map_resume(&s->map, &error);
  return PHELSUMA_PLUGIN_OK;
}

static int32_t result_of(int failed, dhara_error_t error)
{
  if (!failed)
    return PHELSUMA_PLUGIN_OK;
  switch (error) {
  case DHARA_E_NOT_FOUND:
    return PHELSUMA_PLUGIN_BLANK;
  case DHARA_E_ECC:
    return PHELSUMA_PLUGIN_UNREADABLE;
  case DHARA_E_JOURNAL_FULL:
  case DHARA_E_MAP_FULL:
    return PHELSUMA_PLUGIN_FULL;
  default:
    return PHELSUMA_PLUGIN_FAILED;
  }
}

static int32_t read(void *memory, uint32_t page, uint8_t *data)
{
  struct state *s = memory;
  dhara_error_t error = DHARA_E_NONE;
  dhara_page_t place;
  const int failed = dhara_map_find(&s->map, page, &place, &error) ||
                     dhara_nand_read(&s->shape, place, 0, s->nand->chip.page_bytes, data, &error);
  return result_of(failed, error);
}

static int32_t write(void *memory, uint32_t page, const uint8_t *data)
{
  dhara_error_t error = DHARA_E_NONE;
  const int failed = dhara_map_write(&((struct state *)memory)->map, page, data, &error);
  return result_of(failed, error);
}

static int32_t trim(void *memory, uint32_t first, uint32_t pages)
{
  dhara_error_t error = DHARA_E_NONE;
  for (uint32_t page = first; page < first + pages; page++)
    if (dhara_map_trim(&((struct state *)memory)->map, page, &error))
      return result_of(-1, error);
  return PHELSUMA_PLUGIN_OK;
}

static int32_t sync(void *memory)
{
  dhara_error_t error = DHARA_E_NONE;
  const int failed = dhara_map_sync(&((struct state *)memory)->map, &error);
  return result_of(failed, error);
}

const phelsuma_plugin *phelsuma_plugin_v1(void)
{
  static const phelsuma_plugin plugin = {
    .name = "dhara",
    .flags = PHELSUMA_PLUGIN_LOSES_UNSYNCED,
    .host_page_bytes = host_page_bytes,
    .most_logical_pages = most_logical_pages,
    .memory_bytes = memory_bytes,
    .format = mount,
    .mount = mount,
    .read = read,
    .write = write,
    .trim = trim,
    .sync = sync,
  };
  return &plugin;
}
