/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* FUTEX_WAIT_MULTIPLE as programs for patched kernels call it: operation 31 of futex, through the C library's syscall.
   Whoever wakes makes the kernel's own FUTEX_WAKE. The first argument is the scenario. */
#include "device.h"
#include "filter.h"

#include <linux/futex.h>
#include <stddef.h>

#define FUTEX_WAIT_MULTIPLE 31
#define LOCK_PI2 13
#define FUTEX_WAITV 449

struct block {
    uint32_t *address;
    uint32_t value, bitset;
};

static const struct timespec zero, second = {1, 0};

static long wait_multiple(const struct block *blocks, int flags, int count, const struct timespec *timeout)
{
    return syscall(SYS_futex, blocks, FUTEX_WAIT_MULTIPLE | flags, count, timeout, 0, 0);
}

static long wake(uint32_t *word, int flags, int count)
{
    return syscall(SYS_futex, word, FUTEX_WAKE | flags, count, NULL, 0, 0);
}

static struct block *blocks_of(uint32_t *words, int count)
{
    static __thread struct block blocks[129];
    for (int i = 0; i < count; i++)
        blocks[i] = (struct block){&words[i], 0, ~0u};
    return blocks;
}

/* Somebody who waits for all words, in a thread or in a process. */
struct sleeper {
    uint32_t *words;
    int flags, count, error;
    long result;
    pid_t id;
    pthread_t thread;
};

static void *sleeper(void *argument)
{
    struct sleeper *own = argument;
    __atomic_store_n(&own->id, thread_id(), __ATOMIC_SEQ_CST);
    own->result = wait_multiple(blocks_of(own->words, own->count), own->flags, own->count, NULL);
    own->error = errno;
    return NULL;
}

/* A thread that waits, asleep. */
static void sleeps(struct sleeper *own)
{
    own->id = 0;
    CHECK(pthread_create(&own->thread, NULL, sleeper, own) == 0);
    while (__atomic_load_n(&own->id, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    until_asleep(own->id);
}

static long ended(struct sleeper *own)
{
    CHECK(pthread_join(own->thread, NULL) == 0);
    return own->result;
}

/* Wakes one who waits for the word, as soon as there is one. */
static void wake_one(uint32_t *word)
{
    while (wake(word, 0, 1) != 1)
        sched_yield();
}

/* As programs find out whether it is there. */
static void is_there(void)
{
    errno = 0;
    REFUSED(wait_multiple(NULL, 0, 0, &zero), EINVAL);
    REFUSED(wait_multiple(NULL, 0, 0, NULL), EINVAL);
}

static void satisfied_at_once(void)
{
    uint32_t words[3] = {0, 0, 1};
    for (int flags = 0; flags <= FUTEX_PRIVATE_FLAG; flags += FUTEX_PRIVATE_FLAG) {
        REFUSED(wait_multiple(blocks_of(words, 3), flags, 3, NULL), EAGAIN);
        REFUSED(wait_multiple(blocks_of(words, 3), flags, 3, &zero), EAGAIN);
        REFUSED(wait_multiple(blocks_of(words, 2), flags, 2, &zero), ETIMEDOUT);
    }
}

/* Relative: as a moment on any clock this has passed long ago. */
static void times_out(void)
{
    uint32_t words[2] = {0};
    struct timespec timeout = {0, 3000000};
    uint64_t began = now();
    REFUSED(wait_multiple(blocks_of(words, 2), 0, 2, &timeout), ETIMEDOUT);
    CHECK(now() - began >= 3000000);
}

static void woken_by_thread(void)
{
    uint32_t words[128] = {0};
    for (int flags = 0; flags <= FUTEX_PRIVATE_FLAG; flags += FUTEX_PRIVATE_FLAG) {
        struct sleeper own = {.words = words, .flags = flags, .count = 128};
        for (int index = 0; index < 128; index += 31) {
            sleeps(&own);
            CHECK(wake(&words[index], flags, 1) == 1);
            CHECK(ended(&own) == index);
            CHECK(wake(&words[index], flags, 1) == 0);
        }
    }
}

/* The kernel tells private and shared words apart, and so does the wait. */
static void private_and_shared(void)
{
    uint32_t words[2] = {0};
    for (int flags = 0; flags <= FUTEX_PRIVATE_FLAG; flags += FUTEX_PRIVATE_FLAG) {
        struct sleeper own = {.words = words, .flags = flags, .count = 2};
        sleeps(&own);
        CHECK(wake(&words[0], FUTEX_PRIVATE_FLAG - flags, 1) == 0);
        CHECK(wake(&words[1], flags, 1) == 1);
        CHECK(ended(&own) == 1);
    }
}

/* In shared memory, which the two have at different addresses. */
static void woken_by_process(void)
{
    int file = memfd_create("words", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, 4096) == 0);
    uint32_t *here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    uint32_t *there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(here != MAP_FAILED && there != MAP_FAILED);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(wait_multiple(blocks_of(there, 8), 0, 8, NULL) == 5 ? 0 : 1);
    wake_one(&here[5]);
    exited_well(child);
}

static volatile sig_atomic_t handled;

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    handled++;
}

