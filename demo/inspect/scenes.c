/*
 * Programs that hang, or are slow, for `ntux why` and the others to look at. Written for the driver's interface; nothing in it knows of
 * ntux. Usage: scenes SCENE; it says "ready" when there is something to see, and stays until it is killed.
 *
 *   deadlock     two threads lock two mutexes in opposite order; a third waits behind them
 *   killed       a process is killed while it owns a mutex, for which another one waits
 *   nobody       a thread waits for an event that somebody set earlier, and nobody sets any more
 *   lost         an event is set and reset before a thread waits for it
 *   stopped      a process is stopped while it owns a mutex
 *   bottleneck   eight workers take work from one semaphore, and one lock holds all of them up
 *   crowd        a thousand objects, a hundred threads
 *   processes    two thousand processes that wait for one event
 */
#define _GNU_SOURCE
#include "../ntsync_device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int device;

static void fail(const char *what)
{
    fprintf(stderr, "scenes: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int make(unsigned long request, void *args)
{
    int fd = ioctl(device, request, args);
    if (fd < 0)
        fail("cannot create an object");
    return fd;
}

static int mutex(void)
{
    return make(NTSYNC_IOC_CREATE_MUTEX, &(struct ntsync_mutex_args){ 0 });
}

static int event(void)
{
    return make(NTSYNC_IOC_CREATE_EVENT, &(struct ntsync_event_args){ 0 });
}

static int semaphore(uint32_t count, uint32_t max)
{
    return make(NTSYNC_IOC_CREATE_SEM, &(struct ntsync_sem_args){ .count = count, .max = max });
}

static void wait_for(int object, uint32_t owner)
{
    struct ntsync_wait_args args = { .timeout = NO_TIMEOUT, .objs = (uintptr_t)&object, .count = 1, .owner = owner };
    if (ioctl(device, NTSYNC_IOC_WAIT_ANY, &args) < 0 && errno != EOWNERDEAD)
        fail("cannot wait");
}

static void unlock(int object, uint32_t owner)
{
    if (ioctl(object, NTSYNC_IOC_MUTEX_UNLOCK, &(struct ntsync_mutex_args){ .owner = owner }) < 0)
        fail("cannot unlock");
}

static void set(int object)
{
    uint32_t previous;
    if (ioctl(object, NTSYNC_IOC_EVENT_SET, &previous) < 0)
        fail("cannot set an event");
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* A thread of a scene: what it works with, and in whose name. */
struct part {
    const char *name;
    void (*play)(const struct part *);
    int objects[3];
    uint32_t owner;
};

static void *play(void *argument)
{
    const struct part *part = argument;
    pthread_setname_np(pthread_self(), part->name);
    part->play(part);
    return NULL;
}

static void start(struct part part)
{
    struct part *copy = malloc(sizeof *copy);
    pthread_t thread;
    if (copy == NULL)
        fail("no memory");
    *copy = part;
    if (pthread_create(&thread, NULL, play, copy) != 0)
        fail("cannot start a thread");
}

static void lock_both(const struct part *part)
{
    wait_for(part->objects[0], part->owner);
    pause_ms(200);
    wait_for(part->objects[1], part->owner);
}

static void lock_one(const struct part *part)
{
    wait_for(part->objects[0], part->owner);
}

static void deadlock(void)
{
    int accounts = mutex(), journal = mutex();
    start((struct part){ "transfer", lock_both, { accounts, journal }, 101 });
    start((struct part){ "audit", lock_both, { journal, accounts }, 102 });
    pause_ms(100);
    start((struct part){ "report", lock_one, { journal }, 103 });
}

/* A child that has waited once, so that ntux knows its owner id, and then owns the mutex. */
static pid_t child_with(int object, int gate)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "owner");
        wait_for(gate, 201);
        wait_for(object, 201);
        for (;;)
            pause();
    }
    pause_ms(200);
    set(gate);
    pause_ms(200);
    return child;
}

