/* Mutexes in place of FreeRTOS's. */

/* Recursive mutexes are no part of C11. */
#define _XOPEN_SOURCE 700
#include "freertos/semphr.h"

#include <pthread.h>
#include <string.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(StaticSemaphore_t), "a mutex of the host has no room");

static pthread_mutex_t *of_host(SemaphoreHandle_t mutex) { return (pthread_mutex_t *)(void *)mutex->of_host; }

SemaphoreHandle_t xSemaphoreCreateRecursiveMutexStatic(StaticSemaphore_t *pxMutexBuffer) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    memset(pxMutexBuffer, 0, sizeof *pxMutexBuffer);
    return pthread_mutex_init(of_host(pxMutexBuffer), &kind) == 0 ? pxMutexBuffer : NULL;
}

BaseType_t xSemaphoreTakeRecursive(SemaphoreHandle_t xMutex, TickType_t xTicksToWait) {
    (void)xTicksToWait;
    return pthread_mutex_lock(of_host(xMutex)) == 0 ? pdTRUE : pdFALSE;
}

BaseType_t xSemaphoreGiveRecursive(SemaphoreHandle_t xMutex) {
    return pthread_mutex_unlock(of_host(xMutex)) == 0 ? pdTRUE : pdFALSE;
}

void vSemaphoreDelete(SemaphoreHandle_t xSemaphore) { (void)pthread_mutex_destroy(of_host(xSemaphore)); }

/* Nothing waits. The adapter is built with them to see its test fail. */
BaseType_t no_lock(SemaphoreHandle_t mutex, TickType_t ticks);
BaseType_t no_unlock(SemaphoreHandle_t mutex);

BaseType_t no_lock(SemaphoreHandle_t mutex, TickType_t ticks) {
    (void)mutex, (void)ticks;
    return pdTRUE;
}

BaseType_t no_unlock(SemaphoreHandle_t mutex) {
    (void)mutex;
    return pdTRUE;
}
