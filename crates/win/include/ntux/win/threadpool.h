/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Waits, timers and work that a pool of threads does. None of it is here yet: each function fails with ERROR_CALL_NOT_IMPLEMENTED, so that
 * a program that has it links, and can do it another way. docs/win/reference.md.
 */
#ifndef NTUX_WIN_THREADPOOL_H
#define NTUX_WIN_THREADPOOL_H

#include <ntux/win/synchapi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef VOID(CALLBACK *WAITORTIMERCALLBACK)(PVOID context, BOOLEAN timer_fired);

BOOL ntw_RegisterWaitForSingleObject(PHANDLE wait, HANDLE object, WAITORTIMERCALLBACK callback, PVOID context,
                                     ULONG milliseconds, ULONG flags);
BOOL ntw_UnregisterWait(HANDLE wait);
BOOL ntw_UnregisterWaitEx(HANDLE wait, HANDLE completion);
HANDLE ntw_CreateTimerQueue(void);
BOOL ntw_CreateTimerQueueTimer(PHANDLE timer, HANDLE queue, WAITORTIMERCALLBACK callback, PVOID context, DWORD due,
                               DWORD period, ULONG flags);
BOOL ntw_ChangeTimerQueueTimer(HANDLE queue, HANDLE timer, ULONG due, ULONG period);
BOOL ntw_DeleteTimerQueueTimer(HANDLE queue, HANDLE timer, HANDLE completion);
BOOL ntw_DeleteTimerQueue(HANDLE queue);
BOOL ntw_DeleteTimerQueueEx(HANDLE queue, HANDLE completion);
BOOL ntw_QueueUserWorkItem(LPTHREAD_START_ROUTINE function, PVOID context, ULONG flags);

/* ==== Plain names ==== */

#ifdef NTUX_WIN32_NAMES
#define RegisterWaitForSingleObject ntw_RegisterWaitForSingleObject
#define UnregisterWait ntw_UnregisterWait
#define UnregisterWaitEx ntw_UnregisterWaitEx
#define CreateTimerQueue ntw_CreateTimerQueue
#define CreateTimerQueueTimer ntw_CreateTimerQueueTimer
#define ChangeTimerQueueTimer ntw_ChangeTimerQueueTimer
#define DeleteTimerQueueTimer ntw_DeleteTimerQueueTimer
#define DeleteTimerQueue ntw_DeleteTimerQueue
#define DeleteTimerQueueEx ntw_DeleteTimerQueueEx
#define QueueUserWorkItem ntw_QueueUserWorkItem
#endif

#ifdef __cplusplus
}
#endif

#endif
