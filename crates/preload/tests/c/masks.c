/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bad pointers are reported whatever has changed the thread's mask: also what no library sees. The argument is the way. */
#include "device.h"
#include <poll.h>
#include <ucontext.h>

static int device, ev, mut, sockets[2];
static char *forbidden, *constant;
static sigset_t blocked;

/* Not the C library's function. */
static long bare(long number, long a, long b, long c, long d)
{
#ifdef __x86_64__
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#endif
}

static uint64_t mask_now(void)
{
    uint64_t mask;
    CHECK(bare(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, 8) == 0);
    return mask;
}

#define FAULTS (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1))

static char *page(void)
{
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void refused_at(void *bad)
{
    REFUSED(ioctl(device, CREATE_EVENT, bad), EFAULT);
    REFUSED(ioctl(ev, EVENT_SET, bad), EFAULT);
    REFUSED(ioctl(mut, MUTEX_UNLOCK, bad), EFAULT);
    REFUSED(ioctl(ev, EVENT_READ, bad), EFAULT);
    REFUSED(ioctl(device, WAIT_ANY, bad), EFAULT);
    struct wait_args wait = {.objs = (uintptr_t)bad, .count = 1, .owner = 1};
    REFUSED(ioctl(device, WAIT_ANY, &wait), EFAULT);
    REFUSED(ioctl(device, WAIT_ALL, &wait), EFAULT);
    struct iovec bytes = {"", 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = bad, .msg_controllen = 64};
    REFUSED(sendmsg(sockets[0], &message, 0), EFAULT);
    REFUSED(sendmsg(sockets[0], bad, 0), EFAULT);
}

static void works_at(void *good)
{
    struct event_args *args = good;
    CHECK(ioctl(ev, EVENT_SET, good) == 0);
    CHECK(ioctl(ev, EVENT_READ, args) == 0 && args->manual == 1 && args->signaled == 1);
    struct wait_args *wait = good;
    *wait = (struct wait_args){.objs = (uintptr_t)(wait + 1), .count = 1, .owner = 1};
    *(int *)(wait + 1) = ev;
    CHECK(ioctl(device, WAIT_ANY, wait) == 0 && wait->index == 0);
}

/* Faults are blocked. */
static void try_everything(void)
{
    uint64_t before = mask_now();
    CHECK((before & FAULTS) == FAULTS);
    char local[64];
    works_at(local);
    refused_at(NULL);
    refused_at(forbidden);
    refused_at((void *)-4096l);
    refused_at((void *)(1ul << 63));
    REFUSED(ioctl(ev, EVENT_READ, constant), EFAULT);
    /* Good a moment ago. */
    for (int i = 0; i < 3; i++) {
        char *memory = page();
        works_at(memory);
        CHECK(mprotect(memory, 4096, PROT_NONE) == 0);
        refused_at(memory);
        CHECK(munmap(memory, 4096) == 0);
        refused_at(memory);
    }
    works_at(local);
    CHECK(mask_now() == before);
}

/* On a stack of the thread's own, with a page behind it that was good, and is gone. */
static void *behind_the_stack(void *nothing)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    CHECK(pthread_attr_getstack(&attributes, &start, &size) == 0);
    char *behind = (char *)start + size;
    CHECK(mmap(behind, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == behind);
    works_at(behind);
    CHECK(munmap(behind, 4096) == 0);
    CHECK(bare(SYS_rt_sigprocmask, SIG_BLOCK, (long)&blocked, 0, 8) == 0);
    refused_at(behind);
    try_everything();
    return nothing;
}

static void in_threads(void)
{
    /* As much as glibc wants on aarch64. */
    enum { SIZE = 128 << 10 };
    /* Room for a page behind the stack. */
    char *memory = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && munmap(memory + SIZE, 4096) == 0);
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, memory, SIZE) == 0);
    CHECK(pthread_create(&thread, &attributes, behind_the_stack, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

/* The caller's mask is as it was before. */
static void by_jump(void)
{
    static sigjmp_buf place;
    static volatile int comes_back;
    CHECK(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
    if (sigsetjmp(place, 1) == 0) {
        CHECK(sigprocmask(SIG_UNBLOCK, &blocked, NULL) == 0 && (mask_now() & FAULTS) == 0);
        char local[64];
        works_at(local);
        comes_back = 1;
        siglongjmp(place, 1);
    }
    CHECK(comes_back);
    try_everything();
}

static void by_context(void)
{
    static ucontext_t context;
    static volatile int came_back;
    CHECK(getcontext(&context) == 0);
    if (!came_back) {
        came_back = 1;
        context.uc_sigmask = blocked;
        setcontext(&context);
    }
    try_everything();
}

static ucontext_t outside, inside;
static void on_another_stack(void)
{
    try_everything();
    CHECK(swapcontext(&inside, &outside) == 0);
    try_everything();
}

/* A stack of the program's, and back, and another time; then it is gone, and the addresses of its variables with it. */
static void by_swap(void)
{
    enum { SIZE = 64 << 10 };
    char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED && getcontext(&inside) == 0);
    inside.uc_stack = (stack_t){.ss_sp = stack, .ss_size = SIZE};
    inside.uc_link = &outside;
    inside.uc_sigmask = blocked;
    makecontext(&inside, on_another_stack, 0);
    CHECK(swapcontext(&outside, &inside) == 0 && (mask_now() & FAULTS) == 0);
    char local[64];
    works_at(local);
    CHECK(swapcontext(&outside, &inside) == 0);
    CHECK(munmap(stack, SIZE) == 0);
    CHECK(bare(SYS_rt_sigprocmask, SIG_BLOCK, (long)&blocked, 0, 8) == 0);
    for (int at = 4096; at < SIZE; at += 4096)
        refused_at(stack + at);
    try_everything();
}

static void blocks_when_it_returns(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    char local[64];
    works_at(local);
    ((ucontext_t *)context)->uc_sigmask = blocked;
}

static void by_return(void)
{
    handle(SIGUSR1, blocks_when_it_returns, 0);
    CHECK(raise(SIGUSR1) == 0);
    try_everything();
}

static void by_number(void)
{
    CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, NULL, 8) == 0);
    try_everything();
}

