/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* INIT_ONCE, synchronization barriers, WaitOnAddress, Interlocked. */
#include "check.h"

enum { THREADS = 4 };

static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
static LONG calls, firsts, arrived, passed;
static SYNCHRONIZATION_BARRIER barrier;
static ULONG_PTR place;
static BOOL outcome;

static BOOL CALLBACK initialize(PINIT_ONCE self, PVOID parameter, PVOID *context)
{
    IS(1, (ULONG_PTR)self->Ptr);
    IS((ULONG_PTR)&calls, (ULONG_PTR)parameter);
    calls++;
    Sleep(5);
    *context = &place;
    return outcome;
}

static DWORD WINAPI need(LPVOID unused)
{
    PVOID context = NULL;

    (void)unused;
    IS(TRUE, InitOnceExecuteOnce(&once, initialize, &calls, &context));
    IS(1, context == &place);
    return 0;
}

static void run(LPTHREAD_START_ROUTINE work)
{
    HANDLE threads[THREADS];
    int i;

    for (i = 0; i < THREADS; i++)
        threads[i] = start(work, NULL);
    for (i = 0; i < THREADS; i++)
        join(threads[i]);
}

static void init_once(void)
{
    PVOID context = NULL;
    BOOL pending = 77;

    outcome = FALSE;
    WORKS(FALSE, InitOnceExecuteOnce(&once, initialize, &calls, &context));
    IS(1, once.Ptr == NULL);
    FAILS(ERROR_GEN_FAILURE, FALSE, InitOnceBeginInitialize(&once, INIT_ONCE_CHECK_ONLY, &pending, &context));
    IS(77, pending);
    outcome = TRUE;
    calls = 0;
    run(need);
    IS(PLANT(1, 2), calls);
    WORKS(TRUE, InitOnceBeginInitialize(&once, INIT_ONCE_CHECK_ONLY, &pending, &context));
    IS(FALSE, pending);
    InitOnceInitialize(&once);
    WORKS(TRUE, InitOnceBeginInitialize(&once, INIT_ONCE_ASYNC, &pending, &context));
    WORKS(TRUE, InitOnceBeginInitialize(&once, INIT_ONCE_ASYNC, &pending, &context));
    IS(TRUE, pending);
    FAILS(ERROR_INVALID_PARAMETER, FALSE, InitOnceBeginInitialize(&once, 0, &pending, &context));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, InitOnceComplete(&once, 0, &place));
    WORKS(TRUE, InitOnceComplete(&once, INIT_ONCE_ASYNC, &place));
    FAILS(ERROR_GEN_FAILURE, FALSE, InitOnceComplete(&once, INIT_ONCE_ASYNC, &place));
    WORKS(TRUE, InitOnceBeginInitialize(&once, 0, &pending, &context));
    IS(1, !pending && context == &place);
}

static DWORD WINAPI meet(LPVOID unused)
{
    int round;

    (void)unused;
    for (round = 1; round <= 200; round++) {
        InterlockedIncrement(&arrived);
        if (EnterSynchronizationBarrier(&barrier, 0))
            InterlockedIncrement(&firsts);
        if (InterlockedCompareExchange(&arrived, 0, 0) < round * THREADS)
            InterlockedIncrement(&passed);
    }
    return 0;
}

static void barriers(void)
{
    FAILS(ERROR_INVALID_PARAMETER, FALSE, InitializeSynchronizationBarrier(&barrier, 0, -1));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, InitializeSynchronizationBarrier(NULL, 1, -1));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, InitializeSynchronizationBarrier(&barrier, 1, -2));
    WORKS(TRUE, InitializeSynchronizationBarrier(&barrier, 1, -1));
    WORKS(TRUE, EnterSynchronizationBarrier(&barrier, SYNCHRONIZATION_BARRIER_FLAGS_NO_DELETE));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, EnterSynchronizationBarrier(&barrier, 8));
    WORKS(TRUE, InitializeSynchronizationBarrier(&barrier, THREADS, -1));
    run(meet);
    IS(200, firsts);
    IS(0, passed);
    WORKS(TRUE, DeleteSynchronizationBarrier(&barrier));
}

static BYTE small;
static LONG64 large;

static DWORD WINAPI change(LPVOID unused)
{
    (void)unused;
    Sleep(5);
    __atomic_store_n(&small, 1, __ATOMIC_SEQ_CST);
    WakeByAddressSingle(&small);
    Sleep(5);
    InterlockedExchange64(&large, 1);
    WakeByAddressAll(&large);
    return 0;
}

static void addresses(void)
{
    HANDLE thread = start(change, NULL);
    BYTE zero = 0;
    LONG64 zeros = 0;

    while (__atomic_load_n(&small, __ATOMIC_SEQ_CST) == 0)
        WORKS(TRUE, WaitOnAddress(&small, &zero, 1, INFINITE));
    while (InterlockedCompareExchange64(&large, 0, 0) == 0)
        WORKS(TRUE, WaitOnAddress(&large, &zeros, 8, INFINITE));
    join(thread);
    WORKS(TRUE, WaitOnAddress(&small, &zero, 1, INFINITE));
    zero = 1;
    COMES_LATE(WaitOnAddress(&small, &zero, 1, 1));
    COMES_LATE(WaitOnAddress(&small, &zero, 1, 0));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, WaitOnAddress(&small, &zero, 3, 0));
}

static void interlocked(void)
{
    LONG word = 5;
    LONG64 long_word = 5;
    PVOID pointer = NULL;

    IS(6, InterlockedIncrement(&word));
    IS(5, InterlockedDecrement(&word));
    IS(5, InterlockedExchange(&word, 7));
    IS(7, InterlockedExchangeAdd(&word, 3));
    IS(10, InterlockedCompareExchange(&word, 1, 9));
    IS(10, InterlockedCompareExchange(&word, 12, 10));
    IS(12, InterlockedAnd(&word, 4));
    IS(4, InterlockedOr(&word, 3));
    IS(7, InterlockedXor(&word, 2));
    IS(5, word);
    IS(6, InterlockedIncrement64(&long_word));
    IS(5, InterlockedDecrement64(&long_word));
    IS(5, InterlockedExchangeAdd64(&long_word, 1));
    IS(6, InterlockedExchange64(&long_word, 7));
    IS(7, InterlockedCompareExchange64(&long_word, 8, 7));
    IS(1, InterlockedCompareExchangePointer(&pointer, &word, NULL) == NULL);
    IS(1, InterlockedExchangePointer(&pointer, NULL) == &word);
}

int main(void)
{
    alarm(300);
    init_once();
    barriers();
    addresses();
    interlocked();
    return report();
}
