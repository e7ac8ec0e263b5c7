/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the test programs of .NET's PAL include, over this library: its functions by their plain names, and the others that they call, which
 * are no part of synchronization and stand on the C library. A program ends with PASS or FAIL. */
#ifndef SUITE_PALSUITE_H
#define SUITE_PALSUITE_H

#define NTUX_WIN32_NAMES
#include <ntux/win/errors.h>
#include <ntux/win/synchapi.h>
#include <ntux/win/threadapi.h>

#include <limits.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define __cdecl
#define PALAPI
#define CONST const
#define _countof(array) (sizeof(array) / sizeof((array)[0]))

typedef int INT;
typedef unsigned long ULONG64, UINT64;
typedef char *LPSTR;
typedef void *HLOCAL;

enum { PASS = 0, FAIL = 1 };

/* ==== The beginning and the end of a program ==== */

/* The names that the programs use are for this process. */
static inline int PAL_Initialize(int, char **)
{
    ntw_UseProcessNames(TRUE);
    return 0;
}

static inline void PAL_Terminate() {}

/* Without the destructors of objects that other threads may be using. */
[[noreturn]] static inline void ExitProcess(UINT code)
{
    fflush(stdout);
    _exit(static_cast<int>(code));
}

[[noreturn]] static inline void PAL_TerminateEx(int code) { ExitProcess(static_cast<UINT>(code)); }

/* The programs' formats are for Windows' types, so the compiler is not asked to compare them. */
static inline void Trace(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

[[noreturn]] static inline void Fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    PAL_TerminateEx(FAIL);
}

/* ==== Clocks ==== */

static inline UINT64 suite_nanoseconds()
{
    timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<UINT64>(now.tv_sec) * 1000000000 + static_cast<UINT64>(now.tv_nsec);
}

static inline DWORD GetTickCount() { return static_cast<DWORD>(suite_nanoseconds() / 1000000); }

static inline BOOL QueryPerformanceFrequency(LARGE_INTEGER *frequency)
{
    frequency->QuadPart = 1000000000;
    return TRUE;
}

/* In milliseconds. */
static inline UINT64 GetHighPrecisionTimeStamp(LARGE_INTEGER) { return suite_nanoseconds() / 1000000; }

/* ==== Values of threads, which are pthread's ==== */

#define TLS_OUT_OF_INDEXES 0xffffffffu

static inline DWORD TlsAlloc()
{
    pthread_key_t key;

    return pthread_key_create(&key, nullptr) == 0 ? static_cast<DWORD>(key) : TLS_OUT_OF_INDEXES;
}

static inline BOOL TlsFree(DWORD index) { return pthread_key_delete(index) == 0; }
static inline BOOL TlsSetValue(DWORD index, LPVOID value) { return pthread_setspecific(index, value) == 0; }

/* NULL can be a value: then it is no error. */
static inline LPVOID TlsGetValue(DWORD index)
{
    SetLastError(NO_ERROR);
    return pthread_getspecific(index);
}

/* ==== Priorities, which nobody obeys: they show whether two handles are of one thread ==== */

#define THREAD_PRIORITY_NORMAL 0
#define THREAD_PRIORITY_ABOVE_NORMAL 1
#define THREAD_PRIORITY_HIGHEST 2
#define THREAD_PRIORITY_TIME_CRITICAL 15
#define THREAD_PRIORITY_ERROR_RETURN INT_MAX
#define HAVE_SCHED_OTHER_ASSIGNABLE 1

static std::map<DWORD, int> suite_priorities;
static std::mutex suite_priorities_lock;

static inline BOOL SetThreadPriority(HANDLE thread, int priority)
{
    std::lock_guard<std::mutex> guard(suite_priorities_lock);
    DWORD id = GetThreadId(thread);

    if (id)
        suite_priorities[id] = priority;
    return id != 0;
}

static inline int GetThreadPriority(HANDLE thread)
{
    std::lock_guard<std::mutex> guard(suite_priorities_lock);
    DWORD id = GetThreadId(thread);

    return id ? suite_priorities[id] : THREAD_PRIORITY_ERROR_RETURN;
}

/* ==== Other functions and constants ==== */

#define YieldProcessor() sched_yield()
#define SwitchToThread() (sched_yield() == 0)
#define LocalAlloc(flags, bytes) malloc(bytes)
#define LocalFree(place) (free(place), nullptr)
#define ZeroMemory(place, bytes) memset(place, 0, bytes)
#define GENERIC_READ 0x80000000u
#define GENERIC_WRITE 0x40000000u
#define SEM_FAILCRITICALERRORS 1u
#define SEM_NOOPENFILEERRORBOX 0x8000u

#endif
