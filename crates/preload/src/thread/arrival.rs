//! The arrival of a signal: the first instructions that run in place of the program's handler.
//!
//! The kernel calls a *stub*; each action of the program has one ([`crate::thread::actions`]). The stub determines whether the
//! thread was inside this library, and if not, jumps to the program's handler. That handler finds everything as the
//! kernel left it: arguments, stack, return address, mask. Nothing of ours runs after it.
//!
//! # What the stub must not rely on
//! The program may have put the thread into a state that the C library does not expect. Wine does both of these while
//! Windows code runs, and its handlers restore the state with their first instructions:
//!
//! * The thread pointer is another one (`%fs` of 32-bit Windows code), so there is no thread-local storage.
//! * System calls are refused except from the text of the C library (syscall user dispatch): a `syscall` instruction
//!   here would raise `SIGSYS` within a signal.
//!
//! And the alternate stack may have room only for the kernel's own frame. So until the stub knows that the thread is
//! inside or at its door, it reads only memory of this library, the kernel's frame and two registers. It makes no call,
//! and writes nothing.
//!
//! # How the stub identifies the thread
//! The stub compares the thread pointer with those in [`record::BUCKETS`], and the stack pointer with the one with
//! which the thread went inside. It reads the thread pointer from the processor (`rdfsbase`; `tpidr_el0`) and never
//! dereferences it. A thread with the thread pointer of a record is that thread, or one that shares it (made by `clone`
//! without its own thread-local storage), which has another stack. A thread with a foreign thread pointer is not
//! inside, because nobody calls this library in that state.
//!
//! Processors before 2012 have no `rdfsbase`, and some systems do not permit it. There, a `%fs` selector of 0 means
//! that the base was set by a system call, so it is the C library's, and its first word is its address; any other
//! selector is foreign. A thread with an invalid base would fault there; this is the only difference.
//!
//! # The cases
//!
//! | the signal is | the thread is | the stub |
//! | --- | --- | --- |
//! | a fault of the guarded copy | inside | continues the copy at its landing |
//! | a fault elsewhere | anywhere | jumps to the handler |
//! | asynchronous | outside | jumps to the handler |
//! | asynchronous | inside, or due at its door | blocks all signals, calls [`signals::attend`], and returns or jumps |
//! | for `SIG_DFL`, `SIG_IGN`, or a handler that runs once | outside | calls [`actions::without_handler`], and returns or jumps |
//!
//! # Interrupted by another signal
//! A handler's mask is the program's, so a second signal can arrive at any instruction of a stub. Then the state that
//! the first one interrupted decides: the stub follows the kernel's frames outwards while the program counter is in the
//! region `ntux_arrivals` to `ntux_arrivals_end`. A frame in that region has the address of the next frame in the
//! register of the third argument; from `ntux_attention` on in another register, because the system call needs that
//! one. After `ntux_attention` all asynchronous signals are blocked after one instruction. The region ends where the
//! call of [`signals::attend`] returns, so a context in it always leads to the next one.
//!
//! | A interrupted | B arrives in A's stub | |
//! | --- | --- | --- |
//! | the program | outside | B's handler runs first, then A's: as the kernel stacks them |
//! | this library, inside | inside | B is owed, and all signals are blocked in A's stub; A is sent again, and follows: in the same order |
//!
//! One case is not covered: between A and B, on an alternate stack, the handler of the C library's own signal 33
//! (`setuid` of another thread), which keeps no such register. Then B runs at once, before the operation has left its
//! queues.

use crate::thread::actions::{self, ACTIONS_MAX, Action};
use crate::thread::record::{self, BUCKET_BITS, BUCKET_FACTOR, Record};
use crate::thread::signals::{self, ASYNCHRONOUS, Mask, STAND_IN};
use core::mem::offset_of;
#[cfg(target_arch = "x86_64")]
use ntux_platform::atomic::Word32;
use ntux_sync::door::Door;

