/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the program about named mutexes needs besides, which the compiler includes in front of it. It starts itself again, so its names are
 * those of a session; `run` takes its TestAssert away, and this one, which says where it stands and goes on, is in its place. */
#ifndef SUITE_NAMED_MUTEX_H
#define SUITE_NAMED_MUTEX_H

#include <palsuite.h>

#include <signal.h>
#include <spawn.h>

#define ERROR_INVALID_NAME 123u
#define WAIT_ABANDONED_0 WAIT_ABANDONED

static volatile LONG suite_passed, suite_failed;

static inline void suite_check(int line, bool holds, const char *what)
{
    InterlockedIncrement(holds ? &suite_passed : &suite_failed);
    if (!holds)
        printf("failed %d: %s\n", line, what);
    fflush(stdout);
}

#define TestAssert(expression) suite_check(__LINE__, !!(expression), #expression)

/* Each of the processes says what it has counted. */
static inline void suite_report()
{
    printf("passed %d, failed %d\n", suite_passed, suite_failed);
    fflush(stdout);
}

[[noreturn]] static inline void suite_exit(UINT code)
{
    suite_report();
    ExitProcess(code);
}
#define ExitProcess suite_exit

/* The first process has no arguments, and gives the others its number. */
static inline int suite_initialize(int count, char **arguments)
{
    char session[40];

    snprintf(session, sizeof session, "test-of-ntux-pal-%d", count > 1 ? atoi(arguments[1]) : static_cast<int>(getpid()));
    return !ntw_UseSessionNames(session);
}
#define PAL_Initialize suite_initialize

/* ==== Processes: this program again, with words between spaces for arguments ==== */

struct STARTUPINFO { DWORD cb; };
struct PROCESS_INFORMATION { HANDLE hProcess, hThread; };

static inline BOOL CreateProcessA(const char *, char *line, LPSECURITY_ATTRIBUTES, LPSECURITY_ATTRIBUTES, BOOL, DWORD, void *,
                                  const char *, STARTUPINFO *, PROCESS_INFORMATION *process)
{
    char *arguments[8], *rest;
    size_t count = 0;
    pid_t id;

    /* The first word is in quotes. */
    for (char *word = strtok_r(line, "\" ", &rest); word && count < _countof(arguments) - 1; word = strtok_r(nullptr, "\" ", &rest))
        arguments[count++] = word;
    arguments[count] = nullptr;
    if (posix_spawn(&id, arguments[0], nullptr, nullptr, arguments, environ) != 0)
        return FALSE;
    process->hProcess = OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(id));
    process->hThread = CreateEventA(nullptr, TRUE, FALSE, nullptr);
    return TRUE;
}

/* ==== In place of nopal.cpp ==== */

char *(*test_strcpy)(char *, const char *) = strcpy;
int (*test_strcmp)(const char *, const char *) = strcmp;
size_t (*test_strlen)(const char *) = strlen;
int (*test_sprintf)(char *, const char *, ...) = sprintf;
int (*test_sscanf)(const char *, const char *, ...) = sscanf;

unsigned int test_getpid() { return static_cast<unsigned int>(getpid()); }

int test_kill(unsigned int process)
{
    suite_report();
    return kill(static_cast<pid_t>(process), SIGKILL);
}

/* A name has no file of its own here: whether PAL's would be there is whether a mutex has the name. */
bool TestFileExists(const char *path)
{
    char name[300];
    HANDLE mutex;

    snprintf(name, sizeof name, "Global\\%s", strrchr(path, '/') + 1);
    mutex = OpenMutexA(SYNCHRONIZE, FALSE, name);
    if (mutex)
        CloseHandle(mutex);
    return mutex != nullptr;
}

#endif
