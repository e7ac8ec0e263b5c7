/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The status numbers of Windows' <ntstatus.h> that are about what this library does, each beside the error that says the same. Only the
 * functions of <ntux/win/nt.h> return them, but ported code compares results of waits with the first, and translates between the two.
 */
#ifndef NTUX_WIN_NTSTATUS_H
#define NTUX_WIN_NTSTATUS_H

#include <ntux/win/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef NTUX_WIN_TYPES
typedef LONG NTSTATUS;
#endif

/* What waits return, with the same numbers. */
#ifndef STATUS_WAIT_0
#define STATUS_WAIT_0           ((NTSTATUS)0x00000000) /* WAIT_OBJECT_0 */
#endif
#ifndef STATUS_ABANDONED_WAIT_0
#define STATUS_ABANDONED_WAIT_0 ((NTSTATUS)0x00000080) /* WAIT_ABANDONED_0; ERROR_ABANDONED_WAIT_0 */
#endif
#ifndef STATUS_USER_APC
#define STATUS_USER_APC         ((NTSTATUS)0x000000C0) /* WAIT_IO_COMPLETION */
#endif
#ifndef STATUS_ALERTED
#define STATUS_ALERTED          ((NTSTATUS)0x00000101) /* called by NtAlertThreadByThreadId */
#endif
#ifndef STATUS_TIMEOUT
#define STATUS_TIMEOUT          ((NTSTATUS)0x00000102) /* WAIT_TIMEOUT */
#endif
#ifndef STATUS_PENDING
#define STATUS_PENDING          ((NTSTATUS)0x00000103) /* ERROR_IO_PENDING; STILL_ACTIVE has the same number */
#endif

#ifndef STATUS_SUCCESS
#define STATUS_SUCCESS                  ((NTSTATUS)0x00000000) /* ERROR_SUCCESS */
#define STATUS_OBJECT_NAME_EXISTS       ((NTSTATUS)0x40000000) /* ERROR_ALREADY_EXISTS, of what was opened */
#define STATUS_TIMER_RESUME_IGNORED     ((NTSTATUS)0x40000025) /* ERROR_NOT_SUPPORTED, beside a success */
#define STATUS_DATATYPE_MISALIGNMENT    ((NTSTATUS)0x80000002) /* the name lies at an odd address */
#define STATUS_UNSUCCESSFUL             ((NTSTATUS)0xC0000001) /* ERROR_GEN_FAILURE */
#define STATUS_NOT_IMPLEMENTED          ((NTSTATUS)0xC0000002) /* ERROR_CALL_NOT_IMPLEMENTED */
#define STATUS_INVALID_INFO_CLASS       ((NTSTATUS)0xC0000003) /* the object has no such information */
#define STATUS_INFO_LENGTH_MISMATCH     ((NTSTATUS)0xC0000004) /* the information has another size */
#define STATUS_ACCESS_VIOLATION         ((NTSTATUS)0xC0000005) /* ERROR_NOACCESS */
#define STATUS_INVALID_HANDLE           ((NTSTATUS)0xC0000008) /* ERROR_INVALID_HANDLE */
#define STATUS_INVALID_CID              ((NTSTATUS)0xC000000B) /* no thread of this process that is known has the id */
#define STATUS_INVALID_PARAMETER        ((NTSTATUS)0xC000000D) /* ERROR_INVALID_PARAMETER */
#define STATUS_NO_MEMORY                ((NTSTATUS)0xC0000017) /* ERROR_NOT_ENOUGH_MEMORY */
#define STATUS_ACCESS_DENIED            ((NTSTATUS)0xC0000022) /* ERROR_ACCESS_DENIED */
#define STATUS_OBJECT_TYPE_MISMATCH     ((NTSTATUS)0xC0000024) /* ERROR_INVALID_HANDLE, of another kind of object */
#define STATUS_OBJECT_NAME_INVALID      ((NTSTATUS)0xC0000033) /* the name is empty, too long, or no whole units */
#define STATUS_OBJECT_NAME_NOT_FOUND    ((NTSTATUS)0xC0000034) /* ERROR_FILE_NOT_FOUND */
#define STATUS_OBJECT_NAME_COLLISION    ((NTSTATUS)0xC0000035) /* ERROR_ALREADY_EXISTS */
#define STATUS_OBJECT_PATH_NOT_FOUND    ((NTSTATUS)0xC000003A) /* ERROR_PATH_NOT_FOUND */
#define STATUS_OBJECT_PATH_SYNTAX_BAD   ((NTSTATUS)0xC000003B) /* no name, or one that does not begin with a backslash */
#define STATUS_MUTANT_NOT_OWNED         ((NTSTATUS)0xC0000046) /* ERROR_NOT_OWNER */
#define STATUS_SEMAPHORE_LIMIT_EXCEEDED ((NTSTATUS)0xC0000047) /* ERROR_TOO_MANY_POSTS */
#define STATUS_PRIVILEGE_NOT_HELD       ((NTSTATUS)0xC0000061) /* ERROR_PRIVILEGE_NOT_HELD */
#define STATUS_NOT_SUPPORTED            ((NTSTATUS)0xC00000BB) /* ERROR_NOT_SUPPORTED */
#define STATUS_INTERNAL_ERROR           ((NTSTATUS)0xC00000E5) /* ERROR_INTERNAL_ERROR */
#define STATUS_INVALID_PARAMETER_1      ((NTSTATUS)0xC00000EF) /* ERROR_INVALID_PARAMETER, and so the next */
#define STATUS_INVALID_PARAMETER_4      ((NTSTATUS)0xC00000F2)
#define STATUS_TOO_MANY_THREADS         ((NTSTATUS)0xC0000129) /* ERROR_TOO_MANY_TCBS */
#endif

#ifdef __cplusplus
}
#endif

#endif
