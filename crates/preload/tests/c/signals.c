/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signal handlers in the middle of waits. The first argument says which scenario. */
#include "device.h"

#include <dlfcn.h>
#include <semaphore.h>

static int device;
static volatile pid_t waiter;
static volatile sig_atomic_t in_handler, may_return, handled;
static sigjmp_buf out;

struct waiting {
    int fd, result, error;
    uint64_t timeout;
    volatile pid_t thread;
};

static void *wait_in_thread(void *argument)
{
    struct waiting *waiting = argument;
    waiting->thread = waiter = thread_id();
    waiting->result = wait_one(device, waiting->fd, waiting->timeout);
    waiting->error = errno;
    return NULL;
}

static pthread_t start(struct waiting *waiting)
{
    pthread_t thread;
    waiting->thread = 0;
    CHECK(pthread_create(&thread, NULL, wait_in_thread, waiting) == 0);
    while (!waiting->thread)
        sleep_ms(1);
    until_asleep(waiting->thread);
    return thread;
}

static void until(volatile sig_atomic_t *flag, int value)
{
    while (*flag != value)
        sleep_ms(1);
}

static void block_in_handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    int error = errno;
    in_handler = 1;
    until(&may_return, 1);
    handled++;
    in_handler = 0;
    errno = error;
}

static void count_in_handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    handled++;
}

