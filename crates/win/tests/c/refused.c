/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is not there says so. */
#include "check.h"

#define REFUSED(result, what) FAILS(ERROR_CALL_NOT_IMPLEMENTED, result, what)

int main(void)
{
    HANDLE handle = NULL;

    alarm(300);
    REFUSED(0, CreateWaitableTimerA(NULL, FALSE, NULL) != NULL);
    REFUSED(0, CreateWaitableTimerW(NULL, FALSE, NULL) != NULL);
    REFUSED(0, CreateWaitableTimerExA(NULL, NULL, 0, TIMER_ALL_ACCESS) != NULL);
    REFUSED(0, CreateWaitableTimerExW(NULL, NULL, 0, TIMER_ALL_ACCESS) != NULL);
    REFUSED(0, OpenWaitableTimerA(SYNCHRONIZE, FALSE, "timer") != NULL);
    REFUSED(0, OpenWaitableTimerW(SYNCHRONIZE, FALSE, NULL) != NULL);
    REFUSED(PLANT(FALSE, TRUE), SetWaitableTimer(handle, NULL, 0, NULL, NULL, FALSE));
    REFUSED(FALSE, SetWaitableTimerEx(handle, NULL, 0, NULL, NULL, NULL, 0));
    REFUSED(FALSE, CancelWaitableTimer(handle));
    REFUSED(0xffffffffu, SuspendThread(GetCurrentThread()));
    REFUSED(0, OpenProcess(SYNCHRONIZE, FALSE, GetCurrentProcessId()) != NULL);
    REFUSED(FALSE, RegisterWaitForSingleObject(&handle, handle, NULL, NULL, 0, 0));
    REFUSED(FALSE, UnregisterWait(handle));
    REFUSED(FALSE, UnregisterWaitEx(handle, NULL));
    REFUSED(0, CreateTimerQueue() != NULL);
    REFUSED(FALSE, CreateTimerQueueTimer(&handle, NULL, NULL, NULL, 0, 0, 0));
    REFUSED(FALSE, ChangeTimerQueueTimer(NULL, handle, 0, 0));
    REFUSED(FALSE, DeleteTimerQueueTimer(NULL, handle, NULL));
    REFUSED(FALSE, DeleteTimerQueue(handle));
    REFUSED(FALSE, DeleteTimerQueueEx(handle, NULL));
    REFUSED(FALSE, QueueUserWorkItem(NULL, NULL, 0));
    return report();
}
