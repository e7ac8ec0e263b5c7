/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What Wine does at TerminateThread, and whether an event that is set afterwards is there. Usage: terminated ORDER ROUNDS BUSY
 *
 * A thread sleeps in a wait for an auto-reset event. A server, which is another process, ends it: SIGQUIT to the thread, whose handler
 * calls pthread_exit, and the thread's object is signaled. Who waits for that object then sets the event, and looks whether it is
 * set. It is not if the dying thread was still queued and was given it.
 *
 *   ORDER    object: the server signals the object, then sends SIGQUIT (Wine)
 *            signal: it sends SIGQUIT, then signals the object
 *            gone: it sends SIGQUIT, waits until the kernel knows the thread no more, then signals the object (Wine with staging)
 *   BUSY     how many other threads compute meanwhile
 */
#include "device.h"

static int device;

struct order {
    pid_t process, thread;
    int object;
};

static void leave(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    pthread_exit(NULL);
}

struct victim {
    int event;
    volatile pid_t thread;
};

static void *waits(void *argument)
{
    struct victim *victim = argument;
    victim->thread = thread_id();
    while (wait_one(device, victim->event, FOREVER) < 0 && errno == EINTR)
        ;
    return NULL;
}

static void *computes(void *argument)
{
    for (volatile unsigned long *count = argument;; ++*count)
        ;
    return NULL;
}

static void serve(int requests, const char *how)
{
    struct order order;
    while (read(requests, &order, sizeof order) == sizeof order) {
        if (how[0] == 'o')
            set(order.object);
        CHECK(syscall(SYS_tgkill, order.process, order.thread, SIGQUIT) == 0);
        while (how[0] == 'g' && syscall(SYS_tgkill, order.process, order.thread, 0) == 0)
            sleep_ms(1);
        if (how[0] != 'o')
            set(order.object);
        CHECK(write(requests, "", 1) == 1);
    }
    _exit(0);
}

int main(int count, char **arguments)
{
    CHECK(count == 4);
    const char *how = arguments[1];
    int rounds = atoi(arguments[2]), busy = atoi(arguments[3]), lost = 0, sockets[2];
    unsigned long counters[64] = {0};
    CHECK(busy <= 64);
    device = open_device();
    int object = event(device, 1, 0), automatic = event(device, 0, 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pid_t server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        close(sockets[1]);
        serve(sockets[0], how);
    }
    close(sockets[0]);
    handle(SIGQUIT, leave, SA_RESTART);
    for (int i = 0; i < busy; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, computes, &counters[i]) == 0);
    }
    for (int round = 0; round < rounds; round++) {
        struct victim victim = {automatic, 0};
        pthread_t thread;
        uint32_t before;
        char answer;
        CHECK(pthread_create(&thread, NULL, waits, &victim) == 0);
        while (!victim.thread)
            sleep_ms(1);
        until_asleep(victim.thread);
        struct order order = {getpid(), victim.thread, object};
        CHECK(write(sockets[1], &order, sizeof order) == sizeof order);
        CHECK(read(sockets[1], &answer, 1) == 1);
        CHECK(wait_one(device, object, FOREVER) == 0);
        CHECK(set(automatic) == 0);
        if (wait_one(device, automatic, 0) != 0) {
            CHECK(errno == ETIMEDOUT);
            lost++;
        }
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(wait_one(device, automatic, 0) < 0 && errno == ETIMEDOUT);
        CHECK(ioctl(object, EVENT_RESET, &before) == 0);
    }
    printf("%s busy=%d lost %d of %d\n", how, busy, lost, rounds);
    fflush(stdout);
    _exit(0);
}
