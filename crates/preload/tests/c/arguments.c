/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every request: its checks in the driver's order, bad pointers with their effects, wrong kinds of descriptors. */
#include "device.h"

static char *bad; /* no access */
static char *constant; /* may be read, not written */
static volatile sig_atomic_t own_faults;
static sigjmp_buf after_fault;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    CHECK(signal == SIGSEGV && info->si_addr == bad + 8);
    own_faults++;
    siglongjmp(after_fault, 1);
}

/* The program's own fault reaches its own handler. */
static void own_fault(void)
{
    int before = own_faults;
    if (sigsetjmp(after_fault, 1) == 0)
        bad[8] = 1;
    CHECK(own_faults == before + 1);
}

static void bad_pointers(int device)
{
    static const unsigned long creates[] = {CREATE_SEM, CREATE_MUTEX, CREATE_EVENT, WAIT_ANY, WAIT_ALL};
    void *const addresses[] = {NULL, bad, bad + 4096 - 2, (void *)UINTPTR_MAX, (void *)0x8000000000000000ull};
    for (unsigned a = 0; a < 5; a++) {
        for (unsigned i = 0; i < 5; i++)
            REFUSED(ioctl(device, creates[i], addresses[a]), EFAULT);
        int sem = semaphore(device, 1, 5), mut = mutex(device, 7, 2), ev = event(device, 0, 0);
        REFUSED(ioctl(sem, SEM_RELEASE, addresses[a]), EFAULT);
        REFUSED(ioctl(sem, SEM_READ, addresses[a]), EFAULT);
        REFUSED(ioctl(mut, MUTEX_UNLOCK, addresses[a]), EFAULT);
        REFUSED(ioctl(mut, MUTEX_KILL, addresses[a]), EFAULT);
        REFUSED(ioctl(mut, MUTEX_READ, addresses[a]), EFAULT);
        REFUSED(ioctl(ev, EVENT_READ, addresses[a]), EFAULT);
        /* Reading the type comes before reading the address only where there is nothing to read. */
        REFUSED(ioctl(ev, SEM_RELEASE, addresses[a]), EFAULT);
        REFUSED(ioctl(ev, SEM_READ, addresses[a]), EINVAL);
        REFUSED(ioctl(ev, MUTEX_UNLOCK, addresses[a]), EFAULT);
        /* The effect stands where only the result cannot be written. */
        REFUSED(ioctl(ev, EVENT_SET, addresses[a]), EFAULT);
        CHECK(signaled(ev) == 1);
        REFUSED(ioctl(ev, EVENT_RESET, addresses[a]), EFAULT);
        CHECK(signaled(ev) == 0);
        set(ev);
        REFUSED(ioctl(ev, EVENT_PULSE, addresses[a]), EFAULT);
        CHECK(signaled(ev) == 0);
        close(sem), close(mut), close(ev);
    }
    own_fault();
}

static int shared_device;

static void use_bad_pointer(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    REFUSED(ioctl(shared_device, CREATE_EVENT, bad), EFAULT);
    own_faults += 100;
}

static void *blocked_from_the_start(void *argument)
{
    REFUSED(ioctl(shared_device, CREATE_EVENT, bad), EFAULT);
    sigset_t mask;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGSEGV) == 1);
    return argument;
}

/* Bad pointers do no harm where faults are blocked either, and blocked they stay. */
static void blocked_faults(int device)
{
    sigset_t all, before, mask;
    pthread_t thread;
    shared_device = device;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    REFUSED(ioctl(device, CREATE_EVENT, bad), EFAULT);
    REFUSED(ioctl(device, WAIT_ANY, bad), EFAULT);
    CHECK(pthread_create(&thread, NULL, blocked_from_the_start, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(sigprocmask(SIG_SETMASK, &before, &mask) == 0 && sigismember(&mask, SIGSEGV) == 1);
    REFUSED(ioctl(device, CREATE_EVENT, bad), EFAULT);
    struct sigaction action = {.sa_sigaction = use_bad_pointer, .sa_flags = SA_SIGINFO, .sa_mask = all};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    int expected = own_faults + 100;
    raise(SIGUSR1);
    CHECK(own_faults == expected);
    REFUSED(ioctl(device, CREATE_EVENT, bad), EFAULT);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGSEGV) == 0);
    /* Sent while it is blocked, it waits until it is not. */
    CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    handle(SIGBUS, use_bad_pointer, 0);
    signal_thread(thread_id(), SIGBUS);
    for (int i = 0; i < 100; i++)
        REFUSED(ioctl(device, CREATE_EVENT, NULL), EFAULT);
    CHECK(own_faults == expected);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    CHECK(own_faults == expected + 100);
}

