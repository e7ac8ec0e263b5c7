/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits whose functions threads of the library call: registered ones, and those of pools. */
#include "check.h"
#include <sys/wait.h>

static HANDLE event, semaphore, told, go, mutex;
static LONG fired, late, threads_of[2];

static VOID CALLBACK tell(PVOID context, BOOLEAN timer_fired)
{
    IS(7, (LONG)(ULONG_PTR)context);
    InterlockedIncrement(timer_fired ? &late : &fired);
    IS(TRUE, ReleaseSemaphore(told, 1, NULL));
}

static VOID CALLBACK tell_and_wait(PVOID context, BOOLEAN timer_fired)
{
    tell(context, timer_fired);
    IS(WAIT_OBJECT_0, WaitForSingleObject(go, INFINITE));
}

static HANDLE waits_for(HANDLE object, WAITORTIMERCALLBACK callback, ULONG milliseconds, ULONG flags)
{
    HANDLE wait = NULL;

    WORKS(TRUE, RegisterWaitForSingleObject(&wait, object, callback, (PVOID)7, milliseconds, flags));
    IS(1, wait != NULL);
    return wait;
}

static void was_told(int times)
{
    while (times--)
        IS(WAIT_OBJECT_0, WaitForSingleObject(told, INFINITE));
}

static void again_and_once(void)
{
    HANDLE wait = waits_for(event, tell, INFINITE, WT_EXECUTEDEFAULT);
    int i;

    fired = late = 0;
    for (i = 0; i < 100; i++) {
        IS(TRUE, SetEvent(event));
        was_told(1);
    }
    IS(PLANT(100, 99), fired);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    IS(TRUE, SetEvent(event));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, UnregisterWait(wait));
    /* Time ends it again and again, too. */
    wait = waits_for(event, tell, 1, WT_EXECUTEDEFAULT);
    was_told(5);
    IS(1, late >= 5);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    while (WaitForSingleObject(told, 0) == WAIT_OBJECT_0)
        ;
    /* Once. */
    IS(TRUE, ReleaseSemaphore(semaphore, 2, NULL));
    wait = waits_for(semaphore, tell, INFINITE, WT_EXECUTEONLYONCE);
    was_told(1);
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(semaphore, 0));
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    wait = waits_for(semaphore, tell, 0, WT_EXECUTEONLYONCE);
    was_told(1);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
}

static void while_it_runs(void)
{
    HANDLE wait = waits_for(event, tell_and_wait, INFINITE, WT_EXECUTEDEFAULT), done = CreateEvent(NULL, TRUE, FALSE, NULL);

    /* It waits on while its function runs, in another thread each time. */
    IS(TRUE, SetEvent(event));
    was_told(1);
    IS(TRUE, SetEvent(event));
    was_told(1);
    FAILS(ERROR_IO_PENDING, FALSE, UnregisterWaitEx(wait, done));
    FAILS(ERROR_INVALID_HANDLE, FALSE, UnregisterWaitEx(wait, done));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(done, 10));
    IS(TRUE, SetEvent(go));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(done, INFINITE));
    IS(TRUE, ResetEvent(done));
    /* With nothing running the event is set, too. */
    wait = waits_for(event, tell, INFINITE, WT_EXECUTEDEFAULT);
    WORKS(TRUE, UnregisterWaitEx(wait, done));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(done, INFINITE));
    IS(TRUE, ResetEvent(go));
    wait = waits_for(event, tell_and_wait, INFINITE, WT_EXECUTEONLYONCE);
    IS(TRUE, SetEvent(event));
    was_told(1);
    FAILS(ERROR_IO_PENDING, FALSE, UnregisterWait(wait));
    IS(TRUE, SetEvent(go));
    IS(TRUE, CloseHandle(done));
}

struct own { HANDLE wait, answered; DWORD error; BOOL result; HANDLE completion; };

static VOID CALLBACK unregisters(PVOID context, BOOLEAN timer_fired)
{
    struct own *own = (struct own *)context;

    IS(FALSE, timer_fired);
    SetLastError(0);
    own->result = UnregisterWaitEx(own->wait, own->completion);
    own->error = GetLastError();
    IS(TRUE, SetEvent(own->answered));
}

/* A function that ends its own wait. The handle is there when it begins. */
static void from_within(void)
{
    struct own own;
    ULONG flags[2];
    int i, j;

    own.answered = CreateEvent(NULL, FALSE, FALSE, NULL);
    flags[0] = WT_EXECUTEDEFAULT;
    flags[1] = WT_EXECUTEINWAITTHREAD;
    for (i = 0; i < 100; i++) {
        j = i % 2;
        own.completion = i % 4 < 2 ? NULL : INVALID_HANDLE_VALUE;
        IS(TRUE, SetEvent(event));
        WORKS(TRUE, RegisterWaitForSingleObject(&own.wait, event, unregisters, &own, INFINITE, flags[j]));
        IS(WAIT_OBJECT_0, WaitForSingleObject(own.answered, INFINITE));
        IS(j ? TRUE : FALSE, own.result);
        IS(j ? 0 : ERROR_IO_PENDING, own.error);
    }
    IS(TRUE, CloseHandle(own.answered));
}

