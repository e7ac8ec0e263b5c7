/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What WinPR's test programs include, over this library: its functions by their plain names, and the few others that they call. A line in
 * front of each program calls its main function. */
#ifndef SUITE_WINPR_H
#define SUITE_WINPR_H

#define NTUX_WIN32_NAMES
#include <ntux/win/synchapi.h>
#include <ntux/win/threadapi.h>
#include <ntux/win/threadpool.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define nullptr NULL
#define WINPR_C_ARRAY_INIT {0}
#define WINPR_UNUSED(name) (void)(name)
#define ARRAYSIZE(array) (sizeof(array) / sizeof((array)[0]))
#define FillMemory(place, bytes, value) memset(place, value, bytes)
#define CopyMemory(to, from, bytes) memcpy(to, from, bytes)
#define winpr_aligned_malloc(bytes, alignment) aligned_alloc(alignment, ((bytes) + (alignment) - 1) / (alignment) * (alignment))
#define winpr_aligned_free(place) free(place)
/* Less than 0 if it fails. */
#define winpr_RAND(place, bytes) (getrandom(place, bytes, 0) == (ssize_t)(bytes) ? 1 : -1)
#define _GetCurrentThread() GetCurrentThread()
#define PRIuz "zu"

typedef uint32_t UINT32;
typedef int64_t INT64;
typedef struct { DWORD dwNumberOfProcessors; } SYSTEM_INFO;
typedef SYSTEM_INFO *LPSYSTEM_INFO;

static void GetNativeSystemInfo(SYSTEM_INFO *system)
{
    system->dwNumberOfProcessors = (DWORD)sysconf(_SC_NPROCESSORS_ONLN);
}

static DWORD GetTickCount(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (DWORD)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

#endif
