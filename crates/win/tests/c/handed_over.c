/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Handles that one process makes for another. The others are this program with an argument; most of them are servants, which do with a
 * handle what they are asked to do, and say what came of it. */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#if IS_LINUX
static char session[40];
static char *program;
static char **own_arguments;
static HANDLE self;

/* What a servant is to do, and with which handle. */
struct order {
    char what;
    HANDLE handle;
};

struct answer {
    uint64_t result;
    DWORD error;
};

struct servant {
    pid_t process;
    HANDLE handle;
    int orders, answers;
};

static pid_t process_that(const char *does, int in, int out, pid_t other)
{
    char ends[3][20];
    pid_t child;

    sprintf(ends[0], "%d", in);
    sprintf(ends[1], "%d", out);
    sprintf(ends[2], "%d", (int)other);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        execl(program, program, does, session, ends[0], ends[1], ends[2], (char *)NULL);
        _exit(100);
    }
    return child;
}

static void get(int from, void *data, size_t bytes)
{
    IS((long)bytes, read(from, data, bytes));
}

static void give(int to, const void *data, size_t bytes)
{
    IS((long)bytes, write(to, data, bytes));
}

/* A process that takes part, if it is one that serves. */
static struct servant hire(const char *does)
{
    struct servant servant;
    int orders[2], answers[2];
    char ready;

    IS(0, pipe(orders));
    IS(0, pipe(answers));
    /* No other process has these, so an end is an end. */
    IS(0, fcntl(orders[1], F_SETFD, FD_CLOEXEC));
    IS(0, fcntl(answers[0], F_SETFD, FD_CLOEXEC));
    servant.process = process_that(does, orders[0], answers[1], 0);
    close(orders[0]);
    close(answers[1]);
    servant.orders = orders[1];
    servant.answers = answers[0];
    get(servant.answers, &ready, 1);
    servant.handle = OpenProcess(PROCESS_DUP_HANDLE | SYNCHRONIZE, FALSE, (DWORD)servant.process);
    IS(1, servant.handle != NULL);
    return servant;
}

static struct answer ask(struct servant *servant, char what, HANDLE handle)
{
    struct order order;
    struct answer answer;

    memset(&order, 0, sizeof order);
    order.what = what;
    order.handle = handle;
    give(servant->orders, &order, sizeof order);
    get(servant->answers, &answer, sizeof answer);
    return answer;
}

#define SUCCEEDS(expected, servant, what, handle)                    \
    do {                                                             \
        struct answer answer_ = ask(servant, what, handle);          \
        IS(expected, answer_.result);                                \
        IS(0xdeadbeefu, answer_.error);                              \
    } while (0)

#define REFUSED(number, servant, what, handle)                       \
    do {                                                             \
        struct answer answer_ = ask(servant, what, handle);          \
        IS(number, answer_.error);                                   \
    } while (0)

static void dismiss(struct servant *servant, int sign)
{
    int status;

    if (sign != 0)
        kill(servant->process, sign);
    close(servant->orders);
    IS(servant->process, waitpid(servant->process, &status, 0));
    IS(sign, status);
    close(servant->answers);
    IS(TRUE, CloseHandle(servant->handle));
}

/* The handle for a servant; this process keeps its own. */
static HANDLE for_servant(struct servant *servant, HANDLE source, DWORD access, DWORD options)
{
    HANDLE made = NULL;

    WORKS(TRUE, DuplicateHandle(self, source, servant->handle, &made, access, FALSE, options));
    IS(1, made != NULL && (uint64_t)(uintptr_t)made >> 31 != 0);
    return made;
}

static BOOL arm(HANDLE timer)
{
    LARGE_INTEGER due;

    due.QuadPart = -10000; /* 1 ms */
    return SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE);
}

static VOID CALLBACK counts(LPVOID calls, DWORD low, DWORD high)
{
    (void)low, (void)high;
    ++*(int *)calls;
}

