/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cases for doors, by way of explicit waiters: the handlers ask. */
#define _GNU_SOURCE
#include <ntux.h>

#include "../../../sync/tests/door/cases.h"

static ntux_arena *arena;
static __thread ntux_waiter *waiter;

static void begin(void) { CHECK(ntux_arena_create(1024, 64, &arena) == 0); }
static void arrive(void) { CHECK(ntux_waiter_create(arena, &waiter) == 0); }

static void depart(void)
{
    ntux_waiter *mine = waiter;

    waiter = NULL;
    CHECK(ntux_waiter_destroy(mine) == 0);
}

/* What is no wait is in a bracket. */
#define INSIDE(result, call)                                                                                               \
    do {                                                                                                                   \
        int inside_ = waiter ? ntux_waiter_enter(waiter) : 0;                                                              \
        CHECK(inside_ == 0 && (call) == (result));                                                                         \
        if (waiter)                                                                                                        \
            ntux_waiter_leave(waiter);                                                                                     \
    } while (0)

static object new_event(void)
{
    object one = 0;

    INSIDE(0, ntux_event_create(arena, 0, 0, &one));
    return one;
}

static object new_semaphore(uint32_t count)
{
    object one = 0;

    INSIDE(0, ntux_semaphore_create(arena, count, 1000000, &one));
    return one;
}

static object new_mutex(uint32_t owner)
{
    object one = 0;

    INSIDE(0, ntux_mutex_create(arena, owner, 1, &one));
    return one;
}

static void set_event(object event) { INSIDE(0, ntux_event_set(arena, event, NULL)); }

static int is_set(object event)
{
    uint32_t is = 0;

    INSIDE(0, ntux_event_read(arena, event, NULL, &is));
    return is != 0;
}

static void release(object semaphore) { INSIDE(0, ntux_semaphore_release(arena, semaphore, 1, NULL)); }

static uint32_t units(object semaphore)
{
    uint32_t count = 0;

    INSIDE(0, ntux_semaphore_read(arena, semaphore, &count, NULL));
    return count;
}

static void unlock(object mutex, uint32_t owner) { INSIDE(0, ntux_mutex_unlock(arena, mutex, owner, NULL)); }

static int wait_for(int all, const object *objects, uint32_t count, uint64_t deadline, int again, uint32_t *index)
{
    int result;

    do
        if (!waiter)
            result = (all ? ntux_wait_all : ntux_wait_any)(arena, objects, count, 0, 1, 0, deadline, index);
        else
            result = (all ? ntux_waiter_wait_all : ntux_waiter_wait_any)(waiter, objects, count, 0, 1, 0, deadline, index);
    while (result == -EINTR && again);
    return -result;
}

static int must_return(int signal, siginfo_t *info, void *context)
{
    return ntux_waiter_defer(waiter, signal, info, context);
}
