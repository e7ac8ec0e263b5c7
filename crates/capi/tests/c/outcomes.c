/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What each function gives through C when it is called rightly: results, outputs, outputs that are not wanted. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ntux.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures, checks;

static void expect(const char *what, int line, long long is, long long expected)
{
    checks++;
    if (is == expected)
        return;
    if (++failures <= 20)
        printf("outcomes.c:%d: %s is %lld, not %lld\n", line, what, is, expected);
}

#define IS(expected, what) expect(#what, __LINE__, what, expected)

static ntux_arena *arena;
static uint32_t out, out2;

static int poll_for(const ntux_object *objects, uint32_t count, ntux_object alert)
{
    return ntux_wait_any(arena, objects, count, alert, 7, 0, 0, &out);
}

static void semaphore(void)
{
    ntux_object semaphore;

    IS(0, ntux_semaphore_create(arena, 1, 3, &semaphore));
    IS(0, ntux_semaphore_release(arena, semaphore, 2, &out));
    IS(1, out);
    IS(0, poll_for(&semaphore, 1, 0));
    IS(0, out);
    IS(0, ntux_semaphore_release(arena, semaphore, 0, NULL));
    IS(0, ntux_semaphore_read(arena, semaphore, &out, &out2));
    IS(2, out);
    IS(3, out2);
    IS(0, ntux_semaphore_read(arena, semaphore, NULL, NULL));
    IS(0, ntux_object_close(arena, semaphore));
}

static void mutex(void)
{
    ntux_object mutex;

    IS(0, ntux_mutex_create(arena, 7, 2, &mutex));
    IS(0, ntux_wait_any(arena, &mutex, 1, 0, 7, 0, NTUX_NEVER, NULL));
    IS(-ETIMEDOUT, ntux_wait_any(arena, &mutex, 1, 0, 8, 0, 0, NULL));
    IS(0, ntux_mutex_read(arena, mutex, &out, &out2));
    IS(7, out);
    IS(3, out2);
    IS(0, ntux_mutex_unlock(arena, mutex, 7, &out));
    IS(3, out);
    IS(0, ntux_mutex_kill(arena, mutex, 7));
    IS(-EOWNERDEAD, ntux_mutex_read(arena, mutex, &out, &out2));
    IS(0, out);
    IS(0, out2);
    out = 99;
    IS(-EOWNERDEAD, poll_for(&mutex, 1, 0));
    IS(0, out);
    IS(0, poll_for(&mutex, 1, 0));
    IS(0, ntux_mutex_read(arena, mutex, NULL, &out2));
    IS(2, out2);
    IS(0, ntux_object_close(arena, mutex));
}

static void event(void)
{
    ntux_object manual, automatic;

    IS(0, ntux_event_create(arena, 5, 0, &manual));
    IS(0, ntux_event_create(arena, 0, 5, &automatic));
    IS(0, ntux_event_read(arena, manual, &out, &out2));
    IS(1, out);
    IS(0, out2);
    IS(0, ntux_event_read(arena, automatic, &out, &out2));
    IS(0, out);
    IS(1, out2);
    IS(0, ntux_event_set(arena, manual, &out));
    IS(0, out);
    IS(0, ntux_event_pulse(arena, manual, &out));
    IS(1, out);
    IS(0, ntux_event_reset(arena, manual, &out));
    IS(0, out);
    IS(0, ntux_event_reset(arena, automatic, &out));
    IS(1, out);
    IS(0, ntux_event_set(arena, automatic, NULL));
    IS(0, poll_for(&automatic, 1, 0));
    IS(-ETIMEDOUT, poll_for(&automatic, 1, 0));
    IS(0, ntux_object_close(arena, manual));
    IS(0, ntux_object_close(arena, automatic));
}

/* On the monotonic clock. */
static uint64_t in_an_hour(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec + 3600) * 1000000000u;
}

