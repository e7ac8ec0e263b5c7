/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waitable timers. No expectation says how late a timer may be, but those say how early. */
#include "check.h"
#include <sys/wait.h>

static HANDLE manual, automatic, event;
static LONG calls, after;

/* So many milliseconds from now on. */
static LARGE_INTEGER in(LONGLONG milliseconds)
{
    LARGE_INTEGER due;

    due.QuadPart = -10000 * milliseconds;
    return due;
}

static BOOL set(HANDLE timer, LONGLONG milliseconds, LONG period)
{
    LARGE_INTEGER due = in(milliseconds);

    return SetWaitableTimer(timer, &due, period, NULL, NULL, FALSE);
}

static void alone(void)
{
    LONGLONG began;
    LARGE_INTEGER due;
    struct timespec real;

    WORKS(WAIT_TIMEOUT, WaitForSingleObject(manual, 0));
    began = now_ms();
    WORKS(TRUE, set(manual, 40, 0));
    WORKS(PLANT(WAIT_OBJECT_0, WAIT_TIMEOUT), WaitForSingleObject(manual, 10000));
    IS(1, now_ms() - began >= 40);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(manual, 0));
    /* Nobody looks while it passes. */
    WORKS(TRUE, set(automatic, 1, 0));
    a_while();
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(automatic, 0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(automatic, 0));
    /* To set it again makes it not signaled, to cancel it leaves that alone. */
    WORKS(TRUE, set(manual, 100000, 0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(manual, 0));
    WORKS(TRUE, set(manual, 1, 0));
    a_while();
    WORKS(TRUE, CancelWaitableTimer(manual));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(manual, 0));
    WORKS(TRUE, set(manual, 1, 0));
    WORKS(TRUE, CancelWaitableTimer(manual));
    began = now_ms();
    WORKS(TRUE, set(automatic, 30, 0));
    WORKS(TRUE, CancelWaitableTimer(automatic));
    if (now_ms() - began < 30)
        WORKS(WAIT_TIMEOUT, WaitForSingleObject(automatic, 60));
    WaitForSingleObject(automatic, 0);
    /* Again and again; of those that nobody has looked at one is left. */
    began = now_ms();
    WORKS(TRUE, set(automatic, 10, 20));
    IS(WAIT_OBJECT_0, WaitForSingleObject(automatic, 10000));
    IS(WAIT_OBJECT_0, WaitForSingleObject(automatic, 10000));
    IS(WAIT_OBJECT_0, WaitForSingleObject(automatic, 10000));
    IS(1, now_ms() - began >= 50);
    WORKS(TRUE, CancelWaitableTimer(automatic));
    /* A time of the calendar. */
    clock_gettime(CLOCK_REALTIME, &real);
    due.QuadPart = (LONGLONG)real.tv_sec * 10000000 + real.tv_nsec / 100 + 116444736000000000 + 300000;
    began = now_ms();
    WORKS(TRUE, SetWaitableTimer(automatic, &due, 0, NULL, NULL, FALSE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(automatic, 10000));
    IS(1, now_ms() - began >= 25);
    due.QuadPart = 0;
    WORKS(TRUE, SetWaitableTimer(automatic, &due, 0, NULL, NULL, FALSE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(automatic, 0));
}

static void with_others(void)
{
    HANDLE both[2];

    both[0] = event;
    both[1] = automatic;
    IS(TRUE, set(automatic, 20, 0));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, TRUE, 60));
    WORKS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, 10000));
    IS(TRUE, set(automatic, 20, 0));
    IS(TRUE, SetEvent(event));
    WORKS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, TRUE, 10000));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 0));
    IS(TRUE, set(automatic, 20, 0));
    WORKS(WAIT_OBJECT_0, SignalObjectAndWait(event, automatic, 10000, FALSE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, SignalObjectAndWait(automatic, event, 0, FALSE));
}

static DWORD WINAPI set_soon(LPVOID timer)
{
    a_while();
    IS(TRUE, set(timer, 1, 0));
    return 0;
}

/* Whoever sleeps for it learns that it was set, and set to another time. */
static void set_by_others(void)
{
    HANDLE thread = start(set_soon, manual);

    IS(WAIT_OBJECT_0, WaitForSingleObject(manual, 10000));
    join(thread);
    IS(TRUE, set(manual, 100000, 0));
    thread = start(set_soon, manual);
    IS(WAIT_OBJECT_0, WaitForSingleObject(manual, INFINITE));
    join(thread);
}

static VOID CALLBACK called(LPVOID argument, DWORD low, DWORD high)
{
    LARGE_INTEGER when;

    when.u.LowPart = low;
    when.u.HighPart = (LONG)high;
    IS(1, when.QuadPart > 116444736000000000);
    IS(7, (LONG)(ULONG_PTR)argument);
    calls++;
}

static BOOL call(HANDLE timer, LONGLONG milliseconds, LONG period)
{
    LARGE_INTEGER due = in(milliseconds);

    return SetWaitableTimer(timer, &due, period, called, (LPVOID)7, FALSE);
}

