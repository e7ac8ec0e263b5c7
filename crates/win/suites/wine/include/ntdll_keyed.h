/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What else of ntdll Wine's test of keyed events calls: events by the names of ntdll, over those of this library. */
#ifndef SUITE_NTDLL_KEYED_H
#define SUITE_NTDLL_KEYED_H

typedef enum { NotificationEvent, SynchronizationEvent } EVENT_TYPE;

#define InitializeObjectAttributes(attributes, name, flags, directory, descriptor) \
    do { \
        memset((attributes), 0, sizeof *(attributes)); \
        (attributes)->Length = sizeof *(attributes); \
        (attributes)->ObjectName = (name); \
        (attributes)->Attributes = (flags); \
    } while (0)

static void RtlInitUnicodeString(UNICODE_STRING *string, const WCHAR *text)
{
    WORD length = 0;

    while (text[length])
        length++;
    string->Length = string->MaximumLength = 2 * length;
    string->Buffer = (WCHAR *)text;
}

/* A bad handle is one of another kind: the test passes no other. */
static NTSTATUS suite_event_status(BOOL done)
{
    return done ? STATUS_SUCCESS : GetLastError() == ERROR_INVALID_HANDLE ? STATUS_OBJECT_TYPE_MISMATCH : STATUS_INVALID_PARAMETER;
}

static NTSTATUS NtPulseEvent(HANDLE event, LONG *before)
{
    (void)before;
    return suite_event_status(PulseEvent(event));
}

/* The name is one of \BaseNamedObjects. */
static NTSTATUS NtCreateEvent(HANDLE *event, DWORD access, const OBJECT_ATTRIBUTES *attributes, EVENT_TYPE type, BOOLEAN signaled)
{
    const WCHAR *name = attributes->ObjectName->Buffer + sizeof "\\BaseNamedObjects\\" - 1;
    DWORD flags = (type == NotificationEvent ? CREATE_EVENT_MANUAL_RESET : 0) | (signaled ? CREATE_EVENT_INITIAL_SET : 0);

    *event = CreateEventExW(NULL, name, flags, access);
    return suite_event_status(*event != NULL);
}

#endif
