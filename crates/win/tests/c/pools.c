/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pools, work, simple callbacks, cleanup groups, and what a callback asks for. */
#include "check.h"
#include <sys/wait.h>

static HANDLE go, told, mutex, semaphore;
static LONG calls, running, most, cancelled;

static VOID CALLBACK count(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WORK work)
{
    LONG now = InterlockedIncrement(&running), before = most;

    (void)instance;
    (void)work;
    IS(7, (LONG)(ULONG_PTR)context);
    while (now > before && InterlockedCompareExchange(&most, now, before) != before)
        before = most;
    InterlockedIncrement(&calls);
    InterlockedDecrement(&running);
}

static VOID CALLBACK wait_for_go(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WORK work)
{
    (void)instance;
    (void)context;
    (void)work;
    InterlockedIncrement(&running);
    IS(TRUE, ReleaseSemaphore(told, 1, NULL));
    IS(WAIT_OBJECT_0, WaitForSingleObject(go, INFINITE));
    InterlockedDecrement(&running);
    InterlockedIncrement(&calls);
}

static void submit(PTP_WORK work, int times)
{
    while (times--)
        SubmitThreadpoolWork(work);
}

static void by_default(void)
{
    PTP_WORK work;
    int i;

    IS(1, count_threads());
    work = CreateThreadpoolWork(count, (PVOID)7, NULL);
    IS(1, work != NULL);
    IS(1, count_threads());
    calls = 0;
    submit(work, 1000);
    WaitForThreadpoolWorkCallbacks(work, FALSE);
    IS(PLANT(1000, 999), calls);
    /* Of the same work, as many as there may be are called side by side, and each that sleeps has a thread of its own. */
    CloseThreadpoolWork(work);
    work = CreateThreadpoolWork(wait_for_go, NULL, NULL);
    calls = 0;
    submit(work, 20);
    for (i = 0; i < 20; i++)
        IS(WAIT_OBJECT_0, WaitForSingleObject(told, INFINITE));
    IS(20, running);
    IS(TRUE, SetEvent(go));
    /* Closed, and still called. */
    submit(work, 5);
    CloseThreadpoolWork(work);
    for (i = 0; i < 5; i++)
        IS(WAIT_OBJECT_0, WaitForSingleObject(told, INFINITE));
    while (InterlockedExchangeAdd(&calls, 0) < 25)
        Sleep(1);
    FAILS(ERROR_INVALID_PARAMETER, 0, (SubmitThreadpoolWork(work), 0));
    IS(TRUE, ResetEvent(go));
}

static void few_threads(void)
{
    PTP_POOL pool = CreateThreadpool(NULL);
    TP_CALLBACK_ENVIRON environ;
    PTP_WORK first, second;
    int before = count_threads();

    InitializeThreadpoolEnvironment(&environ);
    SetThreadpoolCallbackPool(&environ, pool);
    SetThreadpoolThreadMaximum(pool, 1);
    first = CreateThreadpoolWork(wait_for_go, NULL, &environ);
    second = CreateThreadpoolWork(count, (PVOID)7, &environ);
    calls = most = 0;
    submit(first, 3);
    submit(second, 10);
    IS(WAIT_OBJECT_0, WaitForSingleObject(told, INFINITE));
    IS(before + 1, count_threads());
    IS(1, running);
    /* Of the first one runs, and the others do not begin. */
    WaitForThreadpoolWorkCallbacks(second, TRUE);
    IS(0, calls);
    IS(TRUE, SetEvent(go));
    WaitForThreadpoolWorkCallbacks(first, TRUE);
    IS(1, calls >= 1 && calls <= 3);
    IS(TRUE, ResetEvent(go));
    calls = 0;
    while (WaitForSingleObject(told, 0) == WAIT_OBJECT_0)
        ;
    submit(second, 10);
    WaitForThreadpoolWorkCallbacks(second, FALSE);
    IS(10, calls);
    IS(1, most);
    IS(TRUE, SetThreadpoolThreadMinimum(pool, 3));
    while (count_threads() < before + 3)
        Sleep(1);
    IS(TRUE, SetThreadpoolThreadMinimum(pool, 0));
    CloseThreadpoolWork(first);
    CloseThreadpoolWork(second);
    CloseThreadpool(pool);
    /* A pool that is closed, and has nothing, has no threads. */
    while (count_threads() > before)
        Sleep(1);
    FAILS(ERROR_INVALID_PARAMETER, FALSE, SetThreadpoolThreadMinimum(pool, 1));
}

static VOID CALLBACK order(PTP_CALLBACK_INSTANCE instance, PVOID context)
{
    (void)instance;
    IS((LONG)(ULONG_PTR)context, InterlockedIncrement(&calls));
}

