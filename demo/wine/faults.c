/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a signal is to Wine: an access violation, and a thread that is suspended. Prints a line for each; exit code = failures. */
#include <windows.h>
#include <stdio.h>

static volatile LONG counted, faults, stop;

static LONG WINAPI repair(EXCEPTION_POINTERS *pointers)
{
    EXCEPTION_RECORD *record = pointers->ExceptionRecord;
    DWORD before;
    if (record->ExceptionCode != EXCEPTION_ACCESS_VIOLATION) return EXCEPTION_CONTINUE_SEARCH;
    faults++;
    VirtualProtect((void *)record->ExceptionInformation[1], 1, PAGE_READWRITE, &before);
    return EXCEPTION_CONTINUE_EXECUTION;
}

static DWORD WINAPI counts(void *unused)
{
    while (!stop) InterlockedIncrement(&counted);
    return (DWORD)(ULONG_PTR)unused;
}

int main(void)
{
    char *page = VirtualAlloc(NULL, 4096, MEM_COMMIT, PAGE_NOACCESS);
    HANDLE thread = CreateThread(NULL, 0, counts, NULL, 0, NULL);
    LONG then, moved = 0, stuck = 0;
    int round, failures;
    AddVectoredExceptionHandler(1, repair);
    *(volatile char *)page = 1;
    for (round = 0; round < 100; round++)
    {
        CONTEXT context = { .ContextFlags = CONTEXT_CONTROL };
        SuspendThread(thread);
        stuck += !GetThreadContext(thread, &context);
        then = counted;
        Sleep(1);
        moved += counted != then;
        ResumeThread(thread);
    }
    then = counted;
    while (counted == then) Sleep(1);
    stop = 1;
    WaitForSingleObject(thread, INFINITE);
    printf("%s: an access violation is the program's own\n", *page == 1 && faults == 1 ? "ok" : "WRONG");
    printf("%s: a suspended thread stands still, and goes on\n", moved == 0 && stuck == 0 ? "ok" : "WRONG");
    failures = (*page != 1 || faults != 1) + (moved != 0 || stuck != 0);
    return failures;
}
