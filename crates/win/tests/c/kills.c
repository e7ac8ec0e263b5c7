/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Processes that are killed or stopped anywhere, and forks of a process whose threads make and close handles: who is left goes on. */
#include "check.h"
#include <signal.h>
#include <sys/wait.h>

static HANDLE event, semaphore, all[2];

/* Microseconds, different each time. */
static void random_while(void)
{
    static unsigned seed = 12345;

    seed = seed * 1103515245u + 12345u;
    usleep(seed / 65536u % 500u);
}

static pid_t child_that(void (*does)(void))
{
    pid_t child = fork();

    if (child == 0) {
        does();
        _exit(0);
    }
    return child;
}

static void end(pid_t child)
{
    int status;

    IS(0, kill(child, SIGKILL));
    IS(child, waitpid(child, &status, 0));
}

static void use_everything(void)
{
    for (;;) {
        WaitForSingleObject(event, 0);
        SetEvent(event);
        ReleaseSemaphore(semaphore, 1, NULL);
        WaitForMultipleObjects(2, all, FALSE, 1);
        WaitForMultipleObjects(2, all, TRUE, 0);
        PulseEvent(event);
    }
}

static void sleep_for_both(void)
{
    WaitForMultipleObjects(2, all, TRUE, INFINITE);
}

static void sleep_for_event(void)
{
    WaitForSingleObject(event, INFINITE);
}

#if !IS_LINUX
/* Nothing but Linux ends the waits of the killed, and each may still be given what it waited for, once. Then all of them have that. */
static void give_the_dead_theirs(void)
{
    int given = 0;

    do {
        IS(TRUE, SetEvent(event));
        IS(TRUE, ReleaseSemaphore(semaphore, 1, NULL));
    } while (WaitForMultipleObjects(2, all, TRUE, 0) != WAIT_OBJECT_0 && ++given < 1000);
    IS(1, given < 1000);
}
#endif

/* Whatever the others have left: a signal arrives, and nothing has to be waited for. */
static void works(void)
{
#if !IS_LINUX
    give_the_dead_theirs();
#endif
    IS(TRUE, ResetEvent(event));
    while (WaitForSingleObject(semaphore, 0) == WAIT_OBJECT_0)
        ;
    IS(WAIT_TIMEOUT, WaitForMultipleObjects(2, all, FALSE, 0));
    IS(TRUE, SetEvent(event));
    IS(TRUE, ReleaseSemaphore(semaphore, 1, NULL));
    IS(WAIT_OBJECT_0, WaitForMultipleObjects(2, all, TRUE, 10000));
    IS(WAIT_TIMEOUT, WaitForMultipleObjects(2, all, FALSE, 0));
}

static void killed(void)
{
    void (*const kinds[])(void) = {use_everything, sleep_for_both, sleep_for_event};
    pid_t first, second;
    int i;

    for (i = 0; i < 60; i++) {
        first = child_that(kinds[i % 3]);
        second = child_that(use_everything);
        random_while();
        end(first);
        random_while();
        end(second);
        works();
    }
}

/* A stopped process keeps what it has taken, and nothing else. */
static void stopped(void)
{
    pid_t child;
    int i, status;

    for (i = 0; i < 30; i++) {
        child = child_that(use_everything);
        random_while();
        IS(0, kill(child, SIGSTOP));
        IS(child, waitpid(child, &status, WUNTRACED));
        works();
        works();
        end(child);
    }
}

/* Who sleeps when a process dies beside it still gets what comes. */
static void beside_the_dead(void)
{
    pid_t dead, waiting;
    int i, status = -1;

    for (i = 0; i < 20; i++) {
        dead = child_that(sleep_for_event);
        waiting = child_that(sleep_for_event);
        random_while();
        end(dead);
        IS(TRUE, SetEvent(event));
#if IS_LINUX
        IS(waiting, waitpid(waiting, &status, 0));
#else
        /* The dead may have been given the first. */
        while (waitpid(waiting, &status, WNOHANG) == 0) {
            usleep(1000);
            IS(TRUE, SetEvent(event));
        }
        IS(TRUE, ResetEvent(event));
#endif
        IS(0, status);
    }
}

static LONG done;

static DWORD WINAPI churn(LPVOID unused)
{
    HANDLE made;

    (void)unused;
    while (!InterlockedCompareExchange(&done, 0, 0)) {
        made = CreateEvent(NULL, FALSE, TRUE, NULL);
        IS(WAIT_OBJECT_0, WaitForSingleObject(made, 0));
        IS(TRUE, CloseHandle(made));
    }
    return 0;
}

static int use_handles(void)
{
    HANDLE made;
    int i;

    failures = 0;
    for (i = 0; i < 10; i++) {
        made = CreateEvent(NULL, FALSE, FALSE, NULL);
        IS(TRUE, SetEvent(made));
        IS(WAIT_OBJECT_0, WaitForSingleObject(made, 0));
        IS(TRUE, CloseHandle(made));
        FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(made));
    }
    return failures != 0;
}

static void forked_while_others_work(void)
{
    HANDLE threads[2];
    pid_t child;
    int i, status = -1;

    threads[0] = start(churn, NULL);
    threads[1] = start(churn, NULL);
    for (i = 0; i < 60; i++) {
        child = fork();
        if (child == 0)
            _exit(use_handles());
        IS(child, waitpid(child, &status, 0));
        IS(0, status);
    }
    InterlockedExchange(&done, 1);
    join(threads[0]);
    join(threads[1]);
}

int main(void)
{
    alarm(300);
    event = CreateEvent(NULL, FALSE, FALSE, NULL);
    semaphore = CreateSemaphore(NULL, 0, 0x7fffffff, NULL);
    all[0] = event;
    all[1] = semaphore;
    killed();
    stopped();
    beside_the_dead();
    forked_while_others_work();
    IS(PLANT(WAIT_TIMEOUT, WAIT_OBJECT_0), WaitForSingleObject(event, 0));
    return report();
}
