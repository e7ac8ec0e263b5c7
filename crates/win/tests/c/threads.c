/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"
#include <pthread.h>

static HANDLE begun, go, own_handle;
static DWORD own_id;

static DWORD WINAPI tell(LPVOID argument)
{
    own_id = GetCurrentThreadId();
    IS(TRUE, SetEvent(begun));
    IS(WAIT_OBJECT_0, WaitForSingleObject(go, INFINITE));
    return (DWORD)(ULONG_PTR)argument;
}

static DWORD WINAPI leave(LPVOID unused)
{
    (void)unused;
    ExitThread(42);
    return 0;
}

static void life(void)
{
    HANDLE thread;
    DWORD code = 0, id = 0;

    begun = CreateEvent(NULL, FALSE, FALSE, NULL);
    go = CreateEvent(NULL, FALSE, FALSE, NULL);
    thread = CreateThread(NULL, 1 << 20, tell, (LPVOID)5, STACK_SIZE_PARAM_IS_A_RESERVATION, &id);
    IS(WAIT_OBJECT_0, WaitForSingleObject(begun, INFINITE));
    IS(id, own_id);
    IS(id, GetThreadId(thread));
    IS(1, id != GetCurrentThreadId());
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(thread, 0));
    WORKS(TRUE, GetExitCodeThread(thread, &code));
    IS(STILL_ACTIVE, code);
    WORKS(0, ResumeThread(thread));
    IS(TRUE, SetEvent(go));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    WORKS(TRUE, GetExitCodeThread(thread, &code));
    IS(PLANT(5, 6), code);
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(thread));
    IS(TRUE, CloseHandle(thread));
    FAILS(ERROR_INVALID_HANDLE, FALSE, GetExitCodeThread(thread, &code));
    FAILS(ERROR_INVALID_HANDLE, 0, GetThreadId(go));

    thread = start(leave, NULL);
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(42, code);
    IS(TRUE, CloseHandle(thread));
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateThread(NULL, 0, NULL, NULL, 0, NULL) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateThread(NULL, 0, leave, NULL, 1, NULL) != NULL);
}

static void suspended(void)
{
    HANDLE thread = CreateThread(NULL, 0, tell, (LPVOID)9, CREATE_SUSPENDED, NULL);
    DWORD code;

    IS(WAIT_TIMEOUT, WaitForSingleObject(begun, 20));
    WORKS(1, SuspendThread(thread));
    WORKS(2, ResumeThread(thread));
    IS(WAIT_TIMEOUT, WaitForSingleObject(begun, 20));
    for (code = 1; code < 127; code++)
        WORKS(code, SuspendThread(thread));
    FAILS(ERROR_SIGNAL_REFUSED, 0xffffffffu, SuspendThread(thread));
    for (; code > 1; code--)
        WORKS(code, ResumeThread(thread));
    WORKS(1, ResumeThread(thread));
    IS(WAIT_OBJECT_0, WaitForSingleObject(begun, INFINITE));
    WORKS(0, ResumeThread(thread));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE, TerminateThread(thread, 3));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0xffffffffu, SuspendThread(thread));
    IS(TRUE, SetEvent(go));
    join(thread);
    FAILS(ERROR_INVALID_HANDLE, 0xffffffffu, ResumeThread(thread));

    thread = CreateThread(NULL, 0, tell, NULL, CREATE_SUSPENDED, NULL);
    WORKS(TRUE, TerminateThread(thread, 3));
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(3, code);
    WORKS(0, ResumeThread(thread));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0xffffffffu, SuspendThread(thread));
    IS(WAIT_TIMEOUT, WaitForSingleObject(begun, 0));
    IS(TRUE, CloseHandle(thread));
}

/* The library learns of a thread that it did not make when that first needs it. */
static void *foreign(void *unused)
{
    HANDLE self = GetCurrentProcess();

    (void)unused;
    IS(TRUE, DuplicateHandle(self, GetCurrentThread(), self, &own_handle, 0, FALSE, DUPLICATE_SAME_ACCESS));
    own_id = GetCurrentThreadId();
    IS(own_id, GetThreadId(GetCurrentThread()));
    IS(TRUE, SetEvent(begun));
    IS(WAIT_OBJECT_0, WaitForSingleObject(go, INFINITE));
    return NULL;
}

