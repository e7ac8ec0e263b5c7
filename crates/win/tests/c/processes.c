/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Other processes by handles: their ends and exit codes. */
#include "check.h"
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#if IS_LINUX
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#define ACCESS (SYNCHRONIZE | PROCESS_QUERY_INFORMATION)

#if IS_LINUX
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* One that lives until somebody writes to it, then exits with that. */
struct child { pid_t pid; int pipe; HANDLE handle; };

static struct child begin(void)
{
    struct child child;
    int ends[2];

    IS(0, pipe(ends));
    child.pid = fork();
    if (child.pid == 0) {
        unsigned char code = 0;

        close(ends[1]);
        _exit(read(ends[0], &code, 1) == 1 ? code : 99);
    }
    close(ends[0]);
    child.pipe = ends[1];
    child.handle = OpenProcess(ACCESS, FALSE, (DWORD)child.pid);
    IS(1, child.handle != NULL);
    IS(child.pid, GetProcessId(child.handle));
    return child;
}

static void end(struct child *child, unsigned char code)
{
    IS(1, write(child->pipe, &code, 1));
}

static DWORD exit_code(HANDLE process)
{
    DWORD code = 0xdeadbeef;

    WORKS(TRUE, GetExitCodeProcess(process, &code));
    return code;
}

static void reap(struct child *child)
{
    IS(child->pid, waitpid(child->pid, NULL, 0));
    close(child->pipe);
    IS(TRUE, CloseHandle(child->handle));
}

static void one(void)
{
    struct child child = begin();

    IS(1, count_threads());
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(child.handle, 0));
    /* No thread waits for it yet. */
    IS(1, count_threads());
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(child.handle, 20));
    IS(STILL_ACTIVE, exit_code(child.handle));
    end(&child, 7);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(child.handle, INFINITE));
    IS(PLANT(7, 8), exit_code(child.handle));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(child.handle, 0));
    reap(&child);
}

static void killed(void)
{
    struct child child = begin();

    IS(0, kill(child.pid, SIGKILL));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(child.handle, INFINITE));
    IS(child.pid, waitpid(child.pid, NULL, 0));
    /* What was learnt by the wait is not lost. */
    IS(128 + SIGKILL, exit_code(child.handle));
    close(child.pipe);
    FAILS(ERROR_INVALID_PARAMETER, 0, OpenProcess(ACCESS, FALSE, (DWORD)child.pid) != NULL);
    IS(child.pid, GetProcessId(child.handle));
    IS(TRUE, CloseHandle(child.handle));
}

static DWORD WINAPI wait_for(LPVOID process)
{
    return WaitForSingleObject(process, INFINITE);
}

static DWORD WINAPI end_soon(LPVOID child)
{
    a_while();
    end((struct child *)child, 3);
    return 0;
}

static void with_others(void)
{
    struct child first = begin(), second = begin();
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL), both[3], thread, waiting[4];
    DWORD code;
    int i;

    both[0] = first.handle;
    both[1] = event;
    both[2] = second.handle;
    for (i = 0; i < 4; i++)
        waiting[i] = start(wait_for, first.handle);
    WORKS(WAIT_TIMEOUT, WaitForMultipleObjects(3, both, FALSE, 10));
    thread = start(end_soon, &second);
    WORKS(WAIT_OBJECT_0 + 2, WaitForMultipleObjects(3, both, FALSE, INFINITE));
    join(thread);
    thread = start(end_soon, &first);
    IS(TRUE, SetEvent(event));
    WORKS(WAIT_OBJECT_0, WaitForMultipleObjects(3, both, TRUE, INFINITE));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(event, 0));
    join(thread);
    for (i = 0; i < 4; i++) {
        IS(WAIT_OBJECT_0, WaitForSingleObject(waiting[i], INFINITE));
        IS(TRUE, GetExitCodeThread(waiting[i], &code));
        IS(WAIT_OBJECT_0, code);
        IS(TRUE, CloseHandle(waiting[i]));
    }
    IS(TRUE, SetEvent(event));
    WORKS(WAIT_OBJECT_0, SignalObjectAndWait(event, first.handle, INFINITE, FALSE));
    reap(&first);
    reap(&second);
    IS(TRUE, CloseHandle(event));
}

