/*
 * An FTL of some three hundred lines to begin with: a table in RAM, and a log on flash.
 *
 * Each page has sixteen bytes beside it: which host page it is, its number, and checks of data and of these bytes. A mount
 * reads them all, and the page with the highest number counts. A trim writes a page as well.
 */

#include "phelsuma_plugin.h"
#include <string.h>

#define NONE UINT32_MAX
/* A version that is no data: the host page is trimmed, or its data are lost. */
#define TRIMMED 0x80000000u
#define LOST 0x40000000u
#define KEY 0x3fffffffu

/* Blocks that stay free for collection, for a mount, and for a mount after a mount that was cut. */
#define RESERVE 4

struct state {
  const phelsuma_nand *nand;
  uint32_t logical_pages;
  uint32_t number;  /* of the last program */
  uint32_t open;    /* the block that is written, or NONE */
  uint32_t written; /* its pages */
  uint32_t free;    /* blocks that are free */
  uint32_t *map;    /* by host page: a page, or NONE */
  uint32_t *live;   /* by block: pages that the map names; NONE if it is free */
  uint32_t *numbers; /* by host page, of what the map names: while it mounts */
  uint8_t *page;    /* for a page that is moved */
  uint8_t *newest;  /* for the page written last before a mount */
};

struct beside {
  uint32_t key;
  uint32_t number;
  uint32_t data_check;
  uint32_t check;
};

static uint32_t check_of(const void *data, uint32_t bytes)
{
  uint32_t hash = 2166136261u;
  for (uint32_t i = 0; i < bytes; i++)
    hash = (hash ^ ((const uint8_t *)data)[i]) * 16777619u;
  return hash;
}

static uint32_t block_of(const struct state *s, uint32_t page)
{
  return page / s->nand->chip.pages_per_block;
}

/* The newest block that is free goes last: each is used in its turn. */
static int32_t open_block(struct state *s)
{
  const phelsuma_nand *nand = s->nand;
  const uint32_t blocks = nand->chip.blocks;
  uint32_t after = s->open == NONE ? s->number : s->open;
  for (uint32_t i = 1; i <= blocks; i++) {
    const uint32_t block = (after + i) % blocks;
    if (s->live[block] != NONE || nand->is_bad(nand->context, block))
      continue;
    /* It may look erased after an erase that was cut. */
    if (nand->erase(nand->context, block) == 0) {
      s->live[block] = 0;
      s->open = block;
      s->written = 0;
      s->free--;
      return PHELSUMA_PLUGIN_OK;
    }
    nand->mark_bad(nand->context, block);
    s->live[block] = 0;
    s->free--;
  }
  return PHELSUMA_PLUGIN_FULL;
}

static int32_t append(struct state *s, uint32_t key, const uint8_t *data)
{
  const phelsuma_nand *nand = s->nand;
  const phelsuma_chip chip = nand->chip;
  for (;;) {
    if (s->open == NONE || s->written == chip.pages_per_block) {
      const int32_t failed = open_block(s);
      if (failed)
        return failed;
    }
    const uint32_t page = s->open * chip.pages_per_block + s->written++;
    struct beside beside = {.key = key, .number = ++s->number, .data_check = check_of(data, chip.page_bytes)};
    beside.check = check_of(&beside, 12);
    if (nand->program(nand->context, page, data, chip.page_bytes, (const uint8_t *)&beside) == 0) {
      uint32_t *const place = &s->map[key & KEY];
      if (*place != NONE)
        s->live[block_of(s, *place)]--;
      s->live[s->open]++;
      *place = page;
      return PHELSUMA_PLUGIN_OK;
    }
    /* What stands in it can still be read, and stays. */
    nand->mark_bad(nand->context, s->open);
    s->open = NONE;
  }
}

static int32_t beside_of(const struct state *s, uint32_t page, struct beside *beside)
{
  const phelsuma_nand *nand = s->nand;
  if (nand->read(nand->context, page, 0, NULL, 0, (uint8_t *)beside) < 0)
    return -1;
  return beside->check == check_of(beside, 12) && (beside->key & KEY) < s->logical_pages ? 0 : -1;
}

