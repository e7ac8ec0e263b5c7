/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Functions of ntdll: events, mutexes (mutants), semaphores, timers, completion ports, waits and locks, for code that calls them in place
 * of Win32's, or asks for the state of an object; and keyed events, which Win32 does not have: a thread that waits and a thread that
 * releases meet by a key, and each waits for the other. The functions return a status of <ntux/win/ntstatus.h>, and set no error number.
 * docs/win/reference.md says where this library differs. The handles are those of Win32.
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
struct _IO_STATUS_BLOCK;
struct _FILE_IO_COMPLETION_INFORMATION;
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

typedef enum _TIMER_TYPE { NotificationTimer, SynchronizationTimer } TIMER_TYPE;
typedef enum _TIMER_INFORMATION_CLASS { TimerBasicInformation } TIMER_INFORMATION_CLASS;
typedef struct _TIMER_BASIC_INFORMATION {
    LARGE_INTEGER RemainingTime; /* in hundreds of nanoseconds; 0 if it is not set */
    BOOLEAN TimerState;          /* it is signaled */
} TIMER_BASIC_INFORMATION, *PTIMER_BASIC_INFORMATION;

typedef enum _IO_COMPLETION_INFORMATION_CLASS { IoCompletionBasicInformation } IO_COMPLETION_INFORMATION_CLASS;
typedef struct _IO_COMPLETION_BASIC_INFORMATION {
    LONG Depth; /* packets */
} IO_COMPLETION_BASIC_INFORMATION, *PIO_COMPLETION_BASIC_INFORMATION;

typedef struct _IO_STATUS_BLOCK {
    __extension__ union {
        NTSTATUS Status;
        PVOID Pointer;
    };
    ULONG_PTR Information;
} IO_STATUS_BLOCK, *PIO_STATUS_BLOCK;

typedef struct _FILE_IO_COMPLETION_INFORMATION {
    ULONG_PTR CompletionKey;
    ULONG_PTR CompletionValue;
    IO_STATUS_BLOCK IoStatusBlock;
} FILE_IO_COMPLETION_INFORMATION, *PFILE_IO_COMPLETION_INFORMATION;
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

#ifndef DUPLICATE_SAME_ATTRIBUTES
#define DUPLICATE_SAME_ATTRIBUTES 0x4u
#endif

LONG ntw_NtClose(HANDLE handle);
LONG ntw_NtDuplicateObject(HANDLE from, HANDLE source, HANDLE to, LPHANDLE duplicate, DWORD access, ULONG attributes, ULONG options);

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

/* Timers and completion ports: what Win32's do, and more that they tell. */

LONG ntw_NtCreateTimer(LPHANDLE timer, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes, UINT type);
LONG ntw_NtOpenTimer(LPHANDLE timer, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes);
LONG ntw_NtSetTimer(HANDLE timer, const union _LARGE_INTEGER *due, VOID(CALLBACK *routine)(PVOID argument, ULONG low, LONG high),
                    PVOID argument, BOOLEAN resume, LONG period, BOOLEAN *before);
LONG ntw_NtCancelTimer(HANDLE timer, BOOLEAN *before);
LONG ntw_NtQueryTimer(HANDLE timer, UINT type, LPVOID information, ULONG bytes, ULONG *length);

LONG ntw_NtCreateIoCompletion(LPHANDLE port, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes, ULONG threads);
LONG ntw_NtOpenIoCompletion(LPHANDLE port, DWORD access, const struct _OBJECT_ATTRIBUTES *attributes);
LONG ntw_NtSetIoCompletion(HANDLE port, ULONG_PTR key, ULONG_PTR value, LONG status, SIZE_T information);
LONG ntw_NtRemoveIoCompletion(HANDLE port, ULONG_PTR *key, ULONG_PTR *value, struct _IO_STATUS_BLOCK *block,
                              const union _LARGE_INTEGER *timeout);
LONG ntw_NtRemoveIoCompletionEx(HANDLE port, struct _FILE_IO_COMPLETION_INFORMATION *entries, ULONG count, ULONG *removed,
                                const union _LARGE_INTEGER *timeout, BOOLEAN alertable);
LONG ntw_NtQueryIoCompletion(HANDLE port, UINT type, LPVOID information, ULONG bytes, ULONG *length);

/* Asynchronous calls. Without a function nothing is called, and no wait ends. */

LONG ntw_NtQueueApcThread(HANDLE thread, VOID(CALLBACK *function)(ULONG_PTR first, ULONG_PTR second, ULONG_PTR third),
                          ULONG_PTR first, ULONG_PTR second, ULONG_PTR third);
