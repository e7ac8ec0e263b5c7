/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every way to call each function wrongly that can be told from calling it rightly: the documented error comes
 * back, nothing is written and nothing changes. With -DPLANTED one expectation is wrong, which must be noticed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ntux.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "system.h"

static int failures, checks;

static void expect(const char *call, int line, int result, int expected)
{
    checks++;
    if (result == expected)
        return;
    if (++failures <= 20)
        printf("refusals.c:%d: %s is %d, not %d\n", line, call, result, expected);
}

#define IS(expected, call) expect(#call, __LINE__, call, expected)

/* Outputs are poisoned: a refused call must not write them. */
#define POISON 0xdeadbeefu
static uint32_t out, out2;
static ntux_object made;

static void written(int line)
{
    checks++;
    if (out != POISON || out2 != POISON || made != POISON) {
        printf("refusals.c:%d: a refused call wrote a result\n", line);
        failures++;
    }
    out = out2 = POISON;
    made = POISON;
}

#define NOTHING_WRITTEN() written(__LINE__)

static char misaligned_space[64];
#define MISALIGNED(type) ((type *)(void *)(misaligned_space + 1))

static ntux_arena *arena;
static ntux_object semaphore, mutex, event, timer, closed;

static void arenas(void)
{
    ntux_arena *untouched = NULL;
    int file = open("/dev/null", O_RDWR);
    int empty = new_file();

    IS(-EFAULT, ntux_arena_create(16, 4, NULL));
    IS(-EINVAL, ntux_arena_create(16, 4, MISALIGNED(ntux_arena *)));
    IS(-EINVAL, ntux_arena_create(0, 4, &untouched));
    IS(-EINVAL, ntux_arena_create(16, 0, &untouched));
    IS(-EINVAL, ntux_arena_create(16777217, 4, &untouched));
    IS(-EINVAL, ntux_arena_create(16, 65537, &untouched));
    IS(-EINVAL, ntux_arena_create(UINT32_MAX, UINT32_MAX, &untouched));

    IS(-EFAULT, ntux_arena_create_private(16, 4, NULL));
    IS(-EINVAL, ntux_arena_create_private(16, 4, MISALIGNED(ntux_arena *)));
    IS(-EINVAL, ntux_arena_create_private(0, 4, &untouched));
    IS(-EINVAL, ntux_arena_create_private(16, 65537, &untouched));

    IS(-EFAULT, ntux_arena_open("name", 16, 4, NULL));
    IS(-EFAULT, ntux_arena_open(NULL, 16, 4, &untouched));
    IS(-EINVAL, ntux_arena_open("name", 16, 4, MISALIGNED(ntux_arena *)));
    IS(-EINVAL, ntux_arena_open("", 16, 4, &untouched));
    IS(-EINVAL, ntux_arena_open("..", 16, 4, &untouched));
    IS(-EINVAL, ntux_arena_open("a/b", 16, 4, &untouched));
    IS(-EINVAL, ntux_arena_open("\xff", 16, 4, &untouched));
    IS(-EINVAL, ntux_arena_open("name", 0, 4, &untouched));
    IS(-EINVAL, ntux_arena_open("name", 16, 65537, &untouched));

    IS(-EFAULT, ntux_arena_attach(file, NULL));
    IS(-EINVAL, ntux_arena_attach(file, MISALIGNED(ntux_arena *)));
    IS(-EBADF, ntux_arena_attach(-1, &untouched));
    IS(-EBADF, ntux_arena_attach(-100, &untouched));
    IS(-EBADF, ntux_arena_attach(1000000, &untouched));
    IS(-ENOTTY, ntux_arena_attach(file, &untouched));
    IS(-ENOTTY, ntux_arena_attach(empty, &untouched));
    IS(0, ftruncate(empty, 1 << 20));
    IS(-ENOTTY, ntux_arena_attach(empty, &untouched));

    IS(-EFAULT, ntux_arena_fd(NULL));
    IS(-EINVAL, ntux_arena_fd(MISALIGNED(ntux_arena)));
    IS(-EFAULT, ntux_arena_detach(NULL));
    IS(-EINVAL, ntux_arena_detach(MISALIGNED(ntux_arena)));
    IS(1, untouched == NULL);
    close(file);
    close(empty);
}

