/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The names that ntdll has for locks and lists in memory: what Win32's do, with a status. */
#include "check.h"
#include <ntux/win/nt.h>

enum { ROUNDS = 500, THREADS = 4 };

static CRITICAL_SECTION section;
static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE condition = CONDITION_VARIABLE_INIT;
static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
static SYNCHRONIZATION_BARRIER barrier;
static LARGE_INTEGER now, soon;
static long guarded;
static LONG stage, lasts;

static DWORD WINAPI try_both(LPVOID unused)
{
    (void)unused;
    IS(FALSE, RtlTryEnterCriticalSection(&section));
    IS(FALSE, RtlTryAcquireSRWLockExclusive(&lock));
    return 0;
}

static DWORD WINAPI count(LPVOID unused)
{
    int i;

    (void)unused;
    for (i = 0; i < ROUNDS; i++) {
        IS(STATUS_SUCCESS, RtlEnterCriticalSection(&section));
        guarded++;
        IS(STATUS_SUCCESS, RtlLeaveCriticalSection(&section));
        RtlAcquireSRWLockExclusive(&lock);
        stage++;
        RtlReleaseSRWLockExclusive(&lock);
        RtlAcquireSRWLockShared(&lock);
        RtlReleaseSRWLockShared(&lock);
    }
    return 0;
}

static void locks(void)
{
    HANDLE threads[THREADS];
    int i;

    WORKS(STATUS_SUCCESS, RtlInitializeCriticalSectionEx(&section, 5, 0));
    IS(5, RtlSetCriticalSectionSpinCount(&section, 6));
    WORKS(STATUS_SUCCESS, RtlInitializeCriticalSectionAndSpinCount(&section, 7));
    WORKS(STATUS_SUCCESS, RtlInitializeCriticalSection(&section));
    RtlInitializeSRWLock(&lock);
    IS(TRUE, RtlTryEnterCriticalSection(&section));
    IS(TRUE, RtlTryAcquireSRWLockShared(&lock));
    IS(TRUE, RtlTryAcquireSRWLockShared(&lock));
    join(start(try_both, NULL));
    RtlReleaseSRWLockShared(&lock);
    RtlReleaseSRWLockShared(&lock);
    IS(TRUE, RtlTryAcquireSRWLockExclusive(&lock));
    join(start(try_both, NULL));
    RtlReleaseSRWLockExclusive(&lock);
    IS(STATUS_SUCCESS, RtlLeaveCriticalSection(&section));
    for (i = 0; i < THREADS; i++)
        threads[i] = start(count, NULL);
    for (i = 0; i < THREADS; i++)
        join(threads[i]);
    IS(PLANT(THREADS * ROUNDS, 0), guarded);
    IS(THREADS * ROUNDS, stage);
}

static DWORD WINAPI sleep_with(LPVOID by_section)
{
    if (by_section) {
        RtlEnterCriticalSection(&section);
        while (stage == 0)
            IS(STATUS_SUCCESS, RtlSleepConditionVariableCS(&condition, &section, NULL));
        stage++;
        RtlLeaveCriticalSection(&section);
    } else {
        RtlAcquireSRWLockExclusive(&lock);
        while (lasts == 0)
            IS(STATUS_SUCCESS, RtlSleepConditionVariableSRW(&condition, &lock, NULL, 0));
        RtlReleaseSRWLockExclusive(&lock);
    }
    return 0;
}

static void conditions(void)
{
    HANDLE threads[2];

    stage = 0;
    RtlInitializeConditionVariable(&condition);
    RtlEnterCriticalSection(&section);
    RETURNS_LATE(RtlSleepConditionVariableCS(&condition, &section, &soon));
    RtlLeaveCriticalSection(&section);
    RtlAcquireSRWLockShared(&lock);
    WORKS(STATUS_INVALID_PARAMETER, RtlSleepConditionVariableSRW(&condition, &lock, &soon, 2));
    RETURNS_LATE(RtlSleepConditionVariableSRW(&condition, &lock, &soon, CONDITION_VARIABLE_LOCKMODE_SHARED));
    RtlReleaseSRWLockShared(&lock);
    threads[0] = start(sleep_with, &section);
    threads[1] = start(sleep_with, NULL);
    a_while();
    RtlEnterCriticalSection(&section);
    stage = 1;
    RtlLeaveCriticalSection(&section);
    RtlAcquireSRWLockExclusive(&lock);
    lasts = 1;
    RtlReleaseSRWLockExclusive(&lock);
    RtlWakeConditionVariable(&condition);
    RtlWakeAllConditionVariable(&condition);
    join(threads[0]);
    join(threads[1]);
    IS(2, stage);
    lasts = 0;
    WORKS(STATUS_SUCCESS, RtlDeleteCriticalSection(&section));
}

static DWORD WINAPI wait_for_stage(LPVOID unused)
{
    LONG two = 2;

    (void)unused;
    while (InterlockedOr(&stage, 0) == 2)
        IS(STATUS_SUCCESS, RtlWaitOnAddress(&stage, &two, sizeof two, NULL));
    return 0;
}

