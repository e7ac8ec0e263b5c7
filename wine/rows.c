/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What synchronization costs, by the definitions in which msync's figures were published. Prints a line for each row. */
#include <windows.h>
#include <stdio.h>

#define THREADS 8

static double now(void)
{
    LARGE_INTEGER count, frequency;

    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (double)count.QuadPart * 1e6 / (double)frequency.QuadPart;
}

/* Processor time of the process, its server's not counted. */
static double used(void)
{
    FILETIME made, ended, kernel, user;

    GetProcessTimes(GetCurrentProcess(), &made, &ended, &kernel, &user);
    return ((double)kernel.dwLowDateTime + user.dwLowDateTime + 4294967296.0 * ((double)kernel.dwHighDateTime + user.dwHighDateTime)) / 10;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of so many rounds, each for one operation. */
static void row(const char *name, double (*round)(void), int rounds)
{
    double times[15];
    int i;

    for (i = 0; i < rounds; i++) times[i] = round();
    qsort(times, rounds, sizeof(*times), compare);
    printf("%s: %.3f us\n", name, times[rounds / 2]);
    fflush(stdout);
}

static HANDLE one, many[THREADS], two[2], ready, over;
static int turns;

static double uncontended(int wait, int set)
{
    double start, sum = 0;
    int i, j;

    for (j = 0; j < 20; j++)
    {
        start = now();
        for (i = 0; i < turns; i++)
        {
            if (wait) WaitForSingleObject(one, 0);
            if (set) ReleaseSemaphore(one, 1, NULL);
        }
        sum += now() - start;
        if (!set) ReleaseSemaphore(one, turns, NULL);
        if (!wait) for (i = 0; i < turns; i++) WaitForSingleObject(one, 0);
    }
    return sum / 20 / turns;
}

static double acquire(void) { return uncontended(1, 0); }
static double release(void) { return uncontended(0, 1); }

static double all_poll(void)
{
    double start = now();
    int i;

    for (i = 0; i < turns; i++) WaitForMultipleObjects(2, two, TRUE, 0);
    return (now() - start) / turns;
}

/* The other side of the two rows with a wake: waits and answers. */
static int waits_for_all;
static DWORD WINAPI answer(void *unused)
{
    for (;;)
    {
        if (waits_for_all) WaitForMultipleObjects(2, two, TRUE, INFINITE);
        else WaitForMultipleObjects(2, two, FALSE, INFINITE);
        if (!WaitForSingleObject(over, 0)) return 0;
        SetEvent(ready);
    }
}

/* From the set that satisfies a sleeping wait to the moment when its answer has come back, halved. */
static double wake(void)
{
    HANDLE thread = CreateThread(NULL, 0, answer, NULL, 0, NULL);
    double start, sum = 0;
    int i;

    for (i = 0; i < turns; i++)
    {
        if (waits_for_all) SetEvent(two[0]);
        start = now();
        SetEvent(two[1]);
        WaitForSingleObject(ready, INFINITE);
        sum += now() - start;
    }
    SetEvent(over);
    SetEvent(two[0]);
    SetEvent(two[1]);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    ResetEvent(over);
    ResetEvent(two[0]);
    ResetEvent(two[1]);
    return sum / turns / 2;
}

static double wake_all(void) { waits_for_all = 1; return wake(); }
static double wake_any(void) { waits_for_all = 0; return wake(); }

static DWORD WINAPI pass(void *unused)
{
    int i;

    for (i = 0; i < turns; i++)
    {
        WaitForSingleObject(one, INFINITE);
        SetEvent(one);
    }
    return 0;
}

/* Eight threads take and set one auto-reset event. */
static double passed(void)
{
    HANDLE threads[THREADS];
    double start = now();
    int i;

    for (i = 0; i < THREADS; i++) threads[i] = CreateThread(NULL, 0, pass, NULL, 0, NULL);
    WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE);
    for (i = 0; i < THREADS; i++) CloseHandle(threads[i]);
    return (now() - start) / turns / THREADS;
}

static DWORD WINAPI park(void *event)
{
    HANDLE either[2] = { event, over };

    while (WaitForMultipleObjects(2, either, FALSE, INFINITE) == WAIT_OBJECT_0) SetEvent(ready);
    return 0;
}

/* Processor time for one set and the wake of its waiter, while seven others wait for other events, all of them for one in common. */
static double beside_parked(void)
{
    HANDLE threads[THREADS];
    double start, time;
    int i;

    for (i = 0; i < THREADS; i++) threads[i] = CreateThread(NULL, 0, park, many[i], 0, NULL);
    Sleep(50);
    start = used();
    for (i = 0; i < turns; i++)
    {
        SetEvent(many[0]);
        WaitForSingleObject(ready, INFINITE);
    }
    time = (used() - start) / turns;
    SetEvent(over);
    WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE);
    for (i = 0; i < THREADS; i++) CloseHandle(threads[i]);
    ResetEvent(over);
    return time;
}

int main(void)
{
    int i;

    ready = CreateEventA(NULL, FALSE, FALSE, NULL);
    over = CreateEventA(NULL, TRUE, FALSE, NULL);
    for (i = 0; i < THREADS; i++) many[i] = CreateEventA(NULL, FALSE, FALSE, NULL);

    turns = 200;
    one = CreateSemaphoreA(NULL, turns, 2 * turns, NULL);
    row("wait for a semaphore that has units", acquire, 9);
    for (i = 0; i < turns; i++) WaitForSingleObject(one, 0);
    row("release a semaphore for which nobody waits", release, 9);
    two[0] = CreateEventA(NULL, TRUE, TRUE, NULL);
    two[1] = CreateEventA(NULL, TRUE, FALSE, NULL);
    row("poll for all of two, one is not signaled", all_poll, 9);
    two[0] = CreateEventA(NULL, FALSE, FALSE, NULL);
    two[1] = CreateEventA(NULL, FALSE, FALSE, NULL);
    row("wake of a wait for all of two", wake_all, 9);
    row("wake of a wait for any of two", wake_any, 9);
    one = CreateEventA(NULL, FALSE, TRUE, NULL);
    row("eight threads pass one auto-reset event", passed, 9);
    turns = 5000;
    row("processor time of one set beside 8 parked", beside_parked, 5);
    printf("ok: every row was measured\n0 failures\n");
    return 0;
}
