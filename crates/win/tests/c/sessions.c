/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that processes share: each one says so itself, before it has an object. The others are this program with an argument. */
#include "check.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ntux/win/nt.h>
#include <sys/wait.h>

static char session[40];

static void no_session(void)
{
    FAILS(ERROR_INVALID_PARAMETER, FALSE, ntw_UseSessionNames("a/b"));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, CreateEventA(NULL, FALSE, FALSE, "question") != NULL);
}

#if IS_LINUX
static char *program;
static int ready[2];

static void tell(void)
{
    char byte = 0;

    IS(1, write(ready[1], &byte, 1));
}

static void until_told(void)
{
    char byte;

    IS(1, read(ready[0], &byte, 1));
}

/* A process of its own, which shares names, and ends with its failures. */
static pid_t process_that(const char *does)
{
    char end[20];
    pid_t child;

    sprintf(end, "%d", ready[1]);
    child = fork();
    if (child == 0) {
        execl(program, program, does, session, end, (char *)NULL);
        _exit(100);
    }
    return child;
}

static void ends_well(pid_t child)
{
    int status;

    IS(child, waitpid(child, &status, 0));
    IS(0, status);
}

/* Opens by a path of ntdll. */
static LONG open_by_path(HANDLE *made, const char *ascii, ULONG flags)
{
    WCHAR path[64];
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes;
    WORD i;

    for (i = 0; ascii[i]; i++)
        path[i] = (WCHAR)ascii[i];
    name.Length = name.MaximumLength = (WORD)(2 * i);
    name.Buffer = path;
    memset(&attributes, 0, sizeof attributes);
    attributes.Length = sizeof attributes;
    attributes.ObjectName = &name;
    attributes.Attributes = flags;
    return NtOpenEvent(made, EVENT_ALL_ACCESS, &attributes);
}

/* What was opened in another case has not got that name. */
static void in_another_case(void)
{
    HANDLE question = NULL, other = NULL;

    WORKS(STATUS_OBJECT_NAME_NOT_FOUND, open_by_path(&question, "\\BaseNamedObjects\\QUESTION", 0));
    WORKS(STATUS_SUCCESS, open_by_path(&question, "\\BaseNamedObjects\\QUESTION", OBJ_CASE_INSENSITIVE));
    WORKS(STATUS_OBJECT_NAME_NOT_FOUND, open_by_path(&other, "\\BaseNamedObjects\\QUESTION", 0));
    WORKS(STATUS_SUCCESS, open_by_path(&other, "\\BaseNamedObjects\\question", 0));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(other, 0));
    WORKS(STATUS_SUCCESS, NtClose(question));
    WORKS(STATUS_SUCCESS, NtClose(other));
}

static void answers(void)
{
    HANDLE question = OpenEventA(SYNCHRONIZE, FALSE, "question");
    HANDLE answer = OpenSemaphoreA(SEMAPHORE_ALL_ACCESS, FALSE, "Local\\answer");
    HANDLE both[2];

    IS(1, question != NULL && answer != NULL);
    FAILS(ERROR_FILE_NOT_FOUND, 0, OpenEventA(SYNCHRONIZE, FALSE, "Global\\question") != NULL);
    FAILS(ERROR_INVALID_HANDLE, 0, OpenMutexA(SYNCHRONIZE, FALSE, "question") != NULL);
    FAILS(ERROR_ACCESS_DENIED, FALSE, SetEvent(question));
    in_another_case();
    tell();
    /* Beside an object that has no name. */
    both[0] = CreateEventA(NULL, FALSE, TRUE, NULL);
    both[1] = question;
    IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, both, TRUE, INFINITE));
    IS(TRUE, ReleaseSemaphore(answer, 2, NULL));
}

static void owns_until_killed(void)
{
    HANDLE mutex = CreateMutexA(NULL, TRUE, "mutex");

    IS(ERROR_ALREADY_EXISTS, GetLastError());
    /* It was there, so it has to be acquired. */
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, INFINITE));
    IS(WAIT_OBJECT_0, WaitForSingleObject(mutex, INFINITE));
    tell();
    Sleep(INFINITE);
}

static void opens_until_killed(void)
{
    IS(1, OpenMutexA(SYNCHRONIZE, FALSE, "mutex") != NULL);
    tell();
    Sleep(INFINITE);
}