static void addresses(void)
{
    LONG one = 1, two = 2;
    HANDLE threads[2];

    WORKS(STATUS_INVALID_PARAMETER, RtlWaitOnAddress(&stage, &two, 3, &now));
    WORKS(STATUS_ACCESS_VIOLATION, RtlWaitOnAddress(NULL, &two, 4, &now));
    RETURNS_LATE(RtlWaitOnAddress(&stage, &two, sizeof two, &soon));
    WORKS(STATUS_SUCCESS, RtlWaitOnAddress(&stage, &one, sizeof one, NULL));
    threads[0] = start(wait_for_stage, NULL);
    threads[1] = start(wait_for_stage, NULL);
    a_while();
    InterlockedExchange(&stage, 3);
    RtlWakeAddressSingle(&stage);
    RtlWakeAddressAll(&stage);
    join(threads[0]);
    join(threads[1]);
}

static ULONG CALLBACK fail(PINIT_ONCE what, PVOID parameter, PVOID *context)
{
    IS(1, what == &once && parameter == &stage && context != NULL);
    return FALSE;
}

static ULONG CALLBACK succeed(PINIT_ONCE what, PVOID parameter, PVOID *context)
{
    IS(1, what == &once);
    *context = parameter;
    return TRUE;
}

static void initialized_once(void)
{
    PVOID context = NULL;

    RtlRunOnceInitialize(&once);
    WORKS(STATUS_UNSUCCESSFUL, RtlRunOnceBeginInitialize(&once, INIT_ONCE_CHECK_ONLY, &context));
    WORKS(STATUS_INVALID_PARAMETER, RtlRunOnceBeginInitialize(&once, 8, &context));
    WORKS(STATUS_UNSUCCESSFUL, RtlRunOnceComplete(&once, 0, NULL));
    WORKS(STATUS_PENDING, RtlRunOnceBeginInitialize(&once, 0, &context));
    WORKS(STATUS_INVALID_PARAMETER, RtlRunOnceComplete(&once, INIT_ONCE_ASYNC, NULL));
    WORKS(STATUS_SUCCESS, RtlRunOnceComplete(&once, INIT_ONCE_INIT_FAILED, NULL));
    WORKS(STATUS_UNSUCCESSFUL, RtlRunOnceExecuteOnce(&once, fail, &stage, &context));
    WORKS(STATUS_SUCCESS, RtlRunOnceExecuteOnce(&once, succeed, &stage, &context));
    context = NULL;
    WORKS(STATUS_SUCCESS, RtlRunOnceExecuteOnce(&once, fail, &stage, &context));
    IS(1, context == &stage);
    context = NULL;
    WORKS(STATUS_SUCCESS, RtlRunOnceBeginInitialize(&once, INIT_ONCE_CHECK_ONLY, &context));
    IS(1, context == &stage);
}

static DWORD WINAPI meet(LPVOID unused)
{
    int i;

    (void)unused;
    for (i = 0; i < ROUNDS; i++)
        if (RtlBarrier(&barrier, i % 2 ? 0x10000 : 0))
            InterlockedIncrement(&lasts);
    return 0;
}

static void barriers(void)
{
    HANDLE threads[THREADS];
    int i;

    WORKS(STATUS_INVALID_PARAMETER, RtlInitBarrier(NULL, 1, -1));
    WORKS(STATUS_SUCCESS, RtlInitBarrier(&barrier, -2, -2));
    WORKS(STATUS_SUCCESS, RtlInitBarrier(&barrier, 1, 0x7fffffff));
    WORKS(TRUE, RtlBarrier(&barrier, 0xffffffffu));
    WORKS(FALSE, RtlBarrier(NULL, 0));
    WORKS(STATUS_SUCCESS, RtlInitBarrier(&barrier, THREADS, -1));
    for (i = 0; i < THREADS; i++)
        threads[i] = start(meet, NULL);
    for (i = 0; i < THREADS; i++)
        join(threads[i]);
    IS(ROUNDS, lasts);
    WORKS(STATUS_SUCCESS, RtlDeleteBarrier(&barrier));
    WORKS(STATUS_SUCCESS, RtlDeleteBarrier(NULL));
}

static void lists(void)
{
    static SLIST_HEADER list;
    SLIST_ENTRY one, two, three;

    RtlInitializeSListHead(&list);
    IS(1, RtlInterlockedPushEntrySList(&list, &one) == NULL);
    two.Next = &three;
    IS(1, RtlInterlockedPushListSList(&list, &two, &three, 2) == &one);
    IS(3, RtlQueryDepthSList(&list));
    IS(1, RtlInterlockedPopEntrySList(&list) == &two);
    IS(1, RtlInterlockedPushListSListEx(&list, &two, &two, 1) == &three);
    IS(1, RtlInterlockedFlushSList(&list) == &two && two.Next == &three && three.Next == &one && one.Next == NULL);
    IS(0, RtlQueryDepthSList(&list));
}

static void errors(void)
{
    IS(ERROR_SUCCESS, RtlNtStatusToDosError(STATUS_SUCCESS));
    IS(ERROR_INVALID_HANDLE, RtlNtStatusToDosError(STATUS_OBJECT_TYPE_MISMATCH));
    IS(ERROR_ALREADY_EXISTS, RtlNtStatusToDosError(STATUS_OBJECT_NAME_COLLISION));
    IS(ERROR_TIMEOUT, RtlNtStatusToDosError(STATUS_TIMEOUT));
    IS(ERROR_IO_PENDING, RtlNtStatusToDosError(STATUS_PENDING));
    IS(317, RtlNtStatusToDosError((LONG)0xC0FFEE00));
}

int main(void)
{
    alarm(300);
    soon.QuadPart = -10000;
    locks();
    conditions();
    addresses();
    initialized_once();
    barriers();
    lists();
    errors();
    return report();
}
