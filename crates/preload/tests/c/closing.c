/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every way in which a program may close a descriptor. What the library knows about it must go with it: otherwise a set
   through the number, used again, reaches the old object. The first argument is the scenario. */
#include "device.h"

#include <dirent.h>
#include <mqueue.h>
#include <pty.h>
#include <sched.h>
#include <utmp.h>

static int device;

/* Calls that `glibc` has for old programs, or that no header of every C library declares. */
extern int __close(int fd);
extern int __dup2(int old, int new);
extern int _IO_fclose(FILE *stream);

/* A number that the library knows: of an event that is not signaled, of which `kept` is another descriptor. */
static int known_event(int *kept)
{
    int fd = event(device, 1, 0);
    *kept = fcntl(fd, F_DUPFD_CLOEXEC, 400);
    CHECK(*kept >= 400 && signaled(fd) == 0);
    return fd;
}

/* The number was closed. Another file has it now, or nobody: nothing that is done through it reaches the event. */
static void means_something_else(int fd, int kept)
{
    uint32_t before;
    if (fcntl(fd, F_GETFD) < 0) {
        REFUSED(ioctl(fd, EVENT_SET, &before), EBADF);
        int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        if (file != fd)
            CHECK(fcntl(file, F_DUPFD, fd) == fd && close(file) == 0);
    }
    REFUSED(ioctl(fd, EVENT_SET, &before), ENOTTY);
    REFUSED(wait_one(device, fd, 0), EINVAL);
    CHECK(signaled(kept) == 0);
    close(fd), close(kept);
}

/* By `syscall`, with every number that closes. */
static void closed_by_number(void)
{
    for (int way = 0; way < 4; way++) {
        int kept, fd = known_event(&kept), file = open("/proc/self/exe", O_RDONLY);
        switch (way) {
        case 0: CHECK(syscall(SYS_close, fd) == 0); break;
        case 1: CHECK(syscall(SYS_close_range, fd, fd, 0) == 0); break;
        case 2: CHECK(syscall(SYS_dup3, file, fd, O_CLOEXEC) == fd); break;
#ifdef SYS_dup2
        case 3: CHECK(syscall(SYS_dup2, file, fd) == fd); break;
#else
        case 3: CHECK(syscall(SYS_close, fd) == 0); break;
#endif
        }
        means_something_else(fd, kept);
        close(file);
    }
    REFUSED(syscall(SYS_close, 999), EBADF);
    REFUSED(syscall(SYS_dup3, 999, 998, 0), EBADF);
}

/* Objects whose numbers go around by `syscall` alone. */
static void numbers_are_used_again_by_number(void)
{
    int fd = event(device, 0, 1);
    for (int i = 0; i < 2000; i++) {
        CHECK(syscall(SYS_close, fd) == 0);
        struct event_args args = {0, i % 2};
        CHECK(syscall(SYS_ioctl, device, CREATE_EVENT, &args) == fd);
        CHECK(signaled(fd) == (uint32_t)i % 2);
    }
    /* What is closed this way is counted as gone: more can be made than there is room for. */
    for (int i = 0; i < 20000; i++)
        CHECK(syscall(SYS_close, event(device, 0, 0)) == 0);
}

