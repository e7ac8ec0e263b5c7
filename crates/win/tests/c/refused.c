/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is not there says so, and changes nothing. */
#include "check.h"
#include <ntux/win/ntstatus.h>
#include <ntux/win/refused.h>

#define REFUSED(result, what) FAILS(ERROR_CALL_NOT_IMPLEMENTED, result, what)
#define NO_FILE(what) REFUSED(1, (what) == INVALID_HANDLE_VALUE)
#define NOTHING(what) REFUSED(1, (what) == NULL)

static DWORD WINAPI routine(LPVOID argument)
{
    (void)argument;
    IS(0, 1);
    return 0;
}

static VOID CALLBACK fiber(LPVOID argument)
{
    (void)argument;
    IS(0, 1);
}

int main(void)
{
    static const WCHAR wide[] = { 'a', 0 };
    char line[] = "a";
    HANDLE here = (HANDLE)line, there = (HANDLE)line;
    HANDLE self = GetCurrentThread(), event = CreateEvent(NULL, TRUE, TRUE, NULL);
    DWORD done = 7;

    alarm(300);
    REFUSED(PLANT(0xffffffffu, 0), SuspendThread(self));
    REFUSED(FALSE, TerminateThread(self, 0));
    REFUSED(FALSE, CreateProcessA(line, line, NULL, NULL, FALSE, 0, NULL, NULL, NULL, NULL));
    REFUSED(FALSE, CreateProcessW(wide, NULL, NULL, NULL, FALSE, 0, NULL, NULL, NULL, NULL));
    REFUSED(FALSE, TerminateProcess(GetCurrentProcess(), 1));
    NOTHING(CreateRemoteThread(GetCurrentProcess(), NULL, 0, routine, NULL, 0, NULL));
    NOTHING(CreateFiber(0, fiber, NULL));
    NOTHING(CreateFiberEx(0, 0, 0, fiber, NULL));
    NOTHING(ConvertThreadToFiber(line));
    NOTHING(ConvertThreadToFiberEx(line, 0));
    REFUSED(FALSE, ConvertFiberToThread());
    REFUSED(0, (SwitchToFiber(line), 0));
    REFUSED(0, (DeleteFiber(line), 0));
    NO_FILE(CreateFileA("a", GENERIC_READ, 0, NULL, 3, 0, NULL));
    NO_FILE(CreateFileW(wide, GENERIC_READ, 0, NULL, 3, 0, NULL));
    REFUSED(FALSE, ReadFile(event, line, 1, &done, NULL));
    REFUSED(FALSE, WriteFile(event, line, 1, &done, NULL));
    REFUSED(FALSE, GetOverlappedResult(event, NULL, &done, TRUE));
    REFUSED(FALSE, CancelIo(event));
    REFUSED(FALSE, CreatePipe(&here, &there, NULL, 0));
    NO_FILE(CreateNamedPipeA("a", 3, 0, 1, 0, 0, 0, NULL));
    NO_FILE(CreateNamedPipeW(wide, 3, 0, 1, 0, 0, 0, NULL));
    NOTHING(CreateFileMappingA(INVALID_HANDLE_VALUE, NULL, 4, 0, 4096, NULL));
    NOTHING(CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, 4, 0, 4096, NULL));
    NOTHING(MapViewOfFile(event, 4, 0, 0, 0));
    NOTHING(CreateThreadpoolIo(event, NULL, NULL, NULL));
    REFUSED(FALSE, BindIoCompletionCallback(event, NULL, 0));
    REFUSED(WAIT_FAILED, MsgWaitForMultipleObjects(1, &event, FALSE, 0, 0));
    REFUSED(WAIT_FAILED, MsgWaitForMultipleObjectsEx(1, &event, 0, 0, 0));
    REFUSED(FALSE, PostThreadMessageA(GetCurrentThreadId(), 0, 0, 0));
    REFUSED(FALSE, PostThreadMessageW(GetCurrentThreadId(), 0, 0, 0));
    NOTHING(AddVectoredExceptionHandler(1, NULL));
    REFUSED(FALSE, GetThreadContext(self, NULL));
    REFUSED(FALSE, SetThreadContext(self, NULL));
    REFUSED(FALSE, GetKernelObjectSecurity(event, 4, line, 1, &done));
    REFUSED(FALSE, SetKernelObjectSecurity(event, 4, line));
    WORKS(STATUS_NOT_IMPLEMENTED, NtAlertThread(self));
    /* Nothing was written. */
    IS(1, here == (HANDLE)line && there == (HANDLE)line && line[0] == 'a');
    IS(7, done);
    IS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    IS(TRUE, CloseHandle(event));
    return report();
}