static void semaphores(void)
{
    IS(-EFAULT, ntux_semaphore_create(NULL, 1, 1, &made));
    IS(-EINVAL, ntux_semaphore_create(MISALIGNED(ntux_arena), 1, 1, &made));
    IS(-EFAULT, ntux_semaphore_create(arena, 1, 1, NULL));
    IS(-EINVAL, ntux_semaphore_create(arena, 1, 1, MISALIGNED(ntux_object)));
    IS(-EINVAL, ntux_semaphore_create(arena, 2, 1, &made));
    IS(-EINVAL, ntux_semaphore_create(arena, UINT32_MAX, 0, &made));

    IS(-EFAULT, ntux_semaphore_release(NULL, semaphore, 1, &out));
    IS(-EINVAL, ntux_semaphore_release(MISALIGNED(ntux_arena), semaphore, 1, &out));
    IS(-EINVAL, ntux_semaphore_release(arena, semaphore, 1, MISALIGNED(uint32_t)));
    IS(-EOVERFLOW, ntux_semaphore_release(arena, semaphore, 2, &out));
    IS(-EOVERFLOW, ntux_semaphore_release(arena, semaphore, UINT32_MAX, &out));
    IS(-EPROTOTYPE, ntux_semaphore_release(arena, mutex, 1, &out));
    IS(-EPROTOTYPE, ntux_semaphore_release(arena, event, 1, &out));
    IS(-EBADF, ntux_semaphore_release(arena, closed, 1, &out));
    IS(-EBADF, ntux_semaphore_release(arena, 0, 1, &out));

    IS(-EFAULT, ntux_semaphore_read(NULL, semaphore, &out, &out2));
    IS(-EINVAL, ntux_semaphore_read(MISALIGNED(ntux_arena), semaphore, &out, &out2));
    IS(-EINVAL, ntux_semaphore_read(arena, semaphore, MISALIGNED(uint32_t), &out2));
    IS(-EINVAL, ntux_semaphore_read(arena, semaphore, &out, MISALIGNED(uint32_t)));
    IS(-EPROTOTYPE, ntux_semaphore_read(arena, mutex, &out, &out2));
    IS(-EBADF, ntux_semaphore_read(arena, closed, &out, &out2));
    NOTHING_WRITTEN();

    IS(0, ntux_semaphore_read(arena, semaphore, &out, &out2));
    IS(1, out == 1 && out2 == 2);
    out = out2 = POISON;
}

static void mutexes(void)
{
    IS(-EFAULT, ntux_mutex_create(NULL, 0, 0, &made));
    IS(-EINVAL, ntux_mutex_create(MISALIGNED(ntux_arena), 0, 0, &made));
    IS(-EFAULT, ntux_mutex_create(arena, 0, 0, NULL));
    IS(-EINVAL, ntux_mutex_create(arena, 0, 0, MISALIGNED(ntux_object)));
    IS(-EINVAL, ntux_mutex_create(arena, 1, 0, &made));
    IS(-EINVAL, ntux_mutex_create(arena, 0, 1, &made));

    IS(-EFAULT, ntux_mutex_unlock(NULL, mutex, 7, &out));
    IS(-EINVAL, ntux_mutex_unlock(MISALIGNED(ntux_arena), mutex, 7, &out));
    IS(-EINVAL, ntux_mutex_unlock(arena, mutex, 7, MISALIGNED(uint32_t)));
    IS(-ESRCH, ntux_mutex_unlock(arena, mutex, 0, &out));
    IS(-EPERM, ntux_mutex_unlock(arena, mutex, 8, &out));
    IS(-EPROTOTYPE, ntux_mutex_unlock(arena, event, 7, &out));
    IS(-EBADF, ntux_mutex_unlock(arena, closed, 7, &out));

    IS(-EFAULT, ntux_mutex_kill(NULL, mutex, 7));
    IS(-EINVAL, ntux_mutex_kill(MISALIGNED(ntux_arena), mutex, 7));
    IS(-ESRCH, ntux_mutex_kill(arena, mutex, 0));
    IS(-EPERM, ntux_mutex_kill(arena, mutex, 8));
    IS(-EPROTOTYPE, ntux_mutex_kill(arena, semaphore, 7));
    IS(-EBADF, ntux_mutex_kill(arena, closed, 7));

    IS(-EFAULT, ntux_mutex_read(NULL, mutex, &out, &out2));
    IS(-EINVAL, ntux_mutex_read(MISALIGNED(ntux_arena), mutex, &out, &out2));
    IS(-EINVAL, ntux_mutex_read(arena, mutex, MISALIGNED(uint32_t), &out2));
    IS(-EINVAL, ntux_mutex_read(arena, mutex, &out, MISALIGNED(uint32_t)));
    IS(-EPROTOTYPE, ntux_mutex_read(arena, semaphore, &out, &out2));
    IS(-EBADF, ntux_mutex_read(arena, closed, &out, &out2));
    NOTHING_WRITTEN();

    IS(0, ntux_mutex_read(arena, mutex, &out, &out2));
    IS(1, out == 7 && out2 == 1);
    out = out2 = POISON;
}

static void events(void)
{
    typedef int change(const ntux_arena *, ntux_object, uint32_t *);
    static change *const changes[] = {ntux_event_set, ntux_event_reset, ntux_event_pulse};
    unsigned i;

    IS(-EFAULT, ntux_event_create(NULL, 0, 0, &made));
    IS(-EINVAL, ntux_event_create(MISALIGNED(ntux_arena), 0, 0, &made));
    IS(-EFAULT, ntux_event_create(arena, 0, 0, NULL));
    IS(-EINVAL, ntux_event_create(arena, 0, 0, MISALIGNED(ntux_object)));

    for (i = 0; i < 3; i++) {
        IS(-EFAULT, changes[i](NULL, event, &out));
        IS(-EINVAL, changes[i](MISALIGNED(ntux_arena), event, &out));
        IS(-EINVAL, changes[i](arena, event, MISALIGNED(uint32_t)));
        IS(-EPROTOTYPE, changes[i](arena, semaphore, &out));
        IS(-EPROTOTYPE, changes[i](arena, mutex, &out));
        IS(-EBADF, changes[i](arena, closed, &out));
    }

    IS(-EFAULT, ntux_event_read(NULL, event, &out, &out2));
    IS(-EINVAL, ntux_event_read(MISALIGNED(ntux_arena), event, &out, &out2));
    IS(-EINVAL, ntux_event_read(arena, event, MISALIGNED(uint32_t), &out2));
    IS(-EINVAL, ntux_event_read(arena, event, &out, MISALIGNED(uint32_t)));
    IS(-EPROTOTYPE, ntux_event_read(arena, mutex, &out, &out2));
    IS(-EBADF, ntux_event_read(arena, closed, &out, &out2));
    NOTHING_WRITTEN();

    IS(0, ntux_event_read(arena, event, &out, &out2));
    IS(1, out == 1 && out2 == 1);
    out = out2 = POISON;
}

