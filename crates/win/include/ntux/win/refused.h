/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What this library does not do, for code that calls it somewhere: each function changes nothing, fails with ERROR_CALL_NOT_IMPLEMENTED, and
 * returns what says so. A program that includes this header compiles and links, and meets the call when it runs; one that leaves it out is told
 * by the compiler. docs/win/reference.md says what does instead. No other header includes this one.
 */
#ifndef NTUX_WIN_REFUSED_H
#define NTUX_WIN_REFUSED_H

#include <ntux/win/synchapi.h>
#include <ntux/win/threadapi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct _CONTEXT;
struct _EXCEPTION_POINTERS;
struct _OVERLAPPED;
struct _PROCESS_INFORMATION;
struct _STARTUPINFOA;
struct _STARTUPINFOW;
struct _TP_CALLBACK_INSTANCE;
struct _TP_IO;

/* ==== Processes ==== */

BOOL ntw_CreateProcessA(LPCSTR program, char *line, LPSECURITY_ATTRIBUTES process, LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD
                        flags, LPVOID environment, LPCSTR directory, struct _STARTUPINFOA *startup, struct _PROCESS_INFORMATION
                        *started);
BOOL ntw_CreateProcessW(LPCWSTR program, WCHAR *line, LPSECURITY_ATTRIBUTES process, LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD
                        flags, LPVOID environment, LPCWSTR directory, struct _STARTUPINFOW *startup, struct _PROCESS_INFORMATION
                        *started);
BOOL ntw_TerminateProcess(HANDLE process, UINT code);
HANDLE ntw_CreateRemoteThread(HANDLE process, LPSECURITY_ATTRIBUTES attributes, SIZE_T stack, LPTHREAD_START_ROUTINE routine, LPVOID
                              argument, DWORD flags, LPDWORD id);

/* ==== Fibers ==== */

LPVOID ntw_CreateFiber(SIZE_T stack, VOID(CALLBACK *routine)(LPVOID argument), LPVOID argument);
LPVOID ntw_CreateFiberEx(SIZE_T commit, SIZE_T stack, DWORD flags, VOID(CALLBACK *routine)(LPVOID argument), LPVOID argument);
LPVOID ntw_ConvertThreadToFiber(LPVOID argument);
LPVOID ntw_ConvertThreadToFiberEx(LPVOID argument, DWORD flags);
BOOL ntw_ConvertFiberToThread(void);
void ntw_SwitchToFiber(LPVOID fiber);
void ntw_DeleteFiber(LPVOID fiber);

/* ==== Files, pipes and sections ==== */

HANDLE ntw_CreateFileA(LPCSTR name, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES attributes, DWORD creation, DWORD flags, HANDLE
                       like);
HANDLE ntw_CreateFileW(LPCWSTR name, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES attributes, DWORD creation, DWORD flags, HANDLE
                       like);
BOOL ntw_ReadFile(HANDLE file, LPVOID buffer, DWORD bytes, LPDWORD done, struct _OVERLAPPED *overlapped);
BOOL ntw_WriteFile(HANDLE file, const void *buffer, DWORD bytes, LPDWORD done, struct _OVERLAPPED *overlapped);
BOOL ntw_GetOverlappedResult(HANDLE file, struct _OVERLAPPED *overlapped, LPDWORD bytes, BOOL wait);
BOOL ntw_CancelIo(HANDLE file);
BOOL ntw_CreatePipe(LPHANDLE read, LPHANDLE write, LPSECURITY_ATTRIBUTES attributes, DWORD bytes);
HANDLE ntw_CreateNamedPipeA(LPCSTR name, DWORD access, DWORD mode, DWORD instances, DWORD out, DWORD in, DWORD timeout,
                            LPSECURITY_ATTRIBUTES attributes);
HANDLE ntw_CreateNamedPipeW(LPCWSTR name, DWORD access, DWORD mode, DWORD instances, DWORD out, DWORD in, DWORD timeout,
                            LPSECURITY_ATTRIBUTES attributes);
HANDLE ntw_CreateFileMappingA(HANDLE file, LPSECURITY_ATTRIBUTES attributes, DWORD protection, DWORD high, DWORD low, LPCSTR name);
HANDLE ntw_CreateFileMappingW(HANDLE file, LPSECURITY_ATTRIBUTES attributes, DWORD protection, DWORD high, DWORD low, LPCWSTR name);
LPVOID ntw_MapViewOfFile(HANDLE section, DWORD access, DWORD high, DWORD low, SIZE_T bytes);
struct _TP_IO *ntw_CreateThreadpoolIo(HANDLE file, VOID(CALLBACK *callback)(struct _TP_CALLBACK_INSTANCE *instance, PVOID context, PVOID
                                      overlapped, ULONG result, ULONG_PTR bytes, struct _TP_IO *io), PVOID context, void *environment);
