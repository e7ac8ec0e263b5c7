/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events, mutexes, semaphores, waits and calls by the functions of ntdll. */
#include "check.h"
#include <ntux/win/ioapiset.h>
#include <ntux/win/nt.h>

#define NUMBER(number) ((HANDLE)(ULONG_PTR)(number))

static LARGE_INTEGER now, soon;

static void expect_event(int line, HANDLE event, LONG type, LONG state)
{
    EVENT_BASIC_INFORMATION is;
    ULONG length = 0;

    expect("NtQueryEvent", line, NtQueryEvent(event, EventBasicInformation, &is, sizeof is, &length), STATUS_SUCCESS);
    expect("length", line, (long)length, (long)sizeof is);
    expect("type", line, (long)is.EventType, type);
    expect("state", line, is.EventState, state);
}

#define EVENT_IS(event, type, state) expect_event(__LINE__, event, type, state)

static void events(void)
{
    HANDLE event = NULL, other = CreateMutex(NULL, FALSE, NULL);
    LONG before = 7;
    EVENT_BASIC_INFORMATION is;

    WORKS(STATUS_INVALID_PARAMETER, NtCreateEvent(&other, EVENT_ALL_ACCESS, NULL, 2, FALSE));
    IS(1, other == NULL);
    WORKS(STATUS_ACCESS_VIOLATION, NtCreateEvent(NULL, EVENT_ALL_ACCESS, NULL, NotificationEvent, FALSE));
    WORKS(STATUS_SUCCESS, NtCreateEvent(&event, EVENT_ALL_ACCESS, NULL, NotificationEvent, TRUE));
    EVENT_IS(event, NotificationEvent, 1);
    WORKS(STATUS_SUCCESS, NtResetEvent(event, &before));
    IS(PLANT(1, 0), before);
    WORKS(STATUS_SUCCESS, NtSetEvent(event, &before));
    IS(0, before);
    WORKS(STATUS_SUCCESS, NtPulseEvent(event, &before));
    IS(1, before);
    EVENT_IS(event, NotificationEvent, 0);
    WORKS(STATUS_SUCCESS, NtSetEvent(event, NULL));
    WORKS(STATUS_SUCCESS, NtClearEvent(event));
    WORKS(STATUS_TIMEOUT, NtWaitForSingleObject(event, FALSE, &now));
    WORKS(STATUS_INFO_LENGTH_MISMATCH, NtQueryEvent(event, EventBasicInformation, &is, sizeof is + 1, NULL));
    WORKS(STATUS_INVALID_INFO_CLASS, NtQueryEvent(event, 1, &is, sizeof is, NULL));
    WORKS(STATUS_ACCESS_VIOLATION, NtQueryEvent(event, EventBasicInformation, NULL, sizeof is, NULL));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtReleaseMutant(event, NULL));
    WORKS(STATUS_SUCCESS, NtClose(event));
    WORKS(STATUS_INVALID_HANDLE, NtClose(event));
    WORKS(STATUS_INVALID_HANDLE, NtSetEvent(event, NULL));
    WORKS(STATUS_SUCCESS, NtCreateEvent(&event, SYNCHRONIZE, NULL, SynchronizationEvent, TRUE));
    WORKS(STATUS_ACCESS_DENIED, NtSetEvent(event, NULL));
    EVENT_IS(event, SynchronizationEvent, 1);
    WORKS(STATUS_SUCCESS, NtWaitForSingleObject(event, FALSE, NULL));
    EVENT_IS(event, SynchronizationEvent, 0);
    IS(TRUE, CloseHandle(event));
}

static void expect_mutant(int line, HANDLE mutant, LONG count, BOOLEAN owned, BOOLEAN abandoned)
{
    MUTANT_BASIC_INFORMATION is;

    expect("NtQueryMutant", line, NtQueryMutant(mutant, MutantBasicInformation, &is, sizeof is, NULL), STATUS_SUCCESS);
    expect("count", line, is.CurrentCount, count);
    expect("owned", line, is.OwnedByCaller, owned);
    expect("abandoned", line, is.AbandonedState, abandoned);
}