/* The same, however the mask is changed, with and without room for the one before, and with one set for both. */
static void blocked_in_every_way(int device)
{
    sigset_t none, faults, others, both, now, *volatile same = &both;
    sigemptyset(&none), sigemptyset(&faults), sigemptyset(&others);
    sigaddset(&faults, SIGSEGV), sigaddset(&faults, SIGBUS), sigaddset(&others, SIGUSR2);
#define IS_BLOCKED(blocked) \
    REFUSED(ioctl(device, CREATE_EVENT, bad), EFAULT); \
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGBUS) == (blocked))
    for (int keeps = 0; keeps < 2; keeps++) {
        sigset_t before, *old = keeps ? &before : NULL;
        CHECK(pthread_sigmask(SIG_BLOCK, &faults, old) == 0);
        IS_BLOCKED(1);
        CHECK(sigprocmask(SIG_UNBLOCK, &others, old) == 0);
        IS_BLOCKED(1);
        CHECK(sigprocmask(SIG_BLOCK, &others, old) == 0);
        IS_BLOCKED(1);
        CHECK(pthread_sigmask(SIG_UNBLOCK, &faults, old) == 0);
        IS_BLOCKED(0);
        CHECK(sigprocmask(SIG_SETMASK, &faults, old) == 0);
        IS_BLOCKED(1);
        CHECK(pthread_sigmask(SIG_SETMASK, &none, old) == 0);
        IS_BLOCKED(0);
    }
    both = faults;
    CHECK(pthread_sigmask(SIG_BLOCK, &both, same) == 0 && sigismember(&both, SIGSEGV) == 0);
    IS_BLOCKED(1);
    CHECK(sigprocmask(SIG_SETMASK, &both, same) == 0 && sigismember(&both, SIGSEGV) == 1);
    IS_BLOCKED(0);
    REFUSED(sigprocmask(12345, &faults, NULL), EINVAL);
    IS_BLOCKED(0);
}

static void results_that_cannot_be_written(int device)
{
    int sem = semaphore(device, 1, 5), mut = mutex(device, 7, 2);
    struct sem_args count;
    struct mutex_args owner;
    CHECK(mprotect(constant, 4096, PROT_READ | PROT_WRITE) == 0);
    memset(constant, 0, 4096);
    *(uint32_t *)constant = 2;
    struct mutex_args *unlock = (void *)(constant + 64);
    unlock->owner = 7;
    struct wait_args *wait = (void *)(constant + 128);
    *wait = (struct wait_args){.timeout = 0, .objs = (uintptr_t)(constant + 256), .count = 1, .owner = 1};
    *(int *)(constant + 256) = sem;
    CHECK(mprotect(constant, 4096, PROT_READ) == 0);

    REFUSED(ioctl(sem, SEM_RELEASE, constant), EFAULT);
    CHECK(ioctl(sem, SEM_READ, &count) == 0 && count.count == 3 && count.max == 5);
    REFUSED(ioctl(mut, MUTEX_UNLOCK, unlock), EFAULT);
    CHECK(ioctl(mut, MUTEX_READ, &owner) == 0 && owner.owner == 7 && owner.count == 1);
    REFUSED(ioctl(device, WAIT_ANY, wait), EFAULT);
    CHECK(ioctl(sem, SEM_READ, &count) == 0 && count.count == 2);
    own_fault();
    close(sem), close(mut);
}

static void values(int device)
{
    struct sem_args too_many = {2, 1};
    struct mutex_args half = {1, 0}, other_half = {0, 1};
    REFUSED(ioctl(device, CREATE_SEM, &too_many), EINVAL);
    REFUSED(ioctl(device, CREATE_MUTEX, &half), EINVAL);
    REFUSED(ioctl(device, CREATE_MUTEX, &other_half), EINVAL);

    int sem = semaphore(device, 1, 2), mut = mutex(device, 7, 2), ev = event(device, 2, 2);
    struct event_args state = {9, 9};
    CHECK(ioctl(ev, EVENT_READ, &state) == 0 && state.manual == 1 && state.signaled == 1);

    uint32_t add = 2;
    REFUSED(ioctl(sem, SEM_RELEASE, &add), EOVERFLOW);
    CHECK(add == 2);
    add = UINT32_MAX;
    REFUSED(ioctl(sem, SEM_RELEASE, &add), EOVERFLOW);
    add = 1;
    CHECK(ioctl(sem, SEM_RELEASE, &add) == 0 && add == 1);
    add = 0;
    CHECK(ioctl(sem, SEM_RELEASE, &add) == 0 && add == 2);
    REFUSED(ioctl(mut, SEM_RELEASE, &add), EINVAL);

    struct mutex_args unlock = {0, 99};
    REFUSED(ioctl(mut, MUTEX_UNLOCK, &unlock), EINVAL);
    REFUSED(ioctl(ev, MUTEX_UNLOCK, &unlock), EINVAL);
    unlock.owner = 8;
    REFUSED(ioctl(mut, MUTEX_UNLOCK, &unlock), EPERM);
    REFUSED(ioctl(ev, MUTEX_UNLOCK, &unlock), EINVAL);
    CHECK(unlock.owner == 8 && unlock.count == 99);
    unlock.owner = 7;
    CHECK(ioctl(mut, MUTEX_UNLOCK, &unlock) == 0 && unlock.owner == 7 && unlock.count == 2);
    uint32_t dead = 0;
    REFUSED(ioctl(mut, MUTEX_KILL, &dead), EINVAL);
    dead = 8;
    REFUSED(ioctl(mut, MUTEX_KILL, &dead), EPERM);
    REFUSED(ioctl(sem, MUTEX_KILL, &dead), EINVAL);
    dead = 7;
    CHECK(ioctl(mut, MUTEX_KILL, &dead) == 0 && dead == 7);
    REFUSED(ioctl(mut, MUTEX_KILL, &dead), EPERM);
    struct mutex_args read = {9, 9};
    REFUSED(ioctl(mut, MUTEX_READ, &read), EOWNERDEAD);
    CHECK(read.owner == 0 && read.count == 0);
    REFUSED(ioctl(mut, MUTEX_READ, bad), EFAULT);
    struct wait_args wait = {.objs = (uintptr_t)&mut, .count = 1, .index = UNTOUCHED, .owner = 3};
    REFUSED(ioctl(device, WAIT_ANY, &wait), EOWNERDEAD);
    CHECK(wait.index == 0);
    CHECK(ioctl(mut, MUTEX_READ, &read) == 0 && read.owner == 3 && read.count == 1);
    close(sem), close(mut), close(ev);
}

static void waits(int device)
{
    int other = open_device();
    int ev = event(device, 1, 1), same = dup(ev), foreign = event(other, 1, 1), closed = dup(ev);
    close(closed);
    int path = open("/proc/self/exe", O_PATH);
    struct wait_args args;
    const struct wait_args good = {.objs = (uintptr_t)&ev, .count = 1, .index = UNTOUCHED, .owner = 1};
    const unsigned long requests[] = {WAIT_ANY, WAIT_ALL};
    for (int i = 0; i < 2; i++) {
#define BAD(number, ...)                                                                                       \
    do {                                                                                                       \
        args = good;                                                                                           \
        __VA_ARGS__;                                                                                           \
        struct wait_args before = args;                                                                        \
        REFUSED(ioctl(device, requests[i], &args), number);                                                    \
        CHECK(memcmp(&before, &args, sizeof args) == 0);                                                       \
    } while (0)
        BAD(EINVAL, args.pad = 1);
        BAD(EINVAL, args.flags = 2);
        BAD(EINVAL, args.owner = 0);
        BAD(EINVAL, args.count = 65);
        BAD(EINVAL, args.count = 0x40000001);
        BAD(EINVAL, args.count = UINT32_MAX);
        BAD(EINVAL, args.count = 65; args.objs = (uintptr_t)bad);
        BAD(EINVAL, args.pad = 1; args.objs = (uintptr_t)bad);
        BAD(EFAULT, args.objs = (uintptr_t)bad);
        BAD(EFAULT, args.objs = 0);
        int wrong[] = {device, 0, -1, closed, foreign, path, 1 << 30};
        for (unsigned w = 0; w < sizeof wrong / sizeof *wrong; w++) {
            BAD(EINVAL, args.objs = (uintptr_t)&wrong[w]);
            int pair[] = {ev, wrong[w]};
            BAD(EINVAL, args.objs = (uintptr_t)pair; args.count = 2);
            if (wrong[w] != 0)
                BAD(EINVAL, args.alert = wrong[w]);
        }
        int twice[] = {ev, same};
        args = good;
        args.objs = (uintptr_t)twice;
        args.count = 2;
        if (requests[i] == WAIT_ANY)
            CHECK(ioctl(device, WAIT_ANY, &args) == 0 && args.index == 0);
        else
            BAD(EINVAL, args.objs = (uintptr_t)twice; args.count = 2);
        if (requests[i] == WAIT_ALL)
            BAD(EINVAL, args.alert = same);
        args = good;
        CHECK(ioctl(device, requests[i], &args) == 0);
        struct wait_args expected = good;
        expected.index = 0;
        CHECK(memcmp(&expected, &args, sizeof args) == 0);
        BAD(EINVAL, args.objs = (uintptr_t)&foreign);
        /* A wait on the other device, where this object is at home. */
        args.objs = (uintptr_t)&foreign;
        CHECK(ioctl(other, requests[i], &args) == 0);
    }
    args = (struct wait_args){.timeout = 0, .index = UNTOUCHED, .owner = 1};
    REFUSED(ioctl(device, WAIT_ANY, &args), ETIMEDOUT);
    CHECK(ioctl(device, WAIT_ALL, &args) == 0 && args.index == 0);
    args = (struct wait_args){.timeout = FOREVER, .index = UNTOUCHED, .owner = 1, .alert = ev};
    CHECK(ioctl(device, WAIT_ANY, &args) == 0 && args.index == 0);
    close(other), close(ev), close(same), close(foreign), close(path);
}