/* By other functions than `close`. */
static void closed_by_functions(void)
{
    int kept, fd = known_event(&kept);
    CHECK(fclose(fdopen(fd, "r")) == 0);
    means_something_else(fd, kept);

    fd = known_event(&kept);
    CHECK(_IO_fclose(fdopen(fd, "r+")) == 0);
    means_something_else(fd, kept);

    fd = known_event(&kept);
    FILE *stream = freopen("/proc/self/exe", "r", fdopen(fd, "r"));
    CHECK(stream && fileno(stream) == fd && fgetc(stream) == 0x7f);
    means_something_else(fd, kept);

    fd = known_event(&kept);
    stream = fdopen(fd, "r");
    REFUSED(freopen("/no such file", "r", stream) ? 0 : -1, ENOENT);
    means_something_else(fd, kept);

    fd = known_event(&kept);
    CHECK(__close(fd) == 0);
    means_something_else(fd, kept);

    int file = open("/proc/self/exe", O_RDONLY);
    fd = known_event(&kept);
    CHECK(__dup2(file, fd) == fd);
    means_something_else(fd, kept);

    fd = known_event(&kept);
    CHECK(mq_close(fd) == 0);
    means_something_else(fd, kept);

    /* Descriptors that belong to somebody else, replaced by an object's. */
    int own = event(device, 1, 0);
    DIR *directory = opendir("/");
    fd = dirfd(directory), kept = fcntl(own, F_DUPFD, 400);
    CHECK(dup2(own, fd) == fd && signaled(fd) == 0 && closedir(directory) == 0);
    means_something_else(fd, kept);

    stream = popen("exit 3", "r");
    fd = fileno(stream), kept = fcntl(own, F_DUPFD, 400);
    CHECK(dup2(own, fd) == fd && signaled(fd) == 0 && WEXITSTATUS(pclose(stream)) == 3);
    means_something_else(fd, kept);
}

/* What is not ours: the same results as ever. */
static void foreign_streams(void)
{
    char room[8] = "abcdefg";
    FILE *stream = fmemopen(room, sizeof room, "r");
    errno = 12345;
    CHECK(stream && fgetc(stream) == 'a' && errno == 12345 && fclose(stream) == 0 && errno == 12345);
    stream = tmpfile();
    int fd = fileno(stream);
    CHECK(fputs("abc", stream) >= 0);
    CHECK(fclose(stream) == 0);
    REFUSED(fcntl(fd, F_GETFD), EBADF);
    stream = fopen("/dev/null", "w");
    CHECK(stream && freopen(NULL, "a", stream) == stream && fputs("abc", stream) >= 0 && fclose(stream) == 0);
    const char *volatile nowhere = (const char *)8;
    CHECK(fopen(nowhere, "r") == NULL && errno == EFAULT);
    CHECK(fopen("/dev/ntsync", "bad mode") == NULL && errno == EINVAL);
    CHECK(fopen("/no such directory/ntsync", "r") == NULL && errno == ENOENT);
}

/* The first three descriptors, which some functions replace. Each in a child of its own. */
static void replaced_by_daemon(void)
{
    int ends[2], kept;
    char byte = 0;
    CHECK(pipe(ends) == 0);
    known_event(&kept);
    pid_t child = fork();
    if (child == 0) {
        CHECK(dup2(kept, 0) == 0 && dup2(kept, 2) == 2 && signaled(0) == 0 && signaled(2) == 0);
        CHECK(daemon(1, 0) == 0);
        watchdog(20);
        uint32_t before;
        int well = ioctl(0, EVENT_SET, &before) < 0 && errno == ENOTTY && ioctl(2, EVENT_SET, &before) < 0;
        CHECK(write(ends[1], well ? "y" : "n", 1) == 1);
        _exit(0);
    }
    exited_well(child);
    CHECK(read(ends[0], &byte, 1) == 1 && byte == 'y' && signaled(kept) == 0);
}

static void replaced_by_login(void)
{
    int kept, master, terminal;
    CHECK(openpty(&master, &terminal, NULL, NULL, NULL) == 0);
    known_event(&kept);
    pid_t child = fork();
    if (child == 0) {
        int output = dup(2);
        CHECK(dup2(kept, 0) == 0 && dup2(kept, 1) == 1 && signaled(0) == 0 && signaled(1) == 0);
        CHECK(login_tty(terminal) == 0 && dup2(output, 2) == 2);
        uint32_t before;
        REFUSED(ioctl(0, EVENT_SET, &before), ENOTTY);
        REFUSED(ioctl(1, EVENT_SET, &before), ENOTTY);
        REFUSED(ioctl(terminal, EVENT_SET, &before), EBADF);
        _exit(0);
    }
    exited_well(child);
    CHECK(signaled(kept) == 0);
}

struct parting { int fd, other, way; pthread_barrier_t turn; };

