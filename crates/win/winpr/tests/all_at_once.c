/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A wait for all takes everything in one step, or nothing; mutexes are among it; the death of an owner is told. */
#include "expect.h"

enum { SEATS = 4, MEALS = 2000 };

static HANDLE forks[SEATS];
static volatile LONG users[SEATS];
static HANDLE mutex;

static DWORD WINAPI eats(LPVOID argument)
{
    const size_t left = (size_t)argument, right = (left + 1) % SEATS;
    HANDLE both[2] = { forks[left], forks[right] };

    for (int meal = 0; meal < MEALS && !failures; meal++) {
        IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, TRUE, LONG_MS));
        IS(1, InterlockedIncrement(&users[left]));
        IS(1, InterlockedIncrement(&users[right]));
        InterlockedDecrement(&users[right]);
        InterlockedDecrement(&users[left]);
        (void)SetEvent(both[meal % 2]);
        (void)SetEvent(both[1 - meal % 2]);
    }
    return 0;
}

static DWORD WINAPI takes(LPVOID unused)
{
    (void)unused;
    return WaitForSingleObject(mutex, LONG_MS);
}

static DWORD WINAPI tries(LPVOID unused)
{
    (void)unused;
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, 0));
    IS(TRUE, ReleaseMutex(mutex));
    return 0;
}

/* With one object missing, nothing is taken of the others. */
static void all_or_nothing(void)
{
    HANDLE all[4];

    all[0] = CreateEvent(NULL, FALSE, TRUE, NULL);
    all[1] = CreateSemaphore(NULL, 1, 1, NULL);
    all[2] = mutex;
    all[3] = CreateEvent(NULL, FALSE, FALSE, NULL);
    IS(WAIT_TIMEOUT, WaitForMultipleObjects(4, all, TRUE, SHORT_MS));
    join(start(tries, NULL));
    (void)SetEvent(all[3]);
    IS(WAIT_OBJECT_0, WaitForMultipleObjects(4, all, TRUE, SHORT_MS));
    IS(WAIT_TIMEOUT, WaitForSingleObject(all[0], 0));
    IS(WAIT_TIMEOUT, WaitForSingleObject(all[1], 0));
    IS(WAIT_TIMEOUT, WaitForSingleObject(all[3], 0));
    IS(TRUE, ReleaseMutex(mutex));
    IS(FALSE, ReleaseMutex(mutex));
    IS(ERROR_NOT_OWNER, GetLastError());

    /* What it never took it cannot give back twice. */
    IS(TRUE, ReleaseSemaphore(all[1], 1, NULL));
    IS(FALSE, ReleaseSemaphore(all[1], 1, NULL));
    IS(ERROR_TOO_MANY_POSTS, GetLastError());
    (void)CloseHandle(all[0]);
    (void)CloseHandle(all[1]);
    (void)CloseHandle(all[3]);
}

static void dinner(void)
{
    HANDLE threads[SEATS];

    for (size_t seat = 0; seat < SEATS; seat++)
        forks[seat] = CreateEvent(NULL, FALSE, TRUE, NULL);
    for (size_t seat = 0; seat < SEATS; seat++)
        threads[seat] = start(eats, (LPVOID)seat);
    IS(WAIT_OBJECT_0, WaitForMultipleObjects(SEATS, threads, TRUE, 2 * LONG_MS));
    for (size_t seat = 0; seat < SEATS; seat++)
        join(threads[seat]);
}

static void abandoned(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL), both[2] = { event, mutex };

    join(start(takes, NULL));
    IS(WAIT_ABANDONED + 1, WaitForMultipleObjects(2, both, FALSE, LONG_MS));
    IS(TRUE, ReleaseMutex(mutex));
    IS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, LONG_MS));
    IS(TRUE, ReleaseMutex(mutex));
    (void)CloseHandle(event);
}

int main(void)
{
    mutex = CreateMutex(NULL, FALSE, NULL);
    all_or_nothing();
    if (!failures)
        abandoned();
    if (!failures)
        dinner();
    return failures != 0;
}
