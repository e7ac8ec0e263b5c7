/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"
#include <ntux/win/nt.h>
#include <sys/wait.h>

#define KEY(number) ((void *)(LONG_PTR)(number))

static HANDLE event;
static LARGE_INTEGER soon, now;

static HANDLE create(DWORD access)
{
    HANDLE made = NULL;

    WORKS(STATUS_SUCCESS, NtCreateKeyedEvent(&made, access, NULL, 0));
    IS(1, made != NULL);
    return made;
}

static void refused(void)
{
    HANDLE other = CreateEvent(NULL, FALSE, FALSE, NULL), none = other;

    WORKS(STATUS_INVALID_PARAMETER_4, NtCreateKeyedEvent(&none, KEYEDEVENT_ALL_ACCESS, NULL, 1));
    IS(1, none == NULL);
    WORKS(STATUS_INVALID_PARAMETER_1, NtWaitForKeyedEvent(event, KEY(255), FALSE, &soon));
    WORKS(STATUS_INVALID_PARAMETER_1, NtReleaseKeyedEvent(event, KEY(255), FALSE, &soon));
    WORKS(STATUS_INVALID_HANDLE, NtWaitForKeyedEvent(KEY(0x7ffffff0), KEY(8), FALSE, &soon));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtReleaseKeyedEvent(other, KEY(8), FALSE, &soon));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(event));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    IS(TRUE, CloseHandle(other));
    other = create(KEYEDEVENT_WAIT);
    WORKS(STATUS_TIMEOUT, NtWaitForKeyedEvent(other, KEY(8), FALSE, &soon));
    WORKS(STATUS_ACCESS_DENIED, NtReleaseKeyedEvent(other, KEY(8), FALSE, &soon));
    IS(TRUE, CloseHandle(other));
    other = create(GENERIC_WRITE);
    WORKS(STATUS_ACCESS_DENIED, NtWaitForKeyedEvent(other, KEY(8), FALSE, &soon));
    WORKS(STATUS_TIMEOUT, NtReleaseKeyedEvent(other, KEY(8), FALSE, &now));
    IS(TRUE, CloseHandle(other));
}

static LONG met;

/* Each odd one waits, each even one releases: by turns on each side. */
static DWORD WINAPI partner(LPVOID handle)
{
    LONG_PTR i;

    for (i = 0; i < 200; i++) {
        if (i % 2)
            IS(STATUS_SUCCESS, NtWaitForKeyedEvent((HANDLE)handle, KEY(i * 2), FALSE, NULL));
        else
            IS(STATUS_SUCCESS, NtReleaseKeyedEvent((HANDLE)handle, KEY(i * 2), FALSE, NULL));
        InterlockedIncrement(&met);
    }
    return 0;
}

static void meet_with(HANDLE handle)
{
    HANDLE thread = start(partner, handle);
    LONG_PTR i;

    met = 0;
    for (i = 0; i < 200; i++) {
        if (i % 2)
            IS(STATUS_SUCCESS, NtReleaseKeyedEvent(handle, KEY(i * 2), FALSE, NULL));
        else
            IS(STATUS_SUCCESS, NtWaitForKeyedEvent(handle, KEY(i * 2), FALSE, NULL));
    }
    join(thread);
    IS(200, met);
    WORKS(STATUS_TIMEOUT, NtWaitForKeyedEvent(handle, KEY(4), FALSE, &soon));
    WORKS(STATUS_TIMEOUT, NtReleaseKeyedEvent(handle, KEY(4), FALSE, &soon));
}

static LONG waits_met, releases_met;

/* Time-outs on both sides: both of a pair know that they have met. */
static DWORD WINAPI hurry(LPVOID releases)
{
    LONG i;

    for (i = 0; i < 3000; i++) {
        if (releases && NtReleaseKeyedEvent(NULL, KEY(6), FALSE, &soon) == STATUS_SUCCESS)
            InterlockedIncrement(&releases_met);
        if (!releases && NtWaitForKeyedEvent(NULL, KEY(6), FALSE, &soon) == STATUS_SUCCESS)
            InterlockedIncrement(&waits_met);
    }
    return 0;
}

static void in_a_hurry(void)
{
    HANDLE threads[4];
    LONG i;

    soon.QuadPart = -50;
    for (i = 0; i < 4; i++)
        threads[i] = start(hurry, i % 2 ? &event : NULL);
    for (i = 0; i < 4; i++)
        join(threads[i]);
    IS(waits_met, releases_met);
    soon.QuadPart = -10000;
}

static LONG calls;

static void CALLBACK count(ULONG_PTR unused)
{
    (void)unused;
    calls++;
}