/* Reads a page of which `beside` is known. */
static int32_t data_of(const struct state *s, uint32_t page, const struct beside *beside, uint8_t *data)
{
  const phelsuma_nand *nand = s->nand;
  if (nand->read(nand->context, page, 0, data, nand->chip.page_bytes, NULL) < 0)
    return -1;
  return check_of(data, nand->chip.page_bytes) == beside->data_check ? 0 : -1;
}

static int32_t collect(struct state *s)
{
  const phelsuma_nand *nand = s->nand;
  const uint32_t per_block = nand->chip.pages_per_block;
  uint32_t victim = NONE;
  for (uint32_t block = 0; block < nand->chip.blocks; block++) {
    const uint32_t least = victim == NONE ? per_block : s->live[victim];
    if (block != s->open && s->live[block] < least && !nand->is_bad(nand->context, block))
      victim = block;
  }
  if (victim == NONE)
    return PHELSUMA_PLUGIN_FULL;
  for (uint32_t page = victim * per_block; page < (victim + 1) * per_block && s->live[victim] > 0; page++) {
    struct beside beside;
    if (beside_of(s, page, &beside) || s->map[beside.key & KEY] != page)
      continue;
    const uint32_t lost = data_of(s, page, &beside, s->page) ? LOST : 0;
    const int32_t failed = append(s, beside.key | lost, s->page);
    if (failed)
      return failed;
  }
  /* Of pages that do not say any more which they were, the map does. */
  for (uint32_t key = 0; key < s->logical_pages && s->live[victim] > 0; key++) {
    const int32_t failed =
      s->map[key] != NONE && block_of(s, s->map[key]) == victim ? append(s, key | LOST, s->page) : 0;
    if (failed)
      return failed;
  }
  s->live[victim] = NONE;
  s->free++;
  return PHELSUMA_PLUGIN_OK;
}

static int32_t write_page(struct state *s, uint32_t key, const uint8_t *data)
{
  while (s->free < RESERVE) {
    const int32_t failed = collect(s);
    if (failed)
      return failed;
  }
  return append(s, key, data);
}

static uint32_t host_page_bytes(const phelsuma_chip *chip)
{
  return chip->page_bytes;
}

static uint32_t most_logical_pages(const phelsuma_chip *chip)
{
  const uint32_t kept = RESERVE + 1 + chip->blocks / 20 + 2;
  return chip->blocks > kept ? (chip->blocks - kept) * chip->pages_per_block / 10 * 9 : 0;
}

static size_t memory_bytes(const phelsuma_chip *chip, uint32_t logical_pages)
{
  return sizeof(struct state) + sizeof(uint32_t) * (2 * (size_t)logical_pages + chip->blocks) + 2 * chip->page_bytes;
}

static struct state *begin(void *memory, const phelsuma_nand *nand, uint32_t logical_pages)
{
  struct state *s = memory;
  const uint32_t blocks = nand->chip.blocks;
  *s = (struct state){.nand = nand, .logical_pages = logical_pages, .open = NONE};
  s->map = (uint32_t *)(s + 1);
  s->live = s->map + logical_pages;
  s->numbers = s->live + blocks;
  s->page = (uint8_t *)(s->numbers + logical_pages);
  s->newest = s->page + nand->chip.page_bytes;
  memset(s->map, 0xff, sizeof(uint32_t) * ((size_t)logical_pages + blocks));
  return s;
}

static void count_free(struct state *s)
{
  const phelsuma_nand *nand = s->nand;
  s->free = 0;
  for (uint32_t block = 0; block < nand->chip.blocks; block++) {
    if (nand->is_bad(nand->context, block) && s->live[block] == NONE)
      s->live[block] = 0;
    s->free += s->live[block] == NONE;
  }
}

