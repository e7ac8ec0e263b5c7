/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Explicit waiters: what a wait does when a signal comes, what a handler may do, and what a supervisor says of the dead.
 * With -DPLANTED one expectation is wrong, which must be noticed. */
#define _GNU_SOURCE
#include <errno.h>
#include <ntux.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* macOS sends no values with signals, and the number of a thread is not that of its process. */
#include "system.h"

static int failures, checks;

static void expect(const char *what, int line, long long is, long long expected)
{
    __atomic_add_fetch(&checks, 1, __ATOMIC_RELAXED);
    if (is == expected)
        return;
    if (__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED) <= 20)
        printf("waiters.c:%d: %s is %lld, not %lld\n", line, what, is, expected);
}

#define IS(expected, what) expect(#what, __LINE__, what, expected)
#define OWNER 7u

static ntux_arena *arena;
static __thread ntux_waiter *waiter;

/* What the handler of SIGUSR1 is to do, and what it saw. */
static enum { NOTE, STAY, SWALLOW, JUMP, END, END_AND_KEEP } todo;
static int arrived, ran, value, stays[2];
static ntux_object lured;
static jmp_buf out_of_here;

static int load(int *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

static void wait_for(int *word, int count)
{
    while (load(word) < count)
        usleep(500);
}

static void handler(int signal, siginfo_t *info, void *context)
{
    char byte;

    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    if (ntux_waiter_defer(waiter, signal, info, context))
        return;
    value = info->si_value.sival_int;
    __atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
    switch (todo) {
    case STAY:
        IS(1, read(stays[0], &byte, 1));
        break;
    case SWALLOW:
        IS(0, ntux_waiter_wait_any(waiter, &lured, 1, 0, OWNER, 0, 0, NULL));
        break;
    case JUMP:
        longjmp(out_of_here, 1);
    case END:
        IS(0, ntux_waiter_give_back(waiter));
        /* fall through */
    case END_AND_KEEP:
        pthread_exit(NULL);
    default:
        break;
    }
}

/* Holds its thread where it is, in its queues: it does not ask. */
static void hold(int signal)
{
    char byte;

    (void)signal;
    __atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
    while (read(stays[0], &byte, 1) < 0 && errno == EINTR)
        ;
}

static void install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = handler;
    IS(0, sigaction(SIGUSR1, &action, NULL));
    action.sa_flags = SA_RESTART;
    action.sa_handler = hold;
    IS(0, sigaction(SIGUSR2, &action, NULL));
}

/* A thread that waits once. */
struct waiting {
    pthread_t thread;
    const ntux_object *objects;
    uint32_t count, index;
    int all, result, masked;
    uint64_t number;
};

static void *wait_once(void *argument)
{
    struct waiting *wait = argument;
    sigset_t mask;

    IS(0, ntux_waiter_create(arena, &waiter));
    __atomic_store_n(&wait->number, this_thread(), __ATOMIC_SEQ_CST);
    wait->result = (wait->all ? ntux_waiter_wait_all : ntux_waiter_wait_any)(waiter, wait->objects, wait->count, 0, OWNER,
                                                                           0, NTUX_NEVER, &wait->index);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    wait->masked = sigismember(&mask, SIGUSR1) || sigismember(&mask, SIGUSR2) || sigismember(&mask, SIGTERM);
    IS(0, ntux_waiter_destroy(waiter));
    return NULL;
}

/* Starts it, and returns when it sleeps. */
static void start(struct waiting *wait, const ntux_object *objects, uint32_t count, int all)
{
    memset(wait, 0, sizeof(*wait));
    wait->objects = objects;
    wait->count = count;
    wait->all = all;
    wait->result = 1;
    arrived = ran = 0;
    IS(0, pthread_create(&wait->thread, NULL, wait_once, wait));
    do
        usleep(2000);
    while (!is_asleep(__atomic_load_n(&wait->number, __ATOMIC_SEQ_CST)));
}

static void go_on(void) { IS(1, write(stays[1], "", 1)); }

static uint32_t signaled(ntux_object event)
{
    uint32_t is = 99;

    IS(0, ntux_event_read(arena, event, NULL, &is));
    return is;
}

