/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Futex domains between two processes that have the same memory at different addresses, and every wrong call that can be
 * told. With -DPLANTED one expectation is wrong, which must be noticed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ntux.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "system.h"

static int failures, checks;

static void expect(const char *call, int line, int result, int expected)
{
    checks++;
    if (result == expected)
        return;
    if (++failures <= 20)
        printf("domains.c:%d: %s is %d, not %d\n", line, call, result, expected);
}

#define IS(expected, call) expect(#call, __LINE__, call, expected)

static const uint32_t sizes[] = { NTUX_FUTEX_8, NTUX_FUTEX_16, NTUX_FUTEX_32, NTUX_FUTEX_64 };
static const struct timespec past = { 0, 1 };

/* The same page twice. */
static unsigned char *here, *there;

static struct ntux_futex_domain_word word_at(unsigned char *base, uint64_t offset, uint32_t size, uint64_t val)
{
    struct ntux_futex_domain_word word;

    word.place = offset;
    word.val = val;
    word.uaddr = base + offset;
    word.flags = size;
    word.bitset = UINT32_MAX;
    return word;
}

/* A process that attaches the domain and waits for three words of different sizes; it ends with which was woken. */
static pid_t waiter(int fd, uint32_t size)
{
    struct ntux_futex_domain_word words[3];
    ntux_futex_domain *domain;
    int result = 99;
    pid_t child = fork();

    if (child != 0)
        return child;
    words[0] = word_at(there, 16, NTUX_FUTEX_64, 0);
    words[1] = word_at(there, 8, size, 0);
    words[2] = word_at(there, 24, NTUX_FUTEX_8, 0);
    words[2].bitset = 2;
    if (ntux_futex_domain_attach(fd, &domain) == 0)
        do
            result = ntux_futex_domain_wait(domain, words, 3, 0, NULL);
        while (result == -EINTR);
    _exit(result);
}

