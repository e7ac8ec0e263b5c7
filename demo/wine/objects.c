/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NT synchronization objects as a Windows program uses them. Prints a line for each check; exit code = failures. */
#include <windows.h>
#include <stdio.h>

static int failures;
static void check(int good, const char *what)
{
    printf("%s: %s\n", good ? "ok" : "WRONG", what);
    fflush(stdout);
    failures += !good;
}

static DWORD WINAPI takes_and_dies(void *mutex) { return WaitForSingleObject(mutex, INFINITE); }

static void mutexes(void)
{
    HANDLE mutex = CreateMutexA(NULL, TRUE, NULL), thread;
    check(WaitForSingleObject(mutex, 0) == WAIT_OBJECT_0, "a mutex is recursive");
    check(ReleaseMutex(mutex) && ReleaseMutex(mutex), "it is released as often");
    check(!ReleaseMutex(mutex) && GetLastError() == ERROR_NOT_OWNER, "and no more");
    thread = CreateThread(NULL, 0, takes_and_dies, mutex, 0, NULL);
    WaitForSingleObject(thread, INFINITE);
    check(WaitForSingleObject(mutex, 5000) == WAIT_ABANDONED, "its owner has ended: abandoned");
    check(ReleaseMutex(mutex), "and owned by who was told");
}

static void semaphores(void)
{
    LONG previous;
    HANDLE semaphore = CreateSemaphoreA(NULL, 1, 2, NULL);
    check(ReleaseSemaphore(semaphore, 1, &previous) && previous == 1, "a semaphore tells its count");
    check(!ReleaseSemaphore(semaphore, 1, NULL) && GetLastError() == ERROR_TOO_MANY_POSTS, "and keeps its limit");
    check(!WaitForSingleObject(semaphore, 0) && !WaitForSingleObject(semaphore, 0), "two units are acquired");
    check(WaitForSingleObject(semaphore, 10) == WAIT_TIMEOUT, "a third is not");
}

struct wait { HANDLE objects[2]; BOOL all; DWORD result; };
static DWORD WINAPI waits(void *argument)
{
    struct wait *wait = argument;
    return wait->result = WaitForMultipleObjects(2, wait->objects, wait->all, 5000);
}

static void vectors(void)
{
    HANDLE automatic = CreateEventA(NULL, FALSE, FALSE, NULL), semaphore = CreateSemaphoreA(NULL, 0, 5, NULL), thread;
    struct wait wait = { { automatic, semaphore }, TRUE, 77 };
    thread = CreateThread(NULL, 0, waits, &wait, 0, NULL);
    Sleep(50);
    SetEvent(automatic);
    check(WaitForSingleObject(thread, 50) == WAIT_TIMEOUT, "a wait for all needs all");
    check(WaitForSingleObject(automatic, 0) == WAIT_OBJECT_0, "and holds nothing meanwhile");
    SetEvent(automatic);
    ReleaseSemaphore(semaphore, 1, NULL);
    check(WaitForSingleObject(thread, 5000) == WAIT_OBJECT_0 && wait.result == WAIT_OBJECT_0, "then it gets them at once");
    wait.all = FALSE;
    thread = CreateThread(NULL, 0, waits, &wait, 0, NULL);
    Sleep(50);
    ReleaseSemaphore(semaphore, 1, NULL);
    check(WaitForSingleObject(thread, 5000) == WAIT_OBJECT_0 && wait.result == WAIT_OBJECT_0 + 1, "a wait for any tells which");
}

/* On a busy machine a new thread may not run for long: so it says that it does, before it waits. */
static HANDLE runs;
static DWORD WINAPI waits_for_one(void *event)
{
    SetEvent(runs);
    return WaitForSingleObject(event, 5000);
}

static void pulses(void)
{
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, NULL), threads[3];
    DWORD code, released = 0;
    for (int i = 0; i < 3; i++) {
        threads[i] = CreateThread(NULL, 0, waits_for_one, event, 0, NULL);
        WaitForSingleObject(runs, 5000);
    }
    Sleep(100);
    PulseEvent(event);
    for (int i = 0; i < 3; i++)
        released += !WaitForSingleObject(threads[i], 5000) && GetExitCodeThread(threads[i], &code) && !code;
    check(released == 3, "a pulse releases all who wait");
    check(WaitForSingleObject(event, 0) == WAIT_TIMEOUT, "and leaves nothing behind");
}

static int calls;
static void CALLBACK called(ULONG_PTR argument) { calls += argument; }
/* An APC that comes before a thread runs is called then, and ends no wait. */
static DWORD WINAPI alertable(void *event)
{
    SetEvent(runs);
    return WaitForSingleObjectEx(event, 5000, TRUE);
}

static void alerts(void)
{
    HANDLE event = CreateEventA(NULL, FALSE, FALSE, NULL), other = CreateEventA(NULL, FALSE, TRUE, NULL), thread;
    DWORD code;
    thread = CreateThread(NULL, 0, alertable, event, 0, NULL);
    WaitForSingleObject(runs, 5000);
    QueueUserAPC(called, thread, 3);
    WaitForSingleObject(thread, 5000);
    check(GetExitCodeThread(thread, &code) && code == WAIT_IO_COMPLETION && calls == 3, "an APC ends an alertable wait");
    check(SignalObjectAndWait(event, other, 1000, FALSE) == WAIT_OBJECT_0, "signal one object and wait for another");
    check(WaitForSingleObject(event, 0) == WAIT_OBJECT_0, "the first was signaled");
}

static DWORD WINAPI hangs(void *event) { return WaitForSingleObject(event, INFINITE); }

