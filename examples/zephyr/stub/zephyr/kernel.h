/* What the adapter uses of this header, as Zephyr 4.4 has it. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <stdint.h>

typedef struct {
    int64_t ticks;
} k_timeout_t;

#define K_FOREVER ((k_timeout_t){-1})

/* Here it has room for a mutex of the operating system that the test runs under. */
struct k_mutex {
    _Alignas(8) uint8_t of_host[64];
};

int k_mutex_init(struct k_mutex *mutex);
int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout);
int k_mutex_unlock(struct k_mutex *mutex);

#endif