static void interrupted(void)
{
    uint32_t words[2] = {0};
    struct sleeper own = {.words = words, .count = 2};
    handle(SIGUSR1, handler, 0);
    sleeps(&own);
    signal_thread(own.id, SIGUSR1);
    CHECK(ended(&own) == -1 && own.error == EINTR && handled == 1);

    /* With SA_RESTART it goes on. */
    handle(SIGUSR1, handler, SA_RESTART);
    sleeps(&own);
    signal_thread(own.id, SIGUSR1);
    while (handled != 2)
        sched_yield();
    until_asleep(own.id);
    CHECK(wake(&words[1], 0, 1) == 1);
    CHECK(ended(&own) == 1);
}

static void ends_its_thread(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    pthread_exit((void *)&handled);
}

static __thread sigjmp_buf outside;

static void jumps_out(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    siglongjmp(outside, 1);
}

static void *jumper(void *argument)
{
    return sigsetjmp(outside, 1) == 0 ? sleeper(argument) : &outside;
}

/* Handlers that do not come back to the wait. */
static void never_comes_back(void)
{
    uint32_t words[2] = {0};
    struct sleeper own = {.words = words, .count = 2};
    void *result;
    handle(SIGUSR1, ends_its_thread, 0);
    sleeps(&own);
    signal_thread(own.id, SIGUSR1);
    CHECK(pthread_join(own.thread, &result) == 0 && result == &handled);

    handle(SIGUSR1, jumps_out, 0);
    own.id = 0;
    CHECK(pthread_create(&own.thread, NULL, jumper, &own) == 0);
    while (__atomic_load_n(&own.id, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    until_asleep(own.id);
    signal_thread(own.id, SIGUSR1);
    CHECK(pthread_join(own.thread, &result) == 0 && result != NULL);
    CHECK(wake(&words[0], 0, 1) == 0 && wake(&words[1], 0, 1) == 0);
}

/* In the kernel's order: the time, the number of blocks, the blocks, the words. */
static void bad_arguments(void)
{
    uint32_t words[129] = {0};
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + 4096, 4096, PROT_NONE) == 0);
    const struct block *last = (void *)(pages + 4096 - sizeof *last);
    struct timespec wrong[] = {{0, 1000000000}, {0, -1}, {-1, 0}};
    const struct timespec *nowhere = (void *)(pages + 4096 - 8);

    REFUSED(wait_multiple(blocks_of(words, 129), 0, 129, &zero), EINVAL);
    REFUSED(wait_multiple(blocks_of(words, 129), 0, -1, &zero), EINVAL);
    REFUSED(wait_multiple(blocks_of(words, 128), 0, 128, &zero), ETIMEDOUT);
    REFUSED(wait_multiple(NULL, 0, 1, &zero), EFAULT);
    REFUSED(wait_multiple((void *)(pages + 4096), 0, 1, &zero), EFAULT);
    REFUSED(wait_multiple(last, 0, 2, &zero), EFAULT);
    REFUSED(wait_multiple((void *)~0ull, 0, 1, &zero), EFAULT);
    REFUSED(wait_multiple(blocks_of(words, 1), 0, 1, nowhere), EFAULT);
    REFUSED(wait_multiple(blocks_of(words, 1), 0, 0, nowhere), EFAULT);
    for (int i = 0; i < 3; i++)
        REFUSED(wait_multiple(NULL, 0, 1, &wrong[i]), EINVAL);

    struct block block = {(void *)(pages + 4096), 0, ~0u};
    REFUSED(wait_multiple(&block, 0, 1, &zero), EFAULT);
    block.address = NULL;
    REFUSED(wait_multiple(&block, 0, 1, &zero), EFAULT);
    block.address = (void *)((char *)words + 1);
    REFUSED(wait_multiple(&block, 0, 1, &zero), EINVAL);
    /* Where blocks lie is nobody's business. */
    memcpy(pages + 1, blocks_of(words, 2), 2 * sizeof block);
    REFUSED(wait_multiple((void *)(pages + 1), 0, 2, &zero), ETIMEDOUT);
    /* There are no bitsets: rather none than somebody else's wakes. */
    struct block set = {words, 0, 1};
    REFUSED(wait_multiple(&set, 0, 1, &zero), ENOSYS);
}

