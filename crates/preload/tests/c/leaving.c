/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who keeps an object alive: the kernel counts what leaves the processes that share its creator's memory. The first
   argument is the scenario. These tests look at how ntux does it: an object's number is its descriptor's offset, and
   copies that count hold a lock on one of the two bytes that stand for the object: its own, or its flight's. */
#include "device.h"
#include "locks.h"
#include "filter.h"
#include "../../../platform/tests/skips/skips.h"

#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <sys/time.h>

static int device;

static int counted(int fd)
{
    off_t object = lseek(fd, 0, SEEK_CUR);
    CHECK(object > 0);
    struct flock lock = {.l_type = F_WRLCK, .l_start = (1ll << 62) + 2ll * (uint32_t)object, .l_len = 2};
    CHECK(fcntl(device, F_OFD_GETLK, &lock) == 0);
    return lock.l_type != F_UNLCK;
}

/* A new object, which nothing counts yet. */
static int fresh(void)
{
    int fd = event(device, 1, 1);
    CHECK(!counted(fd));
    return fd;
}

static void send_twice(int socket, int first, int second)
{
    char byte = 'x';
    struct iovec part = {&byte, 1};
    union { struct cmsghdr header; char room[CMSG_SPACE(2 * sizeof(int))]; } control = {0};
    struct mmsghdr messages[2] = {0};
    messages[0].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
    messages[1].msg_hdr = (struct msghdr){
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&messages[1].msg_hdr);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(header), (int[]){first, second}, 2 * sizeof(int));
    CHECK(sendmmsg(socket, messages, 2, 0) == 2);
}

/* Each way out counts; what stays does not. */
static void every_way_out(void)
{
    int pair[2], fd, other;
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
    fd = fresh(), send_fd(pair[0], fd);
    CHECK(counted(fd));
    fd = fresh(), other = fresh(), send_twice(pair[0], fd, other);
    CHECK(counted(fd) && counted(other));
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
#define LEAVES(call) fd = fresh(); CHECK((call) && counted(fd))
    LEAVES(posix_spawn_file_actions_adddup2(&actions, fd, 9) == 0);
#define STAYS(call) fd = fresh(); CHECK((call) && !counted(fd))
    STAYS(dup(fd) >= 0);
    STAYS(dup2(fd, 700) == 700);
    STAYS(dup3(fd, 701, 0) == 701);
    STAYS(fcntl(fd, F_DUPFD, 702) >= 702);
    STAYS(fcntl(fd, F_SETFD, 0) == 0);
    STAYS(ioctl(fd, FIONCLEX) == 0);
    STAYS(dup3(fd, 710, O_CLOEXEC) == 710);
    STAYS(fcntl(fd, F_DUPFD_CLOEXEC, 711) >= 711);
    STAYS(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
    errno = 12345;
    CHECK(dup(pair[0]) >= 0 && fcntl(pair[0], F_SETFD, 0) == 0 && errno == 12345);
}

static void run_borrowing_memory(char *const *arguments)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(execvp(*arguments, arguments));
    exited_well(child);
}

/* Whatever starts a program counts what that keeps, and nothing else. */
static void kept_by_what_is_started(void)
{
    char *const arguments[] = {"true", NULL};
    for (int way = 0; way < 5; way++) {
        int kept = fresh(), copy = dup(fresh()), closed = fresh();
        pid_t child;
        CHECK(copy >= 0 && fcntl(kept, F_SETFD, 0) == 0);
        switch (way) {
        case 0: CHECK(system("true") == 0); break;
        case 1: CHECK(pclose(popen("true", "r")) == 0); break;
        case 2: CHECK(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0); exited_well(child); break;
        case 3:
            if ((child = fork()) == 0)
                _exit(execvp("true", arguments));
            exited_well(child);
            break;
        case 4: run_borrowing_memory(arguments); break;
        }
        CHECK(counted(kept) && counted(copy) && !counted(closed));
        CHECK(close(kept) == 0 && close(copy) == 0 && signaled(closed) == 1);
    }
}

