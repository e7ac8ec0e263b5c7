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

static const uint32_t sizes[] = { NTUX_FUTEX_8, NTUX_FUTEX_16, NTUX_FUTEX_32, NTUX_FUTEX_64 };
static const struct timespec past = { 0, 1 };
static uint64_t memory[4];
static unsigned char *const words = (unsigned char *)memory;
static int woken; /* read after the thread has ended */

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
    result = job->vector ? ntux_futex_waitv(both, 2, 0, NULL) : ntux_futex_wait(words, 0, job->flags, NULL);
    woken = result == (job->vector ? 1 : 0) ? 1 : -1;
    return NULL;
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
    if (moved) {
        while (ntux_futex_requeue(&from, &to, 0, 1, 0, 0) != 1)
            ;
        if (!(flags & NTUX_FUTEX_SHARED))
            IS(1, ntux_futex_wake(words + 16, 9, NTUX_FUTEX_32));
    } else {
        while (ntux_futex_wake(words, 1, flags) != 1)
            ;
    }
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
    IS(-EINVAL, ntux_futex_wait(words, 0, flags | 16u, NULL));
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

int main(void)
{
    alarm(60);
    for (unsigned i = 0; i < 4; i++) {
        for (uint32_t shared = 0; shared <= NTUX_FUTEX_SHARED; shared += NTUX_FUTEX_SHARED) {
            wakes(sizes[i] | shared, 0, 0);
            wakes(sizes[i] | shared, 0, 1);
            if (shared == 0)
                wakes(sizes[i], 1, 0);
            wrong_words(sizes[i] | shared);
        }
        if (i > 0)
            IS(-EINVAL, ntux_futex_wait(words + 1, 0, sizes[i], NULL));
    }
    /* A value that no word of 8 bits holds. */
    IS(-EAGAIN, ntux_futex_wait(words, 256, NTUX_FUTEX_8, NULL));
#ifdef PLANTED
    IS(1, ntux_futex_wake(words, 1, NTUX_FUTEX_8));
#endif
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
