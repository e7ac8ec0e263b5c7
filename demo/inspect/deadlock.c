/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A Windows program that hangs: two threads lock two things in opposite order. It says which threads these are. Usage: deadlock [SCENE]
 *
 *   mutexes   two mutexes (if nothing is said)
 *   section   a critical section and a mutex
 *   locks     two SRW locks
 *   loader    the loader's lock and a mutex
 *   address   no deadlock: both wait for an address for which nobody wakes them
 *   apc       no deadlock: both wait for an event that nobody sets, or for an APC that nobody queues
 *   sleep     the same without an event: both sleep until an APC is queued */
#define _WIN32_WINNT 0x0600
#include <windows.h>
#include <stdio.h>
#include <string.h>

static HANDLE accounts, journal, never_set, started, go, both_hold_one;
static CRITICAL_SECTION section;
static SRWLOCK locks[2];

/* Looked up: not every compiler's headers and libraries have it. */
static FARPROC find(const WCHAR *library, const char *function)
{
    FARPROC found = GetProcAddress(GetModuleHandleW(library), function);
    if (!found) printf("there is no %s\n", function);
    return found;
}

static void take_accounts(void) { WaitForSingleObject(accounts, INFINITE); }
static void take_journal(void) { WaitForSingleObject(journal, INFINITE); }
static void take_section(void) { EnterCriticalSection(&section); }
static void take_left_lock(void) { AcquireSRWLockExclusive(&locks[0]); }
static void take_right_lock(void) { AcquireSRWLockExclusive(&locks[1]); }
static void take_nothing(void) { }

static void take_loader_lock(void)
{
    typedef LONG(WINAPI *lock_function)(ULONG, ULONG *, ULONG_PTR *);
    FARPROC found = find(L"ntdll.dll", "LdrLockLoaderLock");
    ULONG_PTR cookie;
    if (found) ((lock_function)(void (*)(void))found)(0, NULL, &cookie);
}

static void wait_for_address(void)
{
    typedef BOOL(WINAPI *wait_function)(volatile void *, void *, SIZE_T, DWORD);
    static LONG never, zero;
    FARPROC found = find(L"kernelbase.dll", "WaitOnAddress");
    if (found) ((wait_function)(void (*)(void))found)(&never, &zero, sizeof never, INFINITE);
}

static void wait_for_apc(void)
{
    WaitForSingleObjectEx(never_set, INFINITE, TRUE);
}

static void sleep_for_apc(void)
{
    SleepEx(INFINITE, TRUE);
}

static const struct scene { const char *name; void (*left)(void), (*right)(void); } scenes[] = {
    { "mutexes", take_accounts, take_journal },
    { "section", take_section, take_journal },
    { "locks", take_left_lock, take_right_lock },
    { "loader", take_loader_lock, take_journal },
    { "address", take_nothing, wait_for_address },
    { "apc", take_nothing, wait_for_apc },
    { "sleep", take_nothing, sleep_for_apc },
}, *scene = scenes;

static void lock_both(void (*first)(void), void (*second)(void))
{
    ReleaseSemaphore(started, 1, NULL);
    WaitForSingleObject(go, INFINITE);
    first();
    ReleaseSemaphore(both_hold_one, 1, NULL);
    Sleep(500);
    second();
    printf("not deadlocked\n");
    fflush(stdout);
}

static DWORD WINAPI transfer(void *unused)
{
    lock_both(scene->left, scene->right);
    return (DWORD)(ULONG_PTR)unused;
}

static DWORD WINAPI audit(void *unused)
{
    if (scene->left == take_nothing) lock_both(scene->left, scene->right);
    else lock_both(scene->right, scene->left);
    return (DWORD)(ULONG_PTR)unused;
}

static void name(HANDLE thread, const WCHAR *name)
{
    typedef HRESULT(WINAPI *describe_function)(HANDLE, const WCHAR *);
    FARPROC found = find(L"kernelbase.dll", "SetThreadDescription");
    if (found) ((describe_function)(void (*)(void))found)(thread, name);
}

int main(int argc, char **argv)
{
    HANDLE threads[2];
    DWORD ids[2];
    for (size_t i = 0; argc > 1 && i < sizeof scenes / sizeof *scenes; i++)
        if (!strcmp(scenes[i].name, argv[1])) scene = scenes + i;
    started = CreateSemaphoreW(NULL, 0, 2, NULL), both_hold_one = CreateSemaphoreW(NULL, 0, 2, NULL);
    go = CreateEventW(NULL, TRUE, FALSE, NULL);
    accounts = CreateMutexW(NULL, FALSE, L"accounts");
    journal = CreateMutexW(NULL, FALSE, L"journal");
    never_set = CreateEventW(NULL, FALSE, FALSE, NULL);
    InitializeCriticalSection(&section);
    threads[0] = CreateThread(NULL, 0, transfer, NULL, 0, &ids[0]);
    threads[1] = CreateThread(NULL, 0, audit, NULL, 0, &ids[1]);
    WaitForSingleObject(started, INFINITE);
    WaitForSingleObject(started, INFINITE);
    /* Both run: the system cannot name a thread that it has not started. */
    name(threads[0], L"transfer");
    name(threads[1], L"audit");
    printf("transfer is %lu, audit is %lu\n", ids[0], ids[1]);
    SetEvent(go);
    WaitForSingleObject(both_hold_one, INFINITE);
    WaitForSingleObject(both_hold_one, INFINITE);
    Sleep(1500);
    printf("ready\n");
    fflush(stdout);
    WaitForMultipleObjects(2, threads, TRUE, INFINITE);
    return 0;
}
