/* What the adapter uses of this header, as FreeRTOS 10.5 has it. Most of these are macros there. */
#ifndef SEMAPHORE_H
#define SEMAPHORE_H

#include "freertos/FreeRTOS.h"

typedef StaticSemaphore_t *SemaphoreHandle_t;

SemaphoreHandle_t xSemaphoreCreateRecursiveMutexStatic(StaticSemaphore_t *pxMutexBuffer);
BaseType_t xSemaphoreTakeRecursive(SemaphoreHandle_t xMutex, TickType_t xTicksToWait);
BaseType_t xSemaphoreGiveRecursive(SemaphoreHandle_t xMutex);
void vSemaphoreDelete(SemaphoreHandle_t xSemaphore);

#endif