/* Messages that the kernel refuses, and one that is not about descriptors. */
static void messages_of_all_kinds(void)
{
    int pair[2], fd = fresh();
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
    char byte = 'x';
    struct iovec part = {&byte, 1};
    uint64_t control[4] = {24, SOL_SOCKET | (uint64_t)SCM_RIGHTS << 32, (uint32_t)fd, 0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const struct msghdr *volatile nowhere = (void *)8;
    REFUSED(sendmsg(pair[0], nowhere, 0), EFAULT);
    REFUSED(sendmmsg(pair[0], (void *)nowhere, 2, 0), EFAULT);
    message.msg_control = (void *)8, message.msg_controllen = 24;
    REFUSED(sendmsg(pair[0], &message, 0), EFAULT);
    message.msg_control = control;
    control[0] = 8;
    REFUSED(sendmsg(pair[0], &message, 0), EINVAL);
    control[0] = ~0ull;
    REFUSED(sendmsg(pair[0], &message, 0), EINVAL);
    CHECK(!counted(fd));
    message.msg_controllen = 0;
    CHECK(sendmsg(pair[0], &message, 0) == 1 && !counted(fd));
    control[0] = 20, message.msg_controllen = 20;
    CHECK(sendmsg(pair[0], &message, 0) == 1 && counted(fd));
}

/* A child that closes all that it inherited makes nothing slower. */
static void children_that_close_everything(void)
{
    int fd = fresh(), fds[2];
    CHECK(pipe2(fds, O_CLOEXEC) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(signaled(fd) == 1 && close(fd) == 0);
        fd = event(device, 1, 0);
        CHECK(!counted(fd)); /* it is its own family */
        _exit(0);
    }
    exited_well(child);
    CHECK(!counted(fd) && signaled(fd) == 1);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 100);
    close(fd);
    CHECK(!counted(copy) && signaled(copy) == 1 && close(copy) == 0);
}

/* How many KiB of the library's memory only this process has: it wrote there since it was forked. */
static int own_memory_of_the_library(void)
{
    static char text[1 << 20];
    int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC), length = 0;
    for (ssize_t part; (part = read(fd, text + length, sizeof text - 1 - length)) > 0;)
        length += part;
    CHECK(close(fd) == 0 && length > 0);
    text[length] = 0;
    int all = 0, mappings = 0, own;
    unsigned long start, end, library_end = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
            /* Behind the file's mappings lies what it does not fill. */
            int is_library = strstr(line, "libntux_preload") || (start == library_end && !strchr(line, '/'));
            library_end = is_library ? end : 0;
            mappings += is_library;
        } else if (library_end && sscanf(line, "Private_Dirty: %d", &own) == 1) {
            all += own;
        }
    }
    CHECK(mappings > 0);
    return all;
}

/* A fork that nobody counts costs nothing; as soon as there are objects it would matter. */
static void forks_before_the_first_use(void)
{
    int is_told = own_memory_of_the_library() > 0 && dlsym(RTLD_DEFAULT, "__libc_single_threaded");
    if (!is_told)
        skip("own-memory", "leaving.c", "the system does not say what is written to, or the C library whether there are threads");
    pid_t child = fork();
    if (child == 0) {
        CHECK(!is_told || own_memory_of_the_library() == 0);
        _exit(0);
    }
    exited_well(child);
    device = open_device();
    int fd = fresh(), fds[2];
    CHECK(pipe2(fds, O_CLOEXEC) == 0);
    child = fork();
    if (child == 0) {
        char closed;
        CHECK(read(fds[0], &closed, 1) == 1 && signaled(fd) == 1);
        _exit(0);
    }
    CHECK(close(fd) == 0);
    for (int i = 0; i < 100; i++)
        fresh(); /* one of them would be at the place of an object that ended */
    CHECK(write(fds[1], "", 1) == 1);
    exited_well(child);
}