static void timers(void)
{
    static const uint32_t flags[] = {3, 8, NTUX_REALTIME | NTUX_BOOTTIME | NTUX_RELATIVE, UINT32_MAX};
    static uint64_t due, period;
    uint32_t clock;
    unsigned i;

    IS(-EFAULT, ntux_timer_create(NULL, 0, &made));
    IS(-EINVAL, ntux_timer_create(MISALIGNED(ntux_arena), 0, &made));
    IS(-EFAULT, ntux_timer_create(arena, 0, NULL));
    IS(-EINVAL, ntux_timer_create(arena, 0, MISALIGNED(ntux_object)));

    IS(-EFAULT, ntux_timer_set(NULL, timer, 0, 1, 0));
    IS(-EINVAL, ntux_timer_set(MISALIGNED(ntux_arena), timer, 0, 1, 0));
    IS(-EPROTOTYPE, ntux_timer_set(arena, event, 0, 1, 0));
    IS(-EBADF, ntux_timer_set(arena, closed, 0, 1, 0));
    for (i = 0; i < sizeof flags / sizeof *flags; i++)
        IS(-EINVAL, ntux_timer_set(arena, timer, flags[i], 1, 0));
    IS(-EINVAL, ntux_timer_set(arena, timer, 0, 1, UINT64_MAX));

    IS(-EFAULT, ntux_timer_cancel(NULL, timer));
    IS(-EINVAL, ntux_timer_cancel(MISALIGNED(ntux_arena), timer));
    IS(-EPROTOTYPE, ntux_timer_cancel(arena, mutex));
    IS(-EBADF, ntux_timer_cancel(arena, closed));

    IS(-EFAULT, ntux_timer_read(NULL, timer, &out, &out2, NULL, NULL, NULL));
    IS(-EINVAL, ntux_timer_read(MISALIGNED(ntux_arena), timer, &out, &out2, NULL, NULL, NULL));
    IS(-EINVAL, ntux_timer_read(arena, timer, MISALIGNED(uint32_t), &out2, NULL, NULL, NULL));
    IS(-EINVAL, ntux_timer_read(arena, timer, &out, MISALIGNED(uint32_t), NULL, NULL, NULL));
    IS(-EINVAL, ntux_timer_read(arena, timer, &out, &out2, MISALIGNED(uint32_t), NULL, NULL));
    IS(-EINVAL, ntux_timer_read(arena, timer, &out, &out2, NULL, MISALIGNED(uint64_t), NULL));
    IS(-EINVAL, ntux_timer_read(arena, timer, &out, &out2, NULL, NULL, MISALIGNED(uint64_t)));
    IS(-EPROTOTYPE, ntux_timer_read(arena, event, &out, &out2, NULL, NULL, NULL));
    IS(-EBADF, ntux_timer_read(arena, closed, &out, &out2, NULL, NULL, NULL));

    IS(-EPROTOTYPE, ntux_event_set(arena, timer, &out));
    IS(-EPROTOTYPE, ntux_event_reset(arena, timer, &out));
    IS(-EPROTOTYPE, ntux_event_pulse(arena, timer, &out));
    IS(-EPROTOTYPE, ntux_event_read(arena, timer, &out, &out2));
    IS(-EPROTOTYPE, ntux_semaphore_release(arena, timer, 1, &out));
    IS(-EPROTOTYPE, ntux_mutex_unlock(arena, timer, 7, &out));
    NOTHING_WRITTEN();

    IS(0, ntux_timer_read(arena, timer, &out, &out2, &clock, &due, &period));
    IS(1, out == 0 && out2 == 0 && clock == NTUX_BOOTTIME && due == UINT64_C(1) << 60 && period == 5000);
    out = out2 = POISON;
}

