/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The futex functions, called rightly by two threads and wrongly in every way that can be told. With -DPLANTED one
 * expectation is wrong, which must be noticed. */
#define _GNU_SOURCE
#include <errno.h>
#include <ntux.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Between processes macOS does not count, a wait may end for no reason, and there are no vectors. */
#include "system.h"

static int failures, checks;

static void expect(const char *call, int line, int result, int expected)
{
    checks++;
    if (result == expected)
        return;
    if (++failures <= 20)
        printf("futexes.c:%d: %s is %d, not %d\n", line, call, result, expected);
}

#define IS(expected, call) expect(#call, __LINE__, call, expected)
/* A wait that no signal ended. */
#define UNTIL(result, call) do { (result) = (call); } while ((result) == -EINTR)
#define ENDS(expected, call) do { int ended_; UNTIL(ended_, call); expect(#call, __LINE__, ended_, expected); } while (0)

static const uint32_t sizes[] = { NTUX_FUTEX_8, NTUX_FUTEX_16, NTUX_FUTEX_32, NTUX_FUTEX_64 };
static const struct timespec past = { 0, 1 };
static uint64_t memory[4];
static unsigned char *const words = (unsigned char *)memory;
static int woken; /* how often a wait was woken; at first 0 */

struct job {
    uint32_t flags;
    int vector;
};