/* While the handler runs the thread is in no queue: nobody takes what is signaled meanwhile. */
static void out_of_all_queues(int all)
{
    ntux_object events[2];
    struct waiting wait;

    IS(0, ntux_event_create(arena, 0, 0, &events[0]));
    IS(0, ntux_event_create(arena, 0, 0, &events[1]));
    todo = STAY;
    start(&wait, events, 2, all);
    IS(0, send_with_number(wait.thread, SIGUSR1, 4711));
    wait_for(&ran, 1);
    IS(2, load(&arrived)); /* once inside, once at the door */
    IS(SENDS_NUMBERS ? 4711 : 0, value);
    IS(0, ntux_event_set(arena, events[0], NULL));
    IS(0, ntux_event_set(arena, events[1], NULL));
    IS(1, signaled(events[0]));
    IS(1, signaled(events[1]));
    go_on();
    IS(0, pthread_join(wait.thread, NULL));
    IS(-EINTR, wait.result);
    IS(0, wait.masked);
    IS(1, signaled(events[0]));
}

/* Was granted before the handler came: it has it afterwards. */
static void granted_first(int end, int kind, uint32_t count_after)
{
    ntux_object object, other;
    struct waiting wait;
    uint32_t is = 99;

    IS(0, ntux_event_create(arena, 0, 0, &other));
    if (kind == 0)
        IS(0, ntux_event_create(arena, 0, 0, &object));
    else if (kind == 1)
        IS(0, ntux_semaphore_create(arena, 0, 5, &object));
    else
        IS(0, ntux_mutex_create(arena, 9, 1, &object));
    ntux_object both[2];
    both[0] = other;
    both[1] = object;
    todo = end;
    start(&wait, both, 2, 0);
    IS(0, pthread_kill(wait.thread, SIGUSR2)); /* stays in the queues */
    wait_for(&ran, 1);
    if (kind == 0)
        IS(0, ntux_event_set(arena, object, NULL));
    else if (kind == 1)
        IS(0, ntux_semaphore_release(arena, object, 1, NULL));
    else
        IS(0, ntux_mutex_unlock(arena, object, 9, NULL));
    if (kind == 0)
        IS(0, signaled(object));
    IS(0, pthread_kill(wait.thread, SIGUSR1));
    wait_for(&arrived, 1);
    go_on();
    IS(0, pthread_join(wait.thread, NULL));
    IS(2, load(&ran));
    if (end == NOTE) {
        IS(0, wait.result);
        IS(1, wait.index);
        IS(0, wait.masked);
    }
    if (kind == 0)
        is = signaled(object);
    else if (kind == 1)
        IS(0, ntux_semaphore_read(arena, object, &is, NULL));
    else
        IS(0, ntux_mutex_read(arena, object, NULL, &is));
    IS(count_after, is);
}

/* In a bracket a handler waits for its end, and one that never returns may leave it. */
static void brackets(void)
{
    ntux_object event;

    IS(0, ntux_waiter_create(arena, &waiter));
    IS(0, ntux_event_create(arena, 0, 1, &event));
    arrived = ran = 0;
    todo = NOTE;
    IS(0, ntux_waiter_enter(waiter));
    IS(0, ntux_waiter_enter(waiter));
    raise(SIGUSR1);
    raise(SIGUSR2); /* blocked: it comes at the door, too */
    IS(1, load(&arrived));
    IS(0, load(&ran));
    IS(-EINTR, ntux_waiter_wait_any(waiter, &event, 1, 0, OWNER, 0, NTUX_NEVER, NULL));
    IS(1, signaled(event));
    IS(0, ntux_waiter_leave(waiter));
    IS(0, load(&ran));
    go_on();
    IS(0, ntux_waiter_leave(waiter));
    IS(2, load(&arrived));
    IS(2, load(&ran));

    raise(SIGUSR1); /* outside: at once */
    IS(3, load(&ran));

    todo = SWALLOW; /* a handler may wait */
    lured = event;
    ntux_waiter_enter(waiter);
    raise(SIGUSR1);
    ntux_waiter_leave(waiter);
    IS(0, signaled(event));

    todo = JUMP;
    if (!setjmp(out_of_here)) {
        ntux_waiter_enter(waiter);
        raise(SIGUSR1);
        ntux_waiter_leave(waiter);
        IS(1, 0);
    }
    IS(0, ntux_event_set(arena, event, NULL));
    IS(0, ntux_waiter_wait_any(waiter, &event, 1, 0, OWNER, 0, 0, NULL));
    IS(-ETIMEDOUT, ntux_waiter_wait_all(waiter, &event, 1, 0, OWNER, 0, 0, NULL));
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL); /* a longjmp of the C library leaves the handler's mask */
    IS(0, ntux_waiter_destroy(waiter));
    waiter = NULL;
}

