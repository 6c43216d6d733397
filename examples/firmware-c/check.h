/* Checks of a test program, and threads that use a drive at once. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Says which check failed. The program goes on, so that all of them are seen. */
#define CHECK(is_so) check(is_so, #is_so, __FILE__, __LINE__)

/* That `got` is `expected`: both are numbers. */
#define SAME(got, expected) check_same(got, expected, #got, __FILE__, __LINE__)

bool check(bool is_so, const char *what, const char *file, int line);
bool check_same(long got, long expected, const char *what, const char *file, int line);

/* Of both. */
extern unsigned checks, checks_failed;

/* Two threads, each with pages of its own, write and read so often. Returns how many requests failed or read badly. */
unsigned check_threads(unsigned rounds, bool (*write)(uint32_t page, const uint8_t *data),
                       bool (*read)(uint32_t page, uint8_t *data));

#endif