/* While a handler blocks, its thread is in no queue: a set stays for others. */
static void blocking_handler(void)
{
    handle(SIGUSR1, block_in_handler, SA_RESTART);
    struct waiting waiting = {.fd = event(device, 0, 0), .timeout = in_ms(20000)};
    pthread_t thread = start(&waiting);
    signal_thread(waiting.thread, SIGUSR1);
    until(&in_handler, 1);
    CHECK(set(waiting.fd) == 0);
    CHECK(signaled(waiting.fd) == 1);
    CHECK(wait_one(device, waiting.fd, 0) == 0);
    may_return = 1;
    until(&in_handler, 0);
    until_asleep(waiting.thread);
    CHECK(set(waiting.fd) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(waiting.result == 0 && signaled(waiting.fd) == 0 && handled == 1);
}

/* A pulse in that time reaches nobody. */
static void pulse_in_handler(void)
{
    handle(SIGUSR1, block_in_handler, SA_RESTART);
    for (uint32_t manual = 0; manual < 2; manual++) {
        may_return = 0;
        struct waiting waiting = {.fd = event(device, manual, 0), .timeout = in_ms(300)};
        pthread_t thread = start(&waiting);
        signal_thread(waiting.thread, SIGUSR1);
        until(&in_handler, 1);
        CHECK(pulse(waiting.fd) == 0);
        CHECK(signaled(waiting.fd) == 0);
        may_return = 1;
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(waiting.result == -1 && waiting.error == ETIMEDOUT);
    }
}

/* A thread stopped in a handler holds up nobody, not even on the same objects. */
static void blocked_thread_holds_up_nobody(void)
{
    handle(SIGUSR1, block_in_handler, SA_RESTART);
    struct waiting waiting = {.fd = mutex(device, 9, 1), .timeout = in_ms(20000)};
    pthread_t thread = start(&waiting);
    signal_thread(waiting.thread, SIGUSR1);
    until(&in_handler, 1);
    for (int i = 0; i < 1000; i++) {
        struct mutex_args unlock = {9, 0};
        CHECK(ioctl(waiting.fd, MUTEX_UNLOCK, &unlock) == 0 && unlock.count == 1);
        CHECK(wait_for(device, i % 2 ? WAIT_ANY : WAIT_ALL, &waiting.fd, 1, 9, 0, 0) == 0);
    }
    may_return = 1;
    until(&in_handler, 0);
    until_asleep(waiting.thread);
    struct mutex_args unlock = {9, 0}, after;
    CHECK(ioctl(waiting.fd, MUTEX_UNLOCK, &unlock) == 0);
    CHECK(ioctl(waiting.fd, MUTEX_READ, &after) == 0 && after.owner == 1 && after.count == 1);
    CHECK(pthread_join(thread, NULL) == 0 && waiting.result == 0);
}

static int inner_event, inner_semaphore;

static void use_device(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    int error = errno;
    CHECK(set(inner_event) == 0);
    CHECK(wait_one(device, inner_event, FOREVER) == 0);
    CHECK(wait_one(device, inner_event, in_ms(20)) == -1 && errno == ETIMEDOUT);
    uint32_t add = 1;
    CHECK(ioctl(inner_semaphore, SEM_RELEASE, &add) == 0);
    int made = event(device, 1, 1), both[] = {made, inner_semaphore};
    CHECK(wait_for(device, WAIT_ALL, both, 2, 1, 0, 0) == 0);
    close(made);
    handled++;
    errno = error;
}

/* A handler may use the device while the same thread is in a wait. */
static void reentrant_handler(void)
{
    inner_event = event(device, 0, 0);
    inner_semaphore = semaphore(device, 0, 3);
    handle(SIGUSR1, use_device, SA_RESTART);
    struct waiting waiting = {.fd = event(device, 0, 0), .timeout = in_ms(20000)};
    pthread_t thread = start(&waiting);
    for (int i = 1; i <= 20; i++) {
        signal_thread(waiting.thread, SIGUSR1);
        until(&handled, i);
    }
    CHECK(set(waiting.fd) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && waiting.result == 0);
}

/* With SA_RESTART the wait goes on to its own deadline; without, it fails and nothing was taken. */
static void restart_or_not(void)
{
    handle(SIGUSR1, count_in_handler, SA_RESTART);
    handle(SIGUSR2, count_in_handler, 0);
    struct waiting waiting = {.fd = event(device, 0, 0), .timeout = in_ms(300)};
    pthread_t thread = start(&waiting);
    for (int i = 1; i <= 5; i++) {
        signal_thread(waiting.thread, SIGUSR1);
        until(&handled, i);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(waiting.result == -1 && waiting.error == ETIMEDOUT && now() >= waiting.timeout);

    waiting.timeout = FOREVER;
    thread = start(&waiting);
    signal_thread(waiting.thread, SIGUSR2);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(waiting.result == -1 && waiting.error == EINTR && handled == 6);
    CHECK(set(waiting.fd) == 0 && signaled(waiting.fd) == 1);
}

/* After a handler the wait stands at the tail of the queue. */
static void restarts_at_the_tail(void)
{
    handle(SIGUSR1, count_in_handler, SA_RESTART);
    int fd = event(device, 0, 0);
    struct waiting first = {.fd = fd, .timeout = in_ms(20000)}, second = first;
    pthread_t one = start(&first), two = start(&second);
    signal_thread(first.thread, SIGUSR1);
    until(&handled, 1);
    until_asleep(first.thread);
    first.result = second.result = -2;
    set(fd);
    CHECK(pthread_join(two, NULL) == 0 && second.result == 0 && first.result == -2);
    set(fd);
    CHECK(pthread_join(one, NULL) == 0 && first.result == 0);
}

static volatile sig_atomic_t cleaned_up;
static void clean_up(void *argument) { cleaned_up += *(int *)argument; }

static void end_thread(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    pthread_exit((void *)42);
}

static void *wait_and_clean_up(void *argument)
{
    int one = 1;
    pthread_cleanup_push(clean_up, &one);
    wait_in_thread(argument);
    pthread_cleanup_pop(0);
    return NULL;
}

/* pthread_exit from a handler unwinds through the ioctl; what the thread waited for stays whole. */
static void thread_ends_in_handler(void)
{
    handle(SIGUSR1, end_thread, SA_RESTART);
    int fd = event(device, 0, 0);
    for (int i = 1; i <= 500; i++) {
        struct waiting waiting = {.fd = fd, .timeout = FOREVER};
        pthread_t thread;
        void *value;
        CHECK(pthread_create(&thread, NULL, wait_and_clean_up, &waiting) == 0);
        while (!waiting.thread)
            sched_yield();
        if (i % 10 == 0)
            until_asleep(waiting.thread);
        signal_thread(waiting.thread, SIGUSR1);
        CHECK(pthread_join(thread, &value) == 0 && value == (void *)42);
        CHECK(cleaned_up == i);
        CHECK(set(fd) == 0 && wait_one(device, fd, 0) == 0);
    }
}

static void jump_out(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    siglongjmp(out, 1);
}

static volatile sig_atomic_t jumps;
static volatile int keep_sending = 1;
static sem_t ready;

/* Looks for a while before it sleeps, so that signals come early in a wait, too; it yields to nobody, so that a busy machine does not
 * put off each signal by a turn of everybody. */
static void *send_when_ready(void *argument)
{
    pid_t target = *(pid_t *)argument;
    for (;;) {
        for (int looks = 0; sem_trywait(&ready) != 0; looks++)
            if (looks == 1000) {
                CHECK(sem_wait(&ready) == 0);
                break;
            }
        if (!keep_sending)
            return NULL;
        signal_thread(target, SIGUSR1);
    }
}

/* siglongjmp out of a wait, very often: no place in the arena gets lost, and waits go on working. */
static void jumps_out_of_waits(void)
{
    handle(SIGUSR1, jump_out, SA_RESTART);
    pid_t me = thread_id();
    pthread_t sender;
    int fd = event(device, 0, 0);
    CHECK(sem_init(&ready, 0, 0) == 0 && pthread_create(&sender, NULL, send_when_ready, &me) == 0);
    while (jumps < 100000) {
        if (sigsetjmp(out, 1) == 0) {
            CHECK(sem_post(&ready) == 0);
            wait_one(device, fd, FOREVER);
            CHECK(!"the wait has no reason to end");
        }
        jumps++;
        if (jumps % 1000 == 0)
            CHECK(set(fd) == 0 && wait_one(device, fd, 0) == 0);
    }
    keep_sending = 0;
    CHECK(sem_post(&ready) == 0 && pthread_join(sender, NULL) == 0);
    struct waiting waiting = {.fd = fd, .timeout = FOREVER};
    pthread_t thread = start(&waiting);
    CHECK(set(fd) == 0 && pthread_join(thread, NULL) == 0 && waiting.result == 0);
}

static volatile int stop_storm;
static void *storm(void *argument)
{
    pid_t target = *(pid_t *)argument;
    for (unsigned i = 0; !stop_storm; i++) {
        signal_thread(target, i % 2 ? SIGUSR1 : SIGUSR2);
        if (i % 16 == 0)
            sleep_ms(1);
    }
    return NULL;
}

enum { TOKENS = 30000 };
static int tokens;

static void *release_tokens(void *argument)
{
    (void)argument;
    for (int i = 0; i < TOKENS; i++) {
        uint32_t add = 1;
        CHECK(ioctl(tokens, SEM_RELEASE, &add) == 0);
        if (i % 64 == 0)
            sched_yield();
    }
    return NULL;
}

/* Under a storm of signals, with and without SA_RESTART, every token arrives once. */
static void tokens_are_conserved(void)
{
    handle(SIGUSR1, count_in_handler, SA_RESTART);
    handle(SIGUSR2, count_in_handler, 0);
    pid_t me = thread_id();
    pthread_t sender, releaser;
    tokens = semaphore(device, 0, UINT32_MAX);
    CHECK(pthread_create(&sender, NULL, storm, &me) == 0);
    CHECK(pthread_create(&releaser, NULL, release_tokens, NULL) == 0);
    for (int i = 0; i < TOKENS;) {
        int result = wait_one(device, tokens, FOREVER);
        CHECK(result == 0 || errno == EINTR);
        i += result == 0;
    }
    stop_storm = 1;
    CHECK(pthread_join(releaser, NULL) == 0 && pthread_join(sender, NULL) == 0);
    struct sem_args left;
    CHECK(ioctl(tokens, SEM_READ, &left) == 0 && left.count == 0 && handled > 0);
}

enum { VALUES = 200 };
static volatile int values[VALUES];
static volatile sig_atomic_t arrived;

static void take_value(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    CHECK(info->si_code == SI_QUEUE && info->si_pid == getpid() && info->si_uid == getuid());
    values[arrived++] = info->si_value.sival_int;
}

/* Queued signals arrive complete, with their values and in order. */
static void values_arrive_in_order(void)
{
    handle(SIGRTMIN, take_value, SA_RESTART);
    handle(SIGUSR1, count_in_handler, SA_RESTART);
    struct waiting waiting = {.fd = event(device, 0, 0), .timeout = in_ms(30000)};
    pthread_t thread = start(&waiting);
    for (int i = 0; i < VALUES; i++) {
        union sigval value = {.sival_int = i};
        CHECK(pthread_sigqueue(thread, SIGRTMIN, value) == 0);
        if (i % 7 == 0)
            signal_thread(waiting.thread, SIGUSR1);
        if (i % 50 == 0)
            until_asleep(waiting.thread);
    }
    until(&arrived, VALUES);
    for (int i = 0; i < VALUES; i++)
        CHECK(values[i] == i);
    set(waiting.fd);
    CHECK(pthread_join(thread, NULL) == 0 && waiting.result == 0 && handled > 0);
}

static char *alternate;
static sigset_t seen_mask;
static volatile sig_atomic_t nested, deepest, on_alternate;

static void look_around(int signal, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    char here;
    on_alternate = &here >= alternate && &here < alternate + 65536;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &seen_mask) == 0);
    if (++nested > deepest)
        deepest = nested;
    if (signal == SIGUSR2 && nested == 1)
        signal_thread(thread_id(), SIGUSR2);
    nested--;
    handled++;
}

