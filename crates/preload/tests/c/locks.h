/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The locks that hold objects. */
#ifndef LOCKS_H
#define LOCKS_H

#include "device.h"

/* Those of all processes on the file of this device's arena. */
static inline int locks_of(int device)
{
    char line[256], wanted[32];
    struct stat status;
    CHECK(syscall(SYS_fstat, device, &status) == 0);
    snprintf(wanted, sizeof wanted, ":%llu ", (unsigned long long)status.st_ino);
    FILE *file = fopen("/proc/locks", "re");
    CHECK(file);
    int found = 0;
    while (fgets(line, sizeof line, file))
        found += strstr(line, wanted) && strstr(line, "OFDLCK");
    fclose(file);
    return found;
}

#endif