/* The system call itself, past the C library. */
static long bare(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#endif
}

/* Everything else reaches the kernel with all its arguments, and comes back as from the C library. */
static void everything_else(void)
{
    CHECK(syscall(SYS_getpid) == getpid());
    errno = 77;
    CHECK(syscall(SYS_gettid) > 0 && errno == 77);
    REFUSED(syscall(SYS_close, -1), EBADF);
    int file = memfd_create("pages", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, 8192) == 0 && pwrite(file, "x", 1, 4096) == 1);
    /* Six arguments. */
    char *page = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, file, (off_t)4096);
    CHECK(page != MAP_FAILED && page[0] == 'x');
    /* Returns twice. */
    int status;
    pid_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(7);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    /* Other operations, and what is not quite this one, are the kernel's. */
    uint32_t word = 0;
    REFUSED(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, 0, 0), EAGAIN);
    CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 1) == 0);
    static const int others[] = {FUTEX_WAIT_MULTIPLE | FUTEX_CLOCK_REALTIME, FUTEX_WAIT_MULTIPLE | 512, 30, 32, 31 + 1024};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        long expected = bare(SYS_futex, (long)&word, others[i], 0, 0, 0, 0);
        errno = 0;
        CHECK(syscall(SYS_futex, &word, others[i], 0, NULL, NULL, 0) == (expected < 0 ? -1 : expected));
        CHECK(expected >= 0 || errno == -expected);
    }
    /* Operation 13 takes a lock, where the kernel has it. */
    long expected = bare(SYS_futex, (long)&word, LOCK_PI2, 0, 0, 0, 0);
    if (expected == 0) {
        CHECK(word == (uint32_t)gettid() && syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
        CHECK(word == 0 && syscall(SYS_futex, &word, LOCK_PI2, 0, NULL, NULL, 0) == 0 && word == (uint32_t)gettid());
    } else {
        printf("this kernel has no FUTEX_LOCK_PI2 (%ld)\n", expected);
        REFUSED(syscall(SYS_futex, &word, LOCK_PI2, 0, NULL, NULL, 0), -expected);
    }
}

static void *cancelled(void *argument)
{
    uint32_t words[2] = {0};
    CHECK(pthread_cancel(pthread_self()) == 0);
    struct timespec timeout = {0, 1000000};
    if (wait_multiple(blocks_of(words, 2), 0, 2, &timeout) == -1 && errno == ETIMEDOUT)
        *(int *)argument = 1;
    pthread_testcancel();
    *(int *)argument = 2;
    return NULL;
}

/* syscall is no cancellation point. */
static void not_cancelled(void)
{
    int went_on = 0;
    void *result;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, cancelled, &went_on) == 0 && pthread_join(thread, &result) == 0);
    CHECK(went_on == 1 && result == PTHREAD_CANCELED);
}

enum { SEMAPHORES = 5, TAKERS = 4, TOKENS = 20000 };

static uint32_t semaphores[SEMAPHORES], taken;

/* Takes tokens from any semaphore, as fsync does; sleeps without end if a wake is lost. */
static void *taker(void *argument)
{
    int flags = *(int *)argument;
    for (;;) {
        for (int i = 0; i < SEMAPHORES; i++) {
            uint32_t count = __atomic_load_n(&semaphores[i], __ATOMIC_SEQ_CST);
            while (count > 0 && !__atomic_compare_exchange_n(&semaphores[i], &count, count - 1, 0, __ATOMIC_SEQ_CST,
                                                             __ATOMIC_SEQ_CST))
                ;
            if (count > 0 && __atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST) == TOKENS)
                wake(&taken, FUTEX_PRIVATE_FLAG, 1);
        }
        if (__atomic_load_n(&taken, __ATOMIC_SEQ_CST) >= TOKENS)
            return NULL;
        long result = wait_multiple(blocks_of(semaphores, SEMAPHORES), flags, SEMAPHORES, NULL);
        CHECK((result >= 0 && result < SEMAPHORES) || (result == -1 && errno == EAGAIN));
    }
}

