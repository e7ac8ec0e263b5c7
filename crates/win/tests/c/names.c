/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names, which are refused until the program has said that they are for itself alone. */
#include "check.h"
#include <string.h>

int main(void)
{
    static const WCHAR wide[] = { 'b', 'e', 'l', 'l', 0 };
    char long_name[300];
    HANDLE event, second, mutex;

    alarm(300);
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, CreateMutexA(NULL, TRUE, "bell") != NULL);
    FAILS(ERROR_CALL_NOT_IMPLEMENTED, 0, OpenMutexA(SYNCHRONIZE, FALSE, "bell") != NULL);
    ntw_UseProcessNames(TRUE);
    FAILS(ERROR_FILE_NOT_FOUND, 0, OpenEventA(SYNCHRONIZE, FALSE, "bell") != NULL);
    FAILS(0, 1, (event = CreateEventA(NULL, TRUE, FALSE, "bell")) != NULL);
    FAILS(PLANT(ERROR_ALREADY_EXISTS, 0), 1, (second = CreateEventW(NULL, FALSE, TRUE, wide)) != NULL);
    /* The second has what the first was created with. */
    WORKS(WAIT_TIMEOUT, WaitForSingleObject(second, 0));
    WORKS(TRUE, SetEvent(second));
    WORKS(WAIT_OBJECT_0, WaitForSingleObject(event, 0));
    FAILS(ERROR_INVALID_HANDLE, 0, CreateMutexA(NULL, TRUE, "bell") != NULL);
    FAILS(ERROR_INVALID_HANDLE, 0, OpenSemaphoreA(SYNCHRONIZE, FALSE, "bell") != NULL);
    FAILS(ERROR_FILE_NOT_FOUND, 0, OpenEventA(SYNCHRONIZE, FALSE, "BELL") != NULL);
    FAILS(ERROR_FILE_NOT_FOUND, 0, OpenEventA(SYNCHRONIZE, FALSE, "Global\\bell") != NULL);
    FAILS(ERROR_ACCESS_DENIED, 0, OpenEventA(0, FALSE, "bell") != NULL);
    FAILS(ERROR_ACCESS_DENIED, 0, CreateEventExA(NULL, "bell", 0, 0) != NULL);
    FAILS(ERROR_PATH_NOT_FOUND, 0, CreateEventA(NULL, FALSE, FALSE, "a\\b") != NULL);
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    FAILS(ERROR_FILENAME_EXCED_RANGE, 0, CreateEventA(NULL, FALSE, FALSE, long_name) != NULL);
    IS(TRUE, CloseHandle(second));
    WORKS(1, (second = OpenEventA(SYNCHRONIZE, FALSE, "Local\\bell")) != NULL);
    FAILS(ERROR_ACCESS_DENIED, FALSE, SetEvent(second));
    IS(TRUE, CloseHandle(second));
    IS(TRUE, CloseHandle(event));
    /* The name ends with the last handle. */
    FAILS(ERROR_FILE_NOT_FOUND, 0, OpenEventA(SYNCHRONIZE, FALSE, "bell") != NULL);
    FAILS(0, 1, (mutex = CreateMutexA(NULL, TRUE, "bell")) != NULL);
    FAILS(ERROR_ALREADY_EXISTS, 1, (second = CreateMutexW(NULL, TRUE, wide)) != NULL);
    /* It was not acquired again. */
    WORKS(TRUE, ReleaseMutex(second));
    FAILS(ERROR_NOT_OWNER, FALSE, ReleaseMutex(mutex));
    IS(TRUE, CloseHandle(mutex));
    IS(TRUE, CloseHandle(second));
    FAILS(ERROR_INVALID_PARAMETER, 0, CreateSemaphoreA(NULL, 2, 1, "bell") != NULL);
    FAILS(0, 1, (event = CreateSemaphoreA(NULL, 1, 1, "bell")) != NULL);
    IS(TRUE, CloseHandle(event));
    return report();
}
