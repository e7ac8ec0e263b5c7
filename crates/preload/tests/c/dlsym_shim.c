/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that stands in front of `dlsym`, as overlays and tracers do, and says at the end how often it was asked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static int asked;

void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*real)(void *, const char *);
    if (!real)
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
    asked++;
    return real(handle, name);
}

__attribute__((destructor)) static void say(void) { dprintf(2, "the shim was asked %d times\n", asked); }
