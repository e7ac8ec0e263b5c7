/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Write watches, called rightly and wrongly, with every mechanism that works here. With -DPLANTED one expectation is
 * wrong, which must be noticed. */
#define _GNU_SOURCE
#include <errno.h>
#include <ntux.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../../platform/tests/skips/skips.h"
#include "system.h"

static int failures, checks;
static const char *mechanism;

static void expect(const char *what, int line, long result, long expected)
{
    checks++;
    if (result == expected)
        return;
    if (++failures <= 20)
        printf("watches.c:%d: %s: %s is %ld, not %ld\n", line, mechanism, what, result, expected);
}

#define IS(expected, what) expect(#what, __LINE__, (long)(what), (long)(expected))

enum { PAGES = 16, RW = NTUX_PAGE_READ | NTUX_PAGE_WRITE };
static ntux_watcher *watcher;
static long page;
static char *base;

static long listed(uint32_t flags, size_t room, void **addresses)
{
    uint32_t granularity = 0;
    int result = ntux_watch_get(watcher, flags, base, (size_t)(PAGES * page), addresses, &room, &granularity);
    return result < 0 ? result : granularity != page ? -1000 : (long)room;
}

static void outcomes(void)
{
    void *addresses[PAGES], *reserved = NULL;
    struct ntux_run runs[4], halves[2];
    uint64_t bits = 1;
    size_t count = 4;

    IS(0, ntux_watch_reserve(watcher, (size_t)(PAGES * page - 5), &reserved));
    base = reserved;
    IS(0, listed(NTUX_WATCH_RESET, PAGES, addresses));
    IS(0, ntux_watch_commit(watcher, base, (size_t)(PAGES * page), RW));
    base[1 * page] = base[2 * page] = base[9 * page] = 1;
    IS(3, listed(0, PAGES, addresses));
    IS(base + page, addresses[0]);
    IS(base + 9 * page, addresses[2]);
    IS(1, listed(NTUX_WATCH_RESET, 1, addresses));
    IS(2, listed(0, PAGES, addresses));
    halves[0] = (struct ntux_run){(uintptr_t)base, (size_t)(PAGES / 2 * page)};
    halves[1] = (struct ntux_run){(uintptr_t)(base + PAGES / 2 * page), (size_t)(PAGES / 2 * page)};
    IS(0, ntux_watch_get_runs(watcher, 0, halves, 2, runs, &count));
    IS(2, count);
    IS(base + 2 * page, runs[0].start);
    IS(page, runs[1].length);
    IS(0, ntux_watch_get_bitmap(watcher, 0, base, (size_t)(PAGES * page), &bits, 1));
    IS(1 << 2 | 1 << 9, bits);
    IS(0, ntux_watch_protect(watcher, base, (size_t)(PAGES * page), NTUX_PAGE_READ));
    IS(0, ntux_watch_decommit(watcher, base + 2 * page, (size_t)page));
    IS(2, listed(NTUX_WATCH_RESET, PAGES, addresses));
    IS(0, listed(0, PAGES, addresses));
    IS(0, ntux_watch_commit(watcher, base, (size_t)(PAGES * page), RW));
    base[3 * page] = 1;
    IS(0, ntux_watch_reset(watcher, base, (size_t)(4 * page)));
    IS(0, listed(0, PAGES, addresses));
}

