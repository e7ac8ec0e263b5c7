/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Thread pools, registered waits and timer queues, as <threadpoolapiset.h> and <threadpoollegacyapiset.h> of Windows have them.
 * docs/win/reference.md says where this library differs. No thread is there before something is to be called or waited for.
 */
#ifndef NTUX_WIN_THREADPOOL_H
#define NTUX_WIN_THREADPOOL_H

#include <ntux/win/synchapi.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef WT_EXECUTEDEFAULT
#define WT_EXECUTEDEFAULT            0x0u
#define WT_EXECUTEINIOTHREAD         0x1u
#define WT_EXECUTEINWAITTHREAD       0x4u
#define WT_EXECUTEONLYONCE           0x8u
#define WT_EXECUTELONGFUNCTION       0x10u
#define WT_EXECUTEINTIMERTHREAD      0x20u
#define WT_EXECUTEINPERSISTENTTHREAD 0x80u
#define WT_TRANSFER_IMPERSONATION    0x100u
#endif

/* ==== Types. What they point to belongs to the library; it is named, and not looked at. ====
 *
 * A program that has them already lets NTUX_WIN_POOL_TYPES name the header to include instead, which defines every type up to the environment.
 * An environment of its own, which ports lay out in several ways, is none of this library's.
 */

#ifdef NTUX_WIN_POOL_TYPES
#include NTUX_WIN_POOL_TYPES
#else

typedef VOID(CALLBACK *WAITORTIMERCALLBACK)(PVOID context, BOOLEAN timer_fired);

typedef struct _TP_POOL TP_POOL, *PTP_POOL;
typedef struct _TP_CLEANUP_GROUP TP_CLEANUP_GROUP, *PTP_CLEANUP_GROUP;
typedef struct _TP_CALLBACK_INSTANCE TP_CALLBACK_INSTANCE, *PTP_CALLBACK_INSTANCE;
typedef struct _TP_WORK TP_WORK, *PTP_WORK;
typedef struct _TP_TIMER TP_TIMER, *PTP_TIMER;
typedef struct _TP_WAIT TP_WAIT, *PTP_WAIT;
typedef DWORD TP_VERSION, *PTP_VERSION;
typedef DWORD TP_WAIT_RESULT; /* WAIT_OBJECT_0, WAIT_TIMEOUT, or WAIT_ABANDONED */

typedef VOID(CALLBACK *PTP_SIMPLE_CALLBACK)(PTP_CALLBACK_INSTANCE instance, PVOID context);
typedef VOID(CALLBACK *PTP_WORK_CALLBACK)(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WORK work);
typedef VOID(CALLBACK *PTP_TIMER_CALLBACK)(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_TIMER timer);
typedef VOID(CALLBACK *PTP_WAIT_CALLBACK)(PTP_CALLBACK_INSTANCE instance, PVOID context, PTP_WAIT wait,
                                          TP_WAIT_RESULT result);
typedef VOID(CALLBACK *PTP_CLEANUP_GROUP_CANCEL_CALLBACK)(PVOID context, PVOID cleanup_context);

typedef enum _TP_CALLBACK_PRIORITY {
    TP_CALLBACK_PRIORITY_HIGH,
    TP_CALLBACK_PRIORITY_NORMAL,
    TP_CALLBACK_PRIORITY_LOW,
    TP_CALLBACK_PRIORITY_INVALID,
    TP_CALLBACK_PRIORITY_COUNT = TP_CALLBACK_PRIORITY_INVALID
} TP_CALLBACK_PRIORITY;

typedef struct _TP_POOL_STACK_INFORMATION {
    SIZE_T StackReserve; /* the size of the stacks of threads that come later */
    SIZE_T StackCommit;  /* kept, and not obeyed */
} TP_POOL_STACK_INFORMATION, *PTP_POOL_STACK_INFORMATION;

typedef struct _TP_CALLBACK_ENVIRON_V3 TP_CALLBACK_ENVIRON, *PTP_CALLBACK_ENVIRON;

#endif /* NTUX_WIN_POOL_TYPES */

/* The flags are a number where Windows has a union of it with single bits. */
typedef struct _TP_CALLBACK_ENVIRON_V3 {
    TP_VERSION Version;
    PTP_POOL Pool;
    PTP_CLEANUP_GROUP CleanupGroup;
    PTP_CLEANUP_GROUP_CANCEL_CALLBACK CleanupGroupCancelCallback;
    PVOID RaceDll;           /* not looked at */
    PVOID ActivationContext; /* not looked at */
    PTP_SIMPLE_CALLBACK FinalizationCallback;
    union {
        DWORD Flags; /* 1: a long function; 2: persistent, not looked at */
    } u;
    TP_CALLBACK_PRIORITY CallbackPriority;
    DWORD Size;
} TP_CALLBACK_ENVIRON_V3;

typedef char ntux_win_environ_size[sizeof(TP_CALLBACK_ENVIRON_V3) == 72 ? 1 : -1];