static void waits(void)
{
    ntux_object objects[3], many[NTUX_WAIT_OBJECTS_MAX], alert;
    int i;

    for (i = 0; i < 3; i++)
        IS(0, ntux_event_create(arena, 0, 0, &objects[i]));
    IS(0, ntux_event_create(arena, 0, 1, &alert));

    IS(0, poll_for(objects, 3, alert));
    IS(3, out);
    IS(0, ntux_event_set(arena, objects[2], NULL));
    IS(0, poll_for(objects, 3, alert));
    IS(2, out);
    IS(-ETIMEDOUT, poll_for(NULL, 0, 0));
    IS(0, ntux_wait_all(arena, NULL, 0, 0, 7, 0, 0, &out));
    IS(0, out);

    out = 99;
    IS(0, ntux_event_set(arena, objects[0], NULL));
    IS(0, ntux_event_set(arena, objects[1], NULL));
    IS(-ETIMEDOUT, ntux_wait_all(arena, objects, 3, alert, 7, 0, 0, &out));
    IS(99, out);
    IS(0, ntux_event_set(arena, objects[2], NULL));
    IS(0, ntux_wait_all(arena, objects, 3, alert, 7, 0, 0, &out));
    IS(0, out);
    IS(0, ntux_event_set(arena, alert, NULL));
    IS(0, ntux_wait_all(arena, objects, 3, alert, 7, NTUX_REALTIME, NTUX_NEVER, &out));
    IS(3, out);

    IS(-ETIMEDOUT, ntux_wait_any(arena, objects, 3, 0, 7, 0, 1, &out));
    IS(-ETIMEDOUT, ntux_wait_any(arena, objects, 3, 0, 7, NTUX_REALTIME, in_an_hour(), &out)); /* in 1970 */
    for (i = 0; i < NTUX_WAIT_OBJECTS_MAX; i++)
        many[i] = objects[0];
    IS(0, ntux_event_set(arena, objects[0], NULL));
    IS(0, poll_for(many, NTUX_WAIT_OBJECTS_MAX, alert));
    IS(0, out);
    IS(0, ntux_event_set(arena, alert, NULL));
    IS(0, poll_for(many, NTUX_WAIT_OBJECTS_MAX, alert));
    IS(NTUX_WAIT_OBJECTS_MAX, out);
}

static void kinds(void)
{
    ntux_object objects[4];

    IS(0, ntux_semaphore_create(arena, 0, 0, &objects[0]));
    IS(0, ntux_mutex_create(arena, 0, 0, &objects[1]));
    IS(0, ntux_event_create(arena, 0, 0, &objects[2]));
    IS(0, ntux_event_create(arena, 1, 0, &objects[3]));
    IS(NTUX_KIND_SEMAPHORE, ntux_object_kind(arena, objects[0]));
    IS(NTUX_KIND_MUTEX, ntux_object_kind(arena, objects[1]));
    IS(NTUX_KIND_AUTO_EVENT, ntux_object_kind(arena, objects[2]));
    IS(NTUX_KIND_MANUAL_EVENT, ntux_object_kind(arena, objects[3]));
    for (int i = 0; i < 4; i++)
        IS(0, ntux_object_close(arena, objects[i]));
}

static void signals_and_waits(void)
{
    ntux_object semaphore, mutex, event, alert;

    IS(0, ntux_semaphore_create(arena, 0, 2, &semaphore));
    IS(0, ntux_mutex_create(arena, 7, 1, &mutex));
    IS(0, ntux_event_create(arena, 0, 0, &event));
    IS(0, ntux_event_create(arena, 0, 1, &alert));

    /* The same object: it signals itself. */
    IS(0, ntux_signal_and_wait(arena, event, event, 0, 7, 0, NTUX_NEVER, &out));
    IS(0, out);
    IS(0, ntux_signal_and_wait(arena, semaphore, event, alert, 7, 0, NTUX_NEVER, &out));
    IS(1, out);
    out = 99;
    IS(-ETIMEDOUT, ntux_signal_and_wait(arena, semaphore, event, alert, 7, NTUX_REALTIME, 1, &out));
    IS(99, out);
    IS(0, ntux_semaphore_read(arena, semaphore, &out, NULL));
    IS(2, out);
    IS(0, ntux_signal_and_wait(arena, mutex, semaphore, 0, 7, 0, NTUX_NEVER, NULL));
    IS(0, ntux_mutex_read(arena, mutex, &out, NULL));
    IS(0, out);
    IS(0, ntux_wait_any(arena, &mutex, 1, 0, 8, 0, 0, NULL));
    IS(0, ntux_mutex_kill(arena, mutex, 8));
    out = 99;
    IS(-EOWNERDEAD, ntux_signal_and_wait(arena, event, mutex, alert, 7, 0, 0, &out));
    IS(0, out);
    IS(0, ntux_event_read(arena, event, NULL, &out));
    IS(1, out);
    IS(0, ntux_object_close(arena, semaphore));
    IS(0, ntux_object_close(arena, mutex));
    IS(0, ntux_object_close(arena, event));
    IS(0, ntux_object_close(arena, alert));
}