static void by_bare_call(void)
{
    CHECK(bare(SYS_rt_sigprocmask, SIG_BLOCK, (long)&blocked, 0, 8) == 0);
    try_everything();
}

static volatile int tried;
static void tries(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    try_everything();
    tried++;
}

/* In handlers for whose time faults are blocked by the call that they interrupt. */
static void by_waiting(void)
{
    sigset_t usr1, but_usr1 = blocked;
    sigemptyset(&usr1), sigaddset(&usr1, SIGUSR1);
    handle(SIGUSR1, tries, 0);
    CHECK(sigprocmask(SIG_BLOCK, &usr1, NULL) == 0 && raise(SIGUSR1) == 0);
    REFUSED(sigsuspend(&but_usr1), EINTR);
    CHECK(tried == 1 && raise(SIGUSR1) == 0);
    REFUSED(ppoll(NULL, 0, NULL, &but_usr1), EINTR);
    CHECK(tried == 2);
}

int main(int count, char **given)
{
    watchdog(60);
    CHECK(count == 2);
    sigemptyset(&blocked), sigaddset(&blocked, SIGSEGV), sigaddset(&blocked, SIGBUS);
    forbidden = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    constant = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(forbidden != MAP_FAILED && constant != MAP_FAILED && socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
    device = open_device(), ev = event(device, 1, 0), mut = mutex(device, 0, 0);
    char local[64];
    works_at(local);
#define WAY(name) if (strcmp(given[1], #name) == 0) return name(), 0
    WAY(by_jump);
    WAY(by_context);
    WAY(by_swap);
    WAY(by_return);
    WAY(by_number);
    WAY(by_bare_call);
    WAY(by_waiting);
    WAY(in_threads);
    return 2;
}
