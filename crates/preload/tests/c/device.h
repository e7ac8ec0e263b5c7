/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the test programs share: the kernel's interface as its documentation gives it, and checks that name failures. */
#ifndef DEVICE_H
#define DEVICE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct sem_args { uint32_t count, max; };
struct mutex_args { uint32_t owner, count; };
struct event_args { uint32_t manual, signaled; };
struct wait_args {
    uint64_t timeout, objs;
    uint32_t count, index, flags, owner, alert, pad;
};

#undef WAIT_ANY /* a name for waitid of old */

#define CREATE_SEM _IOW('N', 0x80, struct sem_args)
#define SEM_RELEASE _IOWR('N', 0x81, uint32_t)
#define WAIT_ANY _IOWR('N', 0x82, struct wait_args)
#define WAIT_ALL _IOWR('N', 0x83, struct wait_args)
#define CREATE_MUTEX _IOW('N', 0x84, struct mutex_args)
#define MUTEX_UNLOCK _IOWR('N', 0x85, struct mutex_args)
#define MUTEX_KILL _IOW('N', 0x86, uint32_t)
#define CREATE_EVENT _IOW('N', 0x87, struct event_args)
#define EVENT_SET _IOR('N', 0x88, uint32_t)
#define EVENT_RESET _IOR('N', 0x89, uint32_t)
#define EVENT_PULSE _IOR('N', 0x8a, uint32_t)
#define SEM_READ _IOR('N', 0x8b, struct sem_args)
#define MUTEX_READ _IOR('N', 0x8c, struct mutex_args)
#define EVENT_READ _IOR('N', 0x8d, struct event_args)

#define FOREVER UINT64_MAX
#define UNTOUCHED 0xdeadbeefu

/* Fails the whole program, with the place. */
#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) {                                                                                    \
            dprintf(2, "%s:%d: failed: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);                \
            _exit(1);                                                                                          \
        }                                                                                                      \
    } while (0)

/* The call must fail with this error number. */
#define REFUSED(call, number)                                                                                  \
    do {                                                                                                       \
        errno = 0;                                                                                             \
        long result_ = (long)(call);                                                                           \
        int errno_ = errno;                                                                                    \
        if (result_ != -1 || errno_ != (number)) {                                                             \
            dprintf(2, "%s:%d: %s: result %ld errno %d, expected -1 %s\n", __FILE__, __LINE__, #call, result_,   \
                    errno_, #number);                                                                          \
            _exit(1);                                                                                          \
        }                                                                                                      \
    } while (0)

static inline int open_device(void)
{
    int device = open("/dev/ntsync", O_CLOEXEC | O_RDONLY);
    CHECK(device >= 0);
    return device;
}

static inline int event(int device, uint32_t manual, uint32_t signaled)
{
    struct event_args args = {manual, signaled};
    int fd = ioctl(device, CREATE_EVENT, &args);
    CHECK(fd >= 0);
    return fd;
}

static inline int semaphore(int device, uint32_t count, uint32_t max)
{
    struct sem_args args = {count, max};
    int fd = ioctl(device, CREATE_SEM, &args);
    CHECK(fd >= 0);
    return fd;
}

static inline int mutex(int device, uint32_t owner, uint32_t count)
{
    struct mutex_args args = {owner, count};
    int fd = ioctl(device, CREATE_MUTEX, &args);
    CHECK(fd >= 0);
    return fd;
}

static inline uint32_t set(int fd)
{
    uint32_t before = UNTOUCHED;
    CHECK(ioctl(fd, EVENT_SET, &before) == 0 && before <= 1);
    return before;
}

static inline uint32_t pulse(int fd)
{
    uint32_t before = UNTOUCHED;
    CHECK(ioctl(fd, EVENT_PULSE, &before) == 0 && before <= 1);
    return before;
}

static inline uint32_t signaled(int fd)
{
    struct event_args args = {UNTOUCHED, UNTOUCHED};
    CHECK(ioctl(fd, EVENT_READ, &args) == 0 && args.manual <= 1 && args.signaled <= 1);
    return args.signaled;
}

static inline uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static inline uint64_t in_ms(uint64_t ms) { return now() + ms * 1000000; }

/* -1 with errno, or the index. */
static inline int wait_for(int device, unsigned long request, const int *fds, uint32_t count, uint32_t owner, int alert,
                           uint64_t timeout)
{
    struct wait_args args = {timeout, (uintptr_t)fds, count, UNTOUCHED, 0, owner, alert, 0};
    int result = ioctl(device, request, &args);
    CHECK((result == 0 || errno == EOWNERDEAD) == (args.index != UNTOUCHED));
    return result == 0 ? (int)args.index : -1;
}

static inline int wait_any(int device, const int *fds, uint32_t count, uint64_t timeout)
{
    return wait_for(device, WAIT_ANY, fds, count, 1, 0, timeout);
}

static inline int wait_one(int device, int fd, uint64_t timeout) { return wait_any(device, &fd, 1, timeout); }

static inline void sleep_ms(unsigned ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        CHECK(errno == EINTR);
}

/* Until this thread, or a process's first one, sleeps in the kernel, that is, in its wait. */
static inline void until_asleep(pid_t thread)
{
    char path[64], stat[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)thread);
    for (;;) {
        int fd = open(path, O_RDONLY);
        CHECK(fd >= 0);
        ssize_t length = read(fd, stat, sizeof stat - 1);
        close(fd);
        CHECK(length > 0);
        stat[length] = 0;
        char *state = strrchr(stat, ')');
        if (state && state[2] == 'S')
            return;
        sleep_ms(1);
    }
}

static inline pid_t thread_id(void) { return (pid_t)syscall(SYS_gettid); }

static inline void signal_thread(pid_t thread, int signal)
{
    CHECK(syscall(SYS_tgkill, getpid(), thread, signal) == 0);
}

static inline void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    CHECK(sigaction(signal, &action, NULL) == 0);
}

/* The watchdog of every program, which takes so many seconds at most on a machine that does nothing else; in an emulator beside
 * other work it has taken more. SIGALRM is left to its default.
 */
static inline void watchdog(unsigned seconds) { alarm(8 * seconds); }

static inline void exited_well(pid_t child)
{
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static inline void send_fd(int socket, int fd)
{
    char byte = 'x';
    struct iovec part = {&byte, 1};
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    CHECK(sendmsg(socket, &message, 0) == 1);
}

static inline int receive_fd(int socket)
{
    char byte;
    int fd;
    struct iovec part = {&byte, 1};
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    CHECK(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    CHECK(header && header->cmsg_type == SCM_RIGHTS);
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

#endif