static int32_t format(void *memory, const phelsuma_nand *nand, uint32_t logical_pages)
{
  struct state *s = begin(memory, nand, logical_pages);
  count_free(s);
  return PHELSUMA_PLUGIN_OK;
}

/* Reads all of a page; whether both checks hold. */
static int is_whole(const struct state *s, uint32_t page, struct beside *beside, uint8_t *data)
{
  const phelsuma_nand *nand = s->nand;
  return nand->read(nand->context, page, 0, data, nand->chip.page_bytes, (uint8_t *)beside) >= 0 &&
         beside->check == check_of(beside, 12) && (beside->key & KEY) < s->logical_pages &&
         beside->data_check == check_of(data, nand->chip.page_bytes);
}

static int32_t mount(void *memory, const phelsuma_nand *nand, uint32_t logical_pages)
{
  struct state *s = begin(memory, nand, logical_pages);
  const uint32_t per_block = nand->chip.pages_per_block;
  uint32_t of_newest = NONE;
  for (uint32_t block = 0; block < nand->chip.blocks; block++) {
    /* Only the last page of a block may be torn, because after a cut none is written further. So it is read in full. It may
     * read well once and never again. */
    int is_last = 1;
    for (uint32_t index = per_block; index-- > 0;) {
      const uint32_t page = block * per_block + index;
      struct beside beside;
      if (is_last ? !is_whole(s, page, &beside, s->page) : beside_of(s, page, &beside))
        continue;
      const uint32_t key = beside.key & KEY;
      if (is_last && beside.number > s->number) {
        uint8_t *const data = s->newest;
        s->newest = s->page;
        s->page = data;
        of_newest = beside.key;
        s->number = beside.number;
      }
      is_last = 0;
      if (s->map[key] == NONE || s->numbers[key] < beside.number) {
        s->map[key] = page;
        s->numbers[key] = beside.number;
      }
    }
  }
  for (uint32_t key = 0; key < logical_pages; key++)
    if (s->map[key] != NONE) {
      uint32_t *const live = &s->live[block_of(s, s->map[key])];
      *live = *live == NONE ? 1 : *live + 1;
    }
  count_free(s);
#ifdef TRUSTS_LAST_PAGE
  of_newest = NONE;
#endif
  /* The last page before the cut may not read well again. */
  return of_newest == NONE ? PHELSUMA_PLUGIN_OK : append(s, of_newest, s->newest);
}

static int32_t read(void *memory, uint32_t key, uint8_t *data)
{
  struct state *s = memory;
  struct beside beside;
  const uint32_t page = s->map[key];
  if (page == NONE)
    return PHELSUMA_PLUGIN_BLANK;
  if (beside_of(s, page, &beside) || (beside.key & KEY) != key || beside.key & LOST || data_of(s, page, &beside, data))
    return PHELSUMA_PLUGIN_UNREADABLE;
  return beside.key & TRIMMED ? PHELSUMA_PLUGIN_BLANK : PHELSUMA_PLUGIN_OK;
}

static int32_t write(void *memory, uint32_t key, const uint8_t *data)
{
  return write_page(memory, key, data);
}

static int32_t trim(void *memory, uint32_t first, uint32_t pages)
{
  struct state *s = memory;
  for (uint32_t key = first; key < first + pages; key++) {
    if (s->map[key] == NONE)
      continue;
    while (s->free < RESERVE) {
      const int32_t failed = collect(s);
      if (failed)
        return failed;
    }
    memset(s->page, 0, s->nand->chip.page_bytes);
    const int32_t failed = append(s, key | TRIMMED, s->page);
    if (failed)
      return failed;
  }
  return PHELSUMA_PLUGIN_OK;
}

static int32_t sync(void *memory)
{
  (void)memory; /* A write is on flash when it returns. */
  return PHELSUMA_PLUGIN_OK;
}

const phelsuma_plugin *phelsuma_plugin_v1(void)
{
  static const phelsuma_plugin plugin = {
    .name = "page-table",
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