/* What `body` says in a child process. */
static int in_child(int (*body)(void))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(body());
    IS(child, waitpid(child, &status, 0));
    return status;
}

static ntux_queue queue;
static ntux_object bell;
static ntux_registration registered;

/* The queue is its parent's, and so is what is registered; the objects are everybody's. */
static int use_what_is_inherited(void)
{
    struct ntux_delivered delivered;
    ntux_registration another;

    return !(ntux_queue_get(arena, queue, 0, 0, &delivered, 1) == -EBADF && ntux_queue_post(arena, queue, 1) == -EBADF
             && ntux_queue_wait(arena, queue, &bell, 1, 7, 0, 1, &another, NULL) == -EBADF
             && ntux_queue_cancel(arena, registered, NULL) == -EBADF && ntux_queue_close(arena, queue) == -EBADF
             && ntux_event_set(arena, bell, NULL) == 0);
}

static int queue_fd, bell_fd;

static int is_readable(int fd)
{
    struct pollfd polled = {0, POLLIN, 0};

    polled.fd = fd;
    return poll(&polled, 1, 0) == 1;
}

static int becomes_readable(int fd)
{
    struct pollfd polled = {0, POLLIN, 0};

    polled.fd = fd;
    return poll(&polled, 1, 60000) == 1;
}

/* A descriptor that was armed may be readable for nothing: then nothing is found, and it is armed again. */
static int queue_rests(void)
{
    struct ntux_delivered got;
    int tries;

    for (tries = 0; is_readable(queue_fd); tries++)
        if (tries == 1000 || ntux_queue_get(arena, queue, 0, 0, &got, 1) != -ETIMEDOUT)
            return 0;
    return 1;
}

static int bell_rests(void)
{
    int tries;

    for (tries = 0; is_readable(bell_fd); tries++)
        if (tries == 1000 || ntux_object_fd_take(arena, bell_fd) != -ETIMEDOUT)
            return 0;
    return 1;
}

/* To a child the descriptors are none; it makes its own. */
static int use_inherited_descriptors(void)
{
    ntux_queue own;

    if (ntux_queue_fd(arena, queue) != -EBADF || ntux_object_fd_take(arena, bell_fd) != -EBADF
        || ntux_object_fd_close(arena, bell_fd) != -EBADF)
        return 1;
    if (ntux_queue_create(arena, &own) != 0 || ntux_queue_post(arena, own, 1) != 0)
        return 2;
    if (!becomes_readable(ntux_queue_fd(arena, own)) || ntux_event_set(arena, bell, NULL) != 0)
        return 3;
    return ntux_queue_close(arena, own);
}