static void killed(void)
{
    int object = mutex();
    pid_t child = child_with(object, event());
    start((struct part){ "heir", lock_one, { object }, 202 });
    pause_ms(100);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void stopped(void)
{
    int object = mutex();
    pid_t child = child_with(object, event());
    start((struct part){ "next", lock_one, { object }, 202 });
    pause_ms(100);
    kill(child, SIGSTOP);
}

static void wait_twice(const struct part *part)
{
    wait_for(part->objects[0], part->owner);
    wait_for(part->objects[0], part->owner);
}

static void set_once(const struct part *part)
{
    pause_ms(200);
    set(part->objects[0]);
    for (;;)
        pause();
}

static void nobody(void)
{
    int done = event();
    start((struct part){ "consumer", wait_twice, { done }, 301 });
    start((struct part){ "producer", set_once, { done }, 302 });
}

static void set_and_reset(const struct part *part)
{
    uint32_t previous;
    set(part->objects[0]);
    if (ioctl(part->objects[0], NTSYNC_IOC_EVENT_RESET, &previous) < 0)
        fail("cannot reset an event");
    for (;;)
        pause();
}

static void lost(void)
{
    int done = make(NTSYNC_IOC_CREATE_EVENT, &(struct ntsync_event_args){ .manual = 1 });
    start((struct part){ "producer", set_and_reset, { done }, 302 });
    pause_ms(200);
    start((struct part){ "consumer", lock_one, { done }, 301 });
}

static void work(const struct part *part)
{
    for (;;) {
        wait_for(part->objects[0], part->owner);
        wait_for(part->objects[1], part->owner);
        pause_ms(5);
        unlock(part->objects[1], part->owner);
    }
}

static void feed(const struct part *part)
{
    for (;;) {
        uint32_t units = 8;
        /* Full: the workers do not keep up. */
        ioctl(part->objects[0], NTSYNC_IOC_SEM_RELEASE, &units);
        pause_ms(10);
    }
}

static void bottleneck(void)
{
    int jobs = semaphore(0, 64), lock = mutex();
    start((struct part){ "feeder", feed, { jobs }, 400 });
    for (uint32_t worker = 1; worker <= 8; worker++)
        start((struct part){ "worker", work, { jobs, lock }, 400 + worker });
}

static void crowd(void)
{
    int lock = mutex(), objects[1000];
    wait_for(lock, 999);
    for (int i = 0; i < 1000; i++)
        objects[i] = i % 3 == 0 ? mutex() : i % 3 == 1 ? event() : semaphore(0, 9);
    for (uint32_t thread = 0; thread < 100; thread++) {
        int object = thread < 40 ? lock : objects[thread * 3 + 1];
        start((struct part){ "one-of-many", lock_one, { object }, 500 + thread });
    }
}

static void processes(void)
{
    int gate = event();
    for (uint32_t child = 0; child < 2000; child++) {
        pid_t pid = fork();
        if (pid < 0)
            break; /* The user may have no more. */
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            wait_for(gate, 1000 + child);
            _exit(0);
        }
    }
    pause_ms(3000);
}

static const struct {
    const char *name;
    void (*play)(void);
} scenes[] = {
    { "deadlock", deadlock }, { "killed", killed },         { "nobody", nobody },
    { "lost", lost },
    { "stopped", stopped },   { "bottleneck", bottleneck }, { "crowd", crowd },
    { "processes", processes },
};

int main(int argc, char **argv)
{
    device = open("/dev/ntsync", O_CLOEXEC | O_RDONLY);
    if (device < 0)
        fail("/dev/ntsync");
    for (size_t i = 0; argc == 2 && i < sizeof scenes / sizeof *scenes; i++) {
        if (strcmp(argv[1], scenes[i].name) != 0)
            continue;
        scenes[i].play();
        pause_ms(1000);
        printf("ready\n");
        fflush(stdout);
        for (;;)
            pause();
    }
    fprintf(stderr, "usage: scenes deadlock|killed|nobody|lost|stopped|bottleneck|crowd|processes\n");
    return 2;
}
