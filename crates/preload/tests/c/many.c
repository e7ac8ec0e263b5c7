/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What each way to pass, copy, inherit and close descriptors costs, with few objects and with many. The first argument is the
   pattern, the second how many objects, the third, if there is one, what stands for the device: "eventfds", or how many other
   processes have as many objects of the same device, each sent and copied, and one copy closed. A pattern of which the
   cost of a step depends on how many objects there are leaves locks on the arena's file, one for each object: so the locks are
   counted (/proc/locks), and the time is only printed. */
#include "device.h"
#include "locks.h"

#include <sys/eventfd.h>
#include <spawn.h>

enum { OBJECTS_MAX = 1 << 17, IN_A_MESSAGE = 250 };

static int device = -1, eventfds, count, fds[OBJECTS_MAX], copies[OBJECTS_MAX];
static uint64_t begun;
static int most;

static int made(void)
{
    if (!eventfds)
        return event(device, 1, 1);
    int fd = eventfd(1, EFD_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void use(int fd)
{
    uint64_t value = 1;
    if (!eventfds)
        CHECK(signaled(fd) == 1);
    else
        CHECK(write(fd, &value, sizeof value) == sizeof value);
}

static int locks(void) { return eventfds ? 0 : locks_of(device); }

static void step(const char *name)
{
    uint64_t took = now() - begun;
    int now_held = locks();
    most = now_held > most ? now_held : most;
    printf("%s %.2f us (%d locks); ", name, took / 1e3 / count, now_held);
    fflush(stdout);
    begun = now();
}

static void make(void)
{
    for (int i = 0; i < count; i++)
        fds[i] = made();
    step("make");
}

static void close_all_of(int *which, const char *name)
{
    for (int i = 0; i < count; i++)
        CHECK(close(which[i]) == 0);
    step(name);
}

static void start(void)
{
    char *const arguments[] = {"true", NULL};
    uint64_t before = now();
    pid_t child = fork();
    if (child == 0) {
        execvp("true", arguments);
        _exit(127);
    }
    exited_well(child);
    printf("fork + exec %.2f ms; ", (now() - before) / 1e6);
    begun = now();
}

/* As many descriptors in one message as the kernel takes. */
static void send_some(int socket, const int *some, int number)
{
    static union { struct cmsghdr header; char room[CMSG_SPACE(IN_A_MESSAGE * sizeof(int))]; } control;
    char byte = 'x';
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(number * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(number * sizeof(int));
    memcpy(CMSG_DATA(header), some, number * sizeof(int));
    CHECK(sendmsg(socket, &message, 0) == 1);
}

static void receive_some(int socket, int *some, int number, int flags)
{
    static union { struct cmsghdr header; char room[CMSG_SPACE(IN_A_MESSAGE * sizeof(int))]; } control;
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    CHECK(recvmsg(socket, &message, flags) == 1 && !(message.msg_flags & MSG_CTRUNC));
    CHECK(CMSG_FIRSTHDR(&message)->cmsg_len == CMSG_LEN(number * sizeof(int)));
    memcpy(some, CMSG_DATA(CMSG_FIRSTHDR(&message)), number * sizeof(int));
}

static void pair_of_sockets(int *pair)
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
}

static void to_itself(int flags)
{
    int pair[2];
    pair_of_sockets(pair);
    make();
    for (int i = 0; i < count; i++) {
        send_some(pair[0], fds + i, 1);
        receive_some(pair[1], copies + i, 1, flags);
    }
    step("send + receive");
    close_all_of(copies, "close the copies");
    if (flags)
        start();
    close_all_of(fds, "close");
}

static void send_to_itself(void) { to_itself(MSG_CMSG_CLOEXEC); }
static void send_to_itself_kept(void) { to_itself(0); }

/* Two copies of each on their way at a time. */
static void send_twice(void)
{
    int pair[2];
    pair_of_sockets(pair);
    make();
    for (int i = 0; i < count; i++) {
        send_some(pair[0], fds + i, 1);
        send_some(pair[0], fds + i, 1);
        receive_some(pair[1], copies + i, 1, MSG_CMSG_CLOEXEC);
        CHECK(close(copies[i]) == 0);
        receive_some(pair[1], copies + i, 1, MSG_CMSG_CLOEXEC);
    }
    step("send + receive");
    close_all_of(fds, "close");
    close_all_of(copies, "close the copies");
}

/* A socket that takes nothing more refuses each once. */
static void send_refused(void)
{
    int pair[2], full[2];
    char byte = 'x';
    pair_of_sockets(pair), pair_of_sockets(full);
    while (send(full[0], &byte, 1, MSG_DONTWAIT) == 1)
        ;
    CHECK(fcntl(full[0], F_SETFL, O_NONBLOCK) == 0);
    make();
    for (int i = 0; i < count; i++) {
        union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
        struct iovec part = {&byte, 1};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(&control.header), fds + i, sizeof(int));
        REFUSED(sendmsg(full[0], &message, 0), EAGAIN);
        send_some(pair[0], fds + i, 1);
        receive_some(pair[1], copies + i, 1, MSG_CMSG_CLOEXEC);
    }
    step("refuse + send + receive");
    close_all_of(fds, "close");
    close_all_of(copies, "close the copies");
}

static void duplicate(int (*copy)(int))
{
    make();
    for (int i = 0; i < count; i++)
        CHECK((copies[i] = copy(fds[i])) >= 0);
    step("copy");
    close_all_of(fds, "close");
    for (int i = 0; i < count; i++)
        use(copies[i]);
    step("use");
    close_all_of(copies, "close the copies");
}

static int closing_at_exec(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }
static int onto_another(int fd)
{
    int other = made();
    CHECK(dup2(fd, other) == other);
    return other;
}

static void duplicate_kept(void) { duplicate(dup); }
static void duplicate_closed(void) { duplicate(closing_at_exec); }
static void duplicate_onto(void) { duplicate(onto_another); }

/* A child that goes on without an exec: runs the part, says when, and ends when it is told. */
static pid_t child_that(void (*part)(void), int *tell)
{
    int down[2], up[2];
    char byte = 'x';
    CHECK(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(down[1]);
        if (part)
            part();
        CHECK(write(up[1], &byte, 1) == 1);
        for (char go; read(down[0], &go, 1) == 1;)
            ;
        _exit(0);
    }
    close(down[0]), close(up[1]);
    CHECK(read(up[0], &byte, 1) == 1);
    close(up[0]);
    *tell = down[1];
    return child;
}

static void use_all(void)
{
    for (int i = 0; i < count; i++)
        use(fds[i]);
}

/* A server closes what its child still has. */
static void child_uses(void)
{
    int tell;
    make();
    pid_t child = child_that(use_all, &tell);
    step("fork, the child uses");
    close_all_of(fds, "close");
    close(tell);
    exited_well(child);
    step("the child ends");
}

static void close_quietly(void)
{
    for (int i = 0; i < count; i++)
        CHECK(close(fds[i]) == 0);
}

/* Two children: one closes all that it has inherited, the other keeps it. */
static void child_closes(void)
{
    int tell[2];
    make();
    pid_t keeper = child_that(use_all, &tell[0]);
    pid_t closer = child_that(close_quietly, &tell[1]);
    step("fork twice, use, close by a child");
    close_all_of(fds, "close");
    close(tell[0]), close(tell[1]);
    exited_well(keeper), exited_well(closer);
}

static void make_and_close(void)
{
    for (int i = 0; i < count; i++)
        copies[i] = made();
    int held = locks();
    CHECK(held < 20 || !"no lock for an object that a child makes");
    for (int i = 0; i < count; i++)
        CHECK(close(copies[i]) == 0);
}

/* A child makes objects of its own. */
static void child_makes(void)
{
    int tell;
    fds[0] = made();
    pid_t child = child_that(make_and_close, &tell);
    step("make and close by a child");
    close(tell);
    exited_well(child);
    CHECK(close(fds[0]) == 0);
}

/* A server that forks again and again, while it has them. */
static void fork_often(void)
{
    enum { CHILDREN = 20 };
    int tell[CHILDREN];
    pid_t children[CHILDREN];
    make();
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = child_that(NULL, &tell[i]);
        close(tell[i]);
        exited_well(children[i]);
    }
    step("twenty forks");
    close_all_of(fds, "close");
}

/* All of them on their way at once. */
static void send_all(void)
{
    int pairs[64][2], used = 0;
    make();
    for (int i = 0; i < count; i += IN_A_MESSAGE) {
        /* A socket takes some 200 messages. */
        if (i / IN_A_MESSAGE % 100 == 0)
            pair_of_sockets(pairs[used++]);
        send_some(pairs[used - 1][0], fds + i, count - i < IN_A_MESSAGE ? count - i : IN_A_MESSAGE);
    }
    step("send all");
    for (int i = 0; i < count; i += IN_A_MESSAGE)
        receive_some(pairs[i / IN_A_MESSAGE / 100][1], copies + i, count - i < IN_A_MESSAGE ? count - i : IN_A_MESSAGE, MSG_CMSG_CLOEXEC);
    step("receive all");
    close_all_of(copies, "close the copies");
    close_all_of(fds, "close");
}

static void be_one_of_a_crowd(void)
{
    int pair[2];
    pair_of_sockets(pair);
    for (int i = 0; i < count; i++) {
        fds[i] = made();
        send_some(pair[0], fds + i, 1);
        receive_some(pair[1], copies, 1, MSG_CMSG_CLOEXEC);
        CHECK(close(copies[0]) == 0);
    }
}

static const struct { const char *name; void (*go)(void); int in_flight; } patterns[] = {
    {"send_to_itself", send_to_itself, 0},
    {"send_to_itself_kept", send_to_itself_kept, 0},
    {"send_twice", send_twice, 0},
    {"send_refused", send_refused, 0},
    {"send_all", send_all, 1},
    {"duplicate_kept", duplicate_kept, 0},
    {"duplicate_closed", duplicate_closed, 0},
    {"duplicate_onto", duplicate_onto, 0},
    {"child_uses", child_uses, 0},
    {"child_closes", child_closes, 0},
    {"child_makes", child_makes, 0},
    {"fork_often", fork_often, 0},
};

int main(int arguments_count, char **arguments)
{
    enum { LOCKS_AT_MOST = 20 };
    CHECK(arguments_count >= 3);
    watchdog(600);
    count = atoi(arguments[2]);
    eventfds = arguments_count > 3 && !strcmp(arguments[3], "eventfds");
    CHECK(count > 0 && count <= OBJECTS_MAX);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (!eventfds)
        device = open_device();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (strcmp(patterns[i].name, arguments[1]))
            continue;
        for (int tell, others = arguments_count > 3 ? atoi(arguments[3]) : 0; others > 0; others--)
            child_that(be_one_of_a_crowd, &tell);
        printf("%s, %d: ", patterns[i].name, count);
        begun = now();
        patterns[i].go();
        printf("most locks %d\n", most);
        /* What is on its way holds one each, as long as it is. */
        CHECK(most <= LOCKS_AT_MOST + (patterns[i].in_flight ? count : 0) || !"locks pile up");
        CHECK(locks() <= LOCKS_AT_MOST || !"locks stay");
        return 0;
    }
    CHECK(!"a pattern of this name");
}