static int ended(pid_t child)
{
    int status = -1;

    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void right_calls(const ntux_futex_domain *domain, uint32_t size)
{
    struct ntux_futex_domain_word from = word_at(here, 8, size, 0);
    int result, fd = ntux_futex_domain_fd(domain);
    pid_t child = waiter(fd, size);

    while (ntux_futex_domain_wake(domain, 8, 9, size, UINT32_MAX) != 1)
        sched_yield();
    IS(1, ended(child));
    child = waiter(fd, size);
    while (ntux_futex_domain_wake(domain, 24, 9, NTUX_FUTEX_8, 6) != 1) {
        IS(0, ntux_futex_domain_wake(domain, 24, 9, NTUX_FUTEX_8, 4));
        IS(0, ntux_futex_domain_wake(domain, 24, 9, NTUX_FUTEX_16, 2));
        checks -= 2;
        sched_yield();
    }
    IS(2, ended(child));
    /* Moved to a word of another size, it tells the word that it waited for. If a signal ends its wait just then (the simulated
     * macOS sees to that), it waits again where it was. */
    child = waiter(fd, size);
    do {
        while (ntux_futex_domain_requeue(domain, &from, 32, NTUX_FUTEX_16, 0, 1) != 1)
            sched_yield();
        if (IS_LINUX)
            IS(0, ntux_futex_domain_wake(domain, 8, 9, size, UINT32_MAX));
        result = ntux_futex_domain_wake(domain, 32, 9, NTUX_FUTEX_16, UINT32_MAX);
        if (IS_LINUX)
            IS(1, result);
    } while (result != 1);
    IS(1, ended(child));
}

static void wrong_calls(ntux_futex_domain *domain, uint32_t size)
{
    struct ntux_futex_domain_word word = word_at(here, 8, size, 0), wrong = word;
    struct ntux_futex_domain_word many[NTUX_FUTEX_WAITV_MAX + 1];

    for (unsigned i = 0; i <= NTUX_FUTEX_WAITV_MAX; i++)
        many[i] = word;
    IS(-ETIMEDOUT, ntux_futex_domain_wait(domain, many, NTUX_FUTEX_WAITV_MAX, 0, &past));
    IS(-ETIMEDOUT, ntux_futex_domain_wait(domain, many, 1, NTUX_FUTEX_REALTIME, &past));
    IS(-EINVAL, ntux_futex_domain_wait(domain, many, NTUX_FUTEX_WAITV_MAX + 1, 0, &past));
    IS(-EINVAL, ntux_futex_domain_wait(domain, many, 0, 0, &past));
    IS(-EINVAL, ntux_futex_domain_wait(domain, many, 1, NTUX_FUTEX_SHARED, &past));
    IS(-EINVAL, ntux_futex_domain_wait(domain, many, 1, 0, &(struct timespec){ 0, -1 }));
    IS(-EFAULT, ntux_futex_domain_wait(domain, NULL, 1, 0, &past));
    IS(-EFAULT, ntux_futex_domain_wait(NULL, many, 1, 0, &past));
    wrong.val = 1;
    IS(-EAGAIN, ntux_futex_domain_wait(domain, &wrong, 1, 0, &past));
    IS(-EAGAIN, ntux_futex_domain_requeue(domain, &wrong, 16, size, 1, 1));
    wrong = word;
    wrong.bitset = 0;
    IS(-EINVAL, ntux_futex_domain_wait(domain, &wrong, 1, 0, &past));
    wrong = word;
    wrong.place = (uint64_t)1 << 60;
    IS(-EINVAL, ntux_futex_domain_wait(domain, &wrong, 1, 0, &past));
    wrong = word;
    wrong.flags = size | NTUX_FUTEX_SHARED;
    IS(-EINVAL, ntux_futex_domain_wait(domain, &wrong, 1, 0, &past));
    wrong = word;
    wrong.uaddr = NULL;
    IS(-EFAULT, ntux_futex_domain_wait(domain, &wrong, 1, 0, &past));
    wrong.uaddr = here + 1;
    IS(size == NTUX_FUTEX_8 ? -ETIMEDOUT : -EINVAL, ntux_futex_domain_wait(domain, &wrong, 1, 0, &past));
    IS(-EINVAL, ntux_futex_domain_wake(domain, 8, 1, size, 0));
    IS(-EINVAL, ntux_futex_domain_wake(domain, 8, 1, size | 4, 1));
    IS(-EINVAL, ntux_futex_domain_wake(domain, UINT64_MAX, 1, size, 1));
    IS(-EFAULT, ntux_futex_domain_wake(NULL, 8, 1, size, 1));
    IS(-EFAULT, ntux_futex_domain_requeue(domain, NULL, 16, size, 1, 1));
    IS(-EINVAL, ntux_futex_domain_requeue(domain, &word, 16, 4, 1, 1));
    IS(0, ntux_futex_domain_requeue(domain, &word, 16, size, 1, 1));
}

static void domains(void)
{
    ntux_futex_domain *domain = NULL;
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

    IS(-EINVAL, ntux_futex_domain_create(0, &domain));
    IS(-EINVAL, ntux_futex_domain_create(65537, &domain));
    IS(-EFAULT, ntux_futex_domain_create(1, NULL));
    IS(-EBADF, ntux_futex_domain_attach(-1, &domain));
    IS(-EBADF, ntux_futex_domain_attach(file + 1, &domain));
    IS(-ENOTTY, ntux_futex_domain_attach(file, &domain));
    IS(1, domain == NULL);
    IS(0, ntux_futex_domain_create(65536, &domain));
    IS(-EFAULT, ntux_futex_domain_attach(ntux_futex_domain_fd(domain), NULL));
    IS(0, ntux_futex_domain_detach(domain));
    IS(-EFAULT, ntux_futex_domain_detach(NULL));
    IS(-EFAULT, ntux_futex_domain_fd(NULL));
    close(file);
}

int main(void)
{
    ntux_futex_domain *domain;
    int memory = new_file();

    alarm(60);
    if (memory < 0 || ftruncate(memory, 4096) != 0)
        return 2;
    here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    IS(1, here != MAP_FAILED && there != MAP_FAILED);
    domains();
    IS(0, ntux_futex_domain_create(8, &domain));
    for (unsigned i = 0; i < 4; i++) {
        right_calls(domain, sizes[i]);
        wrong_calls(domain, sizes[i]);
    }
    IS(0, ntux_futex_domain_detach(domain));
#ifdef PLANTED
    IS(0, ntux_futex_domain_create(0, &domain));
#endif
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
