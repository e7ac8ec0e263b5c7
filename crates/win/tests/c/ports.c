/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"
#include <ntux/win/ioapiset.h>
#include <string.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>

#if !IS_LINUX
#ifdef __cplusplus
extern "C" {
#endif
#ifndef __APPLE__
int pthread_threadid_np(pthread_t thread, uint64_t *number);
#endif
int proc_pidinfo(int process, int flavor, uint64_t argument, void *place, int size);
#ifdef __cplusplus
}
#endif
#endif

#define MANY 5000
#define SLEEPERS 3

/* Errors, as `take` returns them. */
#define LATE      (-(LONG)WAIT_TIMEOUT)
#define BY_CALL   (-(LONG)WAIT_IO_COMPLETION)
#define ABANDONED (-(LONG)ERROR_ABANDONED_WAIT_0)

static HANDLE port;

static HANDLE new_port(void)
{
    HANDLE made = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 0);

    IS(1, made != NULL);
    return made;
}

static void post(ULONG_PTR key)
{
    IS(TRUE, PostQueuedCompletionStatus(port, (DWORD)key + 1, key, NULL));
}

/* The key of the packet that is taken; the error, less than 0, if none is. */
static LONG take(DWORD milliseconds)
{
    DWORD bytes = 77;
    ULONG_PTR key = 78;
    OVERLAPPED *overlapped = (OVERLAPPED *)&bytes;

    if (GetQueuedCompletionStatus(port, &bytes, &key, &overlapped, milliseconds)) {
        IS(key + 1, bytes);
        return (LONG)key;
    }
    IS(0, overlapped != NULL);
    IS(77, bytes);
    IS(78, key);
    return -(LONG)GetLastError();
}

static LONG take_several(OVERLAPPED_ENTRY *entries, ULONG most, DWORD milliseconds, BOOL alertable)
{
    ULONG removed = 79;

    if (GetQueuedCompletionStatusEx(port, entries, most, &removed, milliseconds, alertable))
        return (LONG)removed;
    IS(0, removed);
    return -(LONG)GetLastError();
}

static void created_and_refused(void)
{
    HANDLE event = CreateEvent(NULL, TRUE, FALSE, NULL), other;
    OVERLAPPED_ENTRY entry;
    ULONG removed = 5;

    WORKS(1, (port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 7, 3)) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, NULL, CreateIoCompletionPort(INVALID_HANDLE_VALUE, port, 0, 0));
    FAILS(ERROR_INVALID_HANDLE, NULL, CreateIoCompletionPort(event, NULL, 0, 0));
    FAILS(ERROR_INVALID_HANDLE, NULL, CreateIoCompletionPort(event, port, 0, 0));
    FAILS(ERROR_INVALID_HANDLE, NULL, CreateIoCompletionPort((HANDLE)1, port, 0, 0));
    FAILS(ERROR_INVALID_HANDLE, NULL, CreateIoCompletionPort(NULL, port, 0, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, PostQueuedCompletionStatus(event, 0, 0, NULL));
    FAILS(ERROR_INVALID_HANDLE, FALSE, PostQueuedCompletionStatus(NULL, 0, 0, NULL));
    FAILS(ERROR_INVALID_HANDLE, FALSE, GetQueuedCompletionStatus(event, NULL, NULL, NULL, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, GetQueuedCompletionStatusEx(event, &entry, 1, &removed, 0, TRUE));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, GetQueuedCompletionStatusEx(port, &entry, 0, &removed, 0, TRUE));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(port));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, SignalObjectAndWait(port, event, 0, FALSE));
    /* Each right for itself. */
    IS(TRUE, DuplicateHandle(GetCurrentProcess(), port, GetCurrentProcess(), &other, SYNCHRONIZE, FALSE, 0));
    FAILS(ERROR_ACCESS_DENIED, FALSE, PostQueuedCompletionStatus(other, 0, 0, NULL));
    FAILS(ERROR_ACCESS_DENIED, FALSE, GetQueuedCompletionStatus(other, NULL, NULL, NULL, 0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(other, 0));
    IS(TRUE, CloseHandle(other));
    IS(TRUE, DuplicateHandle(GetCurrentProcess(), port, GetCurrentProcess(), &other, IO_COMPLETION_MODIFY_STATE, FALSE, 0));
    WORKS(TRUE, PostQueuedCompletionStatus(other, 1, 0, NULL));
    FAILS(ERROR_ACCESS_DENIED, WAIT_FAILED, WaitForSingleObject(other, 0));
    IS(TRUE, CloseHandle(other));
    IS(0, take(0));
    IS(TRUE, CloseHandle(event));
    IS(TRUE, CloseHandle(port));
    FAILS(ERROR_INVALID_HANDLE, FALSE, PostQueuedCompletionStatus(port, 0, 0, NULL));
}