/* Whoever is executed founds a family of its own. */
static void create_until_killed(int inherited, int count)
{
    device = inherited;
    for (int i = 0; i < count; i++)
        fresh();
    CHECK(write(1, "!", 1) == 1);
    for (;;)
        pause();
}

/* The memory of the objects of killed processes is used again. */
static void killed_creators_leave_nothing(const char *program)
{
    enum { COUNT = 5000, ROUNDS = 12 };
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < COUNT + 100) {
        skip("many-descriptors", __func__, "at most %llu are allowed", (unsigned long long)limit.rlim_max);
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int shared = open("/dev/ntsync", O_RDONLY);
    CHECK(shared >= 0);
    blkcnt_t blocks = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int fds[2];
        CHECK(pipe2(fds, O_CLOEXEC) == 0);
        pid_t child = fork();
        if (child == 0) {
            char number[16], count[16];
            snprintf(number, sizeof number, "%d", shared);
            snprintf(count, sizeof count, "%d", COUNT);
            CHECK(dup2(fds[1], 1) == 1);
            execl(program, program, "create_until_killed", number, count, NULL);
            CHECK(!"executed");
        }
        char byte;
        close(fds[1]);
        CHECK(read(fds[0], &byte, 1) == 1);
        close(fds[0]);
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
        struct stat status;
        CHECK(fstat(shared, &status) == 0);
        /* The sweep goes over everything once while half as many objects are made. */
        if (round == 3)
            blocks = status.st_blocks;
        CHECK(round <= 3 || status.st_blocks <= blocks);
    }
}

/* Takes a copy out of the parent; its number there comes next. A parent that cannot be asked is told so. */
static int taken_from_parent(int socket)
{
    int fd;
    CHECK(read(socket, &fd, sizeof fd) == sizeof fd);
    int parent = syscall(SYS_pidfd_open, getppid(), 0);
    int copy = parent < 0 ? -1 : syscall(SYS_pidfd_getfd, parent, fd, 0);
    if (copy < 0) {
        CHECK(write(socket, "?", 1) == 1);
        _exit(0);
    }
    close(parent);
    return copy;
}

/* Whoever is executed is a family of its own: it answers to each message with a byte when it has done what that says. */
static void receive_until_closed(int socket)
{
    CHECK(write(socket, "!", 1) == 1);
    device = receive_fd(socket);
    CHECK(event(device, 1, 0) >= 0); /* it has met the device from here on, and makes no more objects */
    CHECK(write(socket, "!", 1) == 1);
    int fd = -1, kept[1 << 15], count = 0;
    for (char order, here; read(socket, &order, 1) == 1;) {
        struct iovec part = {&here, 1};
        union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
        struct mmsghdr message = {.msg_hdr = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control}};
        switch (order) {
        case 'c': fd = receive_fd(socket); break;
        case 'k': fd = kept[count++] = receive_fd(socket); break;
        case 'e':
            CHECK(recvmsg(socket, &message.msg_hdr, 0) == 1);
            memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
            break;
        case 'p': /* looked at, and taken after that */
            CHECK(recvmsg(socket, &message.msg_hdr, MSG_PEEK | MSG_CMSG_CLOEXEC) == 1);
            CHECK(write(socket, "!", 1) == 1);
            raise(SIGSTOP);
            fd = receive_fd(socket);
            break;
        case 'm':
            CHECK(recvmmsg(socket, &message, 1, MSG_CMSG_CLOEXEC, NULL) == 1);
            memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
            break;
        case 'n':
            CHECK(syscall(SYS_recvmsg, socket, &message.msg_hdr, MSG_CMSG_CLOEXEC) == 1);
            memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
            break;
        case 's': CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0); break;
        case 'S': CHECK(syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC) == 0); break;
        case 'u': CHECK(signaled(fd) == 1); break;
        case 'd': CHECK(fcntl(fd, F_DUPFD_CLOEXEC, 500) >= 500); break;
        case 'U': CHECK(signaled(kept[count - 1]) == 1); break;
        case 'b': send_fd(socket, fd); break;
        case 'g': fd = taken_from_parent(socket); break;
        case 'x': close(fd); break;
        case 'X': while (count) CHECK(close(kept[--count]) == 0); break;
        default: CHECK(!"an order");
        }
        CHECK(write(socket, "!", 1) == 1);
    }
    _exit(0);
}