/// Bytes of a stub.
#[cfg(target_arch = "x86_64")]
const STUB: usize = 16;
#[cfg(target_arch = "aarch64")]
const STUB: usize = 8;

/// How far below the stack pointer of [`record::enter`] the thread may be and still count as inside: far more than
/// this library needs, far less than the distance between two stacks.
pub(crate) const INSIDE_BELOW: u64 = 256 << 10;
/// How far above: the compiler may move the stack pointer within the function that entered.
pub(crate) const INSIDE_ABOVE: u64 = 512;

/// 1 if a program may read its thread pointer without a system call.
#[cfg(target_arch = "x86_64")]
static POINTER_IS_READABLE: Word32 = Word32::new(0);

/// What [`signals::attend`] blocks with.
static TO_BLOCK: Mask = ASYNCHRONOUS;

/// Determines what the processor permits. Call before the first stub is installed.
pub(crate) fn prepare() {
    #[cfg(target_arch = "x86_64")]
    {
        const FSGSBASE: u64 = 1 << 1;
        // SAFETY: has no precondition.
        let permitted = unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE != 0;
        let wanted = !ntux_platform::without::Feature::ReadThreadPointer.is_left_out();
        POINTER_IS_READABLE.store(u32::from(permitted && wanted));
    }
}

/// The stub of an action, by its place in the table.
pub(crate) fn stub(place: usize) -> usize {
    debug_assert!(place < ACTIONS_MAX, "there are as many stubs as actions");
    ntux_arrivals as *const () as usize + place * STUB
}

/// The place of the action whose stub this is, if it is one.
pub(crate) fn place_of(handler: usize) -> Option<usize> {
    let offset = handler.checked_sub(ntux_arrivals as *const () as usize)?;
    (offset < ACTIONS_MAX * STUB && offset.is_multiple_of(STUB)).then_some(offset / STUB)
}

unsafe extern "C" {
    /// Not a function: the first stub.
    fn ntux_arrivals();
}

/// What the stub leaves on the stack for [`signals::attend`].
#[repr(C)]
pub(crate) struct Attention {
    /// The mask that was in force until now: the program's, for its handler.
    pub(crate) mask: Mask,
    /// The context before any stub: `context`, or a frame further out.
    pub(crate) innermost: *const Context,
    pub(crate) signal: usize,
    pub(crate) information: *mut signals::Information,
    pub(crate) context: *mut Context,
    pub(crate) record: &'static Record,
    pub(crate) action: &'static Action,
}

/// The kernel's frame for a handler (`struct ucontext`), as far as it is used here.
#[repr(C)]
#[cfg(target_arch = "x86_64")]
pub(crate) struct Context {
    head: [u64; 5],
    r8: u64,
    r9_to_rbx: [u64; 11],
    rdx: u64,
    rax_rcx: [u64; 2],
    stack_pointer: u64,
    counter: u64,
    eflags_to_reserved: [u64; 15],
    mask: Mask,
}

/// The kernel's frame for a handler (`struct ucontext`), as far as it is used here.
#[repr(C)]
#[cfg(target_arch = "aarch64")]
pub(crate) struct Context {
    head: [u64; 5],
    mask: Mask,
    mask_reserved: [u64; 15],
    padding: u64,
    fault_address: u64,
    registers: [u64; 31],
    stack_pointer: u64,
    counter: u64,
}

#[cfg(target_arch = "x86_64")]
const _: () = assert!(
    offset_of!(Context, r8) == 40
        && offset_of!(Context, rdx) == 136
        && offset_of!(Context, stack_pointer) == 160
        && offset_of!(Context, counter) == 168
        && offset_of!(Context, mask) == 296
);
#[cfg(target_arch = "aarch64")]
const _: () = assert!(
    offset_of!(Context, mask) == 40
        && offset_of!(Context, registers) == 184
        && offset_of!(Context, stack_pointer) == 432
        && offset_of!(Context, counter) == 440
);