static DWORD WINAPI wait_for(LPVOID timer)
{
    return WaitForSingleObject(timer, 10000);
}

static void with_calls(void)
{
    HANDLE thread;

    WORKS(TRUE, call(manual, 20, 0));
    WORKS(WAIT_IO_COMPLETION, SleepEx(INFINITE, TRUE));
    IS(1, calls);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(manual, 0));
    WORKS(0, SleepEx(1, TRUE));
    /* In an alertable wait for something else; not in another wait. */
    WORKS(TRUE, call(automatic, 10, 0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(event, 50));
    IS(1, calls);
    WORKS(WAIT_IO_COMPLETION, WaitForSingleObjectEx(event, 10000, TRUE));
    IS(2, calls);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(automatic, 0));
    /* What was cancelled, or set anew, is not called. */
    WORKS(TRUE, call(automatic, 1, 0));
    a_while();
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(automatic, 0));
    WORKS(TRUE, CancelWaitableTimer(automatic));
    WORKS(0, SleepEx(1, TRUE));
    WORKS(TRUE, call(automatic, 1, 0));
    a_while();
    WORKS(TRUE, set(automatic, 100000, 0));
    WORKS(0, SleepEx(1, TRUE));
    IS(2, calls);
    WORKS(TRUE, call(automatic, 1, 5));
    IS(WAIT_IO_COMPLETION, SleepEx(INFINITE, TRUE));
    IS(WAIT_IO_COMPLETION, SleepEx(INFINITE, TRUE));
    WORKS(TRUE, CancelWaitableTimer(automatic));
    IS(4, calls);
    while (SleepEx(0, TRUE) != 0)
        ;
    IS(4, calls);
    /* Another thread sees that it is due; the call is this thread's. */
    WORKS(TRUE, call(manual, 20, 0));
    thread = start(wait_for, manual);
    join(thread);
    IS(4, calls);
    WORKS(WAIT_IO_COMPLETION, SleepEx(INFINITE, TRUE));
    IS(5, calls);
    /* A closed timer calls nobody. */
    IS(TRUE, call(manual, 1, 0));
    IS(TRUE, CloseHandle(manual));
    WORKS(0, SleepEx(30, TRUE));
    IS(5, calls);
    manual = CreateWaitableTimer(NULL, TRUE, NULL);
}

static DWORD WINAPI take(LPVOID timer)
{
    IS(WAIT_OBJECT_0, WaitForSingleObject(timer, INFINITE));
    InterlockedIncrement(&after);
    return 0;
}

/* Each time that it is due lets one of them go. */
static void one_each(void)
{
    HANDLE threads[3];
    int i;

    for (i = 0; i < 3; i++)
        threads[i] = start(take, automatic);
    IS(TRUE, set(automatic, 5, 5));
    for (i = 0; i < 3; i++)
        join(threads[i]);
    IS(3, after);
    IS(TRUE, CancelWaitableTimer(automatic));
    WaitForSingleObject(automatic, 0);
}

static void errors(void)
{
    LARGE_INTEGER due = in(1);
    HANDLE asked;
    int status = -1;
    pid_t child;

    FAILS(ERROR_NOT_SUPPORTED, TRUE, SetWaitableTimer(manual, &due, 0, NULL, NULL, TRUE));
    FAILS(ERROR_NOACCESS, FALSE, SetWaitableTimer(manual, NULL, 0, NULL, NULL, FALSE));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, SetWaitableTimer(manual, &due, -1, NULL, NULL, FALSE));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetWaitableTimer(event, &due, 0, NULL, NULL, FALSE));
    FAILS(ERROR_INVALID_HANDLE, FALSE, CancelWaitableTimer(event));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(manual));
    WORKS(TRUE, SetWaitableTimerEx(manual, &due, 0, NULL, NULL, NULL, 5));
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateWaitableTimerEx(NULL, NULL, 4, TIMER_ALL_ACCESS) != NULL);
    asked = CreateWaitableTimerEx(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, SYNCHRONIZE);
    FAILS(ERROR_ACCESS_DENIED, FALSE, SetWaitableTimer(asked, &due, 0, NULL, NULL, FALSE));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(asked, 0));
    IS(TRUE, CloseHandle(asked));
    /* A child cannot set its parent's timers, and has its own. */
    child = fork();
    if (child == 0) {
        failures = 0;
        FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE, CancelWaitableTimer(manual));
        asked = CreateWaitableTimer(NULL, FALSE, NULL);
        IS(TRUE, set(asked, 1, 0));
        IS(WAIT_OBJECT_0, WaitForSingleObject(asked, 10000));
        _exit(failures != 0);
    }
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
}

int main(void)
{
    alarm(300);
    manual = CreateWaitableTimer(NULL, TRUE, NULL);
    automatic = CreateWaitableTimerExA(NULL, NULL, 0, TIMER_ALL_ACCESS);
    event = CreateEvent(NULL, FALSE, FALSE, NULL);
    alone();
    with_others();
    set_by_others();
    with_calls();
    one_each();
    errors();
    IS(TRUE, CloseHandle(automatic));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(event, 0));
    return report();
}