static void of_the_program(void)
{
    pthread_t thread;
    DWORD code;

    IS(0, pthread_create(&thread, NULL, foreign, NULL));
    IS(WAIT_OBJECT_0, WaitForSingleObject(begun, INFINITE));
    IS(own_id, GetThreadId(own_handle));
    IS(WAIT_TIMEOUT, WaitForSingleObject(own_handle, 0));
    IS(TRUE, SetEvent(go));
    IS(WAIT_OBJECT_0, WaitForSingleObject(own_handle, INFINITE));
    IS(TRUE, GetExitCodeThread(own_handle, &code));
    IS(0, code);
    IS(0, pthread_join(thread, NULL));
    IS(TRUE, CloseHandle(own_handle));
}

/* Handles by the number of a thread: of one that was made here, of one that was not, of the caller. */
static void by_number(void)
{
    HANDLE thread = CreateThread(NULL, 0, tell, (LPVOID)9, 0, NULL);
    DWORD id = GetThreadId(thread), code;
    pthread_t other;
    HANDLE second;

    IS(WAIT_OBJECT_0, WaitForSingleObject(begun, INFINITE));
    second = OpenThread(SYNCHRONIZE | THREAD_QUERY_INFORMATION, TRUE, id);
    IS(id, GetThreadId(second));
    IS(WAIT_TIMEOUT, WaitForSingleObject(second, 0));
    FAILS(ERROR_INVALID_PARAMETER, 0, OpenThread(SYNCHRONIZE, FALSE, 0) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, OpenThread(SYNCHRONIZE, FALSE, 1) != NULL);
    FAILS(ERROR_ACCESS_DENIED, 0, OpenThread(0, FALSE, id) != NULL);
    IS(TRUE, SetEvent(go));
    join(thread);
    /* It has ended, and there is a handle still. */
    thread = OpenThread(THREAD_QUERY_INFORMATION, FALSE, id);
    FAILS(ERROR_ACCESS_DENIED, WAIT_FAILED, WaitForSingleObject(thread, 0));
    IS(TRUE, GetExitCodeThread(thread, &code));
    IS(9, code);
    IS(TRUE, CloseHandle(thread));
    IS(TRUE, CloseHandle(second));

    IS(0, pthread_create(&other, NULL, foreign, NULL));
    IS(WAIT_OBJECT_0, WaitForSingleObject(begun, INFINITE));
    thread = OpenThread(THREAD_ALL_ACCESS, FALSE, own_id);
    IS(own_id, GetThreadId(thread));
    IS(TRUE, SetEvent(go));
    IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
    IS(0, pthread_join(other, NULL));
    IS(TRUE, CloseHandle(thread));
    IS(TRUE, CloseHandle(own_handle));

    thread = OpenThread(SYNCHRONIZE, FALSE, GetCurrentThreadId());
    IS(GetCurrentThreadId(), GetThreadId(thread));
    IS(WAIT_TIMEOUT, WaitForSingleObject(thread, 0));
    IS(TRUE, CloseHandle(thread));
}

/* Threads whose handles are closed at once, and threads that are waited for, again and again. */
static DWORD WINAPI nothing(LPVOID unused)
{
    (void)unused;
    return 0;
}

static void many(void)
{
    int i;

    for (i = 0; i < 500; i++) {
        IS(TRUE, CloseHandle(start(nothing, NULL)));
        join(start(nothing, NULL));
    }
}

static pthread_key_t key;
static LONG destroyed;

/* Has a second round. */
static void destroy_slowly(void *value)
{
    Sleep(20);
    if (value == &key)
        pthread_setspecific(key, &destroyed);
    InterlockedIncrement(&destroyed);
}

static DWORD WINAPI use_key(LPVOID exits)
{
    pthread_setspecific(key, &key);
    if (exits)
        ExitThread(5);
    return 5;
}

/* Who has waited for a thread finds that the destructors of its keys have run, as after pthread_join. */
static void destructors_come_first(void)
{
    LONG exits;

    IS(0, pthread_key_create(&key, destroy_slowly));
    for (exits = 0; exits < 2; exits++) {
        HANDLE thread;
        DWORD code = 0;

        InterlockedExchange(&destroyed, 0);
        thread = start(use_key, exits ? &exits : NULL);
        IS(WAIT_OBJECT_0, WaitForSingleObject(thread, INFINITE));
        IS(2, InterlockedCompareExchange(&destroyed, 0, 0));
        IS(TRUE, GetExitCodeThread(thread, &code));
        IS(5, code);
        IS(TRUE, CloseHandle(thread));
    }
}

int main(void)
{
    alarm(300);
    life();
    suspended();
    of_the_program();
    by_number();
    many();
    destructors_come_first();
    IS(getpid(), GetCurrentProcessId());
    return report();
}
