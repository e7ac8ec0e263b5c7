/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that loading.c loads. With OPENS it opens the device itself, with ASKS it only uses what it is given, with CALLS it loads
 * another one. */
#include "device.h"
#include <dlfcn.h>

/* What failed is returned: in a namespace of its own the library has an error number of its own. */
#if defined OPENS || defined ASKS
static int result(int fd) { return fd >= 0 ? 0 : errno; }
#endif

#ifdef OPENS
int opens(void) { return result(open("/dev/ntsync", O_RDONLY | O_CLOEXEC)); }
#endif

#ifdef ASKS
int asks(int device)
{
    struct event_args event = {0, 0};
    return result(ioctl(device, CREATE_EVENT, &event));
}
#endif

#ifdef CALLS
void *calls(const char *name, int flags) { return dlopen(name, flags); }
#endif
