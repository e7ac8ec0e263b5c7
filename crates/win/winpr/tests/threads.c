/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads, calls that are queued to them, and pools. */
#include "expect.h"
#include <pthread.h>

enum { BUSY = 200 };

static volatile LONG calls;
static HANDLE called;
static int ends[2];
static pthread_key_t key;

static VOID CALLBACK counts(ULONG_PTR more)
{
    InterlockedExchangeAdd(&calls, (LONG)more);
}

static DWORD WINAPI counted(LPVOID unused)
{
    (void)unused;
    IS(5, calls);
    ExitThread(7);
    return 8;
}

static DWORD WINAPI reads(LPVOID unused)
{
    char byte;

    (void)unused;
    return (DWORD)read(ends[0], &byte, 1);
}

/* A library's own, which takes its time. */
static void is_destroyed(void *argument)
{
    Sleep(SHORT_MS);
    InterlockedIncrement(argument);
}

static DWORD WINAPI leaves(LPVOID argument)
{
    (void)pthread_setspecific(key, argument);
    return 0;
}

/* A thread has ended when nothing of it runs any more: what it uses may be gone after a wait. */
static void ended(void)
{
    volatile LONG destroyed = 0;
    HANDLE both[2] = { NULL, called };

    IS(0, pthread_key_create(&key, is_destroyed));
    for (LONG round = 1; round <= 3; round++) {
        both[0] = start(leaves, (LPVOID)&destroyed);
        if (round == 1)
            IS(WAIT_OBJECT_0, WaitForSingleObject(both[0], LONG_MS));
        else if (round == 2)
            IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, FALSE, LONG_MS));
        else {
            (void)SetEvent(called);
            IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, TRUE, LONG_MS));
        }
        IS(round, destroyed);
        join(both[0]);
    }
}

/* What a thread is at while it is terminated. */
static DWORD WINAPI is_busy(LPVOID way)
{
    HANDLE both[2] = { CreateEvent(NULL, FALSE, FALSE, NULL), NULL };

    both[1] = CreateFileDescriptorEvent(NULL, FALSE, FALSE, ends[0], WINPR_FD_READ);
    while (!failures) {
        HANDLE set = CreateEvent(NULL, TRUE, TRUE, NULL);

        if ((size_t)way == 0)
            IS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 1));
        else if ((size_t)way == 1)
            IS(WAIT_TIMEOUT, WaitForSingleObject(both[0], 1));
        else if ((size_t)way == 2)
            IS(0, SleepEx(1, TRUE));
        else
            IS(TRUE, GetEventFileDescriptor(set) >= 0 && ResetEvent(set) && SetEvent(set));
        (void)CloseHandle(set);
    }
    return 0;
}

/* No thread of WinPR. */
static void *alone(void *unused)
{
    IS(1, QueueUserAPC(counts, _GetCurrentThread(), 3));
    IS(WAIT_IO_COMPLETION, SleepEx(LONG_MS, TRUE));
    IS(3, calls);
    return unused;
}

static void queued(void)
{
    DWORD code = 0;
    pthread_t thread;
    HANDLE suspended = CreateThread(NULL, 0, counted, NULL, CREATE_SUSPENDED, NULL);

    IS(1, QueueUserAPC(counts, suspended, 2));
    IS(1, QueueUserAPC(counts, suspended, 3));
    IS(WAIT_TIMEOUT, WaitForSingleObject(suspended, SHORT_MS));
    IS(TRUE, ResumeThread(suspended) != (DWORD)-1);
    IS(WAIT_OBJECT_0, WaitForSingleObject(suspended, LONG_MS));
    IS(TRUE, GetExitCodeThread(suspended, &code));
    IS(7, code);
    (void)CloseHandle(suspended);

    calls = 0;
    IS(0, pthread_create(&thread, NULL, alone, NULL));
    IS(0, pthread_join(thread, NULL));
    /* Nobody resumes it. */
    (void)CloseHandle(CreateThread(NULL, 0, counted, NULL, CREATE_SUSPENDED, NULL));
}

static void terminated(void)
{
    DWORD code = 0;
    HANDLE thread, unbegun = CreateThread(NULL, 0, counted, NULL, CREATE_SUSPENDED, NULL);

    IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    thread = start(reads, NULL);
    Sleep(SHORT_MS);
    IS(TRUE, TerminateThread(thread, 9));
    IS(TRUE, TerminateThread(unbegun, 10));
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, LONG_MS));
    IS(WAIT_OBJECT_0, WaitForSingleObject(unbegun, LONG_MS));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(9, code);
    IS(TRUE, GetExitCodeThread(unbegun, &code));
    IS(10, code);
    (void)CloseHandle(thread);
    (void)CloseHandle(unbegun);

    for (size_t round = 0; round < BUSY; round++) {
        thread = start(is_busy, (LPVOID)(round % 4));
        (void)usleep((useconds_t)(round * 7 % 3000));
        IS(TRUE, TerminateThread(thread, 9));
        join(thread);
    }
}

static VOID CALLBACK simple(PTP_CALLBACK_INSTANCE instance, PVOID event)
{
    SetEventWhenCallbackReturns(instance, event);
}

static VOID CALLBACK waited(PTP_CALLBACK_INSTANCE instance, PVOID event, PTP_WAIT wait, TP_WAIT_RESULT result)
{
    (void)instance;
    (void)wait;
    IS(WAIT_OBJECT_0, result);
    (void)SetEvent(event);
}

static VOID CALLBACK due(PTP_CALLBACK_INSTANCE instance, PVOID event, PTP_TIMER timer)
{
    (void)instance;
    (void)timer;
    (void)SetEvent(event);
}

static void pools(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    HANDLE readable = CreateFileDescriptorEvent(NULL, FALSE, FALSE, ends[0], WINPR_FD_READ);
    FILETIME soon = { (DWORD)-10000, (DWORD)-1 };
    PTP_WAIT wait = CreateThreadpoolWait(waited, called, NULL);
    PTP_TIMER timer = CreateThreadpoolTimer(due, called, NULL);

    IS(TRUE, TrySubmitThreadpoolCallback(simple, called, NULL));
    IS(WAIT_OBJECT_0, WaitForSingleObject(called, LONG_MS));
    if (!wait || !timer) {
        IS(TRUE, FALSE);
        return;
    }

    SetThreadpoolWait(wait, event, NULL);
    IS(WAIT_TIMEOUT, WaitForSingleObject(called, SHORT_MS));
    (void)SetEvent(event);
    IS(WAIT_OBJECT_0, WaitForSingleObject(called, LONG_MS));
    IS(WAIT_TIMEOUT, WaitForSingleObject(event, 0));
    SetThreadpoolWait(wait, readable, NULL);
    IS(WAIT_TIMEOUT, WaitForSingleObject(called, SHORT_MS));
    IS(1, write(ends[1], "x", 1));
    IS(WAIT_OBJECT_0, WaitForSingleObject(called, LONG_MS));
    WaitForThreadpoolWaitCallbacks(wait, FALSE);
    CloseThreadpoolWait(wait);

    SetThreadpoolTimer(timer, &soon, 0, 0);
    IS(WAIT_OBJECT_0, WaitForSingleObject(called, LONG_MS));
    WaitForThreadpoolTimerCallbacks(timer, FALSE);
    CloseThreadpoolTimer(timer);
    (void)CloseHandle(readable);
    (void)CloseHandle(event);
}

int main(void)
{
    called = CreateEvent(NULL, FALSE, FALSE, NULL);
    queued();
    if (!failures)
        ended();
    if (!failures)
        terminated();
    if (!failures)
        pools();
    return failures != 0;
}
