// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two registers of the calling thread.

/// The number by which the processor finds this thread's thread-local storage.
#[inline(always)]
pub(crate) fn thread_pointer() -> u64 {
    let pointer: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the first word of a thread's control block is its own address.
    unsafe {
        core::arch::asm!("mov {pointer}, qword ptr fs:[0]", pointer = out(reg) pointer, options(nostack, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mrs {pointer}, tpidr_el0", pointer = out(reg) pointer, options(nostack, nomem));
    }
    pointer
}

/// The stack pointer of the function that this is inlined into.
#[inline(always)]
pub(crate) fn stack_pointer() -> u64 {
    let pointer: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {pointer}, rsp", pointer = out(reg) pointer, options(nostack, nomem));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {pointer}, sp", pointer = out(reg) pointer, options(nostack, nomem));
    }
    pointer
}