static void descriptors(void)
{
    struct ntux_delivered got[3];
    struct pollfd polled[2];
    ntux_object mutex, others[2];
    int ends[2];

    IS(0, ntux_queue_create(arena, &queue));
    IS(0, ntux_event_create(arena, 0, 0, &bell));
    IS(0, ntux_mutex_create(arena, 7, 1, &mutex));
    queue_fd = ntux_queue_fd(arena, queue);
    IS(1, queue_fd >= 0);
    IS(queue_fd, ntux_queue_fd(arena, queue));
    IS(1, queue_rests());
    IS(0, ntux_queue_post(arena, queue, 5));
    IS(0, ntux_queue_post(arena, queue, 6));
    IS(1, becomes_readable(queue_fd));
    IS(2, ntux_queue_get(arena, queue, 0, 0, got, 3));
    IS(1, is_readable(queue_fd)); /* not armed */
    IS(-ETIMEDOUT, ntux_queue_get(arena, queue, 0, 0, got, 3));
    IS(1, queue_rests());

    bell_fd = ntux_object_fd(arena, bell, 7);
    IS(1, bell_fd >= 0 && bell_fd != queue_fd);
    IS(-ETIMEDOUT, ntux_object_fd_take(arena, bell_fd));
    IS(0, in_child(use_inherited_descriptors));
    IS(1, becomes_readable(bell_fd));
    IS(0, ntux_object_fd_take(arena, bell_fd));
    IS(-ETIMEDOUT, ntux_object_fd_take(arena, bell_fd));
    IS(1, bell_rests());
    IS(0, ntux_event_set(arena, bell, NULL));
    IS(1, ntux_object_fd_close(arena, bell_fd)); /* acquired, and not taken */
    IS(-ETIMEDOUT, poll_for(&bell, 1, 0));
    IS(-EBADF, ntux_object_fd_close(arena, bell_fd));
    bell_fd = ntux_object_fd(arena, bell, 7);
    IS(0, ntux_object_fd_close(arena, bell_fd));
    bell_fd = ntux_object_fd(arena, mutex, 8);
    IS(0, ntux_mutex_kill(arena, mutex, 7));
    IS(1, becomes_readable(bell_fd));
    IS(-EOWNERDEAD, ntux_object_fd_take(arena, bell_fd));
    IS(0, ntux_mutex_unlock(arena, mutex, 8, NULL));
    IS(0, ntux_object_fd_close(arena, bell_fd));

    IS(0, pipe(ends));
    memset(polled, 0, sizeof polled);
    polled[0].fd = ends[0];
    polled[1].fd = -1;
    polled[0].events = polled[1].events = POLLIN;
    IS(-ETIMEDOUT, ntux_wait_any_or_poll(arena, &bell, 1, polled, 2, 0, 7, 0, 0, NULL));
    IS(1, write(ends[1], "x", 1) == 1);
    IS(1, ntux_wait_any_or_poll(arena, &bell, 1, polled, 2, 0, 7, 0, NTUX_NEVER, NULL));
    IS(1, polled[0].revents == POLLIN && polled[1].revents == 0);
    IS(0, ntux_event_set(arena, bell, NULL));
    out = 99;
    IS(0, ntux_wait_any_or_poll(arena, &bell, 1, polled, 2, 0, 7, NTUX_REALTIME, NTUX_NEVER, &out));
    IS(1, out == 0 && polled[0].revents == 0);
    others[0] = bell;
    others[1] = mutex;
    IS(0, ntux_wait_any_or_poll(arena, others, 2, NULL, 0, 0, 9, 0, in_an_hour(), &out));
    IS(1, out);
    IS(0, ntux_mutex_unlock(arena, mutex, 9, NULL));
    IS(0, ntux_wait_any_or_poll(arena, &bell, 1, NULL, 0, mutex, 9, 0, in_an_hour(), &out));
    IS(1, out); /* the alert */
    close(ends[0]);
    close(ends[1]);
    IS(0, ntux_queue_close(arena, queue));
    IS(-EBADF, ntux_queue_fd(arena, queue));
    IS(0, ntux_object_close(arena, mutex));

    /* Nobody will signal it. */
    bell_fd = ntux_object_fd(arena, bell, 7);
    IS(-ETIMEDOUT, ntux_object_fd_take(arena, bell_fd));
    IS(0, ntux_object_close(arena, bell));
    IS(-EBADF, ntux_object_fd_take(arena, bell_fd));
    IS(-EBADF, ntux_object_fd_take(arena, bell_fd));
    IS(0, ntux_object_fd_close(arena, bell_fd));
}

/* What was found of the descriptors is nothing, unless their number was returned. */
static void descriptors_after_errors(void)
{
    static ntux_object many[NTUX_WAIT_OBJECTS_MAX + 1];
    struct pollfd polled = {-1, POLLIN, 99};

#define NOTHING_FOUND(expected, what) \
    do { \
        polled.revents = 99; \
        IS(expected, what); \
        IS(0, polled.revents); \
    } while (0)
    NOTHING_FOUND(-E2BIG, ntux_wait_any_or_poll(arena, many, NTUX_WAIT_OBJECTS_MAX + 1, &polled, 1, 0, 7, 0, 0, NULL));
    NOTHING_FOUND(-ESRCH, ntux_wait_any_or_poll(arena, NULL, 0, &polled, 1, 0, 0, 0, 0, NULL));
    NOTHING_FOUND(-EINVAL, ntux_wait_any_or_poll(arena, NULL, 0, &polled, 1, 0, 7, 2, 0, NULL));
    NOTHING_FOUND(-EBADF, ntux_wait_any_or_poll(arena, many, 1, &polled, 1, 0, 7, 0, 0, NULL));
    NOTHING_FOUND(-ETIMEDOUT, ntux_wait_any_or_poll(arena, NULL, 0, &polled, 1, 0, 7, 0, 0, NULL));
}

static ntux_arena *again;

static int is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

/* Closes the child's copies, and nothing of the parent's. */
static int detach_what_is_inherited(void)
{
    int fd = ntux_arena_fd(again);

    return !(is_open(fd) && ntux_arena_detach(again) == 0 && !is_open(fd) && !is_open(queue_fd) && !is_open(bell_fd));
}

