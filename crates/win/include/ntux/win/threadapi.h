/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads by handles, and asynchronous procedure calls, as <processthreadsapi.h> of Windows has them. docs/win/reference.md says where this
 * library differs. A thread's handle is signaled when the thread has ended, however it did, and however it was made; then its mutexes are
 * abandoned already.
 */
#ifndef NTUX_WIN_THREADAPI_H
#define NTUX_WIN_THREADAPI_H

#include <ntux/win/synchapi.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CREATE_SUSPENDED
#define CREATE_SUSPENDED 0x4u
#endif
#ifndef STACK_SIZE_PARAM_IS_A_RESERVATION
#define STACK_SIZE_PARAM_IS_A_RESERVATION 0x10000u
#endif
#ifndef PROCESS_DUP_HANDLE
#define PROCESS_DUP_HANDLE 0x40u
#endif
#ifndef PROCESS_QUERY_INFORMATION
#define PROCESS_QUERY_INFORMATION 0x400u
#endif
#ifndef PROCESS_QUERY_LIMITED_INFORMATION
#define PROCESS_QUERY_LIMITED_INFORMATION 0x1000u
#endif
#ifndef PROCESS_ALL_ACCESS
#define PROCESS_ALL_ACCESS 0x1FFFFFu
#endif
#ifndef THREAD_QUERY_INFORMATION
#define THREAD_QUERY_INFORMATION 0x40u
#endif
#ifndef THREAD_QUERY_LIMITED_INFORMATION
#define THREAD_QUERY_LIMITED_INFORMATION 0x800u
#endif
#ifndef THREAD_ALL_ACCESS
#define THREAD_ALL_ACCESS 0x1FFFFFu
#endif
#ifndef STILL_ACTIVE
#define STILL_ACTIVE 259u
#endif

/* `stack` is the whole size of the stack in bytes; 0 for the C library's own. */
HANDLE ntw_CreateThread(LPSECURITY_ATTRIBUTES attributes, SIZE_T stack, LPTHREAD_START_ROUTINE routine, LPVOID argument,
                        DWORD flags, LPDWORD id);
/* Ends as pthread_exit does: what C++ and the C library keep for the thread is destroyed. Does not return. */
void ntw_ExitThread(DWORD code);
DWORD ntw_ResumeThread(HANDLE thread);
/* Both only of a thread that was created suspended and has not begun; otherwise refused. */
DWORD ntw_SuspendThread(HANDLE thread);
BOOL ntw_TerminateThread(HANDLE thread, DWORD code);
BOOL ntw_GetExitCodeThread(HANDLE thread, LPDWORD code);
DWORD ntw_GetThreadId(HANDLE thread);
HANDLE ntw_GetCurrentThread(void);
DWORD ntw_GetCurrentThreadId(void);
/* A thread of this process that CreateThread has made, or that has called GetCurrentThreadId. */
HANDLE ntw_OpenThread(DWORD access, BOOL inherit, DWORD id);
HANDLE ntw_GetCurrentProcess(void);
DWORD ntw_GetCurrentProcessId(void);
/* By the number that the system has given it. */
HANDLE ntw_OpenProcess(DWORD access, BOOL inherit, DWORD id);
DWORD ntw_GetProcessId(HANDLE process);
/* What it exited with; 128 and the signal that has killed it. */
BOOL ntw_GetExitCodeProcess(HANDLE process, LPDWORD code);

/* They are called in the order of arrival, in the thread's alertable waits, and before it begins. */
DWORD ntw_QueueUserAPC(VOID(CALLBACK *function)(ULONG_PTR argument), HANDLE thread, ULONG_PTR argument);
/* With flags: refused. */
BOOL ntw_QueueUserAPC2(VOID(CALLBACK *function)(ULONG_PTR argument), HANDLE thread, ULONG_PTR argument, DWORD flags);

/* ==== Plain names ==== */

#ifdef NTUX_WIN32_NAMES
#define CreateThread ntw_CreateThread
#define ExitThread ntw_ExitThread
#define ResumeThread ntw_ResumeThread
#define TerminateThread ntw_TerminateThread
#define GetExitCodeThread ntw_GetExitCodeThread
#define GetThreadId ntw_GetThreadId
#define GetCurrentThread ntw_GetCurrentThread
#define GetCurrentThreadId ntw_GetCurrentThreadId
#define GetCurrentProcess ntw_GetCurrentProcess
#define GetCurrentProcessId ntw_GetCurrentProcessId
#define QueueUserAPC ntw_QueueUserAPC
#define QueueUserAPC2 ntw_QueueUserAPC2
#define SuspendThread ntw_SuspendThread
#define OpenThread ntw_OpenThread
#define OpenProcess ntw_OpenProcess
#define GetProcessId ntw_GetProcessId
#define GetExitCodeProcess ntw_GetExitCodeProcess
#endif

#ifdef __cplusplus
}
#endif

#endif
