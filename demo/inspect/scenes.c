/* SPDX-License-Identifier: MIT OR Apache-2.0 */
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
 *   well         nothing is wrong, and all are busy: a master gives one unit each to its workers, as a garbage collector does, waits for
 *                all of them, and sleeps elsewhere; two processes of four threads do everything at random; threads and processes come for
 *                one wait, and end
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

static int manual_event(void)
{
    return make(NTSYNC_IOC_CREATE_EVENT, &(struct ntsync_event_args){ .manual = 1 });
}

static int semaphore(uint32_t count, uint32_t max)
{
    return make(NTSYNC_IOC_CREATE_SEM, &(struct ntsync_sem_args){ .count = count, .max = max });
}

/* For one or for all, with an alert unless it is 0, no longer than so many microseconds; 0 for ever. Returns false if the time is over. */
static int wait_on(unsigned long how, const int *objects, uint32_t count, uint32_t owner, uint32_t alert, uint32_t us)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct ntsync_wait_args args = {
        .timeout = us ? now.tv_sec * 1000000000ull + now.tv_nsec + us * 1000ull : NO_TIMEOUT,
        .objs = (uintptr_t)objects, .count = count, .owner = owner, .alert = alert,
    };
    while (ioctl(device, how, &args) < 0) {
        if (errno == ETIMEDOUT || errno == EOWNERDEAD)
            return errno == EOWNERDEAD;
        if (errno != EINTR)
            fail("cannot wait");
    }
    return args.index < count; /* Else it is the alert. */
}

static void wait_for(int object, uint32_t owner)
{
    wait_on(NTSYNC_IOC_WAIT_ANY, &object, 1, owner, 0, 0);
}

/* An event by this request, or a semaphore by one unit. A full one stays as it is. */
static void signal_it(int object, unsigned long request)
{
    uint32_t value = 1;
    if (ioctl(object, request, &value) < 0 && errno != EOVERFLOW)
        fail("cannot signal");
}

static void set(int object)
{
    signal_it(object, NTSYNC_IOC_EVENT_SET);
}

static void unlock(int object, uint32_t owner)
{
    if (ioctl(object, NTSYNC_IOC_MUTEX_UNLOCK, &(struct ntsync_mutex_args){ .owner = owner }) < 0)
        fail("cannot unlock");
}

static void pause_us(long us)
{
    nanosleep(&(struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 }, NULL);
}

static void pause_ms(long ms)
{
    pause_us(ms * 1000);
}

/* A process that ends with this one. Returns 0 in it. */
static pid_t begin_process(void)
{
    pid_t process = fork();
    if (process == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return process;
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
    struct part part = *(struct part *)argument;
    free(argument);
    pthread_setname_np(pthread_self(), part.name);
    part.play(&part);
    return NULL;
}

static pthread_t start(struct part part)
{
    struct part *copy = malloc(sizeof *copy);
    pthread_t thread;
    if (copy == NULL)
        fail("no memory");
    *copy = part;
    if (pthread_create(&thread, NULL, play, copy) != 0)
        fail("cannot start a thread");
    return thread;
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
    pid_t child = begin_process();
    if (child == 0) {
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
    set(part->objects[0]);
    signal_it(part->objects[0], NTSYNC_IOC_EVENT_RESET);
    for (;;)
        pause();
}

static void lost(void)
{
    int done = manual_event();
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
        pid_t pid = begin_process();
        if (pid < 0)
            break; /* The user may have no more. */
        if (pid == 0) {
            wait_for(gate, 1000 + child);
            _exit(0);
        }
    }
    pause_ms(3000);
}

/* What the threads of `well` share. */
static struct {
    int mutexes[2], automatic, manual, units, alert;
    int work, done, gate;
} shared;

enum { WORKERS = 3, STRANGERS = 4 };

static void serve(const struct part *part)
{
    for (;;) {
        wait_for(shared.work, part->owner);
        signal_it(shared.done, NTSYNC_IOC_SEM_RELEASE);
    }
}

/* Sleeps on a word of its own between two rounds, and is woken there by nobody. */
static void lead(const struct part *part)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (unsigned round = 0;; round++) {
        for (int i = 0; i < WORKERS; i++)
            signal_it(shared.work, NTSYNC_IOC_SEM_RELEASE);
        for (int i = 0; i < WORKERS; i++)
            wait_for(shared.done, part->owner);
        if (round % 500 != 0)
            continue;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec = until.tv_nsec / 2 + 500000000; /* Half of what is left of this second. */
        pthread_cond_timedwait(&never, &lock, &until);
    }
}

