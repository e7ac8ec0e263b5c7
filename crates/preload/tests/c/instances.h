/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the arenas of a process take. */
#ifndef INSTANCES_H
#define INSTANCES_H

#include "device.h"

/* Bytes of memory that the instances of this process have, those of other processes included. */
static long memory_of_instances(void)
{
    static unsigned char pages[1 << 16];
    char line[512];
    long count = 0;
    int instances = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (strstr(line, "memfd:ntsync") == NULL)
            continue;
        CHECK(sscanf(line, "%lx-%lx", &start, &end) == 2 && end - start <= 4096ul * sizeof pages);
        CHECK(mincore((void *)start, end - start, pages) == 0);
        for (unsigned long page = 0; page < (end - start) / (unsigned long)getpagesize(); page++)
            count += pages[page] & 1;
        instances++;
    }
    CHECK(fclose(maps) == 0 && instances > 0);
    return count * getpagesize();
}

#endif