/* A call that a timer has queued is taken back through whichever handle. */
static uint64_t calls_of(HANDLE timer)
{
    HANDLE named = OpenWaitableTimerA(TIMER_ALL_ACCESS, FALSE, "timer");
    LARGE_INTEGER due;
    int calls = 0;

    due.QuadPart = -10000;
    IS(TRUE, SetWaitableTimer(timer, &due, 0, counts, &calls, FALSE));
    IS(TRUE, CancelWaitableTimer(named));
    Sleep(20);
    SleepEx(0, TRUE);
    IS(TRUE, CloseHandle(named));
    return (uint64_t)calls;
}

#define EACH 20

static DWORD WINAPI uses_and_closes(LPVOID handle)
{
    DWORD refused = 0;
    int each;

    for (each = 0; each < EACH; each++) {
        refused += !SetEvent((HANDLE)handle);
        refused += !CloseHandle((HANDLE)handle);
    }
    return refused;
}

/* Two threads that have as many handles each, all of one number. Returns how many calls were refused. */
static uint64_t used_by_threads(HANDLE handle)
{
    HANDLE threads[2];
    DWORD refused[2] = {99, 99};
    int each;

    for (each = 0; each < 2; each++)
        threads[each] = start(uses_and_closes, handle);
    for (each = 0; each < 2; each++) {
        IS(WAIT_OBJECT_0, WaitForSingleObject(threads[each], INFINITE));
        IS(TRUE, GetExitCodeThread(threads[each], &refused[each]));
        IS(TRUE, CloseHandle(threads[each]));
    }
    return refused[0] + refused[1];
}

static uint64_t done(char what, HANDLE handle)
{
    HANDLE both[2], own = NULL;
    DWORD flags = 99;
    uint64_t result;

    switch (what) {
    case 's': return (uint64_t)SetEvent(handle);
    case 'p': return WaitForSingleObject(handle, 0);
    case 'w': return WaitForSingleObject(handle, INFINITE);
    case 'c': return (uint64_t)CloseHandle(handle);
    case 'r': return (uint64_t)ReleaseMutex(handle);
    case 'm': return (uint64_t)ReleaseSemaphore(handle, 1, NULL);
    case 't': return (uint64_t)arm(handle);
    case 'k': return calls_of(handle);
    case 'o': return (uint64_t)(uintptr_t)OpenEventA(EVENT_ALL_ACCESS, FALSE, "named");
    case 'i': return GetHandleInformation(handle, &flags) ? flags : 99;
    case 'T': return used_by_threads(handle);
    case 'x': return (uint64_t)execv(program, own_arguments);
    case 'P':
        flags = HANDLE_FLAG_PROTECT_FROM_CLOSE;
        return (uint64_t)SetHandleInformation(handle, flags, flags);
    case 'd':
        DuplicateHandle(self, handle, self, &own, 0, FALSE, DUPLICATE_SAME_ACCESS);
        return (uint64_t)(uintptr_t)own;
    case 'a':
        own = CreateEventA(NULL, FALSE, TRUE, NULL);
        SetLastError(0xdeadbeefu);
        both[0] = own;
        both[1] = handle;
        result = WaitForMultipleObjects(2, both, TRUE, INFINITE);
        CloseHandle(own);
        return result;
    default: return 100;
    }
}

static int serve(int orders, int answers)
{
    struct order order;
    struct answer answer;

    give(answers, "", 1);
    while (read(orders, &order, sizeof order) == (long)sizeof order) {
        memset(&answer, 0, sizeof answer);
        SetLastError(0xdeadbeefu);
        answer.result = done(order.what, order.handle);
        answer.error = GetLastError();
        give(answers, &answer, sizeof answer);
    }
    return failures;
}

/* Makes one of each kind for another process, tells its own parent, and is killed. */
static void give_everything(int out, pid_t other)
{
    HANDLE to = OpenProcess(PROCESS_DUP_HANDLE, FALSE, (DWORD)other), own[4], made[4];
    int each;

    own[0] = CreateEventA(NULL, FALSE, FALSE, NULL);
    own[1] = CreateMutexA(NULL, FALSE, NULL);
    own[2] = CreateSemaphoreA(NULL, 0, 1, NULL);
    own[3] = CreateWaitableTimerA(NULL, TRUE, NULL);
    for (each = 0; each < 4; each++) {
        WORKS(TRUE, DuplicateHandle(self, own[each], to, &made[each], 0, FALSE,
                                    DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE));
        FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle(own[each]));
    }
    give(out, made, sizeof made);
    if (failures == 0)
        raise(SIGKILL);
}