static void priorities(void)
{
    PTP_POOL pool = CreateThreadpool(NULL);
    TP_CALLBACK_ENVIRON environ;
    PTP_WORK first;

    InitializeThreadpoolEnvironment(&environ);
    SetThreadpoolCallbackPool(&environ, pool);
    SetThreadpoolThreadMaximum(pool, 1);
    first = CreateThreadpoolWork(wait_for_go, NULL, &environ);
    SubmitThreadpoolWork(first);
    IS(WAIT_OBJECT_0, WaitForSingleObject(told, INFINITE));
    calls = 0;
    SetThreadpoolCallbackPriority(&environ, TP_CALLBACK_PRIORITY_LOW);
    WORKS(TRUE, TrySubmitThreadpoolCallback(order, (PVOID)4, &environ));
    SetThreadpoolCallbackPriority(&environ, TP_CALLBACK_PRIORITY_NORMAL);
    WORKS(TRUE, TrySubmitThreadpoolCallback(order, (PVOID)3, &environ));
    SetThreadpoolCallbackPriority(&environ, TP_CALLBACK_PRIORITY_HIGH);
    WORKS(TRUE, TrySubmitThreadpoolCallback(order, (PVOID)2, &environ));
    SetThreadpoolCallbackPriority(&environ, TP_CALLBACK_PRIORITY_INVALID);
    FAILS(ERROR_INVALID_PARAMETER, FALSE, TrySubmitThreadpoolCallback(order, NULL, &environ));
    IS(TRUE, SetEvent(go));
    WaitForThreadpoolWorkCallbacks(first, FALSE);
    while (InterlockedExchangeAdd(&calls, 0) < 4)
        Sleep(1);
    IS(TRUE, ResetEvent(go));
    CloseThreadpoolWork(first);
    CloseThreadpool(pool);
}

static VOID CALLBACK cancel(PVOID context, PVOID cleanup_context)
{
    IS(3, (LONG)(ULONG_PTR)cleanup_context);
    InterlockedExchangeAdd(&cancelled, (LONG)(ULONG_PTR)context);
}

static VOID CALLBACK never_work(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WORK work)
{
    (void)instance;
    (void)context;
    (void)work;
    IS(0, 1);
}

static VOID CALLBACK never(PTP_CALLBACK_INSTANCE instance, PVOID context)
{
    never_work(instance, context, NULL);
}

static VOID CALLBACK never_timer(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_TIMER timer)
{
    (void)timer;
    never_work(instance, context, NULL);
}

static VOID CALLBACK never_wait(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WAIT wait, TP_WAIT_RESULT result)
{
    (void)wait;
    (void)result;
    never_work(instance, context, NULL);
}

static DWORD WINAPI go_soon(LPVOID unused)
{
    (void)unused;
    a_while();
    IS(TRUE, SetEvent(go));
    return 0;
}

static void groups(void)
{
    PTP_POOL pool = CreateThreadpool(NULL);
    PTP_CLEANUP_GROUP group = CreateThreadpoolCleanupGroup();
    TP_CALLBACK_ENVIRON environ;
    PTP_WORK first, waiting, kept;
    PTP_TIMER timer;
    PTP_WAIT wait;
    FILETIME soon;
    HANDLE thread;

    InitializeThreadpoolEnvironment(&environ);
    SetThreadpoolCallbackPool(&environ, pool);
    SetThreadpoolCallbackCleanupGroup(&environ, group, cancel);
    SetThreadpoolThreadMaximum(pool, 1);
    first = CreateThreadpoolWork(wait_for_go, (PVOID)1, &environ);
    SubmitThreadpoolWork(first);
    IS(WAIT_OBJECT_0, WaitForSingleObject(told, INFINITE));
    waiting = CreateThreadpoolWork(never_work, (PVOID)10, &environ);
    submit(waiting, 3);
    IS(TRUE, TrySubmitThreadpoolCallback(never, (PVOID)100, &environ));
    IS(TRUE, TrySubmitThreadpoolCallback(never, (PVOID)1000, &environ));
    timer = CreateThreadpoolTimer(never_timer, (PVOID)10000, &environ);
    soon.dwLowDateTime = (DWORD)-10000000;
    soon.dwHighDateTime = (DWORD)-1;
    SetThreadpoolTimer(timer, &soon, 0, 0);
    wait = CreateThreadpoolWait(never_wait, (PVOID)100000, &environ);
    SetThreadpoolWait(wait, mutex, NULL);
    SetThreadpoolCallbackCleanupGroup(&environ, NULL, NULL);
    kept = CreateThreadpoolWork(count, (PVOID)7, &environ);
    thread = start(go_soon, NULL);
    cancelled = 0;
    WORKS(0, (CloseThreadpoolCleanupGroupMembers(group, TRUE, (PVOID)3), 0));
    IS(111111, cancelled);
    IS(0, running);
    join(thread);
    FAILS(ERROR_INVALID_PARAMETER, 0, (SubmitThreadpoolWork(first), 0));
    FAILS(ERROR_INVALID_PARAMETER, 0, IsThreadpoolTimerSet(timer));
    /* Who is no member stays. */
    calls = 0;
    SubmitThreadpoolWork(kept);
    WaitForThreadpoolWorkCallbacks(kept, FALSE);
    IS(1, calls);
    CloseThreadpoolWork(kept);
    /* Without cancelling, what is pending is called. */
    SetThreadpoolCallbackCleanupGroup(&environ, group, cancel);
    first = CreateThreadpoolWork(wait_for_go, NULL, &environ);
    cancelled = calls = 0;
    submit(first, 3);
    WORKS(0, (CloseThreadpoolCleanupGroupMembers(group, FALSE, NULL), 0));
    IS(3, calls);
    IS(0, cancelled);
    while (WaitForSingleObject(told, 0) == WAIT_OBJECT_0)
        ;
    IS(TRUE, ResetEvent(go));
    CloseThreadpoolCleanupGroup(group);
    CloseThreadpool(pool);
    FAILS(ERROR_INVALID_PARAMETER, 0, (CloseThreadpoolCleanupGroup(group), 0));
}

