// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arrival of a signal: the first instructions that run in place of the program's handler.
//!
//! The kernel calls a *stub*; each action of the program has one ([`super::actions`]). The stub determines whether the
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
//! The stub compares the thread pointer with those in [`super::record::BUCKETS`], and the stack pointer with the one with
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
//! | asynchronous | inside, or due at its door | blocks all signals, calls [`super::signals::attend`], and returns or jumps |
//! | for `SIG_DFL`, `SIG_IGN`, or a handler that runs once | outside | calls [`super::defaults::without_handler`], and returns or jumps |
//!
//! # Interrupted by another signal
//! A handler's mask is the program's, so a second signal can arrive at any instruction of a stub. Then the state that
//! the first one interrupted decides: the stub follows the kernel's frames outwards while the program counter is in the
//! region `ntux_arrivals` to `ntux_arrivals_end`. A frame in that region has the address of the next frame in the
//! register of the third argument; from `ntux_attention` on in another register, because the system call needs that
//! one. After `ntux_attention` all asynchronous signals are blocked after one instruction. The region ends where the
//! call of [`super::signals::attend`] returns, so a context in it always leads to the next one.
//!
//! | A interrupted | B arrives in A's stub | |
//! | --- | --- | --- |
//! | the program | outside | B's handler runs first, then A's: as the kernel stacks them |
//! | this library, inside | inside | B is owed, and all signals are blocked in A's stub; A is sent again, and follows: in the same order |
//!
//! One case is not covered: between A and B, on an alternate stack, the handler of the C library's own signal 33
//! (`setuid` of another thread), which keeps no such register. Then B runs at once, before the operation has left its
//! queues.

#[cfg(target_arch = "x86_64")]
use ntux_platform::atomic::Word32;
use ntux_platform::to_self::{ASYNCHRONOUS, Mask};

/// 1 if a program may read its thread pointer without a system call.
#[cfg(target_arch = "x86_64")]
static POINTER_IS_READABLE: Word32 = Word32::new(0);

/// What [`super::signals::attend`] blocks with.
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

/// The stubs in assembly, then the operands that only one processor needs.
macro_rules! stubs {
    ($($line:literal,)* ; $($own:tt)*) => {
        core::arch::global_asm!(
            $($line,)*
            stubs = const $crate::thread::actions::ACTIONS_MAX,
            stub_shift = const $crate::thread::actions::STUB.trailing_zeros(),
            action_shift = const size_of::<$crate::thread::actions::Action>().trailing_zeros(),
            actions = sym $crate::thread::actions::TABLE,
            code = const ntux_platform::interposition::CODE,
            sender = const ntux_platform::interposition::SENDER,
            notes = const core::mem::offset_of!($crate::thread::actions::Action, notes),
            handler = const $crate::thread::actions::Action::HANDLER,
            can_be_fault = const $crate::thread::actions::CAN_BE_FAULT,
            can_be_guarded = const $crate::thread::actions::CAN_BE_GUARDED,
            no_plain_handler = const $crate::thread::actions::NO_PLAIN_HANDLER,
            counter = const core::mem::offset_of!($crate::thread::frame::Context, counter),
            stack_pointer = const core::mem::offset_of!($crate::thread::frame::Context, stack_pointer),
            factor = const $crate::thread::record::BUCKET_FACTOR,
            bucket_shift = const u64::BITS - $crate::thread::record::BUCKET_BITS,
            buckets = sym $crate::thread::record::BUCKETS,
            thread_pointer = const core::mem::offset_of!($crate::thread::record::Record, thread_pointer),
            next = const core::mem::offset_of!($crate::thread::record::Record, next),
            lineage = sym $crate::thread::lineage::LINEAGE,
            holder = const core::mem::offset_of!($crate::thread::record::Record, holder),
            inside = const core::mem::offset_of!($crate::thread::record::Record, door) + ntux_sync::door::Door::INSIDE,
            above = const $crate::thread::record::INSIDE_ABOVE,
            below = const $crate::thread::record::INSIDE_ABOVE + $crate::thread::record::INSIDE_BELOW,
            due = const core::mem::offset_of!($crate::thread::record::Record, door) + ntux_sync::door::Door::DUE,
            stand_in = const ntux_platform::interposition::STAND_IN,
            to_block = sym $crate::thread::arrival::TO_BLOCK,
            sigprocmask = const libc::SYS_rt_sigprocmask,
            attend = sym $crate::thread::signals::attend,
            without_handler = sym $crate::thread::defaults::without_handler,
            $($own)*
        );
    };
}

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;
