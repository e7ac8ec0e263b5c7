/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Objects behind handles, waits for them, and locks in the program's memory, as <synchapi.h> and <handleapi.h> of Windows have them. What
 * each function does is what Windows' documentation says; docs/win/reference.md says where this library differs.
 *
 *     #define NTUX_WIN32_NAMES      (before the first of these headers: plain names; else each begins with ntw_)
 *     #include <ntux/win/synchapi.h>
 *
 *     cc program.c $(pkg-config --cflags --libs ntux-win)
 *
 * Any thread may call any function; a signal handler may call none but those of <ntux/win/errors.h>.
 */
#ifndef NTUX_WIN_SYNCHAPI_H
#define NTUX_WIN_SYNCHAPI_H

#include <ntux/win/errors.h>
#include <ntux/win/interlockedapi.h>
#include <ntux/win/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header; the library's file name contains it. */
#define NTUX_WIN_VERSION "0.1.0"

/* ==== Constants ==== */

#ifndef INFINITE
#define INFINITE 0xFFFFFFFFu
#endif
#ifndef WAIT_OBJECT_0
#define WAIT_OBJECT_0      0u
#define WAIT_ABANDONED     0x80u
#define WAIT_ABANDONED_0   0x80u
#define WAIT_IO_COMPLETION 0xC0u
#define WAIT_TIMEOUT       0x102u
#define WAIT_FAILED        0xFFFFFFFFu
#endif
#ifndef MAXIMUM_WAIT_OBJECTS
#define MAXIMUM_WAIT_OBJECTS 64
#endif
#ifndef INVALID_HANDLE_VALUE
#define INVALID_HANDLE_VALUE ((HANDLE)(LONG_PTR)-1)
#endif

#ifndef SYNCHRONIZE
#define READ_CONTROL             0x00020000u
#define SYNCHRONIZE              0x00100000u
#define STANDARD_RIGHTS_REQUIRED 0x000F0000u
#define ACCESS_SYSTEM_SECURITY   0x01000000u
#define MAXIMUM_ALLOWED          0x02000000u
#define GENERIC_ALL              0x10000000u
#define GENERIC_EXECUTE          0x20000000u
#define GENERIC_WRITE            0x40000000u
#define GENERIC_READ             0x80000000u
#endif
#ifndef EVENT_ALL_ACCESS
#define EVENT_MODIFY_STATE     0x0002u
#define EVENT_ALL_ACCESS       0x001F0003u
#define SEMAPHORE_MODIFY_STATE 0x0002u
#define SEMAPHORE_ALL_ACCESS   0x001F0003u
#define MUTEX_MODIFY_STATE     0x0001u
#define MUTEX_ALL_ACCESS       0x001F0001u
#endif
#ifndef CREATE_WAITABLE_TIMER_MANUAL_RESET
#define CREATE_WAITABLE_TIMER_MANUAL_RESET 0x1u
#endif
#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 0x2u
#endif
#ifndef TIMER_ALL_ACCESS
#define TIMER_QUERY_STATE  0x0001u
#define TIMER_MODIFY_STATE 0x0002u
#define TIMER_ALL_ACCESS   0x001F0003u
#endif

#ifndef CREATE_EVENT_MANUAL_RESET
#define CREATE_EVENT_MANUAL_RESET  0x1u
#define CREATE_EVENT_INITIAL_SET   0x2u
#define CREATE_MUTEX_INITIAL_OWNER 0x1u
#endif
#ifndef DUPLICATE_SAME_ACCESS
#define DUPLICATE_CLOSE_SOURCE 0x1u
#define DUPLICATE_SAME_ACCESS  0x2u
#endif
#ifndef HANDLE_FLAG_INHERIT
#define HANDLE_FLAG_INHERIT            0x1u
#define HANDLE_FLAG_PROTECT_FROM_CLOSE 0x2u
#endif

/* Static initializers: zeros are a free lock, too. */
#ifndef SRWLOCK_INIT
#define SRWLOCK_INIT            { 0 }
#define CONDITION_VARIABLE_INIT { 0 }
#define INIT_ONCE_STATIC_INIT   { 0 }
#endif
#define NTUX_WIN_CRITICAL_SECTION_INIT { 0, -1, 0, 0, 0, 0 }

