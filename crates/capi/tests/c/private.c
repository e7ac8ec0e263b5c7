/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An arena without a descriptor: a program closes all descriptors that it does not know, and everything works as before,
 * also in children that it forks. With -DPLANTED the arena has one, which must be noticed. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ntux.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures, checks;

static void expect(const char *what, int line, long long is, long long expected)
{
    checks++;
    if (is == expected)
        return;
    if (++failures <= 20)
        printf("private.c:%d: %s is %lld, not %lld\n", line, what, is, expected);
}

#define IS(expected, what) expect(#what, __LINE__, what, expected)

static ntux_arena *arena;

static int open_descriptors(void)
{
    int fd, count = 0;

    for (fd = 3; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* closefrom(3), which not every system has. */
static void close_all(void)
{
    int fd;

    for (fd = 3; fd < 256; fd++)
        close(fd);
}

static void *answer(void *argument)
{
    ntux_object *events = argument;
    int i;

    for (i = 0; i < 100; i++) {
        IS(0, ntux_wait_any(arena, &events[0], 1, 0, 8, 0, NTUX_NEVER, NULL));
        IS(0, ntux_event_set(arena, events[1], NULL));
    }
    return NULL;
}

static void every_operation(void)
{
    ntux_object semaphore, mutex, events[2], both[2];
    pthread_t thread;
    uint32_t out, out2;
    int i;

    IS(0, ntux_semaphore_create(arena, 0, 3, &semaphore));
    IS(0, ntux_mutex_create(arena, 7, 1, &mutex));
    for (i = 0; i < 2; i++)
        IS(0, ntux_event_create(arena, 0, 0, &events[i]));
    IS(NTUX_KIND_SEMAPHORE, ntux_object_kind(arena, semaphore));
    IS(0, ntux_semaphore_release(arena, semaphore, 3, &out));
    IS(0, out);
    IS(0, ntux_mutex_unlock(arena, mutex, 7, NULL));
    both[0] = semaphore;
    both[1] = mutex;
    IS(0, ntux_wait_all(arena, both, 2, 0, 7, 0, NTUX_NEVER, &out));
    IS(0, ntux_mutex_read(arena, mutex, &out, &out2));
    IS(7, out);
    IS(0, ntux_semaphore_read(arena, semaphore, &out, NULL));
    IS(2, out);
    IS(0, ntux_mutex_kill(arena, mutex, 7));
    IS(-EOWNERDEAD, ntux_wait_any(arena, &mutex, 1, 0, 7, 0, 0, NULL));
    IS(0, ntux_mutex_kill_all(arena, 7, &out));
    IS(1, out);
    IS(0, ntux_event_pulse(arena, events[0], NULL));
    IS(0, ntux_event_reset(arena, events[0], NULL));
    IS(0, ntux_event_read(arena, events[0], NULL, &out));
    IS(0, ntux_object_adopt(arena, events[0]));
    IS(0, pthread_create(&thread, NULL, answer, events));
    for (i = 0; i < 100; i++)
        IS(0, ntux_signal_and_wait(arena, events[0], events[1], 0, 7, 0, NTUX_NEVER, NULL));
    IS(0, pthread_join(thread, NULL));
    IS(0, ntux_object_close(arena, semaphore));
    IS(0, ntux_object_close(arena, mutex));
    for (i = 0; i < 2; i++)
        IS(0, ntux_object_close(arena, events[i]));
}

/* A child has the arena: it wakes its parent, makes an object that ends with it, and may detach. */
static void children(void)
{
    ntux_object done, adopted = 0;
    int status, here[2];
    pid_t child;

    IS(0, ntux_event_create(arena, 0, 0, &done));
    IS(0, pipe(here));
    child = fork();
    if (child == 0) {
        ntux_object made;
        int bad = ntux_event_create(arena, 1, 1, &made) != 0 || write(here[1], &made, sizeof made) != sizeof made;
        bad |= ntux_event_set(arena, done, NULL) != 0;
        bad |= ntux_arena_detach(arena) != 0;
        _exit(bad);
    }
    IS(0, ntux_wait_any(arena, &done, 1, 0, 7, 0, NTUX_NEVER, NULL));
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    IS(sizeof adopted, read(here[0], &adopted, sizeof adopted));
    IS(NTUX_KIND_MANUAL_EVENT, ntux_object_kind(arena, adopted));
    IS(0, ntux_object_adopt(arena, adopted));
    IS(0, ntux_arena_bury_process(arena, (uint32_t)child));
    IS(0, ntux_event_read(arena, adopted, NULL, NULL));
    close(here[0]);
    close(here[1]);
}

int main(void)
{
    ntux_arena *shared;
    ntux_object event;
    int fd, before = open_descriptors();

    alarm(60);
#ifdef PLANTED
    IS(0, ntux_arena_create(64, 16, &arena));
#else
    IS(0, ntux_arena_create_private(64, 16, &arena));
    IS(-EBADF, ntux_arena_fd(arena));
#endif
    IS(before, open_descriptors());
    every_operation();
    IS(0, ntux_arena_create(64, 16, &shared));
    IS(0, ntux_event_create(shared, 0, 0, &event));
    close_all();
    every_operation();
    children();
    /* Somebody else's file has the lowest number now: it stays. */
    fd = open("/dev/null", O_RDONLY);
    IS(3, fd);
    IS(0, ntux_event_set(shared, event, NULL));
    IS(0, ntux_wait_any(shared, &event, 1, 0, 7, 0, 0, NULL));
    IS(0, ntux_arena_detach(arena));
#ifndef PLANTED /* One failure is planted. */
    IS(1, fcntl(fd, F_GETFD) >= 0);
#endif
    printf("%d checks, %d failures\n", checks, failures);
    return failures ? 1 : 0;
}
