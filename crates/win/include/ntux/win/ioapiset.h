/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Completion ports, as <ioapiset.h> of Windows has them, for packets that the program posts. There are no files, so nothing else is posted.
 * docs/win/reference.md says where this library differs.
 */
#ifndef NTUX_WIN_IOAPISET_H
#define NTUX_WIN_IOAPISET_H

#include <ntux/win/synchapi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With NTUX_WIN_TYPES, the program's own if it has them: the functions need no more than the names of the structures. */
#ifdef NTUX_WIN_TYPES
struct _OVERLAPPED;
struct _OVERLAPPED_ENTRY;
#else
typedef struct _OVERLAPPED {
    ULONG_PTR Internal;
    ULONG_PTR InternalHigh;
    __extension__ union {
        __extension__ struct {
            DWORD Offset;
            DWORD OffsetHigh;
        };
        PVOID Pointer;
    };
    HANDLE hEvent;
} OVERLAPPED, *LPOVERLAPPED;

typedef struct _OVERLAPPED_ENTRY {
    ULONG_PTR lpCompletionKey;
    LPOVERLAPPED lpOverlapped;
    ULONG_PTR Internal; /* STATUS_SUCCESS */
    DWORD dwNumberOfBytesTransferred;
} OVERLAPPED_ENTRY, *LPOVERLAPPED_ENTRY;
#endif

#ifndef IO_COMPLETION_ALL_ACCESS
#define IO_COMPLETION_QUERY_STATE  0x0001u
#define IO_COMPLETION_MODIFY_STATE 0x0002u
#define IO_COMPLETION_ALL_ACCESS   0x001F0003u
#endif

/* A new port: `file` is INVALID_HANDLE_VALUE and `port` NULL. `threads` is not obeyed. */
HANDLE ntw_CreateIoCompletionPort(HANDLE file, HANDLE port, ULONG_PTR key, DWORD threads);
/* The three values come back with the packet; nobody follows the pointer. */
BOOL ntw_PostQueuedCompletionStatus(HANDLE port, DWORD bytes, ULONG_PTR key, struct _OVERLAPPED *overlapped);
BOOL ntw_GetQueuedCompletionStatus(HANDLE port, LPDWORD bytes, ULONG_PTR *key, struct _OVERLAPPED **overlapped,
                                   DWORD milliseconds);
BOOL ntw_GetQueuedCompletionStatusEx(HANDLE port, struct _OVERLAPPED_ENTRY *entries, ULONG count, ULONG *removed,
                                     DWORD milliseconds, BOOL alertable);

#ifdef NTUX_WIN32_NAMES
#define CreateIoCompletionPort ntw_CreateIoCompletionPort
#define PostQueuedCompletionStatus ntw_PostQueuedCompletionStatus
#define GetQueuedCompletionStatus ntw_GetQueuedCompletionStatus
#define GetQueuedCompletionStatusEx ntw_GetQueuedCompletionStatusEx
#endif

#ifdef __cplusplus
}
#endif

#endif