/* A handle that is closed while somebody waits, and one that a child has from its parent. */
static void kept(void)
{
    struct child child = begin();
    HANDLE copy, thread = start(wait_for, child.handle);
    int status = -1;
    pid_t fork_child;

    IS(TRUE, DuplicateHandle(GetCurrentProcess(), child.handle, GetCurrentProcess(), &copy, 0, FALSE, DUPLICATE_SAME_ACCESS));
    a_while();
    IS(TRUE, CloseHandle(child.handle));
    child.handle = copy;
    fork_child = fork();
    if (fork_child == 0) {
        failures = 0;
        WORKS(WAIT_TIMEOUT, WaitForSingleObject(copy, 10));
        end(&child, 5);
        WORKS(WAIT_OBJECT_0, WaitForSingleObject(copy, INFINITE));
        _exit(failures != 0);
    }
    IS(fork_child, waitpid(fork_child, &status, 0));
    IS(0, status);
    join(thread);
    IS(5, exit_code(child.handle));
    reap(&child);
}

static void errors(void)
{
    struct child child = begin();
    HANDLE limited, copy;

    FAILS(ERROR_INVALID_PARAMETER, 0, OpenProcess(ACCESS, FALSE, 0) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, OpenProcess(ACCESS, FALSE, 0xfffffff0u) != NULL);
    FAILS(ERROR_ACCESS_DENIED, 0, OpenProcess(0, FALSE, (DWORD)child.pid) != NULL);
    FAILS(ERROR_INVALID_HANDLE, 0, GetProcessId(GetCurrentThread()));
    FAILS(ERROR_INVALID_HANDLE, FALSE, SetEvent(child.handle));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE,
          DuplicateHandle(child.handle, GetCurrentThread(), GetCurrentProcess(), &copy, 0, FALSE, DUPLICATE_SAME_ACCESS));
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, FALSE,
          DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), child.handle, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS));
    limited = OpenProcess(PROCESS_QUERY_INFORMATION, FALSE, (DWORD)child.pid);
    FAILS(ERROR_ACCESS_DENIED, WAIT_FAILED, WaitForSingleObject(limited, 0));
    IS(STILL_ACTIVE, exit_code(limited));
    IS(TRUE, CloseHandle(limited));
    end(&child, 0);
    IS(WAIT_OBJECT_0, WaitForSingleObject(child.handle, INFINITE));
    IS(0, exit_code(child.handle));
    reap(&child);
}

/* A filter that forbids the call makes it refused, also one that kills who makes it. */
static void forbidden(unsigned answer)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        struct sock_filter rules[4];
        struct sock_fprog program;
        struct sock_filter load = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        struct sock_filter is = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1);
        struct sock_filter forbid = BPF_STMT(BPF_RET | BPF_K, 0);
        struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

        forbid.k = answer;
        rules[0] = load;
        rules[1] = is;
        rules[2] = forbid;
        rules[3] = allow;
        program.len = 4;
        program.filter = rules;
        failures = 0;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
            _exit(77);
        FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, OpenProcess(ACCESS, FALSE, (DWORD)getppid()) != NULL);
        /* Of this process there is one. */
        IS(1, OpenProcess(ACCESS, FALSE, GetCurrentProcessId()) != NULL);
        _exit(failures != 0);
    }
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
}
#else
/* Where no descriptor names a process, there are handles of this one alone. */
static void of_this_process_alone(void)
{
    HANDLE own;
    DWORD code = 0;
    pid_t child = fork();

    if (child == 0) {
        pause();
        _exit(0);
    }
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, OpenProcess(ACCESS, FALSE, (DWORD)child) != NULL);
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, OpenProcess(PROCESS_DUP_HANDLE, TRUE, (DWORD)child) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, OpenProcess(ACCESS, FALSE, 0) != NULL);
    FAILS(ERROR_ACCESS_DENIED, 0, OpenProcess(0, FALSE, (DWORD)child) != NULL);
    WORKS(1, (own = OpenProcess(ACCESS, FALSE, GetCurrentProcessId())) != NULL);
    WORKS(getpid(), GetProcessId(own));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(own, 20));
    WORKS(TRUE, GetExitCodeProcess(own, &code));
    IS(PLANT(STILL_ACTIVE, 0), code);
    IS(TRUE, CloseHandle(own));
    IS(0, kill(child, SIGKILL));
    IS(child, waitpid(child, NULL, 0));
}
#endif

int main(void)
{
    alarm(300);
#if IS_LINUX
    /* First: what a process has found out once, it does not ask again. */
    forbidden(SECCOMP_RET_KILL_PROCESS);
    one();
    killed();
    with_others();
    kept();
    errors();
    forbidden(SECCOMP_RET_ERRNO | 1);
    forbidden(SECCOMP_RET_ERRNO | 38);
#else
    of_this_process_alone();
#endif
    return report();
}
