/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"

static HANDLE event;

static HANDLE low_bits(HANDLE handle, ULONG_PTR bits)
{
    return (HANDLE)((ULONG_PTR)handle | bits);
}

static void numbers(void)
{
    HANDLE first = CreateEvent(NULL, TRUE, TRUE, NULL), again;
    ULONG_PTR bits;

    IS(0, (ULONG_PTR)first & 3);
    IS(1, (ULONG_PTR)first < 0x80000000ul);
    for (bits = 1; bits < 4; bits++)
        WORKS(WAIT_OBJECT_0, WaitForSingleObject(low_bits(first, bits), 0));
    IS(TRUE, CloseHandle(first));
    /* What takes its slot has another number. */
    again = CreateEvent(NULL, TRUE, TRUE, NULL);
    IS(1, again != first);
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForSingleObject(first, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle(first));
    IS(TRUE, CloseHandle(again));
    FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle(NULL));
    FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle((HANDLE)0xdeadbee0ul));
    WORKS(TRUE, CloseHandle(GetCurrentProcess()));
    WORKS(TRUE, CloseHandle(GetCurrentThread()));
}

static DWORD WINAPI create_and_close(LPVOID unused)
{
    (void)unused;
    IS(TRUE, CloseHandle(CreateEvent(NULL, TRUE, TRUE, NULL)));
    return 0;
}

/* A thread keeps a slot for what it creates next, and gives it back when it ends. */
static void slots_of_ended_threads(void)
{
    HANDLE last;
    int i;

    for (i = 0; i < 100; i++)
        join(start(create_and_close, NULL));
    last = CreateEvent(NULL, TRUE, TRUE, NULL);
    IS(1, ((ULONG_PTR)last >> 2 & 0xfffff) < 50);
    IS(TRUE, CloseHandle(last));
}

static void flags(void)
{
    SECURITY_ATTRIBUTES attributes;
    HANDLE inherited;
    DWORD is = 77;

    attributes.nLength = sizeof attributes;
    attributes.lpSecurityDescriptor = NULL;
    attributes.bInheritHandle = TRUE;
    inherited = CreateEvent(&attributes, TRUE, FALSE, NULL);
    WORKS(TRUE, GetHandleInformation(inherited, &is));
    IS(HANDLE_FLAG_INHERIT, is);
    event = CreateEvent(NULL, TRUE, FALSE, NULL);
    WORKS(TRUE, GetHandleInformation(event, &is));
    IS(PLANT(0, HANDLE_FLAG_INHERIT), is);
    WORKS(TRUE, SetHandleInformation(event, HANDLE_FLAG_PROTECT_FROM_CLOSE, HANDLE_FLAG_PROTECT_FROM_CLOSE | HANDLE_FLAG_INHERIT));
    WORKS(TRUE, GetHandleInformation(event, &is));
    IS(HANDLE_FLAG_PROTECT_FROM_CLOSE, is);
    FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle(event));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(event, 0));
    WORKS(TRUE, SetHandleInformation(event, HANDLE_FLAG_PROTECT_FROM_CLOSE, 0));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, SetHandleInformation(event, 4, 4));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetHandleInformation(NULL, 1, 1));
    FAILS(ERROR_INVALID_HANDLE, FALSE, GetHandleInformation(NULL, &is));
    IS(TRUE, CloseHandle(inherited));
}

