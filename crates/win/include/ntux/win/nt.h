/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Functions of ntdll: events, mutexes (mutants), semaphores, and waits, for code that calls them in place of Win32's, or asks for the state
 * of an object; and keyed events, which Win32 does not have: a thread that waits and a thread that releases meet by a key, and each waits for
 * the other. The functions return a status of <ntux/win/ntstatus.h>, and set no error number. docs/win/reference.md says where this library
 * differs. The handles are those of Win32.
 */
#ifndef NTUX_WIN_NT_H
#define NTUX_WIN_NT_H

#include <ntux/win/ntstatus.h>
#include <ntux/win/synchapi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With NTUX_WIN_TYPES, the program's own if it has them: the functions need no more than the names of the structures. */
#ifdef NTUX_WIN_TYPES
struct _OBJECT_ATTRIBUTES;
union _LARGE_INTEGER;
#else
typedef DWORD ACCESS_MASK;

typedef struct _UNICODE_STRING {
    WORD Length; /* in bytes */
    WORD MaximumLength;
    WCHAR *Buffer;
} UNICODE_STRING, *PUNICODE_STRING;

typedef struct _OBJECT_ATTRIBUTES {
    ULONG Length;
    HANDLE RootDirectory; /* NULL: there are no handles of directories */
    PUNICODE_STRING ObjectName;
    ULONG Attributes;
    PVOID SecurityDescriptor; /* not looked at, nor is the next */
    PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;

typedef enum _EVENT_TYPE { NotificationEvent, SynchronizationEvent } EVENT_TYPE;
typedef enum _WAIT_TYPE { WaitAll, WaitAny } WAIT_TYPE;

/* What a query tells, of its class 0. */

typedef enum _EVENT_INFORMATION_CLASS { EventBasicInformation } EVENT_INFORMATION_CLASS;
typedef struct _EVENT_BASIC_INFORMATION {
    EVENT_TYPE EventType;
    LONG EventState;
} EVENT_BASIC_INFORMATION, *PEVENT_BASIC_INFORMATION;

typedef enum _MUTANT_INFORMATION_CLASS { MutantBasicInformation } MUTANT_INFORMATION_CLASS;
typedef struct _MUTANT_BASIC_INFORMATION {
    LONG CurrentCount; /* 1 if nobody owns it, less 1 for each time that the owner has acquired it */
    BOOLEAN OwnedByCaller;
    BOOLEAN AbandonedState;
} MUTANT_BASIC_INFORMATION, *PMUTANT_BASIC_INFORMATION;

typedef enum _SEMAPHORE_INFORMATION_CLASS { SemaphoreBasicInformation } SEMAPHORE_INFORMATION_CLASS;
typedef struct _SEMAPHORE_BASIC_INFORMATION {
    LONG CurrentCount;
    LONG MaximumCount;
} SEMAPHORE_BASIC_INFORMATION, *PSEMAPHORE_BASIC_INFORMATION;
#endif

#ifndef OBJ_INHERIT
#define OBJ_INHERIT          0x02u
#endif
#ifndef OBJ_CASE_INSENSITIVE
#define OBJ_CASE_INSENSITIVE 0x40u /* of the letters A to Z */
#endif
#ifndef OBJ_OPENIF
#define OBJ_OPENIF           0x80u
#endif
#ifndef MUTANT_ALL_ACCESS
#define MUTANT_ALL_ACCESS 0x001F0001u
#endif
#ifndef KEYEDEVENT_ALL_ACCESS
#define KEYEDEVENT_WAIT       0x0001u
#define KEYEDEVENT_WAKE       0x0002u
#define KEYEDEVENT_ALL_ACCESS 0x000F0003u
#endif

LONG ntw_NtClose(HANDLE handle);

/* A name begins with \BaseNamedObjects\. A handle is NULL if the function fails. What `before` points to is stored if it succeeds; it may
 * be NULL, and so may `length`. The types of events, waits and information are numbers here, as large as those of the enumerations. */

LONG ntw_NtCreateEvent(LPHANDLE event, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes, UINT type, BOOLEAN signaled);
LONG ntw_NtOpenEvent(LPHANDLE event, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes);
LONG ntw_NtSetEvent(HANDLE event, LPLONG before);
LONG ntw_NtResetEvent(HANDLE event, LPLONG before);
LONG ntw_NtClearEvent(HANDLE event);
LONG ntw_NtPulseEvent(HANDLE event, LPLONG before);
LONG ntw_NtQueryEvent(HANDLE event, UINT type, LPVOID information, ULONG bytes, ULONG *length);

LONG ntw_NtCreateMutant(LPHANDLE mutant, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes, BOOLEAN owned);
LONG ntw_NtOpenMutant(LPHANDLE mutant, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes);
LONG ntw_NtReleaseMutant(HANDLE mutant, LPLONG before);
LONG ntw_NtQueryMutant(HANDLE mutant, UINT type, LPVOID information, ULONG bytes, ULONG *length);

LONG ntw_NtCreateSemaphore(LPHANDLE semaphore, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes, LONG initial, LONG maximum);
LONG ntw_NtOpenSemaphore(LPHANDLE semaphore, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes);
LONG ntw_NtReleaseSemaphore(HANDLE semaphore, ULONG count, ULONG *before);
LONG ntw_NtQuerySemaphore(HANDLE semaphore, UINT type, LPVOID information, ULONG bytes, ULONG *length);

/* `timeout` is NULL for ever, or points to a time as of a timer: hundreds of nanoseconds from now if negative, else from 1601 on. */

LONG ntw_NtWaitForSingleObject(HANDLE handle, BOOLEAN alertable, const union _LARGE_INTEGER *timeout);
LONG ntw_NtWaitForMultipleObjects(ULONG count, const HANDLE *handles, UINT type, BOOLEAN alertable,
                                  const union _LARGE_INTEGER *timeout);
LONG ntw_NtSignalAndWaitForSingleObject(HANDLE signal, HANDLE object, BOOLEAN alertable, const union _LARGE_INTEGER *timeout);
LONG ntw_NtDelayExecution(BOOLEAN alertable, const union _LARGE_INTEGER *timeout);

/* A thread is called by its id, and waits until it was; a call that comes before the wait ends it, too, and several are one. The address says
 * what the wait is for, and is not looked at, nor are the last two arguments of the second. */

LONG ntw_NtAlertThreadByThreadId(HANDLE id);
LONG ntw_NtAlertMultipleThreadByThreadId(const HANDLE *ids, ULONG count, PVOID boosts, PVOID boost);
LONG ntw_NtWaitForAlertByThreadId(const void *address, const union _LARGE_INTEGER *timeout);

LONG ntw_NtCreateKeyedEvent(LPHANDLE event, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes, ULONG reserved);
LONG ntw_NtOpenKeyedEvent(LPHANDLE event, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes);
/* `event` may be NULL, for one of the process. The key is an even number. */
LONG ntw_NtWaitForKeyedEvent(HANDLE event, const void *key, BOOLEAN alertable, const union _LARGE_INTEGER *timeout);
LONG ntw_NtReleaseKeyedEvent(HANDLE event, const void *key, BOOLEAN alertable, const union _LARGE_INTEGER *timeout);

#ifdef NTUX_WIN32_NAMES
#define NtClose ntw_NtClose
#define NtCreateEvent ntw_NtCreateEvent
#define NtOpenEvent ntw_NtOpenEvent
#define NtSetEvent ntw_NtSetEvent
#define NtResetEvent ntw_NtResetEvent
#define NtClearEvent ntw_NtClearEvent
#define NtPulseEvent ntw_NtPulseEvent
#define NtQueryEvent ntw_NtQueryEvent
#define NtCreateMutant ntw_NtCreateMutant
#define NtOpenMutant ntw_NtOpenMutant
#define NtReleaseMutant ntw_NtReleaseMutant
#define NtQueryMutant ntw_NtQueryMutant
#define NtCreateSemaphore ntw_NtCreateSemaphore
#define NtOpenSemaphore ntw_NtOpenSemaphore
#define NtReleaseSemaphore ntw_NtReleaseSemaphore
#define NtQuerySemaphore ntw_NtQuerySemaphore
#define NtWaitForSingleObject ntw_NtWaitForSingleObject
#define NtWaitForMultipleObjects ntw_NtWaitForMultipleObjects
#define NtSignalAndWaitForSingleObject ntw_NtSignalAndWaitForSingleObject
#define NtDelayExecution ntw_NtDelayExecution
#define NtAlertThreadByThreadId ntw_NtAlertThreadByThreadId
#define NtAlertMultipleThreadByThreadId ntw_NtAlertMultipleThreadByThreadId
#define NtWaitForAlertByThreadId ntw_NtWaitForAlertByThreadId
#define NtCreateKeyedEvent ntw_NtCreateKeyedEvent
#define NtOpenKeyedEvent ntw_NtOpenKeyedEvent
#define NtWaitForKeyedEvent ntw_NtWaitForKeyedEvent
#define NtReleaseKeyedEvent ntw_NtReleaseKeyedEvent
#endif

#ifdef __cplusplus
}
#endif

#endif
