/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The unwinder's functions, for libraries that must load where no libgcc_s.so.1 lies: it is loaded at the first call, as
 * glibc does at its first pthread_cancel.
 *
 * An unwinder of our own, linked in, would not do: when glibc cancels a thread that is inside ntux, *its* unwinder asks
 * Rust's personality routine about our frames, which asks back about a context that only that unwinder can read.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* _URC_END_OF_STACK: nobody catches it. Rust then ends the process and says why. */
enum { END_OF_STACK = 5 };

static void *function(void *_Atomic *known, const char *name)
{
    void *found = *known;
    if (!found) {
        void *library = dlopen("libgcc_s.so.1", RTLD_NOW); /* never closed */
        found = library ? dlsym(library, name) : NULL;
        *known = found;
    }
    return found;
}

#define PASS_ON(result, name, parameters, arguments, otherwise)                       \
    HIDDEN result name parameters                                                     \
    {                                                                                 \
        static void *_Atomic known;                                                   \
        result (*real) parameters = (result (*) parameters)function(&known, #name);   \
        return real ? real arguments : otherwise;                                     \
    }

#define PASS_ON_NOTHING(name, parameters, arguments)                                  \
    HIDDEN void name parameters                                                       \
    {                                                                                 \
        static void *_Atomic known;                                                   \
        void (*real) parameters = (void (*) parameters)function(&known, #name);       \
        if (real)                                                                     \
            real arguments;                                                           \
    }

PASS_ON(int, _Unwind_RaiseException, (void *exception), (exception), END_OF_STACK)
PASS_ON(int, _Unwind_Backtrace, (int (*step)(void *, void *), void *of), (step, of), END_OF_STACK)
PASS_ON_NOTHING(_Unwind_Resume, (void *exception), (exception))
PASS_ON_NOTHING(_Unwind_DeleteException, (void *exception), (exception))
PASS_ON(uintptr_t, _Unwind_GetIP, (void *context), (context), 0)
PASS_ON(uintptr_t, _Unwind_GetIPInfo, (void *context, int *before), (context, before), 0)
PASS_ON(uintptr_t, _Unwind_GetCFA, (void *context), (context), 0)
PASS_ON(uintptr_t, _Unwind_GetRegionStart, (void *context), (context), 0)
PASS_ON(uintptr_t, _Unwind_GetTextRelBase, (void *context), (context), 0)
PASS_ON(uintptr_t, _Unwind_GetDataRelBase, (void *context), (context), 0)
PASS_ON(void *, _Unwind_GetLanguageSpecificData, (void *context), (context), NULL)
PASS_ON(void *, _Unwind_FindEnclosingFunction, (void *address), (address), NULL)
PASS_ON_NOTHING(_Unwind_SetGR, (void *context, int number, uintptr_t value), (context, number, value))
PASS_ON_NOTHING(_Unwind_SetIP, (void *context, uintptr_t value), (context, value))
