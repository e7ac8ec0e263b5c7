/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a back end must stand: many objects, threads and processes that are suspended and killed. Prints a line for each check; exit
 * code = failures. With arguments it is a child: one that waits and takes, until it is killed, or one that takes a handle. */
#include <windows.h>
#include <stdio.h>

static int failures;

static void check(int good, const char *what)
{
    printf("%s: %s\n", good ? "ok" : "WRONG", what);
    fflush(stdout);
    failures += !good;
}

/* 1 and a line if a call did not return what it should have. */
static int unlike(DWORD got, DWORD wanted, int round, const char *what)
{
    if (got != wanted) printf("      round %d: %s: %lu, error %lu\n", round, what, got, GetLastError());
    return got != wanted;
}

#define MANY 100000

static void many_objects(void)
{
    HANDLE *events = malloc(MANY * sizeof(*events)), extra;
    int i, wrong = 0;

    for (i = 0; i < MANY; i++) wrong += !(events[i] = CreateEventA(NULL, FALSE, FALSE, NULL));
    check(!wrong, "100,000 events are created");
    for (i = 0; i < MANY; i++) wrong += !SetEvent(events[i]);
    for (i = 0; i < MANY; i++) wrong += WaitForSingleObject(events[i], 0) != WAIT_OBJECT_0;
    for (i = 0; i < MANY; i++) wrong += WaitForSingleObject(events[i], 0) != WAIT_TIMEOUT;
    check(!wrong, "each is set, and acquired once");
    for (i = 0; i < MANY; i++) wrong += !CloseHandle(events[i]);
    extra = CreateEventA(NULL, TRUE, TRUE, NULL);
    check(!wrong && extra && !WaitForSingleObject(extra, 0), "and closed");
    CloseHandle(extra);
    free(events);
}

static HANDLE goods, over, locks[3], started;
static volatile LONG sold;

static DWORD WINAPI buy(void *unused)
{
    HANDLE either[2] = { goods, over };

    while (WaitForMultipleObjects(2, either, FALSE, INFINITE) == WAIT_OBJECT_0) InterlockedIncrement(&sold);
    return 0;
}

/* Suspended threads take nothing, and go on afterwards: each unit is sold once. */
static void suspended_threads(void)
{
    HANDLE threads[8];
    int i, round;

    goods = CreateSemaphoreA(NULL, 0, 1000000, NULL);
    over = CreateEventA(NULL, TRUE, FALSE, NULL);
    for (i = 0; i < 8; i++) threads[i] = CreateThread(NULL, 0, buy, NULL, 0, NULL);
    for (round = 0; round < 2000; round++)
    {
        SuspendThread(threads[round % 8]);
        ReleaseSemaphore(goods, 2, NULL);
        ResumeThread(threads[round % 8]);
    }
    while (!WaitForSingleObject(goods, 0)) InterlockedIncrement(&sold);
    Sleep(200); /* who was granted one counts it */
    check(sold == 4000, "4,000 units among eight threads that are suspended all the time: each is sold once");

    for (i = 1; i < 8; i++) SuspendThread(threads[i]);
    ReleaseSemaphore(goods, 1, NULL);
    check(WaitForSingleObject(goods, 0) == WAIT_TIMEOUT || sold == 4000, "the only thread that runs, or nobody, takes a unit");
    for (i = 1; i < 8; i++) ResumeThread(threads[i]);
    SetEvent(over);
    check(WaitForMultipleObjects(8, threads, TRUE, 20000) == WAIT_OBJECT_0, "all end");
    for (i = 0; i < 8; i++) CloseHandle(threads[i]);
}

static DWORD WINAPI take_all(void *unused)
{
    if (started) ReleaseSemaphore(started, 1, NULL);
    while (WaitForMultipleObjects(3, locks, TRUE, INFINITE) != WAIT_FAILED)
    {
        ReleaseMutex(locks[2]);
        ReleaseMutex(locks[1]);
        ReleaseMutex(locks[0]);
    }
    return 0;
}

