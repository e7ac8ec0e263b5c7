/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The types of <ntux/win/...>, as Windows has them for 64-bit programs: LONG and DWORD have 32 bits, WCHAR 16.
 *
 * A program that has them already, from WinPR for example, says so before it includes any of these headers:
 *
 *     #define NTUX_WIN_TYPES "winpr/wtypes.h"
 *
 * Then that header takes the place of this one, but for the types of locks and lists. It must define every other type of this one, with the
 * same sizes; the headers check that. If it has types of locks, too, the program names those: by NTUX_WIN_TYPES_HAVE_CRITICAL_SECTION,
 * _SRWLOCK, _CONDITION_VARIABLE, _INIT_ONCE (with PINIT_ONCE_FN), _BARRIER, or all of these by NTUX_WIN_TYPES_HAVE_LOCKS; and
 * NTUX_WIN_TYPES_HAVE_SLIST.
 */
#ifndef NTUX_WIN_TYPES_H
#define NTUX_WIN_TYPES_H

#include <stddef.h>

#ifdef NTUX_WIN_TYPES
#include NTUX_WIN_TYPES
#else

#if !defined(__LP64__)
#error "ntux needs a 64-bit system"
#endif

#ifndef WINAPI
#define WINAPI
#endif
#ifndef CALLBACK
#define CALLBACK
#endif
#ifndef TRUE
#define TRUE 1
#define FALSE 0
#endif

typedef int BOOL;
typedef unsigned char BOOLEAN;
typedef unsigned char BYTE;
typedef char CHAR;
typedef short SHORT;
typedef unsigned short WORD;
typedef int LONG;
typedef unsigned int UINT;
typedef unsigned int ULONG;
typedef unsigned int DWORD;
typedef long LONGLONG;
typedef unsigned long ULONGLONG;
typedef unsigned long DWORD64;
typedef long LONG64;
typedef long LONG_PTR;
typedef unsigned long ULONG_PTR;
typedef unsigned long DWORD_PTR;
typedef size_t SIZE_T;
#if defined(__cplusplus) && __cplusplus >= 201103L
typedef char16_t WCHAR;
#else
typedef unsigned short WCHAR;
#endif

typedef void VOID;
typedef void *PVOID;
typedef void *LPVOID;
typedef void *HANDLE;
typedef BOOL *PBOOL;
typedef BOOL *LPBOOL;
typedef LONG *LPLONG;
typedef DWORD *LPDWORD;
typedef HANDLE *LPHANDLE;
typedef HANDLE *PHANDLE;
typedef const char *LPCSTR;
typedef const WCHAR *LPCWSTR;

typedef struct _SECURITY_ATTRIBUTES {
    DWORD nLength;
    LPVOID lpSecurityDescriptor; /* not looked at */
    BOOL bInheritHandle;
} SECURITY_ATTRIBUTES, *PSECURITY_ATTRIBUTES, *LPSECURITY_ATTRIBUTES;

typedef DWORD(WINAPI *LPTHREAD_START_ROUTINE)(LPVOID argument);
typedef VOID(CALLBACK *PAPCFUNC)(ULONG_PTR argument);
typedef VOID(CALLBACK *PTIMERAPCROUTINE)(LPVOID argument, DWORD low, DWORD high);

/* Their halves have two names, as in <winnt.h>. */

