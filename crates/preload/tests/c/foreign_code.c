/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals while a thread is not as the C library left it, as Wine has it while Windows code runs: system calls from anywhere
 * but the C library's text are refused ("dispatch"), the thread pointer is another one ("segment"), or both. The handlers
 * put things right with their first instructions, as Wine's do, and wrong again with their last.
 *
 * Under an emulator that knows no syscall user dispatch ("refused", "refused-segment") the program goes on without, as Wine does.
 *
 * Arguments: the scenario, and the state ("plain": the thread as it is). Ends with 77 if the system has no such state. */
#include "device.h"
#include "../../../platform/tests/skips/skips.h"

#include <asm/ldt.h>
#include <asm/prctl.h>
#include <link.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
enum { NOT_HERE = 77, FOREIGN_PAGES = 0x10000 };

static int device, dispatches, segments, refused;
static unsigned short selector;
static unsigned long own_base;
/* The kernel reads it at every system call: 0 allows, 1 refuses. */
static volatile char refuse;
/* 1 while foreign code runs on the thread. */
static volatile int foreign;
static volatile int handled, faults, on_alternate, sum, depth;
static volatile pid_t worker;

/* The handlers' own system calls, without the C library and its error number. */
static inline long bare(long number, long first, long second, long third)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
    return result;
}

__attribute__((always_inline)) static inline void put_right(void)
{
    refuse = 0;
    if (segments)
        bare(SYS_arch_prctl, ARCH_SET_FS, (long)own_base, 0);
}

__attribute__((always_inline)) static inline void put_wrong(void)
{
    if (segments)
        __asm__ volatile("movw %0, %%fs" : : "r"(selector));
    refuse = (char)dispatches;
}

static int library_text(struct dl_phdr_info *info, size_t size, void *place)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so.6"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            unsigned long *text = place;
            text[0] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            text[1] = info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

/* Makes the states possible on this thread. */
static void prepare(void)
{
    unsigned long text[2] = {0, 0};
    CHECK(dl_iterate_phdr(library_text, text) == 1 && text[1]);
    if (refused)
        CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, text[0], text[1], &refuse) == -1 && (errno == ENOSYS || errno == EINVAL));
    if (dispatches && prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, text[0], text[1], &refuse) != 0) {
        skip("syscall-user-dispatch", "foreign_code", "this kernel has none (errno %d)", errno);
        _exit(NOT_HERE);
    }
    if (segments) {
        char *page = mmap(NULL, FOREIGN_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        CHECK(page != MAP_FAILED);
        memset(page, 0x5a, FOREIGN_PAGES); /* whoever takes this for thread-local storage goes astray */
        struct user_desc entry = {.entry_number = 0, .base_addr = (unsigned)(uintptr_t)page, .limit = FOREIGN_PAGES,
                                  .seg_32bit = 1, .useable = 1};
        if (syscall(SYS_modify_ldt, 1, &entry, sizeof entry) != 0) {
            skip("segments", "foreign_code", "this kernel has no segments of a program's own (errno %d)", errno);
            _exit(NOT_HERE);
        }
        selector = 7;
        CHECK(syscall(SYS_arch_prctl, ARCH_GET_FS, &own_base) == 0);
    }
}

/* Runs foreign code until `*until` is `value`. */
__attribute__((noinline, optimize("no-stack-protector"))) static void run_foreign(volatile int *until, int value)
{
    foreign = 1;
    put_wrong();
    while (*until != value)
        __asm__ volatile("pause");
    foreign = 0;
    put_right();
}

/* As above, with a fault of each kind. */
__attribute__((noinline, optimize("no-stack-protector"))) static void fault_in_foreign(void)
{
    foreign = 1;
    put_wrong();
    __asm__ volatile("leaq 1f(%%rip), %%r12\n\tmovl 0, %%eax\n1:\n\t"
                     "leaq 2f(%%rip), %%r12\n\tud2\n2:\n\t"
                     "leaq 3f(%%rip), %%r12\n\tint3\n3:\n\t" : : : "rax", "r12", "memory");
    foreign = 0;
    put_right();
}

static char alternate[65536] __attribute__((aligned(16)));

