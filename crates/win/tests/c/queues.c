/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Timer queues, and timers of pools. No expectation says how late a timer may be, but those say how early. */
#include "check.h"
#include <sys/wait.h>

static HANDLE told, go;
static LONG calls, threads_of[2];

static VOID CALLBACK tell(PVOID context, BOOLEAN timer_fired)
{
    IS(7, (LONG)(ULONG_PTR)context);
    IS(TRUE, timer_fired);
    InterlockedIncrement(&calls);
    IS(TRUE, ReleaseSemaphore(told, 1, NULL));
}

static VOID CALLBACK tell_and_wait(PVOID context, BOOLEAN timer_fired)
{
    tell(context, timer_fired);
    IS(WAIT_OBJECT_0, WaitForSingleObject(go, INFINITE));
}

static HANDLE timer_of(HANDLE queue, WAITORTIMERCALLBACK callback, DWORD due, DWORD period, ULONG flags)
{
    HANDLE timer = NULL;

    WORKS(TRUE, CreateTimerQueueTimer(&timer, queue, callback, (PVOID)7, due, period, flags));
    IS(1, timer != NULL);
    return timer;
}

static void was_told(int times)
{
    while (times--)
        IS(WAIT_OBJECT_0, WaitForSingleObject(told, INFINITE));
}

static void in_queues(HANDLE queue)
{
    LONGLONG began = now_ms();
    HANDLE timer;

    calls = 0;
    timer = timer_of(queue, tell, 30, 0, 0);
    was_told(1);
    IS(1, now_ms() - began >= 30);
    /* It was due once, and will not be again. */
    WORKS(TRUE, ChangeTimerQueueTimer(queue, timer, 1, 1));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    WORKS(TRUE, DeleteTimerQueueTimer(queue, timer, INVALID_HANDLE_VALUE));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, DeleteTimerQueueTimer(queue, timer, NULL));
    IS(1, calls);
    began = now_ms();
    timer = timer_of(queue, tell, 0, 10, WT_EXECUTEDEFAULT);
    was_told(4);
    IS(1, now_ms() - began >= 30);
    WORKS(TRUE, ChangeTimerQueueTimer(queue, timer, 100000, 0));
    while (WaitForSingleObject(told, 20) == WAIT_OBJECT_0)
        ;
    WORKS(TRUE, ChangeTimerQueueTimer(queue, timer, 1, 100000));
    was_told(1);
    WORKS(TRUE, DeleteTimerQueueTimer(queue, timer, INVALID_HANDLE_VALUE));
    /* A once-only timer has no period. */
    timer = timer_of(queue, tell, 1, 1, WT_EXECUTEONLYONCE);
    was_told(1);
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    WORKS(TRUE, DeleteTimerQueueTimer(queue, timer, INVALID_HANDLE_VALUE));
    /* The first is due last. */
    timer = timer_of(queue, tell, 100000, 0, 0);
    IS(TRUE, DeleteTimerQueueTimer(queue, timer_of(queue, tell, 0, 0, 0), INVALID_HANDLE_VALUE));
    was_told(1);
    WORKS(TRUE, DeleteTimerQueueTimer(queue, timer, NULL));
}

