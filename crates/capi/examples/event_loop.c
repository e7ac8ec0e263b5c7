/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The event loop of docs/c/event-loop.md: one thread serves a thousand mailboxes, into which two other processes put letters,
 * a timer, and jobs that another thread posts. Prints what it has served; exits with 0 if that is everything.
 *
 *     cc event_loop.c $(pkg-config --cflags --libs ntux) -lpthread
 */
#include <errno.h>
#include <ntux.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static ntux_arena *arena;

static void check(const char *what, int result)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(-result));
        exit(1);
    }
}

/* What comes out of the queue is one of these keys. */
enum { MAILBOXES = 1000, TICK = MAILBOXES, SOURCES, JOB, QUIT };

static ntux_queue queue;
static ntux_object source[SOURCES];
static ntux_registration watched[SOURCES];

/* Waits for a source. Its key comes out of the queue when it was acquired; once. */
static void watch(uint64_t key)
{
    check("wait", ntux_queue_wait(arena, queue, &source[key], 1, 1, 0, key, &watched[key], NULL));
    if (watched[key] == 0) /* acquired already: its turn comes, after those that are there */
        check("post", ntux_queue_post(arena, queue, key));
}

enum { PROCESSES = 2, JOBS = 3, TICKS = 3 };

static unsigned letters, ticks, jobs;

static void serve(uint64_t key)
{
    if (key < MAILBOXES)
        letters++;
    else if (key == TICK)
        ticks++;
    else
        jobs++;
    if (letters == PROCESSES * MAILBOXES && jobs == JOBS && ticks >= TICKS)
        check("post", ntux_queue_post(arena, queue, QUIT));
}

static void serve_all(void)
{
    struct ntux_delivered delivered[16];
    int i, count, quit = 0;

    while (!quit) {
        count = ntux_queue_get(arena, queue, 0, NTUX_NEVER, delivered, 16);
        check("get", count);
        for (i = 0; i < count; i++) {
            uint64_t key = delivered[i].key;

            if (key == QUIT) {
                quit = 1; /* but what was taken with it is served */
                continue;
            }
            serve(key);
            if (key < SOURCES)
                watch(key);
        }
    }
}

/* Waits for a source no more. Returns 1 if it was acquired, and nobody serves that. */
static int unwatch(uint64_t key)
{
    int result = ntux_queue_cancel(arena, watched[key], NULL);

    return result == 1 || result == -EOWNERDEAD;
}

static void put_letters(void)
{
    unsigned i;

    for (i = 0; i < MAILBOXES; i++)
        check("release", ntux_semaphore_release(arena, source[i], 1, NULL));
}

static void *post_jobs(void *unused)
{
    int i;

    for (i = 0; i < JOBS; i++)
        check("post", ntux_queue_post(arena, queue, JOB));
    return unused;
}

int main(void)
{
    uint64_t key, ms = 1000000;
    pthread_t poster;
    int i, status, left = 0;

    /* Each wait takes one of the arena's waiters, and so does each thread that waits. */
    check("arena", ntux_arena_create(4096, 2048, &arena));
    check("queue", ntux_queue_create(arena, &queue));
    for (key = 0; key < MAILBOXES; key++)
        check("mailbox", ntux_semaphore_create(arena, 0, 1000, &source[key]));
    check("timer", ntux_timer_create(arena, 0, &source[TICK]));
    check("set", ntux_timer_set(arena, source[TICK], NTUX_RELATIVE, ms, ms));

    for (i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            put_letters();
            _exit(0);
        }
    pthread_create(&poster, NULL, post_jobs, NULL);
    for (key = 0; key < SOURCES; key++)
        watch(key);
    serve_all();
    for (key = 0; key < TICK; key++)
        left += unwatch(key);
    check("close", ntux_queue_close(arena, queue));

    pthread_join(poster, NULL);
    for (i = 0; i < PROCESSES; i++)
        wait(&status);
    printf("%u letters from %d mailboxes, %d left\n", letters, MAILBOXES, left);
    printf("%u jobs, and the ticks came: %s\n", jobs, ticks >= TICKS ? "yes" : "no");
    check("detach", ntux_arena_detach(arena));
    return left == 0 ? 0 : 1;
}