static VOID CALLBACK remember_thread(PVOID context, BOOLEAN timer_fired)
{
    InterlockedExchange((LONG *)context, (LONG)GetCurrentThreadId());
    tell((PVOID)7, timer_fired);
}

static VOID CALLBACK called_in_wait(ULONG_PTR argument)
{
    IS(1, argument);
    IS(TRUE, ReleaseSemaphore(told, 1, NULL));
}

static void in_the_thread_that_waits(void)
{
    HANDLE first, second, thread;

    WORKS(TRUE, RegisterWaitForSingleObject(&first, event, remember_thread, &threads_of[0], INFINITE,
                                            WT_EXECUTEINWAITTHREAD));
    WORKS(TRUE, RegisterWaitForSingleObject(&second, semaphore, remember_thread, &threads_of[1], INFINITE,
                                            WT_EXECUTEINWAITTHREAD));
    IS(TRUE, SetEvent(event));
    IS(TRUE, ReleaseSemaphore(semaphore, 1, NULL));
    was_told(2);
    WORKS(TRUE, UnregisterWaitEx(first, INVALID_HANDLE_VALUE));
    WORKS(TRUE, UnregisterWaitEx(second, INVALID_HANDLE_VALUE));
    IS(threads_of[0], threads_of[1]);
    /* One whose thread waits alertably. */
    WORKS(TRUE, RegisterWaitForSingleObject(&first, event, remember_thread, &threads_of[0], INFINITE, WT_EXECUTEINIOTHREAD));
    IS(TRUE, SetEvent(event));
    was_told(1);
    thread = OpenThread(THREAD_ALL_ACCESS, FALSE, (DWORD)threads_of[0]);
    IS(1, thread != NULL);
    IS(1, QueueUserAPC(called_in_wait, thread, 1) != 0);
    was_told(1);
    IS(TRUE, CloseHandle(thread));
    WORKS(TRUE, UnregisterWaitEx(first, INVALID_HANDLE_VALUE));
}

static VOID CALLBACK has_mutex(PVOID context, BOOLEAN timer_fired)
{
    (void)context;
    IS(FALSE, timer_fired);
    IS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, ReleaseSemaphore(told, 1, NULL));
}

/* As many objects as there are, of every kind. */
static void many(void)
{
    HANDLE events[200], waits[200], timer = CreateWaitableTimer(NULL, FALSE, NULL), wait;
    LARGE_INTEGER due;
    int i;

    fired = 0;
    for (i = 0; i < 200; i++) {
        events[i] = CreateEvent(NULL, FALSE, FALSE, NULL);
        waits[i] = waits_for(events[i], tell, INFINITE, i % 2 ? WT_EXECUTEDEFAULT : WT_EXECUTEONLYONCE);
    }
    for (i = 199; i >= 0; i--)
        IS(TRUE, SetEvent(events[i]));
    was_told(200);
    for (i = 0; i < 200; i++) {
        /* The wait keeps its object. */
        IS(TRUE, CloseHandle(events[i]));
        WORKS(TRUE, UnregisterWaitEx(waits[i], INVALID_HANDLE_VALUE));
    }
    IS(200, fired);
    wait = waits_for(mutex, has_mutex, INFINITE, WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD);
    was_told(1);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    wait = waits_for(timer, tell, INFINITE, WT_EXECUTEDEFAULT);
    due.QuadPart = -10000;
    IS(TRUE, SetWaitableTimer(timer, &due, 2, NULL, NULL, FALSE));
    was_told(3);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    IS(TRUE, CloseHandle(timer));
    while (WaitForSingleObject(told, 0) == WAIT_OBJECT_0)
        ;
}

static DWORD WINAPI end_at_once(LPVOID unused)
{
    (void)unused;
    return 0;
}

#if IS_LINUX
/* Elsewhere there are no handles of other processes. */
static void for_the_end_of_a_process(void)
{
    HANDLE process, wait;
    pid_t child = fork();

    if (child == 0) {
        usleep(20000);
        _exit(0);
    }
    process = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)child);
    wait = waits_for(process, tell, INFINITE, WT_EXECUTEONLYONCE);
    IS(TRUE, CloseHandle(process));
    was_told(1);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    IS(child, waitpid(child, NULL, 0));
}
#endif

static void for_ends(void)
{
    HANDLE thread = start(end_at_once, NULL), wait;

#if IS_LINUX
    for_the_end_of_a_process();
#endif
    wait = waits_for(thread, tell, INFINITE, WT_EXECUTEONLYONCE);
    was_told(1);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    join(thread);
    wait = waits_for(GetCurrentProcess(), tell, 1, WT_EXECUTEONLYONCE);
    was_told(1);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
}

static VOID CALLBACK pool_tell(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WAIT wait, TP_WAIT_RESULT result)
{
    (void)instance;
    (void)wait;
    IS(1, result == WAIT_OBJECT_0 || result == WAIT_TIMEOUT || result == WAIT_ABANDONED);
    tell(context, result == WAIT_TIMEOUT);
}

static void of_pools(void)
{
    PTP_WAIT wait = CreateThreadpoolWait(pool_tell, (PVOID)7, NULL);
    FILETIME soon = due_in(5), later = due_in(100000);

    fired = late = 0;
    IS(FALSE, SetThreadpoolWaitEx(wait, event, NULL, NULL));
    IS(TRUE, SetEvent(event));
    was_told(1);
    /* Once for each time that it is set. */
    IS(TRUE, SetEvent(event));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    SetThreadpoolWait(wait, event, &soon);
    was_told(1);
    WaitForThreadpoolWaitCallbacks(wait, FALSE);
    IS(1, fired == 1 && late == 1);
    IS(FALSE, SetThreadpoolWaitEx(wait, event, &later, NULL));
    IS(TRUE, SetThreadpoolWaitEx(wait, semaphore, NULL, NULL));
    IS(TRUE, SetEvent(event));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    IS(TRUE, SetThreadpoolWaitEx(wait, NULL, NULL, NULL));
    IS(TRUE, ReleaseSemaphore(semaphore, 1, NULL));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 20));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(semaphore, 0));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    FAILS(ERROR_INVALID_HANDLE, 0, (SetThreadpoolWait(wait, told, NULL), SetThreadpoolWait(wait, (HANDLE)4444, NULL), 0));
    IS(TRUE, ReleaseSemaphore(told, 1, NULL));
    while (InterlockedExchangeAdd(&fired, 0) < 2)
        Sleep(1);
    CloseThreadpoolWait(wait);
    was_told(1);
}

/* Nothing that is signaled gets lost, whoever sets and unsets meanwhile. */
static DWORD WINAPI unset_often(LPVOID wait)
{
    int i;

    for (i = 0; i < 300; i++) {
        SetThreadpoolWait((PTP_WAIT)wait, semaphore, NULL);
        SetThreadpoolWait((PTP_WAIT)wait, NULL, NULL);
    }
    return 0;
}

static void nothing_is_lost(void)
{
    PTP_WAIT wait = CreateThreadpoolWait(pool_tell, (PVOID)7, NULL);
    HANDLE thread = start(unset_often, wait);
    int i, left = 0;

    fired = 0;
    for (i = 0; i < 300; i++) {
        IS(TRUE, ReleaseSemaphore(semaphore, 1, NULL));
        if (i % 16 == 0)
            Sleep(0);
    }
    join(thread);
    WaitForThreadpoolWaitCallbacks(wait, FALSE);
    CloseThreadpoolWait(wait);
    while (WaitForSingleObject(semaphore, 0) == WAIT_OBJECT_0)
        left++;
    IS(300, fired + left);
    while (WaitForSingleObject(told, 0) == WAIT_OBJECT_0)
        ;
}

static void errors(void)
{
    HANDLE wait, done = CreateEvent(NULL, TRUE, FALSE, NULL);
    int status = -1;
    pid_t child;

    FAILS(ERROR_INVALID_HANDLE, FALSE, RegisterWaitForSingleObject(&wait, NULL, tell, NULL, 0, 0));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, RegisterWaitForSingleObject(&wait, event, NULL, NULL, 0, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, UnregisterWait(NULL));
    FAILS(ERROR_INVALID_HANDLE, FALSE, UnregisterWait(INVALID_HANDLE_VALUE));
    FAILS(ERROR_INVALID_HANDLE, FALSE, UnregisterWait(event));
    wait = waits_for(event, tell, INFINITE, 0);
    FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle(wait));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForSingleObject(wait, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, UnregisterWaitEx(wait, semaphore));
    child = fork();
    if (child == 0) {
        failures = 0;
        FAILS(ERROR_INVALID_HANDLE, FALSE, UnregisterWait(wait));
        wait = waits_for(done, tell, INFINITE, WT_EXECUTEONLYONCE);
        IS(TRUE, SetEvent(done));
        was_told(1);
        WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
        _exit(failures != 0);
    }
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    WORKS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    IS(TRUE, CloseHandle(done));
}

int main(void)
{
    alarm(300);
    event = CreateEvent(NULL, FALSE, FALSE, NULL);
    go = CreateEvent(NULL, TRUE, FALSE, NULL);
    semaphore = CreateSemaphore(NULL, 0, 1000, NULL);
    told = CreateSemaphore(NULL, 0, 1000, NULL);
    mutex = CreateMutex(NULL, FALSE, NULL);
    again_and_once();
    while_it_runs();
    from_within();
    in_the_thread_that_waits();
    many();
    for_ends();
    of_pools();
    nothing_is_lost();
    errors();
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(told, 0));
    return report();
}