static void do_anything(const struct part *part)
{
    uint32_t id = part->owner;
    unsigned seed = id;
    for (;;) {
        uint32_t us = 50 + rand_r(&seed) % 3000;
        int some[] = { shared.automatic, shared.units, shared.manual };
        int all[] = { shared.mutexes[0], shared.manual };
        switch (rand_r(&seed) % 12) {
        case 0: case 1: wait_on(NTSYNC_IOC_WAIT_ANY, some, 1 + rand_r(&seed) % 3, id, 0, us); break;
        case 2: wait_on(NTSYNC_IOC_WAIT_ANY, some, 1, id, shared.alert, us); break;
        case 3:
            if (wait_on(NTSYNC_IOC_WAIT_ALL, all, 2, id, 0, us))
                unlock(shared.mutexes[0], id);
            break;
        case 4: wait_on(NTSYNC_IOC_WAIT_ALL, some, 2, id, shared.alert, us); break;
        case 5:
            for (int i = 0; i < 2; i++)
                wait_for(shared.mutexes[i], id);
            if (us % 16 == 0)
                pause_us(us);
            for (int i = 2; i-- > 0;)
                unlock(shared.mutexes[i], id);
            break;
        case 6: set(shared.automatic); break;
        case 7: set(shared.manual); break;
        case 8: signal_it(shared.manual, us & 1 ? NTSYNC_IOC_EVENT_PULSE : NTSYNC_IOC_EVENT_RESET); break;
        case 9: signal_it(shared.units, NTSYNC_IOC_SEM_RELEASE); break;
        case 10: set(shared.alert); break;
        case 11: pause_us(us); break;
        }
    }
}

static void come_and_go(const struct part *part)
{
    for (uint32_t owner = part->owner;; owner++) {
        pthread_t once = start((struct part){ "once", lock_one, { shared.gate }, owner });
        pid_t process = begin_process();
        if (process < 0)
            fail("cannot fork");
        if (process == 0) {
            wait_for(shared.gate, owner + 1000000);
            _exit(0);
        }
        pause_ms(2);
        for (int i = 0; i < 2; i++)
            signal_it(shared.gate, NTSYNC_IOC_SEM_RELEASE);
        pthread_join(once, NULL);
        waitpid(process, NULL, 0);
    }
}

static void well(void)
{
    for (int i = 0; i < 2; i++)
        shared.mutexes[i] = mutex();
    shared.automatic = event(), shared.manual = manual_event(), shared.alert = event();
    shared.units = semaphore(0, 1000000), shared.work = semaphore(0, 1000000), shared.done = semaphore(0, 1000000);
    shared.gate = semaphore(0, 1000000);
    pid_t other = begin_process();
    if (other < 0)
        fail("cannot fork");
    for (uint32_t i = 0; i < STRANGERS; i++)
        start((struct part){ "stranger", do_anything, { 0 }, (other == 0 ? 100 : 200) + i });
    if (other == 0)
        for (;;)
            pause();
    for (uint32_t i = 0; i < WORKERS; i++)
        start((struct part){ "worker", serve, { 0 }, 300 + i });
    start((struct part){ "master", lead, { 0 }, 310 });
    start((struct part){ "usher", come_and_go, { 0 }, 1000 });
}

static const struct {
    const char *name;
    void (*play)(void);
} scenes[] = {
    { "deadlock", deadlock }, { "killed", killed },         { "nobody", nobody },
    { "lost", lost },
    { "stopped", stopped },   { "bottleneck", bottleneck }, { "crowd", crowd },
    { "processes", processes }, { "well", well },
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
    fprintf(stderr, "usage: scenes deadlock|killed|nobody|lost|stopped|bottleneck|crowd|processes|well\n");
    return 2;
}
