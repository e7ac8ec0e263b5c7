/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Memory of VirtualAlloc, as <memoryapi.h> of Windows has it. With MEM_WRITE_WATCH it is watched for writes, and GetWriteWatch lists the
 * pages that were written. docs/win/reference.md says where this library differs. Linked with nothing but libntux-win; on a system that
 * cannot watch, VirtualAlloc with MEM_WRITE_WATCH fails with ERROR_NOT_SUPPORTED.
 *
 * Memory that was got otherwise is refused.
 */
#ifndef NTUX_WIN_MEMORYAPI_H
#define NTUX_WIN_MEMORYAPI_H

#include <ntux/win/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MEM_COMMIT
#define MEM_COMMIT 0x1000u
#define MEM_RESERVE 0x2000u
#define MEM_DECOMMIT 0x4000u
#define MEM_RELEASE 0x8000u
#endif
#ifndef MEM_PRIVATE
#define MEM_PRIVATE 0x20000u
#endif
#ifndef MEM_TOP_DOWN
#define MEM_TOP_DOWN 0x100000u
#endif
#ifndef MEM_WRITE_WATCH
#define MEM_WRITE_WATCH 0x200000u
#endif
#ifndef PAGE_NOACCESS
#define PAGE_NOACCESS 0x01u
#define PAGE_READONLY 0x02u
#define PAGE_READWRITE 0x04u
#define PAGE_EXECUTE 0x10u
#define PAGE_EXECUTE_READ 0x20u
#define PAGE_EXECUTE_READWRITE 0x40u
#endif
#ifndef WRITE_WATCH_FLAG_RESET
#define WRITE_WATCH_FLAG_RESET 1u
#endif

#ifndef NTUX_WIN_TYPES
typedef struct _MEMORY_BASIC_INFORMATION {
    PVOID BaseAddress;
    PVOID AllocationBase;
    DWORD AllocationProtect;
    WORD PartitionId; /* 0 */
    SIZE_T RegionSize;
    DWORD State;
    DWORD Protect; /* 0 of pages that are reserved only */
    DWORD Type;    /* MEM_PRIVATE */
} MEMORY_BASIC_INFORMATION, *PMEMORY_BASIC_INFORMATION;
#else
struct _MEMORY_BASIC_INFORMATION;
#endif

/* At an address of the system's choice; or MEM_COMMIT of pages that were reserved so. */
LPVOID ntw_VirtualAlloc(LPVOID address, SIZE_T bytes, DWORD how, DWORD protect);
BOOL ntw_VirtualFree(LPVOID address, SIZE_T bytes, DWORD how);
BOOL ntw_VirtualProtect(LPVOID address, SIZE_T bytes, DWORD protect, LPDWORD before);
/* Returns the size of what it has written; 0 if it fails. */
SIZE_T ntw_VirtualQuery(const void *address, struct _MEMORY_BASIC_INFORMATION *information, SIZE_T bytes);
/* These two return 0 if they succeed. */
UINT ntw_GetWriteWatch(DWORD flags, LPVOID address, SIZE_T bytes, LPVOID *addresses, ULONG_PTR *count, LPDWORD granularity);
UINT ntw_ResetWriteWatch(LPVOID address, SIZE_T bytes);

/* ==== Plain names ==== */

#ifdef NTUX_WIN32_NAMES
#define VirtualAlloc ntw_VirtualAlloc
#define VirtualFree ntw_VirtualFree
#define VirtualProtect ntw_VirtualProtect
#define VirtualQuery ntw_VirtualQuery
#define GetWriteWatch ntw_GetWriteWatch
#define ResetWriteWatch ntw_ResetWriteWatch
#endif

#ifdef __cplusplus
}
#endif

#endif