static void descriptors_of_the_wrong_kind(int device)
{
    static const unsigned long on_device[] = {CREATE_SEM, CREATE_MUTEX, CREATE_EVENT, WAIT_ANY, WAIT_ALL};
    static const unsigned long on_object[] = {SEM_RELEASE, SEM_READ, MUTEX_UNLOCK, MUTEX_KILL, MUTEX_READ,
                                              EVENT_SET, EVENT_RESET, EVENT_PULSE, EVENT_READ};
    char arguments[64] = {0};
    int ev = event(device, 0, 0), file = open("/proc/self/exe", O_RDONLY), pipes[2];
    CHECK(pipe(pipes) == 0);
    for (unsigned i = 0; i < 5; i++) {
        REFUSED(ioctl(ev, on_device[i], arguments), ENOTTY);
        REFUSED(ioctl(file, on_device[i], arguments), ENOTTY);
        REFUSED(ioctl(pipes[0], on_device[i], arguments), ENOTTY);
        REFUSED(ioctl(-1, on_device[i], arguments), EBADF);
        REFUSED(ioctl(999, on_device[i], arguments), EBADF);
    }
    for (unsigned i = 0; i < 9; i++) {
        REFUSED(ioctl(device, on_object[i], arguments), ENOTTY);
        REFUSED(ioctl(file, on_object[i], arguments), ENOTTY);
        REFUSED(ioctl(-1, on_object[i], arguments), EBADF);
        REFUSED(ioctl(999, on_object[i], arguments), EBADF);
    }
    REFUSED(ioctl(device, 0xc00c4e80ul, arguments), ENOTTY);
    REFUSED(ioctl(device, 0x40084e8eul, arguments), ENOTTY);
    REFUSED(ioctl(ev, 0x80084e88ul, arguments), ENOTTY);
    /* The kernel looks at 32 bits of the number. */
    uint32_t before = 9;
    CHECK(ioctl(ev, 0xffffffff00000000ul | EVENT_SET, &before) == 0 && before == 0);
    int through_path;
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", ev);
    through_path = open(name, O_PATH);
    CHECK(through_path >= 0);
    REFUSED(ioctl(through_path, EVENT_SET, &before), EBADF);
    close(ev), close(file), close(pipes[0]), close(pipes[1]), close(through_path);
}

static void errno_is_kept(int device)
{
    int ev = event(device, 0, 1);
    errno = 12345;
    CHECK(wait_one(device, ev, 0) == 0 && errno == 12345);
    CHECK(set(ev) == 0 && errno == 12345);
    int again = dup(ev);
    CHECK(signaled(again) == 1 && errno == 12345);
    int fresh = open_device();
    CHECK(errno == 12345);
    close(fresh), close(ev), close(again);
}

int main(void)
{
    watchdog(60);
    bad = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    constant = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(bad != MAP_FAILED && constant != MAP_FAILED);
    int device = open_device();
    values(device);
    waits(device);
    descriptors_of_the_wrong_kind(device);
    errno_is_kept(device);
    /* Before the program has a handler for faults, and after. */
    struct event_args *none = NULL;
    REFUSED(ioctl(device, CREATE_EVENT, none), EFAULT);
    handle(SIGSEGV, on_fault, 0);
    bad_pointers(device);
    results_that_cannot_be_written(device);
    blocked_faults(device);
    blocked_in_every_way(device);
    struct sigaction seen;
    CHECK(sigaction(SIGSEGV, NULL, &seen) == 0 && seen.sa_sigaction == on_fault);
    CHECK((void *)signal(SIGSEGV, SIG_DFL) == (void *)on_fault);
    CHECK(sigaction(SIGSEGV, NULL, &seen) == 0 && seen.sa_handler == SIG_DFL);
    REFUSED(ioctl(device, CREATE_EVENT, none), EFAULT);
    /* The default still kills. */
    for (int own = 0; own < 2; own++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            struct rlimit no_core = {0, 0};
            setrlimit(RLIMIT_CORE, &no_core);
            if (own)
                raise(SIGSEGV);
            else
                bad[0] = 1;
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
    return 0;
}
