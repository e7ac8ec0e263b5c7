/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Auto-reset events: one set ends one wait. */
#include "expect.h"

enum { THREADS = 4, ROUNDS = 5000 };

static HANDLE event, answer;
static volatile LONG woken;

static DWORD WINAPI waits(LPVOID times)
{
    for (size_t round = 0; round < (size_t)times; round++) {
        IS(WAIT_OBJECT_0, WaitForSingleObject(event, LONG_MS));
        InterlockedIncrement(&woken);
    }
    return 0;
}

static DWORD WINAPI answers(LPVOID unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        IS(WAIT_OBJECT_0, WaitForSingleObject(event, LONG_MS));
        InterlockedIncrement(&woken);
        (void)SetEvent(answer);
    }
    return 0;
}

static void by_oneself(void)
{
    HANDLE set = CreateEvent(NULL, FALSE, TRUE, NULL), both[2] = { NULL, set };

    IS(WAIT_OBJECT_0, WaitForSingleObject(set, 0));
    IS(WAIT_TIMEOUT, WaitForSingleObject(set, 0));
    IS(TRUE, SetEvent(set));
    IS(TRUE, SetEvent(set));
    IS(WAIT_OBJECT_0, WaitForSingleObject(set, 0));
    IS(WAIT_TIMEOUT, WaitForSingleObject(set, 0));
    IS(TRUE, SetEvent(set));
    IS(TRUE, ResetEvent(set));
    IS(WAIT_TIMEOUT, WaitForSingleObject(set, 0));

    both[0] = CreateEvent(NULL, FALSE, FALSE, NULL);
    (void)SetEvent(both[0]);
    (void)SetEvent(both[1]);
    IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, FALSE, 0));
    IS(WAIT_OBJECT_0 + 1, WaitForMultipleObjects(2, both, FALSE, 0));
    IS(WAIT_TIMEOUT, WaitForMultipleObjects(2, both, FALSE, 0));

    (void)SetEvent(both[1]);
    IS(WAIT_OBJECT_0, SignalObjectAndWait(both[0], both[1], 0, FALSE));
    IS(WAIT_OBJECT_0, WaitForSingleObject(both[0], 0));
    (void)CloseHandle(both[0]);
    (void)CloseHandle(both[1]);
}

static void one_of_several(void)
{
    HANDLE threads[THREADS];

    woken = 0;
    for (int number = 0; number < THREADS; number++)
        threads[number] = start(waits, (LPVOID)1);
    Sleep(SHORT_MS);
    for (LONG number = 0; number < THREADS; number++) {
        IS(number, woken);
        (void)SetEvent(event);
        Sleep(SHORT_MS);
    }
    for (int number = 0; number < THREADS; number++)
        join(threads[number]);
    IS(THREADS, woken);
}

static void to_and_fro(void)
{
    HANDLE thread = start(answers, NULL);

    woken = 0;
    for (LONG round = 0; round < ROUNDS && !failures; round++) {
        IS(round, woken);
        (void)SetEvent(event);
        IS(WAIT_OBJECT_0, WaitForSingleObject(answer, LONG_MS));
    }
    join(thread);
    IS(ROUNDS, woken);
}

int main(void)
{
    event = CreateEvent(NULL, FALSE, FALSE, NULL);
    answer = CreateEvent(NULL, FALSE, FALSE, NULL);
    by_oneself();
    if (!failures)
        one_of_several();
    if (!failures)
        to_and_fro();
    return failures != 0;
}
