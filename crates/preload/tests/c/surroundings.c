/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs in surroundings that one meets in containers and services: a /proc that hides the processes of others, memory at its limit,
 * processes that are frozen, descriptors that go through a ring of the kernel. The first argument is the scenario. */
#include "device.h"
#include "instances.h"
#include "../../../platform/tests/skips/skips.h"

#include <grp.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>

/* The tables of a device grow to 5.2 MiB until every process that comes meets places of dead ones; a leak of a place a process would
 * come to hundreds of MiB in an hour. */
#define ENOUGH (8 << 20)
#define FIRST_USER 1001
#define SECOND_USER 1002
#define TURNS 2000
#define KILLS 20
#define FREEZES 10

/* A control group with this controller, which is removed at the end; in either hierarchy. */
struct control_group {
    char path[128];
    bool is_unified;
};

static bool writes(const struct control_group *group, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", group->path, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    CHECK(close(fd) == 0);
    return is_written;
}

static void join(const struct control_group *group, pid_t process)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)process);
    CHECK(writes(group, "cgroup.procs", number));
}

/* `unified` and `own` are the files that tell that the controller is there. False, with the reason said: there is none. */
static bool make_group(struct control_group *group, const char *controller, const char *unified, const char *own)
{
    const char *roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
    for (int which = 0; which < 3; which++) {
        group->is_unified = which < 2;
        snprintf(group->path, sizeof group->path, "%s%s%s/ntux-test-%d", roots[which], group->is_unified ? "" : "/",
                 group->is_unified ? "" : controller, (int)getpid());
        if (mkdir(group->path, 0755) != 0)
            continue;
        char path[256];
        snprintf(path, sizeof path, "%s/%s", group->path, group->is_unified ? unified : own);
        if (access(path, W_OK) == 0)
            return true;
        CHECK(rmdir(group->path) == 0);
    }
    skip("control-groups", controller, "this process may make no control group that has it");
    return false;
}

static void remove_group(const struct control_group *group)
{
    /* Who has just ended is in it for a moment. */
    for (int tries = 0; rmdir(group->path) != 0; tries++) {
        CHECK(errno == EBUSY && tries < 5000);
        sleep_ms(1);
    }
}

static bool becomes(uid_t user)
{
    return setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

static pid_t as_user(uid_t user, void (*body)(int, int, int), int device, int from, int to)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(becomes(user));
        body(device, from, to);
        _exit(0);
    }
    return child;
}

static void answers(int device, int from, int to)
{
    for (int turn = 0; turn < TURNS; turn++) {
        CHECK(wait_one(device, from, FOREVER) == 0);
        set(to);
    }
}

static void asks(int device, int from, int to)
{
    for (int turn = 0; turn < TURNS; turn++) {
        set(to);
        CHECK(wait_one(device, from, FOREVER) == 0);
    }
}

static void is_killed_in_its_wait(int device, int from, int to)
{
    (void)to;
    wait_one(device, from, FOREVER);
    _exit(1);
}

static void goes_on(int device, int from, int to)
{
    CHECK(wait_one(device, from, FOREVER) == 0);
    set(to);
}

/* Users that cannot see each other's processes serve each other, and the death of one does not harm the other. */
/* Who is root in a namespace of users may have no other user to become. */
static bool can_become(uid_t user)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(!becomes(user));
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void hidden_processes(void)
{
    if (!can_become(FIRST_USER)) {
        skip("hidden-processes", __func__, "this process may become no other user");
        exit(77);
    }
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2") != 0) {
        skip("hidden-processes", __func__, "this process may mount no /proc (errno %d)", errno);
        exit(77);
    }
    int device = open_device(), ping = event(device, 0, 0), pong = event(device, 0, 0);
    pid_t first = as_user(FIRST_USER, answers, device, ping, pong);
    pid_t second = as_user(SECOND_USER, asks, device, pong, ping);
    exited_well(first);
    exited_well(second);
    for (int kill_of = 0; kill_of < KILLS; kill_of++) {
        pid_t victim = as_user(FIRST_USER, is_killed_in_its_wait, device, ping, pong);
        pid_t other = as_user(SECOND_USER, goes_on, device, pong, ping);
        until_asleep(victim);
        CHECK(kill(victim, SIGKILL) == 0 && waitpid(victim, NULL, 0) == victim);
        set(pong);
        exited_well(other);
        CHECK(wait_one(device, ping, FOREVER) == 0);
    }
}