__attribute__((optimize("no-stack-protector"))) static void handler(int signal, siginfo_t *info, void *context)
{
    depth++;
    put_right();
    char here;
    ucontext_t *machine = context;
    on_alternate = &here >= alternate && &here < alternate + sizeof alternate;
    if (info->si_code > 0) {
        faults++;
        machine->uc_mcontext.gregs[REG_RIP] = machine->uc_mcontext.gregs[REG_R12];
    } else
        sum += signal;
    int before = errno; /* of what the signal came between */
    errno = 0; /* the C library is as ever in here */
    CHECK(write(-1, "", 1) == -1 && errno == EBADF);
    errno = before;
    handled++;
    if (--depth == 0 && foreign)
        put_wrong();
}

static void install(int flags)
{
    const int signals[] = {SIGUSR1, SIGUSR2, SIGSEGV, SIGILL, SIGTRAP};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        handle(signals[i], handler, flags);
}

/* A signal that the thread gets while foreign code runs. */
static void *signal_when_foreign(void *argument)
{
    (void)argument;
    for (int i = 0; i < 200; i++) {
        int before = handled;
        while (!foreign)
            sched_yield();
        signal_thread(worker, i % 2 ? SIGUSR1 : SIGUSR2);
        while (handled == before)
            sched_yield();
    }
    return NULL;
}

static void asynchronous(void)
{
    pthread_t sender;
    install(SA_RESTART);
    worker = thread_id();
    CHECK(pthread_create(&sender, NULL, signal_when_foreign, NULL) == 0);
    run_foreign(&handled, 200);
    CHECK(pthread_join(sender, NULL) == 0 && sum == 100 * SIGUSR1 + 100 * SIGUSR2);
}

static void a_fault(void)
{
    install(SA_RESTART);
    for (int i = 1; i <= 50; i++) {
        fault_in_foreign();
        CHECK(faults == 3 * i && handled == faults);
    }
}

static volatile int stop;
static void *storm(void *argument)
{
    (void)argument;
    for (unsigned i = 0; !stop; i++) {
        signal_thread(worker, i % 2 ? SIGUSR1 : SIGUSR2);
        if (i % 8 == 0)
            sched_yield();
    }
    return NULL;
}

/* In and outside waits by turns, under a storm of signals; every third wait blocks. */
static void in_waits(void)
{
    pthread_t sender;
    int fd = event(device, 0, 0), turns = 0;
    install(SA_RESTART | SA_ONSTACK);
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    CHECK(sigaltstack(&stack, NULL) == 0);
    worker = thread_id();
    CHECK(pthread_create(&sender, NULL, storm, NULL) == 0);
    for (; turns < 3000; turns++) {
        run_foreign(&foreign, 1); /* for an instant */
        if (turns % 3)
            CHECK(set(fd) == 0 && wait_one(device, fd, FOREVER) == 0);
        else
            CHECK(wait_one(device, fd, in_ms(1)) == -1 && errno == ETIMEDOUT);
        if (turns % 7 == 0)
            fault_in_foreign();
    }
    stop = 1;
    CHECK(pthread_join(sender, NULL) == 0 && handled > faults && faults == 3 * 429);
    CHECK(signaled(fd) == 0);
}

/* Only after it had the device did the program install its handlers; each runs once. */
static void runs_once(void)
{
    worker = thread_id();
    for (int i = 1; i <= 20; i++) {
        install(SA_RESETHAND);
        fault_in_foreign();
        CHECK(faults == 3 * i);
        struct sigaction seen;
        CHECK(sigaction(SIGILL, NULL, &seen) == 0 && seen.sa_handler == SIG_DFL);
    }
    install(SA_RESETHAND | SA_RESTART);
    struct sigaction seen;
    CHECK(sigaction(SIGUSR1, NULL, &seen) == 0 && seen.sa_sigaction == handler && seen.sa_flags & SA_RESETHAND);
    int before = handled;
    signal_thread(worker, SIGUSR1);
    CHECK(handled == before + 1);
    /* A second one meets the default. */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        foreign = 1;
        worker = thread_id();
        if (dispatches) /* is off in a child */
            prepare();
        signal_thread(worker, SIGUSR1);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
}

