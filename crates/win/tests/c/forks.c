/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A forked child has its parent's handles, and is another thread to the mutexes: what is its parent's stays its parent's. */
#include "check.h"
#include <sys/wait.h>

static HANDLE event, mutex, thread, parent;

static DWORD WINAPI sleep_on(LPVOID unused)
{
    (void)unused;
    return WaitForSingleObject(event, INFINITE);
}

static int in_child(void)
{
    HANDLE mine = CreateEvent(NULL, FALSE, TRUE, NULL);

    failures = checks = 0;
    IS(WAIT_OBJECT_0, WaitForSingleObject(mine, 0));
    IS(TRUE, CloseHandle(mine));
    IS(WAIT_TIMEOUT, WaitForSingleObject(mutex, 0));
    FAILS(ERROR_NOT_OWNER, FALSE, ReleaseMutex(mutex));
    IS(PLANT(WAIT_TIMEOUT, WAIT_OBJECT_0), WaitForSingleObject(thread, 0));
    IS(GetCurrentThreadId(), GetThreadId(GetCurrentThread()));
    /* Its parent's process is another one. */
    IS(getpid(), GetProcessId(GetCurrentProcess()));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, GetProcessId(parent));
    /* Its close leaves the parent's object alone; it may set what its parent has. */
    IS(TRUE, CloseHandle(mutex));
    IS(TRUE, SetEvent(event));
    return failures != 0;
}

int main(void)
{
    DWORD code;
    int status = -1;
    pid_t child;

    alarm(300);
    event = CreateEvent(NULL, FALSE, FALSE, NULL);
    mutex = CreateMutex(NULL, TRUE, NULL);
    thread = start(sleep_on, NULL);
    parent = OpenProcess(SYNCHRONIZE, FALSE, GetCurrentProcessId());
    IS(getpid(), GetProcessId(parent));
    child = fork();
    if (child == 0)
        _exit(in_child());
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(WAIT_OBJECT_0, code);
    IS(TRUE, ReleaseMutex(mutex));
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, 0));
    IS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, CloseHandle(mutex));
    IS(TRUE, CloseHandle(thread));
    return report();
}
