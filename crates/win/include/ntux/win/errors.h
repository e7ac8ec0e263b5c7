/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The error number of each thread, and the numbers that <ntux/win/...> sets. A function that fails says so in its result, and sets the
 * number; one that succeeds leaves it alone, but for the functions that create objects: ERROR_ALREADY_EXISTS if the object existed,
 * else 0.
 *
 * Any thread; a signal handler as well.
 */
#ifndef NTUX_WIN_ERRORS_H
#define NTUX_WIN_ERRORS_H

#include <ntux/win/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ERROR_SUCCESS
#define ERROR_SUCCESS              0u
#endif
#ifndef NO_ERROR
#define NO_ERROR                   0u
#endif
#ifndef ERROR_FILE_NOT_FOUND
#define ERROR_FILE_NOT_FOUND       2u    /* no object has this name */
#define ERROR_PATH_NOT_FOUND       3u    /* the name has a backslash behind its prefix */
#define ERROR_ACCESS_DENIED        5u    /* the handle was not given this right; the kind of object does not have it */
#define ERROR_INVALID_HANDLE       6u    /* no handle, a closed one, or one of another kind of object */
#define ERROR_NOT_ENOUGH_MEMORY    8u    /* no memory; 1048575 handles or objects exist, 65536 threads wait */
#define ERROR_BAD_LENGTH           24u   /* too little room for an answer */
#define ERROR_GEN_FAILURE          31u   /* the thread has ended; the INIT_ONCE is in another stage */
#define ERROR_NOT_SUPPORTED        50u   /* this system cannot watch memory */
#define ERROR_INVALID_PARAMETER    87u
#define ERROR_CALL_NOT_IMPLEMENTED 120u  /* this library does not do it: docs/win/reference.md says why */
#define ERROR_TOO_MANY_TCBS        155u  /* the pool can have no other thread */
#define ERROR_SIGNAL_REFUSED       156u  /* the thread is suspended 127 times */
#define ERROR_ALREADY_EXISTS       183u  /* success: the object of this name was opened */
#define ERROR_FILENAME_EXCED_RANGE 206u  /* the name is too long */
#define ERROR_NOT_OWNER            288u  /* the calling thread does not own the mutex */
#define ERROR_TOO_MANY_POSTS       298u  /* the semaphore would exceed its maximum */
#define ERROR_INVALID_ADDRESS      487u  /* memory that was not reserved, or not committed, by VirtualAlloc */
#define ERROR_ABANDONED_WAIT_0     735u  /* the port was closed */
#define ERROR_IO_PENDING           997u  /* done, but callbacks still run or are to come */
#define ERROR_NOACCESS             998u
#define ERROR_ALREADY_INITIALIZED  1247u
#define ERROR_PRIVILEGE_NOT_HELD   1314u
#define ERROR_INTERNAL_ERROR       1359u /* a bug in ntux */
#define ERROR_TIMEOUT              1460u /* the time-out has passed: locks in memory, WaitOnAddress */
#endif

DWORD ntw_GetLastError(void);
void ntw_SetLastError(DWORD error);

#ifdef NTUX_WIN32_NAMES
#define GetLastError ntw_GetLastError
#define SetLastError ntw_SetLastError
#endif

#ifdef __cplusplus
}
#endif

#endif
