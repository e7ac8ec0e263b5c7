/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"

static HANDLE gate, ticket, done;

static DWORD WINAPI wait_for_gate(LPVOID unused)
{
    (void)unused;
    IS(WAIT_OBJECT_0, WaitForSingleObject(gate, INFINITE));
    IS(TRUE, SetEvent(done));
    return 0;
}

static void states(void)
{
    gate = CreateEvent(NULL, TRUE, FALSE, NULL);
    ticket = CreateEvent(NULL, FALSE, TRUE, NULL);
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(gate, 0));
    WORKS(TRUE, SetEvent(gate));
    WORKS(TRUE, SetEvent(gate));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(gate, 0));
    WORKS(PLANT(WAIT_OBJECT_0, WAIT_TIMEOUT), WaitForSingleObject(gate, 0));
    WORKS(TRUE, ResetEvent(gate));
    WORKS(TRUE, ResetEvent(gate));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(gate, 1));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(ticket, INFINITE));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(ticket, 0));
    WORKS(TRUE, PulseEvent(ticket));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(ticket, 0));
}

static void pulse(void)
{
    HANDLE threads[3];
    int i, satisfied = 0;

    done = CreateEvent(NULL, FALSE, FALSE, NULL);
    for (i = 0; i < 3; i++)
        threads[i] = start(wait_for_gate, NULL);
    /* A pulse satisfies those who wait at that moment; repeated until all three had their turn. */
    while (satisfied < 3) {
        IS(TRUE, PulseEvent(gate));
        satisfied += WaitForMultipleObjects(3, threads, TRUE, 1) == WAIT_OBJECT_0 ? 3 : 0;
    }
    for (i = 0; i < 3; i++)
        join(threads[i]);
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(gate, 0));
}

static void refusals(void)
{
    static const WCHAR empty[] = { 0 };
    HANDLE event, mutex = CreateMutex(NULL, FALSE, NULL);

    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(NULL));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(mutex));
    FAILS(ERROR_INVALID_HANDLE, FALSE, ResetEvent(INVALID_HANDLE_VALUE));
    FAILS(ERROR_INVALID_HANDLE, FALSE, PulseEvent((HANDLE)0x7ffffff0));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, CreateEventA(NULL, FALSE, FALSE, "named") != NULL);
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, OpenEventA(SYNCHRONIZE, FALSE, "named") != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, OpenEventW(SYNCHRONIZE, FALSE, NULL) != NULL);
    /* Its handle may do nothing. */
    event = CreateEventExA(NULL, NULL, 0, 0);
    FAILS(ERROR_ACCESS_DENIED, FALSE, SetEvent(event));
    FAILS(ERROR_ACCESS_DENIED, WAIT_FAILED, WaitForSingleObject(event, 0));
    WORKS(TRUE, CloseHandle(event));
    FAILS(0, 1, (event = CreateEventExW(NULL, empty, CREATE_EVENT_MANUAL_RESET | CREATE_EVENT_INITIAL_SET, SYNCHRONIZE)) != NULL);
    FAILS(ERROR_ACCESS_DENIED, FALSE, ResetEvent(event));
    FAILS(ERROR_ACCESS_DENIED, WAIT_FAILED, SignalObjectAndWait(event, event, 0, FALSE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    IS(TRUE, CloseHandle(event));
    FAILS(0, 1, (event = CreateEventExA(NULL, NULL, 0, EVENT_MODIFY_STATE)) != NULL);
    WORKS(TRUE, SetEvent(event));
    FAILS(ERROR_ACCESS_DENIED, WAIT_FAILED, WaitForSingleObject(event, 0));
    IS(TRUE, CloseHandle(event));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(event));
    IS(TRUE, CloseHandle(mutex));
}

int main(void)
{
    alarm(300);
    states();
    pulse();
    refusals();
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateEventExA(NULL, NULL, 4, EVENT_ALL_ACCESS) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateEventExW(NULL, NULL, 4, EVENT_ALL_ACCESS) != NULL);
    return report();
}
