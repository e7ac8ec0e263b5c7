/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "check.h"

int main(void)
{
    HANDLE semaphore, reader;
    LONG previous = 77;

    alarm(300);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateSemaphore(NULL, 0, 0, NULL) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateSemaphore(NULL, 2, 1, NULL) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateSemaphore(NULL, -1, 1, NULL) != NULL);
    FAILS(0, 1, (semaphore = CreateSemaphore(NULL, 1, 3, NULL)) != NULL);
    WORKS(TRUE, ReleaseSemaphore(semaphore, 2, &previous));
    IS(PLANT(1, 2), previous);
    previous = 77;
    FAILS(ERROR_TOO_MANY_POSTS, FALSE, ReleaseSemaphore(semaphore, 1, &previous));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, ReleaseSemaphore(semaphore, 0, &previous));
    FAILS(ERROR_INVALID_PARAMETER, FALSE, ReleaseSemaphore(semaphore, -1, &previous));
    IS(77, previous);
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(semaphore, 0));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(semaphore, INFINITE));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(semaphore, 10));
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(semaphore, 1));
    WORKS(TRUE, ReleaseSemaphore(semaphore, 1, NULL));
    WORKS(TRUE, DuplicateHandle(GetCurrentProcess(), semaphore, GetCurrentProcess(), &reader, SYNCHRONIZE, FALSE, 0));
    FAILS(ERROR_ACCESS_DENIED, FALSE, ReleaseSemaphore(reader, 1, NULL));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(reader, 0));
    IS(TRUE, CloseHandle(reader));
    IS(TRUE, CloseHandle(semaphore));
    FAILS(ERROR_INVALID_HANDLE, FALSE, ReleaseSemaphore(semaphore, 1, NULL));
    semaphore = CreateSemaphoreExA(NULL, 0x7fffffff, 0x7fffffff, NULL, 0, SEMAPHORE_ALL_ACCESS);
    FAILS(ERROR_TOO_MANY_POSTS, FALSE, ReleaseSemaphore(semaphore, 0x7fffffff, NULL));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(semaphore, 0));
    IS(TRUE, CloseHandle(semaphore));
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateSemaphoreExA(NULL, 0, 1, NULL, 1, SEMAPHORE_ALL_ACCESS) != NULL);
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateSemaphoreExW(NULL, 0, 1, NULL, 1, SEMAPHORE_ALL_ACCESS) != NULL);
    return report();
}
