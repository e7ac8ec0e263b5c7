/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stands in for an emulator such as box64 or FEX, below a preloaded library: what a program and the library ask of the system passes
 * through here. The kernel enters no handler itself. It enters a function of this file, which calls the handler with a frame of its
 * own making, and with registers that mean nothing but for the three arguments. When the handler returns, what it has changed in
 * the frame is put back: the registers, and the mask, unless the environment says otherwise:
 *
 *   EMULATED_MASK=lost       the frame has no mask, and none is put back
 *   EMULATED_PRCTL=ERROR     prctl() for syscall user dispatch fails with this number
 *
 * All signals are blocked while code of this file runs, except for the instructions from where the handler's mask is in force to the
 * call. A signal that comes there finds the registers of an emulated program that is about to run the handler's first instruction. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

enum { SIGNALS = 64, FRAME = offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t) };

/* The kernel's struct sigaction. */
struct kernel_action { void *handler; unsigned long flags; void (*restorer)(void); uint64_t mask; };

/* What a program, or the library in front, has asked for. */
static struct sigaction asked[SIGNALS + 1];
static volatile char is_ours[SIGNALS + 1];
static int mask_is_lost, dispatch_error;

/* What the call of a handler is made of; the assembly below counts on the order. */
struct entry { uint64_t mask; void *handler; long signal; siginfo_t *info; ucontext_t *frame; };

void emulator_enter(struct entry *entry);
extern const char emulator_unmasked[], emulator_called[];
void emulator_restore(void);

__asm__(".pushsection .text\n"
        "emulator_enter:\n\t"
        "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\tsub $8, %rsp\n\t"
        "mov %rdi, %rbx\n\t"
        "mov $14, %eax\n\tmov $2, %edi\n\tmov %rbx, %rsi\n\txor %edx, %edx\n\tmov $8, %r10d\n\tsyscall\n"
        "emulator_unmasked:\n\t"
        "mov 8(%rbx), %r14\n\tmov 16(%rbx), %rdi\n\tmov 24(%rbx), %rsi\n\tmov 32(%rbx), %rdx\n\t"
        "mov $0x5a5a5a5a5a5a5a5a, %rax\n\t"
        "mov %rax, %rcx\n\tmov %rax, %r8\n\tmov %rax, %r9\n\tmov %rax, %r10\n\tmov %rax, %r11\n\tmov %rax, %r12\n\t"
        "mov %rax, %r13\n\tmov %rax, %r15\n\tmov %rax, %rbp\n\t"
        "call *%r14\n"
        "emulator_called:\n\t"
        "mov $14, %eax\n\txor %edi, %edi\n\tlea emulator_all(%rip), %rsi\n\txor %edx, %edx\n\tmov $8, %r10d\n\tsyscall\n\t"
        "add $8, %rsp\n\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n"
        "emulator_all: .quad -1\n"
        "emulator_restore:\n\tmov $15, %eax\n\tsyscall\n"
        ".popsection");

static uint64_t *mask_of(ucontext_t *context) { return (uint64_t *)&context->uc_sigmask; }

/* The state of the emulated program, as far as this file's own is not part of it. Returns 1 if it differs from the machine's. */
static int show(greg_t *machine, greg_t *shown)
{
    const struct entry *entry = (const struct entry *)machine[REG_RBX];
    uintptr_t at = (uintptr_t)machine[REG_RIP];
    if (at < (uintptr_t)emulator_unmasked || at >= (uintptr_t)emulator_called)
        return 0;
    shown[REG_RIP] = (greg_t)entry->handler;
    shown[REG_RDI] = entry->signal;
    shown[REG_RSI] = (greg_t)entry->info;
    shown[REG_RDX] = (greg_t)entry->frame;
    return 1;
}

static void arrives(int signal, siginfo_t *info, ucontext_t *machine)
{
    const struct sigaction *action = &asked[signal];
    ucontext_t frame;
    siginfo_t shown_info = *info;
    uint64_t own = action->sa_flags & SA_NODEFER ? 0 : 1ull << (signal - 1), before = *mask_of(machine);

    memcpy(&frame, machine, FRAME);
    int differs = show(machine->uc_mcontext.gregs, frame.uc_mcontext.gregs);
    frame.uc_link = NULL;
    frame.uc_mcontext.gregs[REG_OLDMASK] = 0;
    if (mask_is_lost)
        *mask_of(&frame) = 0;
    struct entry entry = {before | *(const uint64_t *)&action->sa_mask | own, (void *)action->sa_sigaction, signal, &shown_info, &frame};
    emulator_enter(&entry);
    if (!differs)
        memcpy(machine->uc_mcontext.gregs, frame.uc_mcontext.gregs, sizeof frame.uc_mcontext.gregs);
    if (!mask_is_lost)
        *mask_of(machine) = *mask_of(&frame);
}

int sigaction(int signal, const struct sigaction *new, struct sigaction *old)
{
    struct kernel_action ours = {0}, before = {0};
    int known = signal >= 1 && signal <= SIGNALS && is_ours[signal];
    struct sigaction known_one = {0};
    if (known)
        known_one = asked[signal];
    if (new) {
        int has_handler = new->sa_handler != SIG_DFL && new->sa_handler != SIG_IGN;
        ours.handler = has_handler ? (void *)arrives : (void *)new->sa_handler;
        ours.flags = (unsigned)new->sa_flags & ~(SA_RESETHAND | SA_NODEFER);
        ours.flags |= SA_RESTORER | SA_SIGINFO;
        ours.restorer = emulator_restore;
        ours.mask = -1ull;
        if (signal >= 1 && signal <= SIGNALS) {
            asked[signal] = *new;
            is_ours[signal] = (char)has_handler;
        }
    }
    long result = syscall(SYS_rt_sigaction, signal, new ? &ours : NULL, &before, sizeof ours.mask);
    if (result == 0 && old) {
        memset(old, 0, sizeof *old);
        old->sa_handler = (void (*)(int))before.handler;
        old->sa_flags = (int)(before.flags & ~(unsigned long)SA_RESTORER);
        memcpy(&old->sa_mask, &before.mask, sizeof before.mask);
        if (known)
            *old = known_one;
    }
    return (int)result;
}

int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long words[4];
    for (int i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SYSCALL_USER_DISPATCH && dispatch_error) {
        errno = dispatch_error;
        return -1;
    }
    return (int)syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
}

__attribute__((constructor)) static void begin(void)
{
    const char *mask = getenv("EMULATED_MASK"), *error = getenv("EMULATED_PRCTL");
    mask_is_lost = mask && strcmp(mask, "lost") == 0;
    dispatch_error = error ? atoi(error) : 0;
}