/* What was made through one attachment can be used through another one, and ends with its own. */
static void attachments_of_queues(void)
{
    struct ntux_delivered got[3];
    ntux_queue other;

    IS(0, ntux_arena_attach(ntux_arena_fd(arena), &again));
    IS(0, ntux_event_create(arena, 0, 0, &bell));
    IS(0, ntux_queue_create(again, &queue));
    queue_fd = ntux_queue_fd(arena, queue);
    IS(queue_fd, ntux_queue_fd(again, queue));
    IS(0, ntux_queue_post(arena, queue, 5));
    IS(1, becomes_readable(queue_fd));
    IS(1, ntux_queue_get(arena, queue, 0, 0, got, 3));
    IS(-ETIMEDOUT, ntux_queue_get(arena, queue, 0, 0, got, 3));
    IS(1, queue_rests()); /* armed */
    IS(0, ntux_queue_close(arena, queue));
    IS(0, is_open(queue_fd));
    IS(-EBADF, ntux_queue_close(again, queue));

    bell_fd = ntux_object_fd(again, bell, 7);
    IS(-ETIMEDOUT, ntux_object_fd_take(arena, bell_fd));
    IS(0, ntux_event_set(arena, bell, NULL));
    IS(0, ntux_object_fd_take(arena, bell_fd));
    IS(0, ntux_object_fd_close(arena, bell_fd));
    IS(0, is_open(bell_fd));
    IS(-EBADF, ntux_object_fd_close(again, bell_fd));

    /* Waits that are registered, and one that was satisfied. */
    IS(0, ntux_queue_create(again, &queue));
    IS(0, ntux_queue_create(again, &other));
    queue_fd = ntux_queue_fd(again, queue);
    IS(0, ntux_queue_wait(again, queue, &bell, 1, 7, 0, 1, &registered, NULL));
    IS(0, ntux_event_set(arena, bell, NULL));
    IS(0, ntux_queue_wait(again, queue, &bell, 1, 7, 0, 2, &registered, NULL));
    IS(0, ntux_queue_wait(again, other, &bell, 1, 7, 0, 3, &registered, NULL));
    bell_fd = ntux_object_fd(again, bell, 7);
    IS(0, in_child(detach_what_is_inherited));
    IS(0, ntux_queue_post(again, other, 4));
    IS(0, ntux_arena_detach(again));
    IS(0, is_open(queue_fd) || is_open(bell_fd));
    IS(-EBADF, ntux_queue_post(arena, queue, 1));
    IS(-EBADF, ntux_queue_post(arena, other, 1));
    IS(-EBADF, ntux_queue_fd(arena, queue));
    IS(-EBADF, ntux_object_fd_take(arena, bell_fd));
    IS(0, ntux_event_set(arena, bell, NULL));
    IS(0, poll_for(&bell, 1, 0)); /* nobody waits any more */
    IS(0, ntux_object_close(arena, bell));
}

