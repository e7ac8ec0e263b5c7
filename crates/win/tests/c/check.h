/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the test programs have in common. Each tests one family of functions, as C90 and as C++. With -DPLANTED one expectation of each is
 * wrong, which must be noticed. */
#ifndef CHECK_H
#define CHECK_H

#define _DEFAULT_SOURCE
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define NTUX_WIN32_NAMES
#include <ntux/win/synchapi.h>
#include <ntux/win/threadapi.h>
#include <ntux/win/threadpool.h>
#include <dirent.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Which system's promises a program checks: it cannot tell a simulated macOS from Linux. */
#if defined(__APPLE__) || defined(SIMULATED_MACOS)
#define IS_LINUX 0
#else
#define IS_LINUX 1
#endif

static int failures, checks;

static void expect(const char *what, int line, long is, long expected)
{
    __atomic_add_fetch(&checks, 1, __ATOMIC_SEQ_CST);
    if (is == expected)
        return;
    if (__atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST) <= 20)
        printf("%d: %s is %ld, not %ld\n", line, what, is, expected);
}

#define IS(expected, what) expect(#what, __LINE__, (long)(what), (long)(expected))

/* The call fails, with this error. */
#define FAILS(error, result, what)           \
    do {                                     \
        SetLastError(0xdeadbeefu);           \
        IS(result, what);                    \
        IS(error, GetLastError());           \
    } while (0)

/* The call succeeds, and leaves the error alone. */
#define WORKS(result, what) FAILS(0xdeadbeefu, result, what)

/* A wait that may end for nothing, as on Windows: once it does not, it says that it is late. */
#define COMES_LATE(what)                   \
    do {                                   \
        do                                 \
            SetLastError(0xdeadbeefu);     \
        while (what);                      \
        IS(ERROR_TIMEOUT, GetLastError()); \
    } while (0)

/* The same of a function that returns a status, and leaves the error alone. */
#define RETURNS_LATE(what)                  \
    do {                                    \
        NTSTATUS returned;                  \
        SetLastError(0xdeadbeefu);          \
        do                                  \
            returned = (what);              \
        while (returned == STATUS_SUCCESS); \
        IS(STATUS_TIMEOUT, returned);       \
        IS(0xdeadbeefu, GetLastError());    \
    } while (0)

#ifdef PLANTED
#define PLANT(right, wrong) (wrong)
#else
#define PLANT(right, wrong) (right)
#endif

static int report(void)
{
    printf("%d checks, %d failures\n", checks, failures);
    fflush(stdout);
    return failures ? 1 : 0;
}

static HANDLE start(LPTHREAD_START_ROUTINE routine, void *argument)
{
    HANDLE thread = CreateThread(NULL, 0, routine, argument, 0, NULL);

    IS(1, thread != NULL);
    return thread;
}

static void join(HANDLE thread)
{
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(TRUE, CloseHandle(thread));
}

/* Until this many milliseconds have passed, as far as a test may say so: enough for a thread to fall asleep, as a rule. */
static void a_while(void)
{
    Sleep(50);
}

static LONGLONG now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (LONGLONG)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* So many milliseconds from now on, as thread pools have it. */
static FILETIME due_in(LONGLONG milliseconds)
{
    FILETIME time;

    milliseconds *= -10000;
    time.dwLowDateTime = (DWORD)(milliseconds & 0xffffffff);
    time.dwHighDateTime = (DWORD)(milliseconds >> 32);
    return time;
}

/* The threads of this process. */
static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = -2;

    while (readdir(tasks))
        count++;
    closedir(tasks);
    return count;
}

#endif