LONG ntw_NtTestAlert(void);

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

/* ==== Locks and lists in the program's memory: Win32's, with a status in place of a BOOL and an error ==== */

LONG ntw_RtlInitializeCriticalSection(LPCRITICAL_SECTION section);
LONG ntw_RtlInitializeCriticalSectionAndSpinCount(LPCRITICAL_SECTION section, ULONG spin);
LONG ntw_RtlInitializeCriticalSectionEx(LPCRITICAL_SECTION section, ULONG spin, ULONG flags);
ULONG ntw_RtlSetCriticalSectionSpinCount(LPCRITICAL_SECTION section, ULONG spin);
LONG ntw_RtlEnterCriticalSection(LPCRITICAL_SECTION section);
BOOL ntw_RtlTryEnterCriticalSection(LPCRITICAL_SECTION section);
LONG ntw_RtlLeaveCriticalSection(LPCRITICAL_SECTION section);
LONG ntw_RtlDeleteCriticalSection(LPCRITICAL_SECTION section);

void ntw_RtlInitializeSRWLock(PSRWLOCK lock);
void ntw_RtlAcquireSRWLockExclusive(PSRWLOCK lock);
void ntw_RtlAcquireSRWLockShared(PSRWLOCK lock);
BOOLEAN ntw_RtlTryAcquireSRWLockExclusive(PSRWLOCK lock);
BOOLEAN ntw_RtlTryAcquireSRWLockShared(PSRWLOCK lock);
void ntw_RtlReleaseSRWLockExclusive(PSRWLOCK lock);
void ntw_RtlReleaseSRWLockShared(PSRWLOCK lock);

void ntw_RtlInitializeConditionVariable(PCONDITION_VARIABLE variable);
LONG ntw_RtlSleepConditionVariableCS(PCONDITION_VARIABLE variable, LPCRITICAL_SECTION section, const union _LARGE_INTEGER *timeout);
LONG ntw_RtlSleepConditionVariableSRW(PCONDITION_VARIABLE variable, PSRWLOCK lock, const union _LARGE_INTEGER *timeout, ULONG flags);
void ntw_RtlWakeConditionVariable(PCONDITION_VARIABLE variable);
void ntw_RtlWakeAllConditionVariable(PCONDITION_VARIABLE variable);

LONG ntw_RtlWaitOnAddress(const volatile void *address, const void *compared, SIZE_T bytes, const union _LARGE_INTEGER *timeout);
void ntw_RtlWakeAddressSingle(const void *address);
void ntw_RtlWakeAddressAll(const void *address);

/* STATUS_PENDING: the caller does it. The flags are those of INIT_ONCE. */
void ntw_RtlRunOnceInitialize(PINIT_ONCE once);
LONG ntw_RtlRunOnceBeginInitialize(PINIT_ONCE once, ULONG flags, PVOID *context);
LONG ntw_RtlRunOnceComplete(PINIT_ONCE once, ULONG flags, PVOID context);
LONG ntw_RtlRunOnceExecuteOnce(PINIT_ONCE once, ULONG(CALLBACK *function)(PINIT_ONCE once, PVOID parameter, PVOID *context),
                               PVOID parameter, PVOID *context);

/* With the flag 0x10000 the deletion waits for the thread; the others are not looked at, nor is the number of spins. */
LONG ntw_RtlInitBarrier(LPSYNCHRONIZATION_BARRIER barrier, LONG total, LONG spins);
BOOLEAN ntw_RtlBarrier(LPSYNCHRONIZATION_BARRIER barrier, ULONG flags);
LONG ntw_RtlDeleteBarrier(LPSYNCHRONIZATION_BARRIER barrier);

void ntw_RtlInitializeSListHead(union _SLIST_HEADER *header);
struct _SLIST_ENTRY *ntw_RtlInterlockedPushEntrySList(union _SLIST_HEADER *header, struct _SLIST_ENTRY *entry);
struct _SLIST_ENTRY *ntw_RtlInterlockedPopEntrySList(union _SLIST_HEADER *header);
struct _SLIST_ENTRY *ntw_RtlInterlockedFlushSList(union _SLIST_HEADER *header);
struct _SLIST_ENTRY *ntw_RtlInterlockedPushListSList(union _SLIST_HEADER *header, struct _SLIST_ENTRY *first,
                                                     struct _SLIST_ENTRY *last, ULONG count);
struct _SLIST_ENTRY *ntw_RtlInterlockedPushListSListEx(union _SLIST_HEADER *header, struct _SLIST_ENTRY *first,
                                                       struct _SLIST_ENTRY *last, ULONG count);
