/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program of docs/c/tutorial.md: a parent hands jobs to a child, stops it, and inherits a mutex from it. Prints what
 * happened; exits with 0 if it is what should happen.
 *
 *     cc tutorial.c $(pkg-config --cflags --libs ntux)
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <ntux.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PARENT = 1, CHILD = 2 };

static ntux_arena *arena;
static ntux_object jobs, stop, mutex, taken;

static void check(const char *what, int result)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(-result));
        exit(1);
    }
}

static void create(void)
{
    check("arena", ntux_arena_create(1024, 64, &arena));
    check("semaphore", ntux_semaphore_create(arena, 0, 100, &jobs));
    check("event", ntux_event_create(arena, 1, 0, &stop));
    check("event", ntux_event_create(arena, 0, 0, &taken));
    check("mutex", ntux_mutex_create(arena, 0, 0, &mutex));
}

static int work(void)
{
    ntux_object either[2];
    int done = 0;

    either[0] = jobs;
    either[1] = stop;
    for (;;) {
        uint32_t index;
        check("wait", ntux_wait_any(arena, either, 2, 0, CHILD, 0, NTUX_NEVER, &index));
        if (index == 1)
            return done;
        done++;
    }
}

/* A deadline is absolute, so it needs no arithmetic when a wait is repeated. */
static uint64_t in_ms(unsigned ms)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + ms * UINT64_C(1000000);
}

/* 1: acquired, and the data may be half changed; 0: acquired; negative: not acquired. */
static int lock(uint32_t owner, uint64_t deadline)
{
    int result = ntux_wait_any(arena, &mutex, 1, 0, owner, 0, deadline, NULL);

    return result == -EOWNERDEAD ? 1 : result;
}

static void child(void)
{
    int done = work();

    check("lock", lock(CHILD, NTUX_NEVER));
    check("set", ntux_event_set(arena, taken, NULL));
    if (done == 3)
        pause();
    _exit(1);
}

int main(void)
{
    pid_t pid;
    int waited, inherited;

    create();
    pid = fork();
    if (pid == 0)
        child();

    check("release", ntux_semaphore_release(arena, jobs, 3, NULL));
    check("set", ntux_event_set(arena, stop, NULL));
    check("wait", ntux_wait_any(arena, &taken, 1, 0, PARENT, 0, NTUX_NEVER, NULL));

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    waited = lock(PARENT, in_ms(20));
    printf("the child is dead and still owns the mutex: %s\n", waited == -ETIMEDOUT ? "yes" : "no");

    check("kill", ntux_mutex_kill(arena, mutex, CHILD));
    inherited = lock(PARENT, NTUX_NEVER);
    printf("inherited, and told so: %s\n", inherited == 1 ? "yes" : "no");
    check("unlock", ntux_mutex_unlock(arena, mutex, PARENT, NULL));
    check("detach", ntux_arena_detach(arena));
    return waited == -ETIMEDOUT && inherited == 1 ? 0 : 1;
}
