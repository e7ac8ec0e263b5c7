/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"

static HANDLE events[MAXIMUM_WAIT_OBJECTS + 1];

static void any(void)
{
    DWORD i;

    for (i = 0; i <= MAXIMUM_WAIT_OBJECTS; i++)
        events[i] = CreateEvent(NULL, FALSE, TRUE, NULL);
    for (i = 0; i < MAXIMUM_WAIT_OBJECTS; i++)
        WORKS(WAIT_OBJECT_0 + i, WaitForMultipleObjects(MAXIMUM_WAIT_OBJECTS, events, FALSE, INFINITE));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(MAXIMUM_WAIT_OBJECTS, events, FALSE, 0));
    FAILS(ERROR_INVALID_PARAMETER, WAIT_FAILED, WaitForMultipleObjects(MAXIMUM_WAIT_OBJECTS + 1, events, FALSE, 0));
    FAILS(ERROR_INVALID_PARAMETER, WAIT_FAILED, WaitForMultipleObjects(0, events, FALSE, 0));
    FAILS(ERROR_INVALID_PARAMETER, WAIT_FAILED, WaitForMultipleObjects(0, events, TRUE, 0));
}

static void twice_and_never(void)
{
    HANDLE twice[3];

    twice[0] = twice[1] = events[0];
    IS(TRUE, DuplicateHandle(GetCurrentProcess(), events[0], GetCurrentProcess(), &twice[2], 0, FALSE, DUPLICATE_SAME_ACCESS));
    FAILS(ERROR_INVALID_PARAMETER, WAIT_FAILED, WaitForMultipleObjects(2, twice, TRUE, 0));
    FAILS(ERROR_INVALID_PARAMETER, WAIT_FAILED, WaitForMultipleObjects(2, twice + 1, TRUE, 0));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, twice, FALSE, 0));
    IS(TRUE, SetEvent(events[0]));
    WORKS(WAIT_OBJECT_0, WaitForMultipleObjects(3, twice, FALSE, 0));
    IS(TRUE, CloseHandle(twice[2]));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForMultipleObjects(3, twice, FALSE, 0));
    twice[1] = GetCurrentThread();
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForMultipleObjects(2, twice, FALSE, 0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(GetCurrentThread(), 1));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(GetCurrentProcess(), 0));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForSingleObject((HANDLE)(LONG_PTR)-3, 0));
}

static void all(void)
{
    HANDLE mutex = CreateMutex(NULL, FALSE, NULL), three[3];

    three[0] = events[0];
    three[1] = events[1];
    three[2] = mutex;
    IS(TRUE, SetEvent(events[0]));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(3, three, TRUE, 1));
    /* It has taken nothing. */
    FAILS(ERROR_NOT_OWNER, FALSE, ReleaseMutex(mutex));
    IS(TRUE, SetEvent(events[1]));
    WORKS(PLANT(WAIT_OBJECT_0, WAIT_TIMEOUT), WaitForMultipleObjects(3, three, TRUE, INFINITE));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, three, FALSE, 0));
    WORKS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, CloseHandle(mutex));
}

static DWORD WINAPI answer(LPVOID unused)
{
    int i;

    (void)unused;
    for (i = 0; i < 200; i++)
        IS(WAIT_OBJECT_0, SignalObjectAndWait(events[3], events[2], INFINITE, FALSE));
    return 0;
}

static void signal_and_wait(void)
{
    HANDLE thread, mutex = CreateMutex(NULL, TRUE, NULL), full = CreateSemaphore(NULL, 1, 1, NULL);
    int i;

    thread = start(answer, NULL);
    for (i = 0; i < 200; i++) {
        IS(WAIT_OBJECT_0, WaitForSingleObject(events[3], INFINITE));
        IS(TRUE, SetEvent(events[2]));
    }
    join(thread);
    WORKS(WAIT_TIMEOUT, SignalObjectAndWait(mutex, events[2], 0, FALSE));
    FAILS(ERROR_NOT_OWNER, WAIT_FAILED, SignalObjectAndWait(mutex, events[2], 0, FALSE));
    FAILS(ERROR_TOO_MANY_POSTS, WAIT_FAILED, SignalObjectAndWait(full, events[2], 0, FALSE));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, SignalObjectAndWait(events[4], NULL, 0, FALSE));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, SignalObjectAndWait(thread, events[4], 0, FALSE));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(events[4], 0));
    WORKS(WAIT_OBJECT_0, SignalObjectAndWait(events[4], events[4], 0, FALSE));
    IS(TRUE, CloseHandle(mutex));
    IS(TRUE, CloseHandle(full));
}

/* Threads take an object from each other through waits for several and for one. */
static HANDLE queue[2];
static LONG taken;

static DWORD WINAPI take(LPVOID all_at_once)
{
    HANDLE both[2];
    int i;

    both[0] = queue[0];
    both[1] = queue[1];
    for (i = 0; i < 1000; i++) {
        IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, all_at_once != NULL, INFINITE));
        InterlockedIncrement(&taken);
        IS(TRUE, ReleaseSemaphore(queue[0], 1, NULL));
        if (all_at_once)
            IS(TRUE, ReleaseMutex(queue[1]));
    }
    return 0;
}

static void contended(void)
{
    HANDLE threads[4];
    int i;

    queue[0] = CreateSemaphore(NULL, 2, 2, NULL);
    queue[1] = CreateMutex(NULL, FALSE, NULL);
    for (i = 0; i < 4; i++)
        threads[i] = start(take, &taken);
    for (i = 0; i < 4; i++)
        join(threads[i]);
    IS(4000, taken);
}

int main(void)
{
    alarm(300);
    any();
    twice_and_never();
    all();
    signal_and_wait();
    contended();
    return report();
}