static void threads_end(void)
{
    HANDLE event = CreateEventA(NULL, FALSE, FALSE, NULL), thread = CreateThread(NULL, 0, hangs, event, 0, NULL);
    Sleep(50);
    SuspendThread(thread);
    SetEvent(event);
    Sleep(50);
    ResumeThread(thread);
    check(WaitForSingleObject(thread, 5000) == WAIT_OBJECT_0, "a thread that was suspended in its wait gets its event");
    thread = CreateThread(NULL, 0, hangs, event, 0, NULL);
    Sleep(50);
    TerminateThread(thread, 5);
    WaitForSingleObject(thread, 5000);
    /* Wine signals the thread's object before the thread is gone: with a device, one event may still go to it. */
    SetEvent(event);
    WaitForSingleObject(event, 1000);
    SetEvent(event);
    check(WaitForSingleObject(event, 1000) == WAIT_OBJECT_0, "one that was terminated takes one event at most");
}

enum { KINDS = 4, UNITS = 2, THREADS = 8, TURNS = 1000 };
static HANDLE pool[KINDS];
static LONG taken[KINDS], too_many;

static void use(int kind)
{
    if (InterlockedIncrement(&taken[kind]) > UNITS) InterlockedIncrement(&too_many);
    InterlockedDecrement(&taken[kind]);
    ReleaseSemaphore(pool[kind], 1, NULL);
}

static DWORD WINAPI one_of_many(void *seed)
{
    unsigned random = (unsigned)(UINT_PTR)seed;
    for (int turn = 0; turn < TURNS; turn++) {
        random = random * 1664525 + 1013904223;
        if (random >> 31) {
            int first = random >> 20 & 1;
            if (WaitForMultipleObjects(3, pool + first, TRUE, INFINITE)) return 1;
            for (int kind = first; kind < first + 3; kind++) use(kind);
        } else {
            DWORD index = WaitForMultipleObjects(KINDS, pool, FALSE, INFINITE);
            if (index >= KINDS) return 1;
            use(index);
        }
    }
    return 0;
}

static void crowd(void)
{
    HANDLE threads[THREADS];
    DWORD code, good = 0;
    LONG previous, left = 0;
    for (int i = 0; i < KINDS; i++) pool[i] = CreateSemaphoreA(NULL, UNITS, UNITS + 1, NULL);
    for (int i = 0; i < THREADS; i++) threads[i] = CreateThread(NULL, 0, one_of_many, (void *)(UINT_PTR)(i + 1), 0, NULL);
    WaitForMultipleObjects(THREADS, threads, TRUE, 60000);
    for (int i = 0; i < THREADS; i++) good += GetExitCodeThread(threads[i], &code) && !code;
    check(good == THREADS, "eight threads, any one of four or all of three at once: none fails, none is left behind");
    check(!too_many, "nobody has what somebody else has");
    for (int i = 0; i < KINDS; i++) left += ReleaseSemaphore(pool[i], 1, &previous) ? previous : -99;
    check(left == KINDS * UNITS, "and all is there again");
}

static HANDLE child(const char *role)
{
    char command[MAX_PATH + 20], path[MAX_PATH];
    STARTUPINFOA start = { sizeof start };
    PROCESS_INFORMATION process;
    GetModuleFileNameA(NULL, path, sizeof path);
    snprintf(command, sizeof command, "\"%s\" %s", path, role);
    if (!CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &start, &process)) exit(99);
    return process.hProcess;
}

static void processes(void)
{
    HANDLE mutex = CreateMutexA(NULL, FALSE, "ntux-mutex"), ready = CreateEventA(NULL, FALSE, FALSE, "ntux-ready");
    HANDLE ping = CreateEventA(NULL, FALSE, FALSE, "ntux-ping"), pong = CreateEventA(NULL, FALSE, FALSE, "ntux-pong"), process;
    int rounds = 0;
    process = child("owner");
    check(WaitForSingleObject(ready, 20000) == WAIT_OBJECT_0, "another process opens named objects");
    check(WaitForSingleObject(mutex, 50) == WAIT_TIMEOUT, "it owns the mutex");
    TerminateProcess(process, 3);
    check(WaitForSingleObject(mutex, 5000) == WAIT_ABANDONED, "it was killed: abandoned");
    ReleaseMutex(mutex);
    process = child("pong");
    WaitForSingleObject(ready, 20000);
    while (rounds < 1000 && SetEvent(ping) && !WaitForSingleObject(pong, 5000)) rounds++;
    check(rounds == 1000, "a thousand hand-offs between processes");
    TerminateProcess(process, 0);
}

static int be_child(const char *role)
{
    HANDLE mutex = OpenMutexA(SYNCHRONIZE, FALSE, "ntux-mutex"), ready = OpenEventA(EVENT_ALL_ACCESS, FALSE, "ntux-ready");
    HANDLE ping = OpenEventA(EVENT_ALL_ACCESS, FALSE, "ntux-ping"), pong = OpenEventA(EVENT_ALL_ACCESS, FALSE, "ntux-pong");
    if (!strcmp(role, "owner")) WaitForSingleObject(mutex, INFINITE);
    SetEvent(ready);
    while (!WaitForSingleObject(ping, INFINITE)) SetEvent(pong);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) return be_child(argv[1]);
    runs = CreateEventA(NULL, FALSE, FALSE, NULL);
    mutexes();
    semaphores();
    vectors();
    pulses();
    alerts();
    threads_end();
    crowd();
    processes();
    printf("%d failures\n", failures);
    return failures;
}