static void transfers(void)
{
    struct iovec part = {base + 5 * page, (size_t)page};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int pair[2];
    size_t done = 0;

    IS(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    for (int i = 0; i < 4; i++)
        IS(3, write(pair[0], "abc", 3));
    IS(0, ntux_watch_reset(watcher, base, (size_t)(PAGES * page)));
    IS(0, ntux_watch_read(watcher, pair[1], base + 4 * page, (size_t)page, &done));
    IS(3, done);
    IS(0, ntux_watch_recv(watcher, pair[1], base + 6 * page, (size_t)page, 0, &done));
    IS(0, ntux_watch_readv(watcher, pair[1], &part, 1, &done));
    IS(0, ntux_watch_recvmsg(watcher, pair[1], &message, 0, &done));
    IS(3, done);
    IS(0, memcmp(base + 5 * page, "abc", 3));
    IS(-EAGAIN, ntux_watch_recv(watcher, pair[1], base, (size_t)page, MSG_DONTWAIT, &done));
    IS(-EBADF, ntux_watch_read(watcher, -1, base, (size_t)page, &done));
    close(pair[0]);
    close(pair[1]);
}

static void refusals(void)
{
    void *addresses[PAGES], *untouched = NULL;
    size_t count = 0, some = PAGES, length = (size_t)(PAGES * page);
    uint32_t granularity = 7;
    char *mine = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *unwritable = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    IS(-EFAULT, ntux_watch_get(watcher, 0, base, length, addresses, NULL, &granularity));
    IS(-EFAULT, ntux_watch_get(watcher, 0, base, length, addresses, &count, NULL));
    IS(-EINVAL, ntux_watch_get(watcher, 0, base, length, NULL, &count, &granularity));
    IS(-EFAULT, ntux_watch_get(watcher, 0, base, length, NULL, &some, &granularity));
    IS(-EINVAL, ntux_watch_get(watcher, 0, base, 0, addresses, &some, &granularity));
    IS(-EINVAL, ntux_watch_get(watcher, 2, base, length, NULL, &some, &granularity));
    IS(-EFAULT, ntux_watch_get(watcher, 0, NULL, length, NULL, &some, &granularity));
    IS(-EINVAL, ntux_watch_get(watcher, 0, NULL, length, addresses, &some, &granularity));
    IS(-EINVAL, ntux_watch_get(watcher, 0, &failures, 1, addresses, &some, &granularity));
    IS(-EINVAL, ntux_watch_get(watcher, 0, base, 2 * length, addresses, &some, &granularity));
    IS(-EINVAL, ntux_watch_get(watcher, 0, base + length - page, (size_t)page + 1, addresses, &some, &granularity));
    /* A result that cannot be stored loses nothing. */
    base[0] = 1;
    IS(-EFAULT, ntux_watch_get(watcher, NTUX_WATCH_RESET, base, length, (void **)(void *)unwritable, &some, &granularity));
    IS(7, granularity);
    IS(PAGES, some);
    IS(1, listed(NTUX_WATCH_RESET, PAGES, addresses) >= 1);

    IS(-EINVAL, ntux_watch_reset(watcher, base, 0));
    IS(-EINVAL, ntux_watch_reset(watcher, mine, length));
    IS(-EINVAL, ntux_watch_reserve(watcher, 0, &untouched));
    IS(-EINVAL, ntux_watch_add(watcher, mine + 1, (size_t)page));
    IS(-EBUSY, ntux_watch_add(watcher, base, (size_t)page));
    IS(0, ntux_watch_add(watcher, mine, length));
    IS(-EOPNOTSUPP, ntux_watch_commit(watcher, mine, length, RW));
    IS(-EOPNOTSUPP, ntux_watch_decommit(watcher, mine, length));
    IS(-EINVAL, ntux_watch_protect(watcher, mine, length, 8));
    IS(-EINVAL, ntux_watch_release(watcher, mine + page));
    IS(0, ntux_watch_release(watcher, mine));
    IS(-EINVAL, ntux_watch_release(watcher, mine));
    IS(0, ntux_watch_decommit(watcher, base, (size_t)page));
    IS(-EFAULT, ntux_watch_protect(watcher, base, (size_t)page, NTUX_PAGE_READ));
    IS(-EBUSY, ntux_watch_close(watcher));
    IS(NULL, untouched);
    munmap(mine, length);
    munmap(unwritable, length);
}

int main(void)
{
    static const char *const mechanisms[] = {"async", "sync", "mprotect", "cow"};
    ntux_watcher *none = NULL;

    page = sysconf(_SC_PAGESIZE);
    mechanism = "any";
    IS(-EINVAL, ntux_watch_open("nonsense", &none));
    IS(-EFAULT, ntux_watch_open(NULL, NULL));
    IS(-EFAULT, ntux_watch_close(NULL));
#ifdef PLANTED
    IS(0, ntux_watch_open("nonsense", &none));
#endif
    for (size_t i = 0; i < sizeof mechanisms / sizeof *mechanisms; i++) {
        mechanism = mechanisms[i];
        int result = ntux_watch_open(mechanism, &watcher);
        if (!IS_LINUX) {
            /* Page protection is what macOS has. */
            IS(strcmp(mechanism, "mprotect") == 0 ? 0 : -ENOSYS, result);
            if (result < 0)
                continue;
        }
        if (result < 0) {
            char name[32];
            snprintf(name, sizeof name, "mechanism-%s", mechanism);
            skip(name, __func__, "%s", strerror(-result));
            continue;
        }
        outcomes();
        transfers();
        refusals();
        IS(0, ntux_watch_release(watcher, base));
        IS(0, ntux_watch_close(watcher));
    }
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
