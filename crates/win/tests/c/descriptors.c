/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <ntux/win/descriptors.h>
#include <ntux/win/ioapiset.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif

static int ends[2];

static int is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void put_byte(void)
{
    IS(1, write(ends[1], "x", 1));
}

static void get_byte(void)
{
    char byte;

    IS(1, read(ends[0], &byte, 1));
}

static void refused(void)
{
    FAILS(ERROR_INVALID_HANDLE, NULL, ntw_HandleFromFd(-1, 0));
    FAILS(ERROR_INVALID_HANDLE, NULL, ntw_HandleFromFd(100000, 0));
    FAILS(ERROR_INVALID_HANDLE, NULL, ntw_HandleFromFd(100000, NTW_FD_OWN));
    FAILS(ERROR_INVALID_PARAMETER, NULL, ntw_HandleFromFd(ends[0], 4));
    FAILS(ERROR_INVALID_HANDLE, -1, ntw_FdOfHandle(NULL));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, ntw_TakeByFd(ends[0]));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, ntw_CloseFdOfHandle(-1));
}

/* To whom the descriptor belongs. */
static void owned(void)
{
    int fd = dup(ends[0]);
    HANDLE handle;

    WORKS(1, (handle = ntw_HandleFromFd(fd, 0)) != NULL);
    IS(0, close(fd));
    put_byte();
    /* The handle has a duplicate. */
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, INFINITE));
    get_byte();
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(handle, 0));
    IS(TRUE, CloseHandle(handle));
    fd = dup(ends[0]);
    WORKS(1, (handle = ntw_HandleFromFd(fd, NTW_FD_OWN)) != NULL);
    IS(1, is_open(fd));
    IS(TRUE, CloseHandle(handle));
    IS(PLANT(0, 1), is_open(fd));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForSingleObject(handle, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(handle));
}

static DWORD WINAPI put_late(LPVOID unused)
{
    (void)unused;
    a_while();
    put_byte();
    return 0;
}

static DWORD WINAPI set_late(LPVOID event)
{
    a_while();
    IS(TRUE, SetEvent((HANDLE)event));
    return 0;
}

/* A level: signaled as long as there is something to read; and when the other end is closed. */
static void levels(void)
{
    int pair[2];
    HANDLE handle = ntw_HandleFromFd(ends[0], 0), thread;

    WORKS(WAIT_TIMEOUT, WaitForSingleObject(handle, 0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(handle, 5));
    put_byte();
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, 0));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, INFINITE));
    get_byte();
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(handle, 0));
    thread = start(put_late, NULL);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, INFINITE));
    join(thread);
    get_byte();
    IS(TRUE, CloseHandle(handle));
    IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    handle = ntw_HandleFromFd(pair[0], NTW_FD_OWN);
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(handle, 0));
    IS(0, close(pair[1]));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, INFINITE));
    IS(TRUE, CloseHandle(handle));
}

static void writable(void)
{
    static char bytes[65536];
    int pair[2];
    HANDLE handle;

    IS(0, pipe(pair));
    IS(0, fcntl(pair[1], F_SETFL, O_NONBLOCK));
    handle = ntw_HandleFromFd(pair[1], NTW_FD_WRITABLE);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, 0));
    while (write(pair[1], bytes, sizeof bytes) > 0)
        ;
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(handle, 1));
    while (read(pair[0], bytes, sizeof bytes) == sizeof bytes && WaitForSingleObject(handle, 0) == WAIT_TIMEOUT)
        ;
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, 0));
    IS(TRUE, CloseHandle(handle));
    IS(0, close(pair[0]));
    IS(0, close(pair[1]));
}

static LONG calls;

static void CALLBACK count(ULONG_PTR unused)
{
    (void)unused;
    calls++;
}

