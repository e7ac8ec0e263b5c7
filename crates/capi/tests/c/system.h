/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which system's promises a test checks, since programs cannot tell a simulated macOS from Linux; and what has other names on
 * each. Needs _GNU_SOURCE. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__APPLE__) || defined(SIMULATED_MACOS)
#define IS_LINUX 0

#ifndef __APPLE__
int pthread_threadid_np(pthread_t thread, uint64_t *number);
#endif
int proc_pidinfo(int process, int flavor, uint64_t argument, void *place, int size);

/* The number of the calling thread. */
static inline uint64_t this_thread(void)
{
    uint64_t number = 0;

    pthread_threadid_np(0, &number);
    return number;
}

/* 0 if this process has no such thread, else its state. */
static inline int state_of(uint64_t thread)
{
    enum { PROC_PIDTHREADID64INFO = 15 };
    struct {
        uint64_t times[2];
        int32_t usage, policy, run_state, more[5];
        char name[64];
    } info;
    int size = (int)sizeof(info);

    return proc_pidinfo(getpid(), PROC_PIDTHREADID64INFO, thread, &info, size) == size ? info.run_state : 0;
}

static inline int is_asleep(uint64_t thread) { return state_of(thread) == 3; }
#else
#define IS_LINUX 1
#include <sys/syscall.h>

static inline uint64_t this_thread(void) { return (uint64_t)syscall(SYS_gettid); }

static inline int state_of(uint64_t thread)
{
    char path[64], state = 0;
    FILE *stat;

    sprintf(path, "/proc/self/task/%d/stat", (int)thread);
    stat = fopen(path, "r");
    if (!stat)
        return 0;
    if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(stat);
    return state;
}

static inline int is_asleep(uint64_t thread) { return state_of(thread) == 'S'; }
#endif

/* A file that is nobody else's, and empty. */
static inline int new_file(void)
{
#ifdef __APPLE__
    char path[] = "/tmp/ntux-test-XXXXXX";
    int file = mkstemp(path);

    unlink(path);
    return file;
#else
    return memfd_create("ntux-test", MFD_CLOEXEC);
#endif
}

/* Sends a signal to a thread, with a number where the system sends one. */
#ifdef __APPLE__
#define SENDS_NUMBERS 0
#else
#define SENDS_NUMBERS 1
#endif
static inline int send_with_number(pthread_t thread, int signal, int number)
{
#ifdef __APPLE__
    (void)number;
    return pthread_kill(thread, signal);
#else
    union sigval sent;

    sent.sival_int = number;
    return pthread_sigqueue(thread, signal, sent);
#endif
}
