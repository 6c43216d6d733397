#include "check.h"
#include "chip.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

unsigned checks, checks_failed;

bool check(bool is_so, const char *what, const char *file, int line) {
    checks++;
    if (!is_so) {
        checks_failed++;
        printf("%s:%d: not so: %s\n", file, line, what);
    }
    return is_so;
}

bool check_same(long got, long expected, const char *what, const char *file, int line) {
    checks++;
    if (got != expected) {
        checks_failed++;
        printf("%s:%d: %s is %ld, and not %ld\n", file, line, what, got, expected);
    }
    return got == expected;
}

struct task {
    unsigned number, rounds, failed;
    bool (*write)(uint32_t page, const uint8_t *data);
    bool (*read)(uint32_t page, uint8_t *data);
};

static void *run(void *argument) {
    struct task *task = argument;
    uint8_t written[CHIP_PAGE_BYTES], read[CHIP_PAGE_BYTES];
    for (unsigned round = 0; round < task->rounds; round++) {
        uint32_t page = 2 * (round % 8) + task->number;
        memset(written, (int)(round * 2 + task->number), sizeof written);
        memset(read, 0, sizeof read);
        bool is_right = task->write(page, written) && task->read(page, read) && !memcmp(written, read, sizeof read);
        task->failed += !is_right;
    }
    return NULL;
}

unsigned check_threads(unsigned rounds, bool (*write)(uint32_t page, const uint8_t *data),
                       bool (*read)(uint32_t page, uint8_t *data)) {
    struct task tasks[2] = {
        {.number = 0, .rounds = rounds, .write = write, .read = read},
        {.number = 1, .rounds = rounds, .write = write, .read = read},
    };
    pthread_t other;
    if (pthread_create(&other, NULL, run, &tasks[1]) != 0) {
        return rounds;
    }
    run(&tasks[0]);
    pthread_join(other, NULL);
    return tasks[0].failed + tasks[1].failed;
}
