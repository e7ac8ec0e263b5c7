/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What 7-Zip's sources for Windows include as <Windows.h>: this library's headers with the plain names, and the types and names that they
 * use beside these.
 */
#ifndef SUITE_7ZIP_WINDOWS_H
#define SUITE_7ZIP_WINDOWS_H

#define NTUX_WIN32_NAMES
#include <ntux/win/errors.h>
#include <ntux/win/memoryapi.h>
#include <ntux/win/synchapi.h>
#include <ntux/win/threadapi.h>

#include <stdlib.h>
#include <string.h>

#define CONST const
#define __stdcall

typedef unsigned short USHORT, *PUSHORT;
typedef ULONG_PTR KAFFINITY, UINT_PTR;
typedef LONG HRESULT;

#define HRESULT_FROM_WIN32(error) ((HRESULT)(error) <= 0 ? (HRESULT)(error) : (HRESULT)(((error) & 0xffff) | 0x80070000))

/* An interlocked increment and its like are the compiler's own. */
#define InterlockedIncrement(addend) __atomic_add_fetch(addend, 1, __ATOMIC_SEQ_CST)
#define InterlockedDecrement(addend) __atomic_sub_fetch(addend, 1, __ATOMIC_SEQ_CST)

/* No large pages, and no features that 7-Zip could not find out itself. */
#define GetLargePageMinimum() ((SIZE_T)0)
#define IsProcessorFeaturePresent(feature) FALSE

#endif