static off_t number_of(int fd)
{
    return lseek(fd, 0, SEEK_CUR);
}

/* Closes the last copy: the object ends there and then, so the next one has its place. */
static void ends_with(int fd)
{
    off_t ended = number_of(fd);
    CHECK(!counted(fd) && close(fd) == 0);
    int next = fresh();
    CHECK((uint32_t)number_of(next) == (uint32_t)ended && number_of(next) != ended);
    CHECK(close(next) == 0);
}

static int receiver(const char *program, int *socket)
{
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", fcntl(pair[1], F_DUPFD, 3));
        execl(program, program, "receive_until_closed", number, "", NULL);
        CHECK(!"executed");
    }
    close(pair[1]);
    char done;
    CHECK(read(pair[0], &done, 1) == 1);
    send_fd(pair[0], device);
    CHECK(read(pair[0], &done, 1) == 1);
    *socket = pair[0];
    return child;
}

static void order(int socket, char what)
{
    char done;
    CHECK(write(socket, &what, 1) == 1 && read(socket, &done, 1) == 1);
}

/* Says what to do with it first: messages of descriptors and others do not mix. */
static void order_with(int socket, char what, int fd)
{
    char done;
    CHECK(write(socket, &what, 1) == 1);
    send_fd(socket, fd);
    CHECK(read(socket, &done, 1) == 1);
}

/* Only what is on its way is counted, and what was closed somewhere. */
static void what_arrives_is_not_counted(const char *program)
{
    int socket, fd, other;
    pid_t child = receiver(program, &socket);
    /* Each way in. */
    for (const char *way = "cmn"; *way; way++) {
        fd = fresh(), order_with(socket, *way, fd);
        CHECK(!counted(fd));
        order(socket, 'u');
        CHECK(!counted(fd));
        order_with(socket, *way, fd);
        CHECK(!counted(fd));
        order(socket, 'x');
        CHECK(!counted(fd) && signaled(fd) == 1);
        close(fd);
    }
    /* Also what an exec would keep. */
    fd = fresh(), order_with(socket, 'e', fd);
    CHECK(!counted(fd));
    order(socket, 'u');
    CHECK(!counted(fd));
    order(socket, 's');
    fd = fresh(), order_with(socket, 'e', fd), order(socket, 'S');
    CHECK(!counted(fd));
    order(socket, 'd'), order(socket, 'x');
    CHECK(!counted(fd) && signaled(fd) == 1);
    /* A message that was only looked at is on its way. */
    char done;
    fd = fresh(), order_with(socket, 'p', fd);
    CHECK(waitpid(child, NULL, WUNTRACED) == child && counted(fd));
    kill(child, SIGCONT);
    CHECK(read(socket, &done, 1) == 1 && !counted(fd));
    /* Killed, with a message on its way. */
    fd = fresh(), other = fresh();
    order_with(socket, 'c', fd), order(socket, 'u');
    kill(child, SIGSTOP);
    CHECK(write(socket, "c", 1) == 1);
    send_fd(socket, other);
    CHECK(!counted(fd) && counted(other));
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    close(socket);
    CHECK(signaled(fd) == 1 && signaled(other) == 1);
}