static void they_outlive_the_giver(void)
{
    struct servant servant = hire("serve");
    HANDLE given[4];
    int pipes[2], status;
    pid_t giver;

    IS(0, pipe(pipes));
    giver = process_that("give", 0, pipes[1], servant.process);
    get(pipes[0], given, sizeof given);
    IS(giver, waitpid(giver, &status, 0));
    IS(PLANT(SIGKILL, 0), status);

    SUCCEEDS(WAIT_TIMEOUT, &servant, 'p', given[0]);
    SUCCEEDS(TRUE, &servant, 's', given[0]);
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'w', given[0]);
    REFUSED(ERROR_INVALID_HANDLE, &servant, 'r', given[0]);
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'w', given[1]);
    SUCCEEDS(TRUE, &servant, 'r', given[1]);
    REFUSED(ERROR_NOT_OWNER, &servant, 'r', given[1]);
    SUCCEEDS(TRUE, &servant, 'm', given[2]);
    REFUSED(ERROR_TOO_MANY_POSTS, &servant, 'm', given[2]);
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'a', given[2]);
    SUCCEEDS(WAIT_TIMEOUT, &servant, 'p', given[2]);
    SUCCEEDS(TRUE, &servant, 't', given[3]);
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'w', given[3]);
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'w', given[3]);
    SUCCEEDS(TRUE, &servant, 'c', given[0]);
    SUCCEEDS(TRUE, &servant, 'c', given[1]);
    REFUSED(ERROR_INVALID_HANDLE, &servant, 's', given[0]);
    REFUSED(ERROR_INVALID_HANDLE, &servant, 'p', given[1]);
    REFUSED(ERROR_INVALID_HANDLE, &servant, 'c', given[1]);
    dismiss(&servant, 0);
    close(pipes[0]);
    close(pipes[1]);
}

/* By its name, which ends with it. */
static BOOL is_there(void)
{
    HANDLE event = OpenEventA(SYNCHRONIZE, FALSE, "named");

    if (event == NULL) {
        IS(ERROR_FILE_NOT_FOUND, GetLastError());
        return FALSE;
    }
    return CloseHandle(event);
}