/* Signals without end: each wait is satisfied or interrupted, and no unit gets lost. */
static int stop, units;
static ntux_object shop;

static void *buy(void *unused)
{
    int bought = 0, result;

    IS(0, ntux_waiter_create(arena, &waiter));
    while (!load(&stop)) {
        result = ntux_waiter_wait_any(waiter, &shop, 1, 0, OWNER, 0, NTUX_NEVER, NULL);
        if (result == 0)
            bought++;
        else if (result != -EINTR)
            IS(-EINTR, result);
    }
    IS(0, ntux_waiter_destroy(waiter));
    __atomic_add_fetch(&units, bought, __ATOMIC_SEQ_CST);
    return unused;
}

static void storm(void)
{
    pthread_t buyer[2];
    uint32_t left = 0;
    int i, sold = 0;

    todo = NOTE;
    IS(0, ntux_semaphore_create(arena, 0, 1000000, &shop));
    for (i = 0; i < 2; i++)
        IS(0, pthread_create(&buyer[i], NULL, buy, NULL));
    for (i = 0; i < 4000; i++) {
        IS(0, ntux_semaphore_release(arena, shop, 1, NULL));
        sold++;
        IS(0, pthread_kill(buyer[i % 2], SIGUSR1));
    }
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    IS(0, ntux_semaphore_release(arena, shop, 2, NULL));
    for (i = 0; i < 2; i++) {
        IS(0, pthread_kill(buyer[i], SIGUSR1));
        IS(0, pthread_join(buyer[i], NULL));
    }
    IS(0, ntux_semaphore_read(arena, shop, &left, NULL));
    IS(sold + 2, units + (int)left);
}

static uint64_t last;

static void *last_words(void *event)
{
    IS(0, ntux_waiter_create(arena, &waiter));
    last = this_thread();
    IS(-ETIMEDOUT, ntux_waiter_wait_any(waiter, event, 2, 0, OWNER, 0, 1, NULL));
    return NULL; /* keeps its place */
}

/* A child dies in a wait, and as the owner of mutexes. */
static void the_dead(void)
{
    ntux_object events[2], mine[3];
    pthread_t thread;
    uint32_t count = 99, owner = 99;
    int child, status, i, tries = 0;
    struct timespec moment = { 0, 20000000 };

    for (i = 0; i < 2; i++)
        IS(0, ntux_event_create(arena, 0, 0, &events[i]));
    for (i = 0; i < 3; i++)
        IS(0, ntux_mutex_create(arena, i == 2 ? 78u : 77u, 40, &mine[i]));
    IS(3, ntux_mutex_kill_all(arena, 77, &count) ? 0 : count + 1);
    IS(-EOWNERDEAD, ntux_mutex_read(arena, mine[0], &owner, NULL));
    IS(0, owner);
    IS(-EOWNERDEAD, ntux_mutex_read(arena, mine[1], NULL, NULL));
    IS(0, ntux_mutex_read(arena, mine[2], &owner, NULL));
    IS(78, owner);
    IS(0, ntux_mutex_kill_all(arena, 77, &count));
    IS(0, count);
    IS(-ESRCH, ntux_mutex_kill_all(arena, 0, &count));

    child = fork();
    if (!child) {
        ntux_wait_any(arena, events, 2, 0, OWNER, 0, NTUX_NEVER, NULL);
        _exit(1);
    }
    /* Until it has begun to wait nobody knows of it, and there is nothing to bury. */
    do
        nanosleep(&moment, NULL);
    while (ntux_arena_bury_process(arena, (uint32_t)child) == 0 && ++tries < 500);
    IS(-EBUSY, ntux_arena_bury_process(arena, (uint32_t)child));
    if (IS_LINUX)
        IS(-EBUSY, ntux_arena_bury_thread(arena, (uint32_t)child, (uint64_t)child));
    IS(0, kill(child, SIGKILL));
    IS(child, waitpid(child, &status, 0));
    IS(0, ntux_arena_bury_thread(arena, (uint32_t)child, (uint64_t)child));
    IS(0, ntux_arena_bury_process(arena, (uint32_t)child));
    IS(0, ntux_arena_bury_process(arena, (uint32_t)child));
    IS(0, ntux_event_set(arena, events[0], NULL));
    IS(1, signaled(events[0]));
    IS(0, ntux_event_reset(arena, events[0], NULL));

    IS(0, pthread_create(&thread, NULL, last_words, events));
    IS(0, pthread_join(thread, NULL));
    while (state_of(last))
        usleep(1000);
    IS(0, ntux_arena_bury_thread(arena, (uint32_t)getpid(), last));
}

static void refusals(void)
{
    struct { char bytes[64]; } context;
    ntux_waiter *odd = (ntux_waiter *)1;
    ntux_object twice[2], with_closed[2];

    IS(0, ntux_event_create(arena, 0, 0, twice));
    IS(0, ntux_event_create(arena, 0, 0, with_closed + 1));
    IS(0, ntux_object_close(arena, with_closed[1]));
    twice[1] = with_closed[0] = twice[0];

    IS(-EFAULT, ntux_waiter_create(arena, NULL));
    IS(-EFAULT, ntux_waiter_create(NULL, &waiter));
    IS(-EFAULT, ntux_waiter_destroy(NULL));
    IS(-EFAULT, ntux_waiter_give_back(NULL));
    IS(-EFAULT, ntux_waiter_enter(NULL));
    IS(-EFAULT, ntux_waiter_leave(NULL));
    IS(-EINVAL, ntux_waiter_leave(odd));
    IS(0, ntux_waiter_defer(NULL, SIGUSR1, NULL, &context));
    IS(0, ntux_waiter_create(arena, &waiter));
    IS(-EINVAL, ntux_waiter_defer(waiter, 0, NULL, &context));
    IS(-EINVAL, ntux_waiter_defer(waiter, 65, NULL, &context));
    IS(-EFAULT, ntux_waiter_defer(waiter, SIGUSR1, NULL, NULL));
    IS(-ESRCH, ntux_waiter_wait_any(waiter, NULL, 0, 0, 0, 0, 0, NULL));
    IS(-E2BIG, ntux_waiter_wait_any(waiter, NULL, 65, 0, 1, 0, 0, NULL));
    IS(-EEXIST, ntux_waiter_wait_all(waiter, twice, 2, 0, 1, 0, 0, NULL));
    IS(-EBADF, ntux_waiter_wait_any(waiter, with_closed, 2, 0, 1, 0, 0, NULL));
    IS(-EBADF, ntux_waiter_wait_all(waiter, with_closed, 2, 0, 1, 0, 0, NULL));
    IS(-EBADF, ntux_waiter_wait_any(waiter, twice, 1, with_closed[1], 1, 0, 0, NULL));
    IS(-EFAULT, ntux_waiter_wait_all(waiter, NULL, 1, 0, 1, 0, 0, NULL));
    IS(-EFAULT, ntux_waiter_wait_any(NULL, NULL, 0, 0, 1, 0, 0, NULL));
    IS(0, ntux_waiter_give_back(waiter));
    IS(0, ntux_waiter_destroy(waiter));
    waiter = NULL;
}

int main(void)
{
    IS(0, pipe(stays));
    IS(0, ntux_arena_create(4096, 64, &arena));
    install();
    refusals();
    out_of_all_queues(0);
    out_of_all_queues(1);
    granted_first(NOTE, 0, 0);
    granted_first(NOTE, 1, 0);
    granted_first(END, 0, 1);
    granted_first(END, 1, 1);
    granted_first(END, 2, 0);
    granted_first(END_AND_KEEP, 0, 0); /* shows that giving back makes the difference */
    granted_first(END_AND_KEEP, 2, 1);
    brackets();
    storm();
    the_dead();
#ifdef PLANTED
    IS(-EINTR, ntux_wait_all(arena, NULL, 0, 0, OWNER, 0, 0, NULL));
#endif
    IS(0, ntux_arena_detach(arena));
    printf("%d checks, %d failures\n", checks, failures);
    return failures ? 1 : 0;
}