static void among_objects(void)
{
    HANDLE both[3], thread;
    LARGE_INTEGER due;

    both[0] = CreateEvent(NULL, FALSE, FALSE, NULL);
    both[1] = ntw_HandleFromFd(ends[0], 0);
    both[2] = CreateWaitableTimer(NULL, FALSE, NULL);
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 0));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 5));
    put_byte();
    WORKS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    /* The first of both. */
    IS(TRUE, SetEvent(both[0]));
    WORKS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    IS(TRUE, SetEvent(both[0]));
    thread = both[0];
    both[0] = both[1];
    both[1] = thread;
    WORKS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    get_byte();
    WORKS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 0));
    /* Asleep. */
    thread = start(set_late, both[1]);
    WORKS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    join(thread);
    thread = start(put_late, NULL);
    WORKS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    join(thread);
    get_byte();
    due.QuadPart = -50000;
    IS(TRUE, SetWaitableTimer(both[2], &due, 0, NULL, NULL, FALSE));
    WORKS(WAIT_OBJECT_0 + 2, WaitForMultipleObjects(3, both, FALSE, INFINITE));
    /* Calls of the thread end it, too. */
    IS(1, QueueUserAPC(count, GetCurrentThread(), 0));
    WORKS(WAIT_IO_COMPLETION, WaitForMultipleObjectsEx(2, both, FALSE, INFINITE, TRUE));
    IS(1, calls);
    /* With an object, all of them are too many. */
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, WAIT_FAILED, WaitForMultipleObjects(2, both, TRUE, 0));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, WAIT_FAILED, WaitForMultipleObjects(2, both, TRUE, INFINITE));
    /* It signals, then it waits; a descriptor is not signaled by a handle. */
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, SignalObjectAndWait(both[0], both[1], 0, FALSE));
    WORKS(WAIT_TIMEOUT, SignalObjectAndWait(both[1], both[0], 1, FALSE));
    thread = start(put_late, NULL);
    WORKS(WAIT_OBJECT_0, SignalObjectAndWait(both[1], both[0], INFINITE, FALSE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(both[1], 0));
    join(thread);
    get_byte();
    IS(TRUE, CloseHandle(both[0]));
    IS(TRUE, CloseHandle(both[1]));
    IS(TRUE, CloseHandle(both[2]));
}

static void all_of_several(void)
{
    int others[2];
    HANDLE all[2], twice[2], thread;
    char byte;

    IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, others));
    all[0] = ntw_HandleFromFd(others[0], 0);
    all[1] = ntw_HandleFromFd(ends[0], 0);
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, all, TRUE, 0));
    IS(1, write(others[1], "x", 1));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, all, TRUE, 0));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, all, TRUE, 5));
    thread = start(put_late, NULL);
    WORKS(WAIT_OBJECT_0, WaitForMultipleObjects(2, all, TRUE, INFINITE));
    join(thread);
    IS(1, read(others[0], &byte, 1));
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, all, TRUE, 1));
    get_byte();
    IS(1, QueueUserAPC(count, GetCurrentThread(), 0));
    WORKS(WAIT_IO_COMPLETION, WaitForMultipleObjectsEx(2, all, TRUE, INFINITE, TRUE));
    twice[0] = all[0];
    IS(TRUE, DuplicateHandle(GetCurrentProcess(), all[0], GetCurrentProcess(), &twice[1], 0, FALSE, DUPLICATE_SAME_ACCESS));
    FAILS(ERROR_INVALID_PARAMETER, WAIT_FAILED, WaitForMultipleObjects(2, twice, TRUE, 0));
    IS(TRUE, CloseHandle(twice[1]));
    IS(TRUE, CloseHandle(all[0]));
    IS(TRUE, CloseHandle(all[1]));
    IS(0, close(others[0]));
    IS(0, close(others[1]));
}

static HANDLE fired;

static void CALLBACK fire(PVOID unused, BOOLEAN is_late)
{
    (void)unused;
    IS(FALSE, is_late);
    get_byte();
    IS(TRUE, SetEvent(fired));
}

static void registered(void)
{
    HANDLE handle = ntw_HandleFromFd(ends[0], 0), wait;

    fired = CreateEvent(NULL, FALSE, FALSE, NULL);
    IS(TRUE, RegisterWaitForSingleObject(&wait, handle, fire, NULL, INFINITE, WT_EXECUTEONLYONCE));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(fired, 5));
    put_byte();
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(fired, INFINITE));
    IS(TRUE, UnregisterWaitEx(wait, INVALID_HANDLE_VALUE));
    IS(TRUE, CloseHandle(fired));
    IS(TRUE, CloseHandle(handle));
}

static int is_readable(int fd, int milliseconds)
{
    struct pollfd polled;
    int ready;

    polled.fd = fd;
    polled.events = POLLIN;
    polled.revents = 0;
    do
        ready = poll(&polled, 1, milliseconds);
    while (ready < 0 && errno == EINTR);
    return ready == 1;
}

