/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions of ntdll that Wine's threadpool.c calls, over those of this library's that kernel32 has in their place. */
#ifndef SUITE_NTDLL_POOL_H
#define SUITE_NTDLL_POOL_H

#include <unistd.h>

typedef struct _TP_IO TP_IO;
typedef VOID(CALLBACK *PTP_IO_CALLBACK)(TP_CALLBACK_INSTANCE *, void *, void *, IO_STATUS_BLOCK *, TP_IO *);
typedef VOID(CALLBACK *PTP_WIN32_IO_CALLBACK)(TP_CALLBACK_INSTANCE *, void *, void *, ULONG, ULONG_PTR, TP_IO *);
typedef struct { struct { SIZE_T SizeOfStackReserve, SizeOfStackCommit; } OptionalHeader; } IMAGE_NT_HEADERS;

#define THREAD_SET_CONTEXT 0x10

static NTSTATUS suite_pool_status(BOOL done)
{
    switch (done ? ERROR_SUCCESS : GetLastError()) {
    case ERROR_SUCCESS: return STATUS_SUCCESS;
    case ERROR_IO_PENDING: return STATUS_PENDING;
    case ERROR_INVALID_HANDLE: return STATUS_INVALID_HANDLE;
    case ERROR_TOO_MANY_TCBS: return STATUS_TOO_MANY_THREADS;
    default: return STATUS_INVALID_PARAMETER;
    }
}

/* What the system gives a thread by itself: there is no image whose header says it. */
static IMAGE_NT_HEADERS *suite_image(void)
{
    static IMAGE_NT_HEADERS image;
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &image.OptionalHeader.SizeOfStackReserve);
    pthread_attr_destroy(&attributes);
    image.OptionalHeader.SizeOfStackCommit = (SIZE_T)sysconf(_SC_PAGESIZE);
    return &image;
}

#define RtlImageNtHeader(base) suite_image()

static DWORD GetTickCount(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (DWORD)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

#define NtQuerySystemTime suite_NtQuerySystemTime

#define RtlQueueWorkItem(function, context, flags) suite_pool_status(QueueUserWorkItem(function, context, flags))
#define RtlRegisterWait(wait, object, function, context, milliseconds, flags) \
    suite_pool_status(RegisterWaitForSingleObject(wait, object, function, context, milliseconds, flags))
#define RtlDeregisterWait(wait) suite_pool_status(UnregisterWait(wait))
#define RtlDeregisterWaitEx(wait, completion) suite_pool_status(UnregisterWaitEx(wait, completion))

/* These are asked for by name. */

#define SUITE_ALLOCATES(object, type, create) \
    static NTSTATUS suite_TpAlloc##object(type **made, PTP_##create##_CALLBACK function, void *context, TP_CALLBACK_ENVIRON *environ) \
    { \
        *made = CreateThreadpool##object(function, context, environ); \
        return suite_pool_status(*made != NULL); \
    }
SUITE_ALLOCATES(Work, TP_WORK, WORK)
SUITE_ALLOCATES(Timer, TP_TIMER, TIMER)
SUITE_ALLOCATES(Wait, TP_WAIT, WAIT)

static NTSTATUS suite_TpAllocPool(TP_POOL **made, void *reserved)
{
    *made = CreateThreadpool(reserved);
    return suite_pool_status(*made != NULL);
}

static NTSTATUS suite_TpAllocCleanupGroup(TP_CLEANUP_GROUP **made)
{
    *made = CreateThreadpoolCleanupGroup();
    return suite_pool_status(*made != NULL);
}

static NTSTATUS suite_TpCallbackMayRunLong(TP_CALLBACK_INSTANCE *instance)
{
    return suite_pool_status(CallbackMayRunLong(instance));
}

static NTSTATUS suite_TpQueryPoolStackInformation(TP_POOL *pool, TP_POOL_STACK_INFORMATION *stack)
{
    return suite_pool_status(QueryThreadpoolStackInformation(pool, stack));
}

static NTSTATUS suite_TpSetPoolStackInformation(TP_POOL *pool, TP_POOL_STACK_INFORMATION *stack)
{
    return suite_pool_status(SetThreadpoolStackInformation(pool, stack));
}

static NTSTATUS suite_TpSimpleTryPost(PTP_SIMPLE_CALLBACK function, void *context, TP_CALLBACK_ENVIRON *environ)
{
    return suite_pool_status(TrySubmitThreadpoolCallback(function, context, environ));
}

static const struct suite_function suite_pool_functions[] = {
    {"TpAllocCleanupGroup", suite_TpAllocCleanupGroup},
    {"TpAllocPool", suite_TpAllocPool},
    {"TpAllocTimer", suite_TpAllocTimer},
    {"TpAllocWait", suite_TpAllocWait},
    {"TpAllocWork", suite_TpAllocWork},
    {"TpCallbackMayRunLong", suite_TpCallbackMayRunLong},
    {"TpCallbackReleaseSemaphoreOnCompletion", ReleaseSemaphoreWhenCallbackReturns},
    {"TpDisassociateCallback", DisassociateCurrentThreadFromCallback},
    {"TpIsTimerSet", IsThreadpoolTimerSet},
    {"TpPostWork", SubmitThreadpoolWork},
    {"TpQueryPoolStackInformation", suite_TpQueryPoolStackInformation},
    {"TpReleaseCleanupGroup", CloseThreadpoolCleanupGroup},
    {"TpReleaseCleanupGroupMembers", CloseThreadpoolCleanupGroupMembers},
    {"TpReleasePool", CloseThreadpool},
    {"TpReleaseTimer", CloseThreadpoolTimer},
    {"TpReleaseWait", CloseThreadpoolWait},
    {"TpReleaseWork", CloseThreadpoolWork},
    {"TpSetPoolMaxThreads", SetThreadpoolThreadMaximum},
    {"TpSetPoolStackInformation", suite_TpSetPoolStackInformation},
    {"TpSetTimer", SetThreadpoolTimer},
    {"TpSetWait", SetThreadpoolWait},
    {"TpSimpleTryPost", suite_TpSimpleTryPost},
    {"TpWaitForTimer", WaitForThreadpoolTimerCallbacks},
    {"TpWaitForWait", WaitForThreadpoolWaitCallbacks},
    {"TpWaitForWork", WaitForThreadpoolWorkCallbacks},
};

#endif
