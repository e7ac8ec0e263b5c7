/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rows of speed.cpp that Windows has, as a Windows program, which Wine runs. Usage: speed_wine PEER ROUNDS NANOSECONDS-A-ROUND */
#define _WIN32_WINNT 0x0600
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_MAX 99

static HANDLE mutex, alone, there, back;
static CRITICAL_SECTION section;
static SRWLOCK srw;
static volatile long guarded;
static int threads;
static long share;

static void counted(volatile long *counter)
{
    for (int i = 0; i < 200; i++) *counter = *counter + 1;
}

static void mutex_alone(long times)
{
    while (times--) {
        WaitForSingleObject(mutex, INFINITE);
        ReleaseMutex(mutex);
    }
}

static void set_and_wait(long times)
{
    while (times--) {
        SetEvent(alone);
        WaitForSingleObject(alone, 0);
    }
}

static void create_and_close(long times)
{
    while (times--) CloseHandle(CreateEventW(NULL, FALSE, FALSE, NULL));
}

static DWORD WINAPI answer(void *times)
{
    for (long i = 0; i < *(long *)times; i++) {
        WaitForSingleObject(there, INFINITE);
        SetEvent(back);
    }
    return 0;
}

static void in_turn(long times)
{
    HANDLE other = CreateThread(NULL, 0, answer, &times, 0, NULL);
    for (long i = 0; i < times; i++) {
        SetEvent(there);
        WaitForSingleObject(back, INFINITE);
    }
    WaitForSingleObject(other, INFINITE);
    CloseHandle(other);
}

static void section_alone(long times)
{
    while (times--) {
        EnterCriticalSection(&section);
        guarded = guarded + 1;
        LeaveCriticalSection(&section);
    }
}

static void srw_alone(long times)
{
    while (times--) {
        AcquireSRWLockExclusive(&srw);
        guarded = guarded + 1;
        ReleaseSRWLockExclusive(&srw);
    }
}

static DWORD WINAPI section_beside_others(void *unused)
{
    volatile long own = 0;
    for (long i = 0; i < share; i++) {
        EnterCriticalSection(&section);
        counted(&guarded);
        LeaveCriticalSection(&section);
        counted(&own);
    }
    return (DWORD)(ULONG_PTR)unused;
}

static DWORD WINAPI srw_beside_others(void *unused)
{
    volatile long own = 0;
    for (long i = 0; i < share; i++) {
        AcquireSRWLockExclusive(&srw);
        counted(&guarded);
        ReleaseSRWLockExclusive(&srw);
        counted(&own);
    }
    return (DWORD)(ULONG_PTR)unused;
}

static void by_threads(long times, DWORD(WINAPI *work)(void *))
{
    HANDLE all[MAXIMUM_WAIT_OBJECTS];
    share = times / threads + 1;
    for (int i = 0; i < threads; i++) all[i] = CreateThread(NULL, 0, work, NULL, 0, NULL);
    WaitForMultipleObjects(threads, all, TRUE, INFINITE);
    for (int i = 0; i < threads; i++) CloseHandle(all[i]);
}

static void section_by_threads(long times) { by_threads(times, section_beside_others); }
static void srw_by_threads(long times) { by_threads(times, srw_beside_others); }

static double now(void)
{
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return count.QuadPart * 1e9 / frequency.QuadPart;
}

static double took(void (*work)(long), long times)
{
    double began = now();
    work(times);
    return now() - began;
}

static int compare(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

static void measure(const char *what, const char *peer, void (*work)(long), int rounds, double at_least)
{
    double nanoseconds[ROUNDS_MAX];
    long times = 64;
    while (took(work, times) < at_least || took(work, times) < at_least) times *= 2;
    for (int i = 0; i < rounds; i++) nanoseconds[i] = took(work, times) / times;
    qsort(nanoseconds, rounds, sizeof *nanoseconds, compare);
    printf("%s|%s|%.1f|%.1f|%.1f\n", what, peer, nanoseconds[rounds / 2], nanoseconds[0], nanoseconds[rounds - 1]);
}

int main(int count, char **arguments)
{
    const char *peer = count > 1 ? arguments[1] : "Wine";
    int rounds = count > 2 ? atoi(arguments[2]) : 9;
    double at_least = count > 3 ? atof(arguments[3]) : 2e7;
    static const int crowds[] = {2, 4, 8, 16, 32, 64};
    char what[64];
    if (rounds < 1 || rounds > ROUNDS_MAX) return 2;
    mutex = CreateMutexW(NULL, FALSE, NULL), alone = CreateEventW(NULL, FALSE, FALSE, NULL);
    there = CreateEventW(NULL, FALSE, FALSE, NULL), back = CreateEventW(NULL, FALSE, FALSE, NULL);
    InitializeCriticalSection(&section);
    measure("mutex, alone", peer, mutex_alone, rounds, at_least);
    measure("set and wait, alone", peer, set_and_wait, rounds, at_least);
    measure("create and close an event", peer, create_and_close, rounds, at_least);
    measure("set and wait, in turn", peer, in_turn, rounds, at_least);
    measure("critical section, alone", peer, section_alone, rounds, at_least);
    measure("SRW lock, exclusive, alone", peer, srw_alone, rounds, at_least);
    for (size_t i = 0; i < sizeof crowds / sizeof *crowds; i++) {
        threads = crowds[i];
        snprintf(what, sizeof what, "critical section, %d threads", threads);
        measure(what, peer, section_by_threads, rounds, at_least);
        snprintf(what, sizeof what, "SRW lock, exclusive, %d threads", threads);
        measure(what, peer, srw_by_threads, rounds, at_least);
    }
    fflush(stdout);
    return 0;
}