static void an_object_ends_with_the_last_handle_of_all(void)
{
    struct servant servant = hire("serve"), killed = hire("serve");
    HANDLE event, first, second, own;
    int each, round;

    /* Used, and closed. */
    event = CreateEventA(NULL, TRUE, FALSE, "named");
    first = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS);
    IS(TRUE, CloseHandle(event));
    IS(TRUE, is_there());
    SUCCEEDS(TRUE, &servant, 's', first);
    IS(TRUE, is_there());
    SUCCEEDS(TRUE, &servant, 'c', first);
    IS(FALSE, is_there());
    /* Closed without having been used. */
    event = CreateEventA(NULL, TRUE, FALSE, "named");
    first = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE);
    IS(TRUE, is_there());
    SUCCEEDS(TRUE, &servant, 'c', first);
    IS(FALSE, is_there());
    /* Twice the same: two handles, and two closes. */
    event = CreateEventA(NULL, TRUE, FALSE, "named");
    first = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS);
    second = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS);
    IS(1, first == second);
    SUCCEEDS(TRUE, &servant, 's', first);
    SUCCEEDS(TRUE, &servant, 'c', first);
    IS(TRUE, CloseHandle(event));
    IS(TRUE, is_there());
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'p', second);
    SUCCEEDS(TRUE, &servant, 'c', second);
    REFUSED(ERROR_INVALID_HANDLE, &servant, 'c', second);
    IS(FALSE, is_there());
    /* Often, and by threads at the same time. */
    for (round = 0; round < 50; round++) {
        event = CreateEventA(NULL, TRUE, FALSE, "named");
        for (each = 0; each < 2 * EACH; each++)
            first = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS);
        IS(TRUE, CloseHandle(event));
        SUCCEEDS(0, &servant, 'T', first);
        REFUSED(ERROR_INVALID_HANDLE, &servant, 'c', first);
        IS(FALSE, is_there());
    }
    /* Beside a handle of the other process's own, and a duplicate that it has made. */
    event = CreateEventA(NULL, TRUE, FALSE, "named");
    own = (HANDLE)(uintptr_t)ask(&servant, 'o', NULL).result;
    first = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE);
    SUCCEEDS(TRUE, &servant, 's', first);
    SUCCEEDS(TRUE, &servant, 'c', own);
    second = (HANDLE)(uintptr_t)ask(&servant, 'd', first).result;
    IS(0, (uint64_t)(uintptr_t)second >> 31);
    SUCCEEDS(TRUE, &servant, 'c', first);
    REFUSED(ERROR_INVALID_HANDLE, &servant, 's', first);
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'p', second);
    IS(TRUE, is_there());
    own = (HANDLE)(uintptr_t)ask(&servant, 'o', NULL).result;
    REFUSED(ERROR_INVALID_HANDLE, &servant, 's', first);
    SUCCEEDS(TRUE, &servant, 'c', second);
    SUCCEEDS(TRUE, &servant, 'c', own);
    IS(FALSE, is_there());
    /* A process that is killed has no handles any more, also those that it never used. */
    event = CreateEventA(NULL, TRUE, FALSE, "named");
    first = for_servant(&killed, event, 0, DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE);
    IS(TRUE, is_there());
    dismiss(&killed, SIGKILL);
    IS(FALSE, is_there());
    dismiss(&servant, 0);
}

static void they_may_what_was_granted(void)
{
    struct servant servant = hire("serve");
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, NULL), waits, sets, inherits = NULL;

    waits = for_servant(&servant, event, SYNCHRONIZE, 0);
    sets = for_servant(&servant, event, EVENT_MODIFY_STATE, 0);
    WORKS(TRUE, DuplicateHandle(self, event, servant.handle, &inherits, SYNCHRONIZE, TRUE, 0));
    IS(1, waits != sets && waits != inherits);
    REFUSED(ERROR_ACCESS_DENIED, &servant, 's', waits);
    SUCCEEDS(TRUE, &servant, 's', sets);
    REFUSED(ERROR_ACCESS_DENIED, &servant, 'p', sets);
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'p', waits);
    SUCCEEDS(0, &servant, 'i', waits);
    SUCCEEDS(HANDLE_FLAG_INHERIT, &servant, 'i', inherits);
    SUCCEEDS(TRUE, &servant, 'P', inherits);
    REFUSED(ERROR_INVALID_HANDLE, &servant, 'c', inherits);
    SUCCEEDS(HANDLE_FLAG_INHERIT | HANDLE_FLAG_PROTECT_FROM_CLOSE, &servant, 'i', inherits);
    IS(TRUE, CloseHandle(event));
    dismiss(&servant, 0);
}

static void they_are_shared(void)
{
    struct servant servant = hire("serve");
    HANDLE event = CreateEventA(NULL, FALSE, FALSE, NULL), mutex = CreateMutexA(NULL, FALSE, NULL);
    HANDLE timer = CreateWaitableTimerA(NULL, FALSE, "timer"), given;
    struct order order;
    struct answer answer;

    given = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS);
    memset(&order, 0, sizeof order);
    order.what = 'w';
    order.handle = given;
    give(servant.orders, &order, sizeof order);
    a_while();
    IS(TRUE, SetEvent(event));
    get(servant.answers, &answer, sizeof answer);
    IS(WAIT_OBJECT_0, answer.result);
    IS(WAIT_TIMEOUT, WaitForSingleObject(event, 0));
    SUCCEEDS(TRUE, &servant, 's', given);
    IS(WAIT_OBJECT_0, WaitForSingleObject(event, INFINITE));
    given = for_servant(&servant, timer, 0, DUPLICATE_SAME_ACCESS);
    SUCCEEDS(0, &servant, 'k', given);
    IS(TRUE, CloseHandle(timer));
    given = for_servant(&servant, mutex, 0, DUPLICATE_SAME_ACCESS);
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'w', given);
    IS(WAIT_TIMEOUT, WaitForSingleObject(mutex, 0));
    dismiss(&servant, SIGKILL);
    IS(WAIT_ABANDONED_0, WaitForSingleObject(mutex, INFINITE));
    IS(TRUE, ReleaseMutex(mutex));
    IS(TRUE, CloseHandle(mutex));
    IS(TRUE, CloseHandle(event));
}

