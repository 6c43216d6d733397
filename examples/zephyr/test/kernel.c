/* Mutexes and the disk layer, in place of Zephyr's. */

/* Recursive mutexes are no part of C11. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <zephyr/kernel.h>
#include <zephyr/storage/disk_access.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct k_mutex), "a mutex of the host has no room");

static pthread_mutex_t *of_host(struct k_mutex *mutex) { return (pthread_mutex_t *)(void *)mutex->of_host; }

/* As in Zephyr, a thread may lock a mutex again that it has. */
int k_mutex_init(struct k_mutex *mutex) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    memset(mutex, 0, sizeof *mutex);
    return -pthread_mutex_init(of_host(mutex), &kind);
}

int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout) {
    (void)timeout;
    return -pthread_mutex_lock(of_host(mutex));
}

int k_mutex_unlock(struct k_mutex *mutex) { return -pthread_mutex_unlock(of_host(mutex)); }

/* One disk is enough here. */
static struct disk_info *registered;

static struct disk_info *disk_of(const char *name) {
    return registered && strcmp(registered->name, name) == 0 ? registered : NULL;
}

int disk_access_register(struct disk_info *disk) {
    if (disk == NULL || disk->name == NULL || disk_of(disk->name)) {
        return -EINVAL;
    }
    disk->refcnt = 0;
    registered = disk;
    return 0;
}

int disk_access_unregister(struct disk_info *disk) {
    if (registered != disk) {
        return -EINVAL;
    }
    registered = NULL;
    return 0;
}

int disk_access_ioctl(const char *pdrv, uint8_t cmd, void *buff) {
    struct disk_info *disk = disk_of(pdrv);
    if (disk == NULL) {
        return -EINVAL;
    }
    /* The first of those who use a disk initialises it, and the last one ends that. */
    int result = 0;
    if (cmd == DISK_IOCTL_CTRL_INIT) {
        result = disk->refcnt == 0 ? disk->ops->ioctl(disk, cmd, buff) : 0;
        disk->refcnt = (uint16_t)(disk->refcnt + (result == 0));
    } else if (cmd == DISK_IOCTL_CTRL_DEINIT && buff && *(bool *)buff) {
        disk->refcnt = 0;
        (void)disk->ops->ioctl(disk, cmd, buff);
    } else if (cmd == DISK_IOCTL_CTRL_DEINIT) {
        if (disk->refcnt == 0) {
            return -EINVAL;
        }
        result = disk->refcnt == 1 ? disk->ops->ioctl(disk, cmd, buff) : 0;
        disk->refcnt = (uint16_t)(disk->refcnt - (result == 0));
    } else {
        result = disk->ops->ioctl(disk, cmd, buff);
    }
    return result;
}

int disk_access_init(const char *pdrv) {
    struct disk_info *disk = disk_of(pdrv);
    if (disk == NULL) {
        return -EINVAL;
    }
    int result = disk->refcnt == 0 ? disk->ops->init(disk) : 0;
    disk->refcnt = (uint16_t)(disk->refcnt + (result == 0));
    return result;
}

int disk_access_status(const char *pdrv) {
    struct disk_info *disk = disk_of(pdrv);
    return disk ? disk->ops->status(disk) : -EINVAL;
}

int disk_access_read(const char *pdrv, uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector) {
    struct disk_info *disk = disk_of(pdrv);
    return disk ? disk->ops->read(disk, data_buf, start_sector, num_sector) : -EINVAL;
}

int disk_access_write(const char *pdrv, const uint8_t *data_buf, uint32_t start_sector, uint32_t num_sector) {
    struct disk_info *disk = disk_of(pdrv);
    return disk ? disk->ops->write(disk, data_buf, start_sector, num_sector) : -EINVAL;
}

int disk_access_erase(const char *pdrv, uint32_t start_sector, uint32_t num_sector,
                      enum disk_access_erase_type erase_type) {
    struct disk_info *disk = disk_of(pdrv);
    bool is_known = disk && erase_type == DISK_ACCESS_ERASE_PHYSICAL;
    return is_known ? disk->ops->erase(disk, start_sector, num_sector) : -EINVAL;
}

/* Nothing waits. The adapter is built with them to see its test fail. */
int no_lock(struct k_mutex *mutex, k_timeout_t timeout);
int no_unlock(struct k_mutex *mutex);

int no_lock(struct k_mutex *mutex, k_timeout_t timeout) {
    (void)mutex, (void)timeout;
    return 0;
}

int no_unlock(struct k_mutex *mutex) {
    (void)mutex;
    return 0;
}