static void *part(void *argument)
{
    struct parting *parting = argument;
    switch (parting->way) {
    case 0: CHECK(unshare(CLONE_FILES) == 0); break;
    case 1: CHECK(syscall(SYS_unshare, CLONE_FILES) == 0); break;
    case 2: CHECK(close_range(900, 901, CLOSE_RANGE_UNSHARE) == 0); break;
    case 3: CHECK(syscall(SYS_close_range, 900, 901, CLOSE_RANGE_UNSHARE) == 0); break;
    }
    CHECK(dup2(parting->other, parting->fd) == parting->fd && signaled(parting->fd) == 1);
    pthread_barrier_wait(&parting->turn);
    pthread_barrier_wait(&parting->turn);
    CHECK(signaled(parting->fd) == 1 && wait_one(device, parting->fd, 0) == 0);
    CHECK(close(parting->fd) == 0);
    return NULL;
}

/* A thread that gets descriptors of its own: its numbers mean its own things, and ours mean ours. */
static void threads_with_their_own_descriptors(const char *way)
{
    struct parting parting = {.other = event(device, 1, 1), .way = atoi(way)};
    int kept;
    pthread_t thread;
    parting.fd = known_event(&kept);
    CHECK(pthread_barrier_init(&parting.turn, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, part, &parting) == 0);
    pthread_barrier_wait(&parting.turn);
    CHECK(signaled(parting.fd) == 0);
    pthread_barrier_wait(&parting.turn);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(signaled(parting.fd) == 0 && set(parting.fd) == 0 && signaled(kept) == 1);
}

static int in_our_memory(void *argument)
{
    struct parting *parting = argument;
    return dup2(parting->other, parting->fd) == parting->fd && signaled(parting->fd) == 1 ? 0 : 1;
}

/* A process that has our memory but not our descriptors. */
static void processes_in_our_memory(void)
{
    static char stack[1 << 16] __attribute__((aligned(16)));
    struct parting parting = {.other = event(device, 1, 1)};
    int kept;
    parting.fd = known_event(&kept);
    for (int flags = 0; flags < 2; flags++) {
        pid_t child = clone(in_our_memory, stack + sizeof stack, (flags ? CLONE_VFORK : 0) | CLONE_VM | SIGCHLD, &parting);
        CHECK(child > 0);
        exited_well(child);
        CHECK(signaled(parting.fd) == 0 && signaled(kept) == 0);
    }
}

/* As a child that borrows our memory until it starts a program: what it finds out about its numbers says nothing of ours. */
static void borrowed_memory_remembers_nothing(void)
{
    int kept, other = event(device, 1, 1), fd = known_event(&kept);
    pid_t child = vfork();
    if (child == 0) {
        if (dup2(other, fd) != fd || signaled(fd) != 1)
            _exit(1);
        struct event_args args = {1, 1};
        _exit(ioctl(device, CREATE_EVENT, &args) < 0 || close(other) != 0 ? 2 : 0);
    }
    exited_well(child);
    CHECK(signaled(fd) == 0 && signaled(other) == 1);
    int passed = fcntl(fd, F_DUPFD, other + 1);
    CHECK(signaled(passed) == 0 && set(passed) == 0 && signaled(kept) == 1);
}

static const struct { const char *name; void (*run)(void); } scenarios[] = {
#define SCENARIO(name) {#name, name}
    SCENARIO(closed_by_number), SCENARIO(numbers_are_used_again_by_number), SCENARIO(closed_by_functions),
    SCENARIO(foreign_streams), SCENARIO(replaced_by_daemon), SCENARIO(replaced_by_login),
    SCENARIO(processes_in_our_memory), SCENARIO(borrowed_memory_remembers_nothing),
};

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    watchdog(60);
    device = open_device();
    if (argc == 3 && strcmp(argv[1], "threads_with_their_own_descriptors") == 0) {
        threads_with_their_own_descriptors(argv[2]);
        return 0;
    }
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    dprintf(2, "no such scenario: %s\n", argv[1]);
    return 2;
}