/* Polls until the object was acquired: a descriptor can be readable for nothing. */
static DWORD acquire(int fd)
{
    DWORD result;

    do
        IS(1, is_readable(fd, -1));
    while ((result = ntw_TakeByFd(fd)) == WAIT_TIMEOUT);
    return result;
}

/* Nothing is there to be taken, and in the end it is unreadable. */
static int is_quiet(int fd)
{
    do
        IS(WAIT_TIMEOUT, ntw_TakeByFd(fd));
    while (is_readable(fd, 0));
    return 1;
}

/* Readable, and stays so until there is nothing. */
static void poll_event(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL), thread;
    int fd;

    WORKS(1, (fd = ntw_FdOfHandle(event)) >= 0);
    IS(1, is_quiet(fd));
    IS(TRUE, SetEvent(event));
    /* It was acquired for the descriptor. */
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(event, 0));
    IS(WAIT_OBJECT_0, acquire(fd));
    IS(1, is_quiet(fd));
    thread = start(set_late, event);
    IS(WAIT_OBJECT_0, acquire(fd));
    IS(1, is_quiet(fd));
    join(thread);
    IS(TRUE, SetEvent(event));
    /* It keeps the object. */
    IS(TRUE, CloseHandle(event));
    IS(WAIT_OBJECT_0, acquire(fd));
    IS(1, is_quiet(fd));
    WORKS(WAIT_TIMEOUT, ntw_CloseFdOfHandle(fd));
    IS(0, is_open(fd));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, ntw_TakeByFd(fd));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, ntw_CloseFdOfHandle(fd));
}

/* What was acquired, and nobody took, the close tells. */
static void poll_semaphore(void)
{
    HANDLE semaphore = CreateSemaphore(NULL, 2, 9, NULL);
    LONG previous = -1;
    int fd = ntw_FdOfHandle(semaphore), taken = 1;

    IS(WAIT_OBJECT_0, acquire(fd));
    while (ntw_TakeByFd(fd) == WAIT_OBJECT_0)
        taken++;
    IS(2, taken);
    IS(TRUE, ReleaseSemaphore(semaphore, 3, &previous));
    IS(0, previous);
    WORKS(WAIT_OBJECT_0, ntw_CloseFdOfHandle(fd));
    IS(TRUE, ReleaseSemaphore(semaphore, 1, &previous));
    IS(2, previous);
    IS(TRUE, CloseHandle(semaphore));
}

static DWORD WINAPI end_late(LPVOID unused)
{
    (void)unused;
    a_while();
    return 0;
}

static void poll_others(void)
{
    HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 0);
    HANDLE thread = start(end_late, NULL), mutex = CreateMutex(NULL, FALSE, NULL);
    HANDLE timer = CreateWaitableTimer(NULL, FALSE, NULL), handle = ntw_HandleFromFd(ends[0], 0);
    int of_port = ntw_FdOfHandle(port), of_thread = ntw_FdOfHandle(thread), of_timer;
    LARGE_INTEGER due;

    IS(1, is_quiet(of_port));
    IS(TRUE, PostQueuedCompletionStatus(port, 1, 2, NULL));
    IS(WAIT_OBJECT_0, acquire(of_port));
    IS(TRUE, GetQueuedCompletionStatus(port, NULL, NULL, NULL, 0));
    IS(1, is_quiet(of_port));
    IS(TRUE, CloseHandle(port));
    IS(1, is_readable(of_port, -1));
    IS(WAIT_OBJECT_0, acquire(of_thread));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(thread, 0));
    IS(WAIT_OBJECT_0, ntw_CloseFdOfHandle(of_port));
    IS(WAIT_TIMEOUT, ntw_CloseFdOfHandle(of_thread));
    IS(TRUE, CloseHandle(thread));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, -1, ntw_FdOfHandle(mutex));
    of_timer = ntw_FdOfHandle(timer);
    IS(1, is_quiet(of_timer));
    due.QuadPart = -200000; /* 20 ms */
    IS(TRUE, SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE));
    IS(WAIT_OBJECT_0, acquire(of_timer));
    IS(WAIT_TIMEOUT, WaitForSingleObject(timer, 0));
    IS(WAIT_TIMEOUT, ntw_CloseFdOfHandle(of_timer));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, -1, ntw_FdOfHandle(handle));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, NULL, CreateIoCompletionPort(handle, NULL, 0, 0));
    IS(TRUE, CloseHandle(mutex));
    IS(TRUE, CloseHandle(timer));
    IS(TRUE, CloseHandle(handle));
}