static void objects(void)
{
    typedef int change(const ntux_arena *, ntux_object);
    static change *const changes[] = {ntux_object_close, ntux_object_adopt, ntux_object_hold, ntux_object_release,
                                     ntux_object_make_permanent, ntux_object_make_temporary};
    unsigned i;

    IS(-EFAULT, ntux_object_kind(NULL, semaphore));
    IS(-EINVAL, ntux_object_kind(MISALIGNED(ntux_arena), semaphore));
    IS(-EBADF, ntux_object_kind(arena, closed));
    IS(-EBADF, ntux_object_kind(arena, 0));
    IS(-EBADF, ntux_object_kind(arena, UINT64_MAX));
    for (i = 0; i < 6; i++) {
        IS(-EFAULT, changes[i](NULL, semaphore));
        IS(-EINVAL, changes[i](MISALIGNED(ntux_arena), semaphore));
        IS(-EBADF, changes[i](arena, closed));
        IS(-EBADF, changes[i](arena, 0));
        IS(-EBADF, changes[i](arena, UINT64_MAX));
        IS(-EBADF, changes[i](arena, UINT64_C(0x123456789abcdef0)));
    }
}

static void holds(void)
{
    uint32_t process = (uint32_t)getpid();

    IS(-EFAULT, ntux_object_hold_for(NULL, semaphore, process));
    IS(-EINVAL, ntux_object_hold_for(MISALIGNED(ntux_arena), semaphore, process));
    IS(-EBADF, ntux_object_hold_for(arena, closed, process));
    IS(-EBADF, ntux_object_hold_for(arena, 0, process));
    IS(-EBADF, ntux_object_hold_for(arena, UINT64_MAX, 0));
    IS(-ESRCH, ntux_object_hold_for(arena, semaphore, 0));
    IS(-ESRCH, ntux_object_hold_for(arena, semaphore, UINT32_MAX));
    IS(-ESRCH, ntux_object_hold_for(arena, semaphore, (uint32_t)getppid())); /* it lives, and takes no part */

    IS(-EFAULT, ntux_object_holds(NULL, semaphore, &out));
    IS(-EINVAL, ntux_object_holds(MISALIGNED(ntux_arena), semaphore, &out));
    IS(-EINVAL, ntux_object_holds(arena, semaphore, MISALIGNED(uint32_t)));
    IS(-EBADF, ntux_object_holds(arena, closed, &out));
    IS(-EBADF, ntux_object_holds(arena, 0, &out));
    IS(-EBADF, ntux_object_holds(arena, UINT64_MAX, &out));
    NOTHING_WRITTEN();
    IS(0, ntux_object_holds(arena, semaphore, NULL));
    IS(0, ntux_object_holds(arena, semaphore, &out));
    IS(1, out);
    out = POISON;
}

static void names(void)
{
    static char longest[257];
    ntux_object made;

    memset(longest, 'x', 256);
    IS(-EFAULT, ntux_event_create_named(NULL, "a", 0, 0, 0, &made, &out));
    IS(-EINVAL, ntux_event_create_named(MISALIGNED(ntux_arena), "a", 0, 0, 0, &made, &out));
    IS(-EFAULT, ntux_event_create_named(arena, NULL, 0, 0, 0, &made, &out));
    IS(-EFAULT, ntux_event_create_named(arena, "a", 0, 0, 0, NULL, &out));
    IS(-EINVAL, ntux_event_create_named(arena, "a", 0, 0, 0, MISALIGNED(ntux_object), &out));
    IS(-EINVAL, ntux_event_create_named(arena, "a", 0, 0, 0, &made, MISALIGNED(uint32_t)));
    IS(-EINVAL, ntux_event_create_named(arena, "", 0, 0, 0, &made, &out));
    IS(-EINVAL, ntux_event_create_named(arena, longest, 0, 0, 0, &made, &out));
    IS(-EINVAL, ntux_event_create_named(arena, "a", 2, 0, 0, &made, &out));
    IS(-EINVAL, ntux_semaphore_create_named(arena, "a", 0, 2, 1, &made, &out));
    IS(-EINVAL, ntux_mutex_create_named(arena, "a", 0, 7, 0, &made, &out));
    IS(-EINVAL, ntux_timer_create_named(arena, "a", 2, 0, &made, &out));
    IS(-EFAULT, ntux_timer_create_named(arena, "a", 0, 0, NULL, &out));
    IS(-ENOENT, ntux_object_open_named(arena, "a", 0, NTUX_KIND_MUTEX, &made)); /* nothing was made */
    IS(-EFAULT, ntux_object_open_named(NULL, "a", 0, NTUX_KIND_MUTEX, &made));
    IS(-EFAULT, ntux_object_open_named(arena, NULL, 0, NTUX_KIND_MUTEX, &made));
    IS(-EFAULT, ntux_object_open_named(arena, "a", 0, NTUX_KIND_MUTEX, NULL));
    IS(-EINVAL, ntux_object_open_named(arena, "", 0, NTUX_KIND_MUTEX, &made));
    IS(-EINVAL, ntux_object_open_named(arena, longest, NTUX_IGNORE_CASE, NTUX_KIND_MUTEX, &made));
    IS(-EINVAL, ntux_object_open_named(arena, "a", UINT32_MAX, NTUX_KIND_MUTEX, &made));
    IS(-EINVAL, ntux_object_open_named(arena, "a", 0, 0, &made));
    IS(-EINVAL, ntux_object_open_named(arena, "a", 0, 8, &made));
}

typedef int wait_call(const ntux_arena *, const ntux_object *, uint32_t, ntux_object, uint32_t, uint32_t, uint64_t,
                      uint32_t *);

