/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Wine's test programs need beside this library's headers: types, constants, and functions that are no part of
 * synchronization. It stands for windef.h, winbase.h, winternl.h and ntstatus.h. */
#ifndef SUITE_WINDEF_H
#define SUITE_WINDEF_H

#define NTUX_WIN32_NAMES
#include <ntux/win/memoryapi.h>
#include <ntux/win/nt.h>
#include <ntux/win/ntstatus.h>
#include <ntux/win/synchapi.h>
#include <ntux/win/threadapi.h>
#include <ntux/win/threadpool.h>
#include <ntux/win/ioapiset.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define __stdcall
#define __fastcall
#define CONTAINING_RECORD(address, type, member) ((type *)((char *)(address) - offsetof(type, member)))
#define MAX_PATH 260
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

typedef int INT;
typedef unsigned short USHORT;
typedef LONG_PTR INT_PTR;
typedef void *HMODULE;

/* ==== What the tests take out of kernel32 and ntdll ==== */

static HMODULE GetModuleHandleA(const char *name) { (void)name; return NULL; }
/* Memory of the program. */
#define GetModuleHandleW(name) ((HMODULE)__func__)

#define NT_ERROR(status) ((ULONG)(status) >> 30 == 3)

typedef void(CALLBACK *PNTAPCFUNC)(ULONG_PTR, ULONG_PTR, ULONG_PTR);
typedef enum { QUEUE_USER_APC_FLAGS_NONE, QUEUE_USER_APC_FLAGS_SPECIAL_USER_APC } QUEUE_USER_APC_FLAGS;

/* What stands for a function of ntdll. */
struct suite_function { const char *name; void *function; };

#include <ntdll_object.h>
#include <ntdll_pool.h>

static void *suite_function_among(const struct suite_function *functions, size_t count, const char *name)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (!strcmp(functions[i].name, name))
            return functions[i].function;
    return NULL;
}

static void *GetProcAddress(HMODULE module, const char *name)
{
    char symbol[64];
    void *function = suite_function_among(suite_pool_functions, ARRAY_SIZE(suite_pool_functions), name);

    (void)module;
    if (!function) function = suite_function_among(suite_object_functions, ARRAY_SIZE(suite_object_functions), name);
    if (function) return function;
    snprintf(symbol, sizeof symbol, "ntw_%s", name);
    return dlsym(RTLD_DEFAULT, symbol);
}

/* ==== Types of things that the runner leaves out, or that a pointer is declared of ==== */

typedef enum { LowMemoryResourceNotification, HighMemoryResourceNotification } MEMORY_RESOURCE_NOTIFICATION_TYPE;
typedef void *HKEY;
typedef struct { void *nothing; } RTL_RWLOCK, OBJECT_BASIC_INFORMATION;

/* ==== Handles that are none here ==== */

#define NtCurrentProcess() ((HANDLE)(LONG_PTR)-1)
#define NtCurrentThread() ((HANDLE)(LONG_PTR)-2)
#define GetCurrentProcessToken() ((HANDLE)(LONG_PTR)-4)
#define GetCurrentThreadToken() ((HANDLE)(LONG_PTR)-5)
#define GetCurrentThreadEffectiveToken() ((HANDLE)(LONG_PTR)-6)
#define STD_INPUT_HANDLE (LONG_PTR)-10
#define STD_OUTPUT_HANDLE (LONG_PTR)-11
#define STD_ERROR_HANDLE (LONG_PTR)-12
#define CREATE_ALWAYS 2
#define FILE_ATTRIBUTE_NORMAL 0x80
#define FILE_FLAG_DELETE_ON_CLOSE 0x04000000
#define CreateFileA(...) ((HANDLE)0x7ffffff0)

/* ==== Access lists, which nobody looks at ==== */

typedef struct { void *nothing; } SECURITY_DESCRIPTOR, ACL;
#define SECURITY_DESCRIPTOR_REVISION 1
#define ACL_REVISION 2
#define InitializeSecurityDescriptor(descriptor, revision) ((void)(descriptor), TRUE)
#define SetSecurityDescriptorDacl(descriptor, present, list, defaulted) ((void)(list), TRUE)
#define InitializeAcl(list, bytes, revision) ((void)(list), TRUE)

/* ==== Exceptions, which there are none of ==== */

typedef struct { ULONG ExceptionCode, ExceptionFlags, NumberParameters; } EXCEPTION_RECORD;
typedef struct { EXCEPTION_RECORD *ExceptionRecord; } EXCEPTION_POINTERS;
#define EXCEPTION_NONCONTINUABLE 1
#define EXCEPTION_SOFTWARE_ORIGINATE 0x80
#define EXCEPTION_CONTINUE_SEARCH 0
#define AddVectoredExceptionHandler(first, handler) ((void *)(handler))
#define RemoveVectoredExceptionHandler(handler) ((void)(handler))

/* ==== Processes that cannot be started ==== */

typedef struct { DWORD cb; } STARTUPINFOA;
typedef struct { HANDLE hProcess, hThread; DWORD dwProcessId, dwThreadId; } PROCESS_INFORMATION;

static BOOL suite_starts_none(PROCESS_INFORMATION *started)
{
    memset(started, 0, sizeof *started);
    SetLastError(ERROR_CALL_NOT_IMPLEMENTED);
    return FALSE;
}

#define CreateProcessA(program, line, process, thread, inherits, flags, environment, directory, startup, started) \
    suite_starts_none(started)

/* ==== Memory and storage of threads ==== */

#define GetProcessHeap() NULL
#define HeapAlloc(heap, flags, bytes) malloc(bytes)
#define HeapFree(heap, flags, memory) free(memory)

#define MEM_FREE 0x10000
#define PAGE_WRITECOPY 0x08
#define PAGE_EXECUTE_WRITECOPY 0x80

#define TLS_OUT_OF_INDEXES 0xffffffffu

static DWORD TlsAlloc(void)
{
    pthread_key_t key;

    return pthread_key_create(&key, NULL) ? TLS_OUT_OF_INDEXES : key;
}

static BOOL suite_tls(int refused)
{
    if (refused)
        SetLastError(ERROR_INVALID_PARAMETER);
    return !refused;
}

#define TlsSetValue(index, value) suite_tls(pthread_setspecific(index, value))
#define TlsGetValue(index) pthread_getspecific(index)
#define TlsFree(index) suite_tls(pthread_key_delete(index))

/* ==== Small things ==== */

#define HandleToULong(handle) ((ULONG)(ULONG_PTR)(handle))
#define ULongToHandle(number) ((HANDLE)(ULONG_PTR)(number))

#define CRITICAL_SECTION_NO_DEBUG_INFO 0x01000000
#define ReadAcquire(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)

#endif