static CRITICAL_SECTION section;

static VOID CALLBACK asks(PTP_CALLBACK_INSTANCE instance, PVOID context)
{
    (void)context;
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, INFINITE));
    EnterCriticalSection(&section);
    WORKS(0, (ReleaseMutexWhenCallbackReturns(instance, mutex), 0));
    WORKS(0, (LeaveCriticalSectionWhenCallbackReturns(instance, &section), 0));
    WORKS(0, (ReleaseSemaphoreWhenCallbackReturns(instance, semaphore, 2), 0));
    WORKS(0, (SetEventWhenCallbackReturns(instance, go), 0));
    IS(WAIT_TIMEOUT, WaitForSingleObject(go, 10));
}

static VOID CALLBACK finally(PTP_CALLBACK_INSTANCE instance, PVOID context)
{
    (void)instance;
    IS(WAIT_TIMEOUT, WaitForSingleObject(go, 0));
    InterlockedExchangeAdd(&calls, (LONG)(ULONG_PTR)context);
}

static VOID CALLBACK stays(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WORK work)
{
    DWORD error = (DWORD)(ULONG_PTR)context;

    if (error == 0)
        WORKS(TRUE, CallbackMayRunLong(instance));
    else
        FAILS(error, FALSE, CallbackMayRunLong(instance));
    DisassociateCurrentThreadFromCallback(instance);
    wait_for_go(instance, NULL, work);
}

static void when_it_returns(void)
{
    TP_CALLBACK_ENVIRON environ;
    PTP_POOL pool = CreateThreadpool(NULL);
    PTP_WORK work;
    DWORD expected[2];
    int i;

    InitializeThreadpoolEnvironment(&environ);
    environ.FinalizationCallback = finally;
    calls = 0;
    WORKS(TRUE, TrySubmitThreadpoolCallback(asks, (PVOID)5, &environ));
    IS(WAIT_OBJECT_0, WaitForSingleObject(go, INFINITE));
    IS(5, calls);
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, 0));
    IS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, TryEnterCriticalSection(&section));
    LeaveCriticalSection(&section);
    IS(WAIT_OBJECT_0, WaitForSingleObject(semaphore, 0));
    IS(WAIT_OBJECT_0, WaitForSingleObject(semaphore, 0));
    IS(TRUE, ResetEvent(go));
    /* A wait for the work does not wait for a call that was dissociated. */
    InitializeThreadpoolEnvironment(&environ);
    SetThreadpoolCallbackPool(&environ, pool);
    SetThreadpoolThreadMaximum(pool, 2);
    expected[0] = 0;
    expected[1] = ERROR_TOO_MANY_TCBS;
    for (i = 0; i < 2; i++) {
        work = CreateThreadpoolWork(stays, (PVOID)(ULONG_PTR)expected[i], &environ);
        SubmitThreadpoolWork(work);
        IS(WAIT_OBJECT_0, WaitForSingleObject(told, INFINITE));
        WaitForThreadpoolWorkCallbacks(work, FALSE);
        IS(i + 1, running);
        CloseThreadpoolWork(work);
    }
    IS(TRUE, SetEvent(go));
    while (InterlockedExchangeAdd(&running, 0))
        Sleep(1);
    IS(TRUE, ResetEvent(go));
    CloseThreadpool(pool);
}

static DWORD WINAPI item(LPVOID context)
{
    InterlockedExchangeAdd(&calls, (LONG)(ULONG_PTR)context);
    return 0;
}

static PTP_WORK own;