static void *waiter(void *argument)
{
    struct job *job = argument;
    struct ntux_futex_waitv both[2];
    int result;

    memset(both, 0, sizeof(both));
    both[0].uaddr = words + 8;
    both[1].uaddr = words;
    both[0].flags = both[1].flags = job->flags;
    if (job->vector)
        UNTIL(result, ntux_futex_waitv(both, 2, 0, NULL));
    else
        UNTIL(result, ntux_futex_wait(words, 0, job->flags, NULL));
    __atomic_store_n(&woken, result == (job->vector ? 1 : 0) ? 1 : -1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* A waiter that a signal ends just after it was moved is no longer there, but comes again. */
static void moves(struct ntux_futex_requeue *from, struct ntux_futex_requeue *to)
{
    int ended = 0;

    while (ended != 1) {
        while (ntux_futex_requeue(from, to, 0, 1, 0, 0) != 1)
            ;
        if (from->flags & NTUX_FUTEX_SHARED)
            return;
        ended = ntux_futex_wake(to->uaddr, 9, to->flags);
        if (IS_LINUX)
            IS(1, ended);
    }
}

/* Until the waiter has ended, woken or by itself. Who would be moved is woken. */
static void inexact(struct ntux_futex_requeue *from, struct ntux_futex_requeue *to, int moved)
{
    int told = 0;

    while (!__atomic_load_n(&woken, __ATOMIC_SEQ_CST) && (told == 0 || told == 1))
        told = moved ? ntux_futex_requeue(from, to, 0, 1, 0, 0) : ntux_futex_wake(from->uaddr, 1, from->flags);
    IS(1, told == 0 || told == 1);
}

/* A thread waits, and is woken: at once, or after it was moved. */
static void wakes(uint32_t flags, int vector, int moved)
{
    struct job job = { flags, vector };
    struct ntux_futex_requeue from = { words, flags }, to = { words + 16, NTUX_FUTEX_32 };
    pthread_t thread;

    woken = 0;
    if (pthread_create(&thread, NULL, waiter, &job) != 0)
        _exit(2);
    if (!IS_LINUX && flags & NTUX_FUTEX_SHARED)
        inexact(&from, &to, moved);
    else if (moved)
        moves(&from, &to);
    else
        while (ntux_futex_wake(words, 1, flags) != 1)
            ;
    pthread_join(thread, NULL);
    IS(1, woken);
    IS(0, ntux_futex_wake(words, 9, flags));
}

static void wrong_words(uint32_t flags)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ntux_futex_waitv entry = { 1, words, flags }, bad = { 0, page, flags };
    struct ntux_futex_waitv many[NTUX_FUTEX_WAITV_MAX + 1];
    struct ntux_futex_requeue from = { words, flags }, to = { words + 8, flags };

    for (unsigned i = 0; i <= NTUX_FUTEX_WAITV_MAX; i++)
        many[i] = entry;
    IS(-EAGAIN, ntux_futex_wait(words, 1, flags, NULL));
    IS(-EAGAIN, ntux_futex_wait(words, 1, flags, &past));
    IS(-ETIMEDOUT, ntux_futex_wait(words, 0, flags, &past));
    IS(-ETIMEDOUT, ntux_futex_wait(words, 0, flags | NTUX_FUTEX_REALTIME, &past));
    IS(-EFAULT, ntux_futex_wait(NULL, 0, flags, NULL));
    IS(-EFAULT, ntux_futex_wait(page, 0, flags, NULL));
    IS(-EINVAL, ntux_futex_wait(words, 0, flags | 32u, NULL));
    IS(-EINVAL, ntux_futex_wait(words, 0, flags, &(struct timespec){ 0, 1000000000 }));
    IS(-EINVAL, ntux_futex_wait(words, 0, flags, &(struct timespec){ -1, 0 }));
    IS(-EINVAL, ntux_futex_wake(words, 1, flags | NTUX_FUTEX_REALTIME));
    IS(-EINVAL, ntux_futex_waitv(many, NTUX_FUTEX_WAITV_MAX + 1, 0, NULL));
    IS(-EINVAL, ntux_futex_waitv(many, 0, 0, NULL));
    IS(-EINVAL, ntux_futex_waitv(many, 1, 1, NULL));
    IS(-EFAULT, ntux_futex_waitv(NULL, 1, 0, NULL));
    IS(-EFAULT, ntux_futex_waitv(&bad, 1, 0, NULL));
    if (!(flags & NTUX_FUTEX_SHARED))
        IS(-EAGAIN, ntux_futex_waitv(many, NTUX_FUTEX_WAITV_MAX, 0, &past));
    IS(-EAGAIN, ntux_futex_requeue(&from, &to, 1, 1, 1, 0));
    IS(0, ntux_futex_requeue(&from, &to, 1, 1, 0, 0));
    IS(-EINVAL, ntux_futex_requeue(&from, &to, 1, 1, 0, 1));
    IS(-EFAULT, ntux_futex_requeue(NULL, &to, 1, 1, 0, 0));
    IS(-EFAULT, ntux_futex_requeue(&from, NULL, 1, 1, 0, 0));
    munmap(page, 4096);
}

static uint32_t wait_flags;

static void *multiple_waiter(void *argument)
{
    struct ntux_futex_wait_block blocks[2];
    uint32_t *both = (uint32_t *)memory;

    (void)argument;
    blocks[0].uaddr = &both[0];
    blocks[1].uaddr = &both[2];
    blocks[0].val = blocks[1].val = 0;
    blocks[0].bitset = blocks[1].bitset = UINT32_MAX;
    UNTIL(woken, ntux_futex_wait_multiple(blocks, 2, wait_flags, NULL));
    return NULL;
}

/* FUTEX_WAIT_MULTIPLE as it was proposed, and as patched kernels had it. */
static void multiples(uint32_t shared)
{
    static const struct timespec second = { 1, 0 }, negative = { -1, 0 };
    uint32_t word = 0, flags = NTUX_FUTEX_32 | shared;
    struct ntux_futex_wait_block blocks[NTUX_FUTEX_WAITV_MAX + 1];
    struct timespec before, after;
    pthread_t thread;

    for (unsigned i = 0; i <= NTUX_FUTEX_WAITV_MAX; i++) {
        blocks[i].uaddr = &word;
        blocks[i].val = 0;
        blocks[i].bitset = UINT32_MAX;
    }
    IS(!IS_LINUX && shared ? -EOPNOTSUPP : -ETIMEDOUT,
       ntux_futex_wait_multiple(blocks, NTUX_FUTEX_WAITV_MAX, shared, &past));
    IS(-EINVAL, ntux_futex_wait_multiple(blocks, NTUX_FUTEX_WAITV_MAX + 1, shared, &past));
    IS(-EINVAL, ntux_futex_wait_multiple(blocks, 0, shared, &past));
    IS(-EFAULT, ntux_futex_wait_multiple(NULL, 1, shared, &past));
    if (!IS_LINUX && shared)
        return;
    IS(-EINVAL, ntux_futex_wait_multiple(blocks, 1, shared | 1u, &past));
    IS(-EINVAL, ntux_futex_wait_multiple(blocks, 1, shared | NTUX_FUTEX_NUMA, &past));
    IS(-EINVAL, ntux_futex_wait_multiple(blocks, 1, shared | NTUX_FUTEX_RELATIVE | NTUX_FUTEX_REALTIME, &past));
    IS(-EINVAL, ntux_futex_wait_multiple(blocks, 1, shared | NTUX_FUTEX_RELATIVE, &negative));
    IS(-ETIMEDOUT, ntux_futex_wait_multiple(blocks, 2, shared | NTUX_FUTEX_REALTIME, &second));
    /* A second after the clock began, and a second from now on. */
    IS(-ETIMEDOUT, ntux_futex_wait_multiple(blocks, 2, shared, &second));
    clock_gettime(CLOCK_MONOTONIC, &before);
    ENDS(-ETIMEDOUT, ntux_futex_wait_multiple(blocks, 2, shared | NTUX_FUTEX_RELATIVE, &second));
    clock_gettime(CLOCK_MONOTONIC, &after);
    IS(1, after.tv_sec - before.tv_sec > 1 || after.tv_nsec >= before.tv_nsec);

    wait_flags = shared | NTUX_FUTEX_RELATIVE;
    if (pthread_create(&thread, NULL, multiple_waiter, NULL) != 0)
        _exit(2);
    while (ntux_futex_wake(words + 8, 1, flags) != 1)
        ;
    pthread_join(thread, NULL);
    IS(1, woken);

    blocks[1].bitset = 1;
    IS(shared ? -EOPNOTSUPP : -ETIMEDOUT, ntux_futex_wait_multiple(blocks, 2, shared, &past));
    IS(-ETIMEDOUT, ntux_futex_wait_multiple(blocks + 1, 1, shared, &past));
    blocks[1].bitset = 0;
    IS(-EINVAL, ntux_futex_wait_multiple(blocks, 2, shared, &past));
    word = 1;
    blocks[1].bitset = UINT32_MAX;
    IS(-EAGAIN, ntux_futex_wait_multiple(blocks, 2, shared, &past));
}

/* Where the kernel has no memory nodes that is said, of every size and by every call. */
static void nodes(uint32_t shared)
{
    union {
        struct ntux_futex32_numa pair;
        uint64_t aligned;
    } word;
    uint32_t flags = NTUX_FUTEX_32 | NTUX_FUTEX_NUMA | shared;
    int known;

    word.pair.value = 0;
    word.pair.hint = -1;
    known = ntux_futex_wake(&word, 1, flags);
    IS(1, known == 0 || known == -EOPNOTSUPP);
    IS(known == 0, word.pair.hint >= 0);
    IS(known == 0 ? -ETIMEDOUT : -EOPNOTSUPP, ntux_futex_wait(&word, 0, flags, &past));
    IS(known == 0 ? -EAGAIN : -EOPNOTSUPP, ntux_futex_wait(&word, 1, flags, &past));
    word.pair.hint = -7;
    IS(known == 0 ? -EINVAL : -EOPNOTSUPP, ntux_futex_wake(&word, 1, flags));
    IS(-EINVAL, ntux_futex_wake((char *)&word + 4, 1, flags));
    IS(-EOPNOTSUPP, ntux_futex_wake(&word, 1, NTUX_FUTEX_64 | NTUX_FUTEX_NUMA | shared));
    IS(-7, word.pair.hint);
}

static void *spinning_waiter(void *argument)
{
    uint32_t flags = *(uint32_t *)argument;
    int result;

    UNTIL(result, ntux_futex_wait_spin(words + 1, 0, flags, NULL));
    __atomic_store_n(&woken, result == 0 ? 1 : -1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* A misaligned private word, with a spin in front of the wait. */
static void spins(uint32_t flags)
{
    pthread_t thread;

    IS(-EAGAIN, ntux_futex_wait_spin(words + 1, 1, flags, NULL));
    IS(-ETIMEDOUT, ntux_futex_wait_spin(words + 1, 0, flags, &past));
    IS(-EFAULT, ntux_futex_wait_spin(NULL, 0, flags, NULL));
    IS(-EINVAL, ntux_futex_wait_spin(words, 0, flags | 32u, NULL));
    IS(-EINVAL, ntux_futex_wait_spin(words, 0, flags, &(struct timespec){ -1, 0 }));
    woken = 0;
    if (pthread_create(&thread, NULL, spinning_waiter, &flags) != 0)
        _exit(2);
    while (ntux_futex_wake(words + 1, 1, flags) != 1)
        ;
    pthread_join(thread, NULL);
    IS(1, woken);
    IS(0, ntux_futex_wake(words, 9, flags));
}

int main(void)
{
    alarm(60);
    multiples(0);
    multiples(NTUX_FUTEX_SHARED);
    nodes(0);
    nodes(NTUX_FUTEX_SHARED);
    for (unsigned i = 0; i < 4; i++) {
        for (uint32_t shared = 0; shared <= NTUX_FUTEX_SHARED; shared += NTUX_FUTEX_SHARED) {
            wakes(sizes[i] | shared, 0, 0);
            wakes(sizes[i] | shared, 0, 1);
            if (shared == 0)
                wakes(sizes[i], 1, 0);
            wrong_words(sizes[i] | shared);
        }
        if (i > 0)
            IS(-EINVAL, ntux_futex_wait(words + 1, 0, sizes[i] | NTUX_FUTEX_SHARED, NULL));
        spins(sizes[i]);
    }
    /* A value that no word of 8 bits holds. */
    IS(-EAGAIN, ntux_futex_wait(words, 256, NTUX_FUTEX_8, NULL));
#ifdef PLANTED
    IS(1, ntux_futex_wake(words, 1, NTUX_FUTEX_8));
#endif
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
