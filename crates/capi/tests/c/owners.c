/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Mutexes whose owners return, are killed, or are ended, and the ends of these: who waits is told, and nobody else does anything.
 * With -DPLANTED one owner goes on, which must be noticed. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <ntux.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures, checks;

static void expect(const char *what, int line, long long is, long long expected)
{
    checks++;
    if (is == expected)
        return;
    if (++failures <= 20)
        printf("owners.c:%d: %s is %lld, not %lld\n", line, what, is, expected);
}

#define IS(expected, what) expect(#what, __LINE__, what, expected)

static ntux_arena *arena;
static ntux_object mutex, other;

static int lock(ntux_object which, uint32_t owner, int64_t deadline)
{
    return ntux_wait_any(arena, &which, 1, 0, owner, 0, deadline, NULL);
}

static uint32_t mine(void)
{
    uint32_t owner = 0;

    IS(0, ntux_owner_of_thread(arena, &owner));
    return owner;
}

static void *returns_with_it(void *number)
{
    *(uint32_t *)number = mine();
    IS(0, lock(mutex, mine(), NTUX_NEVER));
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    uint32_t theirs;

    IS(0, pthread_create(&thread, NULL, returns_with_it, &theirs));
    IS(0, pthread_join(thread, NULL));
    IS(1, theirs >> 31);
    IS(1, mine() != theirs);
    IS(mine(), mine());
    IS(-EOWNERDEAD, lock(mutex, mine(), 0));
    IS(0, ntux_mutex_unlock(arena, mutex, mine(), NULL));
}

/* A child that has both when it is killed, some time after it has told. */
static void processes(void)
{
    int ready[2], status;
    char byte = 0;
    pid_t child;

    IS(0, pipe(ready));
    child = fork();
    if (child == 0) {
        int bad = lock(mutex, mine(), 0) != 0 || lock(other, mine(), 0) != 0;
        bad |= write(ready[1], &byte, 1) != 1;
        pause();
        _exit(bad);
    }
    IS(1, read(ready[0], &byte, 1));
    IS(-ETIMEDOUT, lock(mutex, mine(), 0));
    if (fork() == 0) {
        usleep(20000);
        kill(child, SIGKILL);
        _exit(0);
    }
    IS(-EOWNERDEAD, lock(mutex, mine(), NTUX_NEVER));
    IS(child, waitpid(child, &status, 0));
    wait(NULL);
    IS(-ETIMEDOUT, lock(other, 7, 0)); /* a number of the program's looks at nobody */
    IS(-EOWNERDEAD, lock(other, mine(), 0));
    IS(0, ntux_mutex_unlock(arena, mutex, mine(), NULL));
    IS(0, ntux_mutex_unlock(arena, other, mine(), NULL));
    close(ready[0]);
    close(ready[1]);
}

static void requests(void)
{
    uint32_t one, two;

    IS(0, ntux_owner_create(arena, &one));
    IS(0, ntux_owner_create(arena, &two));
    IS(1, one != two);
    IS(0, lock(mutex, one, 0));
    IS(0, lock(other, two, 0));
#ifndef PLANTED
    IS(0, ntux_owner_end(arena, one));
#endif
    IS(-EOWNERDEAD, lock(mutex, two, 0)); /* The failure that is planted. */
    IS(-ETIMEDOUT, lock(other, mine(), 0));
    IS(0, ntux_owner_end(arena, two));
    IS(-EINVAL, ntux_owner_end(arena, two));
    IS(-EINVAL, ntux_owner_end(arena, 7));
    IS(-EINVAL, ntux_owner_end(arena, 0));
}

static void *reports(void *end)
{
    IS(0, ntux_end_create(arena, mine(), end));
    IS(-ETIMEDOUT, lock(*(ntux_object *)end, 7, 0));
    IS(0, ntux_end_report(arena, *(ntux_object *)end, 1));
    IS(0, ntux_end_report(arena, *(ntux_object *)end, 2));
    return NULL;
}

static void ends(void)
{
    pthread_t thread;
    ntux_object end, both[2];
    uint32_t owner, of, ended = 7, code = 7, index;

    IS(0, pthread_create(&thread, NULL, reports, &end));
    IS(0, pthread_join(thread, NULL));
    IS(NTUX_KIND_END, ntux_object_kind(arena, end));
    IS(0, lock(end, 7, NTUX_NEVER));
    IS(0, lock(end, mine(), NTUX_NEVER));
    IS(0, ntux_end_read(arena, end, NULL, &ended, &code));
    IS(1, ended);
    IS(2, code);
    IS(-EALREADY, ntux_end_report(arena, end, 3));
    IS(0, ntux_object_release(arena, end));

    IS(0, ntux_owner_create(arena, &owner));
    IS(0, ntux_end_create(arena, owner, &end));
    IS(0, ntux_end_read(arena, end, &of, &ended, &code));
    IS(owner, of);
    IS(0, ended);
    IS(0, code);
    both[0] = mutex;
    both[1] = end;
    IS(-ETIMEDOUT, ntux_wait_all(arena, both, 2, 0, 7, 0, 0, NULL));
    IS(0, ntux_owner_end(arena, owner));
    IS(0, ntux_wait_all(arena, both, 2, 0, 7, 0, NTUX_NEVER, NULL));
    IS(0, ntux_wait_any(arena, &both[1], 1, 0, 7, 0, NTUX_NEVER, &index));
    IS(0, ntux_mutex_unlock(arena, mutex, 7, NULL));
    IS(-EOWNERDEAD, ntux_end_read(arena, end, NULL, &ended, NULL));
    IS(1, ended);
    IS(0, ntux_object_release(arena, end));

    IS(-ESRCH, ntux_end_create(arena, 0, &end));
    IS(-ESRCH, ntux_end_create(arena, 7, &end));
    IS(-EFAULT, ntux_end_create(arena, owner, NULL));
    IS(-EFAULT, ntux_end_report(NULL, end, 1));
    IS(-EPROTOTYPE, ntux_end_report(arena, mutex, 1));
    IS(-EPROTOTYPE, ntux_end_read(arena, mutex, NULL, NULL, NULL));
    IS(-EBADF, ntux_end_read(arena, end, NULL, NULL, NULL));
}

static void refusals(void)
{
    uint32_t owner;

    IS(-EFAULT, ntux_owner_of_thread(NULL, &owner));
    IS(-EFAULT, ntux_owner_of_thread(arena, NULL));
    IS(-EINVAL, ntux_owner_create(arena, (uint32_t *)1));
    IS(-EFAULT, ntux_owner_end(NULL, 1));
}

int main(void)
{
    uint32_t owner;
    int i;

    alarm(60);
    IS(0, ntux_arena_create(64, 4, &arena));
    IS(0, ntux_mutex_create(arena, 0, 0, &mutex));
    IS(0, ntux_mutex_create(arena, 0, 0, &other));
    threads();
    processes();
    ends();
    refusals();
    requests();
    for (i = 0; i < 4 && ntux_owner_create(arena, &owner) == 0; i++)
        ;
    IS(-ENOMEM, ntux_owner_create(arena, &owner));
    IS(0, ntux_arena_detach(arena));
    printf("%d checks, %d failures\n", checks, failures);
    return failures ? 1 : 0;
}
