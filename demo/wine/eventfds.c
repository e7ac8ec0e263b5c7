/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /dev/ntsync by plain eventfds, one for each object: what the lifetimes of descriptors cost any device, for the table in docs/decisions/0009-descriptors-in-wine.md.
 * Mutexes have no owners and do not recurse, previous counts are not told, a wait for all polls: nothing to run programs with.
 *
 *     cc -O2 -shared -fPIC -o eventfds.so eventfds.c
 *     LD_PRELOAD=$PWD/eventfds.so wine figures.exe create open wait */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct wait { uint64_t timeout, objects; uint32_t count, index, flags, owner, alert, pad; };

/* A manual-reset event has O_APPEND set: nobody takes its unit. */
static int is_manual(int fd) { return fcntl(fd, F_GETFL) & O_APPEND; }
static int add(int fd, uint64_t units) { return write(fd, &units, 8) == 8 || errno == EAGAIN ? 0 : -1; }
static int take(int fd) { uint64_t units; return is_manual(fd) || read(fd, &units, 8) == 8; }

static int object(uint32_t units, int flags, int manual)
{
    int fd = eventfd(units, EFD_CLOEXEC | EFD_NONBLOCK | flags);
    if (fd >= 0 && manual) fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_APPEND);
    return fd;
}

static int wait_any(struct wait *wait, int all)
{
    const uint32_t *fds = (const uint32_t *)(uintptr_t)wait->objects;
    struct pollfd polled[66];
    uint32_t count = wait->count, i, n = count + !!wait->alert, ready;

    for (i = 0; i < count; i++) polled[i] = (struct pollfd){ (int)fds[i], POLLIN, 0 };
    if (wait->alert) polled[count] = (struct pollfd){ (int)wait->alert, POLLIN, 0 };
    for (;;) {
        struct timespec left, now, *time = NULL;
        if (wait->timeout != UINT64_MAX) {
            int64_t ns = 0;
            if (wait->timeout) {
                clock_gettime(wait->flags & 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
                ns = (int64_t)(wait->timeout - (uint64_t)now.tv_sec * 1000000000u - (uint64_t)now.tv_nsec);
                if (ns < 0) ns = 0;
            }
            left = (struct timespec){ ns / 1000000000, ns % 1000000000 };
            time = &left;
        }
        if (ppoll(polled, n, time, NULL) < 0) return -1;
        for (i = ready = 0; i < count; i++) ready += !!polled[i].revents;
        if (all && count && ready == count) {
            for (i = 0; i < count; i++) take((int)fds[i]);
            wait->index = 0;
            return 0;
        }
        if (!all) for (i = 0; i < count; i++) if (polled[i].revents && take((int)fds[i])) { wait->index = i; return 0; }
        if (wait->alert && polled[count].revents) { wait->index = count; take((int)wait->alert); return 0; }
        if (time && !left.tv_sec && !left.tv_nsec) { errno = ETIMEDOUT; return -1; }
        if (all && ready) { struct timespec nap = { 0, 100000 }; nanosleep(&nap, NULL); }
    }
}

int ioctl(int fd, unsigned long request, ...)
{
    static int (*real)(int, unsigned long, void *);
    va_list list;
    void *argument;
    uint32_t *words;
    uint64_t units;

    va_start(list, request);
    argument = va_arg(list, void *);
    va_end(list);
    words = argument;
    if (((request >> 8) & 0xff) == 'N' && (request & 0xff) >= 0x80 && (request & 0xff) <= 0x8d)
        switch (request & 0xff) {
        case 0x80: return object(words[0], EFD_SEMAPHORE, 0);
        case 0x81: units = words[0]; words[0] = 0; return add(fd, units);
        case 0x82: return wait_any(argument, 0);
        case 0x83: return wait_any(argument, 1);
        case 0x84: return object(words[1] ? 0 : 1, 0, 0);
        case 0x85: words[1] = 1; return add(fd, 1);
        case 0x86: return add(fd, 1);
        case 0x87: return object(!!words[1], 0, words[0]);
        case 0x88: words[0] = 0; return add(fd, 1);
        case 0x89: words[0] = read(fd, &units, 8) == 8; return 0;
        case 0x8a: words[0] = 0; return add(fd, 1) || read(fd, &units, 8) < 0;
        default: errno = EINVAL; return -1;
        }
    if (!real) real = dlsym(RTLD_NEXT, "ioctl");
    return real(fd, request, argument);
}

static int opened(const char *path, int flags, mode_t mode)
{
    if (!strcmp(path, "/dev/ntsync")) return eventfd(0, EFD_CLOEXEC);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