/* A process that closes its only copy leaves no lock behind; the last one of all ends the object. */
static void sole_copies_need_no_lock(const char *program)
{
    int socket, pair[2], fd, copy;
    pid_t child = receiver(program, &socket);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
    fd = fresh();
    ends_with(fd);
    fd = fresh(), copy = fresh();
    CHECK(dup2(copy, fd) == fd && close(fd) == 0 && signaled(copy) == 1 && close(copy) == 0);
    /* The maker first. */
    fd = fresh(), order_with(socket, 'c', fd);
    off_t object = number_of(fd);
    CHECK(close(fd) == 0);
    order(socket, 'u');
    CHECK(write(socket, "b", 1) == 1);
    fd = receive_fd(socket);
    char done;
    CHECK(read(socket, &done, 1) == 1 && number_of(fd) == object && !counted(fd));
    /* It has come back. The receiver first, and it ends here. */
    order(socket, 'x');
    CHECK(signaled(fd) == 1);
    ends_with(fd);
    /* The receiver last. */
    fd = fresh(), object = number_of(fd), order_with(socket, 'c', fd);
    CHECK(close(fd) == 0);
    order(socket, 'x');
    fd = fresh();
    CHECK((uint32_t)number_of(fd) == (uint32_t)object && number_of(fd) != object && close(fd) == 0);
    /* On its way while its sender closes it. */
    fd = fresh(), send_fd(pair[0], fd);
    CHECK(close(fd) == 0);
    fd = receive_fd(pair[1]);
    CHECK(signaled(fd) == 1);
    ends_with(fd);
    /* Two copies in one process, from two messages. */
    fd = fresh(), order_with(socket, 'k', fd), order_with(socket, 'c', fd), order(socket, 'x');
    CHECK(close(fd) == 0);
    order(socket, 'U');
    fd = fresh(), send_fd(pair[0], fd), copy = receive_fd(pair[1]);
    CHECK(close(fd) == 0 && signaled(copy) == 1 && close(copy) == 0);
    /* What an exec would keep: the note comes with the flag. */
    fd = fresh(), object = number_of(fd), order_with(socket, 'e', fd), order(socket, 's');
    CHECK(close(fd) == 0);
    order(socket, 'u'), order(socket, 'x');
    fd = fresh();
    CHECK((uint32_t)number_of(fd) == (uint32_t)object && close(fd) == 0);
    close(socket);
    exited_well(child);
}

static int never(void *fd)
{
    for (char go; read(*(int *)fd, &go, 1) != 1;)
        ;
    _exit(signaled(((int *)fd)[1]) == 1 ? 0 : 1);
}

static long forked_by(int way, void *argument)
{
    static char stack[1 << 16] __attribute__((aligned(16)));
    pid_t (*bare)(void) = (pid_t (*)(void))dlsym(RTLD_DEFAULT, "_Fork");
    switch (way) {
    case 0: return fork();
    case 1: return clone(never, stack + sizeof stack, SIGCHLD, argument);
    case 2: return bare ? bare() : fork();
    default: return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    }
}

/* A copy that a child has, or a thief, is a copy. */
static void copies_elsewhere_last(const char *program)
{
    int socket, pipes[2];
    pid_t thief = receiver(program, &socket);
    int fd = fresh();
    CHECK(write(socket, "g", 1) == 1 && write(socket, &fd, sizeof fd) == sizeof fd);
    char done;
    CHECK(read(socket, &done, 1) == 1);
    if (done == '!') {
        CHECK(counted(fd) && close(fd) == 0);
        order(socket, 'u');
    } else {
        skip("pidfd-getfd", __func__, "the kernel refuses it");
    }
    close(socket);
    exited_well(thief);
    for (int way = 0; way < 4; way++) {
        CHECK(pipe2(pipes, O_CLOEXEC) == 0);
        int argument[2] = {pipes[0], fresh()};
        long child = forked_by(way, argument);
        CHECK(child >= 0);
        if (child == 0)
            never(argument);
        CHECK(close(argument[1]) == 0);
        int other = fresh();
        CHECK(set(other) == 1 && write(pipes[1], "!", 1) == 1);
        exited_well(child);
        close(other), close(pipes[0]), close(pipes[1]);
    }
}