/* Waits, and is told to end by the second event. */
static void serves(int device, int work, int end)
{
    int both[] = {work, end};
    while (wait_any(device, both, 2, FOREVER) == 0)
        ;
}

/* A process that the kernel ends because its group is out of memory, in the middle of its operations, harms no other one. */
static void memory_is_short(void)
{
    struct control_group group;
    if (!make_group(&group, "memory", "memory.max", "memory.limit_in_bytes"))
        exit(77);
    CHECK(writes(&group, group.is_unified ? "memory.max" : "memory.limit_in_bytes", "16777216"));
    int device = open_device(), work = event(device, 0, 0), end = event(device, 1, 0);
    pid_t other = fork();
    CHECK(other >= 0);
    if (other == 0) {
        serves(device, work, end);
        _exit(0);
    }
    pid_t victim = fork();
    CHECK(victim >= 0);
    if (victim == 0) {
        join(&group, getpid());
        for (;;) {
            int mine = event(device, 0, 1);
            CHECK(wait_one(device, mine, FOREVER) == 0 && close(mine) == 0);
            set(work);
            char *memory = malloc(1 << 16);
            CHECK(memory != NULL);
            memset(memory, 1, 1 << 16);
            __asm__ volatile("" : : "r"(memory) : "memory");
        }
    }
    int status;
    CHECK(waitpid(victim, &status, 0) == victim && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    int mine = event(device, 0, 0);
    set(mine);
    CHECK(wait_one(device, mine, FOREVER) == 0);
    set(end);
    exited_well(other);
    remove_group(&group);
}

/* Both objects at once, then the other side's event. Ends when the third is set. */
static void takes_turns(int device, uint32_t owner, int mutex_fd, int mine, int theirs, int end)
{
    int objects[] = {mine, mutex_fd};
    struct mutex_args unlock = {owner, 0};
    while (wait_for(device, WAIT_ALL, objects, 2, owner, end, FOREVER) == 0) {
        CHECK(ioctl(mutex_fd, MUTEX_UNLOCK, &unlock) == 0);
        set(theirs);
    }
}

/* Processes that are frozen wherever they are hold up nobody else, and go on where they were. */
static void frozen(void)
{
    struct control_group group;
    if (!make_group(&group, "freezer", "cgroup.freeze", "freezer.state"))
        exit(77);
    const char *file = group.is_unified ? "cgroup.freeze" : "freezer.state";
    int device = open_device(), ping = event(device, 0, 1), pong = event(device, 0, 0), end = event(device, 1, 0);
    int guard = mutex(device, 0, 0);
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            takes_turns(device, i + 1, guard, i % 2 ? ping : pong, i % 2 ? pong : ping, end);
            _exit(0);
        }
        join(&group, children[i]);
    }
    for (int freeze = 0; freeze < FREEZES; freeze++) {
        sleep_ms(5);
        CHECK(writes(&group, file, group.is_unified ? "1" : "FROZEN"));
        for (int i = 0; i < 100; i++) {
            int mine = event(device, 0, 1);
            CHECK(wait_one(device, mine, FOREVER) == 0 && close(mine) == 0);
        }
        /* The turn may lie with a frozen process. */
        int got = wait_one(device, ping, now());
        CHECK(got == 0 || errno == ETIMEDOUT);
        CHECK(writes(&group, file, group.is_unified ? "0" : "THAWED"));
        if (got == 0)
            set(ping);
    }
    /* They still take turns. */
    CHECK(wait_one(device, ping, FOREVER) == 0);
    set(ping);
    CHECK(wait_one(device, pong, FOREVER) == 0);
    set(end);
    for (int i = 0; i < 4; i++)
        exited_well(children[i]);
    remove_group(&group);
}

