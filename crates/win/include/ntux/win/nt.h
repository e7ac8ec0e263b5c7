/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Keyed events, which only ntdll has on Windows: a thread that waits and a thread that releases meet by a key, and each waits for the other.
 * The functions return a status of <ntux/win/ntstatus.h>, and set no error number. docs/win/reference.md says where this library differs.
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
    HANDLE RootDirectory; /* not looked at, nor are the last two */
    PUNICODE_STRING ObjectName;
    ULONG Attributes;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;
#endif

#ifndef OBJ_INHERIT
#define OBJ_INHERIT          0x02u
#endif
#ifndef OBJ_CASE_INSENSITIVE
#define OBJ_CASE_INSENSITIVE 0x40u /* not looked at */
#endif
#ifndef OBJ_OPENIF
#define OBJ_OPENIF           0x80u
#endif
#ifndef KEYEDEVENT_ALL_ACCESS
#define KEYEDEVENT_WAIT       0x0001u
#define KEYEDEVENT_WAKE       0x0002u
#define KEYEDEVENT_ALL_ACCESS 0x000F0003u
#endif

/* A name begins with \BaseNamedObjects\. */
LONG ntw_NtCreateKeyedEvent(LPHANDLE event, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes, ULONG reserved);
LONG ntw_NtOpenKeyedEvent(LPHANDLE event, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes);
/* `event` may be NULL, for one of the process. The key is an even number. `timeout` is NULL for ever, or points to a time as of a timer. */
LONG ntw_NtWaitForKeyedEvent(HANDLE event, const void *key, BOOLEAN alertable, const union _LARGE_INTEGER *timeout);
LONG ntw_NtReleaseKeyedEvent(HANDLE event, const void *key, BOOLEAN alertable, const union _LARGE_INTEGER *timeout);

#ifdef NTUX_WIN32_NAMES
#define NtCreateKeyedEvent ntw_NtCreateKeyedEvent
#define NtOpenKeyedEvent ntw_NtOpenKeyedEvent
#define NtWaitForKeyedEvent ntw_NtWaitForKeyedEvent
#define NtReleaseKeyedEvent ntw_NtReleaseKeyedEvent
#endif

#ifdef __cplusplus
}
#endif

#endif