/* ==== Pools ==== */

PTP_POOL ntw_CreateThreadpool(PVOID reserved);
void ntw_CloseThreadpool(PTP_POOL pool);
void ntw_SetThreadpoolThreadMaximum(PTP_POOL pool, DWORD most);
BOOL ntw_SetThreadpoolThreadMinimum(PTP_POOL pool, DWORD least);
BOOL ntw_SetThreadpoolStackInformation(PTP_POOL pool, PTP_POOL_STACK_INFORMATION stack);
BOOL ntw_QueryThreadpoolStackInformation(PTP_POOL pool, PTP_POOL_STACK_INFORMATION stack);

PTP_CLEANUP_GROUP ntw_CreateThreadpoolCleanupGroup(void);
void ntw_CloseThreadpoolCleanupGroupMembers(PTP_CLEANUP_GROUP group, BOOL cancel, PVOID cleanup_context);
void ntw_CloseThreadpoolCleanupGroup(PTP_CLEANUP_GROUP group);

/* ==== What is called by pools. `environ` may be NULL. ==== */

PTP_WORK ntw_CreateThreadpoolWork(PTP_WORK_CALLBACK callback, PVOID context, TP_CALLBACK_ENVIRON_V3 *environ);
void ntw_SubmitThreadpoolWork(PTP_WORK work);
void ntw_WaitForThreadpoolWorkCallbacks(PTP_WORK work, BOOL cancel);
void ntw_CloseThreadpoolWork(PTP_WORK work);
BOOL ntw_TrySubmitThreadpoolCallback(PTP_SIMPLE_CALLBACK callback, PVOID context, TP_CALLBACK_ENVIRON_V3 *environ);

/* `due` in units of 100 ns: from now on if it is negative, else since 1601; NULL unsets. */
PTP_TIMER ntw_CreateThreadpoolTimer(PTP_TIMER_CALLBACK callback, PVOID context, TP_CALLBACK_ENVIRON_V3 *environ);
void ntw_SetThreadpoolTimer(PTP_TIMER timer, PFILETIME due, DWORD period, DWORD window);
BOOL ntw_SetThreadpoolTimerEx(PTP_TIMER timer, PFILETIME due, DWORD period, DWORD window);
BOOL ntw_IsThreadpoolTimerSet(PTP_TIMER timer);
void ntw_WaitForThreadpoolTimerCallbacks(PTP_TIMER timer, BOOL cancel);
void ntw_CloseThreadpoolTimer(PTP_TIMER timer);

/* `timeout` as `due` above; NULL for none. NULL as the object unsets. */
PTP_WAIT ntw_CreateThreadpoolWait(PTP_WAIT_CALLBACK callback, PVOID context, TP_CALLBACK_ENVIRON_V3 *environ);
void ntw_SetThreadpoolWait(PTP_WAIT wait, HANDLE object, PFILETIME timeout);
BOOL ntw_SetThreadpoolWaitEx(PTP_WAIT wait, HANDLE object, PFILETIME timeout, PVOID reserved);
void ntw_WaitForThreadpoolWaitCallbacks(PTP_WAIT wait, BOOL cancel);
void ntw_CloseThreadpoolWait(PTP_WAIT wait);

/* ==== In a callback ==== */

BOOL ntw_CallbackMayRunLong(PTP_CALLBACK_INSTANCE instance);
void ntw_DisassociateCurrentThreadFromCallback(PTP_CALLBACK_INSTANCE instance);
void ntw_SetEventWhenCallbackReturns(PTP_CALLBACK_INSTANCE instance, HANDLE event);
void ntw_ReleaseSemaphoreWhenCallbackReturns(PTP_CALLBACK_INSTANCE instance, HANDLE semaphore, DWORD count);
void ntw_ReleaseMutexWhenCallbackReturns(PTP_CALLBACK_INSTANCE instance, HANDLE mutex);
void ntw_LeaveCriticalSectionWhenCallbackReturns(PTP_CALLBACK_INSTANCE instance, LPCRITICAL_SECTION section);

/* ==== Registered waits, timer queues, work items: by the pool of the process ==== */

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

/* ==== What a callback is told to be when it is made ==== */

#define NTUX_WIN_ENVIRON static __inline__ __attribute__((__unused__))