/* A ring with room for one request. */
struct ring {
    int fd;
    struct io_uring_params as;
    char *submissions, *completions;
    struct io_uring_sqe *requests;
};

static void *part_of(const struct ring *ring, size_t length, off_t offset)
{
    void *part = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, offset);
    CHECK(part != MAP_FAILED);
    return part;
}

static void make_ring(struct ring *ring)
{
    memset(ring, 0, sizeof *ring);
    ring->fd = (int)syscall(SYS_io_uring_setup, 1, &ring->as);
    if (ring->fd < 0) {
        skip("rings", "ring", "the kernel lets this process have none (errno %d)", errno);
        exit(77);
    }
    const struct io_uring_params *as = &ring->as;
    ring->submissions = part_of(ring, as->sq_off.array + as->sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    ring->completions =
        part_of(ring, as->cq_off.cqes + as->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    ring->requests = part_of(ring, as->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
}

/* What the kernel answers to one request. */
static int answer(struct ring *ring, struct io_uring_sqe request)
{
    uint32_t *tail = (uint32_t *)(ring->submissions + ring->as.sq_off.tail);
    uint32_t *head = (uint32_t *)(ring->completions + ring->as.cq_off.head);
    uint32_t place = *tail & *(uint32_t *)(ring->submissions + ring->as.sq_off.ring_mask);
    ring->requests[place] = request;
    ((uint32_t *)(ring->submissions + ring->as.sq_off.array))[place] = place;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
    uint32_t taken = *head & *(uint32_t *)(ring->completions + ring->as.cq_off.ring_mask);
    int result = ((struct io_uring_cqe *)(ring->completions + ring->as.cq_off.cqes))[taken].res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result;
}

static bool knows(struct ring *ring, uint8_t operation)
{
    struct io_uring_sqe request = {.opcode = operation, .fd = -1};
    return answer(ring, request) != -EINVAL;
}

/* An object polled, sent and closed by a ring lives as long as any other one. */
static void ring(void)
{
    struct ring ring;
    make_ring(&ring);
    if (!knows(&ring, IORING_OP_CLOSE)) {
        skip("rings", __func__, "this kernel's rings close nothing");
        exit(77);
    }
    int device = open_device(), pair[2], kept = event(device, 1, 1);
    struct pollfd usual = {.fd = kept, .events = POLLIN | POLLOUT};
    struct io_uring_sqe request = {.opcode = IORING_OP_POLL_ADD, .fd = kept, .poll32_events = POLLIN | POLLOUT};
    CHECK(poll(&usual, 1, 0) == 1);
    CHECK((answer(&ring, request) & (POLLIN | POLLOUT)) == usual.revents);

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    char byte = 'x';
    struct iovec part = {&byte, 1};
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &kept, sizeof kept);
    request = (struct io_uring_sqe){.opcode = IORING_OP_SENDMSG, .fd = pair[0], .addr = (uintptr_t)&message, .len = 1};
    CHECK(answer(&ring, request) == 1);
    request = (struct io_uring_sqe){.opcode = IORING_OP_CLOSE, .fd = kept};
    CHECK(answer(&ring, request) == 0);
    /* Whose place would be given again, if the object had ended. */
    for (int i = 0; i < 2000; i++)
        CHECK(close(event(device, 0, 0)) == 0);
    int received = receive_fd(pair[1]);
    CHECK(signaled(received) == 1 && wait_one(device, received, FOREVER) == 0);

    for (int i = 0; i < 2000; i++) {
        request = (struct io_uring_sqe){.opcode = IORING_OP_CLOSE, .fd = event(device, 1, 1)};
        CHECK(answer(&ring, request) == 0);
    }
    int last = event(device, 1, 1);
    CHECK(wait_one(device, last, FOREVER) == 0 && close(last) == 0);
}

/* So many processes at a time come and go. */
#define COMERS 64
#define RESIDENTS 4

/* Hands the turn on, round and round, until the end. A turn that does not come is a wake that was lost. */
static void hands_on(int device, int mine, int next, int end, volatile uint32_t *turns)
{
    int both[] = {mine, end};
    for (;;) {
        int got = wait_any(device, both, 2, in_ms(60000));
        CHECK(got >= 0);
        if (got == 1)
            return;
        *turns += 1;
        set(next);
    }
}

/* What a process does that comes and goes; the kinds differ in what they leave behind when they are killed. */
static void comes(int device, int shared, int guard, uint32_t owner)
{
    int mine = event(device, 0, 1), more = semaphore(device, 1, 2);
    int all[] = {mine, more}, any[] = {shared, guard};
    CHECK(wait_for(device, WAIT_ALL, all, 2, owner, 0, FOREVER) == 0);
    if (wait_for(device, WAIT_ANY, any, 2, owner, 0, in_ms(owner % 7)) == 1 && owner % 5 != 0) {
        struct mutex_args unlock = {owner, 0};
        CHECK(ioctl(guard, MUTEX_UNLOCK, &unlock) == 0);
    }
    int own = open_device();
    if (owner % 3 == 0)
        CHECK(wait_one(own, event(own, 1, 1), FOREVER) == 0);
    if (owner % 2 == 0)
        (void)wait_one(device, mine, in_ms(owner % 11));
}

/* A hundred processes and more each second share the objects of some that wait, end or are killed anywhere. The waiting ones lose no
 * wake, and the device takes no more memory than it did after the first minutes. */
static void come_and_go(unsigned seconds)
{
    watchdog(seconds + 240);
    int device = open_device(), shared = semaphore(device, 0, 1 << 30), guard = mutex(device, 0, 0), end = event(device, 1, 0);
    int turns_of[RESIDENTS];
    for (int i = 0; i < RESIDENTS; i++)
        turns_of[i] = event(device, 0, i == 0);
    volatile uint32_t *turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(turns != MAP_FAILED);
    pid_t residents[RESIDENTS], comers[COMERS] = {0};
    for (int i = 0; i < RESIDENTS; i++) {
        residents[i] = fork();
        CHECK(residents[i] >= 0);
        if (residents[i] == 0) {
            hands_on(device, turns_of[i], turns_of[(i + 1) % RESIDENTS], end, &turns[i]);
            _exit(0);
        }
    }
    uint64_t until = now() + seconds * 1000000000ull;
    uint32_t owner = 1, random = 1;
    unsigned long came = 0, killed = 0;
    while (now() < until || came < 2 * COMERS) {
        for (int i = 0; i < COMERS; i++) {
            random = random * 1664525 + 1013904223;
            int status;
            if (comers[i] != 0) {
                CHECK(waitpid(comers[i], &status, 0) == comers[i]);
                CHECK(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
                killed += status != 0;
            }
            /* What Wine's server says when a thread has died. */
            if (owner > COMERS)
                (void)ioctl(guard, MUTEX_KILL, &(uint32_t){owner - COMERS});
            owner++;
            comers[i] = fork();
            CHECK(comers[i] >= 0);
            if (comers[i] == 0) {
                comes(device, shared, guard, owner);
                _exit(0);
            }
            came++;
            if (random >> 31) {
                for (uint64_t then = now() + random % 500000; now() < then;)
                    ;
                CHECK(kill(comers[i], SIGKILL) == 0);
            }
            uint32_t one = 1;
            if (random >> 30 == 1)
                CHECK(ioctl(shared, SEM_RELEASE, &one) == 0);
        }
    }
    for (int i = 0; i < COMERS; i++)
        CHECK(waitpid(comers[i], NULL, 0) == comers[i]);
    uint32_t before = turns[0];
    for (int looks = 0; turns[0] == before; looks++) {
        CHECK(looks < 60000);
        sleep_ms(1);
    }
    set(end);
    for (int i = 0; i < RESIDENTS; i++)
        exited_well(residents[i]);
    long memory = memory_of_instances();
    dprintf(1, "%lu processes came, %lu of them were killed; %u rounds; the device takes %ld KiB\n", came, killed, before,
            memory / 1024);
    CHECK(memory <= ENOUGH);
}

#define SLEEPERS 100
#define SESSIONS 3

struct sleeper {
    int device, event;
};

static void *sleeps(void *argument)
{
    struct sleeper *sleeper = argument;
    CHECK(wait_one(sleeper->device, sleeper->event, FOREVER) == 0);
    return NULL;
}

static void threads_start(pthread_t *threads, struct sleeper *sleepers, int device)
{
    for (int i = 0; i < SLEEPERS; i++) {
        sleepers[i] = (struct sleeper){device, event(device, 0, 0)};
        CHECK(pthread_create(&threads[i], NULL, sleeps, &sleepers[i]) == 0);
    }
    sleep_ms(50);
}

static void threads_wake(const pthread_t *threads, const struct sleeper *sleepers)
{
    for (int i = 0; i < SLEEPERS; i++)
        set(sleepers[i].event);
    for (int i = 0; i < SLEEPERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* The first process of a namespace: each child that it makes is the first one of another, and has its number. */
static int first_process(void)
{
    static struct sleeper sleepers[SLEEPERS], of_child[SLEEPERS];
    static pthread_t threads[SLEEPERS], childs[SLEEPERS];
    CHECK(getpid() == 1);
    int device = open_device(), there = event(device, 0, 0), back = event(device, 0, 0);
    threads_start(threads, sleepers, device);
    for (int session = 0; session < SESSIONS; session++) {
        pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
        if (child < 0)
            return -1;
        if (child == 0) {
            CHECK(getpid() == 1);
            threads_start(childs, of_child, device);
            answers(device, there, back);
            threads_wake(childs, of_child);
            /* A descriptor of its own, which it closes as the founder of the family would not. */
            int own = event(device, 0, 1);
            CHECK(close(own) == 0 && close(sleepers[0].event) == 0);
            _exit(0);
        }
        asks(device, back, there);
        exited_well(child);
    }
    threads_wake(threads, sleepers);
    return 0;
}

/* A parent and its child have the same number, in two namespaces. */
static void namesakes(void)
{
    int status = 0;
    pid_t outer = fork();
    CHECK(outer >= 0);
    if (outer == 0) {
        pid_t first = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
        if (first == 0)
            _exit(first_process() == 0 ? 0 : 3);
        CHECK(first < 0 || (waitpid(first, &status, 0) == first && WIFEXITED(status)));
        _exit(first < 0 ? 3 : WEXITSTATUS(status));
    }
    CHECK(waitpid(outer, &status, 0) == outer && WIFEXITED(status));
    if (WEXITSTATUS(status) == 3)
        skip("namespaces", "namesakes", "this process may make no namespaces of processes");
    else
        CHECK(WEXITSTATUS(status) == 0);
}

int main(int count, char **values)
{
    CHECK(count >= 2);
    watchdog(120);
    if (strcmp(values[1], "hidden_processes") == 0)
        hidden_processes();
    else if (strcmp(values[1], "memory_is_short") == 0)
        memory_is_short();
    else if (strcmp(values[1], "frozen") == 0)
        frozen();
    else if (strcmp(values[1], "ring") == 0)
        ring();
    else if (strcmp(values[1], "come_and_go") == 0)
        come_and_go(count > 2 ? (unsigned)atoi(values[2]) : 2);
    else if (strcmp(values[1], "namesakes") == 0)
        namesakes();
    else
        return 2;
    return 0;
}