static void while_it_runs(void)
{
    HANDLE queue = CreateTimerQueue(), timer = timer_of(queue, tell_and_wait, 0, 0, 0);
    HANDLE done = CreateEvent(NULL, TRUE, FALSE, NULL);

    was_told(1);
    FAILS(ERROR_IO_PENDING, FALSE, DeleteTimerQueueTimer(queue, timer, NULL));
    timer = timer_of(queue, tell_and_wait, 0, 0, WT_EXECUTELONGFUNCTION);
    was_told(1);
    FAILS(ERROR_IO_PENDING, FALSE, DeleteTimerQueueEx(queue, done));
    FAILS(ERROR_INVALID_HANDLE, FALSE, DeleteTimerQueueEx(queue, done));
    FAILS(ERROR_INVALID_HANDLE, FALSE, CreateTimerQueueTimer(&timer, queue, tell, NULL, 0, 0, 0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(done, 10));
    IS(PLANT(TRUE, 2), SetEvent(go));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(done, INFINITE));
    IS(TRUE, ResetEvent(go));
    IS(TRUE, ResetEvent(done));
    queue = CreateTimerQueue();
    WORKS(TRUE, DeleteTimerQueueEx(queue, done));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(done, 0));
    IS(TRUE, CloseHandle(done));
    queue = CreateTimerQueue();
    timer_of(queue, tell, 0, 1, 0);
    timer_of(queue, tell, 1, 1, WT_EXECUTEINTIMERTHREAD);
    timer_of(queue, tell, 100000, 1, 0);
    was_told(4);
    WORKS(TRUE, DeleteTimerQueueEx(queue, INVALID_HANDLE_VALUE));
    while (WaitForSingleObject(told, 0) == WAIT_OBJECT_0)
        ;
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    queue = CreateTimerQueue();
    timer_of(queue, tell_and_wait, 0, 0, 0);
    was_told(1);
    WORKS(TRUE, DeleteTimerQueue(queue));
    IS(TRUE, SetEvent(go));
    FAILS(ERROR_INVALID_HANDLE, FALSE, DeleteTimerQueueEx(NULL, NULL));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, CreateTimerQueueTimer(&timer, NULL, NULL, NULL, 0, 0, 0));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, ChangeTimerQueueTimer(NULL, NULL, 0, 0));
}

struct own { HANDLE queue, timer, answered; DWORD error; BOOL result; };

static VOID CALLBACK deletes(PVOID context, BOOLEAN timer_fired)
{
    struct own *own = (struct own *)context;

    IS(TRUE, timer_fired);
    InterlockedIncrement(&calls);
    SetLastError(0);
    own->result = DeleteTimerQueueTimer(own->queue, own->timer, INVALID_HANDLE_VALUE);
    own->error = GetLastError();
    IS(TRUE, SetEvent(own->answered));
}

static void from_within(void)
{
    struct own own;

    own.queue = CreateTimerQueue();
    own.answered = CreateEvent(NULL, FALSE, FALSE, NULL);
    calls = 0;
    WORKS(TRUE, CreateTimerQueueTimer(&own.timer, own.queue, deletes, &own, 0, 1, 0));
    IS(WAIT_OBJECT_0, WaitForSingleObject(own.answered, INFINITE));
    IS(FALSE, own.result);
    IS(ERROR_IO_PENDING, own.error);
    WORKS(TRUE, DeleteTimerQueueEx(own.queue, INVALID_HANDLE_VALUE));
    IS(1, calls);
    IS(TRUE, CloseHandle(own.answered));
}

static VOID CALLBACK remember_thread(PVOID context, BOOLEAN timer_fired)
{
    InterlockedExchange((LONG *)context, (LONG)GetCurrentThreadId());
    tell((PVOID)7, timer_fired);
}

static void in_the_thread_of_timers(void)
{
    HANDLE first, second;

    WORKS(TRUE, CreateTimerQueueTimer(&first, NULL, remember_thread, &threads_of[0], 0, 0, WT_EXECUTEINTIMERTHREAD));
    WORKS(TRUE, CreateTimerQueueTimer(&second, NULL, remember_thread, &threads_of[1], 1, 0, WT_EXECUTEINTIMERTHREAD));
    was_told(2);
    IS(threads_of[0], threads_of[1]);
    WORKS(TRUE, DeleteTimerQueueTimer(NULL, first, INVALID_HANDLE_VALUE));
    WORKS(TRUE, DeleteTimerQueueTimer(NULL, second, INVALID_HANDLE_VALUE));
}

static VOID CALLBACK pool_tell(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_TIMER timer)
{
    (void)instance;
    (void)timer;
    tell(context, TRUE);
}