/* Threads and processes are killed while they take and release: what they owned is abandoned, and nobody is left behind. */
static void killed(const char *self)
{
    char command[600];
    int i, j, wrong = 0;

    for (i = 0; i < 3; i++)
    {
        sprintf(command, "ntux-stress-%d", i);
        locks[i] = CreateMutexA(NULL, FALSE, command);
    }
    started = CreateSemaphoreA(NULL, 0, 1000, NULL);
    sprintf(command, "\"%s\" child", self);
    for (i = 0; i < 40 && !wrong; i++)
    {
        HANDLE threads[2];
        STARTUPINFOA startup = { sizeof(startup) };
        PROCESS_INFORMATION child = { 0 };
        DWORD patience = i % 8 == 0 ? 20000 : 0;

        for (j = 0; j < 2; j++) threads[j] = CreateThread(NULL, 0, take_all, NULL, 0, NULL);
        if (patience) wrong += unlike(CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &child), TRUE, i, "create");
        /* One that is killed before has the locks of Windows' loader. */
        for (j = 0; j < 2; j++) WaitForSingleObject(started, 20000);
        Sleep(patience ? 100 : i % 5);
        for (j = 0; j < 2; j++)
        {
            if (i % 3 == 0) SuspendThread(threads[j]);
            TerminateThread(threads[j], 1);
            wrong += unlike(WaitForSingleObject(threads[j], 20000), WAIT_OBJECT_0, i, "end of a thread");
            CloseHandle(threads[j]);
        }
        if (child.hProcess)
        {
            TerminateProcess(child.hProcess, 1);
            wrong += unlike(WaitForSingleObject(child.hProcess, 20000), WAIT_OBJECT_0, i, "end of a process");
            CloseHandle(child.hProcess);
            CloseHandle(child.hThread);
        }
        wrong += unlike(WaitForMultipleObjects(3, locks, TRUE, 20000) & ~WAIT_ABANDONED, WAIT_OBJECT_0, i, "all mutexes");
        for (j = 0; j < 3; j++) wrong += unlike(ReleaseMutex(locks[j]), TRUE, i, "release");
        /* Threads of a killed process may still be about to end: Wine signals the process first. */
        for (j = 0; j < 3; j++)
        {
            wrong += unlike(WaitForSingleObject(locks[j], patience) & ~WAIT_ABANDONED, WAIT_OBJECT_0, i, "one mutex");
            wrong += unlike(ReleaseMutex(locks[j]), TRUE, i, "release again");
        }
    }
    check(!wrong, "80 threads and 5 processes are killed with mutexes: each time all mutexes can be had again");
}

/* Runs this program as another process: it closes the handle here, or moves it to itself and sets the event. */
static void by_another(const char *self, const char *verb, HANDLE handle)
{
    STARTUPINFOA startup = { sizeof(startup) };
    PROCESS_INFORMATION child = { 0 };
    DWORD ended = 1;
    char command[600];

    sprintf(command, "\"%s\" %s %lu %lu", self, verb, GetCurrentProcessId(), HandleToULong(handle));
    if (CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &child))
    {
        WaitForSingleObject(child.hProcess, 20000);
        GetExitCodeProcess(child.hProcess, &ended);
        CloseHandle(child.hProcess);
        CloseHandle(child.hThread);
    }
    if (ended) check(0, "another process takes the handle");
}

/* That process. */
static int take_handle(const char *verb, DWORD process, DWORD handle)
{
    HANDLE owner = OpenProcess(PROCESS_DUP_HANDLE, FALSE, process), mine;

    if (!DuplicateHandle(owner, ULongToHandle(handle), GetCurrentProcess(), &mine, 0, FALSE,
                         DUPLICATE_CLOSE_SOURCE | DUPLICATE_SAME_ACCESS)) return 1;
    if (!strcmp(verb, "move")) SetEvent(mine);
    CloseHandle(mine);
    return 0;
}

