/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is not there says so. */
#include "check.h"

#define REFUSED(result, what) FAILS(ERROR_CALL_NOT_IMPLEMENTED, result, what)

int main(void)
{
    alarm(300);
    REFUSED(PLANT(0xffffffffu, 0), SuspendThread(GetCurrentThread()));
    return report();
}
