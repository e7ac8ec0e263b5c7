/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A wrong device: stands in front of whatever serves /dev/ntsync and spoils one request, which PLANTED names. The demos
 * must notice; demo/planted checks that they do.
 */
#define _GNU_SOURCE
#include "ntsync_device.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int planted(const char *bug)
{
    const char *name = getenv("PLANTED");
    return name != NULL && strcmp(name, bug) == 0;
}

int ioctl(int descriptor, unsigned long request, ...)
{
    int (*next)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (request == NTSYNC_IOC_EVENT_PULSE && planted("pulse-stays"))
        request = NTSYNC_IOC_EVENT_SET;
    if (request == NTSYNC_IOC_MUTEX_KILL && planted("kill-does-nothing"))
        return 0;
    if (request == NTSYNC_IOC_WAIT_ALL && planted("all-takes-any"))
        request = NTSYNC_IOC_WAIT_ANY;
    return next(descriptor, request, argument);
}
