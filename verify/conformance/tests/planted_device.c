/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A stand-in for the device that is right but for one mistake, which PLANTED names. It lies between the program and the
// library that is loaded after it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEM_RELEASE = 0xc0044e81, WAIT_ANY = 0xc0284e82, WAIT_ALL = 0xc0284e83, MUTEX_UNLOCK = 0xc0084e85,
    MUTEX_KILL = 0x40044e86, EVENT_SET = 0x80044e88, EVENT_RESET = 0x80044e89, EVENT_PULSE = 0x80044e8a,
    MUTEX_READ = 0x80084e8c,
};

struct wait { uint64_t timeout, objs; uint32_t count, index, flags, owner, alert, pad; };

static int planted(const char *mistake) {
    const char *asked = getenv("PLANTED");
    return asked && !strcmp(asked, mistake);
}

// Bad pointers are the library's business: mistakes that look at arguments look only at those near the others.
static int readable(const void *argument) {
    uintptr_t at = (uintptr_t)argument;
    return (at & 0xfff) == 0x100;
}

static int (*real)(int, unsigned long, void *);

static int with_mistake(int fd, unsigned request, void *argument) {
    struct wait *wait = argument;
    uint32_t *words = argument;
    int is_wait = (request == WAIT_ANY || request == WAIT_ALL) && readable(argument);
    uint32_t owner = readable(argument) ? words[0] : 0;
    if (planted("pulse_only_resets") && request == EVENT_PULSE) request = EVENT_RESET;
    if (planted("pad_is_ignored") && is_wait) wait->pad = 0;
    if (planted("all_of_one_is_any") && is_wait && wait->count == 1) request = WAIT_ANY;
    if (planted("kill_is_unlock") && request == MUTEX_KILL && readable(argument)) {
        uint32_t unlock[2] = { owner, 0 };
        int result = real(fd, MUTEX_UNLOCK, unlock);
        while (result == 0 && unlock[1] > 1 && real(fd, MUTEX_UNLOCK, unlock) == 0) {}
        return result;
    }
    int changes_event = request == EVENT_SET || request == EVENT_RESET || request == EVENT_PULSE;
    if (planted("a_bad_pointer_has_no_effect") && changes_event && (argument < (void *)4096 || (intptr_t)argument < 0)) {
        errno = EFAULT;
        return -1;
    }
    if (planted("a_past_deadline_is_no_attempt") && is_wait && wait->timeout == 0 && wait->count > 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    int result = real(fd, request, argument);
    if (planted("overflow_is_invalid") && result < 0 && errno == EOVERFLOW) errno = EINVAL;
    if (planted("release_gives_the_count_after") && request == SEM_RELEASE && result == 0) words[0] += owner;
    if (planted("unlock_writes_the_owner") && request == MUTEX_UNLOCK && result == 0) words[0] = 0;
    if (planted("refused_unlock_writes") && request == MUTEX_UNLOCK && readable(argument) && result < 0) words[1] = 0;
    if (planted("read_hides_the_abandoned") && request == MUTEX_READ && result < 0 && errno == EOWNERDEAD) return 0;
    if (planted("alert_has_the_last_index") && is_wait && result == 0 && wait->index == wait->count && wait->count)
        wait->index--;
    return result;
}

int ioctl(int fd, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (!real) real = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
    return with_mistake(fd, (unsigned)request, argument);
}

int sigaction(int signal, const struct sigaction *new, struct sigaction *old) {
    int (*next)(int, const struct sigaction *, struct sigaction *) =
        (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    if (!planted("handlers_end_every_wait") || !new) return next(signal, new, old);
    struct sigaction changed = *new;
    changed.sa_flags &= ~SA_RESTART;
    return next(signal, &changed, old);
}