BOOL ntw_BindIoCompletionCallback(HANDLE file, VOID(CALLBACK *routine)(DWORD error, DWORD bytes, struct _OVERLAPPED *overlapped), ULONG
                                  flags);

/* ==== Messages ==== */

DWORD ntw_MsgWaitForMultipleObjects(DWORD count, const HANDLE *handles, BOOL all, DWORD milliseconds, DWORD mask);
DWORD ntw_MsgWaitForMultipleObjectsEx(DWORD count, const HANDLE *handles, DWORD milliseconds, DWORD mask, DWORD flags);
BOOL ntw_PostThreadMessageA(DWORD id, UINT message, ULONG_PTR first, LONG_PTR second);
BOOL ntw_PostThreadMessageW(DWORD id, UINT message, ULONG_PTR first, LONG_PTR second);

/* ==== Exceptions and contexts ==== */

LPVOID ntw_AddVectoredExceptionHandler(ULONG first, LONG(CALLBACK *handler)(struct _EXCEPTION_POINTERS *exception));
BOOL ntw_GetThreadContext(HANDLE thread, struct _CONTEXT *context);
BOOL ntw_SetThreadContext(HANDLE thread, const struct _CONTEXT *context);

/* ==== Access lists ==== */

BOOL ntw_GetKernelObjectSecurity(HANDLE handle, DWORD which, PVOID descriptor, DWORD bytes, LPDWORD needed);
BOOL ntw_SetKernelObjectSecurity(HANDLE handle, DWORD which, PVOID descriptor);

/* ==== Alerts that are no calls: it returns STATUS_NOT_IMPLEMENTED ==== */

LONG ntw_NtAlertThread(HANDLE thread);

#ifdef NTUX_WIN32_NAMES
#define CreateProcessA ntw_CreateProcessA
#define CreateProcessW ntw_CreateProcessW
#define TerminateProcess ntw_TerminateProcess
#define CreateRemoteThread ntw_CreateRemoteThread
#define CreateFiber ntw_CreateFiber
#define CreateFiberEx ntw_CreateFiberEx
#define ConvertThreadToFiber ntw_ConvertThreadToFiber
#define ConvertThreadToFiberEx ntw_ConvertThreadToFiberEx
#define ConvertFiberToThread ntw_ConvertFiberToThread
#define SwitchToFiber ntw_SwitchToFiber
#define DeleteFiber ntw_DeleteFiber
#define CreateFileA ntw_CreateFileA
#define CreateFileW ntw_CreateFileW
#define ReadFile ntw_ReadFile
#define WriteFile ntw_WriteFile
#define GetOverlappedResult ntw_GetOverlappedResult
#define CancelIo ntw_CancelIo
#define CreatePipe ntw_CreatePipe
#define CreateNamedPipeA ntw_CreateNamedPipeA
#define CreateNamedPipeW ntw_CreateNamedPipeW
#define CreateFileMappingA ntw_CreateFileMappingA
#define CreateFileMappingW ntw_CreateFileMappingW
#define MapViewOfFile ntw_MapViewOfFile
#define CreateThreadpoolIo ntw_CreateThreadpoolIo
#define BindIoCompletionCallback ntw_BindIoCompletionCallback
#define MsgWaitForMultipleObjects ntw_MsgWaitForMultipleObjects
#define MsgWaitForMultipleObjectsEx ntw_MsgWaitForMultipleObjectsEx
#define PostThreadMessageA ntw_PostThreadMessageA
#define PostThreadMessageW ntw_PostThreadMessageW
#define AddVectoredExceptionHandler ntw_AddVectoredExceptionHandler
#define GetThreadContext ntw_GetThreadContext
#define SetThreadContext ntw_SetThreadContext
#define GetKernelObjectSecurity ntw_GetKernelObjectSecurity
#define SetKernelObjectSecurity ntw_SetKernelObjectSecurity
#define NtAlertThread ntw_NtAlertThread
#ifdef UNICODE
#define CreateProcess ntw_CreateProcessW
#define CreateFile ntw_CreateFileW
#define CreateNamedPipe ntw_CreateNamedPipeW
#define CreateFileMapping ntw_CreateFileMappingW
#define PostThreadMessage ntw_PostThreadMessageW
#else
#define CreateProcess ntw_CreateProcessA
#define CreateFile ntw_CreateFileA
#define CreateNamedPipe ntw_CreateNamedPipeA
#define CreateFileMapping ntw_CreateFileMappingA
#define PostThreadMessage ntw_PostThreadMessageA
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif
