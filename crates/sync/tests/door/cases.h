/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cases for doors (crates/sync/src/door.rs), which every face must pass. A program defines the functions below and includes
 * this; it runs the case that its argument names, or all, each in a process of its own.
 *
 * On Linux some cases run a wait one instruction at a time, and send signals at each. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "../../../capi/tests/c/system.h"
#ifndef __APPLE__
#include <sys/syscall.h>
#endif
#if IS_LINUX && !defined(SIMULATED_MACOS)
#include <sched.h>
#include <sys/ptrace.h>
#include "../../../platform/tests/skips/skips.h"
#endif

#undef CHECK
#define CHECK(condition)                                                                                                   \
    do {                                                                                                                   \
        if (!(condition)) {                                                                                                \
            fprintf(stderr, "%s:%d: failed: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);                       \
            _exit(1);                                                                                                      \
        }                                                                                                                  \
    } while (0)

typedef uint64_t object;
#define NEVER UINT64_MAX

/* What a face defines. A thread that waits calls `arrive` first, and `depart` last. A wait returns 0 or a positive error number;
 * `again` says that it may start again after a handler, otherwise it fails with EINTR. */
static void begin(void);
static void arrive(void);
static void depart(void);
static object new_event(void);
static object new_semaphore(uint32_t count);
static object new_mutex(uint32_t owner);
static void set_event(object event);
static int is_set(object event);
static void release(object semaphore);
static uint32_t units(object semaphore);
static void unlock(object mutex, uint32_t owner);
static int wait_for(int all, const object *objects, uint32_t count, uint64_t deadline, int again, uint32_t *index);
/* Whether the handler is to return at once; always 0 if the face is in front of it. */
static int must_return(int signal, siginfo_t *info, void *context);

#define SECOND 1000000000ull

static int poll_for(object one)
{
    uint32_t index;

    return wait_for(0, &one, 1, 0, 1, &index);
}

/* All 64 signals as the kernel has them, also those of the C library. */
static uint64_t mask_now(void)
{
#if defined(__APPLE__)
    sigset_t set;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    return set;
#else
    uint64_t mask = 0;

    CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8) == 0);
    return mask;
#endif
}

/* ---- handlers ---- */

enum { RUNS_MAX = 512 };

/* What the handler does when it runs, and what it saw. */
static void (*volatile to_do)(void);
static volatile int ran, numbers[RUNS_MAX], signals[RUNS_MAX];

static void handler(int signal, siginfo_t *info, void *context)
{
    int error = errno, run;

    if (must_return(signal, info, context)) {
        errno = error;
        return;
    }
    run = __atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
    if (run < RUNS_MAX) {
        numbers[run] = info->si_value.sival_int;
        signals[run] = signal;
    }
    if (to_do)
        to_do();
    errno = error;
}

static void handle(int signal, int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_flags = SA_SIGINFO | flags;
    action.sa_sigaction = handler;
    CHECK(sigaction(signal, &action, NULL) == 0);
}

static void until(volatile int *word, int value)
{
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
        usleep(200);
}

static int held[2];

/* Stays in the handler until `let_go`. */
static void stay(void)
{
    char byte;

    while (read(held[0], &byte, 1) < 0)
        CHECK(errno == EINTR);
}

static void let_go(void) { CHECK(write(held[1], "", 1) == 1); }

static void end_thread(void) { pthread_exit(NULL); }

static sigjmp_buf out;
static void jump_out(void) { siglongjmp(out, 1); }

/* ---- a thread that waits once ---- */

struct waiting {
    pthread_t thread;
    const object *objects;
    uint32_t count, index;
    int all, again, result, returned;
    uint64_t number, mask_before, mask_after;
};

static void *wait_once(void *argument)
{
    struct waiting *wait = argument;

    arrive();
    wait->mask_before = mask_now();
    __atomic_store_n(&wait->number, this_thread(), __ATOMIC_SEQ_CST);
    wait->result = wait_for(wait->all, wait->objects, wait->count, NEVER, wait->again, &wait->index);
    wait->mask_after = mask_now();
    wait->returned = 1;
    depart();
    return NULL;
}

/* Starts it, and returns when it sleeps. */
static void start(struct waiting *wait, int all, int again, const object *objects, uint32_t count)
{
    memset(wait, 0, sizeof(*wait));
    wait->all = all;
    wait->again = again;
    wait->objects = objects;
    wait->count = count;
    CHECK(pthread_create(&wait->thread, NULL, wait_once, wait) == 0);
    do
        usleep(1000);
    while (!is_asleep(__atomic_load_n(&wait->number, __ATOMIC_SEQ_CST)));
}

static void ends(struct waiting *wait)
{
    CHECK(pthread_join(wait->thread, NULL) == 0);
    CHECK(!wait->returned || wait->mask_before == wait->mask_after);
}

/* ---- cases ---- */

/* The thread is in no queue while its handler runs: nobody takes what is signaled meanwhile. */
static void out_of_all_queues(void)
{
    object both[2];
    struct waiting wait;
    int all;

    to_do = stay;
    for (all = 0; all < 2; all++) {
        both[0] = new_event();
        both[1] = new_event();
        handle(SIGUSR1, 0);
        start(&wait, all, 0, both, 2);
        CHECK(pthread_kill(wait.thread, SIGUSR1) == 0);
        until(&ran, all + 1);
        set_event(both[0]);
        set_event(both[1]);
        CHECK(is_set(both[0]) && is_set(both[1]));
        let_go();
        ends(&wait);
        CHECK(wait.result == EINTR && is_set(both[0]) && is_set(both[1]));
    }
}

/* It starts again behind those who came meanwhile. */
static void starts_again_at_the_end(void)
{
    object one = new_event();
    struct waiting first, second;

    to_do = NULL;
    handle(SIGUSR1, SA_RESTART);
    start(&first, 0, 1, &one, 1);
    start(&second, 0, 1, &one, 1);
    CHECK(pthread_kill(first.thread, SIGUSR1) == 0);
    until(&ran, 1);
    do
        usleep(1000);
    while (!is_asleep(first.number));
    set_event(one);
    ends(&second);
    CHECK(second.result == 0 && !is_set(one));
    set_event(one);
    ends(&first);
    CHECK(first.result == 0 && !is_set(one));
}

/* The handler waits itself, sets what its own thread waits for, and is interrupted in that. */
static object inner, outer;
static void wait_in_handler(void)
{
    uint32_t index;

    if (ran > 1)
        return;
    CHECK(poll_for(inner) == ETIMEDOUT);
    CHECK(wait_for(0, &inner, 1, NEVER, 1, &index) == 0);
    set_event(outer);
}

static void handlers_wait(void)
{
    struct waiting wait;

    inner = new_event();
    outer = new_event();
    to_do = wait_in_handler;
    handle(SIGUSR1, SA_RESTART);
    handle(SIGUSR2, SA_RESTART);
    start(&wait, 0, 1, &outer, 1);
    CHECK(pthread_kill(wait.thread, SIGUSR1) == 0);
    until(&ran, 1);
    do
        usleep(1000);
    while (!is_asleep(wait.number));
    CHECK(pthread_kill(wait.thread, SIGUSR2) == 0);
    until(&ran, 2);
    set_event(outer);
    CHECK(is_set(outer));
    CHECK(poll_for(outer) == 0);
    set_event(inner);
    ends(&wait);
    CHECK(wait.result == 0 && !is_set(outer) && !is_set(inner));
}

/* A thread that ends in its handler leaves no queue behind, and what comes is for others. */
static void ends_in_a_handler(void)
{
    object both[2];
    struct waiting wait;
    int i;

    both[0] = new_semaphore(0);
    both[1] = new_mutex(9);
    to_do = end_thread;
    handle(SIGUSR1, SA_RESTART);
    for (i = 1; i <= 60; i++) {
        start(&wait, i % 2, 1, both, 2);
        CHECK(pthread_kill(wait.thread, SIGUSR1) == 0);
        ends(&wait);
        CHECK(!wait.returned && ran == i);
        release(both[0]);
        CHECK(units(both[0]) == 1 && poll_for(both[0]) == 0);
    }
    unlock(both[1], 9);
    CHECK(poll_for(both[1]) == 0);
}

/* The same by a jump, within one thread that goes on waiting. */
static volatile int jumps, sending;
static object never;

static void *send_without_end(void *thread)
{
    int i = 0;

    while (__atomic_load_n(&sending, __ATOMIC_SEQ_CST)) {
        CHECK(pthread_kill(*(pthread_t *)thread, i++ % 3 ? SIGUSR1 : SIGUSR2) == 0);
        usleep(20);
    }
    return NULL;
}

static void jumps_out_of_handlers(void)
{
    pthread_t sender, me = pthread_self();
    uint64_t mask;
    uint32_t index;

    never = new_event();
    to_do = NULL;
    handle(SIGUSR1, SA_RESTART);
    handle(SIGUSR2, SA_RESTART);
    arrive();
    mask = mask_now();
    sending = 1;
    CHECK(pthread_create(&sender, NULL, send_without_end, &me) == 0);
    /* Where to is known before the first jump. */
    if (!sigsetjmp(out, 1))
        to_do = jump_out;
    while (jumps < 3000) {
        if (!sigsetjmp(out, 1)) {
            wait_for(0, &never, 1, NEVER, 1, &index);
            CHECK(!"the wait has no reason to end");
        }
        jumps++;
    }
    to_do = NULL;
    sending = 0;
    CHECK(pthread_join(sender, NULL) == 0);
    CHECK(poll_for(never) == ETIMEDOUT);
    CHECK(mask_now() == mask);
    set_event(never);
    CHECK(is_set(never) && poll_for(never) == 0);
    depart();
}

/* What the program blocks stays blocked, and nothing else is: also not the C library's own signals. */
static void the_mask_is_the_one_before(void)
{
    object one = new_event();
    struct waiting wait;
    sigset_t blocked;
    int round;

    to_do = NULL;
    handle(SIGUSR1, 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGSEGV);
    sigaddset(&blocked, SIGTERM);
    for (round = 0; round < 3; round++) {
        if (round)
            pthread_sigmask(SIG_BLOCK, &blocked, NULL); /* the thread inherits it */
        if (round == 2)
            handle(SIGUSR1, SA_RESTART);
        start(&wait, 0, round == 2, &one, 1);
        CHECK(pthread_kill(wait.thread, SIGUSR1) == 0);
        until(&ran, round + 1);
        if (round == 2)
            set_event(one);
        ends(&wait);
        CHECK(wait.returned && wait.mask_after == mask_now());
    }
}

/* Signals of this number queue up, where any do. */
#ifdef SIGRTMIN
#define QUEUED SIGRTMIN
#else
#define QUEUED SIGUSR2
#endif

/* Every number arrives, in order, however many are there when the thread comes to its door. */
static void numbers_arrive_in_order(void)
{
    object one = new_event();
    struct waiting wait;
    int i, next = 0, queued = QUEUED;

    to_do = NULL;
    handle(queued, SA_RESTART);
    handle(SIGUSR1, SA_RESTART);
    start(&wait, 0, 1, &one, 1);
    for (i = 0; i < (IS_LINUX ? 200 : 1); i++) {
        CHECK(send_with_number(wait.thread, queued, i) == 0);
        if (i % 7 == 0)
            CHECK(pthread_kill(wait.thread, SIGUSR1) == 0);
        if (i % 50 == 0)
            usleep(2000);
    }
    do {
        usleep(1000);
        for (i = next = 0; i < ran && i < RUNS_MAX; i++)
            if (signals[i] == queued) {
                CHECK(!IS_LINUX || numbers[i] == next);
                next++;
            }
    } while (next < (IS_LINUX ? 200 : 1));
    set_event(one);
    ends(&wait);
    CHECK(wait.result == 0 && next == (IS_LINUX ? 200 : 1));
}

/* Each unit is taken once, or still there. */
static object shop;
static volatile int bought, closing;

static void *buy(void *again)
{
    uint32_t index;
    int result;

    arrive();
    while (!__atomic_load_n(&closing, __ATOMIC_SEQ_CST)) {
        result = wait_for(0, &shop, 1, NEVER, again != NULL, &index);
        CHECK(result == 0 || (result == EINTR && !again));
        if (!result)
            __atomic_add_fetch(&bought, 1, __ATOMIC_SEQ_CST);
    }
    depart();
    return NULL;
}

static void nothing_is_lost_in_a_storm(void)
{
    pthread_t buyers[2];
    int i;

    to_do = NULL;
    handle(SIGUSR1, SA_RESTART);
    handle(SIGUSR2, 0);
    shop = new_semaphore(0);
    for (i = 0; i < 2; i++)
        CHECK(pthread_create(&buyers[i], NULL, buy, NULL) == 0);
    for (i = 0; i < 5000; i++) {
        release(shop);
        CHECK(pthread_kill(buyers[i % 2], i % 3 ? SIGUSR1 : SIGUSR2) == 0);
    }
    closing = 1;
    release(shop);
    release(shop);
    for (i = 0; i < 2; i++) {
        pthread_kill(buyers[i], SIGUSR2);
        CHECK(pthread_join(buyers[i], NULL) == 0);
    }
    CHECK(bought + (int)units(shop) == 5002 && ran > 0);
}

/* Who never waited gets its signals at once. */
static void *signal_itself(void *unused)
{
    CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && ran == 1);
    return unused;
}

static void threads_that_never_wait(void)
{
    pthread_t thread;

    to_do = NULL;
    handle(SIGUSR1, 0);
    CHECK(poll_for(new_event()) == ETIMEDOUT);
    CHECK(pthread_create(&thread, NULL, signal_itself, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

#if IS_LINUX && !defined(SIMULATED_MACOS)
static uint64_t in_ns(uint64_t ns)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec + ns;
}

/* ---- one instruction at a time ---- */

/* One wait in a traced process, and what must be true afterwards, whatever signals come in it. */
static object there, absent;

/* If the thread were in a queue, it would take it. No other handler comes between. */
static void look_in_handler(void)
{
    sigset_t both, before;

    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    set_event(absent);
    CHECK(is_set(absent));
    CHECK(poll_for(absent) == 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int traced_wait(int blocks)
{
    object both[2];
    uint64_t mask, deadline;
    uint32_t index = 9;
    int result;

    both[0] = absent;
    both[1] = there;
    arrive();
    poll_for(absent);
    /* Once before, so that nothing is done for the first time. */
    CHECK(wait_for(0, both, 1, in_ns(1000), 1, &index) == ETIMEDOUT);
    wait_for(0, both, 2, in_ns(1000), 1, &index);
    while (!poll_for(there))
        ;
    release(there);
    mask = mask_now();
    deadline = blocks ? in_ns(4 * SECOND / 1000) : NEVER;
    kill(getpid(), SIGSTOP);
    result = wait_for(0, both, blocks ? 1 : 2, deadline, 1, &index);
    kill(getpid(), SIGSTOP);
    CHECK(mask_now() == mask);
    if (blocks)
        CHECK(result == ETIMEDOUT);
    else
        CHECK(result == 0 && index == 1 && units(there) == 0);
    CHECK(!is_set(absent));
    set_event(absent);
    CHECK(poll_for(absent) == 0);
    depart();
    return ran;
}

/* The child's next stop. Its own signals are passed on. */
static int next_stop(pid_t child, int how)
{
    int status, signal = 0;

    for (;;) {
        CHECK(ptrace(how, child, NULL, (void *)(intptr_t)signal) == 0);
        CHECK(waitpid(child, &status, 0) == child);
        if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP)
            return status;
        signal = WSTOPSIG(status);
    }
}

/* Sends the child a signal, with a number, and lets it go on. Returns how it stopped then: at the handler's first instruction, or
 * somewhere where the signal is blocked. (What ptrace itself is told to deliver, the kernel drops where the child has stopped because it
 * has just come to a handler.) */
static int inject(pid_t child, int signal, int number)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_value.sival_int = number;
    CHECK(syscall(SYS_rt_tgsigqueueinfo, child, child, signal, &info) == 0);
    return next_stop(child, PTRACE_SINGLESTEP);
}

/* A child that is about to wait, and in whose wait so many handlers are to run. */
static pid_t trace(int blocks, int handlers)
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (!child) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
            skip("single-steps", "door.c", "a process cannot be traced here: %s", strerror(errno));
            _exit(77);
        }
        _exit(traced_wait(blocks) == handlers ? 0 : 2);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        exit(77);
    CHECK(WIFSTOPPED(status));
    return child;
}

/* Then the kernel takes no other one with the number, on any system. */
static int is_pending(pid_t child, int signal)
{
    char path[64], line[256];
    unsigned long long pending = 0;
    FILE *status;

    sprintf(path, "/proc/%d/status", (int)child);
    status = fopen(path, "r");
    CHECK(status);
    while (fgets(line, sizeof(line), status))
        if (sscanf(line, "SigPnd: %llx", &pending) == 1)
            break;
    fclose(status);
    return pending >> (signal - 1) & 1;
}

static void give_up(pid_t child)
{
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
}

/* How many instructions a wait takes. */
static int steps(int blocks)
{
    enum { MOST = 20000 };
    pid_t child = trace(blocks, 0);
    int count = 0;

    while (count < MOST && WSTOPSIG(next_stop(child, PTRACE_SINGLESTEP)) != SIGSTOP)
        count++;
    give_up(child);
    if (count == MOST) {
        skip("single-steps", "door.c", "a wait takes over %d instructions: the library was built for debugging", MOST);
        exit(77);
    }
    return count;
}

/* A child that steps into its wait for so many instructions, gets the first signal, and after so many more, at least one, the second
 * one, if that is not 0. Returns 0 if the wait ended before the signals came. */
static int step(int blocks, int first_after, int second, int second_after)
{
    int status = 0, i, left = second_after;
    pid_t child = trace(blocks, second ? 2 : 1);

    for (i = 0; i <= first_after; i++) {
        status = next_stop(child, PTRACE_SINGLESTEP);
        if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGSTOP)
            break;
    }
    if (i > first_after)
        status = inject(child, SIGUSR1, 1);
    for (; i > first_after && second && left > 0; left--) {
        status = next_stop(child, PTRACE_SINGLESTEP);
        if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGSTOP)
            break;
    }
    if (i <= first_after || !WIFSTOPPED(status) || WSTOPSIG(status) == SIGSTOP || (second && left > 0)) {
        give_up(child);
        return 0;
    }
    if (second && is_pending(child, second)) {
        give_up(child);
        return 1;
    }
    if (second)
        status = inject(child, second, 2);
    while (WIFSTOPPED(status))
        status = next_stop(child, PTRACE_CONT);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        fprintf(stderr, "%s, USR1 after %d instructions, %d after %d more: %s\n", blocks ? "blocks" : "there", first_after,
                second, second_after, WIFEXITED(status) && WEXITSTATUS(status) == 2 ? "a handler did not run once" : "failed");
        exit(1);
    }
    return 1;
}

/* On one processor: each step is a switch, and from one idle processor to another it can take so long that whoever is stepped through a
 * look at the clock begins anew for ever. */
static void prepare_steps(int flags)
{
    cpu_set_t here;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    CHECK(sched_setaffinity(0, sizeof(here), &here) == 0);
    to_do = look_in_handler;
    handle(SIGUSR1, SA_RESTART | flags);
    handle(SIGUSR2, SA_RESTART | flags);
    there = new_semaphore(1);
    absent = new_event();
}

/* How many steps a case may take. If it is not enough, not every place is tried. */
static int steps_max = 40000;

static void a_signal_at_each_step(void)
{
    int blocks, at, by, last, places;

    prepare_steps(0);
    for (blocks = 0; blocks < 2; blocks++) {
        last = steps(blocks);
        by = 1 + (int)((uint64_t)last * (uint64_t)last / 2 / (uint64_t)steps_max);
        for (at = places = 0; at < last && step(blocks, at, 0, 0); at += by)
            places++;
        printf("signals at %d of %d places\n", places, last);
        CHECK(places > 3);
    }
}

/* The second one comes while the first one's handler has not asked yet, or asks, or has asked; it has another number, or the same. */
static void two_signals_at_each_step(void)
{
    int blocks, at, then, last, finer, same, pairs = 0;

    for (same = 0; same < 2; same++) {
        prepare_steps(same ? SA_NODEFER : 0);
        for (blocks = same; blocks < 2; blocks++) {
            last = steps(blocks);
            at = last / 3;
            finer = steps_max / last / 8 + 3;
            for (then = 1; then < last && step(blocks, at, same ? SIGUSR1 : SIGUSR2, then); then += 1 + then / finer)
                pairs++;
        }
    }
    printf("two signals at %d places\n", pairs);
    CHECK(pairs > 30);
}
#endif

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name) { #name, name }
    CASE(out_of_all_queues),
    CASE(starts_again_at_the_end),
    CASE(handlers_wait),
    CASE(ends_in_a_handler),
    CASE(jumps_out_of_handlers),
    CASE(the_mask_is_the_one_before),
    CASE(numbers_arrive_in_order),
    CASE(nothing_is_lost_in_a_storm),
    CASE(threads_that_never_wait),
#if IS_LINUX && !defined(SIMULATED_MACOS)
    CASE(a_signal_at_each_step),
    CASE(two_signals_at_each_step),
#endif
};

/* 77: something was left out, and said so. */
static int run_case(unsigned i)
{
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    if (!child) {
        alarm(300);
        CHECK(pipe(held) == 0);
        begin();
        cases[i].run();
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (status && status != 77)
        fprintf(stderr, "failed: %s\n", cases[i].name);
    return status;
}

/* Arguments: a case, if not all; how many steps, if not steps_max. */
int main(int count, char **arguments)
{
    unsigned i, found = 0, failures = 0;

#if IS_LINUX && !defined(SIMULATED_MACOS)
    if (count > 2)
        steps_max = atoi(arguments[2]);
#endif
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (count > 1 && strcmp(arguments[1], cases[i].name))
            continue;
        found++;
        switch (run_case(i)) {
        case 0:
        case 77:
            break;
        default:
            failures++;
        }
    }
    CHECK(found);
    printf("%u checks, %u failures\n", found, failures);
    return failures ? 1 : 0;
}