static void in_order(void)
{
    OVERLAPPED_ENTRY entries[7];
    OVERLAPPED mine, *overlapped = NULL;
    DWORD bytes = 0;
    ULONG_PTR key = 0;
    LONG i, j, count;

    port = new_port();
    IS(LATE, take(0));
    IS(LATE, take(1));
    IS(LATE, take_several(entries, 7, 0, FALSE));
    IS(LATE, take_several(entries, 7, 1, TRUE));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(port, 0));
    /* Many more than a queue of the core has room for. */
    for (i = 0; i < MANY; i++)
        post((ULONG_PTR)i);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(port, 0));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(port, 0));
    for (i = 0; i < MANY / 2; i++)
        IS(i, take(INFINITE));
    while (i < MANY) {
        count = take_several(entries, 7, INFINITE, FALSE);
        IS(MANY - i < 7 ? MANY - i : 7, count);
        for (j = 0; j < count; j++, i++) {
            IS(i, entries[j].lpCompletionKey);
            IS(i + 1, entries[j].dwNumberOfBytesTransferred);
            IS(0, entries[j].Internal);
        }
    }
    IS(PLANT(LATE, 0), take(0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(port, 0));
    /* What was posted comes back, whatever it is; a place for it may be missing. */
    WORKS(TRUE, PostQueuedCompletionStatus(port, 0xffffffffu, ~(ULONG_PTR)0, &mine));
    WORKS(TRUE, GetQueuedCompletionStatus(port, &bytes, &key, &overlapped, 0));
    IS(1, bytes == 0xffffffffu && key == ~(ULONG_PTR)0 && overlapped == &mine);
    post(1);
    WORKS(TRUE, GetQueuedCompletionStatus(port, NULL, NULL, NULL, 0));
    IS(TRUE, CloseHandle(port));
}

/* A thread that takes a packet, and what it has taken. */
struct taker {
    HANDLE thread;
    ULONGLONG number;
    LONG id, taken;
};

#if IS_LINUX
static ULONGLONG this_thread(void)
{
    return GetCurrentThreadId();
}

static int is_asleep(ULONGLONG thread)
{
    char path[64], text[256], *state;
    FILE *file;

    sprintf(path, "/proc/self/task/%d/stat", (int)thread);
    file = fopen(path, "r");
    state = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    if (file)
        fclose(file);
    return state && state[2] == 'S';
}
#else
/* The system's number of the calling thread. */
static ULONGLONG this_thread(void)
{
    uint64_t number = 0;

    pthread_threadid_np(0, &number);
    return number;
}

static int is_asleep(ULONGLONG thread)
{
    enum { OF_THREAD = 15 /* PROC_PIDTHREADID64INFO */, WAITING = 3 };
    struct {
        ULONGLONG times[2];
        int usage, policy, run_state, more[5];
        char name[64];
    } info;
    int size = (int)sizeof info;

    return proc_pidinfo(getpid(), OF_THREAD, thread, &info, size) == size && info.run_state == WAITING;
}
#endif

static DWORD WINAPI take_one(LPVOID argument)
{
    struct taker *taker = (struct taker *)argument;

    taker->number = this_thread();
    InterlockedExchange(&taker->id, (LONG)GetCurrentThreadId());
    InterlockedExchange(&taker->taken, take(INFINITE));
    return 0;
}

static void sleeps(struct taker *taker)
{
    taker->taken = 12345;
    taker->id = 0;
    taker->thread = start(take_one, taker);
    while (!InterlockedCompareExchange(&taker->id, 0, 0))
        Sleep(1);
    do
        Sleep(2);
    while (!is_asleep(taker->number));
}

/* Who has come last is given the first packet. A thread that waits for the handle is not told of what a sleeper is given. */
static void last_comes_first(void)
{
    struct taker takers[SLEEPERS];
    LONG i;

    port = new_port();
    for (i = 0; i < SLEEPERS; i++)
        sleeps(&takers[i]);
    for (i = 0; i < SLEEPERS; i++)
        post((ULONG_PTR)i);
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(port, 0));
    post(SLEEPERS);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(port, 0));
    for (i = 0; i < SLEEPERS; i++) {
        join(takers[i].thread);
        IS(SLEEPERS - 1 - i, takers[i].taken);
    }
    IS(SLEEPERS, take(0));
    IS(TRUE, CloseHandle(port));
}