static void alertable(void)
{
    IS(1, QueueUserAPC(count, GetCurrentThread(), 0));
    WORKS(STATUS_TIMEOUT, NtWaitForKeyedEvent(event, KEY(2), FALSE, &soon));
    IS(0, calls);
    WORKS(STATUS_USER_APC, NtWaitForKeyedEvent(event, KEY(2), TRUE, NULL));
    IS(PLANT(1, 2), calls);
    WORKS(STATUS_TIMEOUT, NtReleaseKeyedEvent(event, KEY(2), TRUE, &soon));
}

static UNICODE_STRING text(WCHAR *buffer, const char *ascii)
{
    UNICODE_STRING made;
    WORD i;

    for (i = 0; ascii[i]; i++)
        buffer[i] = (WCHAR)ascii[i];
    made.Length = made.MaximumLength = (WORD)(2 * i);
    made.Buffer = buffer;
    return made;
}

static void named(void)
{
    WCHAR buffer[64];
    UNICODE_STRING name = text(buffer, "\\BaseNamedObjects\\a key");
    OBJECT_ATTRIBUTES attributes = {sizeof attributes, NULL, NULL, 0, NULL, NULL};
    HANDLE first = NULL, second = NULL, other;

    attributes.ObjectName = &name;
    WORKS(STATUS_NOT_IMPLEMENTED, NtCreateKeyedEvent(&first, KEYEDEVENT_ALL_ACCESS, &attributes, 0));
    ntw_UseProcessNames(TRUE);
    WORKS(STATUS_OBJECT_NAME_NOT_FOUND, NtOpenKeyedEvent(&first, KEYEDEVENT_ALL_ACCESS, &attributes));
    WORKS(STATUS_SUCCESS, NtCreateKeyedEvent(&first, KEYEDEVENT_ALL_ACCESS, &attributes, 0));
    WORKS(STATUS_OBJECT_NAME_COLLISION, NtCreateKeyedEvent(&second, KEYEDEVENT_ALL_ACCESS, &attributes, 0));
    attributes.Attributes = OBJ_OPENIF;
    WORKS(STATUS_OBJECT_NAME_EXISTS, NtCreateKeyedEvent(&second, KEYEDEVENT_ALL_ACCESS, &attributes, 0));
    IS(TRUE, CloseHandle(second));
    WORKS(STATUS_SUCCESS, NtOpenKeyedEvent(&second, KEYEDEVENT_WAIT, &attributes));
    WORKS(STATUS_ACCESS_DENIED, NtReleaseKeyedEvent(second, KEY(2), FALSE, &now));
    FAILS(ERROR_INVALID_HANDLE, NULL, CreateEventA(NULL, FALSE, FALSE, "a key"));
    IS(TRUE, CloseHandle(first));
    IS(TRUE, CloseHandle(second));
    other = CreateEventA(NULL, FALSE, FALSE, "a key");
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtCreateKeyedEvent(&first, KEYEDEVENT_ALL_ACCESS, &attributes, 0));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtOpenKeyedEvent(&first, KEYEDEVENT_ALL_ACCESS, &attributes));
    IS(TRUE, CloseHandle(other));
    name = text(buffer, "\\Elsewhere\\a key");
    WORKS(STATUS_OBJECT_PATH_NOT_FOUND, NtCreateKeyedEvent(&first, KEYEDEVENT_ALL_ACCESS, &attributes, 0));
    WORKS(STATUS_INVALID_PARAMETER, NtOpenKeyedEvent(&first, KEYEDEVENT_ALL_ACCESS, NULL));
    ntw_UseProcessNames(FALSE);
}

static DWORD WINAPI wait_in_parent(LPVOID unused)
{
    (void)unused;
    IS(STATUS_SUCCESS, NtWaitForKeyedEvent(event, KEY(12), FALSE, NULL));
    return 0;
}

/* A child meets its own threads, and none of its parent's. */
static void forked(void)
{
    HANDLE thread = start(wait_in_parent, NULL);
    pid_t child;
    int status = -1;

    a_while();
    child = fork();
    if (child == 0) {
        failures = 0;
        WORKS(STATUS_TIMEOUT, NtReleaseKeyedEvent(event, KEY(12), FALSE, &soon));
        meet_with(event);
        _exit(failures != 0);
    }
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    IS(STATUS_SUCCESS, NtReleaseKeyedEvent(event, KEY(12), FALSE, NULL));
    join(thread);
}

int main(void)
{
    alarm(300);
    soon.QuadPart = -10000;
    now.QuadPart = 0;
    event = create(KEYEDEVENT_ALL_ACCESS | SYNCHRONIZE);
    refused();
    meet_with(event);
    meet_with(NULL);
    in_a_hurry();
    alertable();
    named();
    forked();
    IS(TRUE, CloseHandle(event));
    return report();
}
