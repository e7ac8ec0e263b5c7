/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sockets among objects, and objects as descriptors. */
#include "expect.h"

enum { ROUNDS = 2000 };

static int ends[2];
static HANDLE event, socket_event;

static BOOL is_readable(int fd)
{
    struct pollfd polled = { fd, POLLIN, 0 };

    return poll(&polled, 1, 0) == 1;
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

static void together(void)
{
    HANDLE both[2] = { event, socket_event };

    IS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 0));
    IS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, SHORT_MS));
    put_byte();
    IS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    (void)SetEvent(event);
    IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    IS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, INFINITE));
    (void)SetEvent(event);
    IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, TRUE, LONG_MS));
    IS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, TRUE, SHORT_MS));
    IS(WAIT_OBJECT_0, WaitForSingleObject(socket_event, 0));
    get_byte();
    IS(WAIT_TIMEOUT, WaitForSingleObject(socket_event, 0));
}

static DWORD WINAPI sets_and_writes(LPVOID other)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 2)
            (void)SetEvent(event);
        else
            put_byte();
        if (WaitForSingleObject(other, LONG_MS) != WAIT_OBJECT_0)
            return 1;
    }
    return 0;
}

/* A thread that sleeps for both is woken by either. */
static void asleep(void)
{
    HANDLE answer = CreateEvent(NULL, FALSE, FALSE, NULL), both[2] = { event, socket_event };
    HANDLE thread = start(sets_and_writes, answer);

    for (int round = 0; round < ROUNDS && !failures; round++) {
        IS(WAIT_OBJECT_0 + 1 - round % 2, WaitForMultipleObjects(2, both, FALSE, LONG_MS));
        if (round % 2 == 0)
            get_byte();
        (void)SetEvent(answer);
    }
    join(thread);
    (void)CloseHandle(answer);
}

/* An event that stays set: its descriptor is readable as long as it is. */
static void level(void)
{
    HANDLE manual = CreateEvent(NULL, TRUE, TRUE, NULL);
    const int fd = GetEventFileDescriptor(manual);

    IS(fd, GetEventFileDescriptor(manual));
    for (int round = 0; round < ROUNDS; round++) {
        IS(TRUE, is_readable(fd));
        IS(WAIT_OBJECT_0, WaitForSingleObject(manual, 0));
        IS(TRUE, is_readable(fd));
        IS(TRUE, ResetEvent(manual));
        IS(FALSE, is_readable(fd));
        IS(WAIT_TIMEOUT, WaitForSingleObject(manual, 0));
        (void)SetEvent(manual);
    }
    (void)CloseHandle(manual);
}

static DWORD WINAPI waits(LPVOID handle)
{
    return WaitForSingleObject(handle, LONG_MS);
}

/* What ends one wait, and was polled: it belongs to whoever waits first then. */
static void taken_once(HANDLE object, int fd, BOOL (*signal)(HANDLE object))
{
    HANDLE thread;
    struct pollfd polled = { fd, POLLIN, 0 };

    IS(TRUE, fd >= 0);
    IS(WAIT_TIMEOUT, WaitForSingleObject(object, 0));
    IS(FALSE, is_readable(fd));
    IS(TRUE, signal(object));
    IS(1, poll(&polled, 1, LONG_MS));
    IS(WAIT_OBJECT_0, WaitForSingleObject(object, LONG_MS));
    IS(WAIT_TIMEOUT, WaitForSingleObject(object, SHORT_MS));
    IS(FALSE, is_readable(fd));

    thread = start(waits, object);
    Sleep(SHORT_MS);
    IS(TRUE, signal(object));
    join(thread);
    IS(WAIT_TIMEOUT, WaitForSingleObject(object, 0));
}

static BOOL releases(HANDLE semaphore)
{
    return ReleaseSemaphore(semaphore, 1, NULL);
}

static BOOL sets_timer(HANDLE timer)
{
    LARGE_INTEGER due;

    due.QuadPart = -10000;
    return SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE);
}

static void polled(void)
{
    HANDLE semaphore = CreateSemaphore(NULL, 0, 5, NULL), timer = CreateWaitableTimer(NULL, FALSE, NULL);
    HANDLE once = CreateEvent(NULL, FALSE, FALSE, NULL);

    taken_once(once, GetEventFileDescriptor(once), SetEvent);
    (void)SetEvent(once);
    IS(TRUE, ResetEvent(once));
    IS(WAIT_TIMEOUT, WaitForSingleObject(once, 0));
    taken_once(semaphore, GetEventFileDescriptor(semaphore), releases);
    taken_once(timer, GetTimerFileDescriptor(timer), sets_timer);
    (void)CloseHandle(semaphore);
    (void)CloseHandle(timer);
    (void)CloseHandle(once);
}

/* Nothing keeps the socket open between two waits. */
static void closed(void)
{
    char byte;

    IS(WAIT_TIMEOUT, WaitForSingleObject(socket_event, 0));
    (void)close(ends[0]);
    IS(0, recv(ends[1], &byte, 1, MSG_DONTWAIT));
    (void)CloseHandle(socket_event);
    (void)close(ends[1]);
}

static void read_or_written(void)
{
    int pair[2];
    HANDLE either, both[2] = { event, NULL };

    IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    either = CreateFileDescriptorEvent(NULL, FALSE, FALSE, pair[0], WINPR_FD_READ | WINPR_FD_WRITE);
    both[1] = either;
    IS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, LONG_MS));
    IS(0, SetEventFileDescriptor(either, pair[1], WINPR_FD_READ));
    IS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 0));
    IS(1, write(pair[0], "x", 1));
    IS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, LONG_MS));
    (void)CloseHandle(either);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

int main(void)
{
    IS(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    event = CreateEvent(NULL, FALSE, FALSE, NULL);
    socket_event = CreateFileDescriptorEvent(NULL, FALSE, FALSE, ends[0], WINPR_FD_READ);
    together();
    if (!failures)
        asleep();
    level();
    polled();
    read_or_written();
    closed();
    return failures != 0;
}