static DWORD WINAPI wait_for_port(LPVOID unused)
{
    (void)unused;
    return WaitForSingleObject(port, INFINITE);
}

/* The last handle ends all sleeps; no other does. */
static void closed(void)
{
    struct taker takers[SLEEPERS];
    HANDLE other, waiting;
    DWORD code = 1;
    LONG i;

    port = new_port();
    IS(TRUE, DuplicateHandle(GetCurrentProcess(), port, GetCurrentProcess(), &other, 0, FALSE, DUPLICATE_SAME_ACCESS));
    for (i = 0; i < SLEEPERS; i++)
        sleeps(&takers[i]);
    waiting = start(wait_for_port, NULL);
    a_while();
    IS(TRUE, CloseHandle(other));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(takers[0].thread, 10));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(port, 0));
    IS(TRUE, CloseHandle(port));
    for (i = 0; i < SLEEPERS; i++) {
        join(takers[i].thread);
        IS(ABANDONED, takers[i].taken);
    }
    IS(WAIT_OBJECT_0, WaitForSingleObject(waiting, INFINITE));
    IS(TRUE, GetExitCodeThread(waiting, &code));
    /* It has waited, or has come too late. */
    IS(1, code == WAIT_OBJECT_0 || code == WAIT_FAILED);
    IS(TRUE, CloseHandle(waiting));
    /* Packets that nobody has taken go with it. */
    port = new_port();
    post(1);
    IS(TRUE, CloseHandle(port));
}

static LONG calls;

static void CALLBACK count(ULONG_PTR unused)
{
    (void)unused;
    calls++;
}

static void CALLBACK count_due(LPVOID unused, DWORD low, DWORD high)
{
    (void)unused, (void)low, (void)high;
    calls++;
}

static void CALLBACK leave(ULONG_PTR code)
{
    ExitThread((DWORD)code);
}

static DWORD WINAPI leaves(LPVOID unused)
{
    OVERLAPPED_ENTRY entry;

    (void)unused;
    QueueUserAPC(leave, GetCurrentThread(), 6);
    take_several(&entry, 1, INFINITE, TRUE);
    return 7;
}

static DWORD WINAPI call_main(LPVOID thread)
{
    a_while();
    IS(1, QueueUserAPC(count, (HANDLE)thread, 0));
    return 0;
}

static DWORD WINAPI post_late(LPVOID unused)
{
    (void)unused;
    a_while();
    post(9);
    return 0;
}

static void alertable(void)
{
    OVERLAPPED_ENTRY entry;
    HANDLE self, thread, timer;
    LARGE_INTEGER due;
    DWORD code;

    port = new_port();
    /* The thread has not taken from this port: its call comes before the packet. */
    post(1);
    IS(1, QueueUserAPC(count, GetCurrentThread(), 0));
    IS(BY_CALL, take_several(&entry, 1, INFINITE, TRUE));
    IS(1, calls);
    IS(1, take_several(&entry, 1, INFINITE, TRUE));
    /* It has: the packet comes first. A call that is not alertable lets it wait. */
    post(2);
    IS(1, QueueUserAPC(count, GetCurrentThread(), 0));
    IS(1, take_several(&entry, 1, INFINITE, TRUE));
    IS(LATE, take_several(&entry, 1, 1, FALSE));
    IS(LATE, take(1));
    IS(1, calls);
    IS(BY_CALL, take_several(&entry, 1, 0, TRUE));
    IS(2, calls);
    IS(LATE, take_several(&entry, 1, 1, TRUE));
    /* While it sleeps. */
    IS(TRUE, DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &self, 0, FALSE,
                             DUPLICATE_SAME_ACCESS));
    thread = start(call_main, self);
    IS(BY_CALL, take_several(&entry, 1, INFINITE, TRUE));
    IS(3, calls);
    join(thread);
    /* A call that ends no sleep, because that is not alertable, does not end the wait for the packet either. */
    IS(1, QueueUserAPC(count, self, 0));
    thread = start(post_late, NULL);
    IS(9, take(INFINITE));
    join(thread);
    IS(3, calls);
    WORKS(WAIT_IO_COMPLETION, SleepEx(0, TRUE));
    /* A timer's call. */
    timer = CreateWaitableTimer(NULL, FALSE, NULL);
    due.QuadPart = -10000;
    IS(TRUE, SetWaitableTimer(timer, &due, 0, count_due, NULL, FALSE));
    IS(BY_CALL, take_several(&entry, 1, INFINITE, TRUE));
    IS(5, calls);
    IS(TRUE, CloseHandle(timer));
    /* The call ends the thread. */
    thread = start(leaves, NULL);
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(6, code);
    IS(TRUE, CloseHandle(thread));
    post(3);
    IS(3, take(0));
    IS(TRUE, CloseHandle(self));
    IS(TRUE, CloseHandle(port));
}

