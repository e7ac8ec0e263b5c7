/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loads a library, lets it do what it can with the device, and says how that went: loading WAY LIBRARY [CALLER]. The way is made of
 * words; CALLER is a library that loads it in the program's place. */
#include "device.h"
#include <dlfcn.h>

static const char *way;
static int has(const char *word) { return strstr(way, word) != NULL; }

static void say(int error)
{
    printf("%s\n", error == 0 ? "served" : error == ENOENT ? "ENOENT" : error == ENOTTY ? "ENOTTY" : strerror(error));
}

static void *load(const char *name, int flags, const char *caller)
{
    if (has("apart"))
        return dlmopen(LM_ID_NEWLM, name, flags);
    if (!caller)
        return dlopen(name, flags);
    void *library = dlopen(caller, RTLD_NOW);
    void *(*calls)(const char *, int);
    CHECK(library);
    *(void **)&calls = dlsym(library, "calls");
    return calls(name, flags);
}

int main(int count, char **arguments)
{
    CHECK(count > 2);
    way = arguments[1];
    const char *caller = count > 3 ? arguments[3] : NULL;
    int device = -1;
    if (has("first"))
        CHECK((device = open("/dev/ntsync", O_RDONLY)) >= 0);
    if (has("before"))
        CHECK(dlopen(arguments[2], RTLD_NOW));
    int flags = RTLD_NOW | (has("deep") ? RTLD_DEEPBIND : 0) | (has("noload") ? RTLD_NOLOAD : 0);
    void *library = load(arguments[2], flags, caller);
    if (!library) {
        printf("not loaded\n");
        return 0;
    }
    CHECK(dlerror() == NULL);
    if (has("twice"))
        CHECK(load(arguments[2], RTLD_NOW | RTLD_DEEPBIND, caller) == library);
    if (has("later"))
        CHECK((device = open("/dev/ntsync", O_RDONLY)) >= 0);
    int (*opens)(void), (*asks)(int);
    *(void **)&opens = dlsym(library, "opens");
    *(void **)&asks = dlsym(library, "asks");
    if (opens)
        say(opens());
    if (asks && device >= 0)
        say(asks(device));
    return 0;
}