static void duplicates(void)
{
    HANDLE self = GetCurrentProcess(), second, process, none = NULL;

    WORKS(TRUE, DuplicateHandle(self, event, self, &second, 0, TRUE, DUPLICATE_SAME_ACCESS));
    IS(1, second != event);
    IS(TRUE, CloseHandle(event));
    WORKS(TRUE, SetEvent(second));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(second, 0));
    WORKS(TRUE, DuplicateHandle(self, second, self, &event, SYNCHRONIZE, FALSE, DUPLICATE_CLOSE_SOURCE));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(second));
    FAILS(ERROR_ACCESS_DENIED, FALSE, SetEvent(event));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    /* A source that cannot be closed is no reason to lose the duplicate. */
    IS(TRUE, SetHandleInformation(event, HANDLE_FLAG_PROTECT_FROM_CLOSE, HANDLE_FLAG_PROTECT_FROM_CLOSE));
    WORKS(TRUE, DuplicateHandle(self, event, self, &second, 0, FALSE, DUPLICATE_CLOSE_SOURCE | DUPLICATE_SAME_ACCESS));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(second, 0));
    WORKS(TRUE, CloseHandle(second));
    IS(TRUE, SetHandleInformation(event, HANDLE_FLAG_PROTECT_FROM_CLOSE, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE, DuplicateHandle(self, second, self, &none, 0, FALSE, DUPLICATE_SAME_ACCESS));
    FAILS(ERROR_INVALID_HANDLE, FALSE, DuplicateHandle(event, event, self, &none, 0, FALSE, DUPLICATE_SAME_ACCESS));
    none = event;
    FAILS(ERROR_ACCESS_DENIED, FALSE, DuplicateHandle(self, event, self, &none, 0x8000, FALSE, 0));
    IS(1, none == NULL);
    /* One that may do nothing. */
    WORKS(TRUE, DuplicateHandle(self, event, self, &none, 0, FALSE, 0));
    FAILS(ERROR_ACCESS_DENIED, WAIT_FAILED, WaitForSingleObject(none, 0));
    WORKS(TRUE, CloseHandle(none));
    WORKS(TRUE, DuplicateHandle(self, self, self, &process, 0, FALSE, DUPLICATE_SAME_ACCESS));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(process, 0));
    WORKS(TRUE, DuplicateHandle(process, event, process, &second, 0, FALSE, DUPLICATE_SAME_ACCESS));
    IS(TRUE, CloseHandle(second));
    IS(TRUE, CloseHandle(process));
    IS(TRUE, CloseHandle(event));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForSingleObject(event, 0));
}

/* Two threads close the same handles: each is closed once, and nobody else's. */
static HANDLE shared[2000];
static LONG closed;

static DWORD WINAPI close_all(LPVOID unused)
{
    int i;

    (void)unused;
    for (i = 0; i < 2000; i++) {
        if (CloseHandle(shared[i]))
            InterlockedIncrement(&closed);
    }
    return 0;
}

static void closed_once(void)
{
    HANDLE threads[2];
    int i;

    for (i = 0; i < 2000; i++)
        shared[i] = CreateEvent(NULL, FALSE, FALSE, NULL);
    for (i = 0; i < 2; i++)
        threads[i] = start(close_all, NULL);
    for (i = 0; i < 2; i++)
        join(threads[i]);
    IS(2000, closed);
}

static void many(void)
{
    enum { MANY = 100000 };
    static HANDLE all[MANY];
    int i, bad = 0;

    for (i = 0; i < MANY; i++)
        bad += (all[i] = CreateEvent(NULL, FALSE, TRUE, NULL)) == NULL;
    for (i = 0; i < MANY; i++)
        bad += WaitForSingleObject(all[i], 0) != WAIT_OBJECT_0;
    for (i = 0; i < MANY; i++)
        bad += !CloseHandle(all[i]);
    IS(0, bad);
}

/* This process, by its number. */
static void processes(void)
{
    HANDLE self = OpenProcess(PROCESS_DUP_HANDLE | SYNCHRONIZE, FALSE, GetCurrentProcessId()), second;
    DWORD code = 0;

    IS(getpid(), GetProcessId(self));
    IS(getpid(), GetProcessId(GetCurrentProcess()));
    WORKS(TRUE, GetExitCodeProcess(self, &code));
    IS(STILL_ACTIVE, code);
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(self, 1));
    IS(TRUE, DuplicateHandle(self, self, self, &second, PROCESS_QUERY_INFORMATION, FALSE, 0));
    FAILS(ERROR_ACCESS_DENIED, WAIT_FAILED, WaitForSingleObject(second, 0));
    IS(TRUE, CloseHandle(second));
    IS(TRUE, CloseHandle(self));
    FAILS(ERROR_INVALID_HANDLE, 0, GetProcessId(self));
    FAILS(ERROR_INVALID_HANDLE, FALSE, GetExitCodeProcess(NULL, &code));
    FAILS(ERROR_INVALID_PARAMETER, 0, OpenProcess(SYNCHRONIZE, FALSE, 0) != NULL);
    FAILS(ERROR_ACCESS_DENIED, 0, OpenProcess(0, FALSE, GetCurrentProcessId()) != NULL);
}

int main(void)
{
    alarm(300);
    numbers();
    slots_of_ended_threads();
    flags();
    duplicates();
    closed_once();
    many();
    processes();
    return report();
}