impl Context {
    pub(crate) fn stack_pointer(&self) -> u64 {
        self.stack_pointer
    }
}

/// The stubs in assembly, then the operands that only one processor needs.
macro_rules! stubs {
    ($($line:literal,)* ; $($own:tt)*) => {
        core::arch::global_asm!(
            $($line,)*
            stubs = const ACTIONS_MAX,
            stub_shift = const STUB.trailing_zeros(),
            action_shift = const size_of::<Action>().trailing_zeros(),
            actions = sym actions::TABLE,
            code = const signals::CODE,
            sender = const signals::SENDER,
            notes = const offset_of!(Action, notes),
            handler = const Action::HANDLER,
            can_be_fault = const actions::CAN_BE_FAULT,
            can_be_guarded = const actions::CAN_BE_GUARDED,
            no_plain_handler = const actions::NO_PLAIN_HANDLER,
            counter = const offset_of!(Context, counter),
            stack_pointer = const offset_of!(Context, stack_pointer),
            factor = const BUCKET_FACTOR,
            bucket_shift = const u64::BITS - BUCKET_BITS,
            buckets = sym record::BUCKETS,
            thread_pointer = const offset_of!(Record, thread_pointer),
            next = const offset_of!(Record, next),
            lineage = sym record::LINEAGE,
            holder = const offset_of!(Record, holder),
            inside = const offset_of!(Record, door) + Door::INSIDE,
            above = const INSIDE_ABOVE,
            below = const INSIDE_ABOVE + INSIDE_BELOW,
            due = const offset_of!(Record, door) + Door::DUE,
            stand_in = const STAND_IN,
            to_block = sym TO_BLOCK,
            sigprocmask = const libc::SYS_rt_sigprocmask,
            attend = sym signals::attend,
            without_handler = sym actions::without_handler,
            $($own)*
        );
    };
}

