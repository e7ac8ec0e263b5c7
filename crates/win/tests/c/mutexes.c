/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"

static HANDLE mutex, other, owned, go;

static DWORD WINAPI own_and_end(LPVOID how)
{
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, INFINITE));
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, INFINITE));
    IS(WAIT_OBJECT_0, WaitForSingleObject(other, INFINITE));
    IS(TRUE, ReleaseMutex(other));
    IS(TRUE, SetEvent(owned));
    IS(WAIT_OBJECT_0, WaitForSingleObject(go, INFINITE));
    if (how)
        ExitThread(7);
    return 7;
}

static DWORD WINAPI inherit(LPVOID unused)
{
    (void)unused;
    IS(WAIT_ABANDONED, WaitForSingleObject(mutex, INFINITE));
    IS(TRUE, ReleaseMutex(mutex));
    return 0;
}

static void recursion(void)
{
    mutex = CreateMutex(NULL, TRUE, NULL);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(mutex, 0));
    WORKS(TRUE, ReleaseMutex(mutex));
    WORKS(TRUE, ReleaseMutex(mutex));
    FAILS(PLANT(ERROR_NOT_OWNER, ERROR_INVALID_HANDLE), FALSE, ReleaseMutex(mutex));
    FAILS(ERROR_INVALID_HANDLE, FALSE, ReleaseMutex(NULL));
    IS(TRUE, CloseHandle(mutex));
}

/* The end of a thread abandons what it owns, and nothing else. */
static void abandoned(int exits)
{
    HANDLE thread;
    int i;

    mutex = CreateMutex(NULL, FALSE, NULL);
    other = CreateMutexExA(NULL, NULL, 0, MUTEX_ALL_ACCESS);
    owned = CreateEvent(NULL, FALSE, FALSE, NULL);
    go = CreateEvent(NULL, TRUE, FALSE, NULL);
    thread = start(own_and_end, exits ? &exits : NULL);
    IS(WAIT_OBJECT_0, WaitForSingleObject(owned, INFINITE));
    IS(WAIT_TIMEOUT, WaitForSingleObject(mutex, 0));
    FAILS(ERROR_NOT_OWNER, FALSE, ReleaseMutex(mutex));
    IS(TRUE, SetEvent(go));
    join(thread);
    IS(WAIT_OBJECT_0, WaitForSingleObject(other, 0));
    IS(WAIT_ABANDONED, WaitForSingleObject(mutex, 0));
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, 0));
    for (i = 0; i < 2; i++)
        IS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, ReleaseMutex(other));
}

static HANDLE several[4];

static DWORD WINAPI own_several_and_end(LPVOID unused)
{
    int i;

    (void)unused;
    for (i = 0; i < 4; i++)
        IS(WAIT_OBJECT_0, WaitForSingleObject(several[i], INFINITE));
    /* The first and the third are given back, and the first is taken twice more and given back once. */
    IS(TRUE, ReleaseMutex(several[0]));
    IS(TRUE, ReleaseMutex(several[2]));
    IS(WAIT_OBJECT_0, WaitForMultipleObjects(1, several, TRUE, INFINITE));
    IS(WAIT_OBJECT_0, WaitForSingleObject(several[0], INFINITE));
    IS(TRUE, ReleaseMutex(several[0]));
    /* The second is taken once more and given back as often. */
    IS(WAIT_OBJECT_0, WaitForSingleObject(several[1], INFINITE));
    IS(TRUE, ReleaseMutex(several[1]));
    IS(TRUE, ReleaseMutex(several[1]));
    return 0;
}

/* Of several mutexes the end of a thread abandons those that it owns at the end. */
static void abandoned_among_several(void)
{
    static const DWORD expected[4] = {WAIT_ABANDONED, WAIT_OBJECT_0, WAIT_OBJECT_0, WAIT_ABANDONED};
    int i;

    for (i = 0; i < 4; i++)
        several[i] = CreateMutex(NULL, FALSE, NULL);
    join(start(own_several_and_end, NULL));
    for (i = 0; i < 4; i++) {
        IS(expected[i], WaitForSingleObject(several[i], 0));
        IS(TRUE, ReleaseMutex(several[i]));
        IS(TRUE, CloseHandle(several[i]));
    }
}

/* A wait keeps a mutex whose last handle is closed: its owner's end abandons it, and the waiter gets it. */
static void closed_while_awaited(void)
{
    HANDLE owner, waiter;

    ResetEvent(go);
    owner = start(own_and_end, NULL);
    IS(WAIT_OBJECT_0, WaitForSingleObject(owned, INFINITE));
    waiter = CreateThread(NULL, 0, inherit, NULL, 0, NULL);
    a_while();
    /* The waiter releases by a handle, which is closed: it gets another one of the same mutex. */
    IS(WAIT_TIMEOUT, WaitForSingleObject(waiter, 0));
    IS(TRUE, SetEvent(go));
    join(owner);
    join(waiter);
}

static DWORD WINAPI wait_for(LPVOID handle)
{
    return WaitForSingleObject(handle, INFINITE);
}

static void closed_before_the_end(void)
{
    HANDLE owner, waiter;
    DWORD code;

    ResetEvent(go);
    owner = start(own_and_end, NULL);
    IS(WAIT_OBJECT_0, WaitForSingleObject(owned, INFINITE));
    waiter = start(wait_for, mutex);
    a_while();
    IS(TRUE, CloseHandle(mutex));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForSingleObject(mutex, 0));
    IS(WAIT_TIMEOUT, WaitForSingleObject(waiter, 0));
    IS(TRUE, SetEvent(go));
    IS(WAIT_OBJECT_0, WaitForSingleObject(waiter, INFINITE));
    IS(TRUE, GetExitCodeThread(waiter, &code));
    /* If the waiter was not yet asleep when the handle was closed, its wait has failed. */
    IS(1, code == WAIT_ABANDONED || code == WAIT_FAILED);
    IS(TRUE, CloseHandle(waiter));
    join(owner);
}

/* Mutexes that were closed while they were owned are not kept in mind. */
static void closed_while_owned(void)
{
    int i;

    for (i = 0; i < 10000; i++) {
        HANDLE brief = CreateMutex(NULL, TRUE, NULL);

        if (!brief || !CloseHandle(brief))
            IS(0, i);
    }
    IS(10000, i);
}

int main(void)
{
    alarm(300);
    recursion();
    abandoned(0);
    abandoned(1);
    abandoned_among_several();
    closed_while_awaited();
    closed_before_the_end();
    closed_while_owned();
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateMutexExA(NULL, NULL, 2, MUTEX_ALL_ACCESS) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateMutexExW(NULL, NULL, 2, MUTEX_ALL_ACCESS) != NULL);
    return report();
}