static void *all_kinds_of_actions(void *argument)
{
    (void)argument;
    int fd = event(device, 0, 0);
    stack_t stack = {.ss_sp = alternate, .ss_size = 65536};
    CHECK(sigaltstack(&stack, NULL) == 0);
    waiter = thread_id();
    for (int i = 0; i < 3; i++)
        CHECK(wait_one(device, fd, FOREVER) == -1 && errno == EINTR);
    sigset_t after;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &after) == 0);
    for (int signal = 1; signal < 32; signal++)
        CHECK(sigismember(&after, signal) == 0);
    stack.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&stack, NULL) == 0);
    return NULL;
}

/* Masks, SA_ONSTACK, SA_NODEFER and SA_RESETHAND as without the device. */
static void masks_stacks_and_flags(void)
{
    alternate = malloc(65536);
    struct sigaction action = {.sa_sigaction = look_around, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaddset(&action.sa_mask, SIGHUP);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    handle(SIGUSR2, look_around, SA_NODEFER);
    handle(SIGTERM, look_around, SA_RESETHAND);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, all_kinds_of_actions, NULL) == 0);
    while (!waiter)
        sleep_ms(1);
    until_asleep(waiter);
    signal_thread(waiter, SIGUSR1);
    until(&handled, 1);
    CHECK(on_alternate && deepest == 1);
    CHECK(sigismember(&seen_mask, SIGUSR1) == 1 && sigismember(&seen_mask, SIGHUP) == 1);
    CHECK(sigismember(&seen_mask, SIGUSR2) == 0 && sigismember(&seen_mask, SIGTERM) == 0);
    until_asleep(waiter);
    signal_thread(waiter, SIGUSR2);
    until(&handled, 3);
    CHECK(!on_alternate && deepest == 2);
    CHECK(sigismember(&seen_mask, SIGUSR2) == 0 && sigismember(&seen_mask, SIGHUP) == 0);
    until_asleep(waiter);
    struct sigaction seen;
    CHECK(sigaction(SIGTERM, NULL, &seen) == 0 && seen.sa_sigaction == look_around && seen.sa_flags & SA_RESETHAND);
    signal_thread(waiter, SIGTERM);
    CHECK(pthread_join(thread, NULL) == 0 && handled == 4);
    CHECK(sigaction(SIGTERM, NULL, &seen) == 0 && seen.sa_handler == SIG_DFL);
}