static DWORD WINAPI owns_and_returns(LPVOID mutex)
{
    return WaitForSingleObject((HANDLE)mutex, INFINITE);
}

static void events_and_semaphores(void)
{
    HANDLE question, answer, second;
    pid_t child;

    FAILS(0, 1, (question = CreateEventA(NULL, FALSE, FALSE, "question")) != NULL);
    FAILS(0, 1, (answer = CreateSemaphoreA(NULL, 0, 5, "answer")) != NULL);
    child = process_that("answers");
    until_told();
    IS(TRUE, SetEvent(question));
    IS(WAIT_OBJECT_0, WaitForSingleObject(answer, INFINITE));
    IS(WAIT_OBJECT_0, WaitForSingleObject(answer, INFINITE));
    IS(WAIT_TIMEOUT, WaitForSingleObject(answer, 0));
    ends_well(child);
    FAILS(ERROR_ALREADY_EXISTS, 1, (second = CreateEventA(NULL, TRUE, TRUE, "Local\\question")) != NULL);
    IS(WAIT_TIMEOUT, WaitForSingleObject(second, 0));
    IS(TRUE, CloseHandle(second));
    IS(TRUE, CloseHandle(question));
    /* The name ends with the last handle of all. */
    FAILS(ERROR_FILE_NOT_FOUND, 0, OpenEventA(SYNCHRONIZE, FALSE, "question") != NULL);
    IS(TRUE, CloseHandle(answer));
}

static void mutexes(void)
{
    HANDLE mutex, thread;
    pid_t child;
    int status;

    FAILS(0, 1, (mutex = CreateMutexA(NULL, FALSE, "mutex")) != NULL);
    child = process_that("owns");
    until_told();
    IS(WAIT_TIMEOUT, WaitForSingleObject(mutex, 0));
    FAILS(ERROR_NOT_OWNER, FALSE, ReleaseMutex(mutex));
    if (fork() == 0) {
        usleep(50000);
        kill(child, SIGKILL);
        _exit(0);
    }
    /* Nobody but the system knows that its owner is dead. */
    IS(PLANT(WAIT_ABANDONED_0, WAIT_OBJECT_0), WaitForSingleObject(mutex, INFINITE));
    IS(child, waitpid(child, &status, 0));
    wait(NULL);
    IS(TRUE, ReleaseMutex(mutex));
    FAILS(ERROR_NOT_OWNER, FALSE, ReleaseMutex(mutex));
    /* A thread that returns abandons it, too. */
    thread = start(owns_and_returns, mutex);
    join(thread);
    IS(WAIT_ABANDONED_0, WaitForSingleObject(mutex, 0));
    IS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, CloseHandle(mutex));
    FAILS(0, 1, (mutex = CreateMutexA(NULL, TRUE, "mutex")) != NULL);
    IS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, CloseHandle(mutex));
    /* Its owner does not keep it, but another process that has a handle does. */
    FAILS(0, 1, (mutex = CreateMutexA(NULL, TRUE, "mutex")) != NULL);
    IS(TRUE, CloseHandle(mutex));
    FAILS(ERROR_FILE_NOT_FOUND, 0, OpenMutexA(SYNCHRONIZE, FALSE, "mutex") != NULL);
    FAILS(0, 1, (mutex = CreateMutexA(NULL, TRUE, "mutex")) != NULL);
    child = process_that("opens");
    until_told();
    IS(TRUE, CloseHandle(mutex));
    WORKS(1, (mutex = OpenMutexA(SYNCHRONIZE, FALSE, "mutex")) != NULL);
    IS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, CloseHandle(mutex));
    kill(child, SIGKILL);
    IS(child, waitpid(child, &status, 0));
}

static VOID CALLBACK counts(LPVOID calls, DWORD low, DWORD high)
{
    (void)low, (void)high;
    ++*(int *)calls;
}

static void sets_a_timer(void)
{
    HANDLE timer = OpenWaitableTimerA(TIMER_ALL_ACCESS, FALSE, "timer");
    LARGE_INTEGER due;

    due.QuadPart = -200000; /* 20 ms */
    IS(TRUE, SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE));
    tell();
    Sleep(INFINITE);
}