static void queues(void)
{
    struct ntux_delivered got[3];
    ntux_object mutex, both[2];
    ntux_queue other;
    ntux_registration all;

    IS(0, ntux_queue_create(arena, &queue));
    IS(0, ntux_queue_create(arena, &other));
    IS(1, queue != 0 && other != 0 && queue != other);
    IS(0, ntux_event_create(arena, 0, 1, &bell));
    IS(0, ntux_mutex_create(arena, 7, 1, &mutex));
    both[0] = mutex;
    both[1] = bell;

    registered = 99;
    IS(0, ntux_queue_wait(arena, queue, both, 2, 8, 0, 5, &registered, &out));
    IS(0, registered); /* satisfied at once */
    IS(1, out);
    out = 99;
    IS(0, ntux_queue_wait(arena, queue, both, 2, 8, 0, UINT64_MAX, &registered, &out));
    IS(0, ntux_queue_wait(arena, queue, both, 2, 8, NTUX_QUEUE_ALL, 6, &all, NULL));
    IS(1, registered != 0 && all != 0 && registered != all);
    IS(99, out);
    IS(0, in_child(use_what_is_inherited));
    IS(0, ntux_queue_post(arena, queue, 7));
    IS(-ETIMEDOUT, ntux_queue_get(arena, other, 0, 0, got, 3));
    IS(2, ntux_queue_get(arena, queue, NTUX_REALTIME, NTUX_NEVER, got, 3));
    if (got[0].key == 7) {
        got[2] = got[0];
        got[0] = got[1];
        got[1] = got[2];
    }
    IS(1, got[0].key == UINT64_MAX && got[0].registration == registered && got[0].index == 1 && got[0].abandoned == 0);
    IS(1, got[1].key == 7 && got[1].registration == 0 && got[1].index == 0 && got[1].abandoned == 0);
    IS(-EBADF, ntux_queue_cancel(arena, registered, NULL));

    IS(0, ntux_mutex_kill(arena, mutex, 7));
    IS(0, ntux_event_set(arena, bell, NULL));
    IS(1, ntux_queue_get(arena, queue, 0, in_an_hour(), got, 1));
    IS(1, got[0].key == 6 && got[0].registration == all && got[0].index == 0 && got[0].abandoned == 1);
    IS(0, ntux_mutex_kill(arena, mutex, 8));
    registered = 99;
    IS(-EOWNERDEAD, ntux_queue_wait(arena, queue, &mutex, 1, 7, 0, 5, &registered, &out));
    IS(1, registered == 0 && out == 0);

    /* Cancelled; satisfied before; by a killed owner. */
    out = 99;
    IS(0, ntux_queue_wait(arena, queue, &bell, 1, 7, 0, 5, &registered, NULL));
    IS(0, ntux_queue_cancel(arena, registered, &out));
    IS(99, out);
    both[0] = bell;
    both[1] = mutex;
    IS(0, ntux_queue_wait(arena, queue, both, 2, 8, 0, 5, &registered, NULL));
    IS(0, ntux_mutex_unlock(arena, mutex, 7, NULL));
    IS(1, ntux_queue_cancel(arena, registered, &out));
    IS(1, out);
    IS(0, ntux_queue_wait(arena, queue, both, 2, 7, 0, 5, &registered, NULL));
    IS(0, ntux_mutex_kill(arena, mutex, 8));
    IS(-EOWNERDEAD, ntux_queue_cancel(arena, registered, &out));
    IS(1, out);
    IS(-EBADF, ntux_queue_cancel(arena, registered, &out));
    IS(-ETIMEDOUT, ntux_queue_get(arena, queue, 0, 0, got, 3));

    IS(0, ntux_queue_wait(arena, other, NULL, 0, 7, NTUX_QUEUE_ALL, 5, &registered, &out));
    IS(1, registered == 0 && out == 0);
    IS(0, ntux_queue_wait(arena, other, NULL, 0, 7, 0, 5, &registered, NULL));
    IS(1, registered != 0);
    IS(0, ntux_queue_wait(arena, other, &bell, 1, 7, 0, 5, &all, NULL));
    IS(0, ntux_queue_close(arena, other));
    IS(-EBADF, ntux_queue_cancel(arena, registered, NULL));
    IS(0, ntux_event_set(arena, bell, NULL));
    IS(0, poll_for(&bell, 1, 0)); /* nobody waits any more */
    IS(0, ntux_queue_close(arena, queue));
    IS(0, ntux_object_close(arena, bell));
    IS(0, ntux_object_close(arena, mutex));
}

/* A thread that ends returns its waiter: more threads than the arena has room for, one after the other. */
static ntux_arena *small;
static ntux_object turn;

static void *take_a_turn(void *unused)
{
    IS(0, ntux_event_set(small, turn, NULL));
    IS(0, ntux_wait_any(small, &turn, 1, 0, 7, 0, NTUX_NEVER, NULL));
    return unused;
}

static void threads(void)
{
    pthread_t thread;
    int i;

    IS(0, ntux_arena_create(16, 4, &small));
    IS(0, ntux_event_create(small, 0, 0, &turn));
    for (i = 0; i < 100; i++) {
        IS(0, pthread_create(&thread, NULL, take_a_turn, NULL));
        IS(0, pthread_join(thread, NULL));
    }
    IS(0, ntux_arena_detach(small));
}

static void arenas(void)
{
    ntux_arena *again;
    ntux_object event;

    IS(0, ntux_arena_create(16777216, 65536, &again)); /* the largest */
    IS(0, ntux_arena_detach(again));

    IS(0, ntux_arena_attach(ntux_arena_fd(arena), &again));
    IS(0, ntux_event_create(again, 1, 0, &event));
    IS(0, ntux_event_set(arena, event, &out));
    IS(0, ntux_event_read(again, event, NULL, &out));
    IS(1, out);
    IS(0, ntux_object_adopt(again, event));
    IS(0, ntux_arena_detach(again));
    IS(0, ntux_event_read(arena, event, NULL, &out));
    IS(0, ntux_object_close(arena, event));
}

