/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that has some of the C library's functions, as tracers and sandboxes do: one that the device stands in front of, and one that
 * it calls itself. Says at the end how often they were called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static int closed, moved;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

int close(int fd)
{
    static int (*next)(int);
    if (!next)
        *(void **)&next = real("close");
    closed++;
    return next(fd);
}

static off_t move(const char *name, int fd, off_t by, int whence)
{
    static off_t (*next)(int, off_t, int);
    if (!next)
        *(void **)&next = real(name);
    moved++;
    return next(fd, by, whence);
}

off_t lseek(int fd, off_t by, int whence) { return move("lseek", fd, by, whence); }
off64_t lseek64(int fd, off64_t by, int whence) { return move("lseek64", fd, by, whence); }

__attribute__((destructor)) static void say(void)
{
    dprintf(2, "the others were %s\n", closed && moved ? "called" : closed ? "not called to move" : "not called to close");
}