/* A handle that another process closes, and whose number is used again. */
static void closed_from_outside(const char *self)
{
    HANDLE event = CreateEventA(NULL, TRUE, TRUE, NULL), same;
    int i;

    WaitForSingleObject(event, 0);
    by_another(self, "close", event);
    check(WaitForSingleObject(event, 0) == WAIT_FAILED && !SetEvent(event), "a handle that another process closed is no more");
    for (i = 0; i < 3000; i++) CloseHandle(CreateEventA(NULL, TRUE, TRUE, NULL));
    same = CreateEventA(NULL, TRUE, FALSE, NULL);
    check(WaitForSingleObject(same, 0) == WAIT_TIMEOUT, "and the next one is itself");
    CloseHandle(same);
}

static DWORD WINAPI wait_two_seconds(void *event)
{
    return WaitForSingleObject(event, 2000);
}

/* How a wait ends whose thread is suspended, while the event is closed and many others come and go. */
static DWORD closed_in_use(int set)
{
    HANDLE event = CreateEventA(NULL, FALSE, FALSE, NULL), thread = CreateThread(NULL, 0, wait_two_seconds, event, 0, NULL);
    DWORD ended = 0;
    int i;

    Sleep(200);
    SuspendThread(thread);
    if (set) SetEvent(event);
    CloseHandle(event);
    for (i = 0; i < 3000; i++) CloseHandle(CreateEventA(NULL, TRUE, TRUE, NULL));
    ResumeThread(thread);
    WaitForSingleObject(thread, 20000);
    GetExitCodeThread(thread, &ended);
    CloseHandle(thread);
    return ended;
}

static HANDLE either[2];

static DWORD WINAPI wait_for_either(void *unused)
{
    return WaitForMultipleObjects(2, either, FALSE, 20000);
}

/* How a wait ends while another process closes, or moves, the handle of its first object; then the second one is set. */
static DWORD taken_in_use(const char *self, const char *verb)
{
    HANDLE thread;
    DWORD ended = 0;

    either[0] = CreateEventA(NULL, FALSE, FALSE, NULL);
    either[1] = CreateEventA(NULL, FALSE, FALSE, NULL);
    thread = CreateThread(NULL, 0, wait_for_either, NULL, 0, NULL);
    Sleep(200);
    by_another(self, verb, either[0]);
    SetEvent(either[1]);
    WaitForSingleObject(thread, 20000);
    GetExitCodeThread(thread, &ended);
    CloseHandle(thread);
    CloseHandle(either[1]);
    return ended;
}

#define ASKED 2000

static HANDLE into, out_of, tick;
static volatile LONG asked, had, odd;
static OVERLAPPED reading;
static char letter;

static void CALLBACK count_asked(ULONG_PTR unused)
{
    asked++;
}

static void CALLBACK count_byte(DWORD error, DWORD count, OVERLAPPED *request)
{
    if (error) return;
    had += count;
    ReadFileEx(out_of, &letter, 1, request, count_byte);
}

/* Reads, and waits with and without alerts, until it has all bytes and all calls, or for 20 seconds. */
static DWORD WINAPI be_asked(void *unused)
{
    DWORD until = GetTickCount() + 20000, ended;

    ReadFileEx(out_of, &letter, 1, &reading, count_byte);
    while ((asked < ASKED || had < ASKED) && (int)(until - GetTickCount()) > 0)
    {
        ended = WaitForSingleObjectEx(tick, 100, TRUE);
        odd += ended != WAIT_IO_COMPLETION && ended != WAIT_TIMEOUT;
        odd += WaitForSingleObject(tick, 1) != WAIT_TIMEOUT;
    }
    CancelIo(out_of);
    SleepEx(0, TRUE);
    return 0;
}

static DWORD WINAPI write_bytes(void *unused)
{
    DWORD written;
    int i;

    for (i = 0; i < ASKED; i++) WriteFile(into, "b", 1, &written, NULL);
    return 0;
}

