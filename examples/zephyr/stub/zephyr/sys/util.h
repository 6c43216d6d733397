/* What the adapter uses of this header, as Zephyr 4.4 has it. */
#ifndef ZEPHYR_SYS_UTIL_H
#define ZEPHYR_SYS_UTIL_H

#include <stddef.h>

#define CONTAINER_OF(ptr, type, field) ((type *)(void *)((char *)(ptr)-offsetof(type, field)))

#endif
