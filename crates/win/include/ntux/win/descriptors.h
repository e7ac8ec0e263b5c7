/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Descriptors of the system and handles: a descriptor that is waited for as an object, and an object that is polled as a descriptor. Windows
 * has no such functions, so they have no plain names. docs/win/reference.md, *Descriptors*, says more.
 */
#ifndef NTUX_WIN_DESCRIPTORS_H
#define NTUX_WIN_DESCRIPTORS_H

#include <ntux/win/synchapi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Signaled while it can be written; else, while it can be read, or has come to its end. */
#define NTW_FD_WRITABLE 0x1u
/* The handle closes the descriptor; else, it has a duplicate of its own. */
#define NTW_FD_OWN      0x2u

/* A handle that is signaled while the descriptor is ready. NULL if it fails; then nothing was given away. */
HANDLE ntw_HandleFromFd(int fd, DWORD flags);

/* A descriptor that is readable once the object was acquired for it; -1 if it fails. Nobody reads, writes or closes it but as follows. */
int ntw_FdOfHandle(HANDLE handle);
/* WAIT_OBJECT_0: the object was acquired, and is the caller's; the next call waits for it again. WAIT_TIMEOUT: it was not, and the descriptor
 * is unreadable until it is. A loop takes until then, and polls. */
DWORD ntw_TakeByFd(int fd);
/* Closes the descriptor. WAIT_OBJECT_0: the object was acquired, nobody has taken it, and it is the caller's. WAIT_TIMEOUT: it was not. */
DWORD ntw_CloseFdOfHandle(int fd);

#ifdef __cplusplus
}
#endif

#endif