#if IS_LINUX
/* Elsewhere there are no handles of other processes. */
static void poll_process(void)
{
    HANDLE process;
    int fd, status;
    pid_t child = fork();

    if (child == 0) {
        usleep(50000);
        _exit(7);
    }
    process = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)child);
    fd = ntw_FdOfHandle(process);
    IS(WAIT_OBJECT_0, acquire(fd));
    IS(WAIT_TIMEOUT, ntw_CloseFdOfHandle(fd));
    IS(child, waitpid(child, &status, 0));
    IS(TRUE, CloseHandle(process));
}
#endif

/* A child can wait for its parent's descriptors, and has no part in what its parent polls. */
static void forked(void)
{
    HANDLE handle = ntw_HandleFromFd(ends[0], NTW_FD_OWN), event = CreateEvent(NULL, FALSE, FALSE, NULL);
    int fd = ntw_FdOfHandle(event), status = -1;
    pid_t child;

    put_byte();
    child = fork();
    if (child == 0) {
        failures = 0;
        FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, ntw_TakeByFd(fd));
        FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, ntw_CloseFdOfHandle(fd));
        WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, INFINITE));
        get_byte();
        WORKS(WAIT_TIMEOUT, WaitForSingleObject(handle, 1));
        IS(TRUE, CloseHandle(handle));
        _exit(failures != 0);
    }
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(handle, 0));
    put_byte();
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, INFINITE));
    IS(TRUE, SetEvent(event));
    WORKS(WAIT_OBJECT_0, ntw_TakeByFd(fd));
    IS(WAIT_TIMEOUT, ntw_CloseFdOfHandle(fd));
    IS(TRUE, CloseHandle(event));
    IS(TRUE, CloseHandle(handle));
    IS(0, is_open(ends[0]));
}

#ifdef __linux__
static DWORD WINAPI wait_too(LPVOID handle)
{
    int i;

    for (i = 0; i < 20; i++)
        WORKS(WAIT_TIMEOUT, WaitForSingleObject((HANDLE)handle, 2));
    return 0;
}

/* Nothing of a wait is left that interrupts what its thread does later. */
static void undisturbed(void)
{
    HANDLE handle = ntw_HandleFromFd(ends[0], 0), thread;
    int nothing = epoll_create1(0), i;
    struct epoll_event found;

    for (i = 0; i < 5; i++) {
        thread = start(put_late, NULL);
        /* On a busy machine the byte comes later. */
        if (WaitForSingleObject(handle, 70) != WAIT_OBJECT_0)
            WORKS(WAIT_OBJECT_0, WaitForSingleObject(handle, INFINITE));
        join(thread);
        get_byte();
        thread = start(wait_too, handle);
        IS(0, epoll_wait(nothing, &found, 1, 60));
        join(thread);
    }
    IS(0, close(nothing));
    IS(TRUE, CloseHandle(handle));
}
#endif

#ifndef KILLED
#define KILLED 60
#endif

/* Children that are killed in their sleep, or about to fall asleep or to wake: an event goes to who is left, and places are used again. */
static void killed(void)
{
    HANDLE both[2], thread;
    int i, status;
    pid_t child;

    both[0] = ntw_HandleFromFd(ends[0], 0);
    both[1] = CreateEvent(NULL, FALSE, FALSE, NULL);
    for (i = 0; i < KILLED; i++) {
        child = fork();
        if (child == 0)
            for (;;)
                WaitForMultipleObjects(2, both, FALSE, i % 3 ? INFINITE : 0);
        usleep((unsigned)(i * 37 % 1000));
        IS(0, kill(child, SIGKILL));
        IS(child, waitpid(child, &status, 0));
        WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 0));
        IS(TRUE, SetEvent(both[1]));
        WORKS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    }
    thread = start(set_late, both[1]);
    WORKS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    join(thread);
    IS(TRUE, CloseHandle(both[0]));
    IS(TRUE, CloseHandle(both[1]));
}

int main(void)
{
    alarm(300);
    IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    refused();
    owned();
    levels();
    writable();
    among_objects();
    all_of_several();
#ifdef __linux__
    undisturbed();
#endif
    registered();
    poll_event();
    poll_semaphore();
    poll_others();
#if IS_LINUX
    poll_process();
#endif
    killed();
    forked();
    return report();
}
