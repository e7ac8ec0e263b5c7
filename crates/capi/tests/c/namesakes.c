/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A process and a child of it that have the same number, in two namespaces: each with threads that wait, and both in a ping-pong. */
#define _GNU_SOURCE
#include <ntux.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 100
#define TURNS 2000
#define NOT_ALLOWED 3

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) {                                                                                    \
            dprintf(1, "namesakes.c:%d: failed: %s\n", __LINE__, #condition);                                   \
            _exit(1);                                                                                          \
        }                                                                                                      \
    } while (0)

static ntux_arena *arena;

static int waits(ntux_object object) { return ntux_wait_any(arena, &object, 1, 0, 1, 0, NTUX_NEVER, NULL); }

static void *sleeps(void *event)
{
    CHECK(waits(*(ntux_object *)event) == 0);
    return NULL;
}

static void start(pthread_t *threads, ntux_object *events)
{
    for (int i = 0; i < THREADS; i++) {
        CHECK(ntux_event_create(arena, 0, 0, &events[i]) == 0);
        CHECK(pthread_create(&threads[i], NULL, sleeps, &events[i]) == 0);
    }
    usleep(50000);
}

static void end(const pthread_t *threads, const ntux_object *events)
{
    for (int i = 0; i < THREADS; i++)
        CHECK(ntux_event_set(arena, events[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static pid_t first_of_another(void) { return (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0); }

static int first_process(void)
{
    static pthread_t threads[THREADS];
    static ntux_object events[THREADS];
    ntux_object there, back;
    int status;

    CHECK(ntux_arena_create(1024, 512, &arena) == 0);
    CHECK(ntux_event_create(arena, 0, 0, &there) == 0 && ntux_event_create(arena, 0, 0, &back) == 0);
    start(threads, events);
    pid_t child = first_of_another();
    if (child < 0)
        return NOT_ALLOWED;
    CHECK(getpid() == 1);
    if (child == 0) {
        static pthread_t own[THREADS];
        static ntux_object mine[THREADS];
        start(own, mine);
        for (int turn = 0; turn < TURNS; turn++)
            CHECK(waits(there) == 0 && ntux_event_set(arena, back, NULL) == 0);
        end(own, mine);
        _exit(0);
    }
    for (int turn = 0; turn < TURNS; turn++)
        CHECK(ntux_event_set(arena, there, NULL) == 0 && waits(back) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    end(threads, events);
    return 0;
}

int main(void)
{
    int status;

    alarm(60);
    pid_t first = first_of_another();
    if (first < 0)
        return NOT_ALLOWED;
    if (first == 0) {
        alarm(60);
        _exit(first_process());
    }
    CHECK(waitpid(first, &status, 0) == first && WIFEXITED(status));
    return WEXITSTATUS(status);
}