/* A thread that the C library did not make: it shares the thread pointer of its maker, who is in a wait. */
static char raw_stack[65536] __attribute__((aligned(16)));
static volatile int raw_done, raw_thread;

static int raw_work(void *argument)
{
    (void)argument;
    while (!raw_done)
        bare(SYS_sched_yield, 0, 0, 0);
    bare(SYS_exit, 0, 0, 0);
    return 0;
}

__attribute__((optimize("no-stack-protector"))) static void count_only(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    int count = handled + 1;
    raw_done = bare(SYS_gettid, 0, 0, 0) == raw_thread && count == 10;
    handled = count;
}

static void *wait_and_clone(void *argument)
{
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    raw_thread = clone(raw_work, raw_stack + sizeof raw_stack, flags, NULL);
    CHECK(raw_thread > 0);
    worker = thread_id();
    return (void *)(long)wait_one(device, *(int *)argument, FOREVER);
}

static void raw_clone(void)
{
    pthread_t waiter;
    void *result;
    int fd = event(device, 0, 0);
    handle(SIGUSR1, count_only, SA_RESTART);
    CHECK(pthread_create(&waiter, NULL, wait_and_clone, &fd) == 0);
    while (!worker)
        sched_yield();
    until_asleep(worker);
    for (int i = 1; i <= 10; i++) {
        signal_thread(raw_thread, SIGUSR1);
        while (handled < i)
            sched_yield();
    }
    CHECK(raw_done == 1);
    CHECK(set(fd) == 0 && pthread_join(waiter, &result) == 0 && result == NULL);
}

/* An alternate stack with room for the kernel's frame and 290 bytes: nothing below it is touched. */
static void on_a_tiny_stack(int in_a_wait)
{
    enum { ROOM = 290, GUARD = 4096 };
    unsigned long frame = getauxval(AT_MINSIGSTKSZ);
    if (frame < (unsigned long)MINSIGSTKSZ)
        frame = MINSIGSTKSZ;
    frame += ROOM;
    CHECK(frame + GUARD < sizeof alternate);
    memset(alternate, 0x11, sizeof alternate);
    stack_t stack = {.ss_sp = alternate + GUARD, .ss_size = frame};
    CHECK(sigaltstack(&stack, NULL) == 0);
    handle(SIGUSR1, count_only, SA_ONSTACK | SA_RESTART);
    int fd = event(device, 0, 0);
    worker = thread_id();
    for (int i = 1; i <= 100; i++) {
        if (in_a_wait) {
            pid_t child = fork();
            CHECK(child >= 0);
            if (child == 0) {
                until_asleep(worker);
                kill(getppid(), SIGUSR1);
                until_asleep(worker);
                set(fd);
                _exit(0);
            }
            CHECK(wait_one(device, fd, FOREVER) == 0);
            exited_well(child);
        } else
            signal_thread(worker, SIGUSR1);
        CHECK(handled == i);
    }
    for (int i = 0; i < GUARD; i++)
        CHECK(alternate[i] == 0x11);
}

static void tiny_stack(void) { on_a_tiny_stack(0); }
static void tiny_stack_in_a_wait(void) { on_a_tiny_stack(1); }

static const struct { const char *name; void (*run)(void); } scenarios[] = {
#define SCENARIO(name) {#name, name}
    SCENARIO(asynchronous), SCENARIO(a_fault), SCENARIO(in_waits), SCENARIO(runs_once), SCENARIO(raw_clone),
    SCENARIO(tiny_stack), SCENARIO(tiny_stack_in_a_wait),
};

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    watchdog(100);
    dispatches = strcmp(argv[2], "dispatch") == 0 || strcmp(argv[2], "both") == 0;
    segments = strcmp(argv[2], "segment") == 0 || strcmp(argv[2], "both") == 0 || strcmp(argv[2], "refused-segment") == 0;
    refused = strncmp(argv[2], "refused", strlen("refused")) == 0;
    device = open_device();
    CHECK(set(event(device, 0, 0)) == 0); /* this thread is known */
    prepare();
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    dprintf(2, "no such scenario: %s\n", argv[1]);
    return 2;
}