NTUX_WIN_ENVIRON void ntw_InitializeThreadpoolEnvironment(TP_CALLBACK_ENVIRON_V3 *environ)
{
    environ->Version = 3;
    environ->Pool = 0;
    environ->CleanupGroup = 0;
    environ->CleanupGroupCancelCallback = 0;
    environ->RaceDll = 0;
    environ->ActivationContext = 0;
    environ->FinalizationCallback = 0;
    environ->u.Flags = 0;
    environ->CallbackPriority = TP_CALLBACK_PRIORITY_NORMAL;
    environ->Size = (DWORD)sizeof(*environ);
}
NTUX_WIN_ENVIRON void ntw_DestroyThreadpoolEnvironment(TP_CALLBACK_ENVIRON_V3 *environ)
{
    (void)environ;
}
NTUX_WIN_ENVIRON void ntw_SetThreadpoolCallbackPool(TP_CALLBACK_ENVIRON_V3 *environ, PTP_POOL pool)
{
    environ->Pool = pool;
}
NTUX_WIN_ENVIRON void ntw_SetThreadpoolCallbackCleanupGroup(TP_CALLBACK_ENVIRON_V3 *environ, PTP_CLEANUP_GROUP group,
                                                            PTP_CLEANUP_GROUP_CANCEL_CALLBACK cancel)
{
    environ->CleanupGroup = group;
    environ->CleanupGroupCancelCallback = cancel;
}
NTUX_WIN_ENVIRON void ntw_SetThreadpoolCallbackRunsLong(TP_CALLBACK_ENVIRON_V3 *environ)
{
    environ->u.Flags |= 1u;
}
NTUX_WIN_ENVIRON void ntw_SetThreadpoolCallbackPersistent(TP_CALLBACK_ENVIRON_V3 *environ)
{
    environ->u.Flags |= 2u;
}
NTUX_WIN_ENVIRON void ntw_SetThreadpoolCallbackPriority(TP_CALLBACK_ENVIRON_V3 *environ, TP_CALLBACK_PRIORITY priority)
{
    environ->CallbackPriority = priority;
}

/* ==== Plain names ==== */

#ifdef NTUX_WIN32_NAMES
#define CreateThreadpool ntw_CreateThreadpool
#define CloseThreadpool ntw_CloseThreadpool
#define SetThreadpoolThreadMaximum ntw_SetThreadpoolThreadMaximum
#define SetThreadpoolThreadMinimum ntw_SetThreadpoolThreadMinimum
#define SetThreadpoolStackInformation ntw_SetThreadpoolStackInformation
#define QueryThreadpoolStackInformation ntw_QueryThreadpoolStackInformation
#define CreateThreadpoolCleanupGroup ntw_CreateThreadpoolCleanupGroup
#define CloseThreadpoolCleanupGroupMembers ntw_CloseThreadpoolCleanupGroupMembers
#define CloseThreadpoolCleanupGroup ntw_CloseThreadpoolCleanupGroup
#define CreateThreadpoolWork ntw_CreateThreadpoolWork
#define SubmitThreadpoolWork ntw_SubmitThreadpoolWork
#define WaitForThreadpoolWorkCallbacks ntw_WaitForThreadpoolWorkCallbacks
#define CloseThreadpoolWork ntw_CloseThreadpoolWork
#define TrySubmitThreadpoolCallback ntw_TrySubmitThreadpoolCallback
#define CreateThreadpoolTimer ntw_CreateThreadpoolTimer
#define SetThreadpoolTimer ntw_SetThreadpoolTimer
#define SetThreadpoolTimerEx ntw_SetThreadpoolTimerEx
#define IsThreadpoolTimerSet ntw_IsThreadpoolTimerSet
#define WaitForThreadpoolTimerCallbacks ntw_WaitForThreadpoolTimerCallbacks
#define CloseThreadpoolTimer ntw_CloseThreadpoolTimer
#define CreateThreadpoolWait ntw_CreateThreadpoolWait
#define SetThreadpoolWait ntw_SetThreadpoolWait
#define SetThreadpoolWaitEx ntw_SetThreadpoolWaitEx
#define WaitForThreadpoolWaitCallbacks ntw_WaitForThreadpoolWaitCallbacks
#define CloseThreadpoolWait ntw_CloseThreadpoolWait
#define CallbackMayRunLong ntw_CallbackMayRunLong
#define DisassociateCurrentThreadFromCallback ntw_DisassociateCurrentThreadFromCallback
#define SetEventWhenCallbackReturns ntw_SetEventWhenCallbackReturns
#define ReleaseSemaphoreWhenCallbackReturns ntw_ReleaseSemaphoreWhenCallbackReturns
#define ReleaseMutexWhenCallbackReturns ntw_ReleaseMutexWhenCallbackReturns
#define LeaveCriticalSectionWhenCallbackReturns ntw_LeaveCriticalSectionWhenCallbackReturns
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
#define InitializeThreadpoolEnvironment ntw_InitializeThreadpoolEnvironment
#define DestroyThreadpoolEnvironment ntw_DestroyThreadpoolEnvironment
#define SetThreadpoolCallbackPool ntw_SetThreadpoolCallbackPool
#define SetThreadpoolCallbackCleanupGroup ntw_SetThreadpoolCallbackCleanupGroup
#define SetThreadpoolCallbackRunsLong ntw_SetThreadpoolCallbackRunsLong
#define SetThreadpoolCallbackPersistent ntw_SetThreadpoolCallbackPersistent
#define SetThreadpoolCallbackPriority ntw_SetThreadpoolCallbackPriority
#endif

#ifdef __cplusplus
}
#endif

#endif