#define MUTANT_IS(mutant, count, owned, abandoned) expect_mutant(__LINE__, mutant, count, owned, abandoned)

static DWORD WINAPI own(LPVOID mutant)
{
    MUTANT_IS((HANDLE)mutant, 1, FALSE, FALSE);
    IS(STATUS_SUCCESS, NtWaitForSingleObject((HANDLE)mutant, FALSE, NULL));
    MUTANT_IS((HANDLE)mutant, 0, TRUE, FALSE);
    return 0;
}

static void mutants(void)
{
    HANDLE mutant;
    LONG before = 7;

    WORKS(STATUS_SUCCESS, NtCreateMutant(&mutant, MUTANT_ALL_ACCESS, NULL, TRUE));
    MUTANT_IS(mutant, 0, TRUE, FALSE);
    WORKS(STATUS_SUCCESS, NtWaitForSingleObject(mutant, FALSE, &now));
    MUTANT_IS(mutant, -1, TRUE, FALSE);
    WORKS(STATUS_SUCCESS, NtReleaseMutant(mutant, &before));
    IS(-1, before);
    WORKS(STATUS_SUCCESS, NtReleaseMutant(mutant, &before));
    IS(0, before);
    WORKS(STATUS_MUTANT_NOT_OWNED, NtReleaseMutant(mutant, &before));
    join(start(own, mutant));
    MUTANT_IS(mutant, 1, FALSE, TRUE);
    WORKS(STATUS_ABANDONED_WAIT_0, NtWaitForSingleObject(mutant, FALSE, &now));
    MUTANT_IS(mutant, 0, TRUE, FALSE);
    WORKS(STATUS_SUCCESS, NtClose(mutant));
}

static void semaphores(void)
{
    SEMAPHORE_BASIC_INFORMATION is;
    HANDLE semaphore;
    ULONG before = 7;

    WORKS(STATUS_INVALID_PARAMETER, NtCreateSemaphore(&semaphore, SEMAPHORE_ALL_ACCESS, NULL, 4, 3));
    WORKS(STATUS_INVALID_PARAMETER, NtCreateSemaphore(&semaphore, SEMAPHORE_ALL_ACCESS, NULL, 0, 0));
    WORKS(STATUS_SUCCESS, NtCreateSemaphore(&semaphore, SEMAPHORE_ALL_ACCESS, NULL, 1, 3));
    WORKS(STATUS_SUCCESS, NtReleaseSemaphore(semaphore, 1, &before));
    IS(1, before);
    WORKS(STATUS_SEMAPHORE_LIMIT_EXCEEDED, NtReleaseSemaphore(semaphore, 2, &before));
    WORKS(STATUS_INVALID_PARAMETER, NtReleaseSemaphore(semaphore, 0, &before));
    IS(1, before);
    WORKS(STATUS_SUCCESS, NtQuerySemaphore(semaphore, SemaphoreBasicInformation, &is, sizeof is, NULL));
    IS(2, is.CurrentCount);
    IS(3, is.MaximumCount);
    WORKS(STATUS_SUCCESS, NtClose(semaphore));
}

static LONG calls;

static void CALLBACK count(ULONG_PTR unused)
{
    (void)unused;
    calls++;
}

