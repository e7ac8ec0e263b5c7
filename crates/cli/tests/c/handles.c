/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that wait for what only their program knows: another thread's end, and objects with names of this process alone. It says "begun",
 * and starts short threads whose ends it waits for until it is killed. */
#define _GNU_SOURCE
#define NTUX_WIN32_NAMES
#include <ntux/win/synchapi.h>
#include <ntux/win/threadapi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static HANDLE journal, tick;

static void *named(const char *name, void *(*work)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, argument) || pthread_setname_np(thread, name))
        exit(2);
    return NULL;
}

static void *wait_for(void *object)
{
    WaitForSingleObject(object, INFINITE);
    return NULL;
}

static DWORD work(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "worker");
    WaitForSingleObject(journal, INFINITE);
    return 0;
}

static DWORD short_work(void *unused)
{
    (void)unused;
    WaitForSingleObject(tick, INFINITE);
    return 0;
}

int main(void)
{
    /* Where a process may trace its children only, everybody may trace this one. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    ntw_UseProcessNames(TRUE);
    journal = CreateEventW(NULL, TRUE, FALSE, (const WCHAR[]){ 'G', 'l', 'o', 'b', 'a', 'l', '\\', 0xfc, 0 });
    tick = CreateEventA(NULL, FALSE, FALSE, "tick");
    CloseHandle(CreateMutexA(NULL, FALSE, "closed"));
    HANDLE nameless = CreateSemaphoreA(NULL, 0, 1, NULL);
    HANDLE worker = CreateThread(NULL, 0, work, NULL, 0, NULL);
    HANDLE unbegun = CreateThread(NULL, 0, work, NULL, CREATE_SUSPENDED, NULL);
    named("joins", wait_for, worker);
    named("too-early", wait_for, unbegun);
    named("counts", wait_for, nameless);
    puts("begun");
    fflush(stdout);
    for (;;) {
        HANDLE thread = CreateThread(NULL, 0, short_work, NULL, 0, NULL);
        Sleep(10);
        SetEvent(tick);
        WaitForSingleObject(thread, INFINITE);
        CloseHandle(thread);
    }
}
