/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Critical sections, SRW locks and condition variables: alone, contended, at odd addresses. */
#include "check.h"
#include <string.h>

enum { ROUNDS = 500, THREADS = 4 };

static CRITICAL_SECTION section = NTUX_WIN_CRITICAL_SECTION_INIT;
static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE condition = CONDITION_VARIABLE_INIT;
static long guarded;

static DWORD WINAPI count_in_section(LPVOID unused)
{
    int i;

    (void)unused;
    for (i = 0; i < ROUNDS; i++) {
        EnterCriticalSection(&section);
        EnterCriticalSection(&section);
        guarded++;
        LeaveCriticalSection(&section);
        LeaveCriticalSection(&section);
    }
    return 0;
}

static DWORD WINAPI count_in_lock(LPVOID which)
{
    PSRWLOCK here = (PSRWLOCK)which;
    long seen;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        AcquireSRWLockExclusive(here);
        guarded++;
        ReleaseSRWLockExclusive(here);
        AcquireSRWLockShared(here);
        seen = guarded;
        if (i % 250 == 0)
            Sleep(0);
        if (seen != guarded)
            IS(seen, guarded);
        ReleaseSRWLockShared(here);
    }
    return 0;
}

static DWORD WINAPI try_section(LPVOID which)
{
    DWORD has = (DWORD)TryEnterCriticalSection((LPCRITICAL_SECTION)which);

    if (has)
        LeaveCriticalSection((LPCRITICAL_SECTION)which);
    return has;
}

static DWORD answer_of(LPTHREAD_START_ROUTINE question, void *which)
{
    HANDLE thread = start(question, which);
    DWORD code = 77;

    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(TRUE, CloseHandle(thread));
    return code;
}

static void together(LPTHREAD_START_ROUTINE work, void *which)
{
    HANDLE threads[THREADS];
    int i;

    guarded = 0;
    for (i = 0; i < THREADS; i++)
        threads[i] = start(work, which);
    for (i = 0; i < THREADS; i++)
        join(threads[i]);
    IS(ROUNDS * THREADS, guarded);
}

static void sections(void)
{
    CRITICAL_SECTION other;

    together(count_in_section, NULL);
    IS(TRUE, InitializeCriticalSectionAndSpinCount(&other, 4000));
    IS(4000, SetCriticalSectionSpinCount(&other, 10));
    IS(TRUE, TryEnterCriticalSection(&other));
    IS(TRUE, TryEnterCriticalSection(&other));
    IS(PLANT(FALSE, TRUE), answer_of(try_section, &other));
    LeaveCriticalSection(&other);
    IS(FALSE, answer_of(try_section, &other));
    LeaveCriticalSection(&other);
    IS(TRUE, answer_of(try_section, &other));
    DeleteCriticalSection(&other);
    IS(TRUE, InitializeCriticalSectionEx(&other, 0, RTL_CRITICAL_SECTION_FLAG_FORCE_DEBUG_INFO));
    other.DebugInfo->Spare[0] = (DWORD_PTR) "a name";
    DeleteCriticalSection(&other);
    IS(1, other.DebugInfo == NULL);
    /* Zeros are a free one. */
    memset(&other, 0, sizeof other);
    EnterCriticalSection(&other);
    LeaveCriticalSection(&other);
}

static DWORD WINAPI try_lock(LPVOID which)
{
    PSRWLOCK here = (PSRWLOCK)which;
    DWORD shared = TryAcquireSRWLockShared(here), exclusive;

    if (shared)
        ReleaseSRWLockShared(here);
    exclusive = TryAcquireSRWLockExclusive(here);
    if (exclusive)
        ReleaseSRWLockExclusive(here);
    return exclusive * 10 + shared;
}

static void srw_locks(void)
{
    struct {
        char bytes[8 + sizeof(SRWLOCK)];
    } packed;
    int odd;

    together(count_in_lock, &lock);
    AcquireSRWLockExclusive(&lock);
    IS(0, answer_of(try_lock, &lock));
    IS(FALSE, TryAcquireSRWLockExclusive(&lock));
    ReleaseSRWLockExclusive(&lock);
    AcquireSRWLockShared(&lock);
    AcquireSRWLockShared(&lock);
    IS(1, answer_of(try_lock, &lock));
    ReleaseSRWLockShared(&lock);
    IS(1, answer_of(try_lock, &lock));
    ReleaseSRWLockShared(&lock);
    IS(11, answer_of(try_lock, &lock));
    for (odd = 1; odd < 5; odd += 3) {
        InitializeSRWLock((PSRWLOCK)(void *)(packed.bytes + odd));
        together(count_in_lock, packed.bytes + odd);
    }
}

static int stage;

static DWORD WINAPI sleep_in_section(LPVOID unused)
{
    (void)unused;
    EnterCriticalSection(&section);
    while (stage == 0)
        IS(TRUE, SleepConditionVariableCS(&condition, &section, INFINITE));
    stage++;
    LeaveCriticalSection(&section);
    return 0;
}

static DWORD WINAPI sleep_in_lock(LPVOID mode)
{
    ULONG flags = mode ? CONDITION_VARIABLE_LOCKMODE_SHARED : 0;

    if (flags)
        AcquireSRWLockShared(&lock);
    else
        AcquireSRWLockExclusive(&lock);
    while (stage == 0)
        IS(TRUE, SleepConditionVariableSRW(&condition, &lock, INFINITE, flags));
    if (flags)
        ReleaseSRWLockShared(&lock);
    else
        ReleaseSRWLockExclusive(&lock);
    return 0;
}

static void conditions(void)
{
    HANDLE threads[THREADS];
    int i;

    InitializeConditionVariable(&condition);
    EnterCriticalSection(&section);
    COMES_LATE(SleepConditionVariableCS(&condition, &section, 1));
    LeaveCriticalSection(&section);
    AcquireSRWLockShared(&lock);
    COMES_LATE(SleepConditionVariableSRW(&condition, &lock, 1, CONDITION_VARIABLE_LOCKMODE_SHARED));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, SleepConditionVariableSRW(&condition, &lock, 1, 2));
    ReleaseSRWLockShared(&lock);

    for (i = 0; i < THREADS; i++)
        threads[i] = start(sleep_in_section, NULL);
    a_while();
    EnterCriticalSection(&section);
    IS(0, stage);
    stage = 1;
    LeaveCriticalSection(&section);
    /* The first is woken alone; each wakes for the others, too, if they sleep. */
    WakeConditionVariable(&condition);
    for (i = 0; i < THREADS; i++) {
        WakeAllConditionVariable(&condition);
        join(threads[i]);
    }
    IS(1 + THREADS, stage);

    stage = 0;
    for (i = 0; i < THREADS; i++)
        threads[i] = start(sleep_in_lock, i % 2 ? &stage : NULL);
    a_while();
    AcquireSRWLockExclusive(&lock);
    stage = 1;
    ReleaseSRWLockExclusive(&lock);
    WakeAllConditionVariable(&condition);
    for (i = 0; i < THREADS; i++)
        join(threads[i]);
}

int main(void)
{
    alarm(300);
    sections();
    srw_locks();
    conditions();
    return report();
}