static void pipe_of_both(void)
{
    out_of = CreateNamedPipeA("\\\\.\\pipe\\ntux-stress", PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED, PIPE_TYPE_BYTE, 1, 65536, 65536, 0, NULL);
    into = CreateFileA("\\\\.\\pipe\\ntux-stress", GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
}

/* Each read ends by an APC of the system, which queues one of the user; others come meanwhile. None is lost, and no other wait ends for one. */
static void apcs_of_both_kinds(void)
{
    HANDLE threads[2];
    int i;

    pipe_of_both();
    tick = CreateEventA(NULL, FALSE, FALSE, NULL);
    threads[0] = CreateThread(NULL, 0, be_asked, NULL, 0, NULL);
    threads[1] = CreateThread(NULL, 0, write_bytes, NULL, 0, NULL);
    for (i = 0; i < ASKED; i++)
    {
        QueueUserAPC(count_asked, threads[0], 0);
        if (i % 8 == 0) SwitchToThread();
    }
    check(WaitForMultipleObjects(2, threads, TRUE, 30000) == WAIT_OBJECT_0, "a thread that is asked and reads at once ends");
    if (asked != ASKED || had != ASKED || odd) printf("      %ld calls, %ld bytes, %ld odd ends\n", asked, had, odd);
    check(asked == ASKED && had == ASKED && !odd, "it has got all calls and all bytes, and no wait of it ended for another reason");
    for (i = 0; i < 2; i++) CloseHandle(threads[i]);
    CloseHandle(into);
    CloseHandle(out_of);
}

/* Owns a mutex, reads, and waits without an alert. */
static DWORD WINAPI read_and_wait(void *mutex)
{
    WaitForSingleObject(mutex, INFINITE);
    ReadFileEx(out_of, &letter, 1, &reading, count_byte);
    SetEvent(started);
    WaitForSingleObject(tick, INFINITE);
    odd++;
    return 0;
}

static void readers_are_killed(void)
{
    HANDLE mutex = CreateMutexA(NULL, FALSE, NULL), thread;
    int round, wrong = 0;

    odd = 0;
    started = CreateEventA(NULL, FALSE, FALSE, NULL);
    pipe_of_both();
    for (round = 0; round < 60; round++)
    {
        thread = CreateThread(NULL, 0, read_and_wait, mutex, 0, NULL);
        wrong += unlike(WaitForSingleObject(started, 20000), WAIT_OBJECT_0, round, "it waits");
        if (round % 2) Sleep(1);
        TerminateThread(thread, 7);
        wrong += unlike(WaitForSingleObject(thread, 20000), WAIT_OBJECT_0, round, "it ends");
        wrong += unlike(WaitForSingleObject(mutex, 20000), WAIT_ABANDONED, round, "its mutex");
        SetEvent(tick);
        wrong += unlike(WaitForSingleObject(tick, 0), WAIT_OBJECT_0, round, "it takes nothing");
        ReleaseMutex(mutex);
        CloseHandle(thread);
    }
    check(!wrong && !odd, "60 threads that read are killed in their waits: they end, their mutexes are abandoned, and they take nothing");
    CloseHandle(into);
    CloseHandle(out_of);
    CloseHandle(mutex);
}

int main(int argc, char **argv)
{
    if (argc > 3) return take_handle(argv[1], strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    if (argc > 1)
    {
        int i;
        char name[32];

        for (i = 0; i < 3; i++)
        {
            sprintf(name, "ntux-stress-%d", i);
            locks[i] = OpenMutexA(SYNCHRONIZE, FALSE, name);
        }
        return take_all(NULL);
    }
    many_objects();
    suspended_threads();
    killed(argv[0]);
    closed_from_outside(argv[0]);
    check(closed_in_use(0) == WAIT_TIMEOUT, "a wait goes on when its object is closed");
    check(closed_in_use(1) == WAIT_OBJECT_0, "and gets it, if it was signaled before");
    check(taken_in_use(argv[0], "close") == WAIT_OBJECT_0 + 1, "when another process closes the handle, a wait for any goes on, too");
    check(taken_in_use(argv[0], "move") == WAIT_OBJECT_0, "and gets what another process moved to itself and sets");
    apcs_of_both_kinds();
    readers_are_killed();
    printf("%d failures\n", failures);
    return failures;
}