static void waits(void)
{
    HANDLE handles[2];

    handles[0] = CreateEvent(NULL, FALSE, FALSE, NULL);
    handles[1] = CreateEvent(NULL, FALSE, TRUE, NULL);
    WORKS(STATUS_TIMEOUT, NtWaitForMultipleObjects(2, handles, WaitAll, FALSE, &soon));
    WORKS(STATUS_WAIT_0 + 1, NtWaitForMultipleObjects(2, handles, WaitAny, FALSE, NULL));
    WORKS(STATUS_INVALID_PARAMETER_1, NtWaitForMultipleObjects(0, handles, WaitAny, FALSE, &now));
    WORKS(STATUS_INVALID_PARAMETER_1, NtWaitForMultipleObjects(65, handles, WaitAny, FALSE, &now));
    WORKS(STATUS_INVALID_HANDLE, NtWaitForSingleObject(NUMBER(0x7ffffff0), FALSE, &now));
    WORKS(STATUS_SUCCESS, NtSignalAndWaitForSingleObject(handles[0], handles[0], FALSE, NULL));
    IS(1, QueueUserAPC(count, GetCurrentThread(), 0));
    WORKS(STATUS_TIMEOUT, NtWaitForSingleObject(handles[0], FALSE, &now));
    WORKS(STATUS_USER_APC, NtWaitForSingleObject(handles[0], TRUE, NULL));
    IS(1, calls);
    WORKS(STATUS_SUCCESS, NtDelayExecution(FALSE, &now));
    WORKS(STATUS_SUCCESS, NtDelayExecution(TRUE, &soon));
    IS(1, QueueUserAPC(count, GetCurrentThread(), 0));
    WORKS(STATUS_USER_APC, NtDelayExecution(TRUE, NULL));
    IS(2, calls);
    IS(TRUE, CloseHandle(handles[0]));
    IS(TRUE, CloseHandle(handles[1]));
}

static DWORD WINAPI own_port(LPVOID port)
{
    ULONG_PTR key = 0, value = 0;
    IO_STATUS_BLOCK block;

    IS(STATUS_SUCCESS, NtRemoveIoCompletion((HANDLE)port, &key, &value, &block, NULL));
    return (DWORD)key;
}

static void timers(void)
{
    TIMER_BASIC_INFORMATION is;
    LARGE_INTEGER later;
    HANDLE timer, event = CreateEvent(NULL, FALSE, FALSE, NULL);
    BOOLEAN before = 7;

    later.QuadPart = -100000000; /* ten seconds */
    WORKS(STATUS_INVALID_PARAMETER, NtCreateTimer(&timer, TIMER_ALL_ACCESS, NULL, 2));
    IS(1, timer == NULL);
    WORKS(STATUS_SUCCESS, NtCreateTimer(&timer, TIMER_ALL_ACCESS, NULL, NotificationTimer));
    WORKS(STATUS_SUCCESS, NtQueryTimer(timer, TimerBasicInformation, &is, sizeof is, NULL));
    IS(0, is.RemainingTime.QuadPart);
    IS(FALSE, is.TimerState);
    WORKS(STATUS_ACCESS_VIOLATION, NtSetTimer(timer, NULL, NULL, NULL, FALSE, 0, &before));
    WORKS(STATUS_INVALID_PARAMETER, NtSetTimer(timer, &later, NULL, NULL, FALSE, -1, &before));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtSetTimer(event, &later, NULL, NULL, FALSE, 0, &before));
    IS(7, before);
    WORKS(STATUS_SUCCESS, NtSetTimer(timer, &later, NULL, NULL, FALSE, 0, &before));
    IS(FALSE, before);
    WORKS(STATUS_SUCCESS, NtQueryTimer(timer, TimerBasicInformation, &is, sizeof is, NULL));
    IS(1, is.RemainingTime.QuadPart > 0 && is.RemainingTime.QuadPart <= 100000000);
    WORKS(STATUS_TIMER_RESUME_IGNORED, NtSetTimer(timer, &soon, NULL, NULL, TRUE, 0, NULL));
    WORKS(STATUS_SUCCESS, NtWaitForSingleObject(timer, FALSE, NULL));
    before = 7;
    WORKS(STATUS_SUCCESS, NtCancelTimer(timer, &before));
    IS(TRUE, before);
    WORKS(STATUS_SUCCESS, NtQueryTimer(timer, TimerBasicInformation, &is, sizeof is, NULL));
    IS(TRUE, is.TimerState);
    WORKS(STATUS_INVALID_INFO_CLASS, NtQueryTimer(timer, 1, &is, sizeof is, NULL));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtCancelTimer(event, NULL));
    WORKS(STATUS_SUCCESS, NtClose(timer));
    WORKS(STATUS_SUCCESS, NtCreateTimer(&timer, TIMER_ALL_ACCESS, NULL, SynchronizationTimer));
    WORKS(STATUS_SUCCESS, NtSetTimer(timer, &soon, NULL, NULL, FALSE, 0, NULL));
    WORKS(STATUS_SUCCESS, NtWaitForSingleObject(timer, FALSE, NULL));
    WORKS(STATUS_TIMEOUT, NtWaitForSingleObject(timer, FALSE, &now));
    WORKS(STATUS_SUCCESS, NtClose(timer));
    WORKS(STATUS_SUCCESS, NtClose(event));
}