typedef union _LARGE_INTEGER {
    __extension__ struct {
        DWORD LowPart;
        LONG HighPart;
    };
    struct {
        DWORD LowPart;
        LONG HighPart;
    } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
    __extension__ struct {
        DWORD LowPart;
        DWORD HighPart;
    };
    struct {
        DWORD LowPart;
        DWORD HighPart;
    } u;
    ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

typedef struct _FILETIME {
    DWORD dwLowDateTime;
    DWORD dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;

#endif /* NTUX_WIN_TYPES */

/* Locks and lists in the program's memory. Their members belong to the library. */

#if !defined(NTUX_WIN_TYPES) || !(defined(NTUX_WIN_TYPES_HAVE_LOCKS) || defined(NTUX_WIN_TYPES_HAVE_CRITICAL_SECTION))
typedef struct _RTL_CRITICAL_SECTION_DEBUG {
    ULONG_PTR Reserved[5];
    DWORD_PTR Spare[1];
} RTL_CRITICAL_SECTION_DEBUG, *PRTL_CRITICAL_SECTION_DEBUG;

typedef struct _RTL_CRITICAL_SECTION {
    PRTL_CRITICAL_SECTION_DEBUG DebugInfo;
    LONG LockCount;
    LONG RecursionCount;
    HANDLE OwningThread;
    HANDLE LockSemaphore;
    ULONG_PTR SpinCount;
} RTL_CRITICAL_SECTION, CRITICAL_SECTION, *PCRITICAL_SECTION, *LPCRITICAL_SECTION;
#endif

#if !defined(NTUX_WIN_TYPES) || !(defined(NTUX_WIN_TYPES_HAVE_LOCKS) || defined(NTUX_WIN_TYPES_HAVE_SRWLOCK))
typedef struct _RTL_SRWLOCK {
    PVOID Ptr;
} RTL_SRWLOCK, SRWLOCK, *PSRWLOCK;
#endif

#if !defined(NTUX_WIN_TYPES) || !(defined(NTUX_WIN_TYPES_HAVE_LOCKS) || defined(NTUX_WIN_TYPES_HAVE_CONDITION_VARIABLE))
typedef struct _RTL_CONDITION_VARIABLE {
    PVOID Ptr;
} RTL_CONDITION_VARIABLE, CONDITION_VARIABLE, *PCONDITION_VARIABLE;
#endif

#if !defined(NTUX_WIN_TYPES) || !(defined(NTUX_WIN_TYPES_HAVE_LOCKS) || defined(NTUX_WIN_TYPES_HAVE_INIT_ONCE))
typedef union _RTL_RUN_ONCE {
    PVOID Ptr;
} RTL_RUN_ONCE, INIT_ONCE, *PINIT_ONCE, *LPINIT_ONCE;

typedef BOOL(CALLBACK *PINIT_ONCE_FN)(PINIT_ONCE once, PVOID parameter, PVOID *context);
#endif

#if !defined(NTUX_WIN_TYPES) || !(defined(NTUX_WIN_TYPES_HAVE_LOCKS) || defined(NTUX_WIN_TYPES_HAVE_BARRIER))
typedef struct _RTL_BARRIER {
    DWORD Reserved1;
    DWORD Reserved2;
    ULONG_PTR Reserved3[2];
    DWORD Reserved4;
    DWORD Reserved5;
} RTL_BARRIER, SYNCHRONIZATION_BARRIER, *PSYNCHRONIZATION_BARRIER, *LPSYNCHRONIZATION_BARRIER;
#endif

#if !defined(NTUX_WIN_TYPES) || !defined(NTUX_WIN_TYPES_HAVE_SLIST)
typedef struct _SLIST_ENTRY {
    struct _SLIST_ENTRY *Next;
} __attribute__((__aligned__(16))) SLIST_ENTRY, *PSLIST_ENTRY;

typedef union _SLIST_HEADER {
    ULONGLONG Region[2];
} __attribute__((__aligned__(16))) SLIST_HEADER, *PSLIST_HEADER;
#endif

/* An array of negative size where a type is not as the library has it. */
typedef char ntux_win_sizes[sizeof(BOOL) == 4 && sizeof(LONG) == 4 && sizeof(DWORD) == 4 && sizeof(WCHAR) == 2 &&
                            sizeof(HANDLE) == 8 && sizeof(ULONG_PTR) == 8 && sizeof(SIZE_T) == 8 &&
                            sizeof(SECURITY_ATTRIBUTES) == 24 && sizeof(CRITICAL_SECTION) == 40 &&
                            sizeof(SRWLOCK) == 8 && sizeof(CONDITION_VARIABLE) == 8 && sizeof(INIT_ONCE) == 8 &&
                            sizeof(SYNCHRONIZATION_BARRIER) == 32 && sizeof(union _SLIST_HEADER) == 16
                                ? 1
                                : -1];

#endif
