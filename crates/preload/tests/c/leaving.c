/* Who keeps an object alive: the kernel counts what leaves the processes that share its creator's memory. The first
   argument is the scenario. These tests look at how ntux does it: an object's number is its descriptor's offset, and
   copies that count hold a lock on the byte that stands for the object. */
#include "device.h"
#include "../../../platform/tests/skips/skips.h"

#include <spawn.h>

static int device;

static int counted(int fd)
{
    off_t object = lseek(fd, 0, SEEK_CUR);
    CHECK(object > 0);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (1ll << 62) + (uint32_t)object, .l_len = 1};
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
    LEAVES(dup(fd) >= 0);
    LEAVES(dup2(fd, 700) == 700);
    LEAVES(dup3(fd, 701, 0) == 701);
    LEAVES(fcntl(fd, F_DUPFD, 702) >= 702);
    LEAVES(fcntl(fd, F_SETFD, 0) == 0);
    LEAVES(ioctl(fd, FIONCLEX) == 0);
    LEAVES(posix_spawn_file_actions_adddup2(&actions, fd, 9) == 0);
#define STAYS(call) fd = fresh(); CHECK((call) && !counted(fd))
    STAYS(dup3(fd, 710, O_CLOEXEC) == 710);
    STAYS(fcntl(fd, F_DUPFD_CLOEXEC, 711) >= 711);
    STAYS(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
    errno = 12345;
    CHECK(dup(pair[0]) >= 0 && fcntl(pair[0], F_SETFD, 0) == 0 && errno == 12345);
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

/* A child that closes all that it inherited makes nothing slower; its parent counts when it closes. */
static void children_that_close_everything(void)
{
    int fd = fresh(), fds[2];
    CHECK(pipe2(fds, O_CLOEXEC) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(signaled(fd) == 1 && close(fd) == 0);
        fd = event(device, 1, 0);
        CHECK(counted(fd)); /* nobody else would say so */
        _exit(0);
    }
    exited_well(child);
    CHECK(!counted(fd) && signaled(fd) == 1);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 100);
    close(fd);
    CHECK(counted(copy) && signaled(copy) == 1);
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

int main(int count, char **arguments)
{
    watchdog(60);
    CHECK(count >= 2);
    const char *name = arguments[1];
    if (!strcmp(name, "create_until_killed"))
        create_until_killed(atoi(arguments[2]), atoi(arguments[3]));
    device = open_device();
    if (!strcmp(name, "every_way_out"))
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
