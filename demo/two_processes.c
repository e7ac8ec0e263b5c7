/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two processes and one /dev/ntsync, with nothing but the kernel's interface.
 *
 * The server opens the device and creates objects. The client is a program of its own (fork and exec) that owns
 * nothing: it gets the device and the objects as descriptors over a Unix socket, as the programs of a Wine prefix do
 * from their wineserver. The server tells the client what to do, so the whole story is in the functions from
 * `scene_semaphore` on, in the order in which it happens.
 *
 * Everything that is said is checked; the first surprise ends the program with status 1.
 */
#define _GNU_SOURCE
#include "ntsync_device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Who acquires mutexes. The driver takes any number but 0. */
enum { SERVER = 100, CLIENT = 200 };

/* The client's socket, chosen so that the client needs no argument. */
enum { CLIENT_SOCKET = 3 };

/* A run that takes longer than this, in seconds, hangs. */
enum { WATCHDOG_S = 60 };

/* The objects of the story; both sides use these names, and each has descriptors of its own for them. */
enum { DEVICE, SEMAPHORE, MUTEX, AUTO_EVENT, MANUAL_EVENT, ALERT, OBJECT_COUNT };
enum { NO_ALERT = 0 };

/* Deadlines, in nanoseconds of the monotonic clock; 0 means none. */
enum { IN_THE_PAST = 1 };

static int fds[OBJECT_COUNT];

/* ------------------------------------------------------------------ saying and checking */

static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("  ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
}

static void title(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

#define CHECK(condition) check((condition), #condition, __LINE__)

static void check(int holds, const char *condition, int line)
{
    if (holds)
        return;
    fprintf(stderr, "two_processes.c:%d: surprise: not true that %s (errno: %s)\n", line, condition, strerror(errno));
    exit(1);
}

static void watchdog(int signal_number)
{
    static const char text[] = "two_processes: surprise: it hangs\n";
    (void)signal_number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(2);
    _exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ------------------------------------------------------------------ one wait, in either process */

/* A wait, as the server asks for it. Objects are named by their number in the story. */
struct wait {
    uint32_t all;
    uint32_t count;
    uint32_t objects[4];
    uint32_t alert;
    uint32_t owner;
    uint64_t deadline_ns;
};

struct outcome {
    int error; /* 0, or the error number */
    uint32_t index; /* UNTOUCHED where the driver does not write it */
};

#define UNTOUCHED UINT32_MAX

static struct outcome do_wait(const struct wait *wait)
{
    int objects[4];
    struct ntsync_wait_args args = {
        .timeout = wait->deadline_ns ? wait->deadline_ns : NO_TIMEOUT,
        .objs = (uintptr_t)objects,
        .count = wait->count,
        .index = UNTOUCHED,
        .owner = wait->owner,
        .alert = wait->alert == NO_ALERT ? 0 : (uint32_t)fds[wait->alert],
    };
    for (uint32_t i = 0; i < wait->count; i++)
        objects[i] = fds[wait->objects[i]];
    int result = ioctl(fds[DEVICE], wait->all ? NTSYNC_IOC_WAIT_ALL : NTSYNC_IOC_WAIT_ANY, &args);
    return (struct outcome){ result < 0 ? errno : 0, args.index };
}

/* A wait of the server's own. */
#define SERVER_WAIT(...) do_wait(&(struct wait){ .owner = SERVER, __VA_ARGS__ })
#define ON(...) .count = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), .objects = { __VA_ARGS__ }
#define ANY_OF(...) .all = 0, ON(__VA_ARGS__)
#define ALL_OF(...) .all = 1, ON(__VA_ARGS__)

/* ------------------------------------------------------------------ the client */

/* What the server sends: a descriptor to keep as `object`, or a wait to do. */
struct order {
    uint32_t object; /* the descriptor that comes along is this one; OBJECT_COUNT for a wait */
    struct wait wait;
};

/* Receives one order; a descriptor that comes along is stored. Returns 0 when the server is gone. */
static int receive_order(struct order *order)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = { order, sizeof *order };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
                              .msg_controllen = sizeof control };
    ssize_t size = recvmsg(CLIENT_SOCKET, &message, MSG_CMSG_CLOEXEC);
    if (size == 0)
        return 0;
    CHECK(size == sizeof *order);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    CHECK((header != NULL) == (order->object < OBJECT_COUNT));
    if (header)
        memcpy(&fds[order->object], CMSG_DATA(header), sizeof(int));
    return 1;
}