static void waits(wait_call *call)
{
    static ntux_object many[NTUX_WAIT_OBJECTS_MAX + 1];
    unsigned i;

    for (i = 0; i <= NTUX_WAIT_OBJECTS_MAX; i++)
        many[i] = semaphore;
    IS(-EFAULT, call(NULL, &semaphore, 1, 0, 7, 0, 0, &out));
    IS(-EINVAL, call(MISALIGNED(ntux_arena), &semaphore, 1, 0, 7, 0, 0, &out));
    IS(-EFAULT, call(arena, NULL, 1, 0, 7, 0, 0, &out));
    IS(-EINVAL, call(arena, MISALIGNED(ntux_object), 1, 0, 7, 0, 0, &out));
    IS(-EINVAL, call(arena, &semaphore, 1, 0, 7, 0, 0, MISALIGNED(uint32_t)));
    IS(-ESRCH, call(arena, &semaphore, 1, 0, 0, 0, 0, &out));
    IS(-ESRCH, call(arena, NULL, 0, 0, 0, 0, 0, &out));
    IS(-ESRCH, call(arena, NULL, 1, 0, 0, 0, 0, &out)); /* the owner is looked at before the objects */
    IS(-EINVAL, call(arena, &semaphore, 1, 0, 7, 2, 0, &out));
    IS(-EINVAL, call(arena, &semaphore, 1, 0, 7, UINT32_MAX, NTUX_NEVER, &out));
    IS(-E2BIG, call(arena, many, NTUX_WAIT_OBJECTS_MAX + 1, 0, 7, 0, 0, &out));
    IS(-E2BIG, call(arena, NULL, UINT32_MAX, 0, 7, 0, 0, &out)); /* and the count */
    IS(-EBADF, call(arena, &closed, 1, 0, 7, 0, 0, &out));
    IS(-EBADF, call(arena, &semaphore, 1, closed, 7, 0, 0, &out));
    for (i = 0; i < 2; i++) {
        ntux_object number = i ? UINT64_MAX : 0;
        ntux_object with[2];
        with[0] = semaphore;
        with[1] = number;
        IS(-EBADF, call(arena, &number, 1, 0, 7, 0, 0, &out));
        IS(-EBADF, call(arena, with, 2, 0, 7, 0, 0, &out));
    }
    NOTHING_WRITTEN();
}

static void duplicates(void)
{
    ntux_object twice[2];

    twice[0] = twice[1] = semaphore;
    IS(-EEXIST, ntux_wait_all(arena, twice, 2, 0, 7, 0, 0, &out));
    IS(-EEXIST, ntux_wait_all(arena, twice, 1, semaphore, 7, 0, 0, &out));
    twice[0] = twice[1] = closed;
    IS(-EBADF, ntux_wait_all(arena, twice, 2, 0, 7, 0, 0, &out));
    NOTHING_WRITTEN();
}

static void signals_and_waits(void)
{
    unsigned i;

    IS(-EFAULT, ntux_signal_and_wait(NULL, event, semaphore, 0, 7, 0, 0, &out));
    IS(-EINVAL, ntux_signal_and_wait(MISALIGNED(ntux_arena), event, semaphore, 0, 7, 0, 0, &out));
    IS(-EINVAL, ntux_signal_and_wait(arena, semaphore, event, 0, 7, 0, 0, MISALIGNED(uint32_t)));
    IS(-EINVAL, ntux_signal_and_wait(arena, semaphore, event, 0, 7, 2, 0, &out));
    IS(-ESRCH, ntux_signal_and_wait(arena, semaphore, event, 0, 0, 0, 0, &out));
    IS(-EPERM, ntux_signal_and_wait(arena, mutex, event, 0, 8, 0, 0, &out));
    for (i = 0; i < 3; i++) {
        ntux_object bad = i == 0 ? 0 : i == 1 ? closed : UINT64_MAX;
        IS(-EBADF, ntux_signal_and_wait(arena, bad, event, 0, 7, 0, 0, &out));
        IS(-EBADF, ntux_signal_and_wait(arena, semaphore, bad, 0, 7, 0, 0, &out));
        if (bad != 0)
            IS(-EBADF, ntux_signal_and_wait(arena, semaphore, event, bad, 7, 0, 0, &out));
    }
    IS(0, ntux_semaphore_release(arena, semaphore, 1, NULL));
    IS(-EOVERFLOW, ntux_signal_and_wait(arena, semaphore, event, 0, 7, 0, 0, &out));
    IS(0, ntux_wait_any(arena, &semaphore, 1, 0, 7, 0, 0, NULL));
    NOTHING_WRITTEN();
}