/* What a child has inherited it has until it closes it or ends, whoever else closes his or ends. */
static void inherited_copies(void)
{
    int down[2], up[2];
    char byte = '!';
    CHECK(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0);
    for (int kept = 0; kept < 2; kept++) {
        int fd = fresh(), copy = dup(fd), of_child = fresh();
        off_t object = number_of(fd);
        pid_t child = fork();
        if (child == 0) {
            CHECK(read(down[0], &byte, 1) == 1 && signaled(fd) == 1 && close(fd) == 0 && signaled(copy) == 1);
            CHECK(close(of_child) == 0 && write(up[1], &byte, 1) == 1 && read(down[0], &byte, 1) == 1);
            CHECK(signaled(copy) == 1 && (kept || close(copy) == 0));
            CHECK(write(up[1], &byte, 1) == 1 && read(down[0], &byte, 1) == 1);
            _exit(0);
        }
        CHECK(close(fd) == 0 && close(copy) == 0 && write(down[1], &byte, 1) == 1 && read(up[0], &byte, 1) == 1);
        ends_with(of_child);
        int other = fresh();
        CHECK((uint32_t)number_of(other) != (uint32_t)object);
        CHECK(write(down[1], &byte, 1) == 1 && read(up[0], &byte, 1) == 1);
        int next = fresh();
        /* The child has closed its last copy, and the object ended there and then. */
        CHECK(kept || ((uint32_t)number_of(next) == (uint32_t)object && number_of(next) != object));
        CHECK(locks_of(device) == 2);
        CHECK(write(down[1], &byte, 1) == 1);
        exited_well(child);
        CHECK(close(other) == 0 && close(next) == 0);
    }
    /* One that is killed, and one that executes a program. */
    for (int kills = 0; kills < 2; kills++) {
        int fd = fresh();
        pid_t child = fork();
        if (child == 0 && kills)
            raise(SIGKILL);
        if (child == 0)
            _exit(execlp("true", "true", NULL));
        CHECK(waitpid(child, NULL, 0) == child);
        ends_with(fd);
    }
    /* A child's child, whose parent has ended without a word: nothing is left of that family. */
    int fd = fresh();
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            CHECK(write(up[1], &byte, 1) == 1 && read(down[0], &byte, 1) == 1);
            CHECK(signaled(fd) == 1 && close(fd) == 0);
            CHECK(write(up[1], &byte, 1) == 1 && read(down[0], &byte, 1) == 1);
            _exit(0);
        }
        _exit(0);
    }
    exited_well(child);
    CHECK(read(up[0], &byte, 1) == 1 && locks_of(device) == 2);
    CHECK(write(down[1], &byte, 1) == 1 && read(up[0], &byte, 1) == 1);
    ends_with(fd);
    CHECK(write(down[1], &byte, 1) == 1);
}

/* A child that borrows our memory closes its copy, not ours. */
static void borrowed_copies(void)
{
    int fd = fresh();
    pid_t child = vfork();
    if (child == 0) {
        close(fd);
        _exit(0);
    }
    exited_well(child);
    CHECK(signaled(fd) == 1);
    ends_with(fd);
}

static sigjmp_buf out;
static volatile int may_jump;

static void jump_out(int signal)
{
    (void)signal;
    if (may_jump)
        siglongjmp(out, 1);
}