static VOID CALLBACK closes_itself(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WORK work)
{
    (void)instance;
    (void)context;
    IS(1, work == own);
    /* Windows would hang. */
    WaitForThreadpoolWorkCallbacks(work, FALSE);
    CloseThreadpoolWork(work);
    InterlockedIncrement(&calls);
}

static void others(void)
{
    TP_POOL_STACK_INFORMATION stack;
    PTP_POOL pool = CreateThreadpool(NULL);
    TP_CALLBACK_ENVIRON environ;
    int status = -1;
    pid_t child;

    calls = 0;
    WORKS(TRUE, QueueUserWorkItem(item, (PVOID)1, WT_EXECUTEDEFAULT));
    WORKS(TRUE, QueueUserWorkItem(item, (PVOID)10, WT_EXECUTELONGFUNCTION));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, QueueUserWorkItem(NULL, NULL, 0));
    while (InterlockedExchangeAdd(&calls, 0) != 11)
        Sleep(1);
    own = CreateThreadpoolWork(closes_itself, NULL, NULL);
    SubmitThreadpoolWork(own);
    while (InterlockedExchangeAdd(&calls, 0) != 12)
        Sleep(1);
    WORKS(TRUE, QueryThreadpoolStackInformation(pool, &stack));
    IS(1, stack.StackReserve >= 16384 && stack.StackCommit > 0);
    stack.StackReserve = 1 << 18;
    WORKS(TRUE, SetThreadpoolStackInformation(pool, &stack));
    WORKS(TRUE, QueryThreadpoolStackInformation(pool, &stack));
    IS(1 << 18, stack.StackReserve);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateThreadpoolWork(NULL, NULL, NULL) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateThreadpool(pool) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, (SubmitThreadpoolWork((PTP_WORK)pool), 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle((HANDLE)pool));
    InitializeThreadpoolEnvironment(&environ);
    environ.Version = 9;
    FAILS(ERROR_INVALID_PARAMETER, FALSE, TrySubmitThreadpoolCallback(never, NULL, &environ));
    CloseThreadpool(pool);
    InitializeThreadpoolEnvironment(&environ);
    SetThreadpoolCallbackPool(&environ, pool);
    FAILS(ERROR_INVALID_PARAMETER, FALSE, TrySubmitThreadpoolCallback(never, NULL, &environ));
    /* A child has pools of its own, and none of its parent's. */
    own = CreateThreadpoolWork(never_work, NULL, NULL);
    child = fork();
    if (child == 0) {
        failures = 0;
        FAILS(ERROR_INVALID_PARAMETER, 0, (SubmitThreadpoolWork(own), 0));
        WaitForThreadpoolWorkCallbacks(own, FALSE);
        own = CreateThreadpoolWork(count, (PVOID)7, NULL);
        calls = 0;
        submit(own, 10);
        WaitForThreadpoolWorkCallbacks(own, FALSE);
        IS(10, calls);
        _exit(failures != 0);
    }
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    CloseThreadpoolWork(own);
}

static DWORD WINAPI allow_threads(PVOID pool)
{
    TP_POOL_STACK_INFORMATION stack = {0, 0};

    Sleep(100);
    WORKS(TRUE, SetThreadpoolStackInformation((PTP_POOL)pool, &stack));
    return 0;
}

/* The system has no room for a thread when the call comes. Whoever waits for the call tries again. */
static void unstarted(void)
{
    TP_POOL_STACK_INFORMATION stack = {((SIZE_T)-1 >> 1) & ~(SIZE_T)0xFFFF, 0};
    PTP_POOL pool = CreateThreadpool(NULL);
    TP_CALLBACK_ENVIRON environ;
    HANDLE thread;
    PTP_WORK work;

    InitializeThreadpoolEnvironment(&environ);
    SetThreadpoolCallbackPool(&environ, pool);
    WORKS(TRUE, SetThreadpoolStackInformation(pool, &stack));
    calls = 0;
    work = CreateThreadpoolWork(count, (PVOID)7, &environ);
    submit(work, 3);
    thread = CreateThread(NULL, 0, allow_threads, pool, 0, NULL);
    WaitForThreadpoolWorkCallbacks(work, FALSE);
    IS(3, calls);
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    CloseHandle(thread);
    CloseThreadpoolWork(work);
    CloseThreadpool(pool);
}

int main(void)
{
    alarm(300);
    go = CreateEvent(NULL, TRUE, FALSE, NULL);
    told = CreateSemaphore(NULL, 0, 1000, NULL);
    semaphore = CreateSemaphore(NULL, 0, 1000, NULL);
    mutex = CreateMutex(NULL, FALSE, NULL);
    InitializeCriticalSection(&section);
    by_default();
    few_threads();
    priorities();
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, INFINITE));
    groups();
    IS(TRUE, ReleaseMutex(mutex));
    when_it_returns();
    others();
    unstarted();
    return report();
}