static void ports(void)
{
    IO_COMPLETION_BASIC_INFORMATION is;
    FILE_IO_COMPLETION_INFORMATION entries[3];
    IO_STATUS_BLOCK block;
    HANDLE port, thread, event = CreateEvent(NULL, FALSE, FALSE, NULL);
    ULONG_PTR key = 7, value = 7, wide = 5;
    ULONG count = 7, length = 7;
    LPOVERLAPPED overlapped;
    DWORD bytes, code = 0;

    wide <<= 32;
    WORKS(STATUS_SUCCESS, NtCreateIoCompletion(&port, IO_COMPLETION_ALL_ACCESS, NULL, 0));
    WORKS(STATUS_TIMEOUT, NtRemoveIoCompletion(port, &key, &value, &block, &now));
    IS(7, key);
    WORKS(STATUS_SUCCESS, NtSetIoCompletion(port, 1, 2, STATUS_UNSUCCESSFUL, wide));
    WORKS(STATUS_SUCCESS, NtSetIoCompletion(port, 3, 4, STATUS_SUCCESS, 5));
    WORKS(STATUS_SUCCESS, NtQueryIoCompletion(port, IoCompletionBasicInformation, &is, sizeof is, &length));
    IS(2, is.Depth);
    IS(sizeof is, length);
    WORKS(STATUS_INFO_LENGTH_MISMATCH, NtQueryIoCompletion(port, IoCompletionBasicInformation, &is, 8, NULL));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtQueryIoCompletion(event, IoCompletionBasicInformation, &is, sizeof is, NULL));
    WORKS(STATUS_SUCCESS, NtRemoveIoCompletion(port, &key, &value, &block, NULL));
    IS(1, key);
    IS(2, value);
    IS(STATUS_UNSUCCESSFUL, block.Status);
    IS(1, block.Information == wide);
    WORKS(STATUS_SUCCESS, NtSetIoCompletion(port, 6, 7, STATUS_SUCCESS, 8));
    WORKS(STATUS_INVALID_PARAMETER, NtRemoveIoCompletionEx(port, entries, 0, &count, &now, FALSE));
    IS(7, count);
    WORKS(STATUS_SUCCESS, NtRemoveIoCompletionEx(port, entries, 3, &count, &now, FALSE));
    IS(2, count);
    IS(3, entries[0].CompletionKey);
    IS(8, entries[1].IoStatusBlock.Information);
    WORKS(STATUS_TIMEOUT, NtRemoveIoCompletionEx(port, entries, 3, &count, &soon, TRUE));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtRemoveIoCompletion(event, &key, &value, &block, &now));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtSetIoCompletion(event, 0, 0, 0, 0));
    /* Win32 says of a status that is a failure what the failure is. */
    WORKS(STATUS_SUCCESS, NtSetIoCompletion(port, 1, 2, STATUS_ACCESS_DENIED, 9));
    FAILS(ERROR_ACCESS_DENIED, FALSE, GetQueuedCompletionStatus(port, &bytes, &key, &overlapped, 0));
    IS(2, (ULONG_PTR)overlapped);
    IS(9, bytes);
    thread = start(own_port, port);
    a_while();
    WORKS(STATUS_SUCCESS, NtSetIoCompletion(port, 11, 0, STATUS_SUCCESS, 0));
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(11, code);
    IS(TRUE, CloseHandle(thread));
    WORKS(STATUS_SUCCESS, NtClose(port));
    WORKS(STATUS_INVALID_HANDLE, NtSetIoCompletion(port, 0, 0, 0, 0));
    WORKS(STATUS_SUCCESS, NtCreateIoCompletion(&port, IO_COMPLETION_QUERY_STATE, NULL, 0));
    WORKS(STATUS_ACCESS_DENIED, NtSetIoCompletion(port, 0, 0, 0, 0));
    WORKS(STATUS_SUCCESS, NtQueryIoCompletion(port, IoCompletionBasicInformation, &is, sizeof is, NULL));
    IS(0, is.Depth);
    WORKS(STATUS_SUCCESS, NtClose(port));
    WORKS(STATUS_SUCCESS, NtClose(event));
}