static void holds(void)
{
    ntux_arena *again;
    ntux_object event, mutex;

    IS(0, ntux_arena_attach(ntux_arena_fd(arena), &again));
    IS(0, ntux_event_create(arena, 1, 1, &event));
    IS(0, ntux_object_hold(again, event)); /* of one process, whichever attachment */
    IS(0, ntux_object_release(arena, event));
    IS(0, ntux_event_read(arena, event, NULL, &out));
    IS(0, ntux_object_release(arena, event));
    IS(-EBADF, ntux_event_read(again, event, NULL, &out));
    IS(0, ntux_arena_detach(again));

    /* Of this process, as if it were another one. */
    IS(0, ntux_event_create(arena, 1, 1, &event));
    IS(0, ntux_object_hold_for(arena, event, (uint32_t)getpid()));
    IS(0, ntux_object_holds(arena, event, &out));
    IS(2, out);
    IS(0, ntux_object_release(arena, event));
    IS(0, ntux_object_release(arena, event));
    IS(-EBADF, ntux_object_hold_for(arena, event, (uint32_t)getpid()));
    IS(-EBADF, ntux_object_holds(arena, event, &out));

    IS(0, ntux_mutex_create(arena, 7, 2, &mutex));
    IS(0, ntux_object_release(arena, mutex));
    IS(-EPERM, ntux_object_release(arena, mutex));
    IS(0, ntux_mutex_kill(arena, mutex, 7));
    IS(0, ntux_object_hold(arena, mutex));
    IS(-EOWNERDEAD, ntux_wait_any(arena, &mutex, 1, 0, 8, 0, 0, NULL));
    IS(0, ntux_mutex_unlock(arena, mutex, 8, NULL));
    IS(0, ntux_object_release(arena, mutex));
    IS(-EBADF, ntux_object_kind(arena, mutex));
}

/* Arenas by name, which only Linux has. */
static void arenas_by_name(void)
{
    char directory[] = "/tmp/ntux-outcomes-XXXXXX", path[64];
    ntux_arena *one, *other;
    ntux_object event;
    uint32_t manual, signaled;
    int result;

    IS(1, mkdtemp(directory) != NULL && setenv("XDG_RUNTIME_DIR", directory, 1) == 0);
    result = ntux_arena_open("session", 16, 4, &one);
    if (result != -ENOSYS) {
        IS(0, result);
        IS(0, ntux_arena_open("session", 1, 1, &other));
        IS(0, ntux_event_create(one, 1, 1, &event));
        IS(0, ntux_event_read(other, event, &manual, &signaled));
        IS(1, manual == 1 && signaled == 1);
        IS(0, ntux_arena_detach(one));
        IS(0, ntux_event_read(other, event, &manual, &signaled));
        IS(0, ntux_arena_detach(other));
        IS(0, ntux_arena_open("session", 16, 4, &one));
        IS(-EBADF, ntux_event_read(one, event, &manual, &signaled));
        IS(0, ntux_arena_detach(one));
        snprintf(path, sizeof path, "%s/ntux/session", directory);
        IS(0, unlink(path));
        snprintf(path, sizeof path, "%s/ntux", directory);
        IS(0, rmdir(path));
    }
    IS(0, rmdir(directory));
}

static void names(void)
{
    ntux_arena *again;
    ntux_object event, other, mutex;
    uint32_t existed;

    IS(0, ntux_arena_attach(ntux_arena_fd(arena), &again));
    IS(-ENOENT, ntux_object_open_named(arena, "bell", 0, NTUX_KIND_AUTO_EVENT, &event));
    IS(0, ntux_event_create_named(arena, "bell", 0, 0, 1, &event, &existed));
    IS(0, existed);
    IS(0, ntux_event_create_named(again, "bell", 0, 1, 0, &other, &existed));
    IS(1, existed);
    IS(1, event == other);
    IS(NTUX_KIND_AUTO_EVENT, ntux_object_kind(arena, other));
    IS(0, ntux_object_open_named(again, "BELL", NTUX_IGNORE_CASE, NTUX_KIND_MANUAL_EVENT, &other));
    IS(1, event == other);
    IS(-ENOENT, ntux_object_open_named(again, "BELL", 0, NTUX_KIND_AUTO_EVENT, &other));
    IS(-EPROTOTYPE, ntux_object_open_named(again, "bell", 0, NTUX_KIND_MUTEX, &other));
    IS(-EPROTOTYPE, ntux_semaphore_create_named(again, "bell", 0, 1, 1, &other, NULL));
    IS(0, ntux_mutex_create_named(arena, "lock", 0, 7, 1, &mutex, NULL));
    IS(0, ntux_mutex_unlock(arena, mutex, 7, NULL));

    IS(0, ntux_object_make_permanent(arena, event));
    IS(0, ntux_object_release(arena, event));
    IS(0, ntux_object_release(arena, event));
    IS(0, ntux_object_release(arena, event));
    IS(-EPERM, ntux_object_release(arena, event));
    IS(0, ntux_object_open_named(again, "bell", 0, NTUX_KIND_AUTO_EVENT, &other));
    IS(0, ntux_object_release(arena, event));
    IS(0, ntux_object_make_temporary(arena, event));
    IS(-ENOENT, ntux_object_open_named(again, "bell", 0, NTUX_KIND_AUTO_EVENT, &other));
    IS(0, ntux_arena_detach(again));
}