#ifndef RTL_CRITICAL_SECTION_FLAG_FORCE_DEBUG_INFO
#define RTL_CRITICAL_SECTION_FLAG_FORCE_DEBUG_INFO 0x10000000u
#endif
#ifndef CONDITION_VARIABLE_LOCKMODE_SHARED
#define CONDITION_VARIABLE_LOCKMODE_SHARED 0x1u
#endif
#ifndef INIT_ONCE_CHECK_ONLY
#define INIT_ONCE_CHECK_ONLY        0x1u
#define INIT_ONCE_ASYNC             0x2u
#define INIT_ONCE_INIT_FAILED       0x4u
#define INIT_ONCE_CTX_RESERVED_BITS 2
#endif
#ifndef SYNCHRONIZATION_BARRIER_FLAGS_SPIN_ONLY
#define SYNCHRONIZATION_BARRIER_FLAGS_SPIN_ONLY  0x1u
#define SYNCHRONIZATION_BARRIER_FLAGS_BLOCK_ONLY 0x2u
#define SYNCHRONIZATION_BARRIER_FLAGS_NO_DELETE  0x4u
#endif

/* ==== Names ====
 *
 * On Windows every process of the session finds an object by its name. Here functions with a name fail with ERROR_CALL_NOT_IMPLEMENTED
 * unless the program has said who is to find it. NULL and "" are no name.
 */

/* This process alone. */
void ntw_UseProcessNames(BOOL use_them);

/* All processes of this user that say so with the same name of a session (NULL: "win32"). Say so before the program has an object: they are
 * in the memory of the session then. Events, mutexes, semaphores and timers can have such names; a mutex whose owner was killed is abandoned.
 * Returns FALSE, and everything stays as it was:
 *
 * ERROR_ALREADY_INITIALIZED   the program has objects, or another session
 * ERROR_INVALID_PARAMETER     no name for a session: 1 to 200 bytes, not '/'
 * ERROR_ACCESS_DENIED         the processes of the session are hidden from this one
 * ERROR_NOT_ENOUGH_MEMORY, ERROR_NOT_SUPPORTED (macOS)
 */
BOOL ntw_UseSessionNames(LPCSTR session);

/* ==== Events ==== */

HANDLE ntw_CreateEventA(LPSECURITY_ATTRIBUTES attributes, BOOL manual, BOOL signaled, LPCSTR name);
HANDLE ntw_CreateEventW(LPSECURITY_ATTRIBUTES attributes, BOOL manual, BOOL signaled, LPCWSTR name);
HANDLE ntw_CreateEventExA(LPSECURITY_ATTRIBUTES attributes, LPCSTR name, DWORD flags, DWORD access);
HANDLE ntw_CreateEventExW(LPSECURITY_ATTRIBUTES attributes, LPCWSTR name, DWORD flags, DWORD access);
HANDLE ntw_OpenEventA(DWORD access, BOOL inherit, LPCSTR name);
HANDLE ntw_OpenEventW(DWORD access, BOOL inherit, LPCWSTR name);
BOOL ntw_SetEvent(HANDLE event);
BOOL ntw_ResetEvent(HANDLE event);
BOOL ntw_PulseEvent(HANDLE event);

/* ==== Mutexes: owned by threads; abandoned by the end of their owner ==== */

HANDLE ntw_CreateMutexA(LPSECURITY_ATTRIBUTES attributes, BOOL owned, LPCSTR name);
HANDLE ntw_CreateMutexW(LPSECURITY_ATTRIBUTES attributes, BOOL owned, LPCWSTR name);
HANDLE ntw_CreateMutexExA(LPSECURITY_ATTRIBUTES attributes, LPCSTR name, DWORD flags, DWORD access);
HANDLE ntw_CreateMutexExW(LPSECURITY_ATTRIBUTES attributes, LPCWSTR name, DWORD flags, DWORD access);
HANDLE ntw_OpenMutexA(DWORD access, BOOL inherit, LPCSTR name);
HANDLE ntw_OpenMutexW(DWORD access, BOOL inherit, LPCWSTR name);
BOOL ntw_ReleaseMutex(HANDLE mutex);

/* ==== Semaphores ==== */

HANDLE ntw_CreateSemaphoreA(LPSECURITY_ATTRIBUTES attributes, LONG initial, LONG maximum, LPCSTR name);
HANDLE ntw_CreateSemaphoreW(LPSECURITY_ATTRIBUTES attributes, LONG initial, LONG maximum, LPCWSTR name);
HANDLE ntw_CreateSemaphoreExA(LPSECURITY_ATTRIBUTES attributes, LONG initial, LONG maximum, LPCSTR name, DWORD flags,
                              DWORD access);
