/*
 * A program that is well, and busy, for `ntux why` to look at: nothing of it may be called wrong. Written for the driver's interface;
 * nothing in it knows of ntux. It says "ready", and goes on until it is killed.
 *
 *   a master gives one unit each to its workers, as a garbage collector does, waits for all of them, and sleeps elsewhere
 *   two processes of four threads do everything at random: they wait for one and for all of several objects, with deadlines and alerts;
 *   set, reset, pulse, release; own two mutexes in order
 *   threads come for one wait, and end; so do processes
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

enum { WORKERS = 3, STRANGERS = 4 };

static int device;
/* What the strangers share. */
static int mutexes[2], automatic, manual, units, alert;
/* What the master and its workers share, and what those who come and go do. */
static int work, done, gate;

static void fail(const char *what)
{
    fprintf(stderr, "well: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int make(unsigned long request, void *args)
{
    int fd = ioctl(device, request, args);
    if (fd < 0)
        fail("cannot create an object");
    return fd;
}

static int event(uint32_t is_manual)
{
    return make(NTSYNC_IOC_CREATE_EVENT, &(struct ntsync_event_args){ .manual = is_manual });
}

static int semaphore(void)
{
    return make(NTSYNC_IOC_CREATE_SEM, &(struct ntsync_sem_args){ .count = 0, .max = 1000000 });
}

/* No longer than so many microseconds; 0 for ever. Returns which object it was, or -1: the time is over. */
static int wait_for(unsigned long how, const int *objects, uint32_t count, uint32_t owner, uint32_t or_alert, uint32_t us)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct ntsync_wait_args args = {
        .timeout = us ? now.tv_sec * 1000000000ull + now.tv_nsec + us * 1000ull : NO_TIMEOUT,
        .objs = (uintptr_t)objects, .count = count, .owner = owner, .alert = or_alert,
    };
    while (ioctl(device, how, &args) != 0) {
        if (errno == ETIMEDOUT)
            return -1;
        if (errno != EINTR)
            fail("cannot wait");
    }
    return args.index;
}

static void signal_it(int object, unsigned long request)
{
    uint32_t value = 1;
    if (ioctl(object, request, &value) != 0 && errno != EOVERFLOW)
        fail("cannot signal");
}

static void unlock(int mutex, uint32_t owner)
{
    if (ioctl(mutex, NTSYNC_IOC_MUTEX_UNLOCK, &(struct ntsync_mutex_args){ .owner = owner }) != 0)
        fail("cannot unlock");
}

static void doze(long us)
{
    nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static void *worker(void *owner)
{
    for (;;) {
        wait_for(NTSYNC_IOC_WAIT_ANY, &work, 1, (uintptr_t)owner, 0, 0);
        signal_it(done, NTSYNC_IOC_SEM_RELEASE);
    }
    return NULL;
}

/* Sleeps on a word of its own between two rounds, and is woken there by nobody. */
static void *master(void *owner)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (unsigned round = 0;; round++) {
        for (int i = 0; i < WORKERS; i++)
            signal_it(work, NTSYNC_IOC_SEM_RELEASE);
        for (int i = 0; i < WORKERS; i++)
            wait_for(NTSYNC_IOC_WAIT_ANY, &done, 1, (uintptr_t)owner, 0, 0);
        if (round % 500 != 0)
            continue;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
            pthread_cond_timedwait(&never, &lock, &until);
    }
    return NULL;
}

static void *stranger(void *owner)
{
    uint32_t id = (uintptr_t)owner;
    unsigned seed = id;
    for (;;) {
        uint32_t us = 50 + rand_r(&seed) % 3000;
        int some[] = { automatic, units, manual };
        int all[] = { mutexes[0], manual };
        switch (rand_r(&seed) % 12) {
        case 0: case 1: wait_for(NTSYNC_IOC_WAIT_ANY, some, 1 + rand_r(&seed) % 3, id, 0, us); break;
        case 2: wait_for(NTSYNC_IOC_WAIT_ANY, &automatic, 1, id, alert, us); break;
        case 3:
            if (wait_for(NTSYNC_IOC_WAIT_ALL, all, 2, id, 0, us) == 0)
                unlock(mutexes[0], id);
            break;
        case 4: wait_for(NTSYNC_IOC_WAIT_ALL, some, 2, id, alert, us); break;
        case 5:
            for (int i = 0; i < 2; i++)
                wait_for(NTSYNC_IOC_WAIT_ANY, &mutexes[i], 1, id, 0, 0);
            if (us % 16 == 0)
                doze(us);
            for (int i = 2; i-- > 0;)
                unlock(mutexes[i], id);
            break;
        case 6: signal_it(automatic, NTSYNC_IOC_EVENT_SET); break;
        case 7: signal_it(manual, NTSYNC_IOC_EVENT_SET); break;
        case 8: signal_it(manual, us & 1 ? NTSYNC_IOC_EVENT_PULSE : NTSYNC_IOC_EVENT_RESET); break;
        case 9: signal_it(units, NTSYNC_IOC_SEM_RELEASE); break;
        case 10: signal_it(alert, NTSYNC_IOC_EVENT_SET); break;
        case 11: doze(us); break;
        }
    }
    return NULL;
}

static void *comes_once(void *owner)
{
    wait_for(NTSYNC_IOC_WAIT_ANY, &gate, 1, (uintptr_t)owner, 0, 0);
    return NULL;
}

static pthread_t begin(void *(*what)(void *), uintptr_t owner)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, what, (void *)owner) != 0)
        fail("cannot start a thread");
    return thread;
}

static pid_t child(void)
{
    pid_t pid = fork();
    if (pid < 0)
        fail("cannot fork");
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

int main(void)
{
    device = open("/dev/ntsync", O_RDONLY | O_CLOEXEC);
    if (device < 0)
        fail("/dev/ntsync");
    for (int i = 0; i < 2; i++)
        mutexes[i] = make(NTSYNC_IOC_CREATE_MUTEX, &(struct ntsync_mutex_args){ 0 });
    automatic = event(0), manual = event(1), units = semaphore(), alert = event(0);
    work = semaphore(), done = semaphore(), gate = semaphore();
    pid_t other = child();
    for (int i = 0; i < STRANGERS; i++)
        begin(stranger, (other == 0 ? 100 : 200) + i);
    if (other == 0)
        for (;;)
            pause();
    for (int i = 0; i < WORKERS; i++)
        begin(worker, 300 + i);
    begin(master, 310);
    puts("ready");
    fflush(stdout);
    for (uintptr_t owner = 1000;; owner++) {
        pthread_t once = begin(comes_once, owner);
        pid_t process = child();
        if (process == 0) {
            comes_once((void *)(owner + 1000000));
            _exit(0);
        }
        doze(2000);
        for (int i = 0; i < 2; i++)
            signal_it(gate, NTSYNC_IOC_SEM_RELEASE);
        pthread_join(once, NULL);
        waitpid(process, NULL, 0);
    }
}
