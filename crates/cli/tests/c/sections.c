/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that wait for critical sections of the Win32 face, or sleep on what is none. Usage: sections SCENE; it says "begun", and stays
 * until it is killed.
 *
 *   deadlock   "left" has a section twice and waits for the mutex of "right", which waits for the section
 *   chain      "first" waits for the section of "keeper", which waits for an event; "second" has waited so long that nobody may barge
 *   rubbish    "alike" sleeps on what looks like the lock of a section; all others on what differs from that in one point
 */
#define _GNU_SOURCE
#define NTUX_WIN32_NAMES
#include <ntux/win/synchapi.h>

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static CRITICAL_SECTION section = NTUX_WIN_CRITICAL_SECTION_INIT;
static HANDLE mutex, event;
static pthread_barrier_t both;

static pthread_t start(const char *name, void *(*work)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, argument) || pthread_setname_np(thread, name))
        exit(2);
    return thread;
}

static void *left(void *unused)
{
    EnterCriticalSection(&section);
    EnterCriticalSection(&section);
    pthread_barrier_wait(&both);
    WaitForSingleObject(mutex, INFINITE);
    return unused;
}

static void *right(void *unused)
{
    WaitForSingleObject(mutex, INFINITE);
    pthread_barrier_wait(&both);
    EnterCriticalSection(&section);
    return unused;
}

static void *keep(void *unused)
{
    EnterCriticalSection(&section);
    pthread_barrier_wait(&both);
    WaitForSingleObject(event, INFINITE);
    return unused;
}

static void *enter(void *unused)
{
    EnterCriticalSection(&section);
    return unused;
}

static void on_signal(int number)
{
    (void)number;
}

/* A thread that is woken after 5 ms and does not get the lock says so, and sleeps on another word. The signal may come before the sleep, so
 * there are several. */
static void chain(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGUSR1, &action, NULL);
    start("keeper", keep, NULL);
    pthread_barrier_wait(&both);
    start("first", enter, NULL);
    pthread_t second = start("second", enter, NULL);
    for (int times = 0; times < 50; times++) {
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        pthread_kill(second, SIGUSR1);
    }
}

/* What libntux-win keeps of a section, see crates/cli/src/why/native.rs. */
struct alike {
    uint64_t debug;
    int32_t count, recursion;
    uint64_t owner;
    uint32_t lock, calls;
    uint64_t spin;
};

struct sleep {
    struct alike *alike;
    const char *name;
    int is_own, has_deadline;
};

static void *sleep_on(void *argument)
{
    const struct sleep *sleep = argument;
    struct timespec hour = { .tv_sec = 3600 };
    if (sleep->is_own)
        sleep->alike->owner = syscall(SYS_gettid);
    for (;;)
        syscall(SYS_futex, &sleep->alike->lock, FUTEX_WAIT_PRIVATE, sleep->alike->lock, sleep->has_deadline ? &hour : NULL);
    return NULL;
}

static void sleeps(const char *name, struct alike alike, struct alike *where, int is_own, int has_deadline)
{
    struct sleep *sleep = malloc(sizeof *sleep);
    *where = alike;
    *sleep = (struct sleep){ where, name, is_own, has_deadline };
    start(name, sleep_on, sleep);
}

static void rubbish(void)
{
    static struct alike own[8];
    struct alike *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct alike good = { .debug = -1, .count = -1, .recursion = 1, .owner = getpid(), .lock = 3 };
    struct alike stranger = good, nobody = good, never = good, free_one = good, plain = { .lock = 3 };
    stranger.owner = 1;
    nobody.owner = 0;
    never.recursion = 0;
    free_one.lock = 2;
    sleeps("alike", good, &own[0], 0, 0);
    sleeps("stranger", stranger, &own[1], 0, 0);
    sleeps("nobody", nobody, &own[2], 0, 0);
    sleeps("never", never, &own[3], 0, 0);
    sleeps("free", free_one, &own[4], 0, 0);
    sleeps("plain", plain, &own[5], 0, 0);
    sleeps("own", good, &own[6], 1, 0);
    sleeps("deadline", good, &own[7], 0, 1);
    sleeps("shared", good, shared, 0, 0);
}

int main(int count, char **words)
{
    /* Where a process may trace its children only, everybody may trace this one. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    mutex = CreateMutexA(NULL, FALSE, NULL);
    event = CreateEventA(NULL, FALSE, FALSE, NULL);
    pthread_barrier_init(&both, NULL, 2);
    if (count == 2 && !strcmp(words[1], "deadlock")) {
        start("left", left, NULL);
        start("right", right, NULL);
    } else if (count == 2 && !strcmp(words[1], "chain")) {
        chain();
    } else if (count == 2 && !strcmp(words[1], "rubbish")) {
        rubbish();
    } else {
        return 2;
    }
    puts("begun");
    fflush(stdout);
    WaitForSingleObject(event, INFINITE);
    return 0;
}