static void descriptors(void)
{
    static ntux_object many[NTUX_WAIT_OBJECTS_MAX + 1];
    static struct pollfd polled[2];
    ntux_queue queue, shut;
    ntux_object unset;
    unsigned i;
    int pipes[2];

    IS(0, ntux_queue_create(arena, &queue));
    IS(0, ntux_queue_create(arena, &shut));
    IS(0, ntux_queue_close(arena, shut));
    IS(0, ntux_event_create(arena, 0, 0, &unset));
    for (i = 0; i <= NTUX_WAIT_OBJECTS_MAX; i++)
        many[i] = unset;
    memset(polled, 0x5a, sizeof polled);

    IS(-EFAULT, ntux_queue_fd(NULL, queue));
    IS(-EINVAL, ntux_queue_fd(MISALIGNED(ntux_arena), queue));
    IS(-EBADF, ntux_queue_fd(arena, shut));
    IS(-EBADF, ntux_queue_fd(arena, 0));
    IS(-EFAULT, ntux_object_fd(NULL, unset, 7));
    IS(-EINVAL, ntux_object_fd(MISALIGNED(ntux_arena), unset, 7));
    IS(-ESRCH, ntux_object_fd(arena, unset, 0));
    IS(-EBADF, ntux_object_fd(arena, closed, 7));
    IS(-EBADF, ntux_object_fd(arena, 0, 7));
    IS(0, pipe(pipes));
    IS(-EFAULT, ntux_object_fd_take(NULL, pipes[0]));
    IS(-EINVAL, ntux_object_fd_take(MISALIGNED(ntux_arena), pipes[0]));
    IS(-EBADF, ntux_object_fd_take(arena, pipes[0]));
    IS(-EBADF, ntux_object_fd_take(arena, -1));
    IS(-EFAULT, ntux_object_fd_close(NULL, pipes[0]));
    IS(-EINVAL, ntux_object_fd_close(MISALIGNED(ntux_arena), pipes[0]));
    IS(-EBADF, ntux_object_fd_close(arena, pipes[0]));

    IS(-EFAULT, ntux_wait_any_or_poll(NULL, &unset, 1, polled, 2, 0, 7, 0, 0, &out));
    IS(-EINVAL, ntux_wait_any_or_poll(MISALIGNED(ntux_arena), &unset, 1, polled, 2, 0, 7, 0, 0, &out));
    IS(-EFAULT, ntux_wait_any_or_poll(arena, NULL, 1, polled, 2, 0, 7, 0, 0, &out));
    IS(-EINVAL, ntux_wait_any_or_poll(arena, MISALIGNED(ntux_object), 1, polled, 2, 0, 7, 0, 0, &out));
    IS(-EFAULT, ntux_wait_any_or_poll(arena, &unset, 1, NULL, 2, 0, 7, 0, 0, &out));
    IS(-EINVAL, ntux_wait_any_or_poll(arena, &unset, 1, MISALIGNED(struct pollfd), 2, 0, 7, 0, 0, &out));
    IS(-EINVAL, ntux_wait_any_or_poll(arena, &unset, 1, polled, 2, 0, 7, 0, 0, MISALIGNED(uint32_t)));
    IS(-EINVAL, ntux_wait_any_or_poll(arena, &unset, 1, polled, 2, 0, 7, 2, 0, &out));
    IS(-ESRCH, ntux_wait_any_or_poll(arena, &unset, 1, polled, 2, 0, 0, 0, 0, &out));
    IS(-E2BIG, ntux_wait_any_or_poll(arena, many, NTUX_WAIT_OBJECTS_MAX + 1, polled, 2, 0, 7, 0, 0, &out));
    IS(-E2BIG, ntux_wait_any_or_poll(arena, many, NTUX_WAIT_OBJECTS_MAX, polled, 2, unset, 7, 0, 0, &out));
    IS(-EBADF, ntux_wait_any_or_poll(arena, &closed, 1, polled, 2, 0, 7, 0, 0, &out));
    IS(-EBADF, ntux_wait_any_or_poll(arena, &unset, 1, polled, 2, closed, 7, 0, 0, &out));
    polled[0].fd = polled[1].fd = -1;
    IS(-ETIMEDOUT, ntux_wait_any_or_poll(arena, many, NTUX_WAIT_OBJECTS_MAX, polled, 2, 0, 7, 0, 0, &out));
    IS(0, close(pipes[0]));
    IS(0, close(pipes[1]));
    IS(0, ntux_queue_close(arena, queue));
    IS(0, ntux_object_close(arena, unset));
}