/* It is due, although the process that has set it is dead. */
static void timers(void)
{
    HANDLE timer, manual;
    LARGE_INTEGER due;
    int status, calls = 0;
    pid_t child;

    FAILS(ERROR_FILE_NOT_FOUND, 0, OpenWaitableTimerA(SYNCHRONIZE, FALSE, "timer") != NULL);
    FAILS(0, 1, (timer = CreateWaitableTimerA(NULL, FALSE, "timer")) != NULL);
    FAILS(ERROR_INVALID_HANDLE, 0, OpenEventA(SYNCHRONIZE, FALSE, "timer") != NULL);
    child = process_that("sets");
    until_told();
    kill(child, SIGKILL);
    IS(child, waitpid(child, &status, 0));
    IS(WAIT_OBJECT_0, WaitForSingleObject(timer, INFINITE));
    IS(WAIT_TIMEOUT, WaitForSingleObject(timer, 0));
    /* Calls are this process's. */
    due.QuadPart = 0;
    IS(TRUE, SetWaitableTimer(timer, &due, 0, counts, &calls, FALSE));
    IS(WAIT_IO_COMPLETION, SleepEx(INFINITE, TRUE));
    IS(1, calls);
    IS(WAIT_OBJECT_0, WaitForSingleObject(timer, 0));
    IS(0, SleepEx(0, TRUE));
    IS(TRUE, CancelWaitableTimer(timer));
    IS(TRUE, CloseHandle(timer));
    FAILS(0, 1, (manual = CreateWaitableTimerA(NULL, TRUE, "timer")) != NULL);
    IS(WAIT_TIMEOUT, WaitForSingleObject(manual, 0));
    IS(TRUE, SetWaitableTimer(manual, &due, 0, NULL, NULL, FALSE));
    IS(WAIT_OBJECT_0, WaitForSingleObject(manual, 0));
    IS(WAIT_OBJECT_0, WaitForSingleObject(manual, 0));
    IS(TRUE, CloseHandle(manual));
}

static void with_objects_elsewhere(void)
{
    pid_t child = fork();

    if (child == 0) {
        failures = 0;
        IS(1, CreateEventA(NULL, FALSE, FALSE, NULL) != NULL);
        FAILS(ERROR_ALREADY_INITIALIZED, FALSE, ntw_UseSessionNames(session));
        _exit(failures);
    }
    ends_well(child);
}

/* What a process does that was started so. */
static int started(char **arguments)
{
    strcpy(session, arguments[2]);
    ready[1] = atoi(arguments[3]);
    WORKS(TRUE, ntw_UseSessionNames(session));
    if (strcmp(arguments[1], "owns") == 0)
        owns_until_killed();
    else if (strcmp(arguments[1], "sets") == 0)
        sets_a_timer();
    else if (strcmp(arguments[1], "opens") == 0)
        opens_until_killed();
    else
        answers();
    return failures;
}

int main(int count, char **arguments)
{
    alarm(300);
    program = arguments[0];
    if (count > 1)
        return started(arguments);
    sprintf(session, "test-of-ntux-win-%d", (int)getpid());
    IS(0, pipe(ready));
    no_session();
    with_objects_elsewhere();
    WORKS(TRUE, ntw_UseSessionNames(session));
    WORKS(TRUE, ntw_UseSessionNames(session));
    FAILS(ERROR_ALREADY_INITIALIZED, FALSE, ntw_UseSessionNames("another"));
    events_and_semaphores();
    mutexes();
    timers();
    return report();
}
#else
/* Other systems have no sessions, and say so. What needs none works. */
int main(void)
{
    HANDLE event, second;

    alarm(300);
    sprintf(session, "test-of-ntux-win-%d", (int)getpid());
    no_session();
    FAILS(PLANT(ERROR_NOT_SUPPORTED, 0), FALSE, ntw_UseSessionNames(session));
    FAILS(ERROR_NOT_SUPPORTED, FALSE, ntw_UseSessionNames(NULL));
    no_session();
    IS(1, (event = CreateEventA(NULL, FALSE, TRUE, NULL)) != NULL);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    IS(TRUE, CloseHandle(event));
    FAILS(ERROR_ALREADY_INITIALIZED, FALSE, ntw_UseSessionNames(session));
    ntw_UseProcessNames(TRUE);
    FAILS(0, 1, (event = CreateEventA(NULL, FALSE, TRUE, "question")) != NULL);
    WORKS(1, (second = OpenEventA(SYNCHRONIZE, FALSE, "question")) != NULL);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(second, 0));
    IS(TRUE, CloseHandle(second));
    IS(TRUE, CloseHandle(event));
    return report();
}
#endif