static int client(void)
{
    struct order order;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a server that fails leaves no client behind, asleep for ever */
    while (receive_order(&order)) {
        if (order.object < OBJECT_COUNT)
            continue;
        struct outcome outcome = do_wait(&order.wait);
        CHECK(write(CLIENT_SOCKET, &outcome, sizeof outcome) == sizeof outcome);
    }
    return 0;
}

/* ------------------------------------------------------------------ what the server does with the client */

static pid_t client_pid;
static int client_socket;

static void send_order(const struct order *order, int descriptor)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = { .space = { 0 } };
    struct iovec data = { (void *)order, sizeof *order };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    CHECK(sendmsg(client_socket, &message, MSG_NOSIGNAL) == sizeof *order);
}

/* Starts a client, which inherits no object: every descriptor it has of them goes over the socket. */
static void start_client(const char *program)
{
    int sockets[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    client_pid = fork();
    CHECK(client_pid >= 0);
    if (client_pid == 0) {
        if (sockets[1] == CLIENT_SOCKET)
            fcntl(CLIENT_SOCKET, F_SETFD, 0);
        else
            dup2(sockets[1], CLIENT_SOCKET);
        execl(program, program, "client", (char *)NULL);
        _exit(127);
    }
    close(sockets[1]);
    client_socket = sockets[0];
    for (uint32_t object = DEVICE; object < OBJECT_COUNT; object++)
        send_order(&(struct order){ .object = object }, fds[object]);
}

/* Kills the client with the signal that nobody can catch, at whatever it is doing. */
static void kill_client(void)
{
    int status;
    CHECK(kill(client_pid, SIGKILL) == 0);
    CHECK(waitpid(client_pid, &status, 0) == client_pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(client_socket);
}

static void end_client(void)
{
    int status;
    close(client_socket);
    CHECK(waitpid(client_pid, &status, 0) == client_pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The client's state as /proc shows it: 'S' while it sleeps. */
static char client_state(void)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", client_pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0);
    ssize_t size = read(file, text, sizeof text - 1);
    CHECK(size > 0);
    close(file);
    text[size] = 0;
    char *end_of_name = strrchr(text, ')');
    CHECK(end_of_name != NULL && end_of_name[1] == ' ');
    return end_of_name[2];
}

/* Whether the client took the order out of the socket: from then on the only place where it sleeps is its wait. */
static int client_took_the_order(void)
{
    int unread = -1;
    CHECK(ioctl(client_socket, TIOCOUTQ, &unread) == 0);
    return unread == 0;
}

#define CLIENT_STARTS(...) client_starts(&(struct wait){ .owner = CLIENT, __VA_ARGS__ })

static void client_starts(const struct wait *wait)
{
    send_order(&(struct order){ .object = OBJECT_COUNT, .wait = *wait }, -1);
}

static int client_still_waits(void)
{
    struct outcome outcome;
    return recv(client_socket, &outcome, sizeof outcome, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/* Returns when the client sleeps in its wait. */
static void client_sleeps(void)
{
    while (!client_took_the_order() || client_state() != 'S')
        usleep(200);
    CHECK(client_still_waits());
}

/* How the client's wait ended. */
static struct outcome client_outcome(void)
{
    struct outcome outcome;
    CHECK(read(client_socket, &outcome, sizeof outcome) == sizeof outcome);
    return outcome;
}

/* ------------------------------------------------------------------ reading and changing objects */

static uint32_t semaphore_count(void)
{
    struct ntsync_sem_args state;
    CHECK(ioctl(fds[SEMAPHORE], NTSYNC_IOC_SEM_READ, &state) == 0);
    CHECK(state.max == 3);
    return state.count;
}

static uint32_t release(uint32_t count)
{
    CHECK(ioctl(fds[SEMAPHORE], NTSYNC_IOC_SEM_RELEASE, &count) == 0);
    return count;
}

static struct ntsync_mutex_args mutex_state(void)
{
    struct ntsync_mutex_args state;
    CHECK(ioctl(fds[MUTEX], NTSYNC_IOC_MUTEX_READ, &state) == 0);
    return state;
}

/* Unlocks once; the recursion count before, or a negative error number. */
static int unlock(uint32_t owner)
{
    struct ntsync_mutex_args args = { .owner = owner };
    return ioctl(fds[MUTEX], NTSYNC_IOC_MUTEX_UNLOCK, &args) < 0 ? -errno : (int)args.count;
}

static uint32_t signaled(int event)
{
    struct ntsync_event_args state;
    CHECK(ioctl(fds[event], NTSYNC_IOC_EVENT_READ, &state) == 0);
    CHECK(state.manual == (event == MANUAL_EVENT));
    return state.signaled;
}

/* Sets, resets or pulses; whether the event was signaled before. */
static uint32_t change(int event, unsigned long request)
{
    uint32_t before = UINT32_MAX;
    CHECK(ioctl(fds[event], request, &before) == 0);
    return before;
}

static int is(struct outcome outcome, int error, uint32_t index)
{
    return outcome.error == error && outcome.index == index;
}

/* ------------------------------------------------------------------ the story */

static void create_objects(void)
{
    fds[DEVICE] = open("/dev/ntsync", O_RDONLY | O_CLOEXEC);
    if (fds[DEVICE] < 0) {
        fprintf(stderr, "two_processes: cannot open /dev/ntsync: %s\n", strerror(errno));
        exit(1);
    }
    fds[SEMAPHORE] = ioctl(fds[DEVICE], NTSYNC_IOC_CREATE_SEM, &(struct ntsync_sem_args){ .count = 0, .max = 3 });
    fds[MUTEX] = ioctl(fds[DEVICE], NTSYNC_IOC_CREATE_MUTEX, &(struct ntsync_mutex_args){ .owner = 0, .count = 0 });
    fds[AUTO_EVENT] = ioctl(fds[DEVICE], NTSYNC_IOC_CREATE_EVENT, &(struct ntsync_event_args){ .manual = 0 });
    fds[MANUAL_EVENT] = ioctl(fds[DEVICE], NTSYNC_IOC_CREATE_EVENT, &(struct ntsync_event_args){ .manual = 1 });
    fds[ALERT] = ioctl(fds[DEVICE], NTSYNC_IOC_CREATE_EVENT, &(struct ntsync_event_args){ .manual = 0 });
    for (int object = SEMAPHORE; object < OBJECT_COUNT; object++)
        CHECK(fds[object] >= 0);
}

static void scene_semaphore(void)
{
    title("A semaphore counts.");
    CLIENT_STARTS(ANY_OF(SEMAPHORE));
    client_sleeps();
    say("The client waits for the semaphore, whose count is 0: it sleeps.");
    CHECK(release(1) == 0);
    CHECK(semaphore_count() == 0);
    say("The server releases 1. The count is 0 again before the client has even run: it was handed over.");
    CHECK(is(client_outcome(), 0, 0));
    say("The client's wait succeeded.");
    uint32_t too_many = 4;
    CHECK(ioctl(fds[SEMAPHORE], NTSYNC_IOC_SEM_RELEASE, &too_many) < 0 && errno == EOVERFLOW);
    CHECK(semaphore_count() == 0);
    say("Releasing 4 where 3 is the maximum is refused, and changes nothing.");
}

static void scene_mutex(void)
{
    title("A mutex has an owner, who may take it again.");
    CHECK(is(SERVER_WAIT(ANY_OF(MUTEX)), 0, 0));
    CHECK(is(SERVER_WAIT(ANY_OF(MUTEX)), 0, 0));
    CHECK(mutex_state().owner == SERVER && mutex_state().count == 2);
    CLIENT_STARTS(ANY_OF(MUTEX));
    client_sleeps();
    say("The server took the mutex twice; the client waits for it.");
    CHECK(unlock(CLIENT) == -EPERM);
    say("Who is not the owner cannot unlock it.");
    CHECK(unlock(SERVER) == 2);
    CHECK(mutex_state().owner == SERVER && client_still_waits());
    CHECK(unlock(SERVER) == 1);
    CHECK(mutex_state().owner == CLIENT && mutex_state().count == 1);
    CHECK(is(client_outcome(), 0, 0));
    say("After the second unlock the client owns it, at once.");
    CHECK(unlock(CLIENT) == 1);
    CHECK(mutex_state().owner == 0);
}

static void scene_events(void)
{
    title("An event is a flag. Taking an auto-reset event lowers it, a manual-reset one stays up.");
    CLIENT_STARTS(ANY_OF(AUTO_EVENT));
    client_sleeps();
    CHECK(change(AUTO_EVENT, NTSYNC_IOC_EVENT_SET) == 0);
    CHECK(signaled(AUTO_EVENT) == 0);
    CHECK(is(client_outcome(), 0, 0));
    say("Set with the client waiting, the auto-reset event is down again at once: the client got it.");
    CLIENT_STARTS(ANY_OF(MANUAL_EVENT));
    client_sleeps();
    CHECK(change(MANUAL_EVENT, NTSYNC_IOC_EVENT_SET) == 0);
    CHECK(is(client_outcome(), 0, 0));
    CHECK(is(SERVER_WAIT(ANY_OF(MANUAL_EVENT)), 0, 0));
    CHECK(change(MANUAL_EVENT, NTSYNC_IOC_EVENT_RESET) == 1 && signaled(MANUAL_EVENT) == 0);
    say("Set, the manual-reset event let both processes through, until it was reset.");
}

static void scene_wait_any(void)
{
    title("Wait-any takes one of several objects.");
    CHECK(is(SERVER_WAIT(ANY_OF(MUTEX)), 0, 0));
    CLIENT_STARTS(ANY_OF(SEMAPHORE, MUTEX, AUTO_EVENT));
    client_sleeps();
    CHECK(change(AUTO_EVENT, NTSYNC_IOC_EVENT_SET) == 0);
    CHECK(is(client_outcome(), 0, 2));
    say("The client waited for the semaphore, the mutex and the event; the event came, so index 2 ended the wait.");
    release(1);
    change(AUTO_EVENT, NTSYNC_IOC_EVENT_SET);
    CHECK(is(SERVER_WAIT(ANY_OF(AUTO_EVENT, SEMAPHORE)), 0, 0));
    CHECK(signaled(AUTO_EVENT) == 0 && semaphore_count() == 1);
    say("Of two that are there, the first in the list is taken, and only that one.");
    CHECK(is(SERVER_WAIT(ANY_OF(SEMAPHORE)), 0, 0));
    CHECK(unlock(SERVER) == 1);
}

static void scene_wait_all(void)
{
    title("Wait-all takes all of them in one step, or none.");
    CLIENT_STARTS(ALL_OF(SEMAPHORE, AUTO_EVENT, MUTEX));
    client_sleeps();
    release(1);
    CHECK(semaphore_count() == 1 && mutex_state().owner == 0 && client_still_waits());
    say("With the event missing, the client takes neither the semaphore nor the mutex.");
    change(AUTO_EVENT, NTSYNC_IOC_EVENT_SET);
    CHECK(semaphore_count() == 0 && signaled(AUTO_EVENT) == 0 && mutex_state().owner == CLIENT);
    CHECK(is(client_outcome(), 0, 0));
    say("The event comes: all three are the client's in one step.");
    CHECK(unlock(CLIENT) == 1);
}

static void scene_pulse(void)
{
    title("A pulse reaches who waits now, and nobody later.");
    CLIENT_STARTS(ANY_OF(MANUAL_EVENT));
    client_sleeps();
    CHECK(change(MANUAL_EVENT, NTSYNC_IOC_EVENT_PULSE) == 0 && signaled(MANUAL_EVENT) == 0);
    CHECK(is(client_outcome(), 0, 0));
    say("The client waited, and got the pulse.");
    CHECK(change(AUTO_EVENT, NTSYNC_IOC_EVENT_PULSE) == 0);
    CHECK(is(SERVER_WAIT(ANY_OF(AUTO_EVENT), .deadline_ns = IN_THE_PAST), ETIMEDOUT, UNTOUCHED));
    say("A pulse with nobody there is gone: the server, who came later, finds nothing.");
}

static void scene_alert(void)
{
    title("An alert ends a wait for something else.");
    CHECK(is(SERVER_WAIT(ANY_OF(MUTEX)), 0, 0));
    CLIENT_STARTS(ANY_OF(SEMAPHORE, MUTEX), .alert = ALERT);
    client_sleeps();
    change(ALERT, NTSYNC_IOC_EVENT_SET);
    CHECK(is(client_outcome(), 0, 2));
    CHECK(signaled(ALERT) == 0 && mutex_state().owner == SERVER);
    say("The client waited for two objects; the alert ended the wait with index 2, one past the last.");
    CHECK(unlock(SERVER) == 1);
}

static void scene_timeouts(void)
{
    title("A wait can have a deadline.");
    CHECK(is(SERVER_WAIT(ANY_OF(SEMAPHORE), .deadline_ns = IN_THE_PAST), ETIMEDOUT, UNTOUCHED));
    say("A deadline in the past only looks: nothing there, no sleep.");
    uint64_t deadline = now_ns() + 20000000;
    CLIENT_STARTS(ALL_OF(SEMAPHORE, AUTO_EVENT), .deadline_ns = deadline);
    CHECK(is(client_outcome(), ETIMEDOUT, UNTOUCHED));
    CHECK(now_ns() >= deadline);
    say("A wait of 20 ms for something that does not come times out, not too early.");
}

static void scene_refusals(void)
{
    title("What makes no sense is refused.");
    CHECK(is(SERVER_WAIT(ALL_OF(SEMAPHORE, SEMAPHORE)), EINVAL, UNTOUCHED));
    say("The same object twice in a wait-all.");
    CHECK(is(SERVER_WAIT(ANY_OF(DEVICE)), EINVAL, UNTOUCHED));
    say("The device, where an object is expected.");
    int own = fds[DEVICE];
    fds[DEVICE] = open("/dev/ntsync", O_RDONLY | O_CLOEXEC);
    CHECK(fds[DEVICE] >= 0);
    CHECK(is(SERVER_WAIT(ANY_OF(SEMAPHORE)), EINVAL, UNTOUCHED));
    close(fds[DEVICE]);
    fds[DEVICE] = own;
    say("An object of another open of the device: each open is a world of its own.");
}

static void scene_killed_waiter(const char *program)
{
    title("A process that is killed while it waits swallows nothing.");
    CLIENT_STARTS(ANY_OF(AUTO_EVENT));
    client_sleeps();
    kill_client();
    CHECK(change(AUTO_EVENT, NTSYNC_IOC_EVENT_SET) == 0);
    CHECK(signaled(AUTO_EVENT) == 1);
    CHECK(is(SERVER_WAIT(ANY_OF(AUTO_EVENT)), 0, 0));
    say("The client was killed in its sleep. The event that is set afterwards is there for the server.");
    start_client(program);
    say("A new client gets the same objects.");
}

static void scene_killed_owner(const char *program)
{
    title("A process that is killed while it owns a mutex leaves it behind.");
    CLIENT_STARTS(ANY_OF(MUTEX));
    CHECK(is(client_outcome(), 0, 0));
    kill_client();
    CHECK(mutex_state().owner == CLIENT);
    CHECK(is(SERVER_WAIT(ANY_OF(MUTEX), .deadline_ns = IN_THE_PAST), ETIMEDOUT, UNTOUCHED));
    say("The client took the mutex and was killed. The mutex still has its owner: numbers do not die.");
    uint32_t dead = CLIENT;
    CHECK(ioctl(fds[MUTEX], NTSYNC_IOC_MUTEX_KILL, &dead) == 0);
    struct ntsync_mutex_args state = { 7, 7 };
    CHECK(ioctl(fds[MUTEX], NTSYNC_IOC_MUTEX_READ, &state) < 0 && errno == EOWNERDEAD);
    CHECK(state.owner == 0 && state.count == 0);
    say("The server declares the owner dead. The mutex is free now, and marked as abandoned.");
    start_client(program);
    CLIENT_STARTS(ANY_OF(MUTEX));
    CHECK(is(client_outcome(), EOWNERDEAD, 0));
    CHECK(mutex_state().owner == CLIENT && unlock(CLIENT) == 1);
    say("The next to take it, a new client, is told so (EOWNERDEAD), and owns it.");
    CHECK(is(SERVER_WAIT(ANY_OF(MUTEX)), 0, 0));
    CLIENT_STARTS(ANY_OF(MUTEX));
    client_sleeps();
    CHECK(unlock(SERVER) == 1);
    CHECK(is(client_outcome(), 0, 0));
    say("The ones after that find an ordinary mutex, and can wait for it.");
}

static void server(const char *program)
{
    create_objects();
    start_client(program);
    title("Two processes share a semaphore, a mutex and three events; the client got them over a Unix socket.");
    scene_semaphore();
    scene_mutex();
    scene_events();
    scene_wait_any();
    scene_wait_all();
    scene_pulse();
    scene_alert();
    scene_timeouts();
    scene_refusals();
    scene_killed_waiter(program);
    scene_killed_owner(program);
    end_client();
    title("All as it should be.");
}

int main(int count, char **arguments)
{
    signal(SIGALRM, watchdog);
    alarm(WATCHDOG_S);
    if (count > 1 && strcmp(arguments[1], "client") == 0)
        return client();
    server("/proc/self/exe");
    return 0;
}