static ULONG_PTR added;

static void CALLBACK add(ULONG_PTR first, ULONG_PTR second, ULONG_PTR third)
{
    added += first + 10 * second + 100 * third;
}

static void duplicates_and_calls(void)
{
    HANDLE self = GetCurrentProcess(), event = CreateEvent(NULL, TRUE, FALSE, NULL), second, thread;
    DWORD flags = 7;

    WORKS(STATUS_SUCCESS, NtDuplicateObject(self, event, self, &second, SYNCHRONIZE, OBJ_INHERIT, 0));
    WORKS(STATUS_ACCESS_DENIED, NtSetEvent(second, NULL));
    WORKS(TRUE, GetHandleInformation(second, &flags));
    IS(HANDLE_FLAG_INHERIT, flags);
    WORKS(STATUS_SUCCESS, NtDuplicateObject(self, second, self, &thread, 0, 0,
                                            DUPLICATE_SAME_ACCESS | DUPLICATE_SAME_ATTRIBUTES | DUPLICATE_CLOSE_SOURCE));
    WORKS(TRUE, GetHandleInformation(thread, &flags));
    IS(HANDLE_FLAG_INHERIT, flags);
    WORKS(STATUS_INVALID_HANDLE, NtClose(second));
    WORKS(STATUS_SUCCESS, NtClose(thread));
    WORKS(STATUS_INVALID_HANDLE, NtDuplicateObject(self, second, self, &thread, 0, 0, DUPLICATE_SAME_ACCESS));

    WORKS(STATUS_SUCCESS, NtQueueApcThread(GetCurrentThread(), add, 1, 2, 3));
    WORKS(STATUS_SUCCESS, NtQueueApcThread(GetCurrentThread(), NULL, 1, 2, 3));
    IS(0, added);
    WORKS(STATUS_SUCCESS, NtTestAlert());
    IS(321, added);
    WORKS(STATUS_SUCCESS, NtTestAlert());
    IS(321, added);
    WORKS(STATUS_SUCCESS, NtQueueApcThread(GetCurrentThread(), NULL, 1, 2, 3));
    WORKS(STATUS_TIMEOUT, NtWaitForSingleObject(event, TRUE, &now));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtQueueApcThread(event, add, 0, 0, 0));
    thread = start(own, CreateMutex(NULL, FALSE, NULL));
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    WORKS(STATUS_UNSUCCESSFUL, NtQueueApcThread(thread, add, 0, 0, 0));
    WORKS(STATUS_UNSUCCESSFUL, NtQueueApcThread(thread, NULL, 0, 0, 0));
    IS(TRUE, CloseHandle(thread));
    WORKS(STATUS_INVALID_HANDLE, NtQueueApcThread(thread, add, 0, 0, 0));
    IS(TRUE, CloseHandle(event));
}

