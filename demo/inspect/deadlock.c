/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A Windows program that hangs: two threads lock two mutexes in opposite order. It says which threads these are. */
#include <windows.h>
#include <stdio.h>

static HANDLE accounts, journal, both_hold_one;

static void lock_both(HANDLE first, HANDLE second)
{
    WaitForSingleObject(first, INFINITE);
    ReleaseSemaphore(both_hold_one, 1, NULL);
    Sleep(500);
    WaitForSingleObject(second, INFINITE);
    printf("not deadlocked\n");
    fflush(stdout);
}

static DWORD WINAPI transfer(void *unused)
{
    lock_both(accounts, journal);
    return (DWORD)(ULONG_PTR)unused;
}

static DWORD WINAPI audit(void *unused)
{
    lock_both(journal, accounts);
    return (DWORD)(ULONG_PTR)unused;
}

/* Looked up: not every compiler's headers have it. */
static void name(HANDLE thread, const WCHAR *name)
{
    typedef HRESULT(WINAPI *describe_function)(HANDLE, const WCHAR *);
    FARPROC found = GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "SetThreadDescription");
    if (found) ((describe_function)(void (*)(void))found)(thread, name);
}

int main(void)
{
    HANDLE threads[2];
    DWORD ids[2];
    both_hold_one = CreateSemaphoreW(NULL, 0, 2, NULL);
    accounts = CreateMutexW(NULL, FALSE, L"accounts");
    journal = CreateMutexW(NULL, FALSE, L"journal");
    threads[0] = CreateThread(NULL, 0, transfer, NULL, 0, &ids[0]);
    threads[1] = CreateThread(NULL, 0, audit, NULL, 0, &ids[1]);
    WaitForSingleObject(both_hold_one, INFINITE);
    WaitForSingleObject(both_hold_one, INFINITE);
    /* Both run: the system cannot name a thread that it has not started. */
    name(threads[0], L"transfer");
    name(threads[1], L"audit");
    Sleep(1500);
    printf("transfer is %lu, audit is %lu\nready\n", ids[0], ids[1]);
    fflush(stdout);
    WaitForMultipleObjects(2, threads, TRUE, INFINITE);
    return 0;
}