static void no_token_is_lost(void)
{
    for (int flags = 0; flags <= FUTEX_PRIVATE_FLAG; flags += FUTEX_PRIVATE_FLAG) {
        pthread_t threads[TAKERS];
        taken = 0;
        for (int i = 0; i < TAKERS; i++)
            CHECK(pthread_create(&threads[i], NULL, taker, &flags) == 0);
        for (int i = 0; i < TOKENS; i++) {
            __atomic_add_fetch(&semaphores[i % SEMAPHORES], 1, __ATOMIC_SEQ_CST);
            /* All, as one wait can use up the wakes of several words. */
            wake(&semaphores[i % SEMAPHORES], flags, INT32_MAX);
        }
        for (uint32_t seen; (seen = __atomic_load_n(&taken, __ATOMIC_SEQ_CST)) < TOKENS;)
            syscall(SYS_futex, &taken, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, &second, 0, 0);
        for (int i = 0; i < TAKERS; i++) {
            /* Nobody gives any more: whoever sleeps is told by a token that is left over. */
            __atomic_add_fetch(&semaphores[0], 1, __ATOMIC_SEQ_CST);
            wake(&semaphores[0], flags, INT32_MAX);
        }
        for (int i = 0; i < TAKERS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        memset(semaphores, 0, sizeof semaphores);
    }
}

static void refuse(int call, int error)
{
    answer(call, SECCOMP_RET_ERRNO | (unsigned)error);
}

/* As on a kernel that was not patched, and as on every kernel where nobody stands in between. */
static void absent(void)
{
    uint32_t words[2] = {0};
    REFUSED(wait_multiple(NULL, 0, 0, &zero), ENOSYS);
    REFUSED(wait_multiple(blocks_of(words, 2), 0, 2, &zero), ENOSYS);
    REFUSED(wait_multiple(blocks_of(words, 2), FUTEX_PRIVATE_FLAG, 2, NULL), ENOSYS);
}

static void absent_if_vectors_are_missing(void)
{
    refuse(FUTEX_WAITV, ENOSYS);
    absent();
}

static void absent_if_vectors_are_forbidden(void)
{
    refuse(FUTEX_WAITV, EPERM);
    absent();
}

static void absent_if_vectors_are_deadly(void)
{
    answer(FUTEX_WAITV, SECCOMP_RET_KILL_PROCESS);
    absent();
}

static void absent_if_reading_memory_is_deadly(void)
{
    answer(SYS_process_vm_readv, SECCOMP_RET_KILL_THREAD);
    absent();
}

static void absent_if_memory_cannot_be_read(void)
{
    refuse(SYS_process_vm_readv, EPERM);
    absent();
}

#define SCENARIO(name) {#name, name}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        SCENARIO(is_there), SCENARIO(satisfied_at_once), SCENARIO(times_out), SCENARIO(woken_by_thread),
        SCENARIO(private_and_shared), SCENARIO(woken_by_process), SCENARIO(interrupted), SCENARIO(never_comes_back), SCENARIO(bad_arguments),
        SCENARIO(everything_else), SCENARIO(not_cancelled), SCENARIO(no_token_is_lost), SCENARIO(absent),
        SCENARIO(absent_if_vectors_are_missing), SCENARIO(absent_if_vectors_are_forbidden),
        SCENARIO(absent_if_vectors_are_deadly), SCENARIO(absent_if_reading_memory_is_deadly),
        SCENARIO(absent_if_memory_cannot_be_read),
    };
    watchdog(60);
    CHECK(count == 2);
    if (getenv("LD_PRELOAD") && bare(FUTEX_WAITV, 0, 0, 0, 0, 0, 0) != -EINVAL && strcmp(arguments[1], "everything_else")) {
        printf("this kernel has no futex_waitv: that the operation is absent was checked, no more\n");
        absent();
        return 0;
    }
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (!strcmp(arguments[1], scenarios[i].name)) {
            scenarios[i].run();
            return 0;
        }
    }
    CHECK(!"a scenario of this name");
    return 1;
}