#[cfg(target_arch = "x86_64")]
stubs!(
    ".pushsection .text.ntux_arrivals,\"ax\",@progbits",
    ".p2align 4",
    ".globl ntux_arrivals",
    ".hidden ntux_arrivals",
    ".type ntux_arrivals,@function",
    "ntux_arrivals:",
    ".cfi_startproc",
    ".rept {stubs}",
    ".p2align 4",
    "lea rax, [rip]",
    "jmp 42f",
    ".endr",
    ".p2align 4",
    // edi: signal, rsi: information, rdx: context. From here on r9: the action.
    "42:",
    "lea r9, [rip + ntux_arrivals]",
    "sub rax, r9",
    "shr rax, {stub_shift}",
    "shl rax, {action_shift}",
    "mov r9, qword ptr [rip + {actions}]",
    "add r9, rax",
    // A fault?
    "cmp dword ptr [rsi + {code}], 0",
    "jle 12f",
    "test dword ptr [r9 + {notes}], {can_be_fault}",
    "jz 12f",
    "mov r11, -1", // no stack pointer: a fault is never kept waiting
    "mov r10, qword ptr [rdx + {counter}]",
    "lea rcx, [rip + ntux_guarded_copy]",
    "cmp r10, rcx",
    "jb 14f",
    "lea rcx, [rip + ntux_guarded_copy_landing]",
    "cmp r10, rcx",
    "jae 14f",
    "test dword ptr [r9 + {notes}], {can_be_guarded}",
    "jz 14f",
    "mov qword ptr [rdx + {counter}], rcx",
    "ret",
    // r8: the innermost context, r11: its stack pointer.
    "12:",
    "mov r8, rdx",
    "13:",
    "mov r10, qword ptr [r8 + {counter}]",
    "mov r11, qword ptr [r8 + {stack_pointer}]",
    "lea rcx, [rip + ntux_arrivals]",
    "cmp r10, rcx",
    "jb 14f",
    "lea rcx, [rip + ntux_arrivals_end]",
    "cmp r10, rcx",
    "jae 14f",
    "lea rcx, [rip + ntux_attention]",
    "cmp r10, rcx",
    "mov r10, qword ptr [r8 + {r8}]",
    "mov r8, qword ptr [r8 + {rdx}]",
    "cmovae r8, r10",
    "jmp 13b",
    // rcx: the thread pointer, rax: the record.
    "14:",
    "cmp dword ptr [rip + {readable}], 0",
    "je 15f",
    ".byte 0xf3, 0x48, 0x0f, 0xae, 0xc1", // rdfsbase rcx
    "jmp 16f",
    "15:",
    "mov ecx, fs",
    "test ecx, ecx",
    "jnz 20f",
    "mov rcx, qword ptr fs:[0]",
    "16:",
    "movabs r10, {factor}",
    "imul r10, rcx",
    "shr r10, {bucket_shift}",
    "lea rax, [rip + {buckets}]",
    "mov rax, qword ptr [rax + 8*r10]",
    "17:",
    "test rax, rax",
    "jz 20f",
    "cmp rcx, qword ptr [rax + {thread_pointer}]",
    "je 19f",
    "18:",
    "mov rax, qword ptr [rax + {next}]",
    "jmp 17b",
    // Of this process?
    "19:",
    "mov r10, qword ptr [rip + {lineage}]",
    "test r10, r10",
    "jz 20f",
    "mov r10, qword ptr [r10]",
    "cmp r10, qword ptr [rax + {holder}]",
    "jne 18b",
    // Inside?
    "mov r10, qword ptr [rax + {inside}]",
    "test r10, r10",
    "jz 21f",
    "add r10, {above}",
    "sub r10, r11",
    "cmp r10, {below}",
    "jb 30f",
    // Due, or a stand-in? A fault is neither.
    "21:",
    "cmp r11, -1",
    "je 20f",
    "mov r10, qword ptr [rax + {due}]",
    "lea ecx, [rdi - 1]",
    "bt r10, rcx",
    "jc 30f",
    "movabs r10, {stand_in}",
    "cmp r10, qword ptr [rsi + {sender}]",
    "je 30f",
    "20:",
    ".if {planted}",
    "mov rcx, qword ptr fs:[0]",
    "mov rcx, qword ptr [rcx]",
    "mov eax, {getpid}",
    "syscall",
    ".endif",
    "test dword ptr [r9 + {notes}], {no_plain_handler}",
    "jnz ntux_no_plain_handler",
    "jmp qword ptr [r9 + {handler}]",
    // The thread is inside or at its door: system calls are permitted, and thread-local storage is its own.
    "30:",
    "mov rcx, r8",
    "mov r8, rdx",
    ".globl ntux_attention",
    ".hidden ntux_attention",
    "ntux_attention:",
    "push r9",
    ".cfi_adjust_cfa_offset 8",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    "push rdx",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rcx",
    ".cfi_adjust_cfa_offset 8",
    "push 0",
    ".cfi_adjust_cfa_offset 8",
    "xor edi, edi", // SIG_BLOCK
    "lea rsi, [rip + {to_block}]",
    "mov rdx, rsp",
    "mov r10d, 8",
    "mov eax, {sigprocmask}",
    "syscall",
    "mov rdi, rsp",
    "call {attend}",
    ".globl ntux_arrivals_end",
    ".hidden ntux_arrivals_end",
    "ntux_arrivals_end:",
    "add rsp, 16",
    ".cfi_adjust_cfa_offset -16",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "pop rsi",
    ".cfi_adjust_cfa_offset -8",
    "pop rdx",
    ".cfi_adjust_cfa_offset -8",
    "pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "pop r9",
    ".cfi_adjust_cfa_offset -8",
    "test al, al",
    "jz 31f",
    "jmp qword ptr [r9 + {handler}]",
    "31:",
    "ret",
    // No handler, or one that runs once: the thread is outside.
    "ntux_no_plain_handler:",
    "push r9",
    ".cfi_adjust_cfa_offset 8",
    "push rdx",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    "mov rdx, r9",
    "call {without_handler}",
    "pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "pop rsi",
    ".cfi_adjust_cfa_offset -8",
    "pop rdx",
    ".cfi_adjust_cfa_offset -8",
    "pop r9",
    ".cfi_adjust_cfa_offset -8",
    "test al, al",
    "jz 41f",
    "jmp qword ptr [r9 + {handler}]",
    "41:",
    "ret",
    ".cfi_endproc",
    ".size ntux_arrivals, .-ntux_arrivals",
    ".popsection",
    ;
    r8 = const offset_of!(Context, r8),
    rdx = const offset_of!(Context, rdx),
    readable = sym POINTER_IS_READABLE,
    getpid = const libc::SYS_getpid,
    planted = const cfg!(feature = "planted-early") as u32,
);

