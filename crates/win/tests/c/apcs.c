/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"

static HANDLE event, ready;
static LONG calls, order;

static void CALLBACK count(ULONG_PTR argument)
{
    calls++;
    order = order * 10 + (LONG)argument;
}

static void CALLBACK again(ULONG_PTR times)
{
    calls++;
    if (times > 1)
        IS(1, QueueUserAPC(again, GetCurrentThread(), times - 1));
}

static void CALLBACK leave(ULONG_PTR code)
{
    ExitThread((DWORD)code);
}

static void of_itself(void)
{
    HANDLE self = GetCurrentThread();

    WORKS(0, SleepEx(0, TRUE));
    WORKS(0, SleepEx(1, TRUE));
    WORKS(1, QueueUserAPC(count, self, 1));
    WORKS(1, QueueUserAPC(count, self, 2));
    WORKS(1, QueueUserAPC(count, self, 3));
    WORKS(0, SleepEx(1, FALSE));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(event, 0));
    IS(0, calls);
    /* An object that is signaled comes first. */
    IS(TRUE, SetEvent(event));
    WORKS(WAIT_OBJECT_0, WaitForSingleObjectEx(event, INFINITE, TRUE));
    IS(0, calls);
    WORKS(WAIT_IO_COMPLETION, WaitForSingleObjectEx(event, INFINITE, TRUE));
    IS(3, calls);
    IS(PLANT(123, 321), order);
    WORKS(WAIT_TIMEOUT, WaitForSingleObjectEx(event, 1, TRUE));
    WORKS(1, QueueUserAPC(again, self, 3));
    WORKS(WAIT_IO_COMPLETION, SleepEx(0, TRUE));
    IS(6, calls);
    WORKS(1, QueueUserAPC(count, self, 1));
    WORKS(WAIT_IO_COMPLETION, WaitForMultipleObjectsEx(1, &event, TRUE, INFINITE, TRUE));
    WORKS(1, QueueUserAPC(count, self, 1));
    /* It signals, then the call is due. */
    WORKS(WAIT_IO_COMPLETION, SignalObjectAndWait(ready, event, INFINITE, TRUE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(ready, 0));
    WORKS(WAIT_TIMEOUT, SignalObjectAndWait(ready, event, 1, TRUE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(ready, 0));
    WORKS(1, QueueUserAPC2(count, self, 0, 0));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, QueueUserAPC2(count, self, 0, 1));
    WORKS(WAIT_IO_COMPLETION, SleepEx(INFINITE, TRUE));
    FAILS(ERROR_INVALID_HANDLE, 0, QueueUserAPC(count, event, 0));
    FAILS(ERROR_INVALID_HANDLE, 0, QueueUserAPC(count, NULL, 0));
}

static DWORD WINAPI wait_alertably(LPVOID how)
{
    DWORD ended;

    IS(TRUE, SetEvent(ready));
    if (how)
        ended = SleepEx(INFINITE, TRUE);
    else
        ended = WaitForMultipleObjectsEx(1, &event, FALSE, INFINITE, TRUE);
    return ended;
}

static void of_others(void)
{
    HANDLE thread;
    DWORD code;
    int how, i;

    for (how = 0; how < 2; how++) {
        for (i = 0; i < 20; i++) {
            calls = 0;
            thread = start(wait_alertably, how ? &how : NULL);
            IS(WAIT_OBJECT_0, WaitForSingleObject(ready, INFINITE));
            IS(1, QueueUserAPC(count, thread, 1));
            IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
            IS(TRUE, GetExitCodeThread(thread, &code));
            IS(WAIT_IO_COMPLETION, code);
            IS(1, calls);
            FAILS(ERROR_GEN_FAILURE, 0, QueueUserAPC(count, thread, 1));
            IS(TRUE, CloseHandle(thread));
        }
    }
    /* Before it begins. */
    calls = 0;
    thread = CreateThread(NULL, 0, wait_alertably, NULL, CREATE_SUSPENDED, NULL);
    IS(1, QueueUserAPC(count, thread, 1));
    IS(1, QueueUserAPC(count, thread, 2));
    IS(1, ResumeThread(thread));
    IS(WAIT_OBJECT_0, WaitForSingleObject(ready, INFINITE));
    IS(2, calls);
    IS(1, QueueUserAPC(count, thread, 1));
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(3, calls);
    IS(TRUE, CloseHandle(thread));
    /* A call that ends the thread, and one after it: both before it begins, since it may end at once. */
    thread = CreateThread(NULL, 0, wait_alertably, NULL, CREATE_SUSPENDED, NULL);
    IS(1, QueueUserAPC(leave, thread, 17));
    IS(1, QueueUserAPC(count, thread, 1));
    IS(1, ResumeThread(thread));
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(17, code);
    IS(3, calls);
    IS(TRUE, CloseHandle(thread));
}

int main(void)
{
    alarm(300);
    event = CreateEvent(NULL, FALSE, FALSE, NULL);
    ready = CreateEvent(NULL, FALSE, FALSE, NULL);
    of_itself();
    of_others();
    return report();
}