static void plain(int signal) { handled += signal == SIGUSR1; }

/* The program sees its own actions, whenever it installed them. */
static void actions_as_the_program_sees_them(void)
{
    struct sigaction seen, action = {.sa_sigaction = look_around, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_NOCLDSTOP};
    sigaddset(&action.sa_mask, SIGHUP);
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    for (int again = 0; again < 2; again++) {
        CHECK(sigaction(SIGUSR2, again ? &action : NULL, &seen) == 0 && seen.sa_sigaction == look_around);
        const int flags = SA_SIGINFO | SA_NODEFER | SA_NOCLDSTOP | SA_RESTART | SA_RESETHAND | SA_ONSTACK;
        CHECK((seen.sa_flags & flags) == (SA_SIGINFO | SA_NODEFER | SA_NOCLDSTOP));
        for (int signal = 1; signal <= 64; signal++)
            CHECK(sigismember(&seen.sa_mask, signal) == (signal == SIGHUP));
    }
    CHECK(signal(SIGUSR1, plain) == SIG_DFL);
    CHECK(sigaction(SIGUSR1, NULL, &seen) == 0 && seen.sa_handler == plain);
    CHECK(seen.sa_flags & SA_RESTART && !(seen.sa_flags & SA_SIGINFO));
    raise(SIGUSR1);
    CHECK(handled == 1);
    int (*interrupting)(int, int) = dlsym(RTLD_DEFAULT, "siginterrupt"); /* its declaration warns of its age */
    CHECK(interrupting && interrupting(SIGUSR1, 1) == 0);
    CHECK(sigaction(SIGUSR1, NULL, &seen) == 0 && !(seen.sa_flags & SA_RESTART));
    CHECK(signal(SIGUSR1, SIG_IGN) == plain);
    raise(SIGUSR1);
    CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN && handled == 1);
    CHECK(signal(SIGKILL, plain) == SIG_ERR && errno == EINVAL);
    CHECK(signal(65, plain) == SIG_ERR && errno == EINVAL);
    CHECK(sigaction(SIGKILL, &action, NULL) == -1 && errno == EINVAL);
    CHECK(sigaction(0, &action, NULL) == -1 && errno == EINVAL);
    /* A fault's signal sent by another is a signal like others. */
    handle(SIGSEGV, count_in_handler, SA_RESTART);
    struct waiting waiting = {.fd = event(device, 0, 0), .timeout = in_ms(20000)};
    pthread_t thread = start(&waiting);
    signal_thread(waiting.thread, SIGSEGV);
    until(&handled, 2);
    set(waiting.fd);
    CHECK(pthread_join(thread, NULL) == 0 && waiting.result == 0);
}

/* Signals without a handler: the kernel's business, as ever. */
static void defaults(void)
{
    int fd = event(device, 0, 0), status;
    for (int fate = 0; fate < 3; fate++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            watchdog(30);
            _exit(wait_one(device, fd, FOREVER) == 0 ? 0 : 1);
        }
        until_asleep(child);
        if (fate < 2) {
            CHECK(kill(child, fate ? SIGKILL : SIGTERM) == 0);
            CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
            /* The dead are in no queue. */
            CHECK(set(fd) == 0 && signaled(fd) == 1 && wait_one(device, fd, 0) == 0);
        } else {
            CHECK(kill(child, SIGSTOP) == 0 && waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
            CHECK(kill(child, SIGCONT) == 0);
            sleep_ms(50);
            set(fd);
            exited_well(child);
        }
    }
}

static int foreign_write, foreign_read;

/* Other interrupted calls behave as without us. */
static void other_calls(void)
{
    int pipes[2];
    char byte;
    CHECK(pipe(pipes) == 0);
    foreign_read = pipes[0], foreign_write = pipes[1];
    handle(SIGALRM, count_in_handler, 0);
    alarm(1);
    CHECK(read(foreign_read, &byte, 1) == -1 && errno == EINTR && handled == 1);
    watchdog(60);
}

static void count_plainly(int signal)
{
    (void)signal;
    handled++;
}

/* The mask of the n-th of many different actions: any bits of signals that the test does not need. */
static sigset_t nth_mask(unsigned n)
{
    sigset_t mask;
    sigemptyset(&mask);
    for (int bit = 0; bit < 16; bit++)
        if (n >> bit & 1)
            sigaddset(&mask, SIGRTMIN + 4 + bit);
    return mask;
}

/* A wait that this signal must interrupt. */
static void interrupted_by(int signal, int fd)
{
    struct waiting waiting = {.fd = fd, .timeout = in_ms(60000)};
    pthread_t thread = start(&waiting);
    int before = handled;
    CHECK(pthread_kill(thread, signal) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(waiting.result == -1 && waiting.error == EINTR && handled == before + 1);
    REFUSED(wait_one(device, fd, 0), ETIMEDOUT);
}

/* More different handlers than the library has room for at a time: each interrupts a wait, and is what the next one replaces. */
static void many_different_handlers(void)
{
    enum { MANY = 9000 };
    const int signals[] = {SIGUSR1, SIGUSR2, SIGSEGV, SIGRTMIN};
    int fd = event(device, 0, 0);
    for (unsigned n = 0; n < MANY; n++) {
        int signal = signals[n % 3];
        struct sigaction action = {.sa_handler = count_plainly, .sa_mask = nth_mask(n)}, before, now;
        if (n & 4) {
            action.sa_sigaction = count_in_handler;
            action.sa_flags = SA_SIGINFO;
        }
        CHECK(sigaction(signal, &action, &before) == 0 && sigaction(signal, NULL, &now) == 0);
        CHECK(now.sa_handler == action.sa_handler && memcmp(&now.sa_mask, &action.sa_mask, 8) == 0);
        if (n >= 3) {
            sigset_t last = nth_mask(n - 3);
            CHECK(memcmp(&before.sa_mask, &last, 8) == 0);
        }
        if (n % 1000 < 3)
            interrupted_by(signal, fd);
    }
    /* One that has had none, one that runs once, and the guarded copy. */
    struct sigaction action = {.sa_handler = count_plainly, .sa_flags = SA_RESETHAND};
    for (int i = 0; i < 3; i++) {
        CHECK(sigaction(SIGRTMIN, &action, NULL) == 0);
        interrupted_by(SIGRTMIN, fd);
        action.sa_mask = nth_mask(i + 1);
    }
    REFUSED(ioctl(device, CREATE_EVENT, (void *)8), EFAULT);
    /* A child has a table of its own. */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        watchdog(60);
        struct sigaction plain = {.sa_handler = count_plainly, .sa_mask = nth_mask(MANY)};
        CHECK(sigaction(SIGUSR1, &plain, NULL) == 0);
        interrupted_by(SIGUSR1, fd);
        _exit(0);
    }
    exited_well(child);
}

static const struct { const char *name; void (*run)(void); } scenarios[] = {
#define SCENARIO(name) {#name, name}
    SCENARIO(blocking_handler), SCENARIO(pulse_in_handler), SCENARIO(blocked_thread_holds_up_nobody),
    SCENARIO(reentrant_handler), SCENARIO(restart_or_not), SCENARIO(restarts_at_the_tail),
    SCENARIO(thread_ends_in_handler), SCENARIO(jumps_out_of_waits), SCENARIO(tokens_are_conserved),
    SCENARIO(values_arrive_in_order), SCENARIO(masks_stacks_and_flags), SCENARIO(actions_as_the_program_sees_them),
    SCENARIO(defaults), SCENARIO(other_calls), SCENARIO(many_different_handlers),
};

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    watchdog(100);
    device = open_device();
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    dprintf(2, "no such scenario: %s\n", argv[1]);
    return 2;
}
