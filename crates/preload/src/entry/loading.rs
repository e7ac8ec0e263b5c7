// SPDX-License-Identifier: MIT OR Apache-2.0
//! `dlopen` and `dlmopen`. musl has neither the flag nor the namespaces of which [`crate::device::loading`] tells.
//!
//! The real functions find out by their return address who calls them: in its RUNPATH they search, and it is what `$ORIGIN` means.
//! So each goes there by a jump, with the stack unchanged, and nothing of ours runs afterwards.

use crate::c_library::next;
use crate::device::loading;
use core::ffi::{c_char, c_int, c_void};

/// A function that calls `$before` with the three registers of its first arguments and, as the fourth, the address that it was called from,
/// and then jumps to where that says. `$first` are instructions before that: they may jump to the function themselves.
#[cfg(target_arch = "x86_64")]
macro_rules! looked_at_first {
    ($before:path, [$($first:literal,)*] $($own:tt)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            $($first,)*
            "2:",
            "mov rcx, qword ptr [rsp]",
            "push rdi",
            ".cfi_adjust_cfa_offset 8",
            "push rsi",
            ".cfi_adjust_cfa_offset 8",
            "push rdx",
            ".cfi_adjust_cfa_offset 8",
            "call {before}",
            "pop rdx",
            ".cfi_adjust_cfa_offset -8",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdi",
            ".cfi_adjust_cfa_offset -8",
            "jmp rax",
            ".cfi_endproc",
            before = sym $before,
            $($own)*
        )
    };
}

// The same for the other processor.
#[cfg(target_arch = "aarch64")]
macro_rules! looked_at_first {
    ($before:path, [$($first:literal,)*] $($own:tt)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            $($first,)*
            "2:",
            "mov x3, x30",
            "stp x29, x30, [sp, #-48]!",
            ".cfi_def_cfa_offset 48",
            ".cfi_offset x29, -48",
            ".cfi_offset x30, -40",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "str x2, [sp, #32]",
            "bl {before}",
            "mov x16, x0",
            "ldr x2, [sp, #32]",
            "ldp x0, x1, [sp, #16]",
            "ldp x29, x30, [sp], #48",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "br x16",
            ".cfi_endproc",
            before = sym $before,
            $($own)*
        )
    };
}

/// Tells of a library that does not find ntux. Without the flag it goes straight to the real function, once that is known.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C-unwind" fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    looked_at_first!(
        loading::before_dlopen,
        [
            "mov r11, qword ptr [rip + {next}]",
            "test r11, r11",
            "jz 2f",
            "test esi, {deep}",
            "jnz 2f",
            "jmp r11",
        ]
        next = sym next::DLOPEN,
        deep = const loading::RTLD_DEEPBIND,
    );
    #[cfg(target_arch = "aarch64")]
    looked_at_first!(
        loading::before_dlopen,
        [
            "adrp x16, {next}",
            "ldr x16, [x16, :lo12:{next}]",
            "cbz x16, 2f",
            "tst w1, {deep}",
            "b.ne 2f",
            "br x16",
        ]
        next = sym next::DLOPEN,
        deep = const loading::RTLD_DEEPBIND,
    );
}

/// Tells of a library that does not find ntux.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C-unwind" fn dlmopen(namespace: isize, file: *const c_char, mode: c_int) -> *mut c_void {
    looked_at_first!(loading::before_dlmopen, [])
}