HANDLE ntw_CreateSemaphoreExW(LPSECURITY_ATTRIBUTES attributes, LONG initial, LONG maximum, LPCWSTR name, DWORD flags,
                              DWORD access);
HANDLE ntw_OpenSemaphoreA(DWORD access, BOOL inherit, LPCSTR name);
HANDLE ntw_OpenSemaphoreW(DWORD access, BOOL inherit, LPCWSTR name);
BOOL ntw_ReleaseSemaphore(HANDLE semaphore, LONG count, LPLONG previous);

/* ==== Waits ==== */

DWORD ntw_WaitForSingleObject(HANDLE handle, DWORD milliseconds);
DWORD ntw_WaitForSingleObjectEx(HANDLE handle, DWORD milliseconds, BOOL alertable);
DWORD ntw_WaitForMultipleObjects(DWORD count, const HANDLE *handles, BOOL all, DWORD milliseconds);
DWORD ntw_WaitForMultipleObjectsEx(DWORD count, const HANDLE *handles, BOOL all, DWORD milliseconds, BOOL alertable);
DWORD ntw_SignalObjectAndWait(HANDLE signal, HANDLE object, DWORD milliseconds, BOOL alertable);
void ntw_Sleep(DWORD milliseconds);
DWORD ntw_SleepEx(DWORD milliseconds, BOOL alertable);

/* ==== Handles ==== */

BOOL ntw_CloseHandle(HANDLE handle);

/* Also to another process, if both have called ntw_UseSessionNames with one name: an event, a mutex, a semaphore or a timer. The handle is
 * that process's alone then, and has more than 32 bits.
 *
 * ERROR_INVALID_HANDLE         `source` is none, or a process is none
 * ERROR_ACCESS_DENIED          `access` is none that the object has; the other process has ended
 * ERROR_CALL_NOT_IMPLEMENTED   the other process does not take part in the session; another kind of object; `from` is not this process
 */
BOOL ntw_DuplicateHandle(HANDLE from, HANDLE source, HANDLE to, LPHANDLE duplicate, DWORD access, BOOL inherit,
                         DWORD options);
BOOL ntw_GetHandleInformation(HANDLE handle, LPDWORD flags);
BOOL ntw_SetHandleInformation(HANDLE handle, DWORD mask, DWORD flags);

/* ==== Locks in the program's memory, for the threads of one process ==== */

void ntw_InitializeCriticalSection(LPCRITICAL_SECTION section);
BOOL ntw_InitializeCriticalSectionAndSpinCount(LPCRITICAL_SECTION section, DWORD spin);
BOOL ntw_InitializeCriticalSectionEx(LPCRITICAL_SECTION section, DWORD spin, DWORD flags);
DWORD ntw_SetCriticalSectionSpinCount(LPCRITICAL_SECTION section, DWORD spin);
void ntw_DeleteCriticalSection(LPCRITICAL_SECTION section);
void ntw_EnterCriticalSection(LPCRITICAL_SECTION section);
BOOL ntw_TryEnterCriticalSection(LPCRITICAL_SECTION section);
void ntw_LeaveCriticalSection(LPCRITICAL_SECTION section);

void ntw_InitializeSRWLock(PSRWLOCK lock);
void ntw_AcquireSRWLockExclusive(PSRWLOCK lock);
void ntw_AcquireSRWLockShared(PSRWLOCK lock);
BOOLEAN ntw_TryAcquireSRWLockExclusive(PSRWLOCK lock);
BOOLEAN ntw_TryAcquireSRWLockShared(PSRWLOCK lock);
void ntw_ReleaseSRWLockExclusive(PSRWLOCK lock);
void ntw_ReleaseSRWLockShared(PSRWLOCK lock);

void ntw_InitializeConditionVariable(PCONDITION_VARIABLE variable);
BOOL ntw_SleepConditionVariableCS(PCONDITION_VARIABLE variable, PCRITICAL_SECTION section, DWORD milliseconds);
BOOL ntw_SleepConditionVariableSRW(PCONDITION_VARIABLE variable, PSRWLOCK lock, DWORD milliseconds, ULONG flags);
void ntw_WakeConditionVariable(PCONDITION_VARIABLE variable);
void ntw_WakeAllConditionVariable(PCONDITION_VARIABLE variable);

