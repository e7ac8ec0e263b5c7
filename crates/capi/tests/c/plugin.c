/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library is loaded, used and closed by a thread, which ends afterwards: its waiter is returned by code that must
 * still be there. The argument is the library. */
#include <dlfcn.h>
#include <ntux.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *library;

/* A function of the library; C has no cast from a pointer to an object. */
static void find(void *function, const char *name)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof symbol);
}

static void *use(void *path)
{
    int (*create)(uint32_t, uint32_t, ntux_arena **);
    int (*semaphore_create)(const ntux_arena *, uint32_t, uint32_t, ntux_object *);
    int (*release)(const ntux_arena *, ntux_object, uint32_t, uint32_t *);
    ntux_arena *arena;
    ntux_object semaphore;

    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
    find(&create, "ntux_arena_create");
    find(&semaphore_create, "ntux_semaphore_create");
    find(&release, "ntux_semaphore_release");
    if (create(16, 4, &arena) < 0 || semaphore_create(arena, 0, 1, &semaphore) < 0)
        return "create";
    if (release(arena, semaphore, 1, NULL) < 0)
        return "release";
    return dlclose(library) ? dlerror() : NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *failure = "no argument";

    if (argc > 1 && pthread_create(&thread, NULL, use, argv[1]) == 0)
        pthread_join(thread, &failure);
    if (failure)
        printf("%s\n", (char *)failure);
    return failure ? 1 : 0;
}