/* NTSYNC_IOC_..., as Linux composes them: direction, size, letter, which. */
#define REQUEST(direction, size, which) (UINT32_C(direction) << 30 | UINT32_C(size) << 16 | 'N' << 8 | UINT32_C(which))
#define IN 1
#define OUT 2
#define INOUT 3

/* What the driver's requests do: the same as the functions. */
static void requests(void)
{
    ntux_object semaphore = 0, mutex = 0, event = 0;
    uint32_t words[2] = { 1, 3 };

    IS(0, ntux_request(arena, &semaphore, REQUEST(IN, 8, 0x80), words));
    IS(0, ntux_semaphore_read(arena, semaphore, &out, &out2));
    IS(1, out);
    IS(3, out2);
    words[0] = 2;
    IS(0, ntux_request(arena, &semaphore, REQUEST(INOUT, 4, 0x81), words));
    IS(1, words[0]);
    IS(0, ntux_request(arena, &semaphore, REQUEST(OUT, 8, 0x8b), words));
    IS(3, words[0]);
    IS(3, words[1]);
    IS(-EOVERFLOW, ntux_request(arena, &semaphore, REQUEST(INOUT, 4, 0x81), words));

    words[0] = 7;
    words[1] = 2;
    IS(0, ntux_request(arena, &mutex, REQUEST(IN, 8, 0x84), words));
    words[1] = 99;
    IS(0, ntux_request(arena, &mutex, REQUEST(INOUT, 8, 0x85), words));
    IS(7, words[0]);
    IS(2, words[1]);
    words[0] = 8;
    IS(-EPERM, ntux_request(arena, &mutex, REQUEST(IN, 4, 0x86), words));
    IS(0, ntux_request(arena, &mutex, REQUEST(OUT, 8, 0x8c), words));
    IS(7, words[0]);
    IS(1, words[1]);
    IS(0, ntux_request(arena, &mutex, REQUEST(IN, 4, 0x86), words));
    IS(-EOWNERDEAD, ntux_request(arena, &mutex, REQUEST(OUT, 8, 0x8c), words));
    IS(0, words[0]);

    words[0] = 1;
    words[1] = 0;
    IS(0, ntux_request(arena, &event, REQUEST(IN, 8, 0x87), words));
    IS(0, ntux_request(arena, &event, REQUEST(OUT, 4, 0x88), words));
    IS(0, words[0]);
    IS(0, ntux_request(arena, &event, REQUEST(OUT, 8, 0x8d), words));
    IS(1, words[0]);
    IS(1, words[1]);
    IS(0, ntux_request(arena, &event, REQUEST(OUT, 4, 0x89), words));
    IS(1, words[0]);
    IS(0, ntux_request(arena, &event, REQUEST(OUT, 4, 0x8a), words));
    IS(0, words[0]);
    IS(0, ntux_event_read(arena, event, NULL, &out));
    IS(0, out);

    IS(0, ntux_object_close(arena, semaphore));
    IS(0, ntux_object_close(arena, mutex));
    IS(0, ntux_object_close(arena, event));
    IS(-EBADF, ntux_request(arena, &event, REQUEST(OUT, 4, 0x88), words));
}

int main(void)
{
    IS(0, ntux_arena_create(1048576, 65536, &arena));
    requests();
    semaphore();
    mutex();
    event();
    waits();
    kinds();
    signals_and_waits();
    queues();
    descriptors();
    descriptors_after_errors();
    attachments_of_queues();
    threads();
    arenas();
    holds();
    names();
    arenas_by_name();
#ifdef PLANTED
    IS(1, ntux_wait_all(arena, NULL, 0, 0, 7, 0, 0, NULL));
#endif
    IS(0, ntux_arena_detach(arena));
    printf("%d checks, %d failures\n", checks, failures);
    return failures ? 1 : 0;
}