static void what_cannot_be_given(void)
{
    struct servant servant = hire("serve"), stranger = hire("stay");
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, NULL), thread = GetCurrentThread(), given, made = NULL;

    given = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS);
    /* To others. */
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(given));
    FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle(given));
    FAILS(ERROR_INVALID_HANDLE, WAIT_FAILED, WaitForSingleObject(given, 0));
    /* Another object, or another generation of it. */
    REFUSED(ERROR_INVALID_HANDLE, &servant, 's', (HANDLE)((uintptr_t)given + 4));
    REFUSED(ERROR_INVALID_HANDLE, &servant, 's', (HANDLE)((uintptr_t)given + ((uintptr_t)1 << 26)));
    /* Without rights. */
    REFUSED(ERROR_ACCESS_DENIED, &servant, 's', for_servant(&servant, event, 0, 0));
    /* In part, which is none, or one of the table. */
    REFUSED(ERROR_INVALID_HANDLE, &servant, 's', (HANDLE)(uintptr_t)(uint32_t)(uintptr_t)given);
    SUCCEEDS(TRUE, &servant, 's', (HANDLE)((uintptr_t)given | 3));
    IS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    /* Sources. */
    FAILS(ERROR_ACCESS_DENIED, FALSE, DuplicateHandle(self, event, servant.handle, &made, 4, FALSE, 0));
    FAILS(ERROR_INVALID_HANDLE, FALSE,
          DuplicateHandle(self, given, servant.handle, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE,
          DuplicateHandle(self, thread, servant.handle, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE,
          DuplicateHandle(self, servant.handle, servant.handle, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE,
          DuplicateHandle(servant.handle, event, self, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    /* A process that has nothing to do with the session, although it lives; the handle stays. */
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE,
          DuplicateHandle(self, event, stranger.handle, &made, 0, FALSE,
                          DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    dismiss(&stranger, 0);
    /* One that has ended, whether or not anybody has waited for it. Its source is closed as ever. */
    kill(servant.process, SIGKILL);
    IS(WAIT_OBJECT_0, WaitForSingleObject(servant.handle, INFINITE));
    FAILS(ERROR_ACCESS_DENIED, FALSE,
          DuplicateHandle(self, event, servant.handle, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    IS(1, made == NULL);
    FAILS(ERROR_ACCESS_DENIED, FALSE,
          DuplicateHandle(self, event, servant.handle, NULL, 0, FALSE,
                          DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE));
    FAILS(ERROR_INVALID_HANDLE, FALSE, CloseHandle(event));
    FAILS(ERROR_INVALID_HANDLE, FALSE,
          DuplicateHandle(self, event, servant.handle, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    dismiss(&servant, SIGKILL);
}

/* A program that the other process executes has what was made for that, used or not. */
static void to_a_later_program(void)
{
    struct servant servant = hire("serve");
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, NULL), mutex = CreateMutexA(NULL, TRUE, NULL), used, unused;
    struct order order;
    char ready;

    used = for_servant(&servant, event, 0, DUPLICATE_SAME_ACCESS);
    unused = for_servant(&servant, mutex, 0, DUPLICATE_SAME_ACCESS);
    SUCCEEDS(WAIT_TIMEOUT, &servant, 'p', used);
    memset(&order, 0, sizeof order);
    order.what = 'x';
    give(servant.orders, &order, sizeof order);
    get(servant.answers, &ready, 1);
    SUCCEEDS(TRUE, &servant, 's', used);
    IS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    SUCCEEDS(WAIT_TIMEOUT, &servant, 'p', unused);
    IS(TRUE, ReleaseMutex(mutex));
    SUCCEEDS(WAIT_OBJECT_0, &servant, 'p', unused);
    SUCCEEDS(TRUE, &servant, 'c', unused);
    IS(WAIT_TIMEOUT, WaitForSingleObject(mutex, 0));
    IS(TRUE, CloseHandle(mutex));
    IS(TRUE, CloseHandle(event));
    dismiss(&servant, 0);
}

/* Takes part once it has said so, and has none of its parent's. */
static void to_a_forked_child(void)
{
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, NULL), process, made = NULL;
    int down[2], up[2], status;
    char byte;
    pid_t child;

    IS(0, pipe(down));
    IS(0, pipe(up));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        failures = 0;
        get(down[0], &byte, 1);
        WORKS(TRUE, ntw_UseSessionNames(session));
        give(up[1], "", 1);
        get(down[0], &made, sizeof made);
        IS(TRUE, SetEvent(made));
        IS(TRUE, CloseHandle(made));
        FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(made));
        _exit(failures);
    }
    process = OpenProcess(PROCESS_DUP_HANDLE, FALSE, (DWORD)child);
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE,
          DuplicateHandle(self, event, process, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    give(down[1], "", 1);
    get(up[0], &byte, 1);
    WORKS(TRUE, DuplicateHandle(self, event, process, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    give(down[1], &made, sizeof made);
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    IS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    IS(TRUE, CloseHandle(process));
    IS(TRUE, CloseHandle(event));
}

/* What a process does that was started so. */
static int started(char **arguments)
{
    int in = atoi(arguments[3]), out = atoi(arguments[4]);
    struct order order;

    strcpy(session, arguments[2]);
    if (strcmp(arguments[1], "stay") == 0) {
        give(out, "", 1);
        return read(in, &order, sizeof order) == 0 ? 0 : 1;
    }
    WORKS(TRUE, ntw_UseSessionNames(session));
    if (strcmp(arguments[1], "give") == 0) {
        give_everything(out, atoi(arguments[5]));
        return failures;
    }
    return serve(in, out);
}

int main(int count, char **arguments)
{
    alarm(300);
    program = arguments[0];
    self = GetCurrentProcess();
    own_arguments = arguments;
    if (count > 1)
        return started(arguments);
    sprintf(session, "test-of-ntux-win-%d", (int)getpid());
    WORKS(TRUE, ntw_UseSessionNames(session));
    they_outlive_the_giver();
    an_object_ends_with_the_last_handle_of_all();
    they_may_what_was_granted();
    they_are_shared();
    what_cannot_be_given();
    to_a_later_program();
    to_a_forked_child();
    return report();
}
#else
/* Elsewhere there are neither sessions nor handles of other processes (sessions.c, processes.c), so that nothing can be handed over. */
int main(void)
{
    HANDLE self = GetCurrentProcess(), event, made = NULL;

    alarm(300);
    event = CreateEventA(NULL, FALSE, FALSE, NULL);
    /* A number as another process would make it for this one names nothing. */
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent((HANDLE)((uintptr_t)7 << 60)));
    FAILS(PLANT(ERROR_INVALID_HANDLE, 0), FALSE, CloseHandle((HANDLE)((uintptr_t)1 << 62 | (uintptr_t)1 << 26)));
    FAILS(ERROR_INVALID_HANDLE, FALSE, DuplicateHandle(self, event, event, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    WORKS(TRUE, DuplicateHandle(self, event, self, &made, 0, FALSE, DUPLICATE_SAME_ACCESS));
    WORKS(TRUE, SetEvent(made));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    IS(TRUE, CloseHandle(made));
    IS(TRUE, CloseHandle(event));
    return report();
}
#endif
