/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a runtime asks for: which pages of its heap were written since the last collection, and a lock in one byte.
 * Prints what happened; exits with 0 if it is what should happen.
 *
 *     cc runtime.c $(pkg-config --cflags --libs ntux) -lpthread
 */
#include <ntux.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *what, int result)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(-result));
        exit(1);
    }
}

/* A heap whose writes are noticed. */
enum { HEAP = 1 << 20 };

static ntux_watcher *watcher;
static void *heap;

static void heap_create(void)
{
    check("watcher", ntux_watch_open(NULL, &watcher)); /* the best mechanism that works here */
    check("reserve", ntux_watch_reserve(watcher, HEAP, &heap));
    check("commit", ntux_watch_commit(watcher, heap, HEAP, NTUX_PAGE_READ | NTUX_PAGE_WRITE));
}

/* The pages that were written since the last call; they are clean then. Copy or scan them after this has returned. */
static size_t heap_written(void **pages, size_t room)
{
    uint32_t granularity;

    check("written", ntux_watch_get(watcher, NTUX_WATCH_RESET, heap, HEAP, pages, &room, &granularity));
    return room;
}

/* A lock of one byte: 0 is free, 1 is taken, 2 is taken and somebody may sleep. */
static void byte_lock(_Atomic unsigned char *lock)
{
    unsigned char unlocked = 0;

    if (atomic_compare_exchange_strong(lock, &unlocked, 1))
        return;
    while (atomic_exchange(lock, 2) != 0)
        ntux_futex_wait(lock, 2, NTUX_FUTEX_8, NULL);
}

static void byte_unlock(_Atomic unsigned char *lock)
{
    if (atomic_exchange(lock, 0) == 2)
        check("wake", ntux_futex_wake(lock, 1, NTUX_FUTEX_8));
}

enum { THREADS = 4, ROUNDS = 10000 };

static _Atomic unsigned char lock;
static unsigned counted;

static void *count(void *unused)
{
    int round;

    (void)unused;
    for (round = 0; round < ROUNDS; round++) {
        byte_lock(&lock);
        counted++;
        byte_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    void *pages[HEAP / 4096];
    pthread_t threads[THREADS];
    int first, second, index;
    char *object;

    heap_create();
    object = heap;
    object[0] = object[HEAP / 2] = 1;
    first = heap_written(pages, HEAP / 4096) == 2 && pages[0] == heap && pages[1] == object + HEAP / 2;
    second = heap_written(pages, HEAP / 4096) == 0;
    printf("two pages were written: %s; none since: %s\n", first ? "yes" : "no", second ? "yes" : "no");
    check("release", ntux_watch_release(watcher, heap));
    check("close", ntux_watch_close(watcher));

    for (index = 0; index < THREADS; index++)
        if (pthread_create(&threads[index], NULL, count, NULL) != 0)
            return 1;
    for (index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    printf("counted to %u under a lock of one byte\n", counted);
    return first && second && counted == THREADS * ROUNDS ? 0 : 1;
}