WORD ntw_RtlQueryDepthSList(union _SLIST_HEADER *header);

/* The error that says what a status of <ntux/win/ntstatus.h> says; of any other it is 317. */
ULONG ntw_RtlNtStatusToDosError(LONG status);

#ifdef NTUX_WIN32_NAMES
#define NtClose ntw_NtClose
#define NtDuplicateObject ntw_NtDuplicateObject
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
#define NtCreateTimer ntw_NtCreateTimer
#define NtOpenTimer ntw_NtOpenTimer
#define NtSetTimer ntw_NtSetTimer
#define NtCancelTimer ntw_NtCancelTimer
#define NtQueryTimer ntw_NtQueryTimer
#define NtCreateIoCompletion ntw_NtCreateIoCompletion
#define NtOpenIoCompletion ntw_NtOpenIoCompletion
#define NtSetIoCompletion ntw_NtSetIoCompletion
#define NtRemoveIoCompletion ntw_NtRemoveIoCompletion
#define NtRemoveIoCompletionEx ntw_NtRemoveIoCompletionEx
#define NtQueryIoCompletion ntw_NtQueryIoCompletion
#define NtQueueApcThread ntw_NtQueueApcThread
#define NtTestAlert ntw_NtTestAlert
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
#define RtlInitializeCriticalSection ntw_RtlInitializeCriticalSection
#define RtlInitializeCriticalSectionAndSpinCount ntw_RtlInitializeCriticalSectionAndSpinCount
#define RtlInitializeCriticalSectionEx ntw_RtlInitializeCriticalSectionEx
#define RtlSetCriticalSectionSpinCount ntw_RtlSetCriticalSectionSpinCount
#define RtlEnterCriticalSection ntw_RtlEnterCriticalSection
#define RtlTryEnterCriticalSection ntw_RtlTryEnterCriticalSection
#define RtlLeaveCriticalSection ntw_RtlLeaveCriticalSection
#define RtlDeleteCriticalSection ntw_RtlDeleteCriticalSection
#define RtlInitializeSRWLock ntw_RtlInitializeSRWLock
#define RtlAcquireSRWLockExclusive ntw_RtlAcquireSRWLockExclusive
#define RtlAcquireSRWLockShared ntw_RtlAcquireSRWLockShared
#define RtlTryAcquireSRWLockExclusive ntw_RtlTryAcquireSRWLockExclusive
#define RtlTryAcquireSRWLockShared ntw_RtlTryAcquireSRWLockShared
#define RtlReleaseSRWLockExclusive ntw_RtlReleaseSRWLockExclusive
#define RtlReleaseSRWLockShared ntw_RtlReleaseSRWLockShared
#define RtlInitializeConditionVariable ntw_RtlInitializeConditionVariable
#define RtlSleepConditionVariableCS ntw_RtlSleepConditionVariableCS
#define RtlSleepConditionVariableSRW ntw_RtlSleepConditionVariableSRW
#define RtlWakeConditionVariable ntw_RtlWakeConditionVariable
#define RtlWakeAllConditionVariable ntw_RtlWakeAllConditionVariable
#define RtlWaitOnAddress ntw_RtlWaitOnAddress
#define RtlWakeAddressSingle ntw_RtlWakeAddressSingle
#define RtlWakeAddressAll ntw_RtlWakeAddressAll
#define RtlRunOnceInitialize ntw_RtlRunOnceInitialize
#define RtlRunOnceBeginInitialize ntw_RtlRunOnceBeginInitialize
#define RtlRunOnceComplete ntw_RtlRunOnceComplete
#define RtlRunOnceExecuteOnce ntw_RtlRunOnceExecuteOnce
#define RtlInitBarrier ntw_RtlInitBarrier
#define RtlBarrier ntw_RtlBarrier
#define RtlDeleteBarrier ntw_RtlDeleteBarrier
#define RtlInitializeSListHead ntw_RtlInitializeSListHead
#define RtlInterlockedPushEntrySList ntw_RtlInterlockedPushEntrySList
#define RtlInterlockedPopEntrySList ntw_RtlInterlockedPopEntrySList
#define RtlInterlockedFlushSList ntw_RtlInterlockedFlushSList
#define RtlInterlockedPushListSList ntw_RtlInterlockedPushListSList
#define RtlInterlockedPushListSListEx ntw_RtlInterlockedPushListSListEx
#define RtlQueryDepthSList ntw_RtlQueryDepthSList
#define RtlNtStatusToDosError ntw_RtlNtStatusToDosError
#endif

#ifdef __cplusplus
}
#endif

#endif