static void of_pools(void)
{
    PTP_TIMER timer = CreateThreadpoolTimer(pool_tell, (PVOID)7, NULL), other;
    FILETIME soon = due_in(20), later = due_in(100000), never = due_in(0x7fffffff);
    struct timespec real;
    LONGLONG began = now_ms(), ticks;

    calls = 0;
    IS(FALSE, IsThreadpoolTimerSet(timer));
    SetThreadpoolTimer(timer, &soon, 0, 0);
    IS(TRUE, IsThreadpoolTimerSet(timer));
    was_told(1);
    IS(1, now_ms() - began >= 20);
    IS(TRUE, IsThreadpoolTimerSet(timer));
    IS(FALSE, SetThreadpoolTimerEx(timer, &later, 0, 0));
    IS(TRUE, SetThreadpoolTimerEx(timer, NULL, 0, 0));
    IS(FALSE, IsThreadpoolTimerSet(timer));
    /* A time of the calendar. */
    began = now_ms();
    clock_gettime(CLOCK_REALTIME, &real);
    ticks = (LONGLONG)real.tv_sec * 10000000 + real.tv_nsec / 100 + 116444736000000000 + 300000;
    soon.dwLowDateTime = (DWORD)(ticks & 0xffffffff);
    soon.dwHighDateTime = (DWORD)(ticks >> 32);
    SetThreadpoolTimer(timer, &soon, 0, 0);
    was_told(1);
    IS(1, now_ms() - began >= 25);
    /* Again and again, from the beginning of time on. */
    soon.dwLowDateTime = soon.dwHighDateTime = 0;
    SetThreadpoolTimer(timer, &soon, 2, 0);
    was_told(5);
    SetThreadpoolTimer(timer, NULL, 0, 0);
    WaitForThreadpoolTimerCallbacks(timer, TRUE);
    while (WaitForSingleObject(told, 0) == WAIT_OBJECT_0)
        ;
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    /* One that may be late waits for another one, and not longer. */
    other = CreateThreadpoolTimer(pool_tell, (PVOID)7, NULL);
    began = now_ms();
    soon = due_in(10);
    SetThreadpoolTimer(timer, &soon, 0, 100000);
    soon = due_in(60);
    SetThreadpoolTimer(other, &soon, 0, 0);
    was_told(2);
    IS(1, now_ms() - began >= 60);
    SetThreadpoolTimer(other, &never, 0, 0);
    soon = due_in(10);
    SetThreadpoolTimer(timer, &soon, 0, 100);
    was_told(1);
    CloseThreadpoolTimer(other);
    SetThreadpoolTimer(timer, &later, 0, 0);
    CloseThreadpoolTimer(timer);
    FAILS(ERROR_INVALID_PARAMETER, FALSE, IsThreadpoolTimerSet(timer));
}

static void in_child(void)
{
    HANDLE timer = timer_of(NULL, tell, 100000, 0, 0);
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        failures = 0;
        FAILS(ERROR_INVALID_PARAMETER, FALSE, DeleteTimerQueueTimer(NULL, timer, NULL));
        timer = timer_of(NULL, tell, 1, 0, 0);
        was_told(1);
        WORKS(TRUE, DeleteTimerQueueTimer(NULL, timer, INVALID_HANDLE_VALUE));
        _exit(failures != 0);
    }
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    IS(TRUE, DeleteTimerQueueTimer(NULL, timer, NULL));
}

int main(void)
{
    HANDLE queue;

    alarm(300);
    told = CreateSemaphore(NULL, 0, 100000, NULL);
    go = CreateEvent(NULL, TRUE, FALSE, NULL);
    queue = CreateTimerQueue();
    in_queues(queue);
    in_queues(NULL);
    IS(TRUE, DeleteTimerQueueEx(queue, INVALID_HANDLE_VALUE));
    while_it_runs();
    from_within();
    in_the_thread_of_timers();
    of_pools();
    in_child();
    return report();
}