#define QUIT 0x7fffffff

static LONG sum, taken_by_all, is_done;

/* Sleeps that end by their time-outs among others that do not. */
static DWORD WINAPI take_all(LPVOID argument)
{
    OVERLAPPED_ENTRY entries[3];
    LONG i, key, count, turn = 0, is_late = argument != NULL;

    for (;;) {
        count = turn++ % 2 ? take_several(entries, 3, is_late ? 0 : INFINITE, turn % 4 == 1) : 0;
        for (i = 0; i < count; i++) {
            if (entries[i].lpCompletionKey == QUIT) {
                /* A thread takes what it is given with it, so others may miss their end. */
                for (i++; i < count; i++)
                    post(entries[i].lpCompletionKey);
                return 0;
            }
            InterlockedExchangeAdd(&sum, (LONG)entries[i].lpCompletionKey);
            InterlockedIncrement(&taken_by_all);
        }
        key = take(is_late ? (DWORD)(turn % 2) : INFINITE);
        if (key == QUIT)
            return 0;
        if (key >= 0) {
            InterlockedExchangeAdd(&sum, key);
            InterlockedIncrement(&taken_by_all);
        }
        IS(1, key >= 0 || key == LATE);
    }
}

static DWORD WINAPI post_all(LPVOID unused)
{
    ULONG_PTR key;

    (void)unused;
    for (key = 0; key < MANY; key++) {
        post(key % 100);
        if (key % 50 == 0)
            Sleep(1);
    }
    return 0;
}

/* Each packet is taken by one thread. */
static void by_many_threads(void)
{
    HANDLE posting[2], taking[5];
    LONG i;

    port = new_port();
    for (i = 0; i < 5; i++)
        taking[i] = start(take_all, i < 3 ? &port : NULL);
    for (i = 0; i < 2; i++)
        posting[i] = start(post_all, NULL);
    for (i = 0; i < 2; i++)
        join(posting[i]);
    for (i = 0; i < 5; i++)
        post(QUIT);
    for (i = 0; i < 5; i++)
        join(taking[i]);
    IS(2 * MANY, taken_by_all);
    IS(2 * MANY / 100 * 4950, sum);
    IS(LATE, take(0));
    IS(TRUE, CloseHandle(port));
}

static int in_child(void)
{
    HANDLE parents = port;

    failures = checks = 0;
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE, PostQueuedCompletionStatus(parents, 0, 0, NULL));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE, GetQueuedCompletionStatus(parents, NULL, NULL, NULL, 0));
    IS(TRUE, CloseHandle(parents));
    port = new_port();
    post(4);
    IS(4, take(0));
    IS(LATE, take(1));
    IS(TRUE, CloseHandle(port));
    return failures != 0;
}

static DWORD WINAPI churn(LPVOID unused)
{
    (void)unused;
    while (!InterlockedCompareExchange(&is_done, 0, 0)) {
        post(1);
        take(0);
    }
    return 0;
}

/* A child has ports of its own, whatever threads of its parent were doing; its parent's go on. */
static void forked(void)
{
    HANDLE threads[2];
    pid_t child;
    int i, status = -1;

    port = new_port();
    threads[0] = start(churn, NULL);
    threads[1] = start(churn, NULL);
    for (i = 0; i < 30; i++) {
        child = fork();
        if (child == 0)
            _exit(in_child());
        IS(child, waitpid(child, &status, 0));
        IS(0, status);
    }
    InterlockedExchange(&is_done, 1);
    join(threads[0]);
    join(threads[1]);
    while (take(0) >= 0)
        ;
    post(5);
    IS(5, take(0));
    IS(TRUE, CloseHandle(port));
}

int main(void)
{
    alarm(300);
    created_and_refused();
    in_order();
    last_comes_first();
    closed();
    alertable();
    by_many_threads();
    forked();
    return report();
}