/* A handler that jumps out of a call that copies leaves no count behind: the object ends with its last copy. */
static void jumps_out_of_copies(void)
{
    enum { ROUNDS = 3000, HIGHEST = 64 };
    struct sigaction action = {.sa_handler = jump_out};
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
    int fd = fresh(), spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    uint32_t object = number_of(fd);
    CHECK(spare >= 0 && sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        if (sigsetjmp(out, 1) == 0) {
            may_jump = 1;
            for (;;)
                switch (round % 3) {
                case 0: close(dup(fd)); break;
                case 1: close(fcntl(fd, F_DUPFD_CLOEXEC, 0)); break;
                default: dup2(fd, spare);
                }
        }
        may_jump = 0;
        for (int any = device + 1; any < HIGHEST; any++)
            close(any);
        fd = fresh();
        CHECK((uint32_t)number_of(fd) == object);
        CHECK((spare = fcntl(device, F_DUPFD_CLOEXEC, fd + 1)) >= 0);
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    ends_with(fd);
}

/* However many: there is no lock for any of them. */
static void locks_do_not_pile_up(const char *program)
{
    enum { COUNT = 500 };
    int socket, fds[COUNT];
    pid_t child = receiver(program, &socket);
    for (int i = 0; i < COUNT; i++)
        fds[i] = fresh(), order_with(socket, 'k', fds[i]), order(socket, 'u');
    for (int i = 0; i < COUNT; i++)
        CHECK(!counted(fds[i]));
    close(socket);
    exited_well(child);
    for (int i = 0; i < COUNT; i++)
        CHECK(signaled(fds[i]) == 1 && close(fds[i]) == 0);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void start_something(void)
{
    char *const arguments[] = {"true", NULL};
    pid_t spawned, forked = fork();
    if (forked == 0)
        _exit(0);
    exited_well(forked);
    CHECK(posix_spawnp(&spawned, "true", NULL, NULL, arguments, environ) == 0);
    exited_well(spawned);
}

/* A server makes objects, and each is used by one of eight clients; programs are started in between; then they close them,
   the server first or the clients first. Nothing stays: not a lock, not a place. Prints what each step took. */
static void a_server_with_clients(const char *program, int total, int at_once)
{
    enum { CLIENTS = 8, STARTS = 1000 };
    int sockets[CLIENTS], *fds = calloc(at_once, sizeof *fds);
    pid_t clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = receiver(program, &sockets[i]);
    double made = 0, started = 0, closed = 0, closed_there = 0;
    uint32_t highest = 0;
    int starts = 0;
    for (int done = 0; done < total; done += at_once) {
        for (int i = 0; i < at_once; i++) {
            if ((done + i) % STARTS == 0) {
                double begin = seconds();
                start_something(), starts++;
                started += seconds() - begin;
            }
            double begin = seconds();
            CHECK((fds[i] = event(device, 1, 1)) >= 0);
            order_with(sockets[i % CLIENTS], 'k', fds[i]);
            order(sockets[i % CLIENTS], 'U');
            made += seconds() - begin;
        }
        int server_first = done / at_once % 2 == 0;
        for (int half = 0; half < 2; half++) {
            double begin = seconds();
            if ((half == 0) == server_first) {
                for (int i = 0; i < at_once; i++)
                    CHECK(!counted(fds[i]) || !"no lock");
                begin = seconds();
                for (int i = 0; i < at_once; i++)
                    CHECK(close(fds[i]) == 0);
                closed += seconds() - begin;
            } else {
                for (int i = 0; i < CLIENTS; i++)
                    order(sockets[i], 'X');
                closed_there += seconds() - begin;
            }
        }
        int probe = fresh();
        highest = (uint32_t)number_of(probe) > highest ? (uint32_t)number_of(probe) : highest;
        CHECK(close(probe) == 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        close(sockets[i]);
        exited_well(clients[i]);
    }
    CHECK(highest < (uint32_t)at_once + 100);
    printf("%d objects, %d at a time: make, send, receive, use %.1f us; fork, and start a program %.2f ms; close %.2f us, by clients %.2f us\n",
           total, at_once, made / total * 1e6, started / starts * 1e3, closed / total * 1e6, closed_there / total * 1e6);
}

/* What a started program keeps is counted, also if it came in a message. */
static void kept_by_a_program(void)
{
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
    int sent = fresh(), spawned = fresh();
    char byte;
    struct iovec part = {&byte, 1};
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    send_fd(pair[0], sent);
    CHECK(recvmsg(pair[1], &message, 0) == 1);
    int fd;
    memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    char *const arguments[] = {"true", NULL};
    pid_t child;
    CHECK(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0);
    exited_well(child);
    CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
    CHECK(counted(sent) && !counted(spawned));
}

/* Who keeps nothing that can be the device's pays for no child that tries what a filter forbids: it would be killed here. */
static void starts_without_a_child(const char *program)
{
    CHECK(open(program, O_RDONLY) >= 0);
    fresh();
    answer(SYS_clone, SECCOMP_RET_KILL_PROCESS);
    char *const arguments[] = {"true", NULL};
    execvp("true", arguments);
    CHECK(!"started");
}

/* A receiver is looked at once, not once for each of its sockets: a second look would read its file. */
static void a_receiver_is_looked_at_once(void)
{
    int pair[2], theirs[2], sockets[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        /* The kernel names who made a pair. */
        for (int i = 0; i < 2; i++) {
            CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, theirs) == 0);
            send_fd(pair[1], theirs[0]);
            close(theirs[0]);
            sockets[i] = theirs[1];
        }
        for (int i = 0; i < 2; i++)
            CHECK(signaled(receive_fd(sockets[i])));
        _exit(0);
    }
    for (int i = 0; i < 2; i++)
        sockets[i] = receive_fd(pair[0]);
    int first = fresh(), second = fresh();
    send_fd(sockets[0], first);
    answer(SYS_pread64, SECCOMP_RET_KILL_PROCESS);
    send_fd(sockets[1], second);
    exited_well(child);
}

int main(int count, char **arguments)
{
    watchdog(60);
    CHECK(count >= 2);
    const char *name = arguments[1];
    if (!strcmp(name, "create_until_killed"))
        create_until_killed(atoi(arguments[2]), atoi(arguments[3]));
    if (!strcmp(name, "receive_until_closed"))
        receive_until_closed(atoi(arguments[2]));
    if (!strcmp(name, "forks_before_the_first_use")) {
        forks_before_the_first_use();
        return 0;
    }
    device = open_device();
    if (!strcmp(name, "what_arrives_is_not_counted"))
        what_arrives_is_not_counted(arguments[0]);
    else if (!strcmp(name, "locks_do_not_pile_up"))
        locks_do_not_pile_up(arguments[0]);
    else if (!strcmp(name, "sole_copies_need_no_lock"))
        sole_copies_need_no_lock(arguments[0]);
    else if (!strcmp(name, "a_server_with_clients"))
        a_server_with_clients(arguments[0], count > 2 ? atoi(arguments[2]) : 4000, count > 3 ? atoi(arguments[3]) : 800);
    else if (!strcmp(name, "copies_elsewhere_last"))
        copies_elsewhere_last(arguments[0]);
    else if (!strcmp(name, "inherited_copies"))
        inherited_copies();
    else if (!strcmp(name, "kept_by_what_is_started"))
        kept_by_what_is_started();
    else if (!strcmp(name, "borrowed_copies"))
        borrowed_copies();
    else if (!strcmp(name, "jumps_out_of_copies"))
        jumps_out_of_copies();
    else if (!strcmp(name, "kept_by_a_program"))
        kept_by_a_program();
    else if (!strcmp(name, "starts_without_a_child"))
        starts_without_a_child(arguments[0]);
    else if (!strcmp(name, "a_receiver_is_looked_at_once"))
        a_receiver_is_looked_at_once();
    else if (!strcmp(name, "every_way_out"))
        every_way_out();
    else if (!strcmp(name, "messages_of_all_kinds"))
        messages_of_all_kinds();
    else if (!strcmp(name, "children_that_close_everything"))
        children_that_close_everything();
    else if (!strcmp(name, "killed_creators_leave_nothing"))
        killed_creators_leave_nothing(arguments[0]);
    else
        CHECK(!"a scenario of this name");
    return 0;
}