void ntw_InitOnceInitialize(PINIT_ONCE once);
BOOL ntw_InitOnceBeginInitialize(LPINIT_ONCE once, DWORD flags, PBOOL pending, LPVOID *context);
BOOL ntw_InitOnceComplete(LPINIT_ONCE once, DWORD flags, LPVOID context);
BOOL ntw_InitOnceExecuteOnce(PINIT_ONCE once, PINIT_ONCE_FN function, PVOID parameter, LPVOID *context);

BOOL ntw_InitializeSynchronizationBarrier(LPSYNCHRONIZATION_BARRIER barrier, LONG total, LONG spin);
BOOL ntw_EnterSynchronizationBarrier(LPSYNCHRONIZATION_BARRIER barrier, DWORD flags);
BOOL ntw_DeleteSynchronizationBarrier(LPSYNCHRONIZATION_BARRIER barrier);

BOOL ntw_WaitOnAddress(volatile VOID *address, PVOID compared, SIZE_T bytes, DWORD milliseconds);
void ntw_WakeByAddressSingle(PVOID address);
void ntw_WakeByAddressAll(PVOID address);

/* Timers. `due` points to a LARGE_INTEGER of 100 ns: from now on if it is negative, else since 1601. The routine is called in alertable waits
 * of the thread that has set the timer. */
HANDLE ntw_CreateWaitableTimerA(LPSECURITY_ATTRIBUTES attributes, BOOL manual, LPCSTR name);
HANDLE ntw_CreateWaitableTimerW(LPSECURITY_ATTRIBUTES attributes, BOOL manual, LPCWSTR name);
HANDLE ntw_CreateWaitableTimerExA(LPSECURITY_ATTRIBUTES attributes, LPCSTR name, DWORD flags, DWORD access);
HANDLE ntw_CreateWaitableTimerExW(LPSECURITY_ATTRIBUTES attributes, LPCWSTR name, DWORD flags, DWORD access);
HANDLE ntw_OpenWaitableTimerA(DWORD access, BOOL inherit, LPCSTR name);
HANDLE ntw_OpenWaitableTimerW(DWORD access, BOOL inherit, LPCWSTR name);
BOOL ntw_SetWaitableTimer(HANDLE timer, const void *due, LONG period,
                          VOID(CALLBACK *routine)(LPVOID argument, DWORD low, DWORD high), LPVOID argument,
                          BOOL resume);
BOOL ntw_SetWaitableTimerEx(HANDLE timer, const void *due, LONG period,
                            VOID(CALLBACK *routine)(LPVOID argument, DWORD low, DWORD high), LPVOID argument,
                            PVOID context, ULONG delay);
BOOL ntw_CancelWaitableTimer(HANDLE timer);

/* ==== Plain names ==== */