static DWORD WINAPI wait_for_call(LPVOID caller)
{
    IS(STATUS_SUCCESS, NtAlertThreadByThreadId((HANDLE)caller));
    IS(STATUS_ALERTED, NtWaitForAlertByThreadId(NULL, NULL));
    return 0;
}

static void called(void)
{
    HANDLE self = NUMBER(GetCurrentThreadId()), thread, ids[2];
    DWORD id;

    WORKS(STATUS_TIMEOUT, NtWaitForAlertByThreadId(NULL, &soon));
    WORKS(STATUS_SUCCESS, NtAlertThreadByThreadId(self));
    WORKS(STATUS_SUCCESS, NtAlertThreadByThreadId(self));
    WORKS(STATUS_ALERTED, NtWaitForAlertByThreadId(NULL, NULL));
    WORKS(STATUS_TIMEOUT, NtWaitForAlertByThreadId(NULL, &now));
    WORKS(STATUS_INVALID_CID, NtAlertThreadByThreadId(NULL));
    WORKS(STATUS_INVALID_CID, NtAlertThreadByThreadId(NUMBER(0xdeadbeef)));
    thread = CreateThread(NULL, 0, wait_for_call, self, 0, &id);
    WORKS(STATUS_ALERTED, NtWaitForAlertByThreadId(NULL, NULL));
    ids[0] = self;
    ids[1] = NUMBER(0xdeadbeef);
    WORKS(STATUS_INVALID_CID, NtAlertMultipleThreadByThreadId(ids, 2, NULL, NULL));
    WORKS(STATUS_TIMEOUT, NtWaitForAlertByThreadId(NULL, &now));
    ids[1] = NUMBER(id);
    WORKS(STATUS_SUCCESS, NtAlertMultipleThreadByThreadId(ids, 2, NULL, NULL));
    WORKS(STATUS_ALERTED, NtWaitForAlertByThreadId(NULL, &now));
    WORKS(STATUS_SUCCESS, NtAlertMultipleThreadByThreadId(NULL, 0, NULL, NULL));
    WORKS(STATUS_ACCESS_VIOLATION, NtAlertMultipleThreadByThreadId(NULL, 1, NULL, NULL));
    join(thread);
}

static UNICODE_STRING name;
static OBJECT_ATTRIBUTES attributes;

static const OBJECT_ATTRIBUTES *named(const char *ascii, ULONG flags)
{
    static WCHAR buffer[64];
    WORD i;

    for (i = 0; ascii[i]; i++)
        buffer[i] = (WCHAR)ascii[i];
    name.Length = name.MaximumLength = (WORD)(2 * i);
    name.Buffer = buffer;
    attributes.Length = sizeof attributes;
    attributes.RootDirectory = NULL;
    attributes.ObjectName = &name;
    attributes.Attributes = flags;
    return &attributes;
}

#define CREATES(status, path, flags) \
    WORKS(status, NtCreateEvent(&made, EVENT_ALL_ACCESS, named(path, flags), NotificationEvent, FALSE))
#define OPENS(status, path, flags) WORKS(status, NtOpenEvent(&made, EVENT_ALL_ACCESS, named(path, flags)))

static void names(void)
{
    HANDLE event, made;

    CREATES(STATUS_NOT_IMPLEMENTED, "\\BaseNamedObjects\\bell", 0);
    ntw_UseProcessNames(TRUE);
    OPENS(STATUS_OBJECT_NAME_NOT_FOUND, "\\BaseNamedObjects\\bell", 0);
    CREATES(STATUS_SUCCESS, "\\BaseNamedObjects\\bell", 0);
    event = made;
    CREATES(STATUS_OBJECT_NAME_COLLISION, "\\BaseNamedObjects\\bell", 0);
    IS(1, made == NULL);
    CREATES(STATUS_OBJECT_NAME_EXISTS, "\\BaseNamedObjects\\bell", OBJ_OPENIF);
    WORKS(STATUS_SUCCESS, NtClose(made));
    WORKS(STATUS_ACCESS_DENIED, NtCreateEvent(&made, 0, named("\\BaseNamedObjects\\bell", OBJ_OPENIF), NotificationEvent, FALSE));
    WORKS(STATUS_ACCESS_DENIED, NtOpenEvent(&made, 0, named("\\BaseNamedObjects\\bell", 0)));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtOpenMutant(&made, MUTANT_ALL_ACCESS, &attributes));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtCreateSemaphore(&made, SEMAPHORE_ALL_ACCESS, &attributes, 1, 1));
    FAILS(ERROR_ALREADY_EXISTS, 1, (made = CreateEventA(NULL, FALSE, FALSE, "bell")) != NULL);
    WORKS(STATUS_SUCCESS, NtClose(made));
    /* In another case: the latest, if it is asked for. */
    OPENS(STATUS_OBJECT_NAME_NOT_FOUND, "\\BaseNamedObjects\\BELL", 0);
    OPENS(STATUS_OBJECT_PATH_NOT_FOUND, "\\baseNamedObjects\\bell", 0);
    OPENS(STATUS_SUCCESS, "\\baseNamedObjects\\BELL", OBJ_CASE_INSENSITIVE);
    WORKS(STATUS_SUCCESS, NtSetEvent(made, NULL));
    EVENT_IS(event, NotificationEvent, 1);
    WORKS(STATUS_SUCCESS, NtClose(made));
    WORKS(STATUS_SUCCESS, NtCreateMutant(&made, MUTANT_ALL_ACCESS, named("\\BaseNamedObjects\\Bell", 0), FALSE));
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtOpenEvent(&event, EVENT_ALL_ACCESS, named("\\BaseNamedObjects\\BELL", OBJ_CASE_INSENSITIVE)));
    IS(1, event == NULL);
    WORKS(STATUS_SUCCESS, NtClose(made));
    OPENS(STATUS_OBJECT_PATH_SYNTAX_BAD, "bell", 0);
    OPENS(STATUS_OBJECT_PATH_SYNTAX_BAD, "", 0);
    OPENS(STATUS_OBJECT_PATH_NOT_FOUND, "\\bell", 0);
    OPENS(STATUS_OBJECT_NAME_INVALID, "\\BaseNamedObjects\\", 0);
    CREATES(STATUS_NOT_IMPLEMENTED, "\\BaseNamedObjects\\bell", 0x10 /* OBJ_PERMANENT */);
    WORKS(STATUS_INVALID_PARAMETER, NtOpenEvent(&made, EVENT_ALL_ACCESS, NULL));
    (void)named("bell", 0);
    attributes.RootDirectory = NUMBER(0x7ffffff0);
    WORKS(STATUS_INVALID_HANDLE, NtOpenEvent(&made, EVENT_ALL_ACCESS, &attributes));
    attributes.RootDirectory = event = CreateEvent(NULL, FALSE, FALSE, NULL);
    WORKS(STATUS_OBJECT_TYPE_MISMATCH, NtOpenEvent(&made, EVENT_ALL_ACCESS, &attributes));
    attributes.RootDirectory = NULL;
    name.Length = 3;
    WORKS(STATUS_OBJECT_NAME_INVALID, NtOpenEvent(&made, EVENT_ALL_ACCESS, &attributes));
    name.Buffer = (WCHAR *)((ULONG_PTR)name.Buffer + 1);
    WORKS(STATUS_DATATYPE_MISALIGNMENT, NtOpenEvent(&made, EVENT_ALL_ACCESS, &attributes));
    attributes.Length--;
    WORKS(STATUS_INVALID_PARAMETER, NtOpenEvent(&made, EVENT_ALL_ACCESS, &attributes));
    IS(TRUE, CloseHandle(event));
}

int main(void)
{
    alarm(300);
    soon.QuadPart = -10000;
    events();
    mutants();
    semaphores();
    waits();
    called();
    timers();
    ports();
    duplicates_and_calls();
    names();
    return report();
}
