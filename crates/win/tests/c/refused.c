/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is not there says so. */
#include "check.h"

#define REFUSED(result, what) FAILS(ERROR_CALL_NOT_IMPLEMENTED, result, what)

int main(void)
{
    HANDLE handle = NULL;

    alarm(300);
    REFUSED(PLANT(0xffffffffu, 0), SuspendThread(GetCurrentThread()));
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
