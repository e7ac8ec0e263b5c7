// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs work on a stack of its own, so that a function of the C library on which a preloaded library interposes takes hardly more of
//! the program's stack than the C library's own.
//!
//! Programs count on what such a function takes: an alternate stack for signals may have 8 KiB, a thread 16. The stack is mapped for
//! one call and unmapped after it, so it belongs to nobody, and works in a signal handler that interrupts such a call, in a child of
//! `vfork`, and in a thread that the C library does not know.
//!
//! All signals are blocked meanwhile. A handler could need more stack than there is, or leave for good, and the mapping would stay;
//! and while the stack pointer is elsewhere, the kernel takes the thread's alternate stack for unused: a handler would overwrite the
//! one that made the call.

use crate::to_self::{self, SIG_SETMASK};
use core::ffi::c_void;
use core::mem::ManuallyDrop;
use std::panic::AssertUnwindSafe;

/// Bytes of such a stack, without the page below it that is not there. Untouched pages take no memory.
const SIZE: usize = 128 << 10;
/// At least a page, on every system.
const GUARD: usize = 64 << 10;

/// Runs `work` on a stack of its own, with all signals blocked; on the caller's if the kernel gives no memory. None if the work panicked.
/// Preserves the error number, unless the work changes it. Async-signal-safe if `work` is. Takes less than 512 bytes of the caller's
/// stack.
///
/// The work must not touch memory that may not be there, because faults are blocked, too.
#[inline(never)]
pub fn on_own_stack<R>(work: impl FnOnce() -> R) -> Option<R> {
    let mask = to_self::change(SIG_SETMASK, u64::MAX);
    let stack = map();
    let result = match stack {
        0 => std::panic::catch_unwind(AssertUnwindSafe(work)).ok(),
        base => on_stack(base + GUARD + SIZE, work),
    };
    if stack != 0 {
        // SAFETY: mapped above, and nothing is on it any more.
        crate::keeping_errno(|| unsafe { libc::munmap(stack as *mut c_void, GUARD + SIZE) });
    }
    to_self::change(SIG_SETMASK, mask);
    result
}

/// A new stack with its guard below; 0 if the kernel refuses. Preserves the error number.
fn map() -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    crate::keeping_errno(|| {
        // SAFETY: new mappings: the second replaces a part of the first.
        unsafe {
            let base = libc::mmap(core::ptr::null_mut(), GUARD + SIZE, libc::PROT_NONE, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return 0;
            }
            if libc::mprotect(base.byte_add(GUARD), SIZE, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                libc::munmap(base, GUARD + SIZE);
                return 0;
            }
            base as usize
        }
    })
}

/// The work before it runs, its result afterwards.
union Passed<W, R> {
    work: ManuallyDrop<W>,
    result: ManuallyDrop<Option<R>>,
}

fn on_stack<W: FnOnce() -> R, R>(top: usize, work: W) -> Option<R> {
    let mut passed = Passed::<W, R> { work: ManuallyDrop::new(work) };
    // SAFETY: `run` takes what is passed here, which lives until it returns; the stack is nobody else's.
    unsafe {
        switch(top, run::<W, R>, (&raw mut passed).cast());
        ManuallyDrop::into_inner(passed.result)
    }
}

/// # Safety
/// The argument is a `Passed` with the work in it.
unsafe extern "C" fn run<W: FnOnce() -> R, R>(passed: *mut c_void) {
    let passed = passed.cast::<Passed<W, R>>();
    // SAFETY: the caller's promise. The work is taken out once, and the result put in its place.
    unsafe {
        let work = ManuallyDrop::take(&mut (*passed).work);
        let result = std::panic::catch_unwind(AssertUnwindSafe(work)).ok();
        passed.write(Passed { result: ManuallyDrop::new(result) });
    }
}

/// Calls `work` with the stack pointer at `top`, which is a multiple of 16.
///
/// # Safety
/// Below `top` lies a stack that nobody else uses; `work` takes this argument, and does not unwind.
#[unsafe(naked)]
unsafe extern "C" fn switch(top: usize, work: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "mov sp, x0",
        "mov x0, x2",
        "blr x1",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hint::black_box;

    #[test]
    fn the_work_runs_elsewhere_and_everything_is_as_before() {
        let place = black_box(0u8);
        let here = (&raw const place).addr();
        let mask = to_self::change(libc::SIG_BLOCK, to_self::bit(libc::SIGUSR2));
        let before = to_self::change(libc::SIG_BLOCK, 0);
        let text = String::from("moved in");
        let (text, distance, during) = on_own_stack(move || {
            let there = black_box(0u8);
            let distance = (&raw const there).addr().abs_diff(here);
            (text + " and out", distance, to_self::change(libc::SIG_BLOCK, 0))
        })
        .unwrap();
        assert_eq!(text, "moved in and out");
        assert!(distance > SIZE, "{distance}");
        assert!(during & to_self::ASYNCHRONOUS & !before != 0 && during & to_self::bit(libc::SIGSEGV) != 0);
        assert_eq!(to_self::change(libc::SIG_SETMASK, mask), before);
    }

    #[test]
    fn within_another_and_with_a_panic() {
        assert_eq!(on_own_stack(|| on_own_stack(|| 5)), Some(Some(5)));
        let deep = || {
            let room = black_box([7u8; SIZE / 8]);
            room[black_box(100)]
        };
        assert_eq!(on_own_stack(deep), Some(7));
        assert_eq!(on_own_stack(|| -> u8 { panic!("expected: this is tried") }), None);
        assert_eq!(on_own_stack(|| 6), Some(6));
    }
}
