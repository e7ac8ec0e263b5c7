/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two processes share an arena by fork: they count under a mutex, meet with wait-all, and one inherits the
 * mutex of the other, which is killed. Prints what happened; exits with 0 if it is what should happen.
 *
 *     cc fork.c $(pkg-config --cflags --libs ntux)
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <ntux.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARENT = 1, CHILD = 2, ROUNDS = 20000 };

static ntux_arena *arena;
static ntux_object mutex, counted, go, locked;
static volatile int *counter;

static void check(const char *what, int result)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(-result));
        exit(1);
    }
}

static int wait_for(ntux_object object, uint32_t owner)
{
    return ntux_wait_any(arena, &object, 1, 0, owner, 0, NTUX_NEVER, NULL);
}

static void count(uint32_t owner)
{
    int i;

    for (i = 0; i < ROUNDS; i++) {
        check("lock", wait_for(mutex, owner));
        *counter = *counter + 1;
        check("unlock", ntux_mutex_unlock(arena, mutex, owner, NULL));
    }
}

static void child(void)
{
    count(CHILD);
    check("set", ntux_event_set(arena, counted, NULL));
    check("wait", wait_for(go, CHILD));
    check("lock", wait_for(mutex, CHILD));
    check("set", ntux_event_set(arena, locked, NULL));
    for (;;)
        pause();
}

int main(void)
{
    ntux_object both[2];
    pid_t pid;
    int poll, inherited;

    counter = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check("arena", ntux_arena_create(1024, 64, &arena));
    check("mutex", ntux_mutex_create(arena, 0, 0, &mutex));
    check("event", ntux_event_create(arena, 0, 0, &counted));
    check("event", ntux_event_create(arena, 0, 0, &go));
    check("event", ntux_event_create(arena, 0, 0, &locked));

    pid = fork();
    if (pid == 0)
        child();

    count(PARENT);
    both[0] = mutex;
    both[1] = counted;
    check("wait for all", ntux_wait_all(arena, both, 2, 0, PARENT, 0, NTUX_NEVER, NULL));
    printf("counted to %d\n", *counter);
    check("unlock", ntux_mutex_unlock(arena, mutex, PARENT, NULL));

    check("set", ntux_event_set(arena, go, NULL));
    check("wait", wait_for(locked, PARENT));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    poll = ntux_wait_any(arena, &mutex, 1, 0, PARENT, 0, 0, NULL);
    printf("the child is dead and still owns the mutex: %s\n", poll == -ETIMEDOUT ? "yes" : "no");

    check("kill", ntux_mutex_kill(arena, mutex, CHILD));
    inherited = wait_for(mutex, PARENT);
    printf("inherited, and told so: %s\n", inherited == -EOWNERDEAD ? "yes" : "no");
    check("detach", ntux_arena_detach(arena));
    return *counter == 2 * ROUNDS && poll == -ETIMEDOUT && inherited == -EOWNERDEAD ? 0 : 1;
}