#ifdef NTUX_WIN32_NAMES
#define CreateEventA ntw_CreateEventA
#define CreateEventW ntw_CreateEventW
#define CreateEventExA ntw_CreateEventExA
#define CreateEventExW ntw_CreateEventExW
#define OpenEventA ntw_OpenEventA
#define OpenEventW ntw_OpenEventW
#define SetEvent ntw_SetEvent
#define ResetEvent ntw_ResetEvent
#define PulseEvent ntw_PulseEvent
#define CreateMutexA ntw_CreateMutexA
#define CreateMutexW ntw_CreateMutexW
#define CreateMutexExA ntw_CreateMutexExA
#define CreateMutexExW ntw_CreateMutexExW
#define OpenMutexA ntw_OpenMutexA
#define OpenMutexW ntw_OpenMutexW
#define ReleaseMutex ntw_ReleaseMutex
#define CreateSemaphoreA ntw_CreateSemaphoreA
#define CreateSemaphoreW ntw_CreateSemaphoreW
#define CreateSemaphoreExA ntw_CreateSemaphoreExA
#define CreateSemaphoreExW ntw_CreateSemaphoreExW
#define OpenSemaphoreA ntw_OpenSemaphoreA
#define OpenSemaphoreW ntw_OpenSemaphoreW
#define ReleaseSemaphore ntw_ReleaseSemaphore
#define WaitForSingleObject ntw_WaitForSingleObject
#define WaitForSingleObjectEx ntw_WaitForSingleObjectEx
#define WaitForMultipleObjects ntw_WaitForMultipleObjects
#define WaitForMultipleObjectsEx ntw_WaitForMultipleObjectsEx
#define SignalObjectAndWait ntw_SignalObjectAndWait
#define Sleep ntw_Sleep
#define SleepEx ntw_SleepEx
#define CloseHandle ntw_CloseHandle
#define DuplicateHandle ntw_DuplicateHandle
#define GetHandleInformation ntw_GetHandleInformation
#define SetHandleInformation ntw_SetHandleInformation
#define InitializeCriticalSection ntw_InitializeCriticalSection
#define InitializeCriticalSectionAndSpinCount ntw_InitializeCriticalSectionAndSpinCount
#define InitializeCriticalSectionEx ntw_InitializeCriticalSectionEx
#define SetCriticalSectionSpinCount ntw_SetCriticalSectionSpinCount
#define DeleteCriticalSection ntw_DeleteCriticalSection
#define EnterCriticalSection ntw_EnterCriticalSection
#define TryEnterCriticalSection ntw_TryEnterCriticalSection
#define LeaveCriticalSection ntw_LeaveCriticalSection
#define InitializeSRWLock ntw_InitializeSRWLock
#define AcquireSRWLockExclusive ntw_AcquireSRWLockExclusive
#define AcquireSRWLockShared ntw_AcquireSRWLockShared
#define TryAcquireSRWLockExclusive ntw_TryAcquireSRWLockExclusive
#define TryAcquireSRWLockShared ntw_TryAcquireSRWLockShared
#define ReleaseSRWLockExclusive ntw_ReleaseSRWLockExclusive
#define ReleaseSRWLockShared ntw_ReleaseSRWLockShared
#define InitializeConditionVariable ntw_InitializeConditionVariable
#define SleepConditionVariableCS ntw_SleepConditionVariableCS
#define SleepConditionVariableSRW ntw_SleepConditionVariableSRW
#define WakeConditionVariable ntw_WakeConditionVariable
#define WakeAllConditionVariable ntw_WakeAllConditionVariable
#define InitOnceInitialize ntw_InitOnceInitialize
#define InitOnceBeginInitialize ntw_InitOnceBeginInitialize
#define InitOnceComplete ntw_InitOnceComplete
#define InitOnceExecuteOnce ntw_InitOnceExecuteOnce
#define InitializeSynchronizationBarrier ntw_InitializeSynchronizationBarrier
#define EnterSynchronizationBarrier ntw_EnterSynchronizationBarrier
#define DeleteSynchronizationBarrier ntw_DeleteSynchronizationBarrier
#define WaitOnAddress ntw_WaitOnAddress
#define WakeByAddressSingle ntw_WakeByAddressSingle
#define WakeByAddressAll ntw_WakeByAddressAll
#define CreateWaitableTimerA ntw_CreateWaitableTimerA
#define CreateWaitableTimerW ntw_CreateWaitableTimerW
#define CreateWaitableTimerExA ntw_CreateWaitableTimerExA
#define CreateWaitableTimerExW ntw_CreateWaitableTimerExW
#define OpenWaitableTimerA ntw_OpenWaitableTimerA
#define OpenWaitableTimerW ntw_OpenWaitableTimerW
#define SetWaitableTimer ntw_SetWaitableTimer
#define SetWaitableTimerEx ntw_SetWaitableTimerEx
#define CancelWaitableTimer ntw_CancelWaitableTimer
#ifdef UNICODE
#define CreateEvent ntw_CreateEventW
#define CreateEventEx ntw_CreateEventExW
#define OpenEvent ntw_OpenEventW
#define CreateMutex ntw_CreateMutexW
#define CreateMutexEx ntw_CreateMutexExW
#define OpenMutex ntw_OpenMutexW
#define CreateSemaphore ntw_CreateSemaphoreW
#define CreateSemaphoreEx ntw_CreateSemaphoreExW
#define OpenSemaphore ntw_OpenSemaphoreW
#define CreateWaitableTimer ntw_CreateWaitableTimerW
#define CreateWaitableTimerEx ntw_CreateWaitableTimerExW
#define OpenWaitableTimer ntw_OpenWaitableTimerW
#else
#define CreateEvent ntw_CreateEventA
#define CreateEventEx ntw_CreateEventExA
#define OpenEvent ntw_OpenEventA
#define CreateMutex ntw_CreateMutexA
#define CreateMutexEx ntw_CreateMutexExA
#define OpenMutex ntw_OpenMutexA
#define CreateSemaphore ntw_CreateSemaphoreA
#define CreateSemaphoreEx ntw_CreateSemaphoreExA
#define OpenSemaphore ntw_OpenSemaphoreA
#define CreateWaitableTimer ntw_CreateWaitableTimerA
#define CreateWaitableTimerEx ntw_CreateWaitableTimerExA
#define OpenWaitableTimer ntw_OpenWaitableTimerA
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif
