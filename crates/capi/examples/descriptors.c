/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The loops of docs/c/descriptors.md: one thread serves a socket, a queue and an object in one poll; then it waits for an object
 * and a socket in one call. Another process is at the other ends. Prints what was served; exits with 0 if that is everything.
 *
 *     cc descriptors.c $(pkg-config --cflags --libs ntux)
 */
#include <errno.h>
#include <ntux.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

enum { JOBS = 200, BELLS = 100, BYTES = 300 };

static ntux_queue queue;
static ntux_object jobs, bell, quit;
static int sockets[2];
static int jobs_done, bells_heard, bytes_read, has_quit;

/* Waits for a job, and for the end. Their keys are 1 and 2. */
static void watch(ntux_object object, uint64_t key)
{
    ntux_registration registration;

    check("wait", ntux_queue_wait(arena, queue, &object, 1, 1, 0, key, &registration, NULL));
    if (registration == 0) /* acquired already: its turn comes */
        check("post", ntux_queue_post(arena, queue, key));
}

/* Takes all that is in the queue: the call that finds nothing arms its descriptor. */
static void serve_queue(void)
{
    struct ntux_delivered delivered[16];
    int i, count;

    while ((count = ntux_queue_get(arena, queue, 0, 0, delivered, 16)) > 0) {
        for (i = 0; i < count; i++) {
            if (delivered[i].key == 1) {
                jobs_done++;
                watch(jobs, 1);
            } else {
                has_quit = 1;
            }
        }
    }
    if (count != -ETIMEDOUT)
        check("get", count);
}

/* Takes the bell as often as it was acquired: the call that finds that it was not arms its descriptor. */
static void serve_bell(int fd)
{
    int result;

    while ((result = ntux_object_fd_take(arena, fd)) == 0)
        bells_heard++;
    if (result != -ETIMEDOUT)
        check("take", result);
}

static void serve_socket(void)
{
    char bytes[64];
    ssize_t count = read(sockets[0], bytes, sizeof bytes);

    if (count > 0)
        bytes_read += (int)count;
}

static void loop(void)
{
    struct pollfd polled[3];
    int i;

    memset(polled, 0, sizeof polled);
    check("fd", polled[0].fd = ntux_queue_fd(arena, queue));
    check("fd", polled[1].fd = ntux_object_fd(arena, bell, 1));
    polled[2].fd = sockets[0];
    for (i = 0; i < 3; i++)
        polled[i].events = POLLIN;

    watch(jobs, 1);
    watch(quit, 2);
    while (!has_quit || jobs_done < JOBS || bells_heard < BELLS || bytes_read < BYTES) {
        if (poll(polled, 3, -1) < 0)
            continue; /* a signal, for instance */
        if (polled[0].revents)
            serve_queue();
        if (polled[1].revents)
            serve_bell(polled[1].fd);
        if (polled[2].revents)
            serve_socket();
    }
    check("close", ntux_object_fd_close(arena, polled[1].fd));
}

/* In one call: an object, or a socket. */
static const char *either(void)
{
    struct pollfd socket = {0, POLLIN, 0};
    int result;

    socket.fd = sockets[0];
    result = ntux_wait_any_or_poll(arena, &bell, 1, &socket, 1, 0, 1, 0, NTUX_NEVER, NULL);
    check("wait", result);
    if (result == 0)
        return "the bell";
    serve_socket();
    return "the socket";
}

/* In another process. */
static void be_the_other_end(void)
{
    int i;

    for (i = 0; i < BYTES; i++) {
        if (i < JOBS)
            check("release", ntux_semaphore_release(arena, jobs, 1, NULL));
        if (i < BELLS)
            check("release", ntux_semaphore_release(arena, bell, 1, NULL));
        if (write(sockets[1], "x", 1) != 1)
            exit(1);
    }
    check("set", ntux_event_set(arena, quit, NULL));
}

int main(void)
{
    pid_t child;
    int status = 0;

    check("arena", ntux_arena_create(16, 16, &arena));
    check("create", ntux_semaphore_create(arena, 0, JOBS, &jobs));
    check("create", ntux_semaphore_create(arena, 0, BELLS, &bell));
    check("create", ntux_event_create(arena, 0, 0, &quit));
    check("create", ntux_queue_create(arena, &queue));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return 1;

    child = fork();
    if (child == 0) {
        be_the_other_end();
        _exit(0);
    }
    loop();
    waitpid(child, &status, 0);
    printf("%d jobs, %d bells, %d bytes, and the end\n", jobs_done, bells_heard, bytes_read);

    if (write(sockets[1], "x", 1) != 1)
        return 1;
    printf("%s\n", either());
    check("release", ntux_semaphore_release(arena, bell, 1, NULL));
    printf("%s\n", either());
    check("detach", ntux_arena_detach(arena));
    return status;
}