static void queues(void)
{
    static const ntux_queue none[] = {0, 77, UINT64_MAX, UINT64_C(0x123456789abcdef0)};
    static ntux_object many[NTUX_WAIT_OBJECTS_MAX + 1];
    static struct ntux_delivered delivered[2];
    ntux_queue queue, shut;
    ntux_object unset, both[2];
    ntux_registration wait;
    unsigned i;

    IS(0, ntux_queue_create(arena, &queue));
    IS(0, ntux_queue_create(arena, &shut));
    IS(0, ntux_queue_close(arena, shut));
    IS(0, ntux_event_create(arena, 0, 0, &unset));
    memset(delivered, 0x5a, sizeof delivered);

    IS(-EFAULT, ntux_queue_create(NULL, &made));
    IS(-EINVAL, ntux_queue_create(MISALIGNED(ntux_arena), &made));
    IS(-EFAULT, ntux_queue_create(arena, NULL));
    IS(-EINVAL, ntux_queue_create(arena, MISALIGNED(ntux_queue)));
    IS(-EFAULT, ntux_queue_close(NULL, queue));
    IS(-EINVAL, ntux_queue_close(MISALIGNED(ntux_arena), queue));
    IS(-EBADF, ntux_queue_close(arena, shut));

    for (i = 0; i <= NTUX_WAIT_OBJECTS_MAX; i++)
        many[i] = unset;
    for (i = 0; i < 2; i++) {
        uint32_t flags = i ? NTUX_QUEUE_ALL : 0;
        IS(-EFAULT, ntux_queue_wait(NULL, queue, &unset, 1, 7, flags, 1, &made, &out));
        IS(-EINVAL, ntux_queue_wait(MISALIGNED(ntux_arena), queue, &unset, 1, 7, flags, 1, &made, &out));
        IS(-EFAULT, ntux_queue_wait(arena, queue, NULL, 1, 7, flags, 1, &made, &out));
        IS(-EINVAL, ntux_queue_wait(arena, queue, MISALIGNED(ntux_object), 1, 7, flags, 1, &made, &out));
        IS(-EFAULT, ntux_queue_wait(arena, queue, &unset, 1, 7, flags, 1, NULL, &out));
        IS(-EINVAL, ntux_queue_wait(arena, queue, &unset, 1, 7, flags, 1, MISALIGNED(ntux_registration), &out));
        IS(-EINVAL, ntux_queue_wait(arena, queue, &unset, 1, 7, flags, 1, &made, MISALIGNED(uint32_t)));
        IS(-ESRCH, ntux_queue_wait(arena, queue, &unset, 1, 0, flags, 1, &made, &out));
        IS(-EINVAL, ntux_queue_wait(arena, queue, &unset, 1, 7, flags | 2, 1, &made, &out));
        IS(-EINVAL, ntux_queue_wait(arena, queue, &unset, 1, 7, UINT32_MAX, 1, &made, &out));
        IS(-E2BIG, ntux_queue_wait(arena, queue, many, NTUX_WAIT_OBJECTS_MAX + 1, 7, flags, 1, &made, &out));
        IS(-E2BIG, ntux_queue_wait(arena, queue, NULL, UINT32_MAX, 7, flags, 1, &made, &out));
        IS(-EBADF, ntux_queue_wait(arena, queue, &closed, 1, 7, flags, 1, &made, &out));
        IS(-EBADF, ntux_queue_wait(arena, shut, &unset, 1, 7, flags, 1, &made, &out));
        both[0] = unset;
        both[1] = UINT64_MAX;
        IS(-EBADF, ntux_queue_wait(arena, queue, both, 2, 7, flags, 1, &made, &out));
        both[1] = 0;
        IS(-EBADF, ntux_queue_wait(arena, queue, both, 2, 7, flags, 1, &made, &out));
    }
    IS(-EEXIST, ntux_queue_wait(arena, queue, many, 2, 7, NTUX_QUEUE_ALL, 1, &made, &out));
    many[0] = many[1] = closed;
    IS(-EBADF, ntux_queue_wait(arena, queue, many, 2, 7, NTUX_QUEUE_ALL, 1, &made, &out));

    IS(-EFAULT, ntux_queue_post(NULL, queue, 1));
    IS(-EINVAL, ntux_queue_post(MISALIGNED(ntux_arena), queue, 1));
    IS(-EBADF, ntux_queue_post(arena, shut, 1));

    IS(-EFAULT, ntux_queue_get(NULL, queue, 0, 0, delivered, 2));
    IS(-EINVAL, ntux_queue_get(MISALIGNED(ntux_arena), queue, 0, 0, delivered, 2));
    IS(-EFAULT, ntux_queue_get(arena, queue, 0, 0, NULL, 2));
    IS(-EINVAL, ntux_queue_get(arena, queue, 0, 0, MISALIGNED(struct ntux_delivered), 2));
    IS(-EINVAL, ntux_queue_get(arena, queue, 0, 0, delivered, 0));
    IS(-EINVAL, ntux_queue_get(arena, queue, 2, 0, delivered, 2));
    IS(-EINVAL, ntux_queue_get(arena, queue, UINT32_MAX, NTUX_NEVER, delivered, 2));
    IS(-EBADF, ntux_queue_get(arena, shut, 0, NTUX_NEVER, delivered, 2));
    IS(-ETIMEDOUT, ntux_queue_get(arena, queue, 0, 0, delivered, 2));
    IS(-ETIMEDOUT, ntux_queue_get(arena, queue, NTUX_REALTIME, 1, delivered, 2));

    for (i = 0; i < sizeof none / sizeof *none; i++) {
        IS(-EBADF, ntux_queue_close(arena, none[i]));
        IS(-EBADF, ntux_queue_wait(arena, none[i], &unset, 1, 7, 0, 1, &made, &out));
        IS(-EBADF, ntux_queue_wait(arena, none[i], &unset, 1, 7, NTUX_QUEUE_ALL, 1, &made, &out));
        IS(-EBADF, ntux_queue_post(arena, none[i], 1));
        IS(-EBADF, ntux_queue_get(arena, none[i], 0, 0, delivered, 2));
        IS(-EBADF, ntux_queue_cancel(arena, none[i], &out));
    }

    IS(0, ntux_queue_wait(arena, queue, &unset, 1, 7, 0, 1, &wait, &out));
    IS(-EFAULT, ntux_queue_cancel(NULL, wait, &out));
    IS(-EINVAL, ntux_queue_cancel(MISALIGNED(ntux_arena), wait, &out));
    IS(-EINVAL, ntux_queue_cancel(arena, wait, MISALIGNED(uint32_t)));
    IS(0, ntux_queue_cancel(arena, wait, &out));
    IS(-EBADF, ntux_queue_cancel(arena, wait, &out));
    for (i = 0; i < sizeof delivered; i++)
        IS(0x5a, ((unsigned char *)delivered)[i]);
    NOTHING_WRITTEN();

    /* Nothing of all this waits. */
    IS(0, ntux_event_set(arena, unset, NULL));
    IS(0, ntux_wait_any(arena, &unset, 1, 0, 7, 0, 0, NULL));
    for (i = 0; i < NTUX_QUEUE_PACKETS_MAX; i++)
        IS(0, ntux_queue_post(arena, queue, i));
    IS(-ENOMEM, ntux_queue_post(arena, queue, i));
    IS(0, ntux_queue_close(arena, queue));
    IS(0, ntux_object_close(arena, unset));
}