#[cfg(target_arch = "aarch64")]
stubs!(
    ".pushsection .text.ntux_arrivals,\"ax\",@progbits",
    ".p2align 4",
    ".globl ntux_arrivals",
    ".hidden ntux_arrivals",
    ".type ntux_arrivals,@function",
    "ntux_arrivals:",
    ".cfi_startproc",
    ".rept {stubs}",
    "adr x9, .",
    "b 42f",
    ".endr",
    // w0: signal, x1: information, x2: context. From here on x9: the action.
    "42:",
    "adrp x10, ntux_arrivals",
    "add x10, x10, :lo12:ntux_arrivals",
    "sub x9, x9, x10",
    "lsr x9, x9, #{stub_shift}",
    "adrp x11, {actions}",
    "ldr x11, [x11, :lo12:{actions}]",
    "add x9, x11, x9, lsl #{action_shift}",
    // A fault?
    "ldr w11, [x1, #{code}]",
    "cmp w11, #0",
    "b.le 12f",
    "ldr w11, [x9, #{notes}]",
    "tst w11, #{can_be_fault}",
    "b.eq 12f",
    "mov x12, #-1", // no stack pointer: a fault is never kept waiting
    "ldr x13, [x2, #{counter}]",
    "adrp x14, ntux_guarded_copy",
    "add x14, x14, :lo12:ntux_guarded_copy",
    "cmp x13, x14",
    "b.lo 14f",
    "adrp x14, ntux_guarded_copy_landing",
    "add x14, x14, :lo12:ntux_guarded_copy_landing",
    "cmp x13, x14",
    "b.hs 14f",
    "tst w11, #{can_be_guarded}",
    "b.eq 14f",
    "str x14, [x2, #{counter}]",
    "ret",
    // x8: the innermost context, x12: its stack pointer.
    "12:",
    "mov x8, x2",
    "13:",
    "ldr x13, [x8, #{counter}]",
    "ldr x12, [x8, #{stack_pointer}]",
    "cmp x13, x10",
    "b.lo 14f",
    "adrp x14, ntux_arrivals_end",
    "add x14, x14, :lo12:ntux_arrivals_end",
    "cmp x13, x14",
    "b.hs 14f",
    "adrp x14, ntux_attention",
    "add x14, x14, :lo12:ntux_attention",
    "cmp x13, x14",
    "ldr x14, [x8, #{x2}]",
    "ldr x13, [x8, #{x15}]",
    "csel x8, x13, x14, hs",
    "b 13b",
    // x11: the thread pointer, x13: the record.
    "14:",
    "mrs x11, tpidr_el0",
    "ldr x14, 23f",
    "mul x14, x14, x11",
    "lsr x14, x14, #{bucket_shift}",
    "adrp x13, {buckets}",
    "add x13, x13, :lo12:{buckets}",
    "ldr x13, [x13, x14, lsl #3]",
    "17:",
    "cbz x13, 20f",
    "ldr x14, [x13, #{thread_pointer}]",
    "cmp x14, x11",
    "b.eq 19f",
    "18:",
    "ldr x13, [x13, #{next}]",
    "b 17b",
    // Of this process?
    "19:",
    "adrp x14, {lineage}",
    "ldr x14, [x14, :lo12:{lineage}]",
    "cbz x14, 20f",
    "ldr x14, [x14]",
    "ldr x16, [x13, #{holder}]",
    "cmp x14, x16",
    "b.ne 18b",
    // Inside?
    "ldr x14, [x13, #{inside}]",
    "cbz x14, 21f",
    "add x14, x14, #{above}",
    "sub x14, x14, x12",
    "movz x16, #({below} & 0xffff)",
    "movk x16, #({below} >> 16), lsl #16",
    "cmp x14, x16",
    "b.lo 30f",
    // Due, or a stand-in? A fault is neither.
    "21:",
    "cmn x12, #1",
    "b.eq 20f",
    "ldr x14, [x13, #{due}]",
    "sub w16, w0, #1",
    "lsr x14, x14, x16",
    "tbnz x14, #0, 30f",
    "ldr x14, 24f",
    "ldr x16, [x1, #{sender}]",
    "cmp x14, x16",
    "b.eq 30f",
    "20:",
    "ldr w14, [x9, #{notes}]",
    "ldr x16, [x9, #{handler}]",
    "tst w14, #{no_plain_handler}",
    "b.ne ntux_no_plain_handler",
    "br x16",
    ".p2align 3",
    "23: .quad {factor}",
    "24: .quad {stand_in}",
    // The thread is inside or at its door: system calls are permitted, and thread-local storage is its own.
    "30:",
    "mov x14, x8",
    "mov x15, x2",
    ".globl ntux_attention",
    ".hidden ntux_attention",
    "ntux_attention:",
    "sub sp, sp, #80",
    ".cfi_def_cfa_offset 80",
    "str x30, [sp, #64]",
    ".cfi_offset x30, -16",
    "stp xzr, x14, [sp]",
    "stp x0, x1, [sp, #16]",
    "stp x2, x13, [sp, #32]",
    "str x9, [sp, #48]",
    "mov x0, #0", // SIG_BLOCK
    "adrp x1, {to_block}",
    "add x1, x1, :lo12:{to_block}",
    "mov x2, sp",
    "mov x3, #8",
    "mov x8, #{sigprocmask}",
    "svc #0",
    "mov x0, sp",
    "bl {attend}",
    ".globl ntux_arrivals_end",
    ".hidden ntux_arrivals_end",
    "ntux_arrivals_end:",
    "and w14, w0, #255",
    "ldp x0, x1, [sp, #16]",
    "ldr x2, [sp, #32]",
    "ldr x9, [sp, #48]",
    "ldr x30, [sp, #64]",
    "add sp, sp, #80",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x30",
    "cbz w14, 31f",
    "ldr x16, [x9, #{handler}]",
    "br x16",
    "31:",
    "ret",
    // No handler, or one that runs once: the thread is outside.
    "ntux_no_plain_handler:",
    "sub sp, sp, #48",
    ".cfi_def_cfa_offset 48",
    "str x30, [sp, #32]",
    ".cfi_offset x30, -16",
    "stp x0, x1, [sp]",
    "stp x2, x9, [sp, #16]",
    "mov x2, x9",
    "bl {without_handler}",
    "and w14, w0, #255",
    "ldp x0, x1, [sp]",
    "ldp x2, x9, [sp, #16]",
    "ldr x30, [sp, #32]",
    "add sp, sp, #48",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x30",
    "cbz w14, 41f",
    "ldr x16, [x9, #{handler}]",
    "br x16",
    "41:",
    "ret",
    ".cfi_endproc",
    ".size ntux_arrivals, .-ntux_arrivals",
    ".popsection",
    ;
    x2 = const offset_of!(Context, registers) + 2 * 8,
    x15 = const offset_of!(Context, registers) + 15 * 8,
);
