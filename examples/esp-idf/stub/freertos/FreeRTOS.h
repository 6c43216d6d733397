/* What the adapter uses of this header, as FreeRTOS 10.5 has it, which ESP-IDF 6.0 builds on. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stdint.h>

typedef int BaseType_t;
typedef uint32_t TickType_t;

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define portMAX_DELAY ((TickType_t)0xffffffffu)

/* Here it has room for a mutex of the operating system that the test runs under. */
typedef struct {
    _Alignas(8) uint8_t of_host[64];
} StaticSemaphore_t;

#endif