static void full_arena(void)
{
    ntux_arena *small;
    ntux_object object;
    int result, created;

    IS(0, ntux_arena_create(2, 2, &small));
    for (created = 0; created < 1000000; created++) {
        result = ntux_event_create(small, 0, 0, &object);
        if (result < 0)
            break;
    }
    IS(1, created >= 2);
    IS(-ENOMEM, result);
    IS(-ENOMEM, ntux_semaphore_create(small, 0, 1, &made));
    IS(-ENOMEM, ntux_mutex_create(small, 0, 0, &made));
    NOTHING_WRITTEN();
    IS(0, ntux_object_close(small, object));
    IS(0, ntux_semaphore_create(small, 0, 1, &object));
    IS(0, ntux_arena_detach(small));
}

/* The lowest 16 bits of NTSYNC_IOC_... */
#define IOC_CREATE_SEM 0x4e80
#define IOC_WAIT_ANY 0x4e82
#define IOC_WAIT_ALL 0x4e83
#define IOC_EVENT_SET 0x4e88

static void requests(void)
{
    uint32_t words[2] = { 2, 1 };

    IS(-EFAULT, ntux_request(NULL, &made, IOC_CREATE_SEM, words));
    IS(-EINVAL, ntux_request(MISALIGNED(ntux_arena), &made, IOC_CREATE_SEM, words));
    IS(-EFAULT, ntux_request(arena, NULL, IOC_CREATE_SEM, words));
    IS(-EINVAL, ntux_request(arena, MISALIGNED(ntux_object), IOC_CREATE_SEM, words));
    IS(-EFAULT, ntux_request(arena, &made, IOC_CREATE_SEM, NULL));
    IS(-EINVAL, ntux_request(arena, &made, IOC_CREATE_SEM, MISALIGNED(uint32_t)));
    IS(-EINVAL, ntux_request(arena, &made, IOC_CREATE_SEM, words));
    IS(-EINVAL, ntux_request(arena, &mutex, IOC_EVENT_SET, &out));
    IS(-EBADF, ntux_request(arena, &closed, IOC_EVENT_SET, &out));
    IS(-ENOTTY, ntux_request(arena, &event, IOC_WAIT_ANY, &out));
    IS(-ENOTTY, ntux_request(arena, &event, IOC_WAIT_ALL, &out));
    IS(-ENOTTY, ntux_request(arena, &event, 0x4e8e, &out));
    IS(-ENOTTY, ntux_request(arena, &event, 0x4f88, &out));
    IS(-ENOTTY, ntux_request(arena, &event, 0, &out));
    NOTHING_WRITTEN();
    IS(1, words[0] == 2 && words[1] == 1);
}

int main(void)
{
    out = out2 = POISON;
    made = POISON;
    IS(0, ntux_arena_create(1024, 64, &arena));
    IS(0, ntux_semaphore_create(arena, 1, 2, &semaphore));
    IS(0, ntux_mutex_create(arena, 7, 1, &mutex));
    IS(0, ntux_event_create(arena, 1, 1, &event));
    IS(0, ntux_timer_create(arena, 0, &timer));
    IS(0, ntux_timer_set(arena, timer, NTUX_BOOTTIME, UINT64_C(1) << 60, 4001));
    IS(0, ntux_event_create(arena, 0, 0, &closed));
    IS(0, ntux_object_close(arena, closed));

    arenas();
    semaphores();
    mutexes();
    events();
    timers();
    objects();
    holds();
    names();
    requests();
    waits(ntux_wait_any);
    waits(ntux_wait_all);
    duplicates();
    signals_and_waits();
    queues();
    descriptors();
    full_arena();
#ifdef PLANTED
    IS(-EPERM, ntux_event_set(arena, event, NULL));
#endif
    /* Nothing of all this has changed the objects. */
    semaphores();
    mutexes();
    events();
    timers();

    IS(0, ntux_arena_detach(arena));
    printf("%d checks, %d failures\n", checks, failures);
    return failures ? 1 : 0;
}
